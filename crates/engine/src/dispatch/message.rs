//! The message of a flight.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::channel::Message;
use punctual_core::digest;
use punctual_core::phrase::Lang;
use punctual_core::store::Claimed;
use punctual_core::wake::text;

use crate::flight::Flight;

/// The message of a flight and of those that go along with it, in the language of its person, or in `language`.
pub(super) fn message(flight: &Flight, along: &[Arc<Flight>], language: Lang, sent_at: Timestamp) -> Message {
    let claimed = &flight.claimed;
    let occurrence = &claimed.before;
    let to = claimed.to().clone();
    // Asking once more is not late, however long ago it was first due.
    let due_at = if occurrence.tries.reached > 0 { claimed.wake_at } else { occurrence.due_at };
    let language = claimed.person.language.unwrap_or(language);
    let mut idempotency_key = occurrence.id.idempotency_key(&to, occurrence.tries.reached);
    let mut said = text(&claimed.reminder, due_at, sent_at);
    if !along.is_empty() {
        let all = || std::iter::once(claimed).chain(along.iter().map(|other| &other.claimed));
        let texts: Vec<_> = all().map(|claimed| text(&claimed.reminder, claimed.before.due_at, sent_at)).collect();
        let ids: Vec<_> = all().map(|claimed| claimed.before.id).collect();
        idempotency_key = digest::key(&idempotency_key, &ids);
        said = digest::text(language, &texts);
    }
    Message {
        occurrence: occurrence.id,
        attempt: claimed.attempt(),
        reminder: claimed.reminder.clone(),
        idempotency_key,
        attempt_key: claimed.attempt_key(),
        language,
        text: said,
        to,
        due_at,
        dated: occurrence.said_from(claimed.reminder.ack.as_ref()).min(sent_at),
        sent_at,
    }
}

/// How many attempts a run can take: every address once, and again with each retry.
pub(super) fn attempts_max(claimed: &Claimed) -> u32 {
    let n_addresses = u32::try_from(claimed.route.len()).unwrap_or(u32::MAX);
    let n_in_all = claimed.reminder.retries_max.saturating_add(1).saturating_mul(n_addresses);
    // A reminder that asks again for an answer goes on counting.
    n_in_all.max(claimed.attempt())
}
