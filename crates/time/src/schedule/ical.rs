//! A recurring schedule from and to the text of a calendar (RFC 5545).
//!
//! `read` takes the `DTSTART`, `RRULE`, `RDATE` and `EXDATE` lines of an entry. The times in them hold in the
//! reminder's zone: a `DTSTART` without a zone is local time there, and one that names another zone is refused, because a
//! reminder has one zone only. A `DTSTART` in UTC is welcome in two cases: when the reminder's zone is UTC, and when
//! the rule is plain elapsed time, which becomes an interval.
//!
//! `COUNT` counts from `DTSTART`, and what has been is not asked for again; so it is resolved here, into the moment of
//! the last time.

mod line;
mod read;
mod write;

pub(super) use read::read;

use jiff::civil::DateTime;

use crate::zone::Zone;

fn is_utc(zone: &Zone) -> bool {
    is_same(zone, &Zone::utc(), DateTime::constant(1970, 1, 1, 0, 0, 0, 0))
}

/// Whether two zones have the same clocks from `from` on: one may be another name for the other.
fn is_same(zone: &Zone, other: &Zone, from: DateTime) -> bool {
    if zone == other {
        return true;
    }
    let changes = |zone: &Zone| -> Option<Vec<_>> {
        let start = zone.rules().to_timestamp(from).ok()?;
        let later = zone.rules().following(start).take(200).map(|change| (change.timestamp(), change.offset()));
        Some(std::iter::once((start, zone.rules().to_offset(start))).chain(later).collect())
    };
    changes(zone) == changes(other)
}
