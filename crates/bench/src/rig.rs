//! The tools of a measurement: reminders, and an engine in this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::Alarm;
use punctual_core::channel::{Channel, Message};
use punctual_core::clock::{Clock, Random};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::phrase::Lang;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::{NewReminder, Store};
use punctual_core::zone::Zone;
use punctual_engine::{Engine, Parts, Settings, SystemClock, SystemRandom, TokioRuntime};
use punctual_redis::Reminders;

/// The channel everything that is measured goes through.
pub(super) const CHANNEL: &str = "bench";
/// The message of every reminder of a bench. A bench knows its own reminders by it.
pub(super) const MESSAGE: &str = "Take your medicine, with a glass of water";
/// How many reminders are created in one transaction.
const BATCH: usize = 1_000;

/// The parts of a reminder that differ from one to the next.
pub(super) struct Wanted {
    pub(super) user: String,
    pub(super) due_at: Timestamp,
    pub(super) to: Vec<Address>,
}

/// A reminder that is due once.
pub(super) fn reminder(wanted: Wanted, random: [u8; 10], now: Timestamp) -> Reminder {
    Reminder {
        id: ReminderId::new(now, random),
        user: wanted.user,
        name: None,
        message: MESSAGE.into(),
        schedule: Schedule::new(Rule::Once { at: wanted.due_at }),
        timezone: Zone::utc(),
        priority: Priority::Normal,
        to: wanted.to,
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Resend,
        created_via: "bench".into(),
        original_text: None,
        metadata: Metadata::default(),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: now,
        updated_at: now,
    }
}

/// The same with its first instant.
pub(super) fn new_reminder(wanted: Wanted, random: [u8; 10], now: Timestamp) -> NewReminder {
    let first_due_at = wanted.due_at;
    NewReminder { reminder: reminder(wanted, random, now), first_due_at }
}

/// The message that the engine would send for a reminder due at `due_at`.
pub(super) fn message(to: &Address, due_at: Timestamp) -> Message {
    let wanted = Wanted { user: "limit".into(), due_at, to: vec![to.clone()] };
    let reminder = Arc::new(reminder(wanted, SystemRandom.ten(), due_at));
    let occurrence = OccurrenceId { reminder: reminder.id, run: 1 };
    Message {
        occurrence,
        attempt: 1,
        idempotency_key: occurrence.idempotency_key(to, 0),
        attempt_key: occurrence.attempt_key(to, 1),
        language: Lang::En,
        text: reminder.message.clone(),
        to: to.clone(),
        reminder,
        due_at,
        dated: due_at,
        sent_at: due_at,
    }
}

/// An engine as `punctual serve` runs it, but with one channel, without the search index, and with a Redis timer if there is one.
pub(super) fn engine(store: Arc<dyn Store>, channel: Arc<dyn Channel>, redis: Option<&str>) -> anyhow::Result<Engine> {
    engine_with(store, channel, redis, Settings::default())
}

/// The same with other settings.
pub(super) fn engine_with(
    store: Arc<dyn Store>,
    channel: Arc<dyn Channel>,
    redis: Option<&str>,
    settings: Settings,
) -> anyhow::Result<Engine> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let alarm = redis.map(|url| Reminders::at(url, Arc::clone(&clock))).transpose()?;
    Ok(Engine::new(Parts {
        store,
        channels: BTreeMap::from([(CHANNEL.to_owned(), channel)]),
        clock,
        random: Arc::new(SystemRandom),
        runtime: Arc::new(TokioRuntime::current()),
        settings,
        alarm: alarm.map(|alarm| Arc::new(alarm) as Arc<dyn Alarm>),
        opinion: None,
    }))
}

/// Creates one reminder for each instant.
pub(super) async fn create_all(engine: &Engine, instants: &[Timestamp], to: &Address) -> anyhow::Result<()> {
    create_all_to(engine, instants, |_| to.clone()).await
}

/// Creates one reminder for each instant, each to the address of its number.
pub(super) async fn create_all_to(
    engine: &Engine,
    instants: &[Timestamp],
    to: impl Fn(usize) -> Address,
) -> anyhow::Result<()> {
    for (batch, some) in instants.chunks(BATCH).enumerate() {
        let now = SystemClock::read();
        let reminder = |(index, due_at): (usize, &Timestamp)| {
            let number = batch * BATCH + index;
            let user = format!("bench-{number}");
            reminder(Wanted { user, due_at: *due_at, to: vec![to(number)] }, SystemRandom.ten(), now)
        };
        engine.create(some.iter().enumerate().map(reminder).collect(), "bench", None).await?;
    }
    Ok(())
}

/// Waits until the engine has written down what became of everything it sent; returns when that was.
pub(super) async fn settled(engine: &Engine, give_up_at: Timestamp) -> anyhow::Result<Timestamp> {
    let clock = engine.clock();
    while engine.metrics().in_flight.get() > 0 {
        anyhow::ensure!(clock.now() < give_up_at, "some results were not written down in time");
        clock.sleep_until(plus(clock.now(), SignedDuration::from_micros(500))).await;
    }
    Ok(clock.now())
}

/// `count` instants from `first` on, evenly over `over`, to the microsecond.
pub(super) fn instants(first: Timestamp, count: usize, over: SignedDuration) -> Vec<Timestamp> {
    let step = over.as_micros() / i128::try_from(count.max(1)).unwrap_or(i128::MAX);
    let at = |index: usize| {
        let micros = i64::try_from(step * index as i128).unwrap_or(i64::MAX);
        plus(first, SignedDuration::from_micros(micros))
    };
    (0..count).map(at).collect()
}

/// The next whole second that is at least `ahead` away.
pub(super) fn soon(ahead: SignedDuration) -> Timestamp {
    let at = plus(SystemClock::read(), ahead);
    Timestamp::from_second(at.as_second() + 1).unwrap_or(at)
}

pub(super) fn plus(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_even_and_within_the_time() {
        let first = Timestamp::from_second(100).unwrap();
        let instants = instants(first, 4, SignedDuration::from_secs(2));
        let offsets: Vec<_> = instants.iter().map(|at| at.duration_since(first).as_millis()).collect();
        assert_eq!(offsets, [0, 500, 1000, 1500]);
        assert!(super::instants(first, 0, SignedDuration::from_secs(2)).is_empty());
    }
}
