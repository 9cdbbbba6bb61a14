//! Sessions of the page: who has signed in, with which key, and until when.
//!
//! A session is a token that the browser keeps in a cookie. It names the key by the hash of its secret, sealed so that only a server with
//! the nodes' shared secret can read it. A request in a session is looked at exactly as one that shows the key: scopes, bonds and rates
//! hold, and a key that is deleted or rotated ends its sessions with it. Nothing is kept of a session but that it was ended.
//!
//! A link that signs in is a token of the same make. It works once, on any node, for ten minutes.

use std::net::IpAddr;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Random;
use punctual_core::id::hex;
use punctual_core::journal::Entry;
use punctual_core::store::StoreError;
use sha2::Sha256;

use super::App;
use super::attempts::Attempts;
use super::auth::{Caller, hash};
use super::problem::Problem;
use super::recent::Recent;

/// How long a session lasts.
pub(super) const LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long a link works.
const LINK_LASTS: SignedDuration = SignedDuration::from_mins(10);
/// How long it is believed that a session has not been ended, in seconds: another node may have ended it.
const BELIEVED_FOR_SECONDS: i64 = 2;

const ID_BYTES: usize = 16;
const PROOF_BYTES: usize = 16;
/// A token: an id, an instant in microseconds, the sealed hash of a key, and the proof.
const TOKEN_BYTES: usize = ID_BYTES + 8 + 32 + PROOF_BYTES;

/// Makes sessions, and knows its own again.
pub(super) struct Sessions {
    keyed: Hmac<Sha256>,
    /// Whether a session, by its id, had not been ended a moment ago.
    open: Recent<SessionId, ()>,
    attempts: Attempts,
}

/// What a session is known by.
pub(super) type SessionId = [u8; ID_BYTES];

/// A session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    id: SessionId,
    /// When it began.
    began_at: Timestamp,
    /// The hash of the secret that was shown for it.
    pub(super) hash: [u8; 32],
}

/// What somebody shows to sign in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown<'a> {
    Key(&'a str),
    Link(&'a str),
}

/// What a token is for: one for the one is none for the other.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Session,
    Link,
}

impl Sessions {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        let keyed = Hmac::new_from_slice(secret).expect("a key for HMAC may have any length");
        Self { keyed, open: Recent::new(BELIEVED_FOR_SECONDS, 10_000), attempts: Attempts::default() }
    }

    /// A link's token, for the key whose secret has this hash.
    pub(super) fn link(&self, hash: [u8; 32], now: Timestamp, random: &dyn Random) -> (String, Timestamp) {
        let until = now + LINK_LASTS;
        (self.token(Purpose::Link, &Session { id: new_id(random), began_at: until, hash }), until)
    }

    /// The session of a token, if it is one of ours and its time has not passed. Whether it was ended is for [`Self::check`] to see.
    pub(super) fn read(&self, token: &str, now: Timestamp) -> Result<Session, Problem> {
        let session = self.read_token(Purpose::Session, token);
        let is_now = |session: &Session| {
            session.began_at <= now + SignedDuration::from_mins(5) && now < session.began_at + LASTS
        };
        session.filter(is_now).ok_or_else(over)
    }

    /// Refuses a session that was ended: it alone, or all of its key's.
    pub(super) async fn check(&self, session: &Session, caller: &Caller, app: &App) -> Result<(), Problem> {
        let now = app.now();
        if self.open.get(&session.id, now).is_some() {
            return Ok(());
        }
        let generation = self.open.generation();
        let names = vec![session.name(), caller.id.to_string()];
        if app.engine.store().sessions_ended(names).await?.is_some_and(|ended_at| session.began_at <= ended_at) {
            return Err(over());
        }
        self.open.put(generation, session.id, (), now);
        Ok(())
    }

    fn token(&self, purpose: Purpose, session: &Session) -> String {
        let mut bytes = Vec::with_capacity(TOKEN_BYTES);
        bytes.extend_from_slice(&session.id);
        bytes.extend_from_slice(&session.began_at.as_microsecond().to_be_bytes());
        bytes.extend(self.sealed(&session.id, session.hash));
        let proof = self.prove(purpose, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&proof[..PROOF_BYTES]);
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    fn read_token(&self, purpose: Purpose, token: &str) -> Option<Session> {
        if token.len() > TOKEN_BYTES * 2 {
            return None;
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok().filter(|bytes| bytes.len() == TOKEN_BYTES)?;
        let (said, proof) = bytes.split_at(TOKEN_BYTES - PROOF_BYTES);
        // Takes the same time whatever is wrong.
        self.prove(purpose, said).verify_truncated_left(proof).ok()?;
        let (id, rest) = said.split_first_chunk::<ID_BYTES>()?;
        let (micros, sealed) = rest.split_first_chunk::<8>()?;
        let began_at = Timestamp::from_microsecond(i64::from_be_bytes(*micros)).ok()?;
        Some(Session { id: *id, began_at, hash: self.sealed(id, sealed.try_into().ok()?) })
    }

    /// Seals a hash under the id of its token, or opens a sealed one: each id has a pad of its own.
    fn sealed(&self, id: &[u8; ID_BYTES], mut hash: [u8; 32]) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        mac.update(b"seal ");
        mac.update(id);
        let pad = mac.finalize().into_bytes();
        hash.iter_mut().zip(pad).for_each(|(byte, pad)| *byte ^= pad);
        hash
    }

    fn prove(&self, purpose: Purpose, said: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(match purpose {
            Purpose::Session => b"session ",
            Purpose::Link => b"link    ",
        });
        mac.update(said);
        mac
    }
}

