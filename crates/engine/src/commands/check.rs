//! Checking reminders before they are written.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use punctual_core::alert;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::reach;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::step::{Step, Target};
use punctual_core::store::StoreError;

use crate::Engine;

/// How many reminders of a batch are checked before others go on: finding the first run of each may take a while.
const CHECKED_AT_ONCE: usize = 32;

/// Lets other tasks that are ready go on.
async fn breathe() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if has_waited {
            return std::task::Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Those whom plans ask when nobody answers.
#[derive(Default)]
pub(super) struct Others {
    /// The users who have an entry, with their addresses.
    users: HashMap<String, Vec<Address>>,
    /// The groups that there are.
    pub(super) groups: BTreeSet<String>,
}

impl Engine {
    /// Checks reminders as [`Engine::create`] does; returns of each when it is first due.
    pub async fn check(
        &self,
        reminders: &[Reminder],
        now: Timestamp,
    ) -> Result<Vec<Result<Timestamp, Invalid>>, StoreError> {
        let addresses = self.addresses_of(reminders).await?;
        let others = self.others_of(reminders.iter().flat_map(|reminder| &reminder.escalate)).await?;
        let check = |reminder: &Reminder| {
            let mut faults = Faults::default();
            let first_due_at = faults.note(self.check_one(reminder, now));
            // An address that is wrong reaches nobody: that is said once.
            faults.settle();
            faults.note(self.check_reach(reminder, &addresses));
            faults.note(self.check_steps(&reminder.escalate, &others));
            faults.finish()?;
            first_due_at.ok_or_else(|| Invalid::new("schedule", "is never due"))
        };
        let mut checked = Vec::with_capacity(reminders.len());
        for some in reminders.chunks(CHECKED_AT_ONCE) {
            if !checked.is_empty() {
                breathe().await;
            }
            checked.extend(some.iter().map(check));
        }
        Ok(checked)
    }

    /// The problems of a reminder's addresses that did not keep it from being made.
    pub fn warnings(&self, reminder: &Reminder) -> Vec<Invalid> {
        reach::warnings(reminder, |address| self.parts.dead.get(address))
    }

    /// The addresses of the users that decide whether anybody can receive `reminders`.
    pub(super) async fn addresses_of(
        &self,
        reminders: &[Reminder],
    ) -> Result<HashMap<String, Vec<Address>>, StoreError> {
        let depends = |reminder: &&Reminder| reach::depends_on_user(reminder, |address| self.parts.dead.get(address));
        let users: BTreeSet<&String> = reminders.iter().filter(depends).map(|reminder| &reminder.user).collect();
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.parts.node.store.users_of(users.into_iter().cloned().collect()).await?;
        Ok(found.into_iter().map(|user| (user.id, user.addresses)).collect())
    }

    pub(super) fn check_reach(
        &self,
        reminder: &Reminder,
        addresses: &HashMap<String, Vec<Address>>,
    ) -> Result<(), Invalid> {
        let users = addresses.get(&reminder.user).map(Vec::as_slice).unwrap_or_default();
        reach::check(reminder, users, &self.parts.node.settings.default_channel, |address| self.parts.dead.get(address))
    }

    /// Checks that everybody whom a plan asks can be asked.
    pub async fn check_plan(&self, steps: &[Step]) -> Result<Result<(), Invalid>, StoreError> {
        Ok(self.check_steps(steps, &self.others_of(steps.iter()).await?))
    }

    /// The people and groups whom these steps ask.
    pub(super) async fn others_of(&self, steps: impl Iterator<Item = &Step>) -> Result<Others, StoreError> {
        let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            match &step.to {
                Target::User(user) => users.insert(user.clone()),
                Target::Group(name) => groups.insert(name.clone()),
            };
        }
        let store = &self.parts.node.store;
        let mut others = Others::default();
        if !users.is_empty() {
            let found = store.users_of(users.into_iter().collect()).await?;
            others.users = found.into_iter().map(|user| (user.id, user.addresses)).collect();
        }
        if !groups.is_empty() {
            let found = store.groups_of(groups.into_iter().collect()).await?;
            others.groups = found.into_iter().map(|group| group.name).collect();
        }
        Ok(others)
    }

    pub(super) fn check_steps(&self, steps: &[Step], others: &Others) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        for (index, Step { to, .. }) in steps.iter().enumerate() {
            let wrong = |problem: String| Invalid::new(format!("escalate[{index}].to"), problem);
            match to {
                Target::Group(name) if !others.groups.contains(name) => {
                    faults.add(wrong(format!("there is no group `{name}`; make it first")));
                }
                Target::User(user) => {
                    let addresses = others.users.get(user).map(Vec::as_slice).unwrap_or_default();
                    let (default, dead) = (&self.parts.node.settings.default_channel, &self.parts.dead);
                    let checked = reach::check_user(user, addresses, default, |address| dead.get(address));
                    faults.note(checked.map_err(wrong));
                }
                Target::Group(_) => {}
            }
        }
        faults.finish()
    }

    fn check_one(&self, reminder: &Reminder, now: Timestamp) -> Result<Timestamp, Invalid> {
        let mut faults = Faults::default();
        faults.note(reminder.validate());
        faults.settle();
        let is_schedule_right = reminder.schedule.validate().is_ok();
        if reminder.created_via == alert::VIA {
            // It would raise no alert of its own.
            let problem = format!("`{}` is what punctual says of its own alerts; write another word", alert::VIA);
            faults.add(Invalid::new("created_via", problem));
        }
        faults.note(self.check_addresses(&reminder.to));
        // One that cannot be accepted is not asked when it is due.
        let first = is_schedule_right.then(|| reminder.schedule.first_after(&reminder.timezone, now)).flatten();
        let never = || Invalid::new("schedule", "is never due: every instant of it has passed");
        let first = faults.note(first.ok_or_else(never));
        faults.finish()?;
        first.ok_or_else(never)
    }

    pub(super) fn check_addresses(&self, to: &[Address]) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        for (index, address) in to.iter().enumerate() {
            let checked = match self.parts.channels.get(&address.channel) {
                None => Err(self.no_channel(&format!("to[{index}].channel"), &address.channel)),
                Some(channel) => {
                    let checked = channel.check_address(&address.address);
                    checked.map_err(|invalid| invalid.within(&format!("to[{index}]")))
                }
            };
            faults.note(checked);
            if faults.is_full() {
                break;
            }
        }
        faults.finish()
    }

    pub(super) fn no_channel(&self, field: &str, name: &str) -> Invalid {
        let known: Vec<_> = self.parts.channels.keys().map(String::as_str).collect();
        Invalid::new(field, format!("there is no channel named `{name}`; there is {}", known.join(", ")))
    }
}
