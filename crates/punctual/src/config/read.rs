//! The settings that need more than a type.

use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use punctual_channels::webpush;
use punctual_core::channel::Rate;
use punctual_core::phrase::Lang;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::Priority;
use punctual_core::retry::RetryPolicy;
use punctual_core::zone::Zone;
use toml::Value;

use super::keys::nearest;
use super::layers::{Found, Layers, duration, kind};
use super::{ConfigError, Database, HeartbeatConfig, LogFormat, OpinionConfig, RedisConfig, Secret};
use crate::connections::TlsFiles;

/// A person waits for the reaction to what they wrote, so an opinion never takes longer.
const OPINION_TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// More than a program needs that is not stuck in a loop.
const KEY_RATE: Rate = Rate::per_second(1000);

pub(super) fn database(layers: &Layers<'_>, data_dir: &Path) -> Result<Database, ConfigError> {
    let Some(found) = layers.text("database")? else {
        return Ok(Database::Sqlite(data_dir.join("punctual.db")));
    };
    Database::parse(&found.value).map_err(|problem| found.wrong(problem))
}

/// The Redis timer, unless there is none or it is switched off.
pub(super) fn redis(layers: &Layers<'_>, warnings: &mut Vec<String>) -> Result<Option<RedisConfig>, ConfigError> {
    let enabled = layers.boolean("enable_redis_reminder_ttl")?;
    let Some(found) = layers.text("redis_url")? else {
        if enabled == Some(true) {
            warnings.push("enable_redis_reminder_ttl has no effect without redis_url; our own timer needs none".into());
        }
        return Ok(None);
    };
    let shown = crate::redis::check_url(&found.value).map_err(|error| found.wrong(error))?;
    let config = RedisConfig { url: Secret::new(found.value), shown };
    Ok(Some(config).filter(|_| enabled != Some(false)))
}

/// The language of users who have none.
pub(super) fn language(layers: &Layers<'_>) -> Result<Lang, ConfigError> {
    let Some(found) = layers.text("language")? else { return Ok(Lang::En) };
    found.value.parse().map_err(|_| found.wrong(format!("`{}` is no language that is spoken here", found.value)))
}

/// The monitor that is told that everything works, if there is one.
pub(super) fn heartbeat(layers: &Layers<'_>) -> Result<Option<HeartbeatConfig>, ConfigError> {
    let every = layers.seconds("heartbeat_interval")?.unwrap_or(Duration::from_secs(60));
    let Some(found) = layers.text("heartbeat_url")? else { return Ok(None) };
    match reqwest::Url::parse(&found.value) {
        // The error does not repeat the URL: a person who has it can speak for this server.
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(Some(HeartbeatConfig { url: Secret::new(found.value), every }))
        }
        _ => Err(found.wrong("is no http or https URL")),
    }
}

/// The endpoint that gives second opinions, if there is one.
pub(super) fn opinion(layers: &Layers<'_>) -> Result<Option<OpinionConfig>, ConfigError> {
    let key = secret(layers, "opinion_key", "opinion_key_file")?;
    let timeout = layers.seconds_up_to("opinion_timeout", OPINION_TIMEOUT_MAX)?.unwrap_or(Duration::from_secs(2));
    let model = layers.text("opinion_model")?;
    let Some(found) = layers.text("opinion_url")? else { return Ok(None) };
    match reqwest::Url::parse(&found.value) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {}
        _ => return Err(found.wrong("is no http or https URL")),
    }
    let Some(model) = model.map(|model| model.value).filter(|model| !model.is_empty()) else {
        return Err(found.wrong("needs opinion_model, the model that is asked"));
    };
    Ok(Some(OpinionConfig { url: Secret::new(found.value), model, key, timeout }))
}

pub(super) fn listen(layers: &Layers<'_>) -> Result<String, ConfigError> {
    let Some(found) = layers.text("listen")? else { return Ok("127.0.0.1:7373".into()) };
    let port = found.value.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) => Ok(found.value),
        _ => Err(found.wrong(format!("`{}` is no address", found.value))),
    }
}

/// The certificate and its key: both, or neither.
pub(super) fn tls(layers: &Layers<'_>) -> Result<Option<TlsFiles>, ConfigError> {
    match (layers.text("tls_cert")?, layers.text("tls_key")?) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert: cert.value.into(), key: key.value.into() })),
        (Some(cert), None) => Err(cert.wrong("needs tls_key beside it, the certificate's private key")),
        (None, Some(key)) => Err(key.wrong("needs tls_cert beside it, the key's certificate")),
    }
}

