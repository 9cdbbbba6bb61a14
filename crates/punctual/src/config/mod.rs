//! Settings from flags, environment and file.
//!
//! Flags beat the environment, which beats the file. Every setting is one row of [`keys::KEYS`]:
//! its name in the file, its variables, and what a right value looks like, so that every mistake is
//! answered with what would be right.

mod channels;
mod database;
pub(crate) mod keys;
mod layers;
pub(crate) mod paths;
mod read;
pub(crate) mod secret;
mod shown;
mod subscriptions;
mod watches;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use punctual_core::channel::Rate;
use punctual_core::phrase::Lang;
use punctual_core::reach::DefaultChannel;
use punctual_core::retry::RetryPolicy;
use punctual_core::zone::Zone;
use punctual_engine::Subscription;

pub(crate) use channels::ChannelConfig;
pub(crate) use database::Database;
pub(crate) use layers::Origin;
pub(crate) use secret::Secret;
pub(crate) use shown::{InForce, Shown};
pub(crate) use watches::{WatchConfig, watch_of};

use self::layers::Layers;
use crate::connections::TlsFiles;

/// Flags that were given, by the name of the setting they set.
pub(crate) type Flags = BTreeMap<&'static str, String>;

/// Reads a variable of the environment. It is a function, so that tests need not change the process.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A setting that cannot be used, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConfigError(pub(crate) String);

/// Everything that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Where reminders are kept.
    pub(crate) database: Database,
    /// A Redis that rings beside our own timer, if there is one.
    pub(crate) redis: Option<RedisConfig>,
    /// Where to listen, as `HOST:PORT`.
    pub(crate) listen: String,
    /// The certificate to show, if connections are encrypted.
    pub(crate) tls: Option<TlsFiles>,
    /// Names by which this server may be called, beside its own.
    pub(crate) allowed_hosts: Vec<String>,
    /// How often a key may ask that has no rate of its own.
    pub(crate) key_rate: Rate,
    /// Where the admin key and the server's address are kept, and the database if it is a file.
    pub(crate) data_dir: PathBuf,
    /// Where people and programs reach this server, for links.
    pub(crate) public_url: Option<String>,
    /// Proves the links that answer a reminder.
    pub(crate) link_secret: Option<Secret>,
    /// The zone of reminders and users that have none.
    pub(crate) timezone: Zone,
    pub(crate) log_format: LogFormat,
    /// A level, or directives such as `info,punctual_engine=debug`.
    pub(crate) log: String,
    pub(crate) fallback_interval: Duration,
    pub(crate) fallback_grace: Duration,
    /// The most occurrences one claim takes.
    pub(crate) batch_size: Option<usize>,
    /// Retries of a reminder that does not say.
    pub(crate) retries_max: u32,
    pub(crate) retry: RetryPolicy,
    pub(crate) webhook: WebhookConfig,
    pub(crate) webpush: WebpushConfig,
    /// Whether calendars at private addresses are read.
    pub(crate) calendar_allow_private: bool,
    /// The folder whose files may be followed as calendars.
    pub(crate) calendar_files: Option<PathBuf>,
    /// Channels beside those that are always there.
    pub(crate) channels: Vec<ChannelConfig>,
    /// The language of users who have none.
    pub(crate) language: Lang,
    /// The monitor that is called for as long as everything works.
    pub(crate) heartbeat: Option<HeartbeatConfig>,
    /// Gives second opinions on words that are no answer in any language.
    pub(crate) opinion: Option<OpinionConfig>,
    /// Where to send when neither the reminder nor its user says.
    pub(crate) default_channel: DefaultChannel,
    /// How long ended occurrences are kept; `None` keeps them for ever.
    pub(crate) history_keep: Option<Duration>,
    /// How long entries of the journal are kept; `None` keeps them for ever.
    pub(crate) journal_keep: Option<Duration>,
    /// Whether this node keeps the index of texts by which reminders are found.
    pub(crate) search: bool,
    /// Which applications are told what.
    pub(crate) subscriptions: Vec<Subscription>,
    /// Which tables of applications are looked into.
    pub(crate) watches: Vec<WatchConfig>,
    /// Whether everything is done but the send.
    pub(crate) shadow: bool,
    /// Whether `/metrics` asks for a key.
    pub(crate) metrics_key: bool,
    /// The origins of pages that may use the API from a browser.
    pub(crate) cors_origins: Vec<String>,
    /// The file that was read, if one was.
    pub(crate) file: Option<PathBuf>,
    /// Things that are odd but no reason to stop.
    pub(crate) warnings: Vec<String>,
    /// Every setting as people may see it, and where it comes from.
    pub(crate) in_force: Vec<InForce>,
}

/// How browsers are reached.
#[derive(Debug, Clone)]
pub(crate) struct WebpushConfig {
    /// Whether a push service may be at a private address.
    pub(crate) allow_private: bool,
    /// Where those who run a push service reach the people who run this server.
    pub(crate) contact: Option<String>,
    /// Signs every push.
    pub(crate) key: Option<Secret>,
}

/// Where the Redis timer is.
#[derive(Debug, Clone)]
pub(crate) struct RedisConfig {
    /// As it was given.
    pub(crate) url: Secret,
    /// Without its password.
    pub(crate) shown: String,
}

