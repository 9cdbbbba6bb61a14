//! A channel's settings, read one by one, with an error for what is wrong or unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use punctual_core::channel::{Limits, Rate};
use punctual_core::invalid::Invalid;
use punctual_core::span;
use reqwest::Url;

use super::template::{Escape, Template};
use super::token::Token;

/// How long all requests of a send may take together: the engine gives up a send after 30 seconds.
const SEND_MAX: Duration = Duration::from_secs(25);

/// The settings of one channel, by name. Each value is the text that a person wrote.
///
/// A channel reads the settings that it knows; [`Fields::finish`] then refuses the others.
#[derive(Default)]
pub struct Fields {
    values: BTreeMap<String, String>,
    read: BTreeSet<String>,
}

impl Fields {
    /// Takes settings.
    pub fn new(values: BTreeMap<String, String>) -> Self {
        Self { values, read: BTreeSet::new() }
    }

    /// A text, if it was given.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.read.insert(name.to_owned());
        self.values.get(name).cloned()
    }

    /// A text that must be there; `right` says what it is, such as `the account's phone number, such as +4915…`.
    pub fn needed(&mut self, name: &str, right: &str) -> Result<String, Invalid> {
        match self.text(name) {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(Invalid::new(name, format!("is empty; write {right}"))),
            None => Err(Invalid::new(name, format!("is missing; write {right}"))),
        }
    }

    /// A secret, given as itself or, by `NAME_file`, as the path of a file that holds it.
    pub fn secret(&mut self, name: &str) -> Result<Option<Token>, Invalid> {
        let file = format!("{name}_file");
        match (self.text(name), self.text(&file)) {
            (Some(_), Some(_)) => Err(Invalid::new(name, format!("is given, and so is {file}; give one of them"))),
            (Some(text), None) if text.trim().is_empty() => Err(Invalid::new(name, "is empty")),
            (Some(text), None) => Ok(Some(Token::new(text.trim()))),
            (None, Some(path)) => match std::fs::read_to_string(&path) {
                Ok(text) if text.trim().is_empty() => Err(Invalid::new(file, format!("{path} is empty"))),
                Ok(text) => Ok(Some(Token::new(text.trim()))),
                Err(error) => Err(Invalid::new(file, format!("cannot read {path}: {error}"))),
            },
            (None, None) => Ok(None),
        }
    }

    /// A secret that must be there; `right` says where to get it.
    pub fn needed_secret(&mut self, name: &str, right: &str) -> Result<Token, Invalid> {
        let missing = || Invalid::new(name, format!("is missing; write {right}, or {name}_file and a path"));
        self.secret(name)?.ok_or_else(missing)
    }

    /// A whole number within `range`.
    pub fn number(&mut self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Invalid> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(Invalid::new(
                name,
                format!("`{text}` is no whole number from {} to {}", range.start(), range.end()),
            )),
        }
    }

    /// Yes or no.
    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, Invalid> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.to_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Some(true)),
            "false" | "0" | "no" | "off" => Ok(Some(false)),
            _ => Err(Invalid::new(name, format!("`{text}` is neither true nor false"))),
        }
    }

    /// A span such as `15s`; a bare number is seconds.
    pub fn span(&mut self, name: &str) -> Result<Option<Duration>, Invalid> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let span = match text.trim().parse::<u64>() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => span::parse(&text).map_err(|problem| Invalid::new(name, problem))?,
        };
        if span.is_zero() || span > Duration::from_secs(86_400) {
            return Err(Invalid::new(name, "must be more than nothing and at most a day, such as 15s"));
        }
        Ok(Some(span))
    }

    /// How long one request may take, named `timeout`, where a send makes up to `n_requests` (a connection that is made before
    /// is one, too); else `default`, or what is left for it. A send that took longer would be given up from outside, and nobody
    /// could say any more how far it had come.
    pub fn timeout(&mut self, default: Duration, n_requests: u32) -> Result<Duration, Invalid> {
        let max = Duration::from_secs(SEND_MAX.as_secs() / u64::from(n_requests.max(1)));
        match self.span("timeout")? {
            None => Ok(default.min(max)),
            Some(timeout) if timeout <= max => Ok(timeout),
            Some(_) => Err(Invalid::new(
                "timeout",
                format!(
                    "must be at most {}s, because a send that takes longer is given up; write one such as 10s",
                    max.as_secs()
                ),
            )),
        }
    }

    /// An http or https URL, without a slash at its end.
    pub fn url(&mut self, name: &str, default: &str) -> Result<String, Invalid> {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => {
                Ok(text.trim_end_matches('/').to_owned())
            }
            _ => Err(Invalid::new(name, format!("is no http or https URL; write one such as {default}"))),
        }
    }

    /// A template, named `template` unless told otherwise; an empty one is refused.
    pub fn template(&mut self, name: &str, escape: Escape) -> Result<Option<Template>, Invalid> {
        let Some(text) = self.text(name) else { return Ok(None) };
        Template::parse(&text, escape).map(Some).map_err(|problem| Invalid::new(name, problem))
    }

    /// How much may be sent: `concurrency`, `rate` and `address_rate`, else `defaults`. `none` lifts a rate.
    pub fn limits(&mut self, defaults: Limits) -> Result<Limits, Invalid> {
        let concurrency = self.number("concurrency", 1..=10_000)?.map_or(defaults.concurrency, |n| n as usize);
        Ok(Limits {
            concurrency,
            rate: self.rate("rate", defaults.rate)?,
            address_rate: self.rate("address_rate", defaults.address_rate)?,
        })
    }

    fn rate(&mut self, name: &str, default: Option<Rate>) -> Result<Option<Rate>, Invalid> {
        match self.text(name).as_deref().map(str::trim) {
            None => Ok(default),
            Some("none") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|problem: String| Invalid::new(name, problem)),
        }
    }

    /// Refuses settings that were given and not read.
    pub fn finish(self) -> Result<(), Invalid> {
        match self.values.keys().find(|name| !self.read.contains(*name)) {
            None => Ok(()),
            Some(unknown) => {
                // The program itself reads `commands`, for every kind.
                let known: BTreeSet<&str> = self.read.iter().map(String::as_str).chain(["commands"]).collect();
                let known: Vec<&str> = known.into_iter().collect();
                Err(Invalid::new(
                    unknown.clone(),
                    format!("is no setting of this kind; known are {}", known.join(", ")),
                ))
            }
        }
    }
}

