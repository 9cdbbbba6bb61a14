//! Applications' own tables, in which watches look.
//!
//! A database says what its columns are; [`punctual_core::rules::watch`] decides which rows are reminded of. So a statement here may give rows
//! that are not due where it cannot compare dates exactly, and never leaves one out.

use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Machine;
use punctual_core::rules::watch::Form;
use punctual_core::source::{Bounds, Source};
use punctual_core::watch::Watch;
use punctual_core::zone::Zone;

use crate::{postgres, sqlite};

/// The most characters of a column that are read.
pub(crate) use punctual_core::watch::VALUE_CHARS_MAX;

/// The application's database at `url`: `postgres://…` or `sqlite:PATH`. Nothing is opened before it is used.
pub fn open(url: &str, watch: Arc<Watch>, machine: &Machine) -> Result<Arc<dyn Source>, String> {
    if is_postgres(url) {
        return Ok(Arc::new(postgres::Watched::new(url, watch, machine)?));
    }
    Ok(Arc::new(sqlite::Watched::new(Path::new(path_of(url)?), watch)))
}

/// The database for people: without its password.
pub fn shown(url: &str) -> Result<String, String> {
    if is_postgres(url) {
        return postgres::Url::parse(url).map(|url| url.to_string()).map_err(|error| error.to_string());
    }
    path_of(url).map(|path| format!("sqlite:{path}"))
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

fn path_of(url: &str) -> Result<&str, String> {
    let path = url.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
    path.filter(|path| !path.is_empty())
        .ok_or_else(|| "write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH".into())
}

/// What a column of dates holds, as far as its type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Instants, with so many digits of a second.
    Instant(u8),
    /// Times without a zone.
    Local(u8),
    /// Days.
    Day,
    /// Numbers since 1970.
    Number,
    /// Texts.
    Text,
    /// Each row says.
    Any,
}

impl Kind {
    /// The form of what is written into such a column; `None`: it cannot hold an instant.
    pub(crate) fn form(self) -> Option<Form> {
        match self {
            Self::Instant(digits) => Some(Form::Instant(digits)),
            Self::Local(digits) => Some(Form::Local(digits)),
            Self::Number => Some(Form::NumberText),
            Self::Text => Some(Form::Text),
            Self::Any => Some(Form::Like),
            Self::Day => None,
        }
    }
}

/// SQL of an application's within a statement. It may end with a comment, which must not reach further.
pub(crate) fn in_brackets(sql: &str) -> String {
    format!("({sql}\n)")
}

/// The condition that `due` lies within the bounds. Texts and numbers are compared as such, which an index can serve.
pub(crate) fn is_due(due: &str, text: &str, kind: Kind, bounds: &Bounds, zone: &Zone) -> String {
    let Bounds { from, until, .. } = bounds;
    let number = |micros: i64, per: i64| micros.div_euclid(per);
    let numbers = || {
        let (from, until) = (from.as_microsecond(), until.as_microsecond());
        let between = |per: i64| format!("{due} between {} and {}", number(from, per), number(until, per) + 1);
        format!("{} or {} or {}", between(1_000_000), between(1000), between(1))
    };
    // A text's offset can put it a day from its own date.
    let texts = || format!("({text} >= '{}' and {text} < '{}')", day(*from, -1), day(*until, 2));
    match kind {
        Kind::Instant(_) => format!("{due} >= timestamptz '{}' and {due} <= timestamptz '{}'", utc(*from), utc(*until)),
        Kind::Local(_) | Kind::Day => {
            format!("{due} >= timestamp '{}' and {due} <= timestamp '{}'", local(*from, zone), local(*until, zone))
        }
        Kind::Number => format!("({})", numbers()),
        Kind::Text => texts(),
        Kind::Any => format!("({} or {})", texts(), numbers()),
    }
}

/// The condition that `sent` was set long enough ago, or never.
pub(crate) fn is_unsent(sent: &str, text: &str, kind: Kind, before: Timestamp, zone: &Zone) -> String {
    let numbers = || {
        let micros = before.as_microsecond();
        let (seconds, millis) = (micros.div_euclid(1_000_000) + 1, micros.div_euclid(1000) + 1);
        format!(
            "{sent} <= {seconds} or ({sent} > 100000000000 and {sent} <= {millis}) or ({sent} > 100000000000000 and {sent} <= {micros})"
        )
    };
    let texts = || format!("{text} < '{}'", day(before, 2));
    let is_old = match kind {
        Kind::Instant(_) => format!("{sent} <= timestamptz '{}'", utc(before)),
        Kind::Local(_) | Kind::Day => format!("{sent} <= timestamp '{}'", local(before, zone)),
        Kind::Number => numbers(),
        Kind::Text => texts(),
        Kind::Any => format!("{} or {}", texts(), numbers()),
    };
    format!("({sent} is null or {is_old})")
}

fn utc(at: Timestamp) -> String {
    format!("{}+00", at.strftime("%Y-%m-%d %H:%M:%S%.6f"))
}

fn local(at: Timestamp, zone: &Zone) -> String {
    at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// The day in UTC that lies `days` from `at`.
fn day(at: Timestamp, days: i64) -> String {
    let at = at.saturating_add(SignedDuration::from_hours(24 * days)).unwrap_or(at);
    at.strftime("%Y-%m-%d").to_string()
}