impl Session {
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// Its name where it is written that it was ended.
    fn name(&self) -> String {
        format!("session {}", hex(&self.id))
    }
}

impl App {
    fn sessions(&self) -> Result<&Sessions, Problem> {
        self.sessions.as_ref().ok_or_else(|| Problem::not_found("this server has no page"))
    }

    /// The address that signs in once with the rights of `caller`.
    pub(super) fn sign_in_link(&self, caller: &Caller) -> Result<(String, Timestamp), Problem> {
        let (token, until) = self.sessions()?.link(caller.shown(), self.now(), &**self.engine.random());
        let base = self.links.as_ref().map_or("", |links| links.base());
        Ok((format!("{base}/sign-in?link={token}"), until))
    }

    /// The same with the rights of this node's admin, for whoever started it.
    pub(crate) fn admin_sign_in_link(&self) -> Option<String> {
        self.sign_in_link(self.auth.admin()).ok().map(|(url, _)| url)
    }

    /// Begins a session for somebody at `from`; its token.
    pub(super) async fn sign_in(&self, shown: Shown<'_>, from: Option<IpAddr>) -> Result<String, Problem> {
        let (sessions, now) = (self.sessions()?, self.now());
        // Nobody guesses a link, so one of ours works for a person whose neighbours have shown wrong keys.
        if !matches!(shown, Shown::Link(token) if sessions.read_token(Purpose::Link, token).is_some()) {
            sessions.attempts.admit(from, now).map_err(|seconds| {
                let detail =
                    format!("too many keys were wrong; try again in {seconds} s, or open a link that signs in");
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(seconds)
            })?;
        }
        let known = match shown {
            Shown::Key(key) => Caller::who_showed(hash(key), self).await,
            Shown::Link(token) => self.used_link(sessions, token, now).await,
        };
        let caller = match known {
            Ok(caller) => caller,
            Err(problem) => {
                if problem.is_unauthorized() {
                    sessions.attempts.failed(from, now);
                    self.record_sign_in(None, "refused", Some(shown)).await?;
                }
                return Err(problem);
            }
        };
        sessions.attempts.worked(from);
        self.record_sign_in(Some(&caller), "in", Some(shown)).await?;
        let session = Session { id: new_id(&**self.engine.random()), began_at: now, hash: caller.shown() };
        Ok(sessions.token(Purpose::Session, &session))
    }

