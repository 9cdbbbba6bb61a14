//! Changing one reminder.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::change::{Change, Refused, followed};
use punctual_core::id::ReminderId;
use punctual_core::store::{By, ChangeError, Changed, ReminderView, StoreError};

use crate::Engine;
use crate::alarm::Alarms;
use crate::flight::Fired;
use crate::leases::Leases;
use crate::log::Kind;
use crate::node::Node;
use crate::peers::Peers;
use crate::timer::Timer;

/// How often a command looks again for a claim that it can withdraw, here or by asking the node that has it.
const WITHDRAW_TRIES: u32 = 20;
/// How long it waits in between.
const WITHDRAW_AGAIN_AFTER: Duration = Duration::from_millis(5);

impl Engine {
    /// Applies one command to one reminder.
    ///
    /// A run that is claimed but not yet being sent is withdrawn first, so that a command succeeds until the very instant.
    pub async fn change(&self, id: ReminderId, mut change: Change, by: By) -> Result<Changed, ChangeError> {
        if let Change::Resend(resend) = &mut change {
            resend.holding = self.holding();
        }
        if let Change::Update(patch) = &change
            && (patch.to.is_some() || patch.only.is_some())
        {
            self.check_addresses(patch.to.as_deref().unwrap_or_default()).map_err(Refused::Invalid)?;
            // The store refuses a reminder that is not there or another user's.
            let view = self.parts.node.store.reminder(id).await?;
            if let Some(view) = view.filter(|view| by.user.as_ref().is_none_or(|user| *user == view.reminder.user)) {
                let mut reminder = view.reminder;
                patch.apply(&mut reminder);
                let addresses = self.addresses_of(std::slice::from_ref(&reminder)).await?;
                self.check_reach(&reminder, &addresses).map_err(Refused::Invalid)?;
            }
        }
        if let Change::Update(patch) = &change
            && let Some(steps) = &patch.escalate
        {
            self.check_plan(steps).await?.map_err(Refused::Invalid)?;
        }
        let parts = self.parts.clone();
        // A caller that goes away must not leave a flight withdrawn and unsettled.
        self.finish(async move {
            let (is_undo, who) = (matches!(change, Change::Undo), by.who.clone());
            let mut changed = parts.changer.change(id, change, by).await?;
            parts.editor.changed(&changed);
            if let Some(event) = changed.view.reminder.event.as_ref().filter(|_| is_undo) {
                // The event may have changed since the cancel: the reminder follows it before anybody is told how it stands.
                let key = event.key.clone();
                match parts.planner.plan(key, &who).await {
                    Ok(()) => {
                        changed.view = parts.node.store.reminder(id).await?.unwrap_or(changed.view);
                        followed(&changed.view.reminder)?;
                    }
                    // It is undone all the same, and the planner does the rest.
                    Err(error) => parts.node.health.failed(&error),
                }
            }
            Ok(changed)
        })
        .await
    }
}

/// Changes reminders, also those with runs on their way.
pub(crate) struct Changer {
    pub(crate) node: Node,
    pub(crate) timer: Arc<Timer>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) fired: Arc<Fired>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) alarms: Arc<Alarms>,
}

impl Changer {
    pub(crate) async fn change(&self, id: ReminderId, change: Change, by: By) -> Result<Changed, ChangeError> {
        let Self { node, timer, leases, .. } = self;
        // Every other command is about runs to come, or about one whose person may just be asked again.
        let leaves_runs = matches!(change.plain(), Change::Fire | Change::Resume | Change::Undo | Change::Resend(_));
        let mut n_tries = 0_u32;
        // The reminder, and those of others who were asked in its person's place.
        let mut ids = vec![id];
        loop {
            let mut back_at = Vec::new();
            if !leaves_runs {
                let given_back;
                (back_at, given_back) = leases.give_back(&ids).await;
                if let Err(error) = given_back {
                    timer.wake_at(back_at);
                    return Err(error.into());
                }
            }
            let changed = node.store.change(id, change.clone(), by.clone()).await;
            // Only now, so that the timer is in no hurry to claim it again before the change.
            timer.wake_at(back_at);
            if let Err(ChangeError::Refused(Refused::OtherBegun(others))) = &changed {
                ids.truncate(1);
                ids.extend(others);
            }
            match changed {
                // It has been claimed, and nothing has begun: the claim's flights are about to be known here.
                Err(ChangeError::Refused(Refused::SendBegun | Refused::OtherBegun(_)))
                    if n_tries < WITHDRAW_TRIES && !ids.iter().any(|id| leases.flights.has_begun(*id)) =>
                {
                    n_tries += 1;
                    // Other nodes are asked after 1, 2, 4, 8 and 16 tries. When a node is asked, the answer to its claim may still be on
                    // its way; and it may take a run that it gave back again, together with others, before this command does.
                    if n_tries.is_power_of_two() && self.peers.is_shared() {
                        for id in &ids {
                            if let Err(error) = node.store.recall(*id).await {
                                tracing::debug!(%error, "could not ask for it back");
                            }
                        }
                    }
                    node.clock.pause(WITHDRAW_AGAIN_AFTER).await;
                }
                Ok(changed) => {
                    if let (Change::Fire, Some(occurrence)) = (&change, &changed.occurrence) {
                        self.fired.add(occurrence.id);
                    }
                    node.journal.written();
                    timer.wake_at(changed.wakes.iter().copied());
                    // Other nodes hear of it with the commit.
                    timer.wake_at(leases.stop(&changed.recalled).await);
                    self.alarms.changed(&changed.view);
                    self.set_root(&changed.view).await;
                    if matches!(change, Change::Cancel) && node.says(Kind::Cancelled) {
                        tracing::info!(reminder = %id, by = by.who.name(), "cancelled");
                    }
                    return Ok(changed);
                }
                Err(error) => {
                    if matches!(error, ChangeError::Store(StoreError::Unavailable(_))) {
                        // It may be written all the same, and the runs that it planned are not known here.
                        timer.reset();
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Sets the timer outside for the reminder in whose person's place `asked` was sent: an answer to `asked` may have put it off, or planned
    /// its next run.
    async fn set_root(&self, asked: &ReminderView) {
        let Some(root) = asked.reminder.escalates.filter(|_| self.alarms.alarm().is_some()) else { return };
        match self.node.store.reminder(root.reminder).await {
            Ok(root) => root.iter().for_each(|root| self.alarms.changed(root)),
            Err(error) => tracing::debug!(%error, "could not set the timer outside"),
        }
    }
}
