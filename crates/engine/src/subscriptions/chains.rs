//! Whose turn it is: the entries of one reminder are told one after the other, those of different reminders beside each other.
//!
//! An entry that the receiver does not take waits longer and longer, and with it those of the same reminder. While the receiver takes
//! nothing at all, it is asked with one entry at a time, and nothing is given up: the journal keeps what waits. An entry that it does not take
//! while it takes others is given up some time, so that it does not hold back its reminder for ever.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use punctual_core::id::ReminderId;
use punctual_core::journal::Placed;

/// How many entries are told at once.
const TELLING_MAX: usize = 16;
/// An entry that the receiver does not take so often, while it takes others, is given up.
const TRIES_MAX: u32 = 10;
/// After so many failures in a row the receiver is down.
const DOWN_AFTER: u32 = 3;
/// How long to wait after the first failure; then twice as long each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// The shortest wait of those that a receiver or a limit asks for.
const WAIT_MIN: Duration = Duration::from_millis(20);

/// The entries that wait for each other: those of one reminder, or those that are about none.
pub(super) type ChainKey = Option<ReminderId>;

/// What became of an attempt to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// The receiver took it.
    Passed,
    /// Not now: it costs no try.
    Wait(Duration),
    /// It may work later.
    Failed(String),
    /// The receiver will never take this one.
    Refused(String),
    /// There is no receiver any more.
    Gone(String),
}

/// An entry that the receiver is not told of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GivenUp {
    pub(super) position: i64,
    pub(super) kind: String,
    pub(super) why: String,
    /// No other entry will get through either.
    pub(super) is_gone: bool,
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} ({}) was not told: {}", self.position, self.kind, self.why)
    }
}

/// All entries that were read and are not told yet.
pub(super) struct Chains {
    chains: HashMap<ChainKey, Chain>,
    /// Chains whose first entry can be told.
    ready: VecDeque<ChainKey>,
    /// Chains that wait, and until when, by the clock's running time.
    waiting: BTreeSet<(Duration, ChainKey)>,
    n_telling: usize,
    unfinished: BTreeSet<i64>,
    read_to: i64,
    /// How many entries the receiver has taken or refused.
    n_answered: u64,
    n_failed_in_row: u32,
    /// How often a receiver that is down was asked in vain, and when it is asked again.
    n_asked: u32,
    ask_at: Duration,
}

#[derive(Default)]
struct Chain {
    entries: VecDeque<Arc<Placed>>,
    /// How often the first was tried.
    n_tries: u32,
    /// How many entries the receiver had answered when the first of them failed.
    answered_before: u64,
}

impl Chains {
    /// Everything up to `done_to` has been told.
    pub(super) fn new(done_to: i64) -> Self {
        Self {
            chains: HashMap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            n_telling: 0,
            unfinished: BTreeSet::new(),
            read_to: done_to,
            n_answered: 0,
            n_failed_in_row: 0,
            n_asked: 0,
            ask_at: Duration::ZERO,
        }
    }

    /// Takes entries that are to be told. The journal has been read up to `read_to`.
    pub(super) fn add(&mut self, entries: impl IntoIterator<Item = Arc<Placed>>, read_to: i64) {
        for entry in entries {
            self.unfinished.insert(entry.position);
            let chain = self.chains.entry(entry.reminder).or_default();
            if chain.entries.is_empty() {
                self.ready.push_back(entry.reminder);
            }
            chain.entries.push_back(entry);
        }
        self.read_to = read_to;
    }

    /// How many are not told yet.
    pub(super) fn n_unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// The last position up to which everything is told.
    pub(super) fn done_to(&self) -> i64 {
        self.unfinished.first().map_or(self.read_to, |first| first - 1)
    }

    /// Takes an entry that is to be told now.
    pub(super) fn begin(&mut self, now: Duration) -> Option<(ChainKey, Arc<Placed>)> {
        if !self.has_room() || (self.is_down() && now < self.ask_at) {
            return None;
        }
        let key = match self.waiting.first().copied() {
            // A receiver that is down is asked with an entry that it was asked to take before.
            Some(first) if first.0 <= now || self.is_down() => {
                self.waiting.remove(&first);
                first.1
            }
            _ => self.ready.pop_front()?,
        };
        let entry = self.chains.get(&key)?.entries.front()?.clone();
        self.n_telling += 1;
        Some((key, entry))
    }

    /// Whether another entry may be told beside those that are.
    fn has_room(&self) -> bool {
        self.n_telling < if self.is_down() { 1 } else { TELLING_MAX }
    }

    /// How long until a chain that waits may go on; `None` also if the end of another decides.
    pub(super) fn again_in(&self, now: Duration) -> Option<Duration> {
        let first = self.waiting.first().filter(|_| self.has_room()).map(|(at, _)| *at);
        let at = if self.is_down() { first.map(|_| self.ask_at) } else { first };
        at.map(|at| at.saturating_sub(now))
    }

