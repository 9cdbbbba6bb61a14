//! What a decision needs to know, loaded from the tables; the decision; and what it writes.

use super::*;

impl Tables {
    pub(super) fn claim(&mut self, claim: Claim) -> Done<Claims> {
        let now = claim.now.min(self.now);
        let lease_until = now + claim.lease_until.duration_since(claim.now);
        let claim = Claim { now, lease_until, ..claim };
        let is_within = |(at, _): &&(Timestamp, OccurrenceId)| claim.from <= *at && *at <= claim.until;
        let runs = self.moments.iter().filter(is_within).map(|(at, id)| (*at, &self.runs[id]));
        let runs = runs.filter(|(_, run)| match &claim.only {
            Some(only) => only.contains(&run.occurrence.id.reminder),
            None => claim.shards.contains(run.shard),
        });
        let (early, mut due): (Vec<_>, Vec<_>) =
            runs.partition(|(at, run)| *at > now && run.occurrence.state.kind().is_left_alone());
        // Stable: those of one priority stay in the order of their moments.
        due.sort_by_key(|(_, run)| Reverse(self.reminders[&run.occurrence.id.reminder].0.priority));
        let due = due.into_iter().take(claim.limit);
        let due = due.map(|(wake_at, run)| Due { occurrence: run.occurrence.clone(), lease: run.lease, wake_at });
        let found = Found { due: due.collect(), unreadable: Vec::new() };
        let early: BTreeSet<Timestamp> = early.into_iter().map(|(at, _)| at).collect();
        let known = found.reminders().into_iter().map(|id| (id, Ok(self.known(id)))).collect();
        let silences = Silences::new(self.silences.values().map(|silence| self.silent(silence)).collect());
        let look = look(found, known, &silences, &claim);
        let lock = |id| Locked { known: self.known(id), n_open: Some(self.open(id).count() as u32), has_person: true };
        let locked = look.to_lock().reminders.into_iter().map(|id| (id, Ok(lock(id)))).collect();
        let (mut claims, writes) = look.decide(&locked, &silences, Vec::new());
        claims.add_alerts(self.write(writes)?);
        Ok(Claims { not_before: early.into_iter().collect(), ..claims })
    }

    fn known(&self, id: ReminderId) -> Known {
        let (reminder, progress) = self.reminders[&id].clone();
        let user = self.users.get(&reminder.user);
        let person = user.map_or_else(Person::default, |user| Person {
            language: user.language.as_ref().and_then(|tag| tag.parse().ok()),
            timezone: user.timezone.clone(),
            quiet: user.quiet_hours,
            paused_until: user.paused_until,
            escalate: user.escalate.clone(),
        });
        let addresses = user.map(|user| user.addresses.clone()).unwrap_or_default();
        let of = reminder.event.as_ref().and_then(|event| self.events.get(&event.key));
        let is_unplanned = of.is_some_and(|kept| !kept.stands.planned);
        Known {
            reminder: Arc::new(reminder),
            progress,
            addresses: Ok(addresses),
            person: Arc::new(person),
            is_unplanned,
        }
    }

    pub(super) fn open(&self, id: ReminderId) -> impl Iterator<Item = &Occurrence> {
        self.runs_of(id).map(|run| &run.occurrence).filter(|run| !run.state.is_final())
    }

    pub(super) fn settle(&mut self, settlements: &[Settlement], now: Timestamp) -> Done<Settled> {
        let (mut leased, mut counted) = (HashMap::new(), HashMap::new());
        for settlement in settlements {
            let (id, lease) = (settlement.id(), settlement.lease);
            let run = self.runs.get(&id).filter(|run| run.has_lease(lease));
            let Some(sending) = run.and_then(|run| run.occurrence.state.sending()) else { continue };
            let (readdressed, message_id) = (sending.readdressed, sending.message_id.clone());
            leased.insert((id, lease), Leased { readdressed, message_id });
            let (reminder, progress) = self.reminders[&id.reminder].clone();
            let n_open = Some(self.open(reminder.id).count() as u32);
            let course = Course { status: reminder.status, progress, n_open };
            let (priority, user) = (reminder.priority, reminder.user.clone());
            let carried = Some(Arc::new(reminder));
            counted.insert(id.reminder, Counted { course, priority, user, carried });
        }
        let (mut settled, writes) = settled(settlements, &leased, &counted, now);
        settled.add_alerts(self.write(writes)?);
        Ok(settled)
    }

