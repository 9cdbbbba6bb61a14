//! Everything there is, out and in; and one person, out for ever.

use std::collections::HashSet;

use punctual_core::decide::adopt::{There, Wanted, adopted};
use punctual_core::rules::redact;
use punctual_core::watch::LedgerRow;
use punctual_core::whole::{
    Adopted, Adoption, Content, KeptReminder, KeptRun, Line, Overdue, PAGE_RUNS_MAX, Whole, WholeRun,
};
use punctual_core::writes::Link;

use super::*;

#[async_trait]
impl Wholes for MemoryStore {
    async fn wholes(&self, query: WholeQuery) -> Done<Wholly> {
        Ok(self.lock().wholes(&query))
    }

    async fn runs_below(&self, id: ReminderId, below: u32, limit: usize) -> Done<Vec<WholeRun>> {
        let tables = self.lock();
        let ended = tables.runs_of(id).rev().filter(|run| run.occurrence.id.run < below && !run.is_open());
        let mut runs: Vec<WholeRun> = ended.take(limit).map(Run::whole).collect();
        runs.reverse();
        Ok(runs)
    }

    async fn has_entries(&self, entries: Vec<Placed>) -> Done<Vec<bool>> {
        let there = self.lock().contents();
        Ok(entries.iter().map(|entry| there.contains(&Content::of(entry))).collect())
    }

    async fn adopt(&self, lines: Vec<Line>, overdue: Overdue, now: Timestamp) -> Done<Adopted> {
        let tables = &mut *self.lock();
        let there = tables.there(&Wanted::of(&lines));
        let (adopted, adoption) = adopted(lines, there, overdue, now);
        tables.keep(adoption)?;
        Ok(adopted)
    }

    async fn links(&self, event: &str) -> Done<Vec<Link>> {
        let tables = self.lock();
        let slots = tables.slots.iter().filter(|(slot, _)| slot.event == event);
        let mut links: Vec<Link> = slots
            .map(|(slot, (due_at, reminder))| Link { slot: slot.clone(), due_at: *due_at, reminder: *reminder })
            .collect();
        let name = |link: &Link| (link.slot.instance.clone(), link.slot.offset.word(), link.slot.user.clone());
        links.sort_by_key(name);
        Ok(links)
    }

    async fn ledgers(&self, after: Option<(String, String)>, limit: usize) -> Done<Vec<(String, LedgerRow)>> {
        let tables = self.lock();
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = tables.watch.ledger.range((after, Bound::Unbounded)).take(limit);
        Ok(rows.map(|((watch, _), row)| (watch.clone(), row.clone())).collect())
    }

    async fn remove_reminders(&self, user: &str) -> Done<Removed> {
        let tables = &mut *self.lock();
        let theirs = tables.reminders.values().filter(|(reminder, _)| reminder.user == user);
        let theirs: Vec<ReminderId> = theirs.map(|(reminder, _)| reminder.id).collect();
        let is_open = |id: &ReminderId| tables.runs_of(*id).any(Run::is_open);
        let (open, gone): (Vec<ReminderId>, Vec<ReminderId>) = theirs.into_iter().partition(is_open);
        for id in &gone {
            tables.reminders.remove(id);
            tables.runs.retain(|run, _| run.reminder != *id);
        }
        Ok(Removed { n_reminders: gone.len(), open, has_more: false })
    }

    async fn redact(&self, user: &str, record: Record, _after: &str) -> Done<Redacted> {
        let tables = &mut *self.lock();
        let n = match record {
            Record::Reminders => {
                let others = tables.reminders.values_mut().map(|(reminder, _)| reminder);
                others.filter_map(|reminder| redact::reminder(reminder, user).then_some(())).count()
            }
            Record::Responses => {
                let all = tables.runs.values_mut().flat_map(|run| &mut run.responses);
                all.filter_map(|response| redact::response(response, user).then_some(())).count()
            }
            Record::Silences => {
                let mut n = 0;
                for silence in tables.silences.values_mut().filter(|silence| silence.created_by == user) {
                    silence.created_by = redact::ERASED.to_owned();
                    n += 1;
                }
                n
            }
            Record::Answered => {
                let before = tables.answered.len();
                let body = |kept: &Answered| kept.answer.as_ref().is_some_and(|answer| answer.body.contains(user));
                tables.answered.retain(|_, (_, kept)| !body(kept));
                before - tables.answered.len()
            }
            Record::Small => {
                let before = tables.watch.intents.len() + tables.slots.len();
                tables.watch.intents.retain(|_, intent| intent.draft.user != user);
                tables.slots.retain(|slot, _| slot.user != user);
                let rotas = tables.feeds.values_mut().filter_map(|(feed, _)| redact::feed(feed, user).then_some(()));
                let rotas = rotas.count();
                before - tables.watch.intents.len() - tables.slots.len() + rotas
            }
            Record::BadRows => {
                tables.watch.bad.values_mut().filter_map(|bad| redact::bad_row(bad, user).then_some(())).count()
            }
            Record::Journal => {
                let all = tables.journal.values_mut().map(|(_, entry)| entry);
                all.filter_map(|entry| redact::entry(entry, user).then_some(())).count()
            }
        };
        Ok(Redacted { n, next: None })
    }
}

