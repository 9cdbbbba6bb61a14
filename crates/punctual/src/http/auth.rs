//! Who asks, and what they may do.
//!
//! A key is compared by its hash: this node's admin key's in constant time, the others' (also of other nodes' admins) by a lookup of
//! the hash, which tells nothing about the key.
//!
//! A handler says by the extractor that it takes which scope its route needs, and here is the only place where that is checked:
//!
//! | Extractor | Scope | Keys that are bound to a user | Keys that are bound to channels |
//! | --- | --- | --- | --- |
//! | [`Anyone`] | none | yes | yes |
//! | [`Caller`] | `read` | yes | no |
//! | [`Writer`] | `write` | yes | no |
//! | [`Herald`] | `inbound` | yes | no |
//! | [`Tester`] | `send-test` | yes | no |
//! | [`Keeper`] | `keys` | no | no |
//! | [`Admin`] | `admin` | no | no |
//! | [`OfChannels`] around one of these | the same | the same | yes |
//!
//! A handler that lets in a key with a bond sees to it that the bond holds. Where a route is not for a key because of its bond, a thing
//! that the path names is not found, and a route that names nothing is forbidden.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use jiff::Timestamp;
use punctual_core::channel::Rate;
use punctual_core::journal::Who;
use punctual_core::key::{ADMIN_ID, ApiKey, Scope, Scopes, sees_reminder};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::step::Step;
use punctual_core::store::By;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::App;
use super::describe;
use super::input::Params;
use super::inside::{Door, SessionToken};
use super::problem::Problem;
use super::recent::Recent;
use super::sessions::Session;
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
    /// Whether the key itself is bound to a user or to channels.
    is_bound: bool,
    /// Through which door it asks.
    door: Door,
    /// The only channels it sends by and sees; none: all of them.
    channels: Arc<[String]>,
    scopes: Scopes,
    /// How often it may ask; `None`: as the settings say.
    rate: Option<Rate>,
    /// When the secret that it has shown stops working.
    expires_at: Option<Timestamp>,
    /// The hash of the secret that it has shown.
    shown: [u8; 32],
    /// The session of the page in which it asks.
    session: Option<Arc<Session>>,
}

/// Somebody with a valid key, whatever it may do.
pub(super) struct Anyone(pub(super) Caller);

/// A caller who may also change things.
pub(super) struct Writer(pub(super) Caller);

/// A caller who may hand in what people wrote.
pub(super) struct Herald(pub(super) Caller);

/// A caller who may send test messages.
pub(super) struct Tester(pub(super) Caller);

/// A caller who is bound to nobody and looks after keys.
pub(super) struct Keeper(pub(super) Caller);

/// A caller who is bound to nobody and may do everything: what concerns everybody.
pub(super) struct Admin(pub(super) Caller);

/// The same caller, also with a key that is bound to channels. Its handler lets such a key see and use these channels alone.
pub(super) struct OfChannels<T>(pub(super) T);

impl Auth {
    pub(super) fn new(admin_key: &Secret, local_key: &Secret) -> Self {
        let admin_caller = Caller {
            id: ADMIN_ID.into(),
            actor: ADMIN_ID.into(),
            user: None,
            is_bound: false,
            channels: Arc::default(),
            scopes: Scopes::ADMIN,
            rate: None,
            door: Door::Api,
            expires_at: None,
            shown: hash(admin_key.expose()),
            session: None,
        };
        Self {
            admin: hash(admin_key.expose()),
            local: hash(local_key.expose()),
            admin_caller,
            recent: Recent::new(KEY_BELIEVED_FOR_SECONDS, 10_000),
        }
    }

    /// This node's admin.
    pub(super) fn admin(&self) -> &Caller {
        &self.admin_caller
    }