    pub(super) fn change(&mut self, id: ReminderId, change: &Change, by: &By) -> Result<Changed, ChangeError> {
        let mut loaded = self.loaded(id, change.run()).ok_or(ChangeError::NotFound)?;
        if by.user.as_ref().is_some_and(|user| *user != loaded.reminder.user) {
            return Err(ChangeError::NotFound);
        }
        loaded.family = self.family(&loaded, change);
        loaded.besides = self.besides(&loaded, change);
        let (occurrence, mut writes) = changed(loaded, change, by)?;
        // A key that is taken stops the rest. What is answered is known when all else is written.
        let begun = |repeat: &Repeat| (repeat.key.clone(), Answered { request: repeat.request, answer: None });
        writes.answered.extend(by.repeat.as_ref().map(begun));
        self.write(writes.clone())?;
        let view = self.view(id).ok_or(ChangeError::NotFound)?;
        let answered = by.repeat.as_ref().map(|repeat| (repeat.key.clone(), (by.now, repeat.answered(&view))));
        self.answered.extend(answered);
        Ok(Changed::of(view, occurrence, writes))
    }

    /// The other reminders about the same run that a command concerns.
    fn family(&self, named: &change::Loaded, change: &Change) -> Vec<Kin> {
        family_of(named, change).map(|family| self.kin(named.reminder.id, &family)).unwrap_or_default()
    }

    /// The family of a command about reminder `named`, without that one.
    pub(super) fn kin(&self, named: ReminderId, family: &Family) -> Vec<Kin> {
        let kin = self.reminders.values().filter(|(other, _)| other.id != named && family.has(other));
        let load = |(reminder, progress): &(Reminder, Progress)| {
            let run = OccurrenceId { reminder: reminder.id, run: family.run_of(reminder.id) };
            let last_ended = self.runs.get(&run).map(|run| run.occurrence.clone()).filter(|run| run.state.is_final());
            let open = self.open(reminder.id).cloned().collect();
            let person = (*self.known(reminder.id).person).clone();
            Kin { reminder: reminder.clone(), progress: *progress, open, last_ended, person }
        };
        kin.map(load).collect()
    }

    /// A reminder for a command, which may name a run.
    fn loaded(&self, id: ReminderId, run: Option<u32>) -> Option<change::Loaded> {
        let (reminder, progress) = self.reminders.get(&id).cloned()?;
        let is_meant = |known: &Occurrence| run.is_none_or(|meant| known.id.run == meant);
        let is_last = |run: &&Occurrence| run.state.is_final() && is_meant(run);
        let last_ended = self.runs_of(id).rev().map(|run| &run.occurrence).find(is_last).cloned();
        let open = self.open(id).cloned().collect();
        let has_kin = self.reminders.values().any(|(other, _)| other.escalates.is_some_and(|run| run.reminder == id));
        let (family, besides) = (Vec::new(), Besides::Nothing);
        Some(change::Loaded { reminder, progress, open, last_ended, has_kin, family, besides })
    }

    /// What a command needs to know beside that.
    fn besides(&self, loaded: &change::Loaded, change: &Change) -> Besides {
        let run = loaded.last_ended.as_ref().and_then(|run| self.runs.get(&run.id));
        match change.plain() {
            Change::Undo => Besides::Cancelled(self.cancelled(loaded.reminder.id)),
            Change::Resend(_) => {
                Besides::Attempts(run.map(|run| run.attempts.values().cloned().collect()).unwrap_or_default())
            }
            _ => Besides::Nothing,
        }
    }

    /// The last cancel of a reminder, with the runs that it ended.
    fn cancelled(&self, id: ReminderId) -> Option<Cancelled> {
        let kind = Kind::Cancelled.to_string();
        let is_meant = |entry: &&Placed| entry.reminder == Some(id) && entry.kind == kind;
        let entry = self.journal.values().rev().map(|(_, entry)| entry).find(is_meant)?;
        let ended = Ended::read(entry.data.as_deref())?;
        let runs = ended.runs.iter().filter_map(|run| self.runs.get(&OccurrenceId { reminder: id, run: *run }));
        let runs = runs.map(|run| run.occurrence.clone()).collect();
        let is_of_event = self.reminders.get(&id).is_some_and(|(reminder, _)| reminder.event.is_some());
        let is_unlinked = is_of_event && !self.slots.values().any(|(_, reminder)| *reminder == id);
        Some(Cancelled { at: entry.at, ended, runs, is_unlinked })
    }

    pub(super) fn report(&mut self, report: &Report, now: Timestamp) -> Done<(Reported, Vec<Timestamp>)> {
        let run = report.run;
        let Some(loaded) = self.loaded(run.reminder, Some(run.run)) else { return Ok((Reported::Nothing, Vec::new())) };
        let attempts: Vec<Attempt> =
            self.runs.get(&run).into_iter().flat_map(|run| run.attempts.values().cloned()).collect();
        let (said, writes) = reported(loaded, &attempts, report, now);
        let mut wakes: Vec<Timestamp> = writes.wakes().collect();
        wakes.extend(self.write(writes)?.into_iter().map(|run| run.at));
        Ok((said, wakes))
    }

