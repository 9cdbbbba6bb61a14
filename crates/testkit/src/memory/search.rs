//! Finding reminders by what became of them, and by words in their text.

use std::collections::BTreeSet;

use async_trait::async_trait;
use punctual_core::decide::resend::can_be_resent;
use punctual_core::store::Search;

use super::*;

#[async_trait]
impl Search for MemoryStore {
    async fn failed_runs(&self, query: FailedQuery) -> Done<Vec<FailedRun>> {
        let t = self.lock();
        let found = t.failed_since(query.since).filter(|run| t.can_be_resent(run, &query)).map(|run| {
            let cut_off = run.attempts.values().filter(|attempt| attempt.status == AttemptStatus::Unknown);
            let cut_off_on: BTreeSet<String> = cut_off.map(|attempt| attempt.channel.clone()).collect();
            let id = run.occurrence.id;
            let on_unknown = t.reminders[&id.reminder].0.on_unknown;
            FailedRun { id, on_unknown, cut_off_on: cut_off_on.into_iter().collect() }
        });
        Ok(found.take(query.limit).collect())
    }

    async fn looks_to(&self, _query: ReminderQuery) -> Done<Option<ReminderId>> {
        Ok(None)
    }

    async fn prepare_search(&self) -> Done<()> {
        Ok(())
    }

    async fn filled(&self) -> Done<Filled> {
        Ok(self.lock().filled)
    }

    async fn ids_after(&self, after: Option<ReminderId>, limit: usize) -> Done<Vec<ReminderId>> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self.lock().reminders.range((after, Bound::Unbounded)).take(limit).map(|(id, _)| *id).collect())
    }

    async fn index(&self, index: Index) -> Done<()> {
        let t = &mut *self.lock();
        if index.kept.is_some_and(|kept| !t.keep_duty(kept)) {
            return Err(StoreError::LeaseLost);
        }
        for text in index.texts.into_iter().filter(|text| t.reminders.contains_key(&text.reminder)) {
            let known = t.texts.iter().find(|(_, known)| known.reminder == text.reminder).map(|(place, _)| *place);
            let place = known.unwrap_or_else(|| t.texts.last_key_value().map_or(1, |(last, _)| last + 1));
            t.texts.insert(place, text);
        }
        t.filled = index.filled.unwrap_or(t.filled);
        Ok(())
    }

    async fn find(&self, query: FindQuery) -> Done<Hits> {
        let t = self.lock();
        let is_wanted = |text: &IndexText| {
            text.text.contains(query.words.as_str()) && query.user.as_ref().is_none_or(|user| *user == text.user)
        };
        let before = t.texts.range(..query.before.unwrap_or(i64::MAX)).rev();
        // What is removed leaves the index by itself.
        let there = before.filter(|(_, text)| t.reminders.contains_key(&text.reminder) && is_wanted(text));
        let list: Vec<(i64, ReminderId)> =
            there.map(|(place, text)| (*place, text.reminder)).take(query.limit).collect();
        let more_before = list.last().filter(|_| list.len() == query.limit).map(|(place, _)| *place);
        Ok(Hits { list, more_before })
    }
}

impl Tables {
    fn can_be_resent(&self, run: &Run, query: &FailedQuery) -> bool {
        let (reminder, _) = &self.reminders[&run.occurrence.id.reminder];
        let is_tried_on = |channel: &String| run.attempts.values().any(|attempt| attempt.channel == *channel);
        can_be_resent(reminder)
            && query.after.is_none_or(|after| run.occurrence.id > after)
            && query.user.as_ref().is_none_or(|user| reminder.user == *user)
            && query.tag.as_ref().is_none_or(|tag| reminder.tags.contains(tag))
            && query.channel.as_ref().is_none_or(is_tried_on)
    }
}
