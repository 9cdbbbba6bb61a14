//! Quick-add: one line that says back what it understood while somebody types.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use punctual_client::wire::{ParseInput, Reading, ReminderInput, Understood};
use punctual_client::{Failure, escaped};
use punctual_time::phrase::{Lang, Meaning, parse};
use punctual_time::zone::Zone;
use serde::Deserialize;

use crate::flash::Flash;
use crate::manner::Manner;
use crate::pages::people::reach;
use crate::parts;
use crate::texts::today as t;
use crate::trouble::Trouble;
use crate::viewer::{Posted, Viewer, query_value, refused};

/// How many instants are said back.
const NEXT: usize = 5;
/// The longest sentence that an address takes back to the page.
const TYPED_BYTES_MAX: usize = 1000;

pub(super) fn field(v: &Viewer) -> Markup {
    let m = &v.m;
    let typed = parts::asked(v, "text");
    html! {
        div.add data-add {
            (parts::form(v, "/add", html! {
                label.unseen for="sentence" { (m.t(t::ADD_LABEL)) }
                div.type {
                    input #sentence name="text" value=[typed] autocomplete="off" spellcheck="false" required placeholder=(m.t(t::ADD_PLACEHOLDER)) data-key="n" aria-describedby="said";
                    button.main type="submit" { (m.t(t::ADD_BUTTON)) }
                }
                input type="hidden" name="user" value=(v.person);
                input type="hidden" name="back" value=(without_text(&v.here));
            }))
            div.said #said aria-live="polite" {}
        }
    }
}

/// The page without the sentence that waits in its field.
fn without_text(here: &str) -> &str {
    here.split_once("?text=").or_else(|| here.split_once("&text=")).map_or(here, |(page, _)| page)
}

/// What a sentence means so far: its words with those of the time marked, and the time said back.
pub(super) async fn understood(v: Viewer, RawQuery(query): RawQuery) -> Result<Response, Trouble> {
    let text = query_value(query.as_deref().unwrap_or_default(), "text").unwrap_or_default();
    let asked = ParseInput { text: Some(text.clone()), user: Some(v.person.clone()), ..ParseInput::default() };
    let meant = match v.client.parse(&asked).await {
        Ok(meant) => meant,
        Err(failure) => match refused(&failure) {
            Some(reason) => Understood::None { reason: reason.to_owned(), suggestion: None },
            None => return Err(failure.into()),
        },
    };
    let (said, rest) = said(&v, &meant);
    Ok(html! {
        div.over { @for (word, is_time) in marked(&text, rest) { @if is_time { mark { (word) } } @else { (word) } } }
        div.said { (said) }
    }
    .into_response())
}

/// The time said back, and what is left of the sentence without it.
fn said<'a>(v: &Viewer, meant: &'a Understood) -> (Markup, Option<&'a str>) {
    let m = &v.m;
    let instants = |texts: &[String]| {
        let said: Vec<String> = texts.iter().take(NEXT).filter_map(|at| instant(at)).map(|at| m.instant(at)).collect();
        said.join(" · ")
    };
    let (summary, instants, rest, others): (&str, String, &str, &[Reading]) = match meant {
        Understood::Instant { at, summary, rest, alternatives, .. } => {
            (summary, instant(at).map(|at| m.relative(at)).unwrap_or_default(), rest, alternatives)
        }
        Understood::Recurring { next, summary, rest, alternatives, .. } => {
            (summary, instants(next), rest, alternatives)
        }
        Understood::Interval { due, summary, rest, alternatives, .. } => {
            let due = due.as_deref().and_then(instant);
            (summary, due.map(|at| m.relative(at)).unwrap_or_default(), rest, alternatives)
        }
        Understood::Duration { at, summary, rest, .. } => {
            (summary, instant(at).map(|at| m.instant(at)).unwrap_or_default(), rest, &[])
        }
        Understood::None { reason, suggestion } => {
            let said = html! {
                span { (why_none(m, reason)) }
                @if let Some(reading) = suggestion { span { (m.say(t::DID_YOU_MEAN, &[("what", &reading.summary)])) } }
            };
            return (said, None);
        }
        Understood::Other(_) => return (html! {}, None),
    };
    let said = html! {
        b { (summary) }
        span.num { (instants) }
        @for other in others { span { (m.t(t::OR)) " " (without_zone(&other.summary, summary)) } }
        kbd { "Enter" } span.unseen { (m.t(t::TO_ADD)) }
    };
    (said, Some(rest))
}

