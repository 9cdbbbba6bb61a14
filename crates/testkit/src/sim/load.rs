//! The users: they create, change and answer, and remember what they were told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Unit};
use punctual_core::change::{Change, Patch, Resend};
use punctual_core::clock::{Clock, Random};
use punctual_core::id::ReminderId;
use punctual_core::reminder::{
    AckPolicy, Address, Metadata, Misfire, MisfirePolicy, OnUnknown, Priority, Reminder, ReminderStatus,
};
use punctual_core::schedule::{Anchor, CronExpr, Rule, Schedule, Weekdays};
use punctual_core::step::{Step, Target};
use punctual_core::store::By;
use punctual_core::user::{Except, QuietHours, User};
use punctual_core::zone::Zone;
use punctual_engine::Engine;

use super::ledger::{Answer, Command, Ledger, Sent};
use super::silences::{self, Quieten};
use crate::clock::ManualClock;
use crate::random::SeededRandom;

/// The users of the only group, who are asked all at once.
pub(super) const GROUP: [&str; 2] = ["user-1", "user-2"];
/// Its name.
pub(super) const GROUP_NAME: &str = "oc";

/// What the users do next.
pub(super) struct Load {
    /// The world's clock.
    pub clock: ManualClock,
    /// Where their wishes come from.
    pub random: Arc<SeededRandom>,
    /// Where what they do in the last moment comes from.
    pub last_moment: SeededRandom,
    /// Where their silences come from, and the tags of what they create.
    pub silences: SeededRandom,
    /// Where their second thoughts come from: about what they cancelled, and about what failed.
    pub second_thoughts: SeededRandom,
    /// Where they write down what they were told.
    pub ledger: Ledger,
    /// Whether they have quiet hours, pauses and silences.
    pub people: bool,
    /// Whether everybody is asked for an answer, on the phone.
    pub questions: bool,
    /// The channels that there are.
    pub channels: &'static [&'static str],
    /// What they will do in the last moment before a reminder is due, by when that is.
    pub last_moments: BTreeMap<Timestamp, Wish>,
}

/// One thing a user does.
pub(super) enum Wish {
    /// Creates, together.
    Create(Vec<Reminder>),
    /// A command.
    Change(ReminderId, Change),
    /// Asks for silence at other times than before.
    Person(Box<User>),
    /// Silences reminders, ends that, or changes whom it is for.
    Quieten(Quieten),
}

impl Load {
    /// Does what was put off to the last moment, if that has come; or thinks of something to do, now and sometimes for later.
    pub(super) fn wish(&mut self) -> Wish {
        let now = self.clock.now();
        if let Some(last) = self.last_moments.first_entry().filter(|entry| *entry.key() <= now) {
            return last.remove();
        }
        if self.second_thoughts.one_in(10)
            && let Some(wish) = self.second_thought()
        {
            return wish;
        }
        let wish = self.new_wish();
        if let Wish::Create(reminders) = &wish {
            for reminder in reminders.iter().filter(|_| self.last_moment.one_in(2)) {
                let due_at = reminder.schedule.first_after(&reminder.timezone, now).filter(|at| *at > now);
                let before = SignedDuration::from_millis(self.last_moment.between(1, 45));
                let change = if self.last_moment.one_in(3) { self.change() } else { Change::Cancel };
                let wish = Wish::Change(reminder.id, change);
                self.last_moments.extend(due_at.map(|at| (at - before, wish)));
            }
        } else if self.last_moment.one_in(2) {
            self.last_moments.extend(self.last_answer(now));
        }
        wish
    }

    /// The answer to something that was just asked, in the last moment before it is asked again.
    fn last_answer(&self, now: Timestamp) -> Option<(Timestamp, Wish)> {
        let book = self.ledger.read();
        let asked = |sent: &Sent| {
            let timeout = sent.message.reminder.ack.as_ref()?.timeout;
            let (answered, _) = sent.answered.filter(|(_, answer)| *answer == Answer::Taken)?;
            Some((answered.at + timeout, sent.message.occurrence.reminder))
        };
        let (at, id) = book.sends.iter().rev().take(8).find_map(asked)?;
        // Where a question waits in a lane before it is asked again, it may also be answered then.
        let least = if self.questions { -1_500 } else { 1 };
        let at = at - SignedDuration::from_millis(self.last_moment.between(least, 45));
        let answer = if self.last_moment.one_in(4) { Change::Dismiss } else { Change::Ack };
        (at > now).then_some((at, Wish::Change(id, answer)))
    }

