//! Flags over environment over file.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use punctual_core::span;
use punctual_engine::Subscription;
use toml::Value;

use super::keys::{self, KEYS, Key, OTHER_VARIABLES, nearest};
use super::{ChannelConfig, ConfigError, Env, Flags, WatchConfig, channels, paths, subscriptions, watches};

/// The table of the file that is not one setting but many channels.
const CHANNELS: &str = "channels";
/// The list of the file that is not one setting but many subscriptions.
const SUBSCRIPTIONS: &str = "subscriptions";
/// The table of the file that is not one setting but many watches.
const WATCHES: &str = "watches";

/// All layers, read and checked for unknown names.
pub(super) struct Layers<'a> {
    flags: Flags,
    env: Env<'a>,
    file: Option<(PathBuf, toml::Table)>,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag of the command line, such as `--listen`.
    Flag(String),
    /// A variable of the environment.
    Environment(&'static str),
    /// The config file at this path.
    File(PathBuf),
    /// Nobody has said it.
    Default,
}

/// A value, and where it was found, for the error that may follow.
pub(super) struct Found<T> {
    pub(super) value: T,
    /// Such as `PUNCTUAL_LISTEN`, `--listen` or `punctual.toml: listen`.
    pub(super) source: String,
    key: &'static Key,
}

impl<T> Found<T> {
    /// Says what is wrong with the value and what would be right.
    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> ConfigError {
        ConfigError(format!("{}: {problem}; {}", self.source, self.key.right))
    }

    fn with<U>(self, value: U) -> Found<U> {
        Found { value, source: self.source, key: self.key }
    }
}

impl<'a> Layers<'a> {
    pub(super) fn new(file: Option<PathBuf>, flags: Flags, env: Env<'a>) -> Result<Self, ConfigError> {
        let named = file.or_else(|| env("PUNCTUAL_CONFIG").map(PathBuf::from));
        // A file that was named must be there; the usual one is read if it is.
        let path = named.or_else(|| paths::default_config_file(env).filter(|path| path.exists()));
        let file = path.map(read_file).transpose()?;
        Ok(Self { flags, env, file })
    }

