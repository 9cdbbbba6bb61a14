//! From local times to instants, across changes of the clocks.
//!
//! Between two changes the local clock is the UTC clock moved by a constant, and a rule about local time is a plain
//! pattern over it. So the search goes from change to change, and only the time just after one is special:
//!
//! - The clocks went forward by `g`. For `g` from then on, the old clock shows the local times that were skipped.
//!   Reading the pattern off *both* clocks during that time runs a skipped time once, shifted by the length of the gap,
//!   and two readings of one instant are one run.
//! - The clocks went back by `g`. For `g` from then on, local times are repeated. They have had their run.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use crate::steps::Steps;
use crate::zone::Zone;

/// No zone has ever moved its clocks by more than a day.
const CHANGE_MAX: SignedDuration = SignedDuration::from_hours(25);

/// Which clocks count just after a change. By default a skipped time is shifted and a repeated one counts once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AcrossChange {
    /// Skipped times are left out, because the pattern follows real time anyway.
    pub(super) leave_out_skipped: bool,
    /// Repeated times run through both passes.
    pub(super) run_both_passes: bool,
}

/// The first instant strictly after `after` of a pattern over local time. `next_civil` gives the first matching local
/// time, a whole second, at or after another.
pub(super) fn next_instant(
    zone: &Zone,
    after: Timestamp,
    across: AcrossChange,
    steps: &Steps,
    next_civil: impl Fn(DateTime) -> Option<DateTime>,
) -> Option<Timestamp> {
    let rules = zone.rules();
    // Runs and changes of the clocks fall on whole seconds, so the search may begin on the next one.
    let second = i64::try_from(after.as_nanosecond().div_euclid(1_000_000_000)).ok()?;
    let mut from = Timestamp::from_second(second + 1).ok()?;
    // By a clock that always stands at `offset`.
    let next_by = |offset: Offset, from: Timestamp| offset.to_timestamp(next_civil(offset.to_datetime(from))?).ok();
    loop {
        steps.take(1)?;
        let offset = rules.to_offset(from);
        let until = rules.following(from).next().map(|change| change.timestamp());
        let is_in_reach = |at: &Timestamp| until.is_none_or(|until| *at < until);
        let mut begin = from;
        let mut shifted = None;
        if let Some(change) = Change::before(zone, from, offset) {
            if change.forward > SignedDuration::ZERO && !across.leave_out_skipped {
                let end = change.at.checked_add(change.forward).ok()?;
                shifted = next_by(change.old_offset, from).filter(|at| *at < end).filter(is_in_reach);
            } else if change.forward < SignedDuration::ZERO && !across.run_both_passes {
                begin = begin.max(change.at.checked_sub(change.forward).ok()?);
            }
        }
        let plain = next_by(offset, begin);
        let found = plain.filter(is_in_reach).into_iter().chain(shifted).min();
        if found.is_some() && !steps.are_spent() {
            return found;
        }
        // No time matches before `plain`, so no change until shortly before it needs to be looked at, unless one brings
        // back what has been.
        let shortly_before = plain?.checked_sub(CHANGE_MAX + CHANGE_MAX).unwrap_or(Timestamp::MIN);
        from = if across.run_both_passes { until? } else { until?.max(shortly_before) };
    }
}

/// A local time without its fraction of a second.
pub(super) fn whole_second(time: DateTime) -> DateTime {
    time.with().subsec_nanosecond(0).build().unwrap_or(time)
}

/// A change of the clocks.
struct Change {
    at: Timestamp,
    old_offset: Offset,
    /// How far the clocks went forward; negative when they went back.
    forward: SignedDuration,
}

impl Change {
    /// The change that brought `offset` about, if it is so recent that `from` may still feel it.
    ///
    /// Whole seconds are looked at only: before 1970 a zone's rules take a fraction of a second for the second after it.
    fn before(zone: &Zone, from: Timestamp, offset: Offset) -> Option<Self> {
        let second = SignedDuration::from_secs(1);
        let at = zone.rules().preceding(from.checked_add(second).ok()?).next()?.timestamp();
        if from.duration_since(at) > CHANGE_MAX {
            return None;
        }
        let old_offset = zone.rules().to_offset(at.checked_sub(second).ok()?);
        Some(Self { at, old_offset, forward: offset.duration_since(old_offset) })
    }
}