/// Why a sentence has no time: that it says none in the viewer's words, anything else in the parser's.
pub(in crate::pages) fn why_none(m: &Manner, reason: &str) -> String {
    static NO_TIME: LazyLock<Vec<String>> = LazyLock::new(|| {
        let nothing = |lang| match parse("-", Some(lang), &Zone::utc(), Timestamp::UNIX_EPOCH).meaning {
            Meaning::None { reason } => reason,
            _ => String::new(),
        };
        Lang::ALL.into_iter().map(nothing).collect()
    });
    if NO_TIME.iter().any(|known| known == reason) { m.t(t::NO_TIME).into_owned() } else { sentence(reason) }
}

/// A fragment as a sentence: `it names more than one time` as `It names more than one time.`
fn sentence(fragment: &str) -> String {
    let mut letters = fragment.trim_end_matches('.').chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// What else the words can mean that became a time, in the viewer's language. Local times are in `zone`.
pub(in crate::pages) fn meant_too(m: &Manner, others: &[Reading], zone: &str) -> Option<String> {
    let others: Vec<String> = others.iter().map(|other| m.reading(other, zone)).collect();
    (!others.is_empty()).then(|| m.say(t::MEANT_TOO, &[("what", &others.join(" · "))]))
}

/// Why a sentence became no reminder, as a person is told.
async fn why_not(v: &Viewer, asked: &ParseInput, failure: &Failure) -> Option<Flash> {
    let words = refused(failure)?;
    // A sentence names no address: it is its person who has none.
    if failure.refused().and_then(|refused| refused.field()) == Some(reach::FIELD) {
        let user = asked.user.as_deref().unwrap_or(&v.person);
        return Some(Flash::unreached(v.m.say(t::NOBODY_RECEIVES, &[("who", user)]), user));
    }
    if let Ok(Understood::None { reason, suggestion }) = v.client.parse(asked).await {
        let meant = suggestion.map(|meant| v.m.say(t::DID_YOU_MEAN, &[("what", &meant.summary)]));
        let words = [Some(why_none(&v.m, &reason)), meant].into_iter().flatten().collect::<Vec<_>>().join(" ");
        return Some(Flash::problem(words));
    }
    // The names of fields are a program's.
    let problem = failure.refused().and_then(|refused| refused.problem.as_ref());
    let details: Vec<String> =
        problem.map(|problem| problem.errors.iter().map(|error| sentence(&error.detail)).collect()).unwrap_or_default();
    Some(Flash::problem(if details.is_empty() { words.to_owned() } else { details.join(" ") }))
}

/// Another reading, without the zone that the first says already.
fn without_zone<'a>(other: &'a str, first: &str) -> &'a str {
    match (other.rsplit_once(", "), first.rsplit_once(", ")) {
        (Some((other, zone)), Some((_, known))) if zone == known => other,
        _ => other,
    }
}

/// Words by which somebody asks to be reminded, and those that lead from there to what of: neither says when.
const ASKS: [&str; 10] =
    ["please", "remind", "me", "bitte", "erinnere", "erinner", "mich", "molim", "podsjeti", "podseti"];
const LEADS_ON: [&str; 7] = ["to", "that", "about", "daran", "dass", "an", "da"];

/// The sentence in pieces, each with whether it says the time: what is not left without it.
fn marked<'a>(text: &'a str, rest: Option<&str>) -> Vec<(&'a str, bool)> {
    let Some(rest) = rest else { return vec![(text, false)] };
    let message: Vec<String> = rest.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect();
    let pieces: Vec<(&str, String)> = text.split_inclusive(char::is_whitespace).map(|one| (one, plain(one))).collect();
    let words: Vec<&str> = pieces.iter().map(|(_, word)| word.as_str()).filter(|word| !word.is_empty()).collect();
    let mut is_time = times(&words, &message).into_iter();
    pieces.iter().map(|(piece, word)| (*piece, !word.is_empty() && is_time.next() == Some(true))).collect()
}

/// Which of the words say the time. They stand together, so the message is what begins before them and goes on after; a word may be in both
/// (`at 8 meet at the pub`).
fn times(words: &[&str], message: &[String]) -> Vec<bool> {
    let n_asks = words.iter().take_while(|word| ASKS.contains(word)).count();
    let leads_on = words.get(n_asks).is_some_and(|word| LEADS_ON.contains(word));
    for from in [n_asks, n_asks + usize::from(leads_on)] {
        let n_time = (words.len() - from).checked_sub(message.len());
        for n_before in n_time.map(|_| 0..=message.len()).into_iter().flatten() {
            let (begins, ends) = (from + n_before, words.len() - (message.len() - n_before));
            let around = words[from..begins].iter().chain(&words[ends..]);
            if around.eq(message) {
                let last = words[begins..ends].last().filter(|last| LEADS_ON.contains(last));
                let ends = ends - usize::from(last.is_some());
                return (0..words.len()).map(|at| (begins..ends).contains(&at)).collect();
            }
        }
    }
    // The time stands in several places: what is left is found in order.
    let mut message = message.iter().peekable();
    words.iter().map(|word| message.next_if(|next| next == word).is_none()).collect()
}

fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

fn instant(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[derive(Deserialize)]
pub(super) struct Add {
    text: String,
    user: Option<String>,
    back: Option<String>,
}

/// Makes a reminder of a sentence.
pub(super) async fn create(Posted { viewer: v, form }: Posted<Add>) -> Result<Response, Trouble> {
    let back = form.back.unwrap_or_else(|| "/".into());
    let user = form.user.filter(|user| !user.is_empty());
    let asked = ParseInput { text: Some(form.text.clone()), user: user.clone(), ..ParseInput::default() };
    let input = ReminderInput { user, text: Some(form.text.clone()), ..ReminderInput::default() };
    Ok(match v.client.create(&input).await {
        Ok(reminder) => {
            let when = reminder.next_run_at.map_or_else(|| reminder.summary.clone(), |at| v.m.instant(at));
            let said = v.m.say(t::ADDED, &[("what", &reminder.message), ("when", &when)]);
            let others = reminder.understood.as_deref().map(Understood::alternatives).unwrap_or_default();
            let note = meant_too(&v.m, others, &reminder.timezone);
            Flash::undoable(said, &reminder.id, "cancel").noting(note).then(&back)
        }
        Err(failure) => match why_not(&v, &asked, &failure).await {
            // The sentence stands in the field once more, also without a script. It comes last in the address, if it fits there.
            Some(flash) if form.text.len() > TYPED_BYTES_MAX => flash.then(&back),
            Some(flash) => {
                let joint = if back.contains('?') { '&' } else { '?' };
                flash.then(&format!("{back}{joint}text={}", escaped(&form.text)))
            }
            None => return Err(failure.into()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_was_refused_is_not_kept_in_the_way_back() {
        for (here, expect) in
            [("/", "/"), ("/?text=a+b", "/"), ("/?user=ana&text=a", "/?user=ana"), ("/?user=ana", "/?user=ana")]
        {
            assert_eq!(without_text(here), expect);
        }
    }

    #[test]
    fn a_sentence_without_a_time_is_told_apart_from_one_that_is_not_understood() {
        let m = Manner::of_stranger(&axum::http::HeaderMap::new());
        let reason = |text: &str| match parse(text, None, &Zone::utc(), Timestamp::UNIX_EPOCH).meaning {
            Meaning::None { reason } => reason,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(why_none(&m, &reason("call the dentist")), "Say when as well, such as “tomorrow at 8”.");
        let said = why_none(&m, &reason("pay 5 euros on friday, and on saturday at 5"));
        assert!(said.starts_with("It names more than one time") && said.ends_with('.'), "{said}");
    }

    #[test]
    fn a_zone_is_said_once() {
        assert_eq!(without_zone("every Friday at 21:30, UTC", "every Friday at 09:30, UTC"), "every Friday at 21:30");
        assert_eq!(without_zone("at 21:30, Asia/Tokyo", "at 09:30, UTC"), "at 21:30, Asia/Tokyo");
        assert_eq!(without_zone("10 minutes", "at 09:30, UTC"), "10 minutes");
    }

    #[test]
    fn the_words_of_the_time_are_marked() {
        for (text, rest, expect) in [
            ("call the dentist every other friday at 9:30", "call the dentist", "every other friday at 9:30"),
            ("at 8 meet at the pub", "meet at the pub", "at 8"),
            ("meet at 8 at the pub", "meet at the pub", "at 8"),
            ("remind me tomorrow at 8 to call mom", "call mom", "tomorrow at 8"),
            ("remind me to call mom tomorrow at 8", "call mom", "tomorrow at 8"),
            ("on friday, call mom - at 8", "call mom", "on friday, at 8"),
            ("tomorrow at 8", "", "tomorrow at 8"),
            ("tomorrow", "something else", "tomorrow"),
        ] {
            let pieces = marked(text, Some(rest));
            assert_eq!(pieces.iter().map(|(word, _)| *word).collect::<String>(), text);
            let time: String = pieces.iter().filter(|(_, is_time)| *is_time).map(|(word, _)| *word).collect();
            assert_eq!(time.trim(), expect, "{text}");
        }
        assert!(marked("call the dentist", None).iter().all(|(_, is_time)| !is_time));
    }
}