    pub(super) fn file_path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|(path, _)| path.clone())
    }

    /// Warnings about variables that look like settings and are none.
    pub(super) fn odd_variables(&self) -> Vec<String> {
        let known = || KEYS.iter().flat_map(|key| key.env.iter().copied()).chain(OTHER_VARIABLES.iter().copied());
        std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| name.starts_with("PUNCTUAL_"))
            .filter(|name| !name.starts_with(channels::PREFIX) && !name.starts_with(watches::PREFIX))
            .filter(|name| !known().any(|known| known == name))
            .map(|name| match nearest(&name, known()) {
                Some(near) => format!("{name} is no setting; did you mean {near}?"),
                None => format!("{name} is no setting and has no effect"),
            })
            .collect()
    }

    /// The channels that were asked for.
    pub(super) fn channels(&self) -> Result<Vec<ChannelConfig>, ConfigError> {
        let table = self.file.as_ref().and_then(|(_, table)| table.get(CHANNELS));
        let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let own = own.filter(|name| name.starts_with(channels::PREFIX));
        let variables: Vec<_> = own.filter_map(|name| (self.env)(&name).map(|value| (name, value))).collect();
        channels::read(table, variables).map_err(|error| match error.0.starts_with(CHANNELS) {
            true => self.in_file(error),
            false => error,
        })
    }

    /// The subscriptions that were asked for.
    pub(super) fn subscriptions(&self) -> Result<Vec<Subscription>, ConfigError> {
        let list = self.file.as_ref().and_then(|(_, table)| table.get(SUBSCRIPTIONS));
        subscriptions::read(list).map_err(|error| self.in_file(error))
    }

    /// The watches that were asked for; `retries_max` is for those that do not say.
    pub(super) fn watches(&self, retries_max: u32) -> Result<Vec<WatchConfig>, ConfigError> {
        let table = self.file.as_ref().and_then(|(_, table)| table.get(WATCHES));
        watches::read(table, self.env, retries_max).map_err(|error| self.in_file(error))
    }

    /// An error that names the file.
    fn in_file(&self, error: ConfigError) -> ConfigError {
        match &self.file {
            Some((path, _)) => ConfigError(format!("{}: {error}", path.display())),
            None => error,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Found<Value>> {
        let key = keys::named(name);
        if let Some(value) = self.flags.get(name) {
            let source = format!("--{}", name.replace('_', "-"));
            return Some(Found { value: Value::String(value.clone()), source, key });
        }
        for variable in key.env {
            if let Some(value) = (self.env)(variable) {
                return Some(Found { value: Value::String(value), source: (*variable).to_owned(), key });
            }
        }
        let (path, table) = self.file.as_ref()?;
        let value = table.get(name)?.clone();
        Some(Found { value, source: format!("{}: {name}", path.display()), key })
    }

    /// Where the value of a setting comes from.
    pub(super) fn origin(&self, key: &'static Key) -> Origin {
        if self.flags.contains_key(key.name) {
            return Origin::Flag(format!("--{}", key.name.replace('_', "-")));
        }
        if let Some(variable) = key.env.iter().find(|variable| (self.env)(variable).is_some()) {
            return Origin::Environment(variable);
        }
        match &self.file {
            Some((path, table)) if table.contains_key(key.name) => Origin::File(path.clone()),
            _ => Origin::Default,
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<Found<String>>, ConfigError> {
        let Some(found) = self.get(name) else { return Ok(None) };
        match &found.value {
            Value::String(text) => {
                let text = text.clone();
                Ok(Some(found.with(text)))
            }
            other => Err(found.wrong(format!("must be a text, not {}", kind(other)))),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, ConfigError> {
        let Some(found) = self.get(name) else { return Ok(None) };
        match &found.value {
            Value::Boolean(value) => Ok(Some(*value)),
            Value::String(text) => match text.to_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Some(true)),
                "false" | "0" | "no" | "off" => Ok(Some(false)),
                _ => Err(found.wrong(format!("`{text}` is neither true nor false"))),
            },
            other => Err(found.wrong(format!("must be true or false, not {}", kind(other)))),
        }
    }

    pub(super) fn number(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ConfigError> {
        let Some(found) = self.get(name) else { return Ok(None) };
        let number = match &found.value {
            Value::Integer(number) => *number,
            Value::String(text) => {
                text.trim().parse().map_err(|_| found.wrong(format!("`{text}` is not a whole number")))?
            }
            other => return Err(found.wrong(format!("must be a whole number, not {}", kind(other)))),
        };
        if !range.contains(&number) {
            return Err(found.wrong(format!("{number} is out of range")));
        }
        Ok(Some(number))
    }

    /// A duration: a bare number is seconds, because the setting's name has always meant them.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<Duration>, ConfigError> {
        self.seconds_up_to(name, Duration::from_secs(366 * 86_400))
    }

    /// The same where a shorter span is the longest.
    pub(super) fn seconds_up_to(&self, name: &str, most: Duration) -> Result<Option<Duration>, ConfigError> {
        let Some(found) = self.get(name) else { return Ok(None) };
        let span = duration(&found.value).map_err(|problem| found.wrong(problem))?;
        if span.is_zero() || span > most {
            let most = if most.as_secs() < 86_400 { format!("{} s", most.as_secs()) } else { "a year".into() };
            return Err(found.wrong(format!("must be more than nothing and at most {most}")));
        }
        Ok(Some(span))
    }
}

/// Reads seconds, or a span such as `5m`.
pub(super) fn duration(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Integer(seconds) => match u64::try_from(*seconds) {
            Ok(seconds) => Ok(Duration::from_secs(seconds)),
            Err(_) => Err(format!("{seconds} is negative")),
        },
        Value::Float(seconds) => {
            Duration::try_from_secs_f64(*seconds).map_err(|_| format!("{seconds} is no span of seconds"))
        }
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is no span of seconds")),
            Err(_) => span::parse(text),
        },
        other => Err(format!("must be seconds or a span, not {}", kind(other))),
    }
}

/// The kind of a value, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

fn read_file(path: PathBuf) -> Result<(PathBuf, toml::Table), ConfigError> {
    let shown = path.display();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| ConfigError(format!("cannot read the config file {shown}: {error}")))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
        ConfigError(format!("{shown}{place}: {}", error.message().replace('\n', ", ")))
    })?;
    for name in table.keys() {
        if ![CHANNELS, SUBSCRIPTIONS, WATCHES].contains(&name.as_str()) && !KEYS.iter().any(|key| key.name == name) {
            let hint = match nearest(name, KEYS.iter().map(|key| key.name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")),
            };
            return Err(ConfigError(format!("{shown}: `{name}` is no setting; {hint}")));
        }
    }
    Ok((path, table))
}
