//! Texts to understand, one by one or by the line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use anyhow::Context as _;
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use punctual_core::invalid::Invalid;
use punctual_core::phrase::Lang;
use punctual_core::schedule::parse_instant;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Global, Usage, own_zone};
use crate::config::keys::nearest;

/// The fields of a line.
const KNOWN: [&str; 4] = ["text", "lang", "now", "tz"];
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// A text, or a file of them, and the facts about the person who wrote it.
#[derive(Debug, clap::Args)]
pub(super) struct Texts {
    /// The text
    #[arg(value_name = "TEXT", required_unless_present = "batch", conflicts_with = "batch")]
    text: Vec<String>,
    /// Its language: en, de, hr, sr, sr-Cyrl, bs, es or fr [default: worked out]
    #[arg(long, value_name = "LANG")]
    lang: Option<String>,
    /// When it is said, such as 2026-03-01T10:00 [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The zone its local times are meant in, by name or offset [env: PUNCTUAL_TZ] [default: the `timezone` setting]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// Answer each line of this file, or of standard input (-), on a line of its own: {"text","lang","now","tz"},
    /// of which only text is needed. The options hold for lines that do not say, and a zone that nobody says is UTC.
    /// A line that cannot be read, or is empty, is answered with {"error"}
    #[arg(long, value_name = "FILE")]
    pub(super) batch: Option<String>,
}

/// The language, zone and time in which a text is meant.
#[derive(Debug, Clone)]
pub(super) struct Speaker {
    pub(super) lang: Option<Lang>,
    pub(super) zone: Zone,
    pub(super) now: Timestamp,
}

impl Texts {
    pub(super) fn text(&self) -> String {
        self.text.join(" ")
    }

    /// The person that the options describe.
    pub(super) fn speaker(&self, global: &Global) -> anyhow::Result<Speaker> {
        let zone = match (&self.tz, &self.batch) {
            // A file means the same on every machine.
            (None, Some(_)) => Zone::utc(),
            (tz, _) => own_zone(tz.as_deref(), global)?,
        };
        let clock = whole_second(SystemClock::read());
        let now = self.now.as_deref().map(|text| parse_instant(text, &zone, clock)).transpose();
        let now = now.map_err(|problem| Usage(format!("--now: {problem}")))?.unwrap_or(clock);
        Ok(Speaker { lang: lang(self.lang.as_deref())?, zone, now })
    }

    /// Answers every line of `file`, in the order in which they come.
    pub(super) fn answer_each<T: Serialize>(
        &self,
        file: &str,
        global: &Global,
        answer: impl Fn(&str, &Speaker) -> T,
    ) -> anyhow::Result<()> {
        let source: Box<dyn Read> = match file {
            "-" => Box::new(io::stdin().lock()),
            path => Box::new(File::open(path).with_context(|| format!("cannot read {path}"))?),
        };
        let mut lines = Lines { speaker: self.speaker(global)?, zones: HashMap::new() };
        let mut reader = BufReader::with_capacity(READ_BYTES, source);
        let mut out = BufWriter::with_capacity(READ_BYTES, io::stdout().lock());
        let mut line = Vec::new();
        loop {
            // A program that sends one line and waits for its answer gets it.
            if reader.buffer().is_empty() {
                out.flush()?;
            }
            line.clear();
            if reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {file}"))? == 0 {
                break;
            }
            match lines.read(&line) {
                Ok((text, speaker)) => write_line(&mut out, &answer(&text, &speaker))?,
                Err(invalid) => write_line(&mut out, &json!({ "error": invalid.to_string() }))?,
            }
        }
        Ok(out.flush()?)
    }
}

/// The second that begins at `at` or after it. Nobody who says `in 5 minutes` wants to read nanoseconds, and nothing may be early.
fn whole_second(at: Timestamp) -> Timestamp {
    at.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil)).unwrap_or(at)
}

