//! Keeps the index of texts by which reminders are found.
//!
//! The index follows the journal: nobody who makes a reminder waits for it. One node at a time keeps it, by a duty with which is kept how far it
//! has come. What it has not come to yet is found in the journal itself ([`crate::Engine::search`]).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use punctual_core::id::ReminderId;
use punctual_core::journal::{Kind, Placed};
use punctual_core::rules::search::text_of;
use punctual_core::store::{
    Duty, Filled, Index, IndexText, JournalQuery, KeptDuty, ReminderView, Start, Store, StoreError,
};

use crate::node::Node;
use crate::peers::Peers;

/// The duty's name.
pub(crate) const DUTY: &str = "search";
/// The entries after which a reminder may have another text.
pub(crate) const KINDS: [Kind; 2] = [Kind::Created, Kind::Changed];
/// How long it waits when something was written: more may follow.
const AFTER: Duration = Duration::from_secs(1);
/// The most texts that are written at once: so long the store does nothing else.
const BATCH: usize = 200;
/// It rests so many times as long as a batch took, so that it never has more than a sixth of the store.
const RESTS: u32 = 5;
/// After so many entries it is written down how far it has come, also where none of them is about a text.
const MOVED_MAX: i64 = 2000;
/// How often it is looked whether the store can search, while it cannot.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Keeps the index.
pub(crate) struct Indexer {
    pub(crate) node: Node,
    pub(crate) peers: Arc<Peers>,
}

/// The duty while this node has it.
struct OwnDuty {
    duty: Duty,
    /// Up to where the journal was read.
    position: i64,
}

impl OwnDuty {
    fn kept(&self, node: &Node) -> KeptDuty {
        let Duty { lease, note, .. } = self.duty.clone();
        KeptDuty { name: DUTY.to_owned(), lease, position: self.position, note, now: node.now() }
    }
}

impl Indexer {
    pub(crate) async fn run(self) {
        let node = &self.node;
        let mut own = None;
        while node.pause(AFTER).await {
            match self.work(&mut own).await {
                Ok(()) => {}
                // Another node keeps it.
                Err(StoreError::LeaseLost) => own = None,
                Err(StoreError::Missing(why)) => {
                    own = None;
                    tracing::warn!("{why}");
                    if !node.pause(LOOK_AGAIN_AFTER).await {
                        return;
                    }
                    continue;
                }
                Err(error) => node.health.failed(&error),
            }
            tokio::select! { biased;
                () = node.stopped() => return,
                () = node.journal.grown() => {}
            }
        }
    }

    /// Brings the index up to date, if it is this node's to keep.
    async fn work(&self, own: &mut Option<OwnDuty>) -> Result<(), StoreError> {
        let store = &self.node.store;
        if own.is_none() {
            let Some(duty) = store.take_duty(DUTY, &self.node.settings.node, self.node.now()).await? else {
                return Ok(());
            };
            let position = duty.position;
            let taken = own.insert(OwnDuty { duty, position });
            if let Err(error) = store.prepare_search().await {
                let note = matches!(error, StoreError::Missing(_)).then(|| error.to_string());
                if note != taken.duty.note {
                    taken.duty.note = note;
                    store.keep_duty(taken.kept(&self.node)).await?;
                }
                return Err(error);
            }
            taken.duty.note = None;
            self.fill(taken).await?;
        }
        if let Some(mine) = own {
            self.follow(mine).await?;
        }
        if self.peers.is_shared()
            && let Some(mine) = own.take()
        {
            store.leave_duty(DUTY, mine.duty.lease).await?;
        }
        Ok(())
    }

