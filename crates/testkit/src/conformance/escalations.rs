//! People who are asked when another does not answer.

use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::occurrence::{Escalation, State, StateKind};
use punctual_core::store::Settlement;

use super::desk::{Desk, asking, at, failed, once, run, taken};

rules!(a_run_keeps_its_own_moment_beside_its_escalation);

async fn a_run_keeps_its_own_moment_beside_its_escalation(desk: Desk) {
    let (silent, broken) = (asking(once(1, 10), 3), asking(once(2, 10), 3));
    desk.create(&[&silent, &broken]).await;
    let escalated = |mut settlement: Settlement, second| {
        settlement.occurrence.escalation = Some(Escalation::Planned { at: at(second) });
        settlement
    };
    for claimed in desk.claim(10).await.to_send {
        let said = if claimed.reminder.id == silent.id { taken() } else { failed() };
        let settled = desk.write(vec![escalated(Desk::settlement(&claimed, said, 10), 30)], 10).await;
        assert_eq!(settled.wakes, [at(30)], "it is looked at when further people are to be asked");
    }
    let state = |reminder| async { desk.trail(run(reminder, 1)).await.occurrence };
    let (asked, retried) = (state(&silent).await, state(&broken).await);
    assert!(matches!(asked.state, State::AwaitingAck { ask_again_at, .. } if ask_again_at == at(70)), "{asked:?}");
    let State::PendingRetry { retry_at, .. } = retried.state else { panic!("{retried:?}") };
    assert!(retry_at > at(10) + SignedDuration::from_secs(30), "{retry_at}");
    for run in [&asked, &retried] {
        assert_eq!((run.escalation, run.wake_at()), (Some(Escalation::Planned { at: at(30) }), Some(at(30))));
    }
    assert_eq!(desk.view(broken.id).await.next_run_at, Some(retry_at), "nobody is told of the other moment");

    // An escalation that comes later than the state's own moment hides nothing.
    let again = desk.claim_only(70, vec![silent.id], 1).await.to_send.remove(0);
    desk.write(vec![escalated(Desk::settlement(&again, taken(), 70), 500)], 70).await;
    let asked = state(&silent).await;
    assert!(matches!(asked.state, State::AwaitingAck { ask_again_at, .. } if ask_again_at == at(130)), "{asked:?}");
    assert_eq!(asked.wake_at(), Some(at(130)));

    // What has ended is not looked at any more.
    desk.change(silent.id, Change::Ack, 80).await;
    assert_eq!(desk.states(silent.id).await, [(StateKind::Completed, 10)]);
    assert_eq!(desk.claim_only(1000, vec![silent.id], 1).await.n_taken, 0);
}
