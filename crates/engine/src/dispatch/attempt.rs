//! One attempt: a flight whose turn has come is sent, and what became of it is handed to the settler.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, Message, Receipt, SendError, Whom};
use punctual_core::decide::{decide, not_tried, sent_under, withdraw};
use punctual_core::rules::route::Trouble;
use punctual_core::store::DeadAddress;

use super::Dispatcher;
use super::dead::not_called;
use super::gate::Fate;
use super::lanes::Sent;
use super::message::{attempts_max, message};
use super::send::fate;
use crate::flight::Flight;
use crate::instant::plus;
use crate::leases::LEASE_MARGIN;
use crate::log::Kind;
use crate::node::lock;

/// How long it is asked what became of a message that a platform took. No phone call takes longer.
const FOLLOW_FOR: SignedDuration = SignedDuration::from_mins(15);

impl Dispatcher {
    /// Sends a flight, and settles what became of it. Returns what its gates should learn; nothing if it never began.
    pub(super) async fn attempt(self: &Arc<Self>, flight: &Arc<Flight>) -> Option<(Fate, Whom)> {
        let claimed = &flight.claimed;
        let begun_at = self.node.now();
        if !flight.has_lease_at(plus(begun_at, LEASE_MARGIN)) {
            // Another node may have it by now. It is given back, which is refused if so; nobody need think that it was sent.
            if flight.withdraw() {
                self.settlements.hand(withdraw(claimed, begun_at));
            }
            self.go_without(flight);
            return None;
        }
        if begun_at < flight.instant() {
            // The clock was set back while it waited for its turn.
            self.early.add([flight.clone()]);
            return None;
        }
        let to = claimed.to();
        let channel = match self.channels.get(&to.channel) {
            // Asking about a message that the platform has calls nobody.
            Some(channel) if self.dead.get(to).is_none() || claimed.message_id.is_some() => channel,
            // The channel is not called, so the gate learns nothing about the receiver.
            known => {
                let error = match self.dead.get(to).filter(|_| known.is_some()) {
                    Some(dead) => not_called(&dead),
                    // An admin can add the channel again.
                    None => SendError::Unavailable(format!("there is no channel named `{}`", to.channel)),
                };
                let along = self.begin(flight, begun_at)?;
                let message = message(flight, &along, self.node.settings.language, begun_at);
                self.settle(flight, &along, &message, Err(error));
                return None;
            }
        };
        let along = self.begin(flight, begun_at)?;
        let late = begun_at.duration_since(claimed.wake_at);
        self.node.metrics.lateness_seconds.observe(late.as_secs_f64().max(0.0));
        self.node.lateness.begun(begun_at, late.unsigned_abs());
        if claimed.attempt() > 1 {
            self.node.metrics.retries.inc();
        }

        let message = message(flight, &along, self.node.settings.language, begun_at);
        if self.node.says(Kind::Processing) {
            let (occurrence, channel, attempt) = (message.occurrence, &message.to.channel, message.attempt);
            let of = attempts_max(claimed);
            tracing::info!(%occurrence, %channel, attempt, of, "processing (attempt {attempt} of {of})");
        }
        let (said, fate) = self.send(flight, &**channel, &message).await;
        if let Err(SendError::Gone(reason)) = &said {
            let (address, reason) = (message.to.clone(), reason.clone());
            self.dead.add(DeadAddress { address, since: begun_at, reason });
        }
        self.settle(flight, &along, &message, said);
        fate
    }

    /// Sends a message; returns what became of it, and what its gates should learn from that.
    async fn send(
        self: &Arc<Self>,
        flight: &Flight,
        channel: &dyn Channel,
        message: &Message,
    ) -> (Result<Receipt, SendError>, Option<(Fate, Whom)>) {
        if let Some(id) = &flight.claimed.message_id {
            // Another process sent it and did not see the end.
            return (self.sender.follow(channel, id.clone(), FOLLOW_FOR).await, None);
        }
        match self.sender.send(channel, message).await {
            Ok(Receipt { pending: true, message_id: Some(id), .. }) => {
                // The platform has answered. That nobody picks up, for example, is not about the platform.
                let answered = (Fate::Answered, Whom::Receiver);
                self.at_lanes(|lanes, now, moves| {
                    lanes.learn(&flight.lane, Sent::of(flight), answered, now, moves);
                    // The flights that waited for that answer need not wait for the end of the call.
                    lanes.pump(&flight.lane, now, moves);
                });
                self.write_message_id(flight, &id).await;
                (self.sender.follow(channel, id, FOLLOW_FOR).await, None)
            }
            said => {
                let fate = fate(&said);
                let said = match said {
                    Err(error @ SendError::Throttled { .. }) if self.is_out_of_patience(flight) => {
                        let why = format!("it has done nothing but ask to wait for a whole day: {error}");
                        Err(SendError::Unavailable(why))
                    }
                    said => said,
                };
                (said, Some(fate))
            }
        }
    }

