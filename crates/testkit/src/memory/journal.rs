//! The journal, and the work whose place in it is kept. Nobody else can write meanwhile, so an entry has its position at once; readers see
//! it when it is placed.

use super::*;

/// A duty, and who has it until when.
pub(super) struct TakenDuty {
    duty: Duty,
    node: String,
    until: Option<Timestamp>,
}

impl Tables {
    pub(super) fn head(&self) -> i64 {
        self.journal.last_key_value().map_or(0, |(position, _)| *position)
    }

    pub(super) fn place(&mut self) -> i64 {
        if self.head() > self.announced {
            self.announced = self.head();
            self.say(&Heard::Placed);
        }
        self.announced
    }

    pub(super) fn enter(&mut self, entry: &Entry) {
        let position = self.head() + 1;
        let kept = |at| Timestamp::from_microsecond(kept_micros(at)).unwrap_or(at);
        let placed = Placed {
            position,
            at: kept(entry.at),
            kind: entry.kind.to_string(),
            actor: entry.who.name().to_owned(),
            via: entry.who.via.as_deref().map(str::to_owned),
            node: self.names.get(&self.connection).cloned(),
            user: entry.user.clone(),
            reminder: entry.reminder,
            run: entry.run,
            data: entry.data_json(),
        };
        self.journal.insert(position, (self.now, placed));
    }

    pub(super) fn read_journal(&self, query: &JournalQuery) -> JournalPage {
        let head = self.announced;
        let first = self.journal.first_key_value().map_or(head + 1, |(position, _)| *position);
        let all = self.journal.range(..=head).map(|(_, (_, entry))| entry);
        let has_tag = |entry: &Placed, tag: &String| entry.reminder.is_some_and(|id| self.has_tag(id, tag));
        let takes = |entry: &Placed| query.takes(entry) && query.tag.as_ref().is_none_or(|tag| has_tag(entry, tag));
        let (entries, ends): (Vec<Placed>, _) = match query.start {
            Start::After(after) => {
                let after = all.filter(|entry| entry.position > after && takes(entry));
                (after.take(query.limit).cloned().collect(), head.max(after_of(query)))
            }
            Start::Before(before) => {
                let before = all.rev().filter(|entry| entry.position < before && takes(entry));
                (before.take(query.limit).cloned().collect(), first.min(after_of(query)))
            }
        };
        let full_at = entries.last().filter(|_| entries.len() >= query.limit).map(|last| last.position);
        let reached = full_at.unwrap_or(ends);
        JournalPage { is_last: reached == ends, entries, reached, head, first }
    }

    pub(super) fn prune_journal(&mut self, before: Timestamp, limit: usize) -> usize {
        let last = self.head();
        let old = self.journal.iter().filter(|(position, (placed_at, _))| **position < last && *placed_at < before);
        let old: Vec<i64> = old.map(|(position, _)| *position).take(limit).collect();
        old.iter().for_each(|position| drop(self.journal.remove(position)));
        old.len()
    }

    pub(super) fn take_duty(&mut self, name: &str, node: &str) -> Option<Duty> {
        let (now, position) = (self.now, self.announced);
        let new = || TakenDuty { duty: Duty { lease: 0, position, note: None }, node: node.to_owned(), until: None };
        let held = self.duties.entry(name.to_owned()).or_insert_with(new);
        if held.node != node && held.until.is_some_and(|until| until >= now) {
            return None;
        }
        held.duty.lease += 1;
        (held.node, held.until) = (node.to_owned(), Some(now + DUTY_FOR));
        Some(held.duty.clone())
    }

    pub(super) fn keep_duty(&mut self, kept: KeptDuty) -> bool {
        let until = Some(self.now + DUTY_FOR);
        let Some(held) = self.duties.get_mut(&kept.name).filter(|held| held.duty.lease == kept.lease) else {
            return false;
        };
        (held.duty.position, held.duty.note, held.until) = (kept.position, kept.note, until);
        true
    }

    pub(super) fn leave_duty(&mut self, name: &str, lease: u64) {
        if let Some(held) = self.duties.get_mut(name).filter(|held| held.duty.lease == lease) {
            held.until = None;
        }
    }

    pub(super) fn duties(&self) -> Vec<KnownDuty> {
        let known = |(name, held): (&String, &TakenDuty)| {
            let Duty { position, note, .. } = held.duty.clone();
            let is_held = held.until.is_some_and(|until| until > self.now);
            KnownDuty { name: name.clone(), node: is_held.then(|| held.node.clone()), position, note }
        };
        self.duties.iter().map(known).collect()
    }

    pub(super) fn has_tag(&self, id: ReminderId, tag: &str) -> bool {
        self.reminders.get(&id).is_some_and(|(reminder, _)| reminder.tags.iter().any(|kept| kept == tag))
    }
}

fn after_of(query: &JournalQuery) -> i64 {
    match query.start {
        Start::After(position) | Start::Before(position) => position,
    }
}
