//! What waited through somebody's quiet hours goes out as one message, if they asked for that.
//!
//! One flight leads and takes the others along. Each stays a flight of its own: until the send begins, any of them can be
//! withdrawn and the others go on without it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::occurrence::State;
use punctual_core::quiet;
use punctual_core::reminder::Address;

use crate::command::Inner;
use crate::flight::Flight;

/// Lets one flight lead those that belong together; returns all that nobody leads.
pub(crate) fn gather(inner: &Inner, flights: Vec<Arc<Flight>>) -> Vec<Arc<Flight>> {
    let mut leaders: BTreeMap<(String, Address, Timestamp), Arc<Flight>> = BTreeMap::new();
    let mut alone = Vec::with_capacity(flights.len());
    for flight in flights {
        if !is_gathered(inner, &flight) {
            alone.push(flight);
            continue;
        }
        let claimed = &flight.claimed;
        let together = (claimed.reminder.user.clone(), claimed.to().clone(), flight.instant());
        match leaders.get(&together) {
            Some(leader) => leader.take_along(flight),
            None => {
                leaders.insert(together, flight);
            }
        }
    }
    alone.extend(leaders.into_values());
    alone
}

/// Whether it waited through quiet hours that end in one message. What wants an answer goes alone, with its own buttons.
fn is_gathered(inner: &Inner, flight: &Flight) -> bool {
    let claimed = &flight.claimed;
    let Some(quiet) = claimed.person.quiet.as_ref().filter(|quiet| quiet.digest) else { return false };
    let waited = match &claimed.before.state {
        State::Waiting { .. } => true,
        // It has been tried since.
        State::PendingRetry { .. } | State::Processing { .. } => claimed.before.tries.reached == 0,
        _ => false,
    };
    waited
        && claimed.reminder.ack.is_none()
        && inner.channels.get(&claimed.to().channel).is_some_and(|channel| channel.gathers())
        && quiet::is_end(quiet, quiet::zone_of(&claimed.person, &claimed.reminder), claimed.before.due_at)
}