    /// To be called when a key was made, changed or removed.
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
        Self::who_showed(hash(bearer(headers)?), app).await
    }

    /// The caller of a session of the page. One that has ended is nobody's.
    pub(super) async fn in_session(token: &str, app: &App) -> Result<Self, Problem> {
        let sessions = app.sessions.as_ref().ok_or_else(|| Problem::unauthorized("there is no page here"))?;
        let session = sessions.read(token, app.now())?;
        let caller = Self::who_showed(session.hash, app).await?;
        sessions.check(&session, &caller, app).await?;
        Ok(Self { session: Some(Arc::new(session)), door: Door::Web, ..caller })
    }

    /// The caller with a secret of this hash.
    pub(super) async fn who_showed(hash: [u8; 32], app: &App) -> Result<Self, Problem> {
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
        caller.unless_expired(now)
    }

    /// The caller whose key has this hash.
    async fn known(hash: [u8; 32], app: &App) -> Result<Self, Problem> {
        let key = app.engine.store().key(hash).await?;
        let key = key.ok_or_else(|| Problem::unauthorized("the key is not known; it may have been deleted"))?;
        Ok(if key.id == ADMIN_ID {
            Self { shown: hash, ..app.auth.admin_caller.clone() }
        } else {
            Self::with(&key, &hash)
        })
    }

    fn unless_expired(self, now: Timestamp) -> Result<Self, Problem> {
        match self.expires_at {
            Some(expires_at) if expires_at <= now => {
                Err(Problem::unauthorized(format!("the key has expired, at {expires_at}")))
            }
            _ => Ok(self),
        }
    }

    /// The caller as it is now, by the secret that it has shown: one that was deleted or rotated a moment ago is noticed, also on another
    /// node.
    pub(super) async fn check_again(&self, app: &App) -> Result<Self, Problem> {
        match *self.id == *ADMIN_ID {
            true => Ok(self.clone()),
            false => {
                let known = Self::known(self.shown, app).await?.unless_expired(app.now())?;
                Ok(Self { user: self.user.clone(), door: self.door, session: self.session.clone(), ..known })
            }
        }
    }

    /// Whether the key works, and the session, as far as is known: while the store cannot say, it does.
    pub(super) async fn works(&self, app: &App) -> bool {
        let still = async {
            let caller = Self::who_showed(self.shown, app).await?;
            match (&self.session, &app.sessions) {
                (Some(session), Some(sessions)) => sessions.check(session, &caller, app).await,
                _ => Ok(()),
            }
        };
        !matches!(still.await, Err(problem) if problem.is_unauthorized())
    }

    /// The hash of the secret that it has shown, which stands for it in a session.
    pub(super) fn shown(&self) -> [u8; 32] {
        self.shown
    }

    /// The session in which it asks.
    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Its name for people: the key's.
    pub(super) fn name(&self) -> &str {
        self.actor.strip_prefix("key ").unwrap_or(&self.actor)
    }

    /// Whether the key has stopped working.
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// When the key stops working, if it does.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// How often it may ask, if its key says so.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Whether it is a key that somebody can delete.
    pub(super) fn can_be_deleted(&self) -> bool {
        *self.id != *ADMIN_ID
    }

    fn with(key: &ApiKey, hash: &[u8; 32]) -> Self {
        Self {
            id: key.id.as_str().into(),
            actor: format!("key {}", key.name).into(),
            user: key.user.as_deref().map(Into::into),
            is_bound: key.is_bound(),
            channels: key.channels.as_slice().into(),
            scopes: key.scopes,
            rate: key.rate,
            door: Door::Api,
            expires_at: key.works_until(hash),
            shown: *hash,
            session: None,
        }
    }

    /// Who this is, for the journal.
    pub(super) fn who(&self) -> Who {
        let key = (&*self.id != ADMIN_ID).then(|| self.id.clone());
        Who { actor: Some(self.actor.clone()), key, via: Some(self.via().into()), ..Who::default() }
    }

    /// The door through which it asks, as the journal says it.
    pub(super) fn via(&self) -> &'static str {
        self.door.word()
    }

    /// The only user this caller sees, if it is bound to one.
    pub(super) fn bound_to(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Whether the key itself is bound to one user or to channels.
    pub(super) fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// The only channels this caller sends by and sees; none: all of them.
    pub(super) fn channels(&self) -> &[String] {
        &self.channels
    }

    /// Whether this caller sends by and sees this channel.
    pub(super) fn uses(&self, channel: &str) -> bool {
        self.channels.is_empty() || self.channels.iter().any(|own| own == channel)
    }

    /// What the caller may do.
    pub(super) fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Whether this caller sees things of `user`.
    pub(super) fn sees(&self, user: &str) -> bool {
        self.bound_to().is_none_or(|bound| bound == user)
    }

    /// Whether this caller sees a reminder.
    pub(super) fn sees_reminder(&self, reminder: &Reminder) -> bool {
        self.sees(&reminder.user) && (self.channels.is_empty() || sees_reminder(&self.channels, reminder))
    }

    /// Whom the caller means when it names no user.
    pub(super) fn default_user(&self) -> &str {
        self.bound_to().unwrap_or(DEFAULT_USER)
    }

    /// Refuses a caller whose key has not this scope.
    pub(super) fn may(&self, scope: Scope) -> Result<(), Problem> {
        match self.scopes.allow(scope) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!(
                "this needs a key with the scope `{scope}`; this one has `{}`",
                self.scopes.to_string().replace(',', "`, `")
            ))),
        }
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

    /// Refuses a bound key that wants others to be asked: it must not disturb them, nor learn whether they are there.
    pub(super) fn may_ask(&self, steps: &[Step]) -> Result<(), Problem> {
        if steps.is_empty() || !self.is_bound {
            return Ok(());
        }
        Err(Problem::forbidden("a key bound to a user or to channels cannot have others asked").at_field("escalate"))
    }

    /// Refuses a key that is bound to channels and sends by another one.
    pub(super) fn may_send_to(&self, to: &[Address]) -> Result<(), Problem> {
        match to.iter().position(|to| !self.uses(&to.channel)) {
            Some(index) => {
                let detail = format!("this key may only send by {}", self.named_channels());
                Err(Problem::forbidden(detail).at_field(format!("to[{index}].channel")))
            }
            None => Ok(()),
        }
    }

    /// Holds a new reminder to the channels that the key is bound to: it has addresses of them, and no other is tried.
    pub(super) fn hold_to_channels(&self, reminder: &mut Reminder) -> Result<(), Problem> {
        if self.channels.is_empty() {
            return Ok(());
        }
        if reminder.to.is_empty() {
            let detail = format!(
                "this key may only send by {}; say where to, such as [{{\"channel\":\"{}\",\"address\":\"…\"}}]",
                self.named_channels(),
                self.channels[0]
            );
            return Err(Problem::forbidden(detail).at_field("to"));
        }
        self.may_send_to(&reminder.to)?;
        reminder.only = true;
        Ok(())
    }

    /// The channels that the key is bound to, in words.
    pub(super) fn named_channels(&self) -> String {
        let named: Vec<String> = self.channels.iter().map(|channel| format!("`{channel}`")).collect();
        named.join(", ")
    }

    /// The caller, who says for whom it acts (`?user=`): from here on it sees and changes that user's things only.
    fn acting_for(self, user: &str) -> Result<Self, Problem> {
        self.must_be(user)?;
        Ok(Self { user: Some(user.into()), ..self })
    }

    /// Refuses a caller that is bound to one user or to channels.
    pub(super) fn must_be_unbound(&self) -> Result<(), Problem> {
        match (self.bound_to(), self.is_bound) {
            (Some(bound), true) => {
                Err(Problem::forbidden(format!("this concerns everybody, and this key is bound to the user `{bound}`")))
            }
            (None, true) => Err(Problem::forbidden(format!(
                "this concerns all channels, and this key is bound to {}",
                self.named_channels()
            ))),
            (Some(_), false) => Err(Problem::forbidden("this concerns everybody; leave out `user`").at_field("user")),
            (None, false) => Ok(()),
        }
    }

    /// Signs a change.
    pub(super) fn by(&self, now: Timestamp) -> By {
        By { user: self.bound_to().map(str::to_owned), ..By::new(self.who(), now) }
    }

    /// The caller of a request, who is counted once and says for whom it acts.
    async fn of_request(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let door = parts.extensions.get().copied().unwrap_or_default();
        let caller = match parts.extensions.get::<SessionToken>().cloned() {
            Some(SessionToken(token)) => Self::in_session(&token, app).await?,
            None => Self::of(&parts.headers, app).await?,
        };
        let caller = Self { door, ..caller };
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.authenticated();
        }
        // The request that an assistant's call came in was counted.
        if door != Door::Mcp {
            caller.count(parts, app)?;
        }
        let params = Params::from_request_parts(parts, app).await?;
        // A route that reads something looks at its parameters itself.
        let is_read = parts.method == Method::GET || parts.method == Method::HEAD;
        if !is_read && parts.uri.query().is_some() {
            let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
            params.must_be_known(&describe::known_parameters(&parts.method, path))?;
        }
        match params.get("user") {
            Some(user) => caller.acting_for(user),
            // A caller who meant to act for one user must not act for everybody.
            None if params.has("user") => {
                Err(Problem::bad_request("user: is empty; name the user, or leave it out").at_field("user"))
            }
            None => Ok(caller),
        }
    }

    /// Counts a request of the key's, once: several extractors may look at the same one.
    pub(super) fn count(&self, parts: &mut Parts, app: &App) -> Result<(), Problem> {
        #[derive(Clone)]
        struct Counted;
        // The admin's own key is kept in no table, and is never kept waiting.
        if *self.id == *ADMIN_ID || parts.extensions.get::<Counted>().is_some() {
            return Ok(());
        }
        parts.extensions.insert(Counted);
        app.meter.admit(&self.id, self.rate, app.now()).map_err(|(rate, wait)| {
            let seconds = wait.as_secs_f64().ceil().max(1.0) as u32;
            let detail = format!(
                "this key may ask {} times in {} on each node; try again in {seconds} s",
                rate.n,
                punctual_core::span::format(rate.per)
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(seconds)
        })
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

/// What a route needs of the key that is shown.
pub(super) trait Needs: Sized {
    /// The scope; none: any key will do.
    const SCOPE: Option<Scope>;
    /// Whether it concerns everybody, and so is not for a key that is bound to one user.
    const EVERYBODY: bool = false;

    /// The extractor, once all is met.
    fn met(caller: Caller) -> Self;
}

impl<T: Needs> FromRequestParts<Arc<App>> for OfChannels<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = Caller::of_request(parts, app).await?;
        if T::EVERYBODY
            && let Err(forbidden) = caller.must_be_unbound()
        {
            return Err(out_of_bounds(parts, &caller, forbidden));
        }
        T::SCOPE.map_or(Ok(()), |scope| caller.may(scope))?;
        Ok(Self(T::met(caller)))
    }
}