impl fmt::Debug for Fields {
    /// The names alone: any value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_secret_comes_from_itself_or_from_a_file_and_is_never_shown() {
        let dir = std::env::temp_dir().join(format!("punctual-fields-{}", std::process::id()));
        std::fs::write(&dir, "s3cret\n").unwrap();
        let path = dir.to_str().unwrap();
        assert_eq!(fields(&[("token_file", path)]).secret("token").unwrap().unwrap().expose(), "s3cret");
        assert_eq!(fields(&[("token", " s3cret ")]).secret("token").unwrap().unwrap().expose(), "s3cret");
        assert!(fields(&[("token", "x"), ("token_file", path)]).secret("token").is_err());
        let missing = fields(&[("token_file", "/no/such")]).secret("token").unwrap_err();
        assert!(missing.to_string().starts_with("token_file: cannot read /no/such: "), "{missing}");
        std::fs::remove_file(dir).unwrap();
        let token = Token::new("s3cret");
        assert_eq!(
            (format!("{token:?}"), token.redact("no s3cret here")),
            ("Token(redacted)".into(), "no … here".into())
        );
    }

    #[test]
    fn a_send_ends_before_it_is_given_up() {
        let second = Duration::from_secs;
        let timeout = |text: &str, n| fields(&[("timeout", text)]).timeout(second(15), n);
        assert_eq!((timeout("25s", 1), timeout("12", 2)), (Ok(second(25)), Ok(second(12))));
        assert_eq!(
            (fields(&[]).timeout(second(15), 1), fields(&[]).timeout(second(15), 2)),
            (Ok(second(15)), Ok(second(12)))
        );
        let wrong = |text: &str, n| timeout(text, n).unwrap_err().to_string();
        let why = "because a send that takes longer is given up; write one such as 10s";
        assert_eq!(wrong("26s", 1), format!("timeout: must be at most 25s, {why}"));
        assert_eq!(wrong("1h", 2), format!("timeout: must be at most 12s, {why}"));
    }

    #[test]
    fn settings_are_shown_by_their_names_alone() {
        assert_eq!(format!("{:?}", fields(&[("token", "s3cret")])), r#"{"token"}"#);
    }

    #[test]
    fn an_unknown_setting_is_refused_with_the_known_ones() {
        let mut fields = fields(&[("tokn", "x"), ("concurrency", "7"), ("rate", "30/s"), ("address_rate", "none")]);
        let defaults = Limits { address_rate: Some(Rate::per_second(1)), ..Limits::default() };
        let limits = fields.limits(defaults).unwrap();
        assert_eq!(limits, Limits { concurrency: 7, rate: Some(Rate::per_second(30)), address_rate: None });
        let unknown = fields.finish().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "tokn: is no setting of this kind; known are address_rate, commands, concurrency, rate"
        );
    }

    #[test]
    fn wrong_values_say_what_would_be_right() {
        let wrong = |name: &str, value: &str| {
            let mut fields = fields(&[(name, value)]);
            match name {
                "rate" => fields.limits(Limits::default()).unwrap_err(),
                "concurrency" => fields.limits(Limits::default()).unwrap_err(),
                "timeout" => fields.span(name).unwrap_err(),
                "url" => fields.url(name, "https://example.org").unwrap_err(),
                _ => fields.boolean(name).unwrap_err(),
            }
            .to_string()
        };
        assert_eq!(wrong("rate", "fast"), "rate: `fast` is no rate; write such as 30/s, 20/min or 5/2s");
        assert_eq!(wrong("concurrency", "0"), "concurrency: `0` is no whole number from 1 to 10000");
        assert_eq!(wrong("timeout", "0"), "timeout: must be more than nothing and at most a day, such as 15s");
        assert_eq!(wrong("url", "ftp://x"), "url: is no http or https URL; write one such as https://example.org");
        assert_eq!(wrong("flag", "maybe"), "flag: `maybe` is neither true nor false");
    }
}
