//! Messages that wait at the same time go out together: on one AMQP channel that nobody else uses meanwhile.
//!
//! A returned message comes before the confirm of the same message, and the client hands it over with whichever confirm comes next.
//! So when all confirms of a group are there, so are all its returns, and each is known by its message id. A broker closes a whole
//! channel over one message; a group has one exchange only, so an exchange that is not there is the same answer for all of it, and
//! after anything else that one message may have caused, each is tried by itself.
//!
//! A sender that waits may give up, and may then send the message another way. So a message goes out only after its sender was told that
//! its turn has come: one that was given up before is never sent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use lapin::options::BasicPublishOptions;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::{BasicProperties, Channel, Confirmation, Error, ErrorKind};
use punctual_core::channel::{Receipt, SendError};
use punctual_core::clock::{Clock, within};
use tokio::sync::oneshot;

use super::connection::{Connection, OpenError};
use super::url::Target;
use super::{Config, Place, failure};
use crate::common::link::Link;

/// The most messages that go out together.
const GROUP_MAX: usize = 256;
/// The most groups at once. A broker has a few processes for each channel, and more of them made nothing faster.
const GROUPS_MAX: usize = 4;

/// A message that waits for its turn.
pub(super) struct Job {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) properties: BasicProperties,
    pub(super) body: Vec<u8>,
    /// It must not be sent again when it may have arrived.
    pub(super) holds: bool,
    pub(super) tell: oneshot::Sender<Result<Receipt, SendError>>,
}

impl Job {
    fn answer(self, said: Result<Receipt, SendError>) {
        // The sender may have given up.
        let _ = self.tell.send(said);
    }
}

/// Where messages wait, and who sends them.
pub(super) struct Groups {
    /// Each with what tells its sender that its turn has come.
    waiting: Mutex<VecDeque<(oneshot::Sender<()>, Job)>>,
    n_groups: AtomicUsize,
    link: Link<Connection>,
    target: Target,
    config: Config,
    clock: Arc<dyn Clock>,
}

impl Groups {
    pub(super) fn new(config: Config, target: Target, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (waiting, n_groups) = (Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { waiting, n_groups, link: Link::new(), target, config, clock })
    }

    /// Lets a message wait for the next group, starts one if there is room for one, and returns what hears of its turn. Where
    /// that is closed before, nothing is sent.
    pub(super) fn add(self: &Arc<Self>, job: Job) -> oneshot::Receiver<()> {
        let (begin, begins) = oneshot::channel();
        self.waiting().push_back((begin, job));
        self.start();
        begins
    }

    fn start(self: &Arc<Self>) {
        let one_more = |n: usize| (n < GROUPS_MAX).then_some(n + 1);
        if self.n_groups.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok() {
            tokio::spawn(Arc::clone(self).run());
        }
    }

    /// Sends group after group until nothing waits.
    async fn run(self: Arc<Self>) {
        loop {
            let group = self.take();
            if group.is_empty() {
                break;
            }
            for alone in self.send(group).await {
                // Its sender may have given up while others had their turn.
                if !alone.tell.is_closed() {
                    // A group of one leaves nothing over.
                    self.send(vec![alone]).await;
                }
            }
        }
        self.n_groups.fetch_sub(1, Ordering::AcqRel);
        // Something may have come after the last look, when there was no room for another group.
        if !self.waiting().is_empty() {
            self.start();
        }
    }

    /// The next messages for one exchange, each with a key of its own, without those that were given up.
    fn take(&self) -> Vec<Job> {
        let mut waiting = self.waiting();
        let mut group: Vec<Job> = Vec::new();
        let mut keys = HashSet::new();
        while group.len() < GROUP_MAX
            && let Some((begin, job)) = waiting.pop_front_if(|(_, next)| {
                group.first().is_none_or(|first| first.place.exchange == next.place.exchange)
                    && !keys.contains(&next.key)
            })
        {
            if begin.send(()).is_ok() {
                keys.insert(job.key.clone());
                group.push(job);
            }
        }
        group
    }

