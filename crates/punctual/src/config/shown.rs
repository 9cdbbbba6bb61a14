//! The settings as they are in force, and where each comes from. No secret is among them.

use std::time::Duration;

use punctual_core::span;

use super::keys::{KEYS, Key};
use super::layers::{Layers, Origin};
use super::{Config, LogFormat};

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) key: &'static Key,
    pub(crate) value: Shown,
    pub(crate) origin: Origin,
}

/// A value as people may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It is not set.
    Nothing,
    /// This.
    Text(String),
    /// It is set, and nobody sees to what.
    Secret,
}

/// Every setting of `config`, in the order of the table.
pub(super) fn all(config: &Config, layers: &Layers<'_>) -> Vec<InForce> {
    let in_force =
        |key: &'static Key| InForce { key, value: value(config, layers, key.name), origin: layers.origin(key) };
    KEYS.iter().map(in_force).collect()
}

fn value(config: &Config, layers: &Layers<'_>, name: &str) -> Shown {
    let text = |text: &dyn ToString| Shown::Text(text.to_string());
    let maybe = |found: Option<String>| found.map_or(Shown::Nothing, Shown::Text);
    let secret = |is_set: bool| if is_set { Shown::Secret } else { Shown::Nothing };
    let kept = |keep: Option<Duration>| Shown::Text(keep.map_or_else(|| "forever".to_owned(), span::format));
    let is_given = || layers.get(name).is_some();
    let path = |path: &std::path::Path| path.display().to_string();
    match name {
        "database" => text(&config.database),
        "listen" => text(&config.listen),
        "tls_cert" => maybe(config.tls.as_ref().map(|tls| path(&tls.cert))),
        "tls_key" => maybe(config.tls.as_ref().map(|tls| path(&tls.key))),
        "allowed_hosts" => list(&config.allowed_hosts),
        "key_rate" => text(&config.key_rate),
        "data_dir" => Shown::Text(path(&config.data_dir)),
        "public_url" => maybe(config.public_url.clone()),
        "timezone" => text(&config.timezone.name()),
        "log_format" => text(&match config.log_format {
            LogFormat::Auto => "auto",
            LogFormat::Human => "human",
            LogFormat::Json => "json",
        }),
        "log" => text(&config.log),
        "enable_redis_reminder_ttl" => text(&config.redis.is_some()),
        "redis_url" => maybe(config.redis.as_ref().map(|redis| redis.shown.clone())),
        "reminder_fallback_interval" | "scheduler_poll_interval_seconds" => {
            Shown::Text(span::format(config.fallback_interval))
        }
        "reminder_fallback_grace" => Shown::Text(span::format(config.fallback_grace)),
        "scheduler_batch_size" => maybe(config.batch_size.map(|n| n.to_string())),
        "retry_max_attempts" => text(&(config.retries_max + 1)),
        "retry_base_delay_seconds" => {
            let names = ["low", "normal", "high", "critical"].into_iter();
            let delays = names.zip(config.retry.base).map(|(name, delay)| format!("{name}={}", span::format(delay)));
            Shown::Text(delays.collect::<Vec<_>>().join(", "))
        }
        "webhook_allow_private" => text(&config.webhook.allow_private),
        "webhook_timeout" => Shown::Text(span::format(config.webhook.timeout)),
        "webhook_concurrency" => text(&config.webhook.concurrency),
        "webpush_allow_private" => text(&config.webpush.allow_private),
        "webpush_contact" => maybe(config.webpush.contact.clone()),
        "calendar_allow_private" => text(&config.calendar_allow_private),
        "calendar_files" => maybe(config.calendar_files.as_deref().map(path)),
        // An address may be a secret.
        "default_channel" => match &config.default_channel.address {
            to if to.address.is_empty() => text(&to.channel),
            to => Shown::Text(format!("{}:…", to.channel)),
        },
        "language" => text(&config.language.tag()),
        "opinion_model" => maybe(config.opinion.as_ref().map(|opinion| opinion.model.clone())),
        "opinion_timeout" => maybe(config.opinion.as_ref().map(|opinion| span::format(opinion.timeout))),
        "heartbeat_interval" => maybe(config.heartbeat.as_ref().map(|heartbeat| span::format(heartbeat.every))),
        "search" => text(&config.search),
        "history_keep" => kept(config.history_keep),
        "journal_keep" => kept(config.journal_keep),
        "metrics_key" => text(&config.metrics_key),
        "cors_origins" => list(&config.cors_origins),
        "shadow" => text(&config.shadow),
        // The path of a file that holds a secret is none.
        "webhook_secret_file" | "link_secret_file" | "opinion_key_file" | "webpush_key_file" => {
            maybe(layers.get(name).and_then(|found| found.value.as_str().map(str::to_owned)))
        }
        // Secrets, URLs that may hold one, and whatever comes to the table without being named here.
        _ => secret(is_given()),
    }
}

fn list(texts: &[String]) -> Shown {
    if texts.is_empty() { Shown::Nothing } else { Shown::Text(texts.join(", ")) }
}