    /// Learns what became of the first entry of a chain. Returns it if it is given up.
    pub(super) fn ended(&mut self, key: ChainKey, told: Told, now: Duration) -> Option<GivenUp> {
        self.n_telling = self.n_telling.saturating_sub(1);
        let n_answered = self.n_answered;
        let chain = self.chains.get_mut(&key)?;
        let (why, is_gone) = match told {
            Told::Passed => {
                self.answered();
                self.finish(key);
                return None;
            }
            Told::Wait(wait) => {
                let until = now + wait.clamp(WAIT_MIN, WAIT_MAX);
                if self.is_down() {
                    // Or it would be asked again at once: the wait of its chain does not count then.
                    self.ask_at = self.ask_at.max(until);
                }
                self.waiting.insert((until, key));
                return None;
            }
            Told::Failed(why) => {
                if chain.n_tries == 0 {
                    chain.answered_before = n_answered;
                }
                chain.n_tries += 1;
                self.n_failed_in_row += 1;
                if self.n_failed_in_row >= DOWN_AFTER && now >= self.ask_at {
                    self.n_asked += 1;
                    self.ask_at = now + backoff(self.n_asked);
                }
                if chain.n_tries < TRIES_MAX || n_answered == chain.answered_before {
                    self.waiting.insert((now + backoff(chain.n_tries), key));
                    return None;
                }
                (why, false)
            }
            Told::Refused(why) => {
                self.answered();
                (why, false)
            }
            Told::Gone(why) => (why, true),
        };
        let entry = if is_gone { self.first(key) } else { self.finish(key) }?;
        Some(GivenUp { position: entry.position, kind: entry.kind.clone(), why, is_gone })
    }

    fn is_down(&self) -> bool {
        self.n_failed_in_row >= DOWN_AFTER
    }

    /// The receiver has answered. If it was down, it is tried with everything that waits.
    fn answered(&mut self) {
        self.n_answered += 1;
        if self.is_down() {
            for (_, key) in std::mem::take(&mut self.waiting) {
                if let Some(chain) = self.chains.get_mut(&key) {
                    chain.n_tries = 0;
                }
                self.ready.push_back(key);
            }
        }
        (self.n_failed_in_row, self.n_asked, self.ask_at) = (0, 0, Duration::ZERO);
    }

    fn first(&self, key: ChainKey) -> Option<Arc<Placed>> {
        self.chains.get(&key)?.entries.front().cloned()
    }

    /// Is done with the first entry of a chain.
    fn finish(&mut self, key: ChainKey) -> Option<Arc<Placed>> {
        let chain = self.chains.get_mut(&key)?;
        let entry = chain.entries.pop_front()?;
        chain.n_tries = 0;
        if chain.entries.is_empty() {
            self.chains.remove(&key);
        } else {
            self.ready.push_back(key);
        }
        self.unfinished.remove(&entry.position);
        Some(entry)
    }
}