    /// Sends a group and tells each what became of it; returns those that have to be tried by themselves.
    async fn send(&self, group: Vec<Job>) -> Vec<Job> {
        let Self { target, config, clock, .. } = self;
        let all = |group: Vec<Job>, error: SendError| {
            group.into_iter().for_each(|job| job.answer(Err(error.clone())));
            Vec::new()
        };
        let connection = match self.link.get(Connection::is_up, self.connect()).await {
            Ok(connection) => connection,
            Err(error) => return all(group, error),
        };
        if connection.is_blocked() {
            let problem = format!("{target} is short of memory or disk and takes no messages at the moment");
            return all(group, SendError::Unavailable(problem));
        }
        let channel = match within(&**clock, config.connect_timeout, connection.channel()).await {
            Some(Ok(channel)) => channel,
            Some(Err(error)) => return all(group, failure::before(&error, target)),
            None => {
                connection.end();
                self.link.forget(&connection);
                return all(group, SendError::Unavailable(format!("{target} does not answer")));
            }
        };

        let n_heard = connection.heard.so_far();
        let said = join_all(group.iter().map(|job| within(&**clock, config.timeout, publish(&channel, job)))).await;
        let is_whole = said.iter().all(|said| matches!(said, Some(Ok(_))));
        if said.iter().any(|said| matches!(said, Some(Ok(_)))) {
            connection.heard.add();
        }
        if is_whole {
            // Only a channel with nothing under way is used again; any other closes as it is dropped.
            connection.give_back(channel);
        } else if said.iter().any(Option::is_none) && connection.heard.so_far() == n_heard {
            // A connection on which nothing came for so long is not worth another message. A queue may also be silent by
            // itself, when it has lost the majority of its replicas.
            connection.end();
            self.link.forget(&connection);
        }
        self.tell(group, said)
    }

    fn tell(&self, group: Vec<Job>, said: Vec<Option<lapin::Result<Confirmation>>>) -> Vec<Job> {
        let (is_alone, mut returned, mut alone) = (group.len() == 1, HashMap::new(), Vec::new());
        let mut verdicts = Vec::with_capacity(group.len());
        for said in said {
            verdicts.push(said.map(|said| {
                said.map(|confirmation| {
                    let is_ack = matches!(confirmation, Confirmation::Ack(_));
                    let is_asked_for = confirmation != Confirmation::NotRequested;
                    if let Some(message) = confirmation.take_message() {
                        let key = message.properties.message_id().as_ref().map(ToString::to_string).unwrap_or_default();
                        returned.insert(key, (message.reply_code, message.reply_text.to_string()));
                    }
                    (is_ack, is_asked_for)
                })
            }));
        }
        let target = &self.target;
        for (job, verdict) in group.into_iter().zip(verdicts) {
            let said = match verdict {
                Some(Ok(_)) if let Some((code, text)) = returned.get(&job.key) => {
                    Err(failure::returned(*code, text, &job.place, target))
                }
                Some(Ok((_, false))) => Err(SendError::Unknown(format!("{target} does not confirm"))),
                Some(Ok((true, true))) => Ok(Receipt::default()),
                Some(Ok((false, true))) => Err(SendError::Unavailable(format!("{target} could not take it (nack)"))),
                Some(Err(error)) if is_unsent(&error) => {
                    if !is_alone {
                        alone.push(job);
                        continue;
                    }
                    Err(failure::before(&error, target))
                }
                Some(Err(error)) if !is_alone && is_of_one_message(&error) => {
                    if !job.holds {
                        alone.push(job);
                        continue;
                    }
                    Err(SendError::Unknown(format!(
                        "{target} closed the channel over another message; it may have arrived"
                    )))
                }
                Some(Err(error)) => Err(failure::during(&error, &job.place, target)),
                None => {
                    let limit = self.config.timeout;
                    Err(SendError::Unknown(format!("{target} did not confirm it within {limit:?}")))
                }
            };
            job.answer(said);
        }
        alone
    }