/// The language that `--lang` names.
pub(super) fn lang(tag: Option<&str>) -> Result<Option<Lang>, Usage> {
    tag.map(str::parse).transpose().map_err(|problem: String| Usage(format!("--lang: {problem}")))
}

fn write_line<T: Serialize>(out: &mut impl Write, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// The options that are the same for all lines.
struct Lines {
    /// For what a line does not say.
    speaker: Speaker,
    /// By the name they were asked for; a look into the zone database takes longer than a phrase.
    zones: HashMap<String, Zone>,
}

impl Lines {
    fn read(&mut self, line: &[u8]) -> Result<(String, Speaker), Invalid> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Err(Invalid::new("line", "is empty; write {\"text\":\"tomorrow at 8\"}"));
        }
        let mut fields: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| Invalid::new("line", error.to_string()))?;
        if let Some(name) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            let hint = match nearest(name, KNOWN) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", KNOWN.join(", ")),
            };
            return Err(Invalid::new(name, format!("is not a known field; {hint}")));
        }
        let mut text = |field: &str| match fields.get_mut(field).map(Value::take) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Invalid::new(field, format!("must be text, not {other}"))),
        };
        let words = text("text")?.ok_or_else(|| Invalid::new("text", "is missing"))?;
        let lang = match text("lang")? {
            Some(tag) => Some(tag.parse().map_err(|problem: String| Invalid::new("lang", problem))?),
            None => self.speaker.lang,
        };
        let zone = match text("tz")? {
            Some(name) => self.zone(name)?,
            None => self.speaker.zone.clone(),
        };
        let now = match text("now")? {
            Some(now) => {
                parse_instant(&now, &zone, self.speaker.now).map_err(|problem| Invalid::new("now", problem))?
            }
            None => self.speaker.now,
        };
        Ok((words, Speaker { lang, zone, now }))
    }

    fn zone(&mut self, name: String) -> Result<Zone, Invalid> {
        if let Some(zone) = self.zones.get(&name) {
            return Ok(zone.clone());
        }
        let zone = Zone::named(&name).map_err(|invalid| Invalid::new("tz", invalid.problem))?;
        self.zones.insert(name, zone.clone());
        Ok(zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Lines {
        let speaker = Speaker { lang: None, zone: Zone::utc(), now: "2026-03-01T09:00:00Z".parse().unwrap() };
        Lines { speaker, zones: HashMap::new() }
    }

    #[test]
    fn a_line_says_what_the_options_do_not() {
        let mut lines = lines();
        let (text, speaker) =
            lines.read(br#"{"text":"a","lang":"de","tz":"-02:00","now":"2026-03-02T08:00"}"#).unwrap();
        assert_eq!((text.as_str(), speaker.lang, speaker.zone.name()), ("a", Some(Lang::De), "-02:00"));
        assert_eq!(speaker.now, "2026-03-02T10:00:00Z".parse().unwrap());
        let (_, speaker) = lines.read(b"{\"text\":\"a\",\"lang\":null}\r\n").unwrap();
        assert_eq!((speaker.lang, speaker.zone.name(), speaker.now), (None, "UTC", lines.speaker.now));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_which_field_and_why() {
        for (line, words) in [
            ("", "line: is empty"),
            ("\r\n", "line: is empty"),
            ("{", "line: EOF"),
            ("[]", "line: invalid type"),
            ("{}", "text: is missing"),
            (r#"{"text":5}"#, "text: must be text, not 5"),
            (r#"{"txt":"a"}"#, "txt: is not a known field; did you mean `text`?"),
            (r#"{"text":"a","lang":"it"}"#, "lang: `it` is not a language"),
            (r#"{"text":"a","tz":"Europe/Berln"}"#, "tz: unknown time zone `Europe/Berln`; did you mean Europe/Berlin"),
            (r#"{"text":"a","now":"20:99"}"#, "now: `20:99` is not a time of day"),
        ] {
            let error = lines().read(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