impl Run {
    fn is_open(&self) -> bool {
        !self.occurrence.state.is_final()
    }

    fn whole(&self) -> WholeRun {
        WholeRun {
            occurrence: self.occurrence.clone(),
            lease: self.lease,
            attempts: self.attempts.values().cloned().collect(),
            responses: self.responses.clone(),
        }
    }
}

impl Tables {
    fn wholes(&self, query: &WholeQuery) -> Wholly {
        let ids: Vec<ReminderId> = match &query.which {
            Which::After(after, limit) => {
                let after = after.map_or(Bound::Unbounded, Bound::Excluded);
                let wanted = |(reminder, _): &&(Reminder, Progress)| {
                    query.user.as_ref().is_none_or(|user| *user == reminder.user)
                };
                let all = self.reminders.range((after, Bound::Unbounded)).map(|(_, kept)| kept);
                all.filter(wanted).take(*limit).map(|(reminder, _)| reminder.id).collect()
            }
            Which::These(ids) => ids.iter().copied().filter(|id| self.reminders.contains_key(id)).collect(),
        };
        let (mut page, mut n_runs) = (Wholly::default(), 0);
        for id in ids {
            if n_runs >= PAGE_RUNS_MAX {
                break;
            }
            let whole = self.whole(id, query.runs_max);
            n_runs += whole.runs.len();
            page.wholes.push(whole);
            page.last = Some(id);
        }
        page.wholes.sort_unstable_by_key(|whole| whole.reminder.id);
        page
    }

    fn whole(&self, id: ReminderId, runs_max: usize) -> Whole {
        let (reminder, progress) = self.reminders[&id].clone();
        let newest: Vec<&Run> = self.runs_of(id).rev().take(runs_max).collect();
        let lowest = newest.last().map_or(0, |run| run.occurrence.id.run);
        let more_below = self.runs_of(id).next().map(|run| run.occurrence.id.run).filter(|run| *run < lowest);
        let older = self.runs_of(id).filter(|run| run.occurrence.id.run < lowest && run.is_open());
        let runs = older.chain(newest.into_iter().rev()).map(Run::whole).collect();
        Whole { reminder, progress, runs, more_below: more_below.map(|_| lowest) }
    }

    fn contents(&self) -> HashSet<Content> {
        self.journal.values().map(|(_, entry)| Content::of(entry)).collect()
    }

    fn there(&self, wanted: &Wanted<'_>) -> There {
        There {
            reminders: wanted.reminders.iter().copied().filter(|id| self.reminders.contains_key(id)).collect(),
            runs: wanted.runs.iter().copied().filter(|id| self.runs.contains_key(id)).collect(),
            users: wanted.users.iter().filter(|id| self.users.contains_key(**id)).map(|id| (*id).to_owned()).collect(),
            groups: self.groups.keys().cloned().collect(),
            scopes: self.scopes.keys().map(ToString::to_string).collect(),
            events: self.events.keys().cloned().collect(),
            ledger: self.watch.ledger.keys().cloned().collect(),
            feeds: self.feeds.keys().cloned().collect(),
            silences: wanted.silences.iter().copied().filter(|id| self.silences.contains_key(id)).collect(),
            entries: self.contents(),
        }
    }

    fn keep(&mut self, adoption: Adoption) -> Done<()> {
        let Adoption { users, groups, silences, reminders, runs, ledger, feeds, history, writes } = adoption;
        self.feeds.extend(feeds.into_iter().map(|feed| (feed.key.clone(), (feed, None))));
        self.watch.ledger.extend(ledger.into_iter().map(|(watch, row)| ((watch, row.key.clone()), row)));
        self.users.extend(users.into_iter().map(|user| (user.id.clone(), user)));
        for group in groups {
            let (name, rota) = (group.name.clone(), group.rota.clone());
            self.groups.insert(name.clone(), group);
            self.follow_group(&name, rota.as_deref(), writes.now);
        }
        self.silences.extend(silences.into_iter().map(|silence| (silence.id, silence)));
        for KeptReminder { reminder, progress } in reminders {
            self.reminders.insert(reminder.id, (reminder, progress));
        }
        for KeptRun { occurrence, lease, shard, .. } in runs {
            let (attempts, responses) = (BTreeMap::new(), Vec::new());
            let run = Run { occurrence, lease, shard, attempts, responses };
            self.moments.extend(run.moment());
            self.runs.insert(run.occurrence.id, run);
        }
        for entry in history {
            let position = self.head() + 1;
            let node = self.names.get(&self.connection).cloned();
            self.journal.insert(position, (self.now, Placed { position, node, ..entry }));
        }
        self.write(writes).map(drop)
    }
}