    async fn connect(&self) -> Result<Connection, SendError> {
        let Self { target, config, clock, .. } = self;
        let connection: Result<_, OpenError> = Connection::open(target, config.connect_timeout, clock).await;
        connection.map_err(|error| failure::connecting(&error, &self.target))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(oneshot::Sender<()>, Job)>> {
        // Nothing under this lock can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Publishes one message and waits for the broker's word.
async fn publish(channel: &Channel, job: &Job) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let Place { exchange, routing_key } = job.place.clone();
    channel.basic_publish(exchange, routing_key, options, &job.body, job.properties.clone()).await?.await
}

/// Whether the channel had been closed before the message went out: the client looks before it sends.
fn is_unsent(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidChannelState(_, "basic.publish"))
}

/// Whether the channel was closed over one message, and not over the exchange that all have in common.
fn is_of_one_message(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::ProtocolError(said) => match said.kind() {
            AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND) => false,
            AMQPErrorKind::Soft(_) => true,
            AMQPErrorKind::Hard(_) => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use lapin::ChannelState;

    use super::*;
    use crate::sample;

    fn job(exchange: &str, key: &str) -> Job {
        let place = Place { exchange: exchange.into(), routing_key: "x".into() };
        let (tell, _) = oneshot::channel();
        Job { place, key: key.into(), properties: BasicProperties::default(), body: Vec::new(), holds: false, tell }
    }

    #[test]
    fn a_message_that_came_after_the_channel_was_closed_is_tried_by_itself() {
        let config = Config::default();
        let target = Target::parse(config.url.expose()).unwrap();
        let groups = Groups::new(config, target, sample::clock());
        let closed = || Some(Err(Error::from(ErrorKind::InvalidChannelState(ChannelState::Closed, "basic.publish"))));
        let left = groups.tell(vec![job("a", "0"), Job { holds: true, ..job("a", "1") }], vec![closed(), closed()]);
        assert_eq!(left.iter().map(|job| job.key.as_str()).collect::<Vec<_>>(), ["0", "1"], "neither was sent");
        let (tell, mut told) = oneshot::channel();
        assert!(groups.tell(vec![Job { tell, ..job("a", "2") }], vec![closed()]).is_empty());
        assert!(matches!(told.try_recv(), Ok(Err(SendError::Unavailable(_)))), "it may be sent again");
    }

    #[test]
    fn a_group_has_one_exchange_no_key_twice_and_none_that_was_given_up() {
        let config = Config::default();
        let target = Target::parse(config.url.expose()).unwrap();
        let groups = Groups::new(config, target, sample::clock());
        // The exchange, the key, whether its sender still waits, and the group that it goes out with.
        let rows = [
            ("a", "0", false, None),
            ("b", "1", true, Some(0)),
            ("b", "2", false, None),
            ("b", "3", true, Some(0)),
            ("b", "1", true, Some(1)),
            ("b", "4", true, Some(1)),
            ("c", "5", false, None),
            ("c", "6", true, Some(2)),
            ("b", "7", false, None),
        ];
        let mut wait = Vec::new();
        for (exchange, key, waits, _) in rows {
            let (begin, begins) = oneshot::channel();
            groups.waiting().push_back((begin, job(exchange, key)));
            wait.extend(waits.then_some(begins));
        }
        for n in 0..4 {
            let expect: Vec<_> = rows.iter().filter(|row| row.3 == Some(n)).map(|row| (row.0, row.1)).collect();
            let group = groups.take();
            let got: Vec<_> = group.iter().map(|job| (job.place.exchange.as_str(), job.key.as_str())).collect();
            assert_eq!(got, expect, "group {n}");
        }
        assert!(wait.iter_mut().all(|begins| begins.try_recv().is_ok()), "each was told");
    }
}
