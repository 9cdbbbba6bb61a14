//! Who asks, and what they may do.
//!
//! A key is compared by its hash: this node's admin key's in constant time, the others' (also of other nodes' admins) by a lookup of
//! the hash, which tells nothing about the key. A handler says what it needs by the extractor it takes:
//! [`Caller`] may read, [`Writer`] may change, [`Admin`] is bound to nobody and may change.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use punctual_core::journal::Who;
use punctual_core::step::Step;
use punctual_core::store::By;
use punctual_core::user::{ADMIN_ID, ApiKey};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::App;
use super::input::Params;
use super::inside::Door;
use super::problem::Problem;
use super::recent::Recent;
use crate::config::Secret;
use crate::connections::Connection;

/// How long a key is believed without asking again, in seconds: a key that was deleted on another node works no longer than that.
const KEY_BELIEVED_FOR_SECONDS: i64 = 1;

/// Whom an unbound caller means when it names no user.
const DEFAULT_USER: &str = punctual_core::reach::ME;

/// The keys that are known.
pub(super) struct Auth {
    admin: [u8; 32],
    /// The key of this process, for the command line on the same machine.
    local: [u8; 32],
    admin_caller: Caller,
    recent: Recent<[u8; 32], Caller>,
}

/// Somebody with a valid key, who may read.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The key's id: keeps the idempotency keys of different callers apart.
    pub(super) id: Arc<str>,
    /// Who this is, in the journal.
    actor: Arc<str>,
    /// The only user it sees, if it is bound to one or acts for one.
    user: Option<Arc<str>>,
    /// Whether the key itself is bound to that user.
    is_bound: bool,
    write: bool,
    /// Through which door it asks.
    door: Door,
    /// When the key stops working.
    expires_at: Option<Timestamp>,
}

/// A caller who may also change things.
pub(super) struct Writer(pub(super) Caller);

/// A caller who is bound to nobody and may change things: keys, and what concerns everybody.
pub(super) struct Admin(pub(super) Caller);

impl Auth {
    pub(super) fn new(admin_key: &Secret, local_key: &Secret) -> Self {
        let (id, actor) = (ADMIN_ID.into(), ADMIN_ID.into());
        let admin_caller =
            Caller { id, actor, user: None, is_bound: false, write: true, door: Door::Api, expires_at: None };
        Self {
            admin: hash(admin_key.expose()),
            local: hash(local_key.expose()),
            admin_caller,
            recent: Recent::new(KEY_BELIEVED_FOR_SECONDS, 10_000),
        }
    }

    /// To be called when a key was made or removed.
    pub(super) fn forget(&self) {
        self.recent.forget();
    }
}

