//! Two nodes on one store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::store::{By, StoreError};
use punctual_testkit::clock::ManualClock;
use punctual_testkit::nodes::Nodes;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::sample::once;
use punctual_testkit::tap::Tap;

/// A claim's answer arrives this long after the claim is written.
const CLAIM_ANSWERED_AFTER: Duration = Duration::from_millis(10);

struct SlowClaims(ManualClock);

#[async_trait]
impl Tap for SlowClaims {
    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        if call == "claim" {
            self.0.pause(CLAIM_ANSWERED_AFTER).await;
        }
        Ok(())
    }
}

#[test]
fn a_cancel_succeeds_on_either_node_while_the_claim_is_being_answered() {
    for group in [1, 2] {
        let phone = RecordingChannel::default();
        let channel: Arc<dyn Channel> = Arc::new(phone.clone());
        let nodes = Nodes::start(2, &[("phone".to_owned(), channel)].into(), |_, clock| SlowClaims(clock.clone()));
        nodes.advance(SignedDuration::from_secs(5));
        let now = nodes.clock.now();
        let reminder = once(1, now + SignedDuration::from_secs(60), now);
        let id = reminder.id;
        let (engine, created) = (nodes.engine(group).clone(), nodes.engine(1).clone());
        nodes.run(1, async move { created.create(vec![reminder], "ann", None).await }).expect("it is created");
        // The run is claimed 40 ms ahead.
        nodes.advance(SignedDuration::from_millis(59_965));
        let by = By::new("ann", nodes.clock.now());
        let cancelled = nodes.run(group, async move { engine.change(id, Change::Cancel, by).await });
        assert!(cancelled.is_ok(), "on node {group}: {:?}", cancelled.err());
        nodes.advance(SignedDuration::from_secs(60));
        phone.expect_silence();
    }
}