    /// Undoes one of the last cancels, or sends something again that was not taken.
    fn second_thought(&self) -> Option<Wish> {
        let book = self.ledger.read();
        if self.second_thoughts.one_in(3) {
            let is_refused = |sent: &&Sent| matches!(sent.answered, Some((_, Answer::NotTaken)));
            let refused: Vec<_> = book.sends.iter().rev().filter(is_refused).take(4).collect();
            let sent = refused.get(self.second_thoughts.below(4) as usize)?.message.occurrence;
            let resend = Resend { run: Some(sent.run), ..Resend::default() };
            return Some(Wish::Change(sent.reminder, Change::Resend(resend)));
        }
        let is_cancel = |command: &&Command| matches!(command.change, Change::Cancel) && command.refused.is_none();
        let cancels: Vec<ReminderId> =
            book.commands.iter().rev().filter(is_cancel).take(3).map(|command| command.reminder).collect();
        cancels.get(self.second_thoughts.below(3) as usize).map(|id| Wish::Change(*id, Change::Undo))
    }

    fn new_wish(&self) -> Wish {
        let reminders: Vec<ReminderId> = self.ledger.read().creates.keys().copied().collect();
        if reminders.len() < 3 || self.random.one_in(3) {
            let n = if self.random.one_in(5) { self.random.between(2, 6) } else { 1 };
            return Wish::Create((0..n).map(|_| self.reminder()).collect());
        }
        if self.people && self.random.one_in(8) {
            return Wish::Person(Box::new(self.person()));
        }
        if self.people && self.silences.one_in(6) {
            return Wish::Quieten(silences::wish(&self.silences, &self.ledger, self.clock.now()));
        }
        // Half of what people do is about what they were just told.
        let told: Vec<ReminderId> =
            self.ledger.read().sends.iter().rev().take(8).map(|sent| sent.message.occurrence.reminder).collect();
        let id = *self.random.pick(if told.is_empty() || self.random.one_in(2) { &reminders } else { &told });
        Wish::Change(id, self.change())
    }

    /// Does it through `engine`, and writes down the answer. Dropped half-way, the user never got one.
    pub(super) async fn fulfil(ledger: Ledger, engine: Engine, wish: Wish, now: Timestamp) {
        match wish {
            Wish::Create(reminders) => {
                let ids: Vec<_> = reminders.iter().map(|reminder| reminder.id).collect();
                reminders.iter().for_each(|reminder| ledger.create_begun(reminder));
                let answer = engine.create(reminders, "user", None).await;
                ids.into_iter().for_each(|id| ledger.create_answered(id, answer.is_ok()));
            }
            Wish::Person(user) => {
                let index = ledger.put_user_begun(&user);
                let answer = engine.put_user(*user, "ann").await;
                ledger.put_user_answered(index, answer.is_ok());
            }
            Wish::Quieten(quieten) => quieten.fulfil(ledger, engine).await,
            Wish::Change(id, change) => {
                let index = ledger.command_begun(id, change.clone());
                let by = By::new("user", now);
                let answer = engine.change(id, change, by).await;
                let about = answer.map(|changed| changed.occurrence.map(|run| run.id));
                ledger.command_answered(index, about);
            }
        }
    }

    /// Somebody who wants to be left alone for some minutes around now, or is to be told again.
    fn person(&self) -> User {
        let now = self.clock.now();
        let minutes = |n: i64| SignedDuration::from_mins(n);
        let clock = |at: Timestamp| TimeZone::UTC.to_datetime(at).time().round(Unit::Minute).unwrap_or_default();
        let from = clock(now + minutes(self.random.between(-4, 4)));
        let to = from.wrapping_add(minutes(self.random.between(1, 8)));
        let except = if self.random.one_in(2) { Except::High } else { Except::Critical };
        let quiet = self.random.one_in(2).then_some(QuietHours { from, to, except, digest: false });
        User {
            id: format!("user-{}", self.random.below(3)),
            timezone: Some(Zone::utc()),
            language: None,
            addresses: self.addresses(),
            quiet_hours: quiet,
            paused_until: self.random.one_in(3).then(|| self.soon(500)),
            escalate: Vec::new(),
            habits: punctual_core::habits::Habits::default(),
            admin: false,
            created_at: now,
            updated_at: now,
        }
    }

    fn change(&self) -> Change {
        match self.random.below(20) {
            0..=2 => Change::Cancel,
            3..=4 => Change::Pause,
            5..=7 => Change::Resume,
            8 => Change::Skip,
            9..=12 => Change::Ack,
            13 => Change::Dismiss,
            14..=15 => Change::Snooze { until: self.soon(300) },
            16 => Change::Fire,
            _ => Change::Update(Box::new(self.patch())),
        }
    }

    fn patch(&self) -> Patch {
        let mut patch = Patch { message: Some("something else".into()), ..Patch::default() };
        if self.random.one_in(2) {
            patch.schedule = Some(self.schedule());
        }
        if self.random.one_in(3) {
            patch.priority = Some(*self.random.pick(&Priority::URGENT_FIRST));
        }
        if self.random.one_in(4) {
            patch.to = Some(self.addresses());
        }
        if self.people && self.silences.one_in(3) {
            patch.tags = Some(self.tags());
        }
        patch
    }