fn backoff(n_tries: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << n_tries.saturating_sub(1).min(16)).min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use punctual_core::journal::{ENGINE, Kind};

    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn reminder(number: u8) -> ReminderId {
        ReminderId::new(Timestamp::UNIX_EPOCH, [number; 10])
    }

    /// An entry about reminder `number`, or about none.
    fn entry(position: i64, number: u8) -> Arc<Placed> {
        Arc::new(Placed {
            position,
            at: Timestamp::UNIX_EPOCH,
            kind: Kind::Sent.to_string(),
            actor: ENGINE.into(),
            via: None,
            node: None,
            user: None,
            reminder: (number > 0).then(|| reminder(number)),
            run: None,
            data: None,
        })
    }

    /// Begins all that can be told, by position.
    fn begin(chains: &mut Chains, now: Duration) -> Vec<i64> {
        std::iter::from_fn(|| chains.begin(now)).map(|(_, entry)| entry.position).collect()
    }

    fn key(number: u8) -> ChainKey {
        (number > 0).then(|| reminder(number))
    }

    fn failed() -> Told {
        Told::Failed("503".into())
    }

    #[test]
    fn entries_of_one_reminder_wait_for_each_other_and_others_do_not() {
        let mut chains = Chains::new(10);
        chains.add([entry(11, 1), entry(12, 2), entry(13, 1), entry(15, 0)], 20);
        assert_eq!(begin(&mut chains, S), [11, 12, 15]);
        assert_eq!(chains.done_to(), 10);
        assert_eq!(chains.ended(key(2), Told::Passed, S), None);
        assert_eq!((begin(&mut chains, S), chains.done_to()), (vec![], 10), "13 waits for 11");
        chains.ended(key(1), Told::Passed, S);
        assert_eq!((begin(&mut chains, S), chains.done_to()), (vec![13], 12));
        chains.ended(key(1), Told::Passed, S);
        assert_eq!(chains.done_to(), 14);
        chains.ended(None, Told::Passed, S);
        assert_eq!(
            (chains.done_to(), chains.n_unfinished(), chains.chains.len()),
            (20, 0, 0),
            "up to where it was read"
        );
    }

    #[test]
    fn no_more_than_sixteen_are_told_at_once() {
        let mut chains = Chains::new(0);
        chains.add((1..=20).map(|n| entry(i64::from(n), n)), 20);
        assert_eq!(begin(&mut chains, S).len(), 16);
        chains.ended(key(3), Told::Passed, S);
        assert_eq!(begin(&mut chains, S), [17]);
    }

    #[test]
    fn a_wait_that_was_asked_for_costs_no_try() {
        let mut chains = Chains::new(0);
        chains.add([entry(1, 1)], 1);
        for n in 1..50 {
            assert_eq!(begin(&mut chains, n * S), [1]);
            assert_eq!(chains.ended(key(1), Told::Wait(S), n * S), None);
            assert_eq!((begin(&mut chains, n * S), chains.again_in(n * S)), (vec![], Some(S)));
        }
    }

    #[test]
    fn an_entry_that_fails_while_others_pass_is_given_up_and_the_next_of_its_reminder_goes_on() {
        let mut chains = Chains::new(0);
        let mut now = S;
        chains.add([entry(1, 1), entry(2, 1)], 2);
        for n in 1..=10 {
            assert_eq!(begin(&mut chains, now), [1]);
            let given_up = chains.ended(key(1), failed(), now);
            assert_eq!(given_up.is_some(), n == 10, "try {n}");
            chains.add([entry(n * 10, 2)], n * 10);
            let next = begin(&mut chains, now);
            assert!(next.contains(&(n * 10)), "others pass meanwhile");
            chains.ended(key(2), Told::Passed, now);
            if n < 10 {
                let wait = chains.again_in(now).unwrap();
                assert_eq!(wait, S * 2u32.pow(n as u32 - 1).min(300));
                now += wait;
            } else {
                assert!(next.contains(&2), "the reminder goes on");
            }
        }
    }

    #[test]
    fn while_the_receiver_takes_nothing_it_is_asked_by_one_and_nothing_is_given_up() {
        let mut chains = Chains::new(0);
        chains.add((1..=200).map(|n| entry(i64::from(n), n)), 200);
        let mut now = S;
        let first = begin(&mut chains, now);
        assert_eq!(first.len(), 16);
        for n in first {
            assert_eq!(chains.ended(key(n as u8), failed(), now), None);
        }
        for _ in 0..200 {
            now += chains.again_in(now).unwrap();
            let asked = begin(&mut chains, now);
            assert_eq!(asked.len(), 1, "the receiver is down");
            assert!(begin(&mut chains, now + S).is_empty(), "and is asked by one");
            assert_eq!(chains.ended(key(asked[0] as u8), failed(), now), None);
        }
        assert!(now > 200 * 250 * S, "less and less often");
        assert_eq!((chains.n_unfinished(), chains.done_to()), (200, 0));
        now += chains.again_in(now).unwrap();
        let asked = begin(&mut chains, now);
        chains.ended(key(asked[0] as u8), Told::Passed, now);
        assert_eq!(begin(&mut chains, now).len(), 16, "it is back: everything goes on at once");
        assert_eq!(chains.ended(key(100), failed(), now), None);
    }

    #[test]
    fn a_receiver_that_is_down_and_asks_for_a_wait_is_left_alone_until_then() {
        let mut chains = Chains::new(0);
        chains.add((1..=3).map(|n| entry(n, n as u8)), 3);
        for n in begin(&mut chains, S) {
            chains.ended(key(n as u8), failed(), S);
        }
        let now = S + chains.again_in(S).unwrap();
        let asked = begin(&mut chains, now);
        assert_eq!(asked.len(), 1);
        chains.ended(key(asked[0] as u8), Told::Wait(7 * S), now);
        assert_eq!(chains.again_in(now), Some(7 * S));
        assert!(begin(&mut chains, now + 6 * S).is_empty());
        assert_eq!(begin(&mut chains, now + 7 * S).len(), 1);
    }

    #[test]
    fn an_entry_that_is_refused_is_given_up_at_once_and_one_whose_receiver_is_gone_stays() {
        let mut chains = Chains::new(0);
        chains.add([entry(1, 1), entry(2, 2)], 2);
        begin(&mut chains, S);
        let refused = chains.ended(key(1), Told::Refused("400".into()), S).unwrap();
        assert_eq!(refused.to_string(), "entry 1 (reminder.sent) was not told: 400");
        assert_eq!(chains.done_to(), 1);
        let gone = chains.ended(key(2), Told::Gone("410".into()), S).unwrap();
        assert!(gone.is_gone && !refused.is_gone);
        assert_eq!(chains.done_to(), 1, "it is told when there is a receiver again");
    }
}
