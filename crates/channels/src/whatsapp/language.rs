//! Which language of an approved template a person gets.

use std::str::FromStr;

use punctual_core::phrase::Lang;

/// A template's language for each of ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Languages {
    /// For all that are not named.
    others: Option<String>,
    named: Vec<(Lang, String)>,
}

impl Languages {
    /// Meta's code for `lang`.
    pub(super) fn code(&self, lang: Lang) -> &str {
        let named = self.named.iter().find(|(known, _)| *known == lang).map(|(_, code)| code.as_str());
        named.or(self.others.as_deref()).unwrap_or(match lang {
            Lang::En => "en",
            Lang::Es => "es",
            Lang::Fr => "fr",
            Lang::De => "de",
            // Meta has no Bosnian; Croatian is understood.
            Lang::Hr | Lang::Bs => "hr",
            Lang::Sr | Lang::SrCyrl => "sr",
        })
    }
}

impl FromStr for Languages {
    type Err = String;

    /// Reads `en_US` for all, or `de=de, *=en_US`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut languages = Self::default();
        for part in text.split(',') {
            let (lang, code) = part.split_once('=').unwrap_or(("*", part));
            let code = code.trim();
            if code.is_empty() || !code.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
                return Err(format!(
                    "`{code}` is no language of a template; write one such as en_US, or de=de, *=en_US"
                ));
            }
            match lang.trim() {
                "*" => languages.others = Some(code.to_owned()),
                lang => languages.named.push((lang.parse()?, code.to_owned())),
            }
        }
        Ok(languages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_named_or_the_one_for_all_or_its_own() {
        let codes = |text: &str| {
            let languages: Languages = text.parse().unwrap();
            Lang::ALL.map(|lang| languages.code(lang).to_owned()).join(" ")
        };
        assert_eq!(
            Lang::ALL.map(|lang| Languages::default().code(lang).to_owned()).join(" "),
            "en de hr sr sr hr es fr"
        );
        assert_eq!(codes("en_US"), "en_US en_US en_US en_US en_US en_US en_US en_US");
        assert_eq!(codes("de=de, *=en_US"), "en_US de en_US en_US en_US en_US en_US en_US");
        assert_eq!(codes("en=en_GB"), "en_GB de hr sr sr hr es fr");
        for wrong in ["", "xx=en", "de=", "de=d e", "en,,"] {
            assert!(wrong.parse::<Languages>().is_err(), "{wrong}");
        }
    }
}
