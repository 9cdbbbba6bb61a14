//! The admin's key, and the secrets of webhooks, web push and links, made on first start.
//!
//! A server alone keeps them in its data directory. Nodes on one PostgreSQL share them through the database: a setting wins, then what
//! the database has, then a file that is there already, then something new. A node keeps the files as well, for the people and
//! programs on its machine.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use punctual_channels::webhook;
use punctual_channels::webpush::VapidKey;
use punctual_core::clock::{Clock, Random};
use punctual_core::id::hex;
use punctual_core::invalid::Invalid;
use punctual_core::store::Shared;
use punctual_store::postgres::PostgresStore;
use sha2::{Digest, Sha256};

use super::Opened;
use crate::config::{Config, Secret, paths, process_env};
use crate::http::{hash_of_key, new_key};

/// Where the admin's key is kept, in the data directory.
pub(super) const ADMIN_KEY_FILE: &str = "admin.key";
/// Where the webhooks' secret is kept, in the data directory.
const WEBHOOK_SECRET_FILE: &str = "webhook.secret";
/// Where the secret of the answer links is kept, in the data directory.
const LINK_SECRET_FILE: &str = "link.secret";
/// Where the key that signs pushes to browsers is kept, in the data directory.
const WEBPUSH_KEY_FILE: &str = "webpush.key";
/// Shorter keys can be guessed, and are refused.
const KEY_LENGTH_MIN: usize = 16;
/// How often a node says that it still uses its admin key. The database believes it for a day.
const KEY_SHARED_EVERY: Duration = Duration::from_secs(3600);

/// The secrets and the key that prove who somebody is.
pub(super) struct Secrets {
    pub(super) admin: AdminKey,
    pub(super) webhook: webhook::Secret,
    /// Proves the answer links.
    pub(super) link: Secret,
    /// Signs pushes to browsers.
    pub(super) webpush: VapidKey,
    /// Fingerprints of the secrets, by which other nodes see whether theirs are the same.
    pub(super) shared: Shared,
}

/// The key that may do everything.
pub(super) struct AdminKey {
    pub(super) key: Secret,
    /// Whether a setting says it.
    is_set: bool,
}

/// Refuses settings that cannot be right, before the database is made or opened.
pub(super) fn check(config: &Config) -> anyhow::Result<()> {
    config.webhook.secret.as_ref().map_or(Ok(()), |secret| signing(secret).map(drop))?;
    config.webpush.key.as_ref().map_or(Ok(()), |key| vapid(key).map(drop))?;
    set_admin_key().map(drop)
}

/// Finds or makes them all.
pub(super) async fn all(config: &Config, database: &Opened, random: &dyn Random) -> anyhow::Result<Secrets> {
    let admin = admin_key(&config.data_dir, random)?;
    let make_webhook = || format!("whsec_{}", random_text(random));
    let set = config.webhook.secret.as_ref();
    let webhook =
        Wanted { name: "webhook_secret", set, file: WEBHOOK_SECRET_FILE, check: |text| signing(text).map(drop) };
    let webhook = webhook.find(config, database, make_webhook).await?;
    let set = config.link_secret.as_ref();
    let link = Wanted { name: "link_secret", set, file: LINK_SECRET_FILE, check: |_| Ok(()) };
    let link = link.find(config, database, || random_text(random)).await?;
    let set = config.webpush.key.as_ref();
    let webpush = Wanted { name: "webpush_key", set, file: WEBPUSH_KEY_FILE, check: |text| vapid(text).map(drop) };
    let webpush = webpush.find(config, database, || VapidKey::make(random)).await?;
    let shared = Shared::default()
        .with("webhook_secret", &fingerprint("webhook_secret", &webhook))
        .with("link_secret", &fingerprint("link_secret", &link))
        .with("webpush_key", &fingerprint("webpush_key", &webpush));
    Ok(Secrets { admin, webhook: signing(&webhook)?, link, webpush: vapid(&webpush)?, shared })
}

/// The secret that signs webhooks. The problem says what is wrong without repeating it.
fn signing(text: &Secret) -> anyhow::Result<webhook::Secret> {
    let read = text.expose().parse();
    read.map_err(|invalid: Invalid| anyhow!("webhook_secret: {}", invalid.problem))
}

/// The key that signs pushes. The problem says what is wrong without repeating it.
fn vapid(text: &Secret) -> anyhow::Result<VapidKey> {
    let read = text.expose().parse();
    read.map_err(|invalid: Invalid| anyhow!("webpush_key: {}", invalid.problem))
}

