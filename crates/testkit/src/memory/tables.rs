//! The tables, and how a [`Writes`] is written into them.

use punctual_core::model::lateness::Stretch;

use super::*;

/// Everything that is kept.
#[derive(Default)]
pub(super) struct Tables {
    /// The time that the connection which has locked the tables sees,
    pub(super) now: Timestamp,
    /// and which that is.
    pub(super) connection: usize,
    pub(super) n_queries: u64,
    /// Of each connection's node: the nodes that it shares with, and its shards. It is told of what others plan in them.
    pub(super) shares: Vec<(Vec<String>, Shards)>,
    pub(super) reminders: BTreeMap<ReminderId, (Reminder, Progress)>,
    pub(super) runs: BTreeMap<OccurrenceId, Run>,
    /// When runs must be looked at, in order.
    pub(super) moments: BTreeSet<(Timestamp, OccurrenceId)>,
    /// What happened, by position: when it was placed, and the entry.
    pub(super) journal: BTreeMap<i64, (Timestamp, Placed)>,
    /// The last position that nodes were told of.
    pub(super) announced: i64,
    pub(super) duties: BTreeMap<String, journal::TakenDuty>,
    /// The name of each connection's node, as of its last beat.
    pub(super) names: BTreeMap<usize, String>,
    pub(super) users: BTreeMap<String, User>,
    pub(super) groups: BTreeMap<String, Group>,
    pub(super) silences: BTreeMap<SilenceId, Silence>,
    /// Events, each with how far planning it has come, and when something was first asked for that has not been planned.
    pub(super) events: BTreeMap<String, event::Kept>,
    /// The slots of events that have reminders.
    pub(super) slots: BTreeMap<Slot, (Timestamp, ReminderId)>,
    pub(super) scopes: BTreeMap<Path, Scope>,
    pub(super) keys: Vec<ApiKey>,
    pub(super) answered: BTreeMap<String, (Timestamp, Answered)>,
    /// Events that were taken, and until when each is remembered.
    pub(super) seen: BTreeMap<(String, [u8; 16]), Timestamp>,
    /// The connections to platforms.
    pub(super) inbound: BTreeMap<String, HeldConnection>,
    pub(super) dead: BTreeMap<Address, DeadAddress>,
    pub(super) sessions_ended: BTreeMap<String, Timestamp>,
    /// The nodes that have beaten.
    pub(super) nodes: BTreeMap<String, nodes::Seen>,
    /// How late sends were.
    pub(super) lateness: BTreeMap<(Timestamp, String, Timestamp), Stretch>,
    pub(super) turns: BTreeMap<String, Vec<Timestamp>>,
    /// When each throttle was told, and until when it lasts.
    pub(super) throttles: Vec<(Timestamp, Timestamp, Throttle)>,
    /// How often the address of each user's calendar was changed.
    pub(super) calendar_keys: BTreeMap<String, u64>,
    /// Foreign calendars, and which node has which until when.
    pub(super) feeds: BTreeMap<FeedKey, (Feed, Option<(String, Timestamp)>)>,
    pub(super) recalls: BTreeMap<ReminderId, Timestamp>,
    pub(super) ears: Vec<UnboundedSender<Heard>>,
    /// The texts of the index, by place, and how far it is filled.
    pub(super) texts: BTreeMap<i64, IndexText>,
    pub(super) filled: Filled,
    pub(super) watch: watch::WatchTables,
}

/// A run, with all that is kept beside it.
pub(super) struct Run {
    pub(super) occurrence: Occurrence,
    /// The number of its last lease.
    pub(super) lease: u64,
    pub(super) shard: u8,
    pub(super) attempts: BTreeMap<u32, Attempt>,
    pub(super) responses: Vec<Response>,
}

impl Run {
    pub(super) fn moment(&self) -> Option<(Timestamp, OccurrenceId)> {
        self.occurrence.wake_at().map(|at| (at, self.occurrence.id))
    }

    /// Whether lease `number` still holds.
    pub(super) fn has_lease(&self, number: u64) -> bool {
        self.occurrence.state.lease().is_some_and(|lease| lease.number == number)
    }

    pub(super) fn trail(&self) -> Trail {
        Trail::new(self.occurrence.clone(), self.attempts.values().cloned().collect(), self.responses.clone())
    }
}

impl Tables {
    /// The runs of one reminder, by number.
    pub(super) fn runs_of(&self, id: ReminderId) -> impl DoubleEndedIterator<Item = &Run> {
        let run = |run| OccurrenceId { reminder: id, run };
        self.runs.range(run(0)..=run(u32::MAX)).map(|(_, run)| run)
    }

    fn plan(&mut self, Planned { mut occurrence, shard, .. }: Planned) {
        let kept = |at| Timestamp::from_microsecond(kept_micros(at)).unwrap_or(at);
        (occurrence.due_at, occurrence.made_for) = (kept(occurrence.due_at), kept(occurrence.made_for));
        let (attempts, responses) = (BTreeMap::new(), Vec::new());
        let run = Run { occurrence, lease: 0, shard, attempts, responses };
        self.moments.extend(run.moment());
        self.runs.insert(run.occurrence.id, run);
    }