    /// Replaces a person, or removes their entry; returns when their open runs must be looked at again.
    pub(super) fn put_user(&mut self, id: &str, now: Timestamp, user: Option<User>, who: Who) -> Done<Vec<Timestamp>> {
        let before = self.users.get(id).map_or(Before::Unknown, |before| Before::Known(Box::new(before.clone())));
        who.expects.check(|| before.version())?;
        self.users.remove(id);
        let difference = user.as_ref().map_or(Difference::REMOVED, |user| Difference::between(&before, user));
        let entry = entry(id, &before, user.as_ref(), who, now);
        self.users.extend(user.map(|user| (user.id.clone(), user)));
        self.follow(id, difference, entry, now)
    }

    /// Lets a person's open runs follow what is different about them.
    fn follow(
        &mut self,
        id: &str,
        difference: Difference,
        entry: Option<Entry>,
        now: Timestamp,
    ) -> Done<Vec<Timestamp>> {
        let theirs = self.reminders.values().map(|(reminder, _)| reminder).filter(|reminder| reminder.user == id);
        let open = theirs.flat_map(|reminder| {
            let (ack_timeout, only) = (reminder.ack.as_ref().map(|ack| ack.timeout), reminder.only);
            self.open(reminder.id).map(move |run| OpenRun { occurrence: run.clone(), ack_timeout, only })
        });
        let writes = person_changed(open.collect(), id, difference, entry, now);
        let wakes = writes.wakes().collect();
        self.write(writes)?;
        Ok(wakes)
    }

    /// Replaces a group, or removes it; returns when runs of those who have left it must be looked at again.
    pub(super) fn put_group(
        &mut self,
        name: &str,
        now: Timestamp,
        group: Option<Group>,
        who: Who,
    ) -> Done<Vec<Timestamp>> {
        who.expects.check(|| self.groups.get(name).map(Group::version))?;
        let before = self.groups.remove(name);
        let is_silent = self.silences.values().any(|one| one.group.as_deref() == Some(name) && one.until > now);
        let (users, writes) = group_changed(name, before.as_ref(), group.as_ref(), is_silent, who, now);
        self.write(writes)?;
        let rota = group.as_ref().and_then(|group| group.rota.clone());
        // Who is on duty is not written with the group.
        let shifts = before.map(|before| before.shifts).unwrap_or_default();
        self.groups.extend(group.map(|group| (name.to_owned(), Group { shifts, ..group })));
        self.follow_group(name, rota.as_deref(), now);
        self.mark(now, |event| event.groups.iter().any(|group| group == name));
        let mut wakes = Vec::new();
        for (user, difference) in users {
            wakes.extend(self.follow(&user, difference, None, now)?);
        }
        Ok(wakes)
    }

    fn silent(&self, silence: &Silence) -> Silent {
        let group = silence.group.as_ref().and_then(|name| self.groups.get(name));
        Silent { silence: silence.clone(), people: group.map(|group| group.users.clone()).unwrap_or_default() }
    }

    pub(super) fn end_silence(&mut self, id: SilenceId, who: Who, now: Timestamp) -> Done<Option<Released>> {
        let Some(silence) = self.silences.get(&id).cloned() else { return Ok(None) };
        who.expects.check(|| Some(silence.version()))?;
        self.silences.remove(&id);
        let waits = |run: &&Run| run.occurrence.state.waits_for() == Some(Why::Silenced);
        let runs = self.runs.values().filter(waits).map(|run| {
            let Reminder { user, tags, ack, .. } = &self.reminders[&run.occurrence.id.reminder].0;
            let ack_timeout = ack.as_ref().map(|ack| ack.timeout);
            SilencedRun { occurrence: run.occurrence.clone(), user: user.clone(), tags: tags.clone(), ack_timeout }
        });
        let writes = released(&self.silent(&silence), runs.collect(), Some(who), now);
        let wakes = writes.wakes().collect();
        self.write(writes)?;
        Ok(Some(Released { wakes, more_after: None }))
    }

    /// Lets the leases that are meant end at `until`; returns which they are.
    pub(super) fn end_leases(&mut self, until: Timestamp, is_meant: impl Fn(OccurrenceId, &Lease) -> bool) -> Leases {
        let mut meant = Vec::new();
        for (id, run) in &mut self.runs {
            if let State::Processing { lease, .. } = &mut run.occurrence.state
                && is_meant(*id, lease)
            {
                self.moments.remove(&(lease.until, *id));
                self.moments.insert((until, *id));
                lease.until = until;
                meant.push((*id, lease.number));
            }
        }
        meant
    }

    pub(super) fn write_message_id(&mut self, id: OccurrenceId, number: u64, attempt: u32, message_id: &str) -> bool {
        let run = self.runs.get_mut(&id).filter(|run| run.has_lease(number));
        let run = run.map(|run| &mut run.occurrence).filter(|run| run.tries.attempts == attempt);
        let Some(State::Processing { sending, .. }) = run.map(|run| &mut run.state) else { return false };
        sending.message_id = Some(message_id.to_owned());
        true
    }
}
