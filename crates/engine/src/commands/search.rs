//! Finding reminders by words in their text.

use std::collections::{BTreeMap, BTreeSet};

use punctual_core::id::ReminderId;
use punctual_core::rules::search::Words;
use punctual_core::store::{Filled, FindQuery, HowMany, JournalQuery, ReminderQuery, ReminderView, Start, StoreError};

use crate::Engine;
use crate::search::{DUTY, KINDS, existing, retold};

/// The most entries after the end of the index that are looked at.
const TAIL_MAX: usize = 5000;
/// How often the index is asked for one page, where what it has is not what else is asked for.
const LOOKS_MAX: usize = 20;
/// How many reminders it is asked for at a time, at least.
const STEP_MIN: usize = 50;

/// How many reminders that the index has are looked at to count them, and how many of them at a time.
const COUNTED_MAX: usize = 1000;
const COUNT_STEP: usize = 250;

/// Reminders that were found.
#[derive(Debug, Clone, Default)]
pub struct FoundPage {
    /// The reminders: those that came last first.
    pub views: Vec<ReminderView>,
    /// The place of the index at which the next page begins, if there may be one.
    pub next: Option<i64>,
    /// How many entries of the journal are not looked at yet; more where the index is still being filled.
    pub indexing: Option<u64>,
}

impl Engine {
    /// Reminders that have these words and that `query` asks for, but for [`ReminderQuery::channel`] and [`ReminderQuery::before`]; from the place
    /// `before` of the index on.
    pub async fn search(
        &self,
        words: &Words,
        query: &ReminderQuery,
        before: Option<i64>,
    ) -> Result<FoundPage, StoreError> {
        let mut page = FoundPage::default();
        let mut seen = BTreeSet::new();
        if before.is_none() {
            self.search_tail(words, query, &mut page, &mut seen).await?;
        }
        self.search_index(words, query, before, &mut page, &mut seen).await?;
        Ok(page)
    }

    /// How many reminders have these words and are what `query` asks for, but for [`ReminderQuery::channel`] and [`ReminderQuery::before`]. It looks
    /// at no more than 1,000 that the index has.
    pub async fn how_many(&self, words: &Words, query: &ReminderQuery) -> Result<HowMany, StoreError> {
        let mut newest = FoundPage::default();
        let mut seen = BTreeSet::new();
        let query = ReminderQuery { limit: COUNTED_MAX, ..query.clone() };
        self.search_tail(words, &query, &mut newest, &mut seen).await?;
        let (mut n, mut before) = (newest.views.len(), None);
        // A few at a time: what is counted need not be held.
        for _ in 0..COUNTED_MAX / COUNT_STEP {
            let find = FindQuery { words: words.clone(), user: query.user.clone(), before, limit: COUNT_STEP };
            let hits = self.store().find(find).await?;
            let ids = hits.list.iter().map(|(_, id)| *id).filter(|id| seen.insert(*id)).collect();
            let views = existing(self.store(), ids).await?;
            n += views.iter().filter(|view| words.are_in(&view.reminder) && query.takes(view, None)).count();
            before = hits.more_before;
            if before.is_none() {
                break;
            }
        }
        Ok(HowMany { n, is_all: before.is_none() && newest.indexing.is_none() })
    }

    /// Looks at the reminders that the index has not come to yet.
    async fn search_tail(
        &self,
        words: &Words,
        query: &ReminderQuery,
        page: &mut FoundPage,
        seen: &mut BTreeSet<ReminderId>,
    ) -> Result<(), StoreError> {
        let store = self.store();
        store.place().await?;
        let known = store.duties().await?.into_iter().find(|duty| duty.name == DUTY);
        let is_whole = store.filled().await? == Filled::Whole;
        // Until the index has been filled, the newest entries are looked at: those before its beginning may be missing in it.
        let start = known.filter(|_| is_whole).map_or(Start::NEWEST, |duty| Start::After(duty.position));
        let tail = store.journal(JournalQuery { kinds: KINDS.to_vec(), ..JournalQuery::new(start, TAIL_MAX) }).await?;
        let left = match start {
            Start::After(_) => (tail.head - tail.reached).max(0).unsigned_abs(),
            Start::Before(_) => tail.reached.unsigned_abs(),
        };
        page.indexing = (!is_whole || !tail.is_last).then_some(left.max(1));
        let ids: BTreeSet<ReminderId> = tail.entries.iter().filter_map(retold).collect();
        let mut views = existing(store, ids.into_iter().collect()).await?;
        views.retain(|view| words.are_in(&view.reminder) && query.takes(view, None));
        views.sort_unstable_by_key(|view| std::cmp::Reverse(view.reminder.id));
        if views.len() > query.limit {
            // Those that do not fit are found when the index has them.
            page.indexing = page.indexing.or(Some((views.len() - query.limit) as u64));
            views.truncate(query.limit);
        }
        seen.extend(views.iter().map(|view| view.reminder.id));
        page.views = views;
        Ok(())
    }

    async fn search_index(
        &self,
        words: &Words,
        query: &ReminderQuery,
        mut before: Option<i64>,
        page: &mut FoundPage,
        seen: &mut BTreeSet<ReminderId>,
    ) -> Result<(), StoreError> {
        for _ in 0..LOOKS_MAX {
            let limit = (query.limit - page.views.len() + 1).max(STEP_MIN);
            let find = FindQuery { words: words.clone(), user: query.user.clone(), before, limit };
            let hits = self.store().find(find).await?;
            let ids = hits.list.iter().map(|(_, id)| *id).filter(|id| !seen.contains(id)).collect();
            let views = existing(self.store(), ids).await?;
            let mut views: BTreeMap<ReminderId, ReminderView> =
                views.into_iter().map(|view| (view.reminder.id, view)).collect();
            for (place, id) in hits.list {
                let Some(view) = views.remove(&id) else { continue };
                // It may have another text since.
                if !words.are_in(&view.reminder) || !query.takes(&view, None) {
                    continue;
                }
                if page.views.len() == query.limit {
                    page.next = Some(place + 1);
                    return Ok(());
                }
                page.views.push(view);
                seen.insert(id);
            }
            let Some(more_before) = hits.more_before else { return Ok(()) };
            before = Some(more_before);
        }
        page.next = before;
        Ok(())
    }
}
