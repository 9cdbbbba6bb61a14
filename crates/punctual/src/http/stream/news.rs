//! The journal as an open page needs it: which kinds of entries there were, and about whom. A page looks again by itself.
//!
//! A page has its first news at once and further news ten times a second at most, so that a flood of entries costs many open pages little.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Bytes;
use punctual_core::clock::{BoxFuture, Clock};
use punctual_core::journal::Placed;
use serde::Serialize;

use super::frame;

/// A page has news no more often than this.
const EVERY: Duration = Duration::from_millis(100);
/// The most users, and the most reminders, that are named.
const NAMED_MAX: usize = 50;
/// The news for one open page.
#[derive(Default)]
pub(super) struct News {
    gathered: Gathered,
    /// Runs while further news waits.
    pause: Option<BoxFuture<()>>,
}

#[derive(Default, Serialize)]
struct Gathered {
    kinds: BTreeSet<String>,
    /// About whom. `null`: about more people than can be named, or about nobody in particular.
    users: Named,
    /// About which reminders. `null`: about more than can be named.
    reminders: Named,
}

/// Names; `None`: there are too many.
#[derive(Serialize)]
struct Named(Option<BTreeSet<String>>);

impl Default for Named {
    fn default() -> Self {
        Self(Some(BTreeSet::new()))
    }
}

impl Named {
    fn add(&mut self, name: String) {
        if let Some(names) = &mut self.0 {
            names.insert(name);
            if names.len() > NAMED_MAX {
                self.0 = None;
            }
        }
    }
}

impl News {
    pub(super) fn add(&mut self, entry: &Placed) {
        let Gathered { kinds, users, reminders, .. } = &mut self.gathered;
        if !kinds.contains(&entry.kind) {
            kinds.insert(entry.kind.clone());
        }
        match &entry.user {
            Some(user) => users.add(user.clone()),
            None => users.0 = None,
        }
        if let Some(reminder) = entry.reminder {
            reminders.add(reminder.to_string());
        }
    }

    /// Waits until the page may have further news.
    pub(super) async fn pause(&mut self) {
        match &mut self.pause {
            Some(pause) => pause.as_mut().await,
            None => std::future::pending().await,
        }
        self.pause = None;
    }

    /// The news as an event, if there is any and the page may have it now.
    pub(super) fn take(&mut self, seen: i64, clock: &dyn Clock) -> Option<Bytes> {
        if self.gathered.kinds.is_empty() || self.pause.is_some() {
            return None;
        }
        self.pause = Some(clock.pause(EVERY));
        Some(frame::event(seen, "news", &std::mem::take(&mut self.gathered)))
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use punctual_core::id::ReminderId;
    use punctual_testkit::clock::ManualClock;
    use serde_json::{Value, json};

    use super::*;

    fn entry(kind: &str, user: Option<&str>, reminder: Option<u128>) -> Placed {
        Placed {
            position: 1,
            at: Timestamp::UNIX_EPOCH,
            kind: kind.to_owned(),
            actor: "engine".to_owned(),
            via: None,
            node: None,
            user: user.map(str::to_owned),
            reminder: reminder.map(id),
            run: None,
            data: None,
        }
    }

    fn id(number: u128) -> ReminderId {
        ReminderId::from_bytes(number.to_be_bytes())
    }

    fn data(event: &Bytes) -> Value {
        let text = std::str::from_utf8(event).unwrap();
        let data = text.strip_prefix("id: 7\nevent: news\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
        serde_json::from_str(data.unwrap_or_else(|| panic!("{text}"))).unwrap()
    }

    #[tokio::test]
    async fn the_first_news_comes_at_once_and_further_news_together_after_a_pause() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let mut news = News::default();
        assert!(news.take(7, &clock).is_none(), "nothing has happened");
        news.add(&entry("reminder.sent", Some("ann"), Some(1)));
        let first = news.take(7, &clock).unwrap();
        let id = id(1).to_string();
        assert_eq!(data(&first), json!({"kinds":["reminder.sent"],"users":["ann"],"reminders":[id]}));

        news.add(&entry("reminder.sent", Some("ann"), Some(2)));
        news.add(&entry("reminder.answered", Some("bob"), Some(2)));
        assert!(news.take(7, &clock).is_none(), "the page was told just now");
        clock.advance(SignedDuration::from_millis(100));
        news.pause().await;
        let second = data(&news.take(7, &clock).unwrap());
        assert_eq!(second["kinds"], json!(["reminder.answered", "reminder.sent"]));
        assert_eq!(second["users"], json!(["ann", "bob"]));
    }

    #[test]
    fn more_names_than_can_be_said_are_anybodys() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let mut news = News::default();
        for number in 0..=NAMED_MAX {
            news.add(&entry("reminder.sent", Some(&format!("user{number}")), Some(number as u128)));
        }
        let said = data(&news.take(7, &clock).unwrap());
        assert_eq!((&said["users"], &said["reminders"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn an_entry_about_nobody_in_particular_concerns_every_page() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let mut news = News::default();
        news.add(&entry("scope.changed", None, None));
        let said = data(&news.take(7, &clock).unwrap());
        assert_eq!((&said["users"], &said["reminders"]), (&Value::Null, &json!([])));
    }
}
