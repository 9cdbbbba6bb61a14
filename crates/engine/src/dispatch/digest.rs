//! Digests: the runs that waited through somebody's quiet hours go out as one message, if they asked for that.
//!
//! One flight leads and takes the others along. Each stays a flight of its own: until the send begins, any of them can be
//! withdrawn and the others go on without it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::occurrence::State;
use punctual_core::quiet;
use punctual_core::reminder::Address;

use super::Channels;
use crate::flight::Flight;

/// How many characters the heading of a digest takes at most.
const HEADING: usize = 50;
/// And what stands around an entry: its mark, and that it is late.
const ENTRY_MORE: usize = 40;

/// Lets one flight lead those that belong into one digest; returns the flights that nobody leads.
pub(super) fn group(channels: &Channels, flights: Vec<Arc<Flight>>) -> Vec<Arc<Flight>> {
    let mut alone = Vec::with_capacity(flights.len());
    let mut grouped = Vec::new();
    for flight in flights {
        match room_of(channels, &flight) {
            Some(room) => grouped.push((flight, room)),
            None => alone.push(flight),
        }
    }
    // The same ones in the same order at every attempt, so that what is sent again is the same message.
    grouped.sort_by_key(|(flight, _)| flight.claimed.before.id);
    let mut leaders: BTreeMap<(String, Address, Timestamp), (Arc<Flight>, usize)> = BTreeMap::new();
    for (flight, room) in grouped {
        let claimed = &flight.claimed;
        let together = (claimed.reminder.user.clone(), claimed.to().clone(), flight.instant());
        let length = entry_length(&claimed.reminder.message);
        match leaders.get_mut(&together) {
            Some((leader, left)) if length <= *left => {
                *left -= length;
                leader.take_along(flight);
            }
            _ => {
                let full = leaders.insert(together, (flight, room.saturating_sub(length)));
                alone.extend(full.map(|(leader, _)| leader));
            }
        }
    }
    alone.extend(leaders.into_values().map(|(leader, _)| leader));
    alone
}

/// How many characters an entry takes at most, with what stands around it.
fn entry_length(message: &str) -> usize {
    message.chars().count() + 2 * message.lines().count() + ENTRY_MORE
}

/// How many characters the digest may have that a flight belongs to, because it waited through quiet hours that end in one. A reminder
/// that wants an answer goes alone, with its own buttons.
fn room_of(channels: &Channels, flight: &Flight) -> Option<usize> {
    let claimed = &flight.claimed;
    let quiet = claimed.person.quiet.as_ref().filter(|quiet| quiet.digest)?;
    let waited = match &claimed.before.state {
        State::Waiting { .. } => true,
        // It has been tried since.
        State::PendingRetry { .. } | State::Processing { .. } => claimed.before.tries.reached == 0,
        _ => false,
    };
    let is_one_of_them = waited
        && claimed.message_id.is_none()
        && claimed.reminder.ack.is_none()
        && quiet::is_end(quiet, quiet::zone_of(&claimed.person, &claimed.reminder), claimed.before.due_at);
    let room = channels.get(&claimed.to().channel)?.digest_max()?;
    is_one_of_them.then(|| room.saturating_sub(HEADING))
}
