//! How often each key may ask, and when it last did.
//!
//! Each node counts by itself: a key has a bucket of tokens, a request takes one, and they come back at the key's rate. The last use is
//! remembered here and written beside the requests, for all keys at once and at most once a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Rate;
use tokio::sync::{Notify, watch};

use super::App;

/// How often last uses are written at most.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// How many keys are remembered. More are let in, and counted from a full bucket.
const KEYS_MAX: usize = 10_000;

/// The keys that have asked lately.
pub(super) struct Meter {
    /// The rate of a key that has none of its own.
    rate: Rate,
    keys: Mutex<HashMap<Arc<str>, Metered>>,
    /// A key was used that is not written yet.
    used: Notify,
}

struct Metered {
    tokens: f64,
    /// When the tokens were counted. A bucket that was left alone for `per` since then is full.
    counted_at: Timestamp,
    per: Duration,
    /// When the key was last let in.
    used_at: Timestamp,
    is_written: bool,
}

impl Meter {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, keys: Mutex::default(), used: Notify::new() }
    }

    /// Lets the key `id` in, or says its rate and how long it has to wait.
    pub(super) fn admit(&self, id: &Arc<str>, rate: Option<Rate>, now: Timestamp) -> Result<(), (Rate, Duration)> {
        let rate = rate.unwrap_or(self.rate);
        let (full, per_second) = (f64::from(rate.n), f64::from(rate.n) / rate.per.as_secs_f64());
        let mut keys = self.lock();
        if keys.len() >= KEYS_MAX && !keys.contains_key(id) {
            let is_filling = |metered: &Metered| now.duration_since(metered.counted_at).unsigned_abs() < metered.per;
            keys.retain(|_, metered| !metered.is_written || is_filling(metered));
            if keys.len() >= KEYS_MAX {
                keys.clear();
            }
        }
        let new = || Metered { tokens: full, counted_at: now, per: rate.per, used_at: now, is_written: true };
        let metered = keys.entry(Arc::clone(id)).or_insert_with(new);
        // A clock that was set back brings no tokens, and takes none.
        let passed = now.duration_since(metered.counted_at).as_secs_f64().max(0.0);
        let tokens = (metered.tokens + passed * per_second).min(full);
        (metered.tokens, metered.counted_at, metered.per) = (tokens, now, rate.per);
        if tokens < 1.0 {
            return Err((rate, Duration::from_secs_f64((1.0 - tokens) / per_second)));
        }
        (metered.tokens, metered.used_at) = (tokens - 1.0, now);
        let is_first = std::mem::replace(&mut metered.is_written, false);
        drop(keys);
        if is_first {
            self.used.notify_one();
        }
        Ok(())
    }

    /// When the key was last used here, as far as it is remembered.
    pub(super) fn used_at(&self, id: &str) -> Option<Timestamp> {
        self.lock().get(id).map(|metered| metered.used_at)
    }

    /// The uses that are not written yet; they count as written from now on.
    fn unwritten(&self) -> Vec<(String, Timestamp)> {
        let mut keys = self.lock();
        let unwritten = keys.iter_mut().filter(|(_, metered)| !metered.is_written);
        let taken = unwritten.map(|(id, metered)| {
            metered.is_written = true;
            (id.to_string(), metered.used_at)
        });
        taken.collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Metered>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes last uses as they come, until the server stops. A server that nobody asks does nothing.
pub(crate) async fn write_uses(app: Arc<App>, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = app.meter.used.notified() => {}
            // A sender that is gone is a stop as well.
            _ = stopping.wait_for(|stops| *stops) => return,
        }
        write_now(&app).await;
        tokio::select! {
            () = app.engine.clock().pause(WRITE_EVERY) => {}
            _ = stopping.wait_for(|stops| *stops) => return,
        }
    }
}

/// Writes the last uses that are not written yet.
pub(crate) async fn write_now(app: &App) {
    let uses = app.meter.unwritten();
    if uses.is_empty() {
        return;
    }
    // The next use is written again, and is later.
    if let Err(error) = app.engine.keys_used(uses).await {
        tracing::debug!(%error, "when keys were last used could not be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_key_gets_its_rate_and_is_told_how_long_to_wait() {
        let meter = Meter::new(Rate::per_second(2));
        let key: Arc<str> = "key_1".into();
        let admit = |millis| meter.admit(&key, None, at(millis)).map_err(|(_, wait)| wait.as_millis());
        assert_eq!([admit(0), admit(0), admit(0)], [Ok(()), Ok(()), Err(500)]);
        assert_eq!([admit(250), admit(500), admit(500)], [Err(250), Ok(()), Err(500)]);
        assert_eq!(admit(100), Err(500), "a clock that is set back brings nothing");
        assert_eq!([admit(60_000), admit(60_000), admit(60_000)], [Ok(()), Ok(()), Err(500)], "at most a full bucket");
        let slow = |millis| {
            meter
                .admit(&"key_2".into(), Some(Rate::per_minute(1)), at(millis))
                .map_err(|(rate, wait)| (rate, wait.as_secs()))
        };
        assert_eq!([slow(0), slow(0)], [Ok(()), Err((Rate::per_minute(1), 60))], "a rate of its own");
    }

    #[test]
    fn a_use_is_written_once_until_the_next_one() {
        let meter = Meter::new(Rate::per_second(1));
        let admit = |millis| meter.admit(&"key_1".into(), None, at(millis)).is_ok();
        assert!(admit(0) && !admit(10) && meter.unwritten() == [("key_1".to_owned(), at(0))], "a refusal is no use");
        assert!(meter.unwritten().is_empty());
        assert!(admit(5000) && meter.used_at("key_1") == Some(at(5000)) && meter.used_at("key_2").is_none());
        assert_eq!(meter.unwritten(), [("key_1".to_owned(), at(5000))]);
    }

    #[test]
    fn the_number_of_keys_that_are_remembered_is_bounded() {
        let meter = Meter::new(Rate::per_second(2));
        for n in 0..3 * KEYS_MAX {
            assert!(meter.admit(&format!("key_{n}").into(), None, at(0)).is_ok());
            assert!(meter.lock().len() <= KEYS_MAX);
        }
    }
}