/// Names by which this server may be called, beside its own.
pub(super) fn allowed_hosts(layers: &Layers<'_>) -> Result<Vec<String>, ConfigError> {
    let Some(found) = layers.get("allowed_hosts") else { return Ok(Vec::new()) };
    let names: Vec<String> = match &found.value {
        Value::String(text) => {
            text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
        }
        Value::Array(names) => {
            let name = |name: &Value| name.as_str().map(|name| name.trim().to_owned());
            let names: Option<Vec<String>> = names.iter().map(name).collect();
            names.ok_or_else(|| found.wrong("must be a list of texts"))?
        }
        other => return Err(found.wrong(format!("must be a list, not {}", kind(other)))),
    };
    let is_name = |name: &&String| {
        let plain = name.strip_prefix("*.").unwrap_or(name);
        let is_host = plain.parse::<axum::http::uri::Authority>().is_ok_and(|authority| authority.host() == plain);
        name.as_str() == "*" || is_host && !plain.contains('*')
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(found.wrong(format!("`{name}` is no name of a host, without a port"))),
        None => Ok(names),
    }
}

/// How often a key may ask that has no rate of its own.
pub(super) fn key_rate(layers: &Layers<'_>) -> Result<Rate, ConfigError> {
    let Some(found) = layers.text("key_rate")? else { return Ok(KEY_RATE) };
    found.value.parse().map_err(|problem: String| found.wrong(problem))
}

pub(super) fn public_url(layers: &Layers<'_>) -> Result<Option<String>, ConfigError> {
    let Some(found) = layers.text("public_url")? else { return Ok(None) };
    match reqwest::Url::parse(&found.value) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Some(found.value.trim_end_matches('/').to_owned())),
        _ => Err(found.wrong(format!("`{}` is no http or https URL", found.value))),
    }
}

/// Origins as browsers write them: a scheme, a host, and a port that is not the scheme's own.
pub(super) fn cors_origins(layers: &Layers<'_>) -> Result<Vec<String>, ConfigError> {
    let Some(found) = layers.get("cors_origins") else { return Ok(Vec::new()) };
    let texts: Vec<String> = match &found.value {
        toml::Value::String(text) => text.split(',').map(|origin| origin.trim().to_owned()).collect(),
        toml::Value::Array(list) => {
            let text = |value: &toml::Value| value.as_str().map(|origin| origin.trim().to_owned());
            list.iter().map(text).collect::<Option<_>>().ok_or_else(|| found.wrong("must be a list of texts"))?
        }
        _ => return Err(found.wrong("must be a text or a list of texts")),
    };
    let origin = |text: String| match reqwest::Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text => Ok(text),
        _ => Err(found.wrong(format!("`{text}` is no origin"))),
    };
    texts.into_iter().filter(|text| !text.is_empty()).map(origin).collect()
}

/// The zone asked for, else the system's, else UTC.
pub(super) fn timezone(layers: &Layers<'_>) -> Result<Zone, ConfigError> {
    match layers.text("timezone")? {
        Some(found) => Zone::named(&found.value).map_err(|invalid| found.wrong(invalid.problem)),
        None => Ok(system_zone().unwrap_or_else(Zone::utc)),
    }
}

/// The zone this machine is set to, if it has a name.
fn system_zone() -> Option<Zone> {
    let zone = TimeZone::try_system().ok()?;
    match zone.iana_name()? {
        "Etc/Unknown" => None,
        // The same, by the name people know.
        "Etc/UTC" => Some(Zone::utc()),
        name => Zone::named(name).ok(),
    }
}

pub(super) fn log_format(layers: &Layers<'_>) -> Result<LogFormat, ConfigError> {
    let Some(found) = layers.text("log_format")? else { return Ok(LogFormat::Auto) };
    match found.value.as_str() {
        "auto" => Ok(LogFormat::Auto),
        "human" => Ok(LogFormat::Human),
        "json" => Ok(LogFormat::Json),
        other => Err(found.wrong(format!("`{other}` is no log format"))),
    }
}

pub(super) fn log(layers: &Layers<'_>) -> Result<String, ConfigError> {
    let Some(found) = layers.text("log")? else { return Ok("info".into()) };
    match tracing_subscriber::EnvFilter::try_new(&found.value) {
        // A misspelt level is read as a target of that name, which would silence everything.
        Ok(_) if is_level_or_directives(&found.value) => Ok(found.value),
        _ => Err(found.wrong(format!("`{}` is no log level", found.value))),
    }
}

fn is_level_or_directives(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    text.split(',').all(|part| part.contains('=') || LEVELS.contains(&part.trim().to_lowercase().as_str()))
}

