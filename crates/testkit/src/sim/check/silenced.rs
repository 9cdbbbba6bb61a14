//! Whether a message was sent in a silence that was about it, or waited for one that was over.

use jiff::Timestamp;
use punctual_core::silence::Silence;

use super::disturbed::ON_ITS_WAY;
use crate::sim::ledger::{Moment, Sent};
use crate::sim::silences::{PutGroup, Silenced, Silences};

/// The silence in which `sent` should have waited, if there is one that everybody knew of.
pub(super) fn by<'s>(silences: &'s Silences, sent: &Sent) -> Option<&'s Silence> {
    let holds = |kept: &&Silenced| {
        let Silence { user, tag, group, from, until, .. } = &kept.silence;
        let (reminder, at) = (&sent.message.reminder, sent.begun.at);
        let is_known = is_known_to(kept.acknowledged, sent) && kept.end_begun.is_none_or(|end| end > sent.begun);
        // A message whose turn came before the silence may be sent a little after its beginning.
        let is_within = *from + ON_ITS_WAY < at && at < *until;
        let is_about = user.as_ref().is_none_or(|user| *user == reminder.user)
            && tag.as_ref().is_none_or(|tag| reminder.tags.contains(tag))
            && (group.is_none() || is_in_group(&silences.groups, &reminder.user, sent));
        is_known && is_within && is_about
    };
    silences.silences.iter().find(holds).map(|kept| &kept.silence)
}

/// The silence until whose end `sent` waited, although it was ended before that.
pub(super) fn outstayed<'s>(silences: &'s Silences, sent: &Sent) -> Option<&'s Silence> {
    // A store keeps whole microseconds, rounded up.
    let is_end = |until: Timestamp| sent.message.due_at.duration_since(until).as_nanos().unsigned_abs() < 1_000;
    let outstays = |kept: &&Silenced| {
        let was_ended = kept.ended.is_some_and(|ended| kept.silence.until.duration_since(ended.at) > ON_ITS_WAY);
        was_ended && is_end(kept.silence.until)
    };
    silences.silences.iter().find(outstays).map(|kept| &kept.silence)
}

fn is_known_to(acknowledged: Option<Moment>, sent: &Sent) -> bool {
    acknowledged.is_some_and(|moment| sent.begun.elapsed - moment.elapsed > ON_ITS_WAY)
}

/// Whether `user` was in the group, without a doubt: of changes that were under way at the same time, any may have been written last.
fn is_in_group(groups: &[PutGroup], user: &str, sent: &Sent) -> bool {
    let before = || groups.iter().filter(|put| put.begun < sent.begun);
    let is_last = |put: &&PutGroup| !before().any(|other| put.acknowledged.is_some_and(|done| done < other.begun));
    let mut last = before().filter(is_last).peekable();
    last.peek().is_some()
        && before().all(|put| is_known_to(put.acknowledged, sent))
        && last.all(|put| put.group.users.iter().any(|one| one == user))
}
