//! Sessions of clients that speak a revision before 2026-07-28, and whose they are.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::http::problem::Problem;

/// The most sessions of one key. For one more, the one that was unused for longest ends: a client that went away need not have said so.
const PER_KEY_MAX: usize = 32;
/// The most sessions in all. A client that wants one more is asked to come back.
const ALL_MAX: usize = 1024;
const RETRY_AFTER_SECONDS: u32 = 30;

pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    held: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<String, Session>,
    /// Counts uses, so that the oldest is known without a clock.
    uses: u64,
}

#[derive(Debug)]
struct Session {
    /// The id of the key that began it.
    key: Arc<str>,
    used: u64,
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { manager, held: Mutex::default() }
    }

    /// Notes that `key` uses a session; its id. Another's session is not there.
    pub(super) fn used(&self, id: &str, key: &Arc<str>) -> Result<String, Problem> {
        self.lock()
            .used(id, key)
            .ok_or_else(|| Problem::not_found("there is no such session; begin another with `initialize`"))
    }

    /// Makes room for one more session of `key`. Refuses if there are too many of others.
    pub(super) async fn make_room(&self, key: &Arc<str>) -> Result<(), Problem> {
        let open: HashSet<String> = self.manager.sessions.read().await.keys().map(ToString::to_string).collect();
        let oldest = {
            let mut held = self.lock();
            held.by_id.retain(|id, _| open.contains(id));
            held.oldest_of(key, PER_KEY_MAX)
        };
        if let Some(id) = oldest {
            // It may have ended by itself.
            let _ = self.manager.close_session(&id.into()).await;
        }
        if open.len() < ALL_MAX {
            return Ok(());
        }
        let detail = "there are too many sessions; try again later";
        Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_sessions", detail).retry_after(RETRY_AFTER_SECONDS))
    }

    /// Notes a session that `key` began.
    pub(super) fn began(&self, id: &str, key: &Arc<str>) {
        self.lock().began(id, key);
    }

    pub(super) fn ended(&self, id: &str) {
        self.lock().by_id.remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn began(&mut self, id: &str, key: &Arc<str>) {
        self.uses += 1;
        self.by_id.insert(id.to_owned(), Session { key: Arc::clone(key), used: self.uses });
    }

    fn used(&mut self, id: &str, key: &Arc<str>) -> Option<String> {
        self.uses += 1;
        let session = self.by_id.get_mut(id).filter(|session| session.key == *key)?;
        session.used = self.uses;
        Some(id.to_owned())
    }

    /// Takes out the session of `key` that was unused for longest, if it has `max` of them.
    fn oldest_of(&mut self, key: &Arc<str>, max: usize) -> Option<String> {
        let own = || self.by_id.iter().filter(|(_, session)| session.key == *key);
        if own().count() < max {
            return None;
        }
        let oldest = own().min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())?;
        self.by_id.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_wants_one_session_too_many_is_asked_to_come_back() {
        let manager = Arc::new(LocalSessionManager::default());
        let sessions = Sessions::new(Arc::clone(&manager));
        let mut open = Vec::new();
        for n in 0..ALL_MAX {
            let key: Arc<str> = format!("key{n}").into();
            assert!(sessions.make_room(&key).await.is_ok(), "there is room for session {n}");
            open.push(manager.create_session().await.unwrap());
        }
        let problem = sessions.make_room(&"another".into()).await.unwrap_err();
        assert_eq!((problem.document().status, &*problem.document().code), (503, "too_many_sessions"));
        assert_eq!(problem.retry_after_seconds(), Some(RETRY_AFTER_SECONDS));
    }

    #[test]
    fn a_session_belongs_to_its_key_and_the_longest_unused_one_ends_first() {
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let mut held = Known::default();
        for id in ["1", "2", "3"] {
            held.began(id, &alice);
        }
        held.began("4", &bob);
        assert_eq!(held.used("1", &bob), None, "it is another's");
        assert_eq!(held.used("5", &bob), None, "it is not there");
        assert_eq!(held.used("1", &alice).as_deref(), Some("1"));
        assert_eq!(held.oldest_of(&alice, 4), None);
        assert_eq!(held.oldest_of(&alice, 3).as_deref(), Some("2"));
        assert_eq!(held.used("2", &alice), None, "it has ended");
    }
}
