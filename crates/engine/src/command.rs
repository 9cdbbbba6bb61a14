//! The commands: what every front door calls.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_core::alarm::Alarm;
use punctual_core::alert;
use punctual_core::change::{Change, Refused};
use punctual_core::channel::Channel;
use punctual_core::clock::{Clock, Random};
use punctual_core::decide::withdraw;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reach;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::store::{
    Answered, By, ChangeError, Changed, Create, NewReminder, ReminderView, Settlement, Store, StoreError,
};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::alarm::Rings;
use crate::dead::Dead;
use crate::deliver::Hold;
use crate::flight::{Fired, Flights};
use crate::lanes::Lanes;
use crate::metrics::{AttemptLabels, Metrics, OccurrenceLabels};
use crate::outage::Outage;
use crate::peers::{Peers, Standing};
use crate::run::Phase;
use crate::say::{Counts, Kind};
use crate::settings::Settings;
use crate::settle::Settler;
use crate::system::Runtime;
use crate::timer::Timer;

/// How often a command looks again for a claim that it can withdraw, here or by asking the node that has it.
const WITHDRAW_TRIES: u32 = 20;
/// How long it waits in between.
const WITHDRAW_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// What an engine is made of.
pub struct Parts {
    /// Where reminders live.
    pub store: Arc<dyn Store>,
    /// How they reach people, by name.
    pub channels: BTreeMap<String, Arc<dyn Channel>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Tasks.
    pub runtime: Arc<dyn Runtime>,
    /// Limits and delays.
    pub settings: Settings,
    /// A timer outside this process, if there is one.
    pub alarm: Option<Arc<dyn Alarm>>,
}

/// The engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) channels: BTreeMap<String, Arc<dyn Channel>>,
    /// The channels on which what may have arrived is not sent again by itself.
    pub(crate) holding: BTreeSet<String>,
    pub(crate) dead: Dead,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) settings: Settings,
    pub(crate) alarm: Option<Arc<dyn Alarm>>,
    pub(crate) rings: Rings,
    pub(crate) metrics: Metrics,
    pub(crate) said: Arc<Mutex<Counts>>,
    pub(crate) timer: Timer,
    pub(crate) flights: Flights,
    pub(crate) fired: Fired,
    /// Whether a claim is under way whose flights nobody knows yet.
    pub(crate) claiming: AtomicBool,
    pub(crate) hold: Hold,
    pub(crate) lanes: Mutex<Lanes>,
    pub(crate) settler: Settler,
    pub(crate) settlements: Mutex<Option<mpsc::UnboundedReceiver<Settlement>>>,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) peers: Peers,
    /// A node has left.
    pub(crate) peers_changed: Notify,
    store_error: Mutex<Option<String>>,
    pub(crate) outage: Outage,
}

/// How many reminders of a batch are checked before others go on: finding the first run of each may take a while.
const CHECKED_AT_ONCE: usize = 32;

/// Lets whatever else is ready go on.
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

/// How the engine is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// What the store last failed with, until something works again.
    pub store_error: Option<String>,
    /// How it stands among other nodes, if there can be others.
    pub standing: Option<Standing>,
}