pub(super) fn retry(layers: &Layers<'_>) -> Result<RetryPolicy, ConfigError> {
    let mut policy = RetryPolicy::default();
    let Some(found) = layers.get("retry_base_delay_seconds") else { return Ok(policy) };
    let entries: Vec<(String, Value)> = match &found.value {
        Value::Table(table) => table.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        // A single number is for every priority.
        value @ (Value::Integer(_) | Value::Float(_)) => {
            ["low", "normal", "high", "critical"].map(|name| (name.to_owned(), value.clone())).to_vec()
        }
        Value::String(text) if !text.contains('=') => {
            ["low", "normal", "high", "critical"].map(|name| (name.to_owned(), found.value.clone())).to_vec()
        }
        Value::String(text) => {
            let mut entries = Vec::new();
            for part in text.split(',').filter(|part| !part.trim().is_empty()) {
                let Some((name, value)) = part.split_once('=') else {
                    return Err(found.wrong(format!("`{part}` is not PRIORITY=SECONDS")));
                };
                entries.push((name.trim().to_owned(), Value::String(value.trim().to_owned())));
            }
            entries
        }
        other => return Err(found.wrong(format!("must be a table, not {}", kind(other)))),
    };
    for (name, value) in entries {
        let priority: Priority = name.parse().map_err(|_| unknown_priority(&found, &name))?;
        let delay = duration(&value).map_err(|problem| found.wrong(format!("{name}: {problem}")))?;
        if delay.is_zero() {
            return Err(found.wrong(format!("{name}: must be more than nothing")));
        }
        policy.base[usize::from(priority.rank())] = delay;
    }
    Ok(policy)
}

fn unknown_priority(found: &Found<Value>, name: &str) -> ConfigError {
    match nearest(name, ["low", "normal", "high", "critical"]) {
        Some(near) => found.wrong(format!("`{name}` is no priority, did you mean `{near}`?")),
        None => found.wrong(format!("`{name}` is no priority")),
    }
}

pub(super) fn link_secret(layers: &Layers<'_>) -> Result<Option<Secret>, ConfigError> {
    let secret = secret(layers, "link_secret", "link_secret_file")?;
    match (&secret, layers.text("link_secret")?.or(layers.text("link_secret_file")?)) {
        // A stranger who guesses the secret can answer for everybody.
        (Some(secret), Some(found)) if secret.expose().len() < 16 => Err(found.wrong("is too short")),
        _ => Ok(secret),
    }
}

/// Where push services reach the people who run this server; `public_url` where nothing else is said.
pub(super) fn webpush_contact(layers: &Layers<'_>) -> Result<Option<String>, ConfigError> {
    match layers.text("webpush_contact")? {
        Some(found) => match webpush::check_contact(&found.value) {
            Ok(()) => Ok(Some(found.value)),
            Err(invalid) => Err(found.wrong(invalid.problem)),
        },
        None => Ok(public_url(layers)?.filter(|url| webpush::check_contact(url).is_ok())),
    }
}

/// A secret that is given as itself, or by the path of a file that holds it.
pub(super) fn secret(layers: &Layers<'_>, name: &str, file: &str) -> Result<Option<Secret>, ConfigError> {
    if let Some(found) = layers.text(name)? {
        return Ok(Some(Secret::new(found.value)));
    }
    let Some(found) = layers.text(file)? else { return Ok(None) };
    let text = std::fs::read_to_string(&found.value)
        .map_err(|error| found.wrong(format!("cannot read {}: {error}", found.value)))?;
    match text.trim() {
        "" => Err(found.wrong(format!("{} is empty", found.value))),
        secret => Ok(Some(Secret::new(secret.to_owned()))),
    }
}

pub(super) fn default_channel(layers: &Layers<'_>) -> Result<DefaultChannel, ConfigError> {
    let Some(found) = layers.text("default_channel")? else { return Ok(DefaultChannel::default()) };
    let address =
        found.value.parse().map_err(|invalid: punctual_core::invalid::Invalid| found.wrong(invalid.problem))?;
    Ok(DefaultChannel::chosen(address))
}

/// How long something is kept, `days` if nobody says; `None` is for ever.
pub(super) fn kept_for(layers: &Layers<'_>, key: &'static str, days: u64) -> Result<Option<Duration>, ConfigError> {
    let Some(found) = layers.text(key)? else {
        return Ok(Some(Duration::from_secs(days * 86_400)));
    };
    if found.value == "forever" {
        return Ok(None);
    }
    punctual_core::span::parse(&found.value).map(Some).map_err(|problem| found.wrong(problem))
}
