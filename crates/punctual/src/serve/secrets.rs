//! The admin's key, and the secrets of webhooks and links, made on first start.

use std::io;
use std::path::Path;

use anyhow::{Context, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use punctual_channels::webhook;
use punctual_core::clock::Random;

use crate::config::{Config, Secret, paths, process_env};
use crate::http::new_key;

/// Where the admin's key is kept, in the data directory.
pub(super) const ADMIN_KEY_FILE: &str = "admin.key";
/// Where the webhooks' secret is kept, in the data directory.
const WEBHOOK_SECRET_FILE: &str = "webhook.secret";
/// Where the secret of the answer links is kept, in the data directory.
const LINK_SECRET_FILE: &str = "link.secret";
/// Shorter keys can be guessed, and are refused.
const KEY_LENGTH_MIN: usize = 16;

/// The key from the environment, else the one in the data directory, else a new one.
pub(super) fn admin_key(data_dir: &Path, random: &dyn Random) -> anyhow::Result<Secret> {
    if let Some(key) = process_env("PUNCTUAL_API_KEY") {
        check_key(&key).map_err(|problem| anyhow!("PUNCTUAL_API_KEY: {problem}"))?;
        return Ok(Secret::new(key));
    }
    let path = data_dir.join(ADMIN_KEY_FILE);
    let key = kept(&path, || new_key(random))?;
    check_key(key.expose()).map_err(|problem| anyhow!("{}: {problem}, or remove the file", path.display()))?;
    Ok(key)
}

/// Refuses a key that cannot be sent or that can be guessed. The key is not repeated.
fn check_key(key: &str) -> Result<(), String> {
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err("must be visible ASCII characters without spaces".into());
    }
    if key.len() < KEY_LENGTH_MIN {
        return Err(format!(
            "is {} characters long and can be guessed; use at least {KEY_LENGTH_MIN} random ones, such as \
             those of `openssl rand -hex 16`",
            key.len()
        ));
    }
    Ok(())
}

/// The secret that was set, else the one in the data directory, else a new one.
pub(super) fn webhook_secret(config: &Config, random: &dyn Random) -> anyhow::Result<Option<webhook::Secret>> {
    let text = match &config.webhook.secret {
        Some(secret) => secret.clone(),
        None => kept(&config.data_dir.join(WEBHOOK_SECRET_FILE), || {
            let mut bytes = [0; 32];
            random.fill(&mut bytes);
            format!("whsec_{}", STANDARD.encode(bytes))
        })?,
    };
    // The problem says what is wrong without repeating the secret.
    let secret = text
        .expose()
        .parse()
        .map_err(|invalid: punctual_core::invalid::Invalid| anyhow!("webhook_secret: {}", invalid.problem))?;
    Ok(Some(secret))
}

/// What proves the answer links: what was set, else what is in the data directory, else something new. Nodes that share a
/// database need the same, so that any of them knows the others' links.
pub(super) fn link_secret(config: &Config, random: &dyn Random) -> anyhow::Result<Secret> {
    match &config.link_secret {
        Some(secret) => Ok(secret.clone()),
        None => kept(&config.data_dir.join(LINK_SECRET_FILE), || {
            let mut bytes = [0; 32];
            random.fill(&mut bytes);
            STANDARD.encode(bytes)
        }),
    }
}

/// The secret in a file, if there is one.
pub(super) fn read(path: &Path) -> io::Result<Option<Secret>> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => Ok(Some(Secret::new(text.trim().to_owned()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn kept(path: &Path, make: impl FnOnce() -> String) -> anyhow::Result<Secret> {
    let shown = path.display();
    if let Some(secret) = read(path).with_context(|| format!("cannot read {shown}"))? {
        return Ok(secret);
    }
    let secret = Secret::new(make());
    paths::write_private(path, secret.expose()).with_context(|| format!("cannot write {shown}"))?;
    Ok(secret)
}