    /// The caller of a link, which is used by this.
    async fn used_link(&self, sessions: &Sessions, token: &str, now: Timestamp) -> Result<Caller, Problem> {
        let link = sessions.read_token(Purpose::Link, token);
        let link = link.ok_or_else(|| Problem::unauthorized("this is no link that signs in; ask for a new one"))?;
        if link.began_at <= now {
            return Err(Problem::unauthorized("the link has expired; ask for a new one with `punctual open`"));
        }
        let caller = Caller::who_showed(link.hash, self).await?;
        match self.engine.store().begin_answer(&format!("link {}", hex(&link.id)), link.hash, now).await {
            Ok(()) => Ok(caller),
            Err(StoreError::KeyUsed) => {
                Err(Problem::unauthorized("the link was used already; ask for a new one with `punctual open`"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the session of `caller`, or all of its key's.
    pub(super) async fn sign_out(&self, caller: &Caller, everywhere: bool) -> Result<(), Problem> {
        let (sessions, now) = (self.sessions()?, self.now());
        let Some(session) = caller.session() else { return Ok(()) };
        let (name, did) = match everywhere {
            true => (caller.id.to_string(), "out_everywhere"),
            false => (session.name(), "out"),
        };
        self.engine.store().end_sessions(&name, now, now - LASTS).await?;
        sessions.open.forget();
        self.record_sign_in(Some(caller), did, None).await
    }

    async fn record_sign_in(
        &self,
        caller: Option<&Caller>,
        did: &'static str,
        shown: Option<Shown<'_>>,
    ) -> Result<(), Problem> {
        let with = shown.map(|shown| match shown {
            Shown::Key(_) => "key",
            Shown::Link(_) => "link",
        });
        let who = caller.map_or_else(|| "nobody".into(), Caller::who).via("web");
        let user = caller.and_then(Caller::bound_to);
        Ok(self.engine.store().record(Entry::sign_in(self.now(), who, user, did, with)).await?)
    }
}

fn new_id(random: &dyn Random) -> [u8; ID_BYTES] {
    let mut id = [0; ID_BYTES];
    random.fill(&mut id);
    id
}

fn over() -> Problem {
    Problem::unauthorized("the session has ended; sign in again")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: [u8; 32] = [7; 32];

    fn session() -> Session {
        Session { id: [1; ID_BYTES], began_at: Timestamp::from_second(1_000_000).unwrap(), hash: HASH }
    }

    #[test]
    fn a_token_is_read_by_servers_with_the_same_secret_and_for_its_own_purpose() {
        let (ours, theirs) = (Sessions::new(&[1; 32]), Sessions::new(&[2; 32]));
        let token = ours.token(Purpose::Session, &session());
        assert_eq!(ours.read_token(Purpose::Session, &token).unwrap().hash, HASH);
        assert!(ours.read_token(Purpose::Link, &token).is_none());
        assert!(theirs.read_token(Purpose::Session, &token).is_none());
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&token).unwrap();
        assert!(!bytes.windows(32).any(|part| part == HASH), "the hash is sealed");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(ours.read_token(Purpose::Session, &BASE64_URL_SAFE_NO_PAD.encode(changed)).is_none(), "byte {at}");
        }
    }

    #[test]
    fn a_session_has_an_end() {
        let sessions = Sessions::new(&[1; 32]);
        let token = sessions.token(Purpose::Session, &session());
        let at = |seconds: i64| sessions.read(&token, session().began_at + SignedDuration::from_secs(seconds));
        assert!(at(0).is_ok() && at(LASTS.as_secs() - 1).is_ok());
        assert!(at(LASTS.as_secs()).is_err() && at(-3600).is_err());
    }
}
