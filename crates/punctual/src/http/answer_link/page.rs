//! The page behind an answer link: small, and it loads nothing from elsewhere.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use punctual_channels::common::texts::texts;
use punctual_core::answer::Verb;
use punctual_core::phrase::Lang;
use sha2::{Digest, Sha256};

use crate::http::html::escape;

const STYLE: &str = "html{color-scheme:light dark;font:18px/1.5 system-ui,sans-serif}\
    body{max-width:32rem;margin:15vh auto 0;padding:0 1rem;overflow-wrap:anywhere}\
    h1{font-size:1.4rem}p{white-space:pre-wrap}\
    button{font:inherit;padding:.6rem 1.2rem;border-radius:.4rem;border:1px solid;cursor:pointer}";

/// What the page says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said<'a> {
    /// A click gives this answer, to this message.
    Ask(Verb, &'a str),
    /// It was given; the time is when it will be said again.
    Answered(Verb, Option<&'a str>, &'a str),
    /// The run has been answered, or is over.
    Over,
    /// The run asks for no answer at present.
    NotNow,
    /// It is being sent.
    Busy,
    /// No link of ours.
    Unknown,
    /// The database did not do it.
    Trouble,
}

impl Said<'_> {
    /// The heading.
    pub(super) fn words(&self, lang: Lang) -> String {
        let words = words(lang);
        match self {
            Self::Ask(verb, _) => label(*verb, lang).to_owned(),
            Self::Answered(_, Some(time), _) => words.until.replace("{time}", time),
            Self::Answered(verb, None, _) => label(*verb, lang).to_owned(),
            Self::Over => words.over.to_owned(),
            Self::NotNow => words.not_now.to_owned(),
            Self::Busy => words.busy.to_owned(),
            Self::Unknown => words.unknown.to_owned(),
            Self::Trouble => words.trouble.to_owned(),
        }
    }
}

/// The page.
pub(super) fn page(status: StatusCode, lang: Lang, said: &Said<'_>) -> Response {
    let heading = escape(&said.words(lang));
    let body = match said {
        Said::Ask(_, message) => {
            format!("<h1>{}</h1><form method=\"post\"><button>{heading}</button></form>", escape(message))
        }
        Said::Answered(_, _, message) => format!("<h1>✓ {heading}</h1><p>{}</p>", escape(message)),
        _ => format!("<h1>{heading}</h1>"),
    };
    let html = format!(
        "<!doctype html><html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{heading}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <style>{STYLE}</style></head><body>{body}</body></html>\n"
    );
    // No script runs, nothing is loaded, and nobody can put the page into a frame.
    let policy = format!(
        "default-src 'none'; style-src '{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        digest(STYLE)
    );
    let policy = HeaderValue::from_str(&policy).expect("base64 can be sent in a header");
    let fixed = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, fixed("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, fixed("no-store")),
        // The address is the proof: it goes nowhere else.
        (header::REFERRER_POLICY, fixed("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (HeaderName::from_static("x-robots-tag"), fixed("noindex, nofollow")),
    ];
    (status, headers, html).into_response()
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

fn label(verb: Verb, lang: Lang) -> &'static str {
    let texts = texts(lang);
    match verb {
        Verb::Ack => texts.done,
        Verb::Snooze => texts.snooze,
        Verb::Dismiss => texts.dismiss,
    }
}

struct Words {
    /// When it will be said again.
    until: &'static str,
    over: &'static str,
    not_now: &'static str,
    busy: &'static str,
    unknown: &'static str,
    trouble: &'static str,
}

fn words(lang: Lang) -> &'static Words {
    match lang {
        Lang::Es => &Words {
            until: "Aplazado hasta {time}",
            over: "Esto ya tiene respuesta o ya no se pregunta.",
            not_now: "Ahora mismo no se espera respuesta.",
            busy: "Se está enviando ahora mismo; vuelve a intentarlo en un momento.",
            unknown: "Este enlace no es válido.",
            trouble: "No ha funcionado; vuelve a intentarlo.",
        },
        Lang::Fr => &Words {
            until: "Reporté jusqu'à {time}",
            over: "Il y a déjà une réponse, ou la question ne se pose plus.",
            not_now: "Aucune réponse n'est attendue pour l'instant.",
            busy: "Le rappel est en cours d'envoi ; réessaie dans un instant.",
            unknown: "Ce lien n'est pas valable.",
            trouble: "Cela n'a pas marché ; réessaie.",
        },
        Lang::En => &Words {
            until: "Put off until {time}",
            over: "This has been answered already, or is no longer asked.",
            not_now: "No answer is wanted just now.",
            busy: "It is being sent just now; please try again in a moment.",
            unknown: "This link is not valid.",
            trouble: "That did not work; please try again.",
        },
        Lang::De => &Words {
            until: "Verschoben auf {time}",
            over: "Das ist schon beantwortet oder wird nicht mehr gefragt.",
            not_now: "Gerade wird keine Antwort erwartet.",
            busy: "Die Erinnerung wird gerade gesendet; bitte gleich noch einmal versuchen.",
            unknown: "Dieser Link ist ungültig.",
            trouble: "Das hat nicht geklappt; bitte noch einmal versuchen.",
        },
        Lang::Hr | Lang::Bs => &Words {
            until: "Odgođeno do {time}",
            over: "Na ovo je već odgovoreno ili se više ne pita.",
            not_now: "Trenutno se ne očekuje odgovor.",
            busy: "Podsjetnik se upravo šalje; pokušajte ponovno za trenutak.",
            unknown: "Ovaj link nije ispravan.",
            trouble: "Nije uspjelo; pokušajte ponovno.",
        },
        Lang::Sr => &Words {
            until: "Odloženo do {time}",
            over: "Na ovo je već odgovoreno ili se više ne pita.",
            not_now: "Trenutno se ne očekuje odgovor.",
            busy: "Podsetnik se upravo šalje; pokušajte ponovo za trenutak.",
            unknown: "Ovaj link nije ispravan.",
            trouble: "Nije uspelo; pokušajte ponovo.",
        },
        Lang::SrCyrl => &Words {
            until: "Одложено до {time}",
            over: "На ово је већ одговорено или се више не пита.",
            not_now: "Тренутно се не очекује одговор.",
            busy: "Подсетник се управо шаље; покушајте поново за тренутак.",
            unknown: "Овај линк није исправан.",
            trouble: "Није успело; покушајте поново.",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_shown_and_never_run() {
        for lang in Lang::ALL {
            assert!(words(lang).until.contains("{time}"));
            let said = Said::Ask(Verb::Ack, "</h1><script>alert(1)</script>");
            let response = page(StatusCode::OK, lang, &said);
            let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        }
        assert_eq!(escape("</h1><script>\"&"), "&lt;/h1&gt;&lt;script&gt;&quot;&amp;");
    }
}