/// Why reminders were not created. Nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CreateError {
    /// One of them cannot be accepted.
    #[error("{invalid}")]
    Invalid {
        /// Which, counted from 0.
        index: usize,
        /// What is wrong with it.
        invalid: Invalid,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Puts an engine together. Nothing fires before [`Engine::start`].
    pub fn new(parts: Parts) -> Self {
        let (settler, settlements) = Settler::new();
        let holding = parts.channels.iter().filter(|(_, channel)| channel.holds_unknown());
        let inner = Inner {
            store: parts.store,
            holding: holding.map(|(name, _)| name.clone()).collect(),
            dead: Dead::default(),
            channels: parts.channels,
            clock: parts.clock,
            random: parts.random,
            runtime: parts.runtime,
            settings: parts.settings,
            alarm: parts.alarm,
            rings: Rings::default(),
            metrics: Metrics::default(),
            said: Arc::default(),
            timer: Timer::new(),
            flights: Flights::default(),
            fired: Fired::default(),
            claiming: AtomicBool::new(false),
            hold: Hold::default(),
            lanes: Mutex::new(Lanes::default()),
            settler,
            settlements: Mutex::new(Some(settlements)),
            phase: watch::channel(Phase::Running).0,
            peers: Peers::none(),
            peers_changed: Notify::new(),
            store_error: Mutex::new(None),
            outage: Outage::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Writes all of `reminders` or none. When it has returned, they survive power loss.
    pub async fn create(
        &self,
        reminders: Vec<Reminder>,
        actor: &str,
        answered: Option<(String, Answered)>,
    ) -> Result<Vec<ReminderView>, CreateError> {
        let now = self.inner.clock.now();
        let mut new = Vec::with_capacity(reminders.len());
        let mut views = Vec::with_capacity(reminders.len());
        let checked = self.check(&reminders, now).await?;
        for (index, (reminder, checked)) in reminders.into_iter().zip(checked).enumerate() {
            let first_due_at = checked.map_err(|invalid| CreateError::Invalid { index, invalid })?;
            views.push(ReminderView::fresh(reminder.clone(), first_due_at));
            new.push(NewReminder { reminder, first_due_at });
        }
        let create = Create { reminders: new, actor: actor.to_owned(), answered, now };
        let inner = self.inner.clone();
        // A caller that goes away must not leave a reminder written and the timer ignorant of it.
        self.finish(async move {
            let wakes: Vec<_> = create.reminders.iter().map(|new| new.first_due_at).collect();
            let created = inner.store.create(create).await;
            if !matches!(created, Err(StoreError::KeyUsed | StoreError::Broken(_))) {
                // Also when the store went away while it was committing: it may be written, and too many moments do no harm.
                inner.timer.note(wakes);
            }
            created?;
            inner.alarm_created(&views);
            for view in &views {
                if inner.says(Kind::Created) {
                    let (reminder, user) = (view.reminder.id, &view.reminder.user);
                    let due = view.next_run_at.map(|at| at.to_string());
                    tracing::info!(%reminder, %user, due, "created");
                }
            }
            Ok(views)
        })
        .await
    }

    /// Applies one command to one reminder.
    ///
    /// What is claimed but not yet being sent is withdrawn first, so that a command succeeds until the very instant.
    pub async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        if let Change::Update(patch) = &change
            && (patch.to.is_some() || patch.only.is_some())
        {
            self.check_addresses(patch.to.as_deref().unwrap_or_default()).map_err(Refused::Invalid)?;
            // What is not there or another's is left to the store to refuse.
            let view = self.inner.store.reminder(id).await?;
            if let Some(view) = view.filter(|view| by.user.as_ref().is_none_or(|user| *user == view.reminder.user)) {
                let mut reminder = view.reminder;
                patch.apply(&mut reminder);
                let addresses = self.addresses_of(std::slice::from_ref(&reminder)).await?;
                self.check_reach(&reminder, &addresses).map_err(Refused::Invalid)?;
            }
        }
        let inner = self.inner.clone();
        // A caller that goes away must not leave a flight withdrawn and unsettled.
        self.finish(async move { inner.change(id, change, by).await }).await
    }

    /// Checks reminders as [`Engine::create`] does; returns of each when it is first due.
    pub async fn check(
        &self,
        reminders: &[Reminder],
        now: jiff::Timestamp,
    ) -> Result<Vec<Result<jiff::Timestamp, Invalid>>, StoreError> {
        let addresses = self.addresses_of(reminders).await?;
        let check = |reminder: &Reminder| {
            let first_due_at = self.check_one(reminder, now)?;
            self.check_reach(reminder, &addresses)?;
            Ok(first_due_at)
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

    /// What is wrong with a reminder's addresses that did not keep it from being made.
    pub fn warnings(&self, reminder: &Reminder) -> Vec<Invalid> {
        reach::warnings(reminder, |address| self.inner.dead.get(address))
    }

    /// The addresses of the users that decide whether anybody can receive `reminders`.
    async fn addresses_of(&self, reminders: &[Reminder]) -> Result<HashMap<String, Vec<Address>>, StoreError> {
        let depends = |reminder: &&Reminder| reach::depends_on_user(reminder, |address| self.inner.dead.get(address));
        let users: BTreeSet<&String> = reminders.iter().filter(depends).map(|reminder| &reminder.user).collect();
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.inner.store.users_of(users.into_iter().cloned().collect()).await?;
        Ok(found.into_iter().map(|user| (user.id, user.addresses)).collect())
    }

    fn check_reach(&self, reminder: &Reminder, addresses: &HashMap<String, Vec<Address>>) -> Result<(), Invalid> {
        let users = addresses.get(&reminder.user).map(Vec::as_slice).unwrap_or_default();
        reach::check(reminder, users, &self.inner.settings.fallback, |address| self.inner.dead.get(address))
    }

    fn check_one(&self, reminder: &Reminder, now: jiff::Timestamp) -> Result<jiff::Timestamp, Invalid> {
        reminder.validate()?;
        if reminder.created_via == alert::VIA {
            // It would raise no alert of its own.
            let problem = format!("`{}` is what punctual says of its own alerts; write another word", alert::VIA);
            return Err(Invalid::new("created_via", problem));
        }
        self.check_addresses(&reminder.to)?;
        let first = reminder.schedule.first_after(&reminder.timezone, now);
        first.ok_or_else(|| Invalid::new("schedule", "is never due: every instant of it has passed"))
    }

    fn check_addresses(&self, to: &[Address]) -> Result<(), Invalid> {
        for (index, address) in to.iter().enumerate() {
            let Some(channel) = self.inner.channels.get(&address.channel) else {
                return Err(self.no_channel(&format!("to[{index}].channel"), &address.channel));
            };
            channel.check_address(&address.address).map_err(|invalid| invalid.within(&format!("to[{index}]")))?;
        }
        Ok(())
    }

    pub(crate) fn no_channel(&self, field: &str, name: &str) -> Invalid {
        let known: Vec<_> = self.inner.channels.keys().map(String::as_str).collect();
        Invalid::new(field, format!("there is no channel named `{name}`; there is {}", known.join(", ")))
    }

    /// Runs `work` to its end, also when the caller stops waiting for it.
    pub(crate) async fn finish<T, E>(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.inner.runtime.spawn(Box::pin(async move {
            // Nobody waits any more when the caller was dropped; the work is done all the same.
            let _ = sender.send(work.await);
        }));
        receiver.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the engine has stopped".into()).into()))
    }

    /// Where reminders live.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Randomness.
    pub fn random(&self) -> &Arc<dyn Random> {
        &self.inner.random
    }

    /// How reminders reach people.
    pub fn channels(&self) -> &BTreeMap<String, Arc<dyn Channel>> {
        &self.inner.channels
    }

    /// What it counts.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Limits and delays.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The timer outside this process, if there is one.
    pub fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.inner.alarm.as_ref()
    }

    /// How it is.
    pub fn health(&self) -> Health {
        let store_error = self.inner.store_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Health { store_error, standing: self.inner.peers.standing() }
    }
}

impl Inner {
    async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        // An answer is about what has been sent; all else is about what will be.
        let answer = matches!(change.plain(), Change::Ack | Change::Dismiss | Change::Fire | Change::Resume);
        let mut tries_left = WITHDRAW_TRIES;
        loop {
            let withdrawn = if answer { Vec::new() } else { self.flights.withdraw(id) };
            let now = self.clock.now();
            let settlements: Vec<_> = withdrawn.iter().map(|flight| withdraw(&flight.claimed, now)).collect();
            let back_at: Vec<_> = settlements.iter().filter_map(|s| s.state.wake_at(s.due_at)).collect();
            if !settlements.is_empty() {
                if let Err(error) = self.store.settle(settlements.clone(), now).await {
                    // They will never be sent, so they must not stay leased: the settling loop tries until it works.
                    settlements.into_iter().for_each(|settlement| self.settle_later(settlement, None));
                    self.timer.note(back_at);
                    return Err(error.into());
                }
                self.flights.remove(settlements.iter().map(|s| (&s.occurrence, s.lease)));
            }
            let changed = self.store.change(id, change.clone(), by.clone()).await;
            // Noted only now, so that the timer is in no hurry to claim it again before the change.
            self.timer.note(back_at);
            match changed {
                // It has been claimed, and nothing has begun: the claim's flights are about to be known here.
                Err(ChangeError::Refused(Refused::SendBegun)) if tries_left > 0 && !self.flights.has_begun(id) => {
                    if tries_left == WITHDRAW_TRIES
                        && self.peers.is_shared()
                        && let Err(error) = self.store.recall(id).await
                    {
                        tracing::debug!(%error, "could not ask for it back");
                    }
                    tries_left -= 1;
                    self.clock.pause(WITHDRAW_AGAIN_AFTER).await;
                }
                Ok(changed) => {
                    if let (Change::Fire, Some(occurrence)) = (&change, &changed.occurrence) {
                        self.fired.add(occurrence.id);
                    }
                    self.timer.note(changed.wakes.iter().copied());
                    self.alarm_changed(&changed);
                    if matches!(change, Change::Cancel) && self.says(Kind::Cancelled) {
                        tracing::info!(reminder = %id, by = %by.actor, "cancelled");
                    }
                    return Ok(changed);
                }
                Err(error) => {
                    if matches!(error, ChangeError::Store(StoreError::Unavailable(_))) {
                        // It may be written all the same, and what it planned is not known here.
                        self.timer.reset();
                    }
                    return Err(error);
                }
            }
        }
    }

    pub(crate) fn store_works(&self) {
        let mut store_error = self.store_error.lock().unwrap_or_else(PoisonError::into_inner);
        if store_error.take().is_some() {
            tracing::info!("the store works again");
            // What was under way when it failed may be written although it was not answered: leases nobody holds, runs nobody
            // knows of. What the timer believes is read anew.
            self.timer.reset();
        }
    }

    pub(crate) fn store_failed(&self, error: &StoreError) {
        if matches!(error, StoreError::Unavailable(_)) {
            self.outage.note(self.clock.now(), self.peers.count() > 1);
        }
        let mut store_error = self.store_error.lock().unwrap_or_else(PoisonError::into_inner);
        let text = error.to_string();
        if store_error.as_ref() != Some(&text) {
            tracing::error!(error = %text, "the store failed; it is tried again");
        }
        *store_error = Some(text);
    }

    pub(crate) fn count_attempt(&self, channel: &str, outcome: &'static str) {
        self.metrics.attempts.get_or_create(&AttemptLabels { channel: channel.to_owned(), outcome }).inc();
    }

    pub(crate) fn count_occurrence(&self, state: &'static str, via: &'static str) {
        self.metrics.occurrences.get_or_create(&OccurrenceLabels { state, via }).inc();
    }
}
