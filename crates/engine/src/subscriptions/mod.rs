//! Telling applications what happened: the entries of the journal that a subscription asks for, each at least once, in order for each
//! reminder.
//!
//! One node at a time tells a subscription's receiver, by a duty that it takes from the store and keeps. With the duty is kept the position
//! up to which everything has been told. So another node goes on there, and so does this one after a crash: entries that were told and not yet
//! written down are told again under the same key.

/// Whose turn it is: entries of one reminder wait for each other.
mod chains;

/// Keeping a duty.
mod duty;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use punctual_core::channel::{Channel, Notice, SendError};
use punctual_core::clock::BoxFuture;
use punctual_core::journal::{Kind, Placed};
use punctual_core::reminder::Address;
use punctual_core::store::{JournalQuery, Start};

use self::chains::{ChainKey, Chains, GivenUp, Told};
use self::duty::OwnDuty;
use crate::dispatch::Dispatcher;
use crate::dispatch::send::fate;
use crate::journal::{Ended, FollowError, Follower, Page};
use crate::metrics::SubscriptionLabel;
use crate::node::Node;
use crate::peers::Peers;

/// How often a node asks for a duty that another one has.
const TAKE_EVERY: Duration = Duration::from_millis(1500);
/// The most entries that are read and not yet told.
const WINDOW_MAX: usize = 256;
/// How long a stop waits for what is being told.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What an application wants to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The name under which it is kept how far it has been told.
    pub name: String,
    /// What.
    pub kinds: Vec<Kind>,
    /// Whose; none is everybody's.
    pub users: Vec<String>,
    /// Only about reminders with this tag.
    pub tag: Option<String>,
    /// Where.
    pub to: Address,
}

impl Subscription {
    /// The kinds of an application that wants to know what became of reminders.
    pub const RESULTS: [Kind; 8] = [
        Kind::Sent,
        Kind::Failed,
        Kind::Missed,
        Kind::Acknowledged,
        Kind::Snoozed,
        Kind::Dismissed,
        Kind::Unanswered,
        Kind::Escalated,
    ];

    fn query(&self) -> JournalQuery {
        let user = if let [user] = &self.users[..] { Some(user.clone()) } else { None };
        let (kinds, tag) = (self.kinds.clone(), self.tag.clone());
        JournalQuery { kinds, user, tag, ..JournalQuery::new(Start::OLDEST, 0) }
    }

    fn wants(&self, entry: &Placed) -> bool {
        let is_theirs = |user: &String| entry.user.as_ref() == Some(user);
        // What an import has brought happened elsewhere, and was told there.
        !entry.is_imported() && (self.users.is_empty() || self.users.iter().any(is_theirs))
    }
}

/// Tells one subscription's receiver.
pub(crate) struct Teller {
    pub(crate) node: Node,
    pub(crate) peers: Arc<Peers>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) subscription: Subscription,
}

/// Why the work for a duty ended.
enum Over {
    /// Another node has it, or may have; or the store failed.
    Lost,
    /// The receiver is gone for good.
    Gone,
    /// This node stops.
    Stopped,
}

/// A follower with what it saw next.
type Reading = BoxFuture<(Follower, Result<Arc<Page>, Ended>)>;
type Telling<'a> = Pin<Box<dyn Future<Output = (ChainKey, Told)> + Send + 'a>>;

impl Teller {
    pub(crate) async fn run(self) {
        let name = &self.subscription.name;
        loop {
            let taken = self.node.store.take_duty(name, &self.node.settings.node, self.node.now()).await;
            match taken {
                Ok(Some(duty)) => {
                    let own = OwnDuty::new(&self.node, self.peers.is_shared(), name, duty);
                    match self.work(own).await {
                        Over::Lost => {}
                        Over::Gone | Over::Stopped => return,
                    }
                }
                Ok(None) => {}
                Err(error) => self.node.health.failed(&error),
            }
            if !self.node.pause(TAKE_EVERY).await {
                return;
            }
        }
    }