/// The key from the environment, else the one in the data directory, else a new one.
fn admin_key(data_dir: &Path, random: &dyn Random) -> anyhow::Result<AdminKey> {
    if let Some(key) = set_admin_key()? {
        return Ok(AdminKey { key, is_set: true });
    }
    let path = data_dir.join(ADMIN_KEY_FILE);
    let key = kept(&path, || new_key(random))?;
    check_key(key.expose()).map_err(|problem| anyhow!("{}: {problem}, or remove the file", path.display()))?;
    Ok(AdminKey { key, is_set: false })
}

fn set_admin_key() -> anyhow::Result<Option<Secret>> {
    let Some(key) = process_env("PUNCTUAL_API_KEY") else { return Ok(None) };
    check_key(&key).map_err(|problem| anyhow!("PUNCTUAL_API_KEY: {problem}"))?;
    Ok(Some(Secret::new(key)))
}

/// Refuses a key that cannot be sent or that can be guessed. The key is not repeated.
fn check_key(key: &str) -> Result<(), String> {
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err("must be visible ASCII characters without spaces".into());
    }
    if key.len() < KEY_LENGTH_MIN {
        return Err(format!(
            "is too short and can be guessed; use at least {KEY_LENGTH_MIN} random characters, such as those of \
             `openssl rand -hex 16`"
        ));
    }
    Ok(())
}

impl AdminKey {
    /// Lets the key work on every node that shares the database, for as long as this one runs and a day longer.
    pub(super) async fn share(&self, store: Arc<PostgresStore>, node: String, clock: Arc<dyn Clock>) {
        let hash = hash_of_key(self.key.expose());
        // A key that was set before and is no more must not go on working; one in a file may be a stopped node's.
        share(&store, &hash, &node, self.is_set).await;
        tokio::spawn(async move {
            loop {
                clock.pause(KEY_SHARED_EVERY).await;
                share(&store, &hash, &node, false).await;
            }
        });
    }
}

async fn share(store: &PostgresStore, hash: &[u8; 32], node: &str, alone: bool) {
    if let Err(error) = store.share_admin_key(hash, node, alone).await {
        tracing::warn!(%error, "this node's admin key may not work on other nodes");
    }
}

/// A secret that nodes share.
struct Wanted<'a> {
    /// The name of its setting.
    name: &'static str,
    /// What the setting says.
    set: Option<&'a Secret>,
    /// Where it is kept, in the data directory.
    file: &'static str,
    /// Refuses a text that cannot be such a secret, before other nodes get it.
    check: fn(&Secret) -> anyhow::Result<()>,
}

impl Wanted<'_> {
    async fn find(&self, config: &Config, database: &Opened, make: impl Fn() -> String) -> anyhow::Result<Secret> {
        let path = config.data_dir.join(self.file);
        let Opened::Postgres(store) = database else {
            return match self.set {
                Some(secret) => Ok(secret.clone()),
                None => kept(&path, make),
            };
        };
        let shared = |text: String| async move {
            let found = store.shared_secret(self.name, &text, self.set.is_some()).await;
            found.map(Secret::new).with_context(|| format!("cannot share the {} with other nodes", self.name))
        };
        if let Some(secret) = self.set {
            (self.check)(secret)?;
            return shared(secret.expose().to_owned()).await;
        }
        let shown = path.display();
        let in_file = read(&path).with_context(|| format!("cannot read {shown}"))?;
        in_file.as_ref().map_or(Ok(()), self.check).with_context(|| format!("{shown} cannot be used"))?;
        let secret = shared(in_file.as_ref().map_or_else(make, |secret| secret.expose().to_owned())).await?;
        match in_file {
            Some(own) if own.expose() == secret.expose() => return Ok(secret),
            Some(_) => {
                let name = self.name;
                tracing::warn!(
                    "{shown} held another {name} than the nodes on this database share; it holds theirs now"
                );
            }
            None => {}
        }
        paths::write_private(&path, secret.expose()).with_context(|| format!("cannot write {shown}"))?;
        Ok(secret)
    }
}

fn random_text(random: &dyn Random) -> String {
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    STANDARD.encode(bytes)
}

/// Tells two secrets apart without telling anything else about them.
fn fingerprint(name: &str, secret: &Secret) -> String {
    let digest = Sha256::digest(format!("punctual {name} {}", secret.expose()));
    hex(&digest[..8])
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