/// The answer to a key whose bond leaves it nothing to do here: what the path names is not found.
fn out_of_bounds(parts: &Parts, caller: &Caller, forbidden: Problem) -> Problem {
    let names_a_thing = parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str().contains('{'));
    match caller.is_bound && names_a_thing {
        true => Problem::not_found("there is nothing here that this key may see"),
        false => forbidden,
    }
}

macro_rules! needs {
    ($($type:ident { $($met:item)+ })+) => { $(
        impl Needs for $type { $($met)+ }

        impl FromRequestParts<Arc<App>> for $type {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
                let caller = Caller::of_request(parts, app).await?;
                if <Self as Needs>::SCOPE.is_some() && !caller.channels.is_empty() {
                    let detail = format!("this concerns all channels, and this key is bound to {}", caller.named_channels());
                    return Err(out_of_bounds(parts, &caller, Problem::forbidden(detail)));
                }
                OfChannels::from_request_parts(parts, app).await.map(|OfChannels(met)| met)
            }
        }
    )+ };
}

needs! {
    Anyone {
        const SCOPE: Option<Scope> = None;
        fn met(caller: Caller) -> Self { Self(caller) }
    }
    Caller {
        const SCOPE: Option<Scope> = Some(Scope::Read);
        fn met(caller: Caller) -> Self { caller }
    }
    Writer {
        const SCOPE: Option<Scope> = Some(Scope::Write);
        fn met(caller: Caller) -> Self { Self(caller) }
    }
    Herald {
        const SCOPE: Option<Scope> = Some(Scope::Inbound);
        fn met(caller: Caller) -> Self { Self(caller) }
    }
    Tester {
        const SCOPE: Option<Scope> = Some(Scope::SendTest);
        fn met(caller: Caller) -> Self { Self(caller) }
    }
    Keeper {
        const SCOPE: Option<Scope> = Some(Scope::Keys);
        const EVERYBODY: bool = true;
        fn met(caller: Caller) -> Self { Self(caller) }
    }
    Admin {
        const SCOPE: Option<Scope> = Some(Scope::Admin);
        const EVERYBODY: bool = true;
        fn met(caller: Caller) -> Self { Self(caller) }
    }
}