/// The part of a key that is kept.
pub(crate) fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl Caller {
    /// The caller with the key in `headers`.
    pub(super) async fn of(headers: &HeaderMap, app: &App) -> Result<Self, Problem> {
        let hash = hash(bearer(headers)?);
        if bool::from(hash.ct_eq(&app.auth.admin) | hash.ct_eq(&app.auth.local)) {
            return Ok(app.auth.admin_caller.clone());
        }
        let now = app.now();
        let caller = match app.auth.recent.get(&hash, now) {
            Some(caller) => caller,
            None => {
                let generation = app.auth.recent.generation();
                let caller = Self::known(hash, app).await?;
                app.auth.recent.put(generation, hash, caller.clone(), now);
                caller
            }
        };
        match caller.expires_at {
            Some(expires_at) if expires_at <= now => {
                Err(Problem::unauthorized(format!("the key has expired, at {expires_at}")))
            }
            _ => Ok(caller),
        }
    }

    /// The caller whose key has this hash.
    async fn known(hash: [u8; 32], app: &App) -> Result<Self, Problem> {
        let key = app.engine.store().key(hash).await?;
        let key = key.ok_or_else(|| Problem::unauthorized("the key is not known; it may have been deleted"))?;
        Ok(if key.id == ADMIN_ID { app.auth.admin_caller.clone() } else { Self::with(&key) })
    }

    /// Refuses a caller whose key, in `headers`, was deleted a moment ago, also on another node.
    pub(super) async fn check_again(&self, headers: &HeaderMap, app: &App) -> Result<(), Problem> {
        match *self.id == *ADMIN_ID {
            true => Ok(()),
            false => Self::known(hash(bearer(headers)?), app).await.map(drop),
        }
    }

    /// Whether the key in `headers` works, as far as is known: while the store cannot say, it does.
    pub(super) async fn works(headers: &HeaderMap, app: &App) -> bool {
        !matches!(Self::of(headers, app).await, Err(problem) if problem.is_unauthorized())
    }

    /// Whether the key has stopped working.
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    fn with(key: &ApiKey) -> Self {
        Self {
            id: key.id.as_str().into(),
            actor: format!("key {}", key.name).into(),
            user: key.user.as_deref().map(Into::into),
            is_bound: key.user.is_some(),
            write: key.write,
            door: Door::Api,
            expires_at: key.expires_at,
        }
    }

    /// Who this is, for the journal.
    pub(super) fn who(&self) -> Who {
        let key = (&*self.id != ADMIN_ID).then(|| self.id.clone());
        Who { actor: Some(self.actor.clone()), key, via: Some(self.via().into()) }
    }

    /// The door through which it asks, as the journal says it.
    pub(super) fn via(&self) -> &'static str {
        self.door.word()
    }

    /// The only user this caller sees, if it is bound to one.
    pub(super) fn bound_to(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Whether the key itself is bound to one user.
    pub(super) fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Whether this caller sees things of `user`.
    pub(super) fn sees(&self, user: &str) -> bool {
        self.bound_to().is_none_or(|bound| bound == user)
    }

    /// Whom the caller means when it names no user.
    pub(super) fn default_user(&self) -> &str {
        self.bound_to().unwrap_or(DEFAULT_USER)
    }

    /// Refuses a caller that names somebody else's user.
    pub(super) fn must_be(&self, user: &str) -> Result<(), Problem> {
        match self.bound_to() {
            Some(bound) if bound != user => {
                Err(Problem::forbidden(format!("this key may only act for the user `{bound}`")).at_field("user"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a key bound to a user that wants others to be asked: it must not disturb them, nor learn whether they are there.
    pub(super) fn may_ask(&self, steps: &[Step]) -> Result<(), Problem> {
        if steps.is_empty() || !self.is_bound {
            return Ok(());
        }
        Err(Problem::forbidden("a key bound to a user cannot have others asked").at_field("escalate"))
    }

    /// The caller, who says for whom it acts (`?user=`): from here on it sees and changes that user's things only.
    fn acting_for(self, user: &str) -> Result<Self, Problem> {
        self.must_be(user)?;
        Ok(Self { user: Some(user.into()), ..self })
    }

    /// Refuses a caller that is bound to one user.
    pub(super) fn must_be_unbound(&self) -> Result<(), Problem> {
        match self.bound_to() {
            Some(bound) => {
                Err(Problem::forbidden(format!("this concerns everybody, and this key is bound to the user `{bound}`")))
            }
            None => Ok(()),
        }
    }

    /// Signs a change.
    pub(super) fn by(&self, now: Timestamp) -> By {
        By { user: self.bound_to().map(str::to_owned), ..By::new(self.who(), now) }
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Problem::unauthorized("no key; send `Authorization: Bearer KEY`"));
    };
    let token = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    token
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::unauthorized("the Authorization header holds no key; send `Authorization: Bearer KEY`"))
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let door = parts.extensions.get().copied().unwrap_or_default();
        let caller = Self { door, ..Self::of(&parts.headers, app).await? };
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.authenticated();
        }
        let params = Params::from_request_parts(parts, app).await?;
        match params.get("user") {
            Some(user) => caller.acting_for(user),
            // A caller who meant to act for one user must not act for everybody.
            None if params.has("user") => {
                Err(Problem::bad_request("user: is empty; name the user, or leave it out").at_field("user"))
            }
            None => Ok(caller),
        }
    }
}

impl FromRequestParts<Arc<App>> for Writer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match caller.write {
            true => Ok(Self(caller)),
            false => Err(Problem::forbidden("this key may only read; use one with the scope `write`")),
        }
    }
}

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Writer(caller) = Writer::from_request_parts(parts, app).await?;
        caller.must_be_unbound()?;
        Ok(Self(caller))
    }
}