/// An outside monitor that notices silence.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatConfig {
    /// The URL of the monitor; it may have a token in it.
    pub(crate) url: Secret,
    /// How often.
    pub(crate) every: Duration,
}

/// An OpenAI-compatible endpoint that gives second opinions.
#[derive(Debug, Clone)]
pub(crate) struct OpinionConfig {
    /// Its URL for chat completions.
    pub(crate) url: Secret,
    /// The model that is asked.
    pub(crate) model: String,
    /// Its key.
    pub(crate) key: Option<Secret>,
    /// How long it may take.
    pub(crate) timeout: Duration,
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub(crate) struct WebhookConfig {
    /// Whether private, loopback and link-local targets are allowed.
    pub(crate) allow_private: bool,
    /// Signs every request.
    pub(crate) secret: Option<Secret>,
    /// How long one request may take.
    pub(crate) timeout: Duration,
    /// How many requests to one receiver run at once.
    pub(crate) concurrency: usize,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Human on a terminal, JSON otherwise.
    Auto,
    Human,
    Json,
}

impl Config {
    /// Reads every layer. `file` is the one asked for by `--config`, if it was.
    pub(crate) fn load(file: Option<PathBuf>, flags: Flags, env: Env<'_>) -> Result<Self, ConfigError> {
        let layers = Layers::new(file, flags, env)?;
        let data_dir = match layers.text("data_dir")? {
            Some(text) if text.value.is_empty() => return Err(text.wrong("is empty")),
            Some(text) => PathBuf::from(text.value),
            None => paths::default_data_dir(env)?,
        };
        let mut warnings = layers.odd_variables();
        let redis = read::redis(&layers, &mut warnings)?;
        let mut config = Self {
            database: read::database(&layers, &data_dir)?,
            redis,
            listen: read::listen(&layers)?,
            tls: read::tls(&layers)?,
            allowed_hosts: read::allowed_hosts(&layers)?,
            key_rate: read::key_rate(&layers)?,
            public_url: read::public_url(&layers)?,
            link_secret: read::link_secret(&layers)?,
            timezone: read::timezone(&layers)?,
            log_format: read::log_format(&layers)?,
            log: read::log(&layers)?,
            fallback_interval: match layers.seconds("reminder_fallback_interval")? {
                Some(interval) => interval,
                // punctual does not poll; the safety sweep is what comes nearest to it.
                None => layers.seconds("scheduler_poll_interval_seconds")?.unwrap_or(Duration::from_secs(300)),
            },
            fallback_grace: layers.seconds("reminder_fallback_grace")?.unwrap_or(Duration::from_secs(120)),
            batch_size: layers.number("scheduler_batch_size", 1..=100_000)?.map(|n| n as usize),
            retries_max: layers.number("retry_max_attempts", 1..=101)?.map_or(3, |n_in_all| n_in_all as u32 - 1),
            retry: read::retry(&layers)?,
            webhook: WebhookConfig {
                allow_private: layers.boolean("webhook_allow_private")?.unwrap_or(false),
                secret: read::secret(&layers, "webhook_secret", "webhook_secret_file")?,
                timeout: layers.seconds("webhook_timeout")?.unwrap_or(Duration::from_secs(15)),
                concurrency: layers.number("webhook_concurrency", 1..=10_000)?.map_or(64, |n| n as usize),
            },
            webpush: WebpushConfig {
                allow_private: layers.boolean("webpush_allow_private")?.unwrap_or(false),
                contact: read::webpush_contact(&layers)?,
                key: read::secret(&layers, "webpush_key", "webpush_key_file")?,
            },
            calendar_allow_private: layers.boolean("calendar_allow_private")?.unwrap_or(false),
            calendar_files: layers.text("calendar_files")?.map(|found| PathBuf::from(found.value)),
            channels: layers.channels()?,
            language: read::language(&layers)?,
            heartbeat: read::heartbeat(&layers)?,
            opinion: read::opinion(&layers)?,
            default_channel: read::default_channel(&layers)?,
            history_keep: read::kept_for(&layers, "history_keep", 90)?,
            journal_keep: read::kept_for(&layers, "journal_keep", 365)?,
            search: layers.boolean("search")?.unwrap_or(true),
            subscriptions: layers.subscriptions()?,
            watches: layers
                .watches(layers.number("retry_max_attempts", 1..=101)?.map_or(3, |n_in_all| n_in_all as u32 - 1))?,
            shadow: layers.boolean("shadow")?.unwrap_or(false),
            metrics_key: layers.boolean("metrics_key")?.unwrap_or(false),
            cors_origins: read::cors_origins(&layers)?,
            file: layers.file_path(),
            data_dir,
            warnings,
            in_force: Vec::new(),
        };
        config.in_force = shown::all(&config, &layers);
        Ok(config)
    }

    /// The zone of a server that is started by this process's settings; nothing else is read.
    pub(crate) fn zone_of_process(file: Option<PathBuf>) -> Result<Zone, ConfigError> {
        read::timezone(&Layers::new(file, Flags::new(), &process_env)?)
    }

    /// Reads every layer of this process.
    pub(crate) fn of_process(file: Option<PathBuf>, flags: Flags) -> Result<Self, ConfigError> {
        Self::load(file, flags, &process_env)
    }
}

/// The process's own environment. A variable that is set to nothing counts as not set.
pub(crate) fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