    /// Puts the reminders into the index that were there before it.
    async fn fill(&self, own: &OwnDuty) -> Result<(), StoreError> {
        let store = &self.node.store;
        let mut after = match store.filled().await? {
            Filled::Nothing => None,
            Filled::To(last) => Some(last),
            Filled::Whole => return Ok(()),
        };
        while !self.node.stopping() {
            let begun = self.node.clock.run_for();
            let ids = store.ids_after(after, BATCH).await?;
            after = ids.last().copied().or(after);
            let filled = ids.last().map_or(Filled::Whole, |last| Filled::To(*last));
            let texts = texts(store, ids).await?;
            store.index(Index { texts, filled: Some(filled), kept: Some(own.kept(&self.node)) }).await?;
            if filled == Filled::Whole {
                return Ok(());
            }
            self.rest(begun).await;
        }
        Ok(())
    }

    /// Follows the journal to its end.
    async fn follow(&self, own: &mut OwnDuty) -> Result<(), StoreError> {
        let store = &self.node.store;
        store.place().await?;
        while !self.node.stopping() {
            let begun = self.node.clock.run_for();
            let start = Start::After(own.position);
            let page = store.journal(JournalQuery { kinds: KINDS.to_vec(), ..JournalQuery::new(start, BATCH) }).await?;
            if page.first > own.position + 1 && page.head > own.position {
                // Entries were removed before they were read: all is looked at once more.
                own.position = page.head;
                let again =
                    Index { filled: Some(Filled::Nothing), kept: Some(own.kept(&self.node)), texts: Vec::new() };
                store.index(again).await?;
                self.fill(own).await?;
                continue;
            }
            let ids: BTreeSet<ReminderId> = page.entries.iter().filter_map(retold).collect();
            let has_moved = page.reached - own.duty.position >= MOVED_MAX;
            own.position = page.reached;
            if !ids.is_empty() || has_moved {
                let texts = texts(store, ids.into_iter().collect()).await?;
                store.index(Index { texts, filled: None, kept: Some(own.kept(&self.node)) }).await?;
                own.duty.position = own.position;
            }
            if page.is_last {
                return Ok(());
            }
            self.rest(begun).await;
        }
        Ok(())
    }

    /// Lets others use the store, after work that began then.
    async fn rest(&self, begun: Duration) {
        let took = self.node.clock.run_for().saturating_sub(begun);
        self.node.pause(took.saturating_mul(RESTS)).await;
    }
}

/// Puts reminders into the index that no entry of the journal leads to.
pub(crate) async fn index(store: &Arc<dyn Store>, ids: Vec<ReminderId>) -> Result<(), StoreError> {
    for some in ids.chunks(BATCH) {
        let texts = texts(store, some.to_vec()).await?;
        store.index(Index { texts, filled: None, kept: None }).await?;
    }
    Ok(())
}

/// The texts of those of `ids` that are there.
async fn texts(store: &Arc<dyn Store>, ids: Vec<ReminderId>) -> Result<Vec<IndexText>, StoreError> {
    let views = existing(store, ids).await?;
    let text = |ReminderView { reminder, .. }: &ReminderView| IndexText {
        reminder: reminder.id,
        user: reminder.user.clone(),
        text: text_of(reminder),
    };
    let mut texts: Vec<IndexText> = views.iter().map(text).collect();
    // The order of their ids is that in which they were made.
    texts.sort_unstable_by_key(|text| text.reminder);
    Ok(texts)
}

/// The reminder that has another text after this entry, if one has.
pub(crate) fn retold(entry: &Placed) -> Option<ReminderId> {
    entry.reminder.filter(|_| entry.kind == Kind::Created.as_str() || entry.has_changed_fields())
}

/// Those of `ids` that are there; one that cannot be read is left out.
pub(crate) async fn existing(store: &Arc<dyn Store>, ids: Vec<ReminderId>) -> Result<Vec<ReminderView>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    match store.existing(ids.clone()).await {
        Err(StoreError::Broken(_)) => {}
        found => return found,
    }
    let mut found = Vec::new();
    for id in ids {
        match store.reminder(id).await {
            Ok(view) => found.extend(view),
            Err(StoreError::Broken(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