    fn reminder(&self) -> Reminder {
        let now = self.clock.now();
        let ack = match self.questions {
            true => Some(self.question(20, 60, 6)),
            false => self.random.one_in(3).then(|| self.question(20, 600, 3)),
        };
        let escalate = if ack.is_some() && self.random.one_in(3) { self.plan() } else { Vec::new() };
        let policy = *self.random.pick(&[MisfirePolicy::Latest, MisfirePolicy::All, MisfirePolicy::Skip]);
        let to = self.addresses();
        Reminder {
            id: ReminderId::new(now, self.random.ten()),
            user: format!("user-{}", self.random.below(3)),
            name: None,
            message: "drink water".into(),
            schedule: self.schedule(),
            timezone: self.zone(),
            priority: *self.random.pick(&Priority::URGENT_FIRST),
            only: !to.is_empty() && self.random.one_in(4),
            to,
            ack,
            escalate,
            escalates: None,
            event: None,
            snooze_allowed: true,
            retries_max: self.random.below(4) as u32,
            misfire: Misfire { policy, within: Duration::from_secs(self.random.between(60, 7200).unsigned_abs()) },
            on_unknown: if self.random.one_in(3) { OnUnknown::Hold } else { OnUnknown::Resend },
            created_via: "sim".into(),
            original_text: None,
            metadata: Metadata::default(),
            tags: self.tags(),
            status: ReminderStatus::Active,
            created_at: now,
            updated_at: now,
        }
    }

    /// A question that is asked again after so many seconds, fewer than `n` times.
    fn question(&self, from: i64, to: i64, n: u64) -> AckPolicy {
        let timeout = Duration::from_secs(self.random.between(from, to).unsigned_abs());
        AckPolicy { prompt: None, timeout, reminders_max: self.random.below(n) as u32 }
    }

    /// Who is asked when nobody answers: somebody, or somebody and the group.
    fn plan(&self) -> Vec<Step> {
        let after = Duration::from_secs(self.random.between(10, 200).unsigned_abs());
        let first = Step { after, to: Target::User(format!("user-{}", self.random.below(3))) };
        let later = after + Duration::from_secs(self.random.between(0, 100).unsigned_abs());
        let group = Step { after: later, to: Target::Group(GROUP_NAME.to_owned()) };
        if self.random.one_in(2) { vec![first, group] } else { vec![first] }
    }

    fn tags(&self) -> Vec<String> {
        if self.people { silences::tags(&self.silences) } else { Vec::new() }
    }

    fn schedule(&self) -> Schedule {
        let now = self.clock.now();
        let interval = |seconds: i64, anchor: Anchor| {
            let every = Duration::from_secs(seconds.unsigned_abs());
            Schedule::new(Rule::Interval { every, anchor, origin: now })
        };
        match self.random.below(12) {
            0..=4 => Schedule::new(Rule::Once { at: self.soon(400) }),
            5 => Schedule::new(Rule::Once { at: now - SignedDuration::from_secs(self.random.between(0, 4000)) }),
            6..=7 => {
                let count = Some(self.random.between(1, 8) as u32);
                Schedule { count, ..interval(self.random.between(1, 120), Anchor::Start) }
            }
            8 => {
                let count = Some(self.random.between(1, 5) as u32);
                Schedule { count, ..interval(self.random.between(20, 300), Anchor::Ack) }
            }
            9 => {
                let ends_at = Some(now + SignedDuration::from_secs(self.random.between(700, 3000)));
                Schedule { ends_at, ..interval(self.random.between(600, 1200), Anchor::Start) }
            }
            10 => {
                let (hour, minute) = (self.random.between(0, 23) as i8, self.random.between(0, 59) as i8);
                let time = time(hour, minute, 0, 0);
                let daily = Rule::Daily { time };
                Schedule::new(if self.random.one_in(2) { daily } else { Rule::Weekly { time, days: Weekdays::ALL } })
            }
            _ => {
                let text = self.random.pick(&["*/20 * * * *", "0 * * * *", "7,37 * * * *"]);
                Schedule::new(Rule::Cron(CronExpr::parse(text).expect("written by hand")))
            }
        }
    }

    fn zone(&self) -> Zone {
        let names = ["UTC", "Europe/Berlin", "Asia/Kathmandu"];
        Zone::named(names[self.random.below(3) as usize]).expect("real zones")
    }

    fn addresses(&self) -> Vec<Address> {
        if self.questions {
            return vec![Address::new("phone", "a")];
        }
        let n = self.random.between(0, 3);
        (0..n)
            .map(|_| Address::new(*self.random.pick(self.channels), self.random.pick(&["a", "b", "c"]).to_string()))
            .collect()
    }

    /// An instant within `seconds`; several of them fall together.
    fn soon(&self, seconds: i64) -> Timestamp {
        let now = self.clock.now();
        if self.random.one_in(3) {
            let whole = now.as_second() + self.random.between(1, seconds / 30 + 1) * 30;
            return Timestamp::from_second(whole).unwrap_or(now);
        }
        now + SignedDuration::from_micros(self.random.between(1, seconds * 1_000_000))
    }
}