    /// Changes a run that is there.
    pub(super) fn change_run(&mut self, id: OccurrenceId, change: impl FnOnce(&mut Run)) {
        if let Some(run) = self.runs.get_mut(&id) {
            if let Some(moment) = run.moment() {
                self.moments.remove(&moment);
            }
            change(run);
            self.moments.extend(run.moment());
        }
    }

    /// Writes all of it or nothing, and tells the nodes of what others planned in their shards; returns the runs of the alerts.
    ///
    /// Nothing here is unreadable, and every reminder's open runs are counted, so some of a [`Writes`] is always empty. A run's
    /// priority is its reminder's.
    pub(super) fn write(&mut self, writes: Writes) -> Done<Vec<NextRun>> {
        if writes.answered.iter().any(|(key, _)| self.answered.contains_key(key)) {
            return Err(StoreError::KeyUsed);
        }
        if writes.created.iter().any(|new| self.reminders.contains_key(&new.reminder.id)) {
            return Err(StoreError::Broken("a reminder of this id is there already".into()));
        }
        if writes.seen.iter().any(|seen| self.seen.contains_key(&(seen.channel.clone(), seen.id))) {
            return Err(StoreError::Seen);
        }
        if let Some(PlaceMove { channel, lease, text }) = writes.place {
            let held =
                self.inbound.get_mut(&channel).filter(|held| held.lease == lease).ok_or(StoreError::LeaseLost)?;
            held.place = Some(receive::Place { text, at: writes.now });
        }
        self.seen.extend(writes.seen.into_iter().map(|seen| ((seen.channel, seen.id), seen.until)));
        self.answered.extend(writes.answered.into_iter().map(|(key, kept)| (key, (writes.now, kept))));
        for new in writes.created {
            self.plan(new.first());
            let series = Series::begun(new.reminder.schedule.is_recurring());
            let progress = Progress { series, tally: Tally::default() };
            self.reminders.insert(new.reminder.id, (new.reminder, progress));
        }
        for reminder in writes.reminders {
            self.reminders.entry(reminder.id).and_modify(|(kept, _)| *kept = reminder);
        }
        for Moved { reminder, status, changed_at, progress } in writes.moved {
            self.reminders.entry(reminder).and_modify(|(reminder, kept)| {
                (reminder.status, *kept) = (status, progress);
                reminder.updated_at = changed_at.unwrap_or(reminder.updated_at);
            });
        }
        for occurrence in writes.occurrences {
            self.change_run(occurrence.id, |run| {
                // Without a lease the number of the last one stays, so that a node that still believes in it is refused.
                run.lease = occurrence.state.lease().map_or(run.lease, |lease| lease.number);
                run.occurrence = occurrence;
            });
        }
        writes.planned.into_iter().for_each(|planned| self.plan(planned));
        for EndedAttempt { occurrence, attempt } in writes.attempts {
            self.change_run(occurrence, |run| drop(run.attempts.insert(attempt.number, attempt)));
        }
        for EndedAttempt { occurrence, attempt } in writes.reported {
            self.change_run(occurrence, |run| drop(run.attempts.insert(attempt.number, attempt)));
        }
        for response in writes.responses {
            self.change_run(response.occurrence, |run| run.responses.push(response));
        }
        for dead in writes.dead {
            self.dead.entry(dead.address.clone()).or_insert(dead);
        }
        self.write_events(writes.event);
        writes.entries.iter().for_each(|entry| self.enter(entry));
        let (_, own) = &self.shares[self.connection];
        let foreign: Vec<_> = writes.moments.into_iter().filter(|(shard, _)| !own.contains(*shard)).collect();
        if !foreign.is_empty() {
            self.say(&Heard::Wake(foreign));
        }
        writes.recalls.into_iter().for_each(|reminder| self.recall(reminder));
        if writes.news.is_empty() {
            return Ok(Vec::new());
        }
        let news = |(id, news): (OccurrenceId, _)| {
            let Trail { occurrence, attempts, .. } = self.runs.get(&id)?.trail();
            let reminder = self.reminders.get(&id.reminder)?.0.clone();
            let escalate = self.users.get(&reminder.user).map(|user| user.escalate.clone()).unwrap_or_default();
            let about = self.reminders.values().map(|(other, _)| other).filter(|other| other.escalates == Some(id));
            let waiting = about.filter(|other| other.status == ReminderStatus::Active).map(|other| other.user.clone());
            let waiting = waiting.collect();
            Some(Newsworthy { news, reminder, occurrence, attempts, escalate, waiting })
        };
        let runs: Vec<Newsworthy> = writes.news.into_iter().filter_map(news).collect();
        let admins: Vec<User> = self.users.values().filter(|user| user.admin).cloned().collect();
        let groups = groups_of(&runs).iter().filter_map(|name| self.groups.get(name).cloned()).collect::<Vec<_>>();
        let users = people_of(&runs, &groups).iter().filter_map(|id| self.users.get(id).cloned()).collect();
        let alerts = alerts_about(&runs, &[], &People { admins, groups, users }, writes.now);
        let there = alerts.looked_for().into_iter().filter(|id| self.reminders.contains_key(id));
        let (writes, planned) = told(alerts, &there.collect::<Vec<_>>(), writes.now);
        self.write(writes)?;
        Ok(planned)
    }

    /// Tells every node that listens.
    pub(super) fn say(&mut self, news: &Heard) {
        self.ears.retain(|ears| ears.send(news.clone()).is_ok());
    }
}