    /// Tells entry after entry for as long as the duty is this node's.
    async fn work(&self, mut own: OwnDuty) -> Over {
        let clock = &self.node.clock;
        let Some(follower) = self.follow(&mut own).await else {
            own.leave().await;
            return if self.node.stopping() { Over::Stopped } else { Over::Lost };
        };
        let mut chains = Chains::new(own.position());
        let mut reading: Option<Reading> = Some(read(follower));
        let mut idle: Option<Follower> = None;
        let mut telling: FuturesUnordered<Telling<'_>> = FuturesUnordered::new();
        let over = loop {
            if chains.n_unfinished() < WINDOW_MAX
                && let Some(follower) = idle.take()
            {
                reading = Some(read(follower));
            }
            while let Some((key, entry)) = chains.begin(clock.run_for()) {
                telling.push(Box::pin(async move { (key, self.tell(entry).await) }));
            }
            self.show(&chains);
            let again = chains.again_in(clock.run_for()).map(|span| clock.pause(span));
            tokio::select! { biased;
                () = self.node.stopped() => break Over::Stopped,
                is_kept = own.keep(chains.done_to()) => if !is_kept { break Over::Lost },
                Some((key, told)) = telling.next(), if !telling.is_empty() => {
                    if let Some(given_up) = self.ended(&mut chains, key, told) {
                        self.give_up(&given_up);
                        own.set_note(given_up.to_string());
                        if given_up.is_gone {
                            break Over::Gone;
                        }
                    }
                }
                (follower, page) = awaited(&mut reading), if reading.is_some() => {
                    reading = None;
                    match page {
                        Ok(page) => {
                            let wanted = page.entries.iter().filter(|entry| follower.wants(entry));
                            let wanted = wanted.filter(|entry| self.subscription.wants(entry));
                            chains.add(wanted.cloned().map(Arc::new), page.reached);
                            idle = Some(follower);
                        }
                        Err(Ended::Stopping) => break Over::Stopped,
                        // It goes on where it is, from the store.
                        Err(Ended::TooSlow) => match self.follow_after(follower.position()).await {
                            Ok(follower) => idle = Some(follower),
                            Err(_) => break Over::Lost,
                        },
                    }
                }
                () = some(again) => {}
            }
        };
        if matches!(over, Over::Stopped) {
            let mut grace = clock.pause(STOP_GRACE);
            while !telling.is_empty() {
                tokio::select! { biased;
                    Some((key, told)) = telling.next() => drop(self.ended(&mut chains, key, told)),
                    () = &mut grace => break,
                }
            }
        }
        // The requests under way are abandoned: their entries will be told again under the same keys.
        drop(telling);
        if !matches!(over, Over::Lost) {
            own.write(chains.done_to()).await;
            own.leave().await;
        }
        over
    }

    /// Follows the journal from where the duty has come to; `None`: not now.
    async fn follow(&self, own: &mut OwnDuty) -> Option<Follower> {
        let name = &self.subscription.name;
        loop {
            let error = match self.follow_after(own.position()).await {
                Ok(follower) => return Some(follower),
                Err(error) => error,
            };
            let goes_on_after = match &error {
                FollowError::Removed { first } => first - 1,
                FollowError::Ahead { head } => *head,
                FollowError::Store(error) => {
                    self.node.health.failed(error);
                    return None;
                }
            };
            let position = own.position();
            tracing::error!(subscription = %name, position, %error, "its receiver is not told of entries that are lost");
            own.set_note(format!("from position {position}: {error}"));
            own.go_to(goes_on_after);
        }
    }

    async fn follow_after(&self, position: i64) -> Result<Follower, FollowError> {
        Ok(Follower::new(self.node.clone(), Some(position)).await?.only(self.subscription.query()))
    }

    /// Tells the receiver of one entry, in its turn.
    async fn tell(&self, entry: Arc<Placed>) -> Told {
        let to = self.subscription.to.clone();
        let user = entry.user.clone().unwrap_or_default();
        let sent_at = self.node.now();
        let turn = match self.dispatcher.take_turn(to.clone(), user, sent_at).await {
            Ok(turn) => turn,
            Err(SendError::Throttled { wait, .. }) => return Told::Wait(wait),
            Err(error) => return Told::Failed(error.to_string()),
        };
        let said = self.dispatcher.sender().tell(&*self.channel, &Notice { entry, to, sent_at }).await;
        turn.end(fate(&said));
        match said {
            Ok(_) => Told::Passed,
            Err(SendError::Throttled { wait, .. }) => Told::Wait(wait),
            Err(SendError::Unavailable(why) | SendError::Unknown(why)) => Told::Failed(why),
            Err(SendError::Refused(why)) => Told::Refused(why),
            Err(SendError::Gone(why)) => Told::Gone(why),
        }
    }

    /// Learns what became of an entry.
    fn ended(&self, chains: &mut Chains, key: ChainKey, told: Told) -> Option<GivenUp> {
        if matches!(told, Told::Passed) {
            self.node.metrics.subscription_told.get_or_create(&self.label()).inc();
        }
        chains.ended(key, told, self.node.clock.run_for())
    }

    fn give_up(&self, given_up: &GivenUp) {
        let (subscription, position) = (&self.subscription.name, given_up.position);
        let kind = &given_up.kind;
        self.node.metrics.subscription_given_up.get_or_create(&self.label()).inc();
        match given_up.is_gone {
            true => {
                tracing::error!(%subscription, position, why = %given_up.why, "its receiver is gone; it is told nothing more until a restart")
            }
            false => {
                tracing::error!(%subscription, position, %kind, why = %given_up.why, "its receiver cannot be told of an entry")
            }
        }
    }

    fn show(&self, chains: &Chains) {
        let behind = self.node.journal.head().saturating_sub(chains.done_to()).max(0);
        self.node.metrics.subscription_behind.get_or_create(&self.label()).set(behind);
    }

    fn label(&self) -> SubscriptionLabel {
        SubscriptionLabel { name: self.subscription.name.clone() }
    }
}

/// Waits for what `follower` sees next. Nothing is lost when others are attended to meanwhile.
fn read(mut follower: Follower) -> Reading {
    Box::pin(async move {
        let page = follower.next().await;
        (follower, page)
    })
}

async fn awaited(reading: &mut Option<Reading>) -> (Follower, Result<Arc<Page>, Ended>) {
    match reading {
        Some(reading) => reading.await,
        None => std::future::pending().await,
    }
}

async fn some(wait: Option<BoxFuture<()>>) {
    match wait {
        Some(wait) => wait.await,
        None => std::future::pending().await,
    }
}
