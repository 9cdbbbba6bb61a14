//! People who silence reminders of a user, a group or a tag, now or from later on, and end silences early.

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Random;
use punctual_core::group::{Group, Mode};
use punctual_core::id::SilenceId;
use punctual_core::silence::Silence;
use punctual_engine::Engine;

use super::ledger::{Ledger, Moment};
use crate::random::SeededRandom;

/// The tags that reminders have.
const TAGS: [&str; 2] = ["chores", "pills"];
/// The one group that there is; those who are in it come and go.
const GROUP: &str = "family";

/// One thing that is done about silences.
pub(super) enum Quieten {
    Begin(Silence),
    End(SilenceId),
    Group(Group),
}

/// Everything that was done about silences.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    /// The silences.
    pub silences: Vec<Silenced>,
    /// The group, each time that it was changed.
    pub groups: Vec<PutGroup>,
}

/// A silence that was asked for, and perhaps ended.
#[derive(Debug, Clone)]
pub struct Silenced {
    /// The silence.
    pub silence: Silence,
    /// When it was asked for.
    pub begun: Moment,
    /// When it was acknowledged.
    pub acknowledged: Option<Moment>,
    /// When somebody first asked for its end.
    pub end_begun: Option<Moment>,
    /// When that was acknowledged.
    pub ended: Option<Moment>,
}

/// A group that was changed.
#[derive(Debug, Clone)]
pub struct PutGroup {
    /// The group from then on.
    pub group: Group,
    /// When it was asked for.
    pub begun: Moment,
    /// When it was acknowledged.
    pub acknowledged: Option<Moment>,
}

/// The tags of a new reminder.
pub(super) fn tags(random: &SeededRandom) -> Vec<String> {
    TAGS.iter().filter(|_| random.one_in(3)).map(|tag| (*tag).to_owned()).collect()
}

/// What somebody does about silences at `now`.
pub(super) fn wish(random: &SeededRandom, ledger: &Ledger, now: Timestamp) -> Quieten {
    let lasting = |book: &Silences| -> Vec<SilenceId> {
        let lasts = |kept: &&Silenced| kept.end_begun.is_none() && kept.silence.until > now;
        book.silences.iter().filter(lasts).map(|kept| kept.silence.id).collect()
    };
    let lasting = lasting(&ledger.read().silences);
    match random.below(8) {
        0..=1 => Quieten::Group(group(random, now)),
        2..=3 if !lasting.is_empty() => Quieten::End(*random.pick(&lasting)),
        _ => Quieten::Begin(silence(random, now)),
    }
}

fn group(random: &SeededRandom, now: Timestamp) -> Group {
    let mut users: Vec<String> = (0..3).filter(|_| random.one_in(2)).map(|n| format!("user-{n}")).collect();
    if users.is_empty() {
        users.push("user-0".into());
    }
    Group {
        name: GROUP.into(),
        mode: Mode::InOrder,
        users,
        rota: None,
        shifts: vec![],
        created_at: now,
        updated_at: now,
    }
}

fn silence(random: &SeededRandom, now: Timestamp) -> Silence {
    let user = || Some(format!("user-{}", random.below(3)));
    let tag = || Some((*random.pick(&TAGS)).to_owned());
    let (user, group, tag) = match random.below(6) {
        0..=1 => (user(), None, None),
        2..=3 => (None, None, tag()),
        4 => (None, Some(GROUP.into()), None),
        _ => (user(), None, tag()),
    };
    // Half of them begin later.
    let from = now + SignedDuration::from_millis(random.between(-120_000, 120_000));
    let until = from.max(now) + SignedDuration::from_millis(random.between(1_000, 240_000));
    let id = SilenceId::new(now, random.ten());
    Silence { id, user, group, tag, from, until, created_at: now, created_by: "ann".into() }
}

impl Quieten {
    /// Does it through `engine`, and writes down the answer.
    pub(super) async fn fulfil(self, ledger: Ledger, engine: Engine) {
        match self {
            Self::Begin(silence) => {
                let begun = ledger.moment(("silence", silence.id.to_string()));
                let kept =
                    Silenced { silence: silence.clone(), begun, acknowledged: None, end_begun: None, ended: None };
                let index = ledger.write(|book| push(&mut book.silences.silences, kept));
                if matches!(engine.put_silence(silence, "ann").await, Ok(true)) {
                    let moment = ledger.moment(("silenced", index));
                    ledger.write(|book| book.silences.silences[index].acknowledged = Some(moment));
                }
            }
            Self::End(id) => {
                let moment = ledger.moment(("end of silence", id.to_string()));
                let kept = |change: &dyn Fn(&mut Silenced)| {
                    ledger.write(|book| {
                        let meant = book.silences.silences.iter_mut().filter(|kept| kept.silence.id == id);
                        meant.for_each(change);
                    });
                };
                kept(&|kept| kept.end_begun = Some(moment));
                // Asked for before the silence was there, its end is none.
                if matches!(engine.end_silence(id, "ann").await, Ok(true)) {
                    let moment = ledger.moment(("silence ended", id.to_string()));
                    kept(&|kept| kept.ended = Some(moment));
                }
            }
            Self::Group(group) => {
                let begun = ledger.moment(("group", group.users.len()));
                let put = PutGroup { group: group.clone(), begun, acknowledged: None };
                let index = ledger.write(|book| push(&mut book.silences.groups, put));
                if engine.put_group(group, "ann").await.is_ok() {
                    let moment = ledger.moment(("group put", index));
                    ledger.write(|book| book.silences.groups[index].acknowledged = Some(moment));
                }
            }
        }
    }
}

/// Adds one; returns its index.
fn push<T>(all: &mut Vec<T>, one: T) -> usize {
    all.push(one);
    all.len() - 1
}

impl Silences {
    /// What was done, one line each.
    pub(super) fn story(&self) -> impl Iterator<Item = (Moment, String)> {
        let silences = self.silences.iter().flat_map(|kept| {
            let Silence { id, user, group, tag, from, until, .. } = &kept.silence;
            let about =
                format!("silence {id} of user {user:?}, group {group:?}, tag {tag:?} from {from} until {until}");
            [
                Some((kept.begun, about)),
                kept.acknowledged.map(|moment| (moment, format!("silence {id} is there"))),
                kept.end_begun.map(|moment| (moment, format!("silence {id} is to end"))),
            ]
        });
        let groups = self.groups.iter().flat_map(|put| {
            let users = put.group.users.join(", ");
            let done = put.acknowledged.map(|moment| (moment, "the group is so".to_owned()));
            [Some((put.begun, format!("the group is to be {users}"))), done]
        });
        silences.chain(groups).flatten()
    }
}
