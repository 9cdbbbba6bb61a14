//! Setting the reminders that other programs write in the store itself.
//!
//! A program that calls `punctual.remind` in its own transaction tells nodes only of what is due soon. The journal names every such
//! reminder, so each node that sets an alarm reads on in it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use punctual_core::id::ReminderId;
use punctual_core::store::{JournalQuery, Start, StoreError};

use super::Alarms;
use crate::node::Node;
use crate::peers::Peers;

/// How often the journal is read.
const EVERY: Duration = Duration::from_secs(2);
/// How many entries are read at once.
const PAGE: usize = 500;
/// The door of a program that writes in SQL.
const IN_SQL: &str = "sql";

/// Sets the alarms of reminders that other programs make, for as long as the engine runs. A store that is not shared has no other writers.
pub(crate) async fn follow(node: Node, alarms: Arc<Alarms>, peers: Arc<Peers>) {
    if alarms.alarm().is_none() || !peers.is_shared() {
        return;
    }
    // Reminders from before the start are set with everything else.
    let mut after = None;
    loop {
        if let Err(error) = follow_once(&node, &alarms, &mut after).await {
            node.health.failed(&error);
        }
        if !node.pause(EVERY).await {
            return;
        }
    }
}

/// Reads on from `after`, which moves on with what was set.
async fn follow_once(node: &Node, alarms: &Alarms, after: &mut Option<i64>) -> Result<(), StoreError> {
    let Some(mut from) = *after else {
        *after = Some(node.store.place().await?);
        return Ok(());
    };
    loop {
        let query = JournalQuery { via: Some(IN_SQL.to_owned()), ..JournalQuery::new(Start::After(from), PAGE) };
        let page = node.store.journal(query).await?;
        let changed: BTreeSet<ReminderId> = page.entries.iter().filter_map(|entry| entry.reminder).collect();
        set(node, alarms, changed.into_iter().collect()).await?;
        from = page.reached;
        *after = Some(from);
        if page.is_last {
            return Ok(());
        }
    }
}

/// Sets what is left to come of these reminders. One that cannot be read stops no other.
async fn set(node: &Node, alarms: &Alarms, ids: Vec<ReminderId>) -> Result<(), StoreError> {
    let views = match node.store.existing(ids.clone()).await {
        Err(StoreError::Broken(_)) if ids.len() > 1 => {
            for id in ids {
                Box::pin(set(node, alarms, vec![id])).await?;
            }
            return Ok(());
        }
        Err(StoreError::Broken(error)) => {
            tracing::warn!(reminder = ?ids.first(), %error, "a reminder made in SQL cannot be read, and is not set in the alarm");
            return Ok(());
        }
        views => views?,
    };
    for view in &views {
        alarms.changed(view);
    }
    Ok(())
}