    fn is_out_of_patience(&self, flight: &Flight) -> bool {
        lock(&self.lanes).is_out_of_patience(flight, self.node.now())
    }

    /// Writes down the platform's id of a message that is under way: whatever happens to this process, it can be found in the
    /// platform's own books.
    async fn write_message_id(&self, flight: &Flight, id: &str) {
        let claimed = &flight.claimed;
        if let Err(error) =
            self.node.store.write_message_id(claimed.before.id, claimed.lease, claimed.attempt(), id).await
        {
            tracing::warn!(occurrence = %claimed.before.id, %error, "the platform's id could not be written down yet");
        }
    }

    /// Begins a flight; returns those that go along with it. `None` if it was withdrawn: they go without it.
    fn begin(&self, flight: &Flight, now: Timestamp) -> Option<Vec<Arc<Flight>>> {
        if !flight.begin() {
            self.go_without(flight);
            return None;
        }
        let (ours, lost): (Vec<_>, Vec<_>) =
            flight.part().into_iter().partition(|other| other.has_lease_at(plus(now, LEASE_MARGIN)));
        for other in lost.into_iter().filter(|other| other.withdraw()) {
            self.settlements.hand(withdraw(&other.claimed, now));
        }
        Some(ours.into_iter().filter(|other| other.begin()).collect())
    }

    /// Lets those that a flight was to take along go out without it.
    pub(super) fn go_without(&self, flight: &Flight) {
        let mut others = flight.part().into_iter();
        if let Some(next) = others.next() {
            others.for_each(|other| next.take_along(other));
            self.early.add([next]);
        }
    }

    /// Settles a flight, and those that went along with it, with what the channel said.
    fn settle(&self, flight: &Flight, along: &[Arc<Flight>], message: &Message, said: Result<Receipt, SendError>) {
        let (occurrence, attempt, channel) = (message.occurrence, message.attempt, &message.to.channel);
        match &said {
            Ok(_) if self.node.says(Kind::Sent) => tracing::info!(%occurrence, attempt, %channel, "sent"),
            Ok(_) => tracing::debug!(%occurrence, attempt, %channel, "sent"),
            Err(error) => tracing::warn!(%occurrence, attempt, %channel, %error, "not sent"),
        }
        // The same for all, so that what goes out together is also tried again together.
        let (jitter, now) = (self.random.unit(), self.node.now());
        let settle = |run: &Flight, said| {
            let settlement = decide(&run.claimed, said, &self.node.settings.retry, jitter, message.sent_at, now);
            let key = &message.idempotency_key;
            let settlement = if along.is_empty() { settlement } else { sent_under(settlement, key) };
            self.settlements.hand_ended(settlement, run);
        };
        along.iter().for_each(|other| settle(other, said.clone()));
        settle(flight, said);
    }

    /// Settles a flight that cannot be sent because of `trouble` with its receiver, as if it had been tried.
    pub(super) fn fail(&self, flight: &Flight, trouble: Trouble, now: Timestamp) {
        let Some(along) = self.begin(flight, now) else { return };
        let (occurrence, attempt) = (flight.claimed.before.id, flight.claimed.attempt());
        let (channel, error) = (&flight.claimed.to().channel, trouble.why_not_tried(&flight.claimed, now));
        tracing::warn!(%occurrence, attempt, %channel, %error, "not sent");
        let jitter = self.random.unit();
        for run in along.iter().map(|other| &**other).chain([flight]) {
            let settlement = not_tried(&run.claimed, trouble, &self.node.settings.retry, jitter, now);
            self.settlements.hand_ended(settlement, run);
        }
    }
}
