//! Leasing what is due: lock, read, decide, write.
//!
//! Three flights to the server and back, however many rows: the first locks occurrences, the second reads their reminders
//! as they are now that nobody can end these runs, the third writes leases and attempts and commits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm;
use punctual_core::alert::{News, Unreadable, is_alarming};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Occurrence, State, StateKind};
use punctual_core::reach::route;
use punctual_core::reminder::{Address, Priority, Reminder, ReminderStatus};
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{Claim, Claimed, Claims, Noted, StoreError};
use punctual_core::user::Person;
use punctual_core::wake::{Moment, Series, Wake, after_settle, on_wake, unreachable};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::alert::{raise, raise_unreadable};
use super::batch::{
    BEGIN_BY_KEY, BEGIN_IN_ORDER, BY_KEY, Entry, Ids, audit, cut_off, insert_occurrences, update_occurrences,
};
use super::fault::Fault;
use super::flight::{all3, all4, all5, both};
use super::pool::Connection;
use super::row::{self, clean, get, int, micros, uuid};
use super::tell::tell;

/// Nothing is claimed further ahead than this, by the database's clock: more than any node's lead.
const AHEAD_MAX: u32 = 5;

/// How soon to look again at what could not be decided because its person was being changed.
const LOOK_AGAIN_AFTER: SignedDuration = SignedDuration::from_millis(50);

/// An occurrence whose moment has come.
struct Due {
    occurrence: Occurrence,
    lease: u64,
    wake_at: Timestamp,
    noted: Option<Noted>,
}

/// A reminder with all that decides what happens to its runs.
struct Known {
    reminder: Arc<Reminder>,
    series: Series,
    users: Result<Vec<Address>, StoreError>,
    person: Arc<Person>,
}

/// What was found, and what cannot be read.
type Read<T> = (T, Vec<(OccurrenceId, StoreError)>);

/// `unsure` is set to what was claimed when nothing but the answer to the last flight is missing: if that answer is lost,
/// it may have been written.
pub(super) async fn claim(
    db: &Connection<'_>,
    own: Shards,
    claim: &Claim,
    unsure: &mut Option<Claims>,
) -> Result<Claims, Fault> {
    *unsure = None;
    let mut claims = Claims::default();
    let begin = if claim.only.is_some() { BEGIN_BY_KEY } else { BEGIN_IN_ORDER };
    let ((), clock, (mut found, mut unreadable)) =
        all3(db.begin(begin), db.rows("select statement_timestamp()", &[]), due(db, claim, "")).await?;
    let claim = &judged(claim, row::instant(clock.first().ok_or_else(|| row::impossible("no clock"))?, 0)?);
    if claim.only.is_some() {
        // Whoever asks for certain reminders waits for no other moments.
        found.retain(|due| !due.is_too_early(claim.now));
    }
    if found.iter().any(|due| due.is_too_early(claim.now)) {
        claims.not_before = not_before(db, claim).await?;
        if found.len() + unreadable.len() >= claim.limit {
            // What must be left alone would hide what is to be taken.
            let also =
                "and $4::bytea is not null and (o.wake_at <= $5 or o.state not in ('processing', 'awaiting_ack'))";
            (found, unreadable) = due(db, claim, also).await?;
        }
        found.retain(|due| !due.is_too_early(claim.now));
    }
    if found.is_empty() && unreadable.is_empty() {
        db.rollback().await?;
        return Ok(claims);
    }
    let ids: HashSet<ReminderId> = found.iter().map(|due| due.occurrence.id.reminder).collect();
    let ((), mut known) = both(db.batch(BY_KEY), reminders(db, ids, "")).await?;
    note(db, &mut found).await?;
    let ends = |due: &Due, known: &HashMap<ReminderId, Result<Known, StoreError>>| {
        let known = known.get(&due.occurrence.id.reminder)?.as_ref().ok()?;
        let wake = wake(due, known, claim);
        (!matches!(wake, Wake::Send { .. } | Wake::Follow { .. })).then_some(due.occurrence.id.reminder)
    };
    let ending: HashSet<ReminderId> = found.iter().filter_map(|due| ends(due, &known)).collect();
    if !ending.is_empty() {
        // What ends or waits moves its series on, so its reminder is read again, and nobody else may move it meanwhile.
        known.extend(reminders(db, ending, "order by r.id for update of r").await?);
    }

    let busy = hold_people(db, &found, &mut known, claim).await?;

    let mut ended = Ended::default();
    let (mut taken_over, mut alarming) = (Vec::new(), Vec::new());
    for due in found {
        let id = due.occurrence.id;
        if busy.contains(&id.reminder) {
            // Its person is just being changed, which is over in a moment.
            claims.wakes.push(claim.now.checked_add(LOOK_AGAIN_AFTER).unwrap_or(claim.now));
            continue;
        }
        let known = match known.get(&id.reminder) {
            Some(Ok(known)) => known,
            Some(Err(error)) => {
                unreadable.push((id, error.clone()));
                continue;
            }
            None => {
                unreadable.push((id, row::impossible("its reminder is gone")));
                continue;
            }
        };
        claims.n_taken += 1;
        let wake = wake(&due, known, claim);
        let followed = matches!(wake, Wake::Follow { .. });
        match wake {
            Wake::Send { position } | Wake::Follow { position } => {
                if matches!(due.occurrence.state, State::Processing { .. }) && !followed {
                    taken_over.push(id);
                }
                let due_at = due.occurrence.due_at;
                let route = known.route(claim);
                claims.to_send.push(Claimed {
                    before: due.occurrence,
                    lease: due.lease + 1,
                    lease_until: claim.lease_until,
                    // What a dead process had claimed ahead of time is looked at now, and still not sent before it is due.
                    wake_at: due.wake_at.max(due_at),
                    reminder: known.reminder.clone(),
                    person: known.person.clone(),
                    holds_unknown: claim.holds_at(&route, position),
                    route,
                    position,
                    noted: due.noted.filter(|_| followed).map(|noted| noted.message_id),
                });
            }
            wake @ Wake::End { .. } => {
                if let Wake::End { state, .. } = &wake
                    && is_alarming(&known.reminder, state.kind())
                {
                    alarming.push((id, News::Ended));
                }
                ended.add(due.occurrence, known, wake, claim.now, &mut claims);
            }
            wake @ Wake::Wait { .. } => ended.put_off(due.occurrence, known, wake, claim.now, &mut claims),
        }
    }
    let left = set_aside(db, &unreadable, &mut ended, claim.now, &mut claims).await?;
    ended.write(db, claim.now).await?;
    let mut alerts = raise(db, &alarming, claim.now).await?;
    alerts.extend(raise_unreadable(db, &left, claim.now).await?);
    let mut moments: Vec<(u8, Timestamp)> = ended.moments().collect();
    moments.extend(alerts.iter().map(|entry| (shard_of(&entry.user), entry.at)));
    claims.wakes.extend(alerts.iter().map(|entry| entry.at));
    claims.next_runs.extend(alerts);
    let taken_over: Ids = taken_over.into_iter().collect();
    *unsure = Some(claims.clone());
    all5(
        cut_off(db, &taken_over, claim.now),
        lease(db, claim, &claims.to_send),
        insert_attempts(db, &claims.to_send, claim.now),
        tell(db, own, moments, claim.now),
        db.commit(),
    )
    .await?;
    Ok(claims)
}

/// The claim as the database's clock allows it.
///
/// Leases are judged by the database. A node whose clock was set an hour ahead believes that everybody's leases have
/// run out and everything is due; it is corrected within a second, and until then it may not act on it.
fn judged(claim: &Claim, clock: Timestamp) -> Claim {
    let lease_for = claim.lease_until.duration_since(claim.now);
    let now = claim.now.min(clock);
    Claim { now, lease_until: now.checked_add(lease_for).unwrap_or(claim.lease_until), ..claim.clone() }
}

/// Prolongs the leases of a claim whose answer was lost; returns those that were written and that nobody has taken over since.
pub(super) async fn hold_on(
    db: &Connection<'_>,
    claim: &Claim,
    claims: &Claims,
) -> Result<HashSet<OccurrenceId>, Fault> {
    let mut sorted: Vec<&Claimed> = claims.to_send.iter().collect();
    sorted.sort_unstable_by_key(|claimed| claimed.before.id);
    let ids: Ids = sorted.iter().map(|claimed| claimed.before.id).collect();
    let leases: Vec<i64> = sorted.iter().map(|claimed| claimed.lease as i64).collect();
    let until = micros(claim.lease_until);
    let params: [super::pool::Param<'_>; 5] = [
        (&ids.reminders, Type::UUID_ARRAY),
        (&ids.runs, Type::INT4_ARRAY),
        (&leases, Type::INT8_ARRAY),
        (&claim.node, Type::TEXT),
        (&until, Type::TIMESTAMPTZ),
    ];
    // Named by the node as well: another may have taken the same number, if this claim was never written.
    let held = db.rows(
        "update punctual.occurrence o set wake_at = least($5, statement_timestamp() + interval '1 minute') \
         from unnest($1, $2, $3) as v (reminder_id, run, lease) where o.reminder_id = v.reminder_id and o.run = v.run \
         and o.lease = v.lease and o.node = $4 and o.state = 'processing' returning o.reminder_id, o.run",
        &params,
    );
    let ((), held, ()) = all3(db.begin(BEGIN_BY_KEY), held, db.commit()).await?;
    Ok(held.iter().map(|row| row::occurrence_id(row, 0)).collect::<Result<_, _>>()?)
}

impl Due {
    /// Only what is to be sent at an instant is taken ahead of it.
    fn is_too_early(&self, now: Timestamp) -> bool {
        self.wake_at > now && matches!(self.occurrence.state, State::Processing { .. } | State::AwaitingAck { .. })
    }
}

impl Known {
    fn route(&self, claim: &Claim) -> Vec<Address> {
        route(&self.reminder, self.users.as_deref().unwrap_or_default(), &claim.fallback)
    }
}

fn wake(due: &Due, known: &Known, claim: &Claim) -> Wake {
    if let Err(error) = &known.users
        && known.reminder.to.is_empty()
    {
        return unreachable(error.to_string(), claim.now);
    }
    on_wake(&Moment {
        reminder: &known.reminder,
        series: &known.series,
        occurrence: &due.occurrence,
        person: &known.person,
        route: &known.route(claim),
        holding: &claim.holding,
        noted: due.noted.as_ref(),
        now: claim.now,
    })
}

/// The moments within `claim` that must be waited for.
async fn not_before(db: &Connection<'_>, claim: &Claim) -> Result<Vec<Timestamp>, Fault> {
    let rows = db
        .rows(
            "select distinct wake_at from punctual.occurrence where priority in (0, 1, 2, 3) and wake_at > $1 \
             and wake_at <= $2 and state in ('processing', 'awaiting_ack') order by wake_at",
            &[(&micros(claim.now), Type::TIMESTAMPTZ), (&micros(claim.until), Type::TIMESTAMPTZ)],
        )
        .await?;
    Ok(rows.iter().map(|found| row::instant(found, 0)).collect::<Result<_, _>>()?)
}

/// Locks what is due, most urgent first, and steps around what others have locked.
async fn due(db: &Connection<'_>, claim: &Claim, also: &str) -> Result<Read<Vec<Due>>, Fault> {
    // One stretch of the index for each priority. A stretch is only begun when those before it did not suffice, so no row is
    // locked that is not taken.
    let own = if claim.shards == Shards::ALL { "" } else { "and get_bit($4, o.shard) = 1" };
    let stretch = |rank: u8| {
        format!(
            "(select * from (select {} from punctual.occurrence o where o.priority = {rank} and o.wake_at >= $1 \
             and o.wake_at <= least($2, statement_timestamp() + interval '{AHEAD_MAX} seconds') {own} {also} \
             order by o.wake_at limit $3 for update skip locked) as rank_{rank})",
            row::OCCURRENCE
        )
    };
    let mut sql = format!("{} limit $3", [3, 2, 1, 0].map(stretch).join(" union all "));
    let limit = i64::try_from(claim.limit).unwrap_or(i64::MAX);
    let (from, until, now) = (micros(claim.from), micros(claim.until), micros(claim.now));
    let shards = claim.shards.as_bytes();
    let mut params: Vec<super::pool::Param<'_>> =
        vec![(&from, Type::TIMESTAMPTZ), (&until, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let only: Option<Vec<Uuid>> = claim.only.as_ref().map(|only| only.iter().copied().map(uuid).collect());
    if let Some(only) = &only {
        // Each by its key: the sums keep the planner from looking through all that is due instead, reminder by reminder.
        sql = format!(
            "select o.* from unnest($4) as v (id) cross join lateral (select {}, o.priority from punctual.occurrence o \
             where o.reminder_id = v.id and o.wake_at + interval '0' >= $1 and o.wake_at + interval '0' \
             <= least($2, statement_timestamp() + interval '{AHEAD_MAX} seconds') for update of o skip locked) as o \
             order by o.priority desc, o.wake_at limit $3",
            row::OCCURRENCE
        );
        params.push((only, Type::UUID_ARRAY));
    } else if !own.is_empty() || !also.is_empty() {
        params.push((&shards, Type::BYTEA));
    }
    if !also.is_empty() {
        params.push((&now, Type::TIMESTAMPTZ));
    }
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for row in db.rows(&sql, &params).await? {
        match row::occurrence(&row, 0) {
            Ok((occurrence, lease, wake_at)) => {
                found.push(Due { wake_at: wake_at.unwrap_or(occurrence.due_at), occurrence, lease, noted: None });
            }
            Err(error) => unreadable.push((row::occurrence_id(&row, 0)?, error)),
        }
    }
    Ok((found, unreadable))
}

/// Reads what is known of attempts that were cut off when the platform had them.
async fn note(db: &Connection<'_>, found: &mut [Due]) -> Result<(), Fault> {
    let taken_over = |due: &&Due| matches!(due.occurrence.state, State::Processing { .. });
    let ids: Ids = found.iter().filter(taken_over).map(|due| due.occurrence.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i32> = found.iter().filter(taken_over).map(|due| int(due.occurrence.tries.attempts)).collect();
    let rows = db
        .rows(
            "select a.reminder_id, a.run, a.message_id, a.channel, a.address \
             from unnest($1, $2, $3) as v (reminder_id, run, number) join punctual.attempt a \
             on a.reminder_id = v.reminder_id and a.run = v.run and a.number = v.number \
             where a.status = 'sending' and a.message_id is not null",
            &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY), (&numbers, Type::INT4_ARRAY)],
        )
        .await?;
    let mut noted = HashMap::with_capacity(rows.len());
    for row in &rows {
        let to = Address { channel: get(row, 3)?, address: get(row, 4)? };
        noted.insert(row::occurrence_id(row, 0)?, Noted { message_id: get(row, 2)?, to });
    }
    for due in found {
        due.noted = noted.remove(&due.occurrence.id);
    }
    Ok(())
}

/// The reminders with these ids, those that cannot be read with why. `lock` is the end of the statement.
async fn reminders(
    db: &Connection<'_>,
    ids: HashSet<ReminderId>,
    lock: &str,
) -> Result<HashMap<ReminderId, Result<Known, StoreError>>, Fault> {
    let ids: Vec<Uuid> = ids.into_iter().map(uuid).collect();
    let sql = format!(
        "select {}, {}, u.addresses, {} from unnest($1) as v (id) join punctual.reminder r on r.id = v.id \
         left join punctual.app_user u on u.id = r.user_id {lock}",
        row::REMINDER,
        row::SERIES,
        row::PERSON
    );
    let rows = db.rows(&sql, &[(&ids, Type::UUID_ARRAY)]).await?;
    let known = |row: &Row| {
        let reminder = row::reminder(row, 0)?;
        Ok(Known {
            series: row::series(row, row::N_REMINDER)?,
            users: get(row, row::N_REMINDER + 3).and_then(row::addresses),
            person: Arc::new(row::person_of(&reminder.user, row, row::N_REMINDER + 4)),
            reminder: Arc::new(reminder),
        })
    };
    Ok(rows.iter().map(|row| Ok((row::reminder_id(row, 0)?, known(row)))).collect::<Result<_, StoreError>>()?)
}

/// Keeps the people from being changed who something is about to be put off for, and reads them as they are now: else it might
/// wait for the end of a pause that is over. Returns the reminders of those whom another is just changing.
async fn hold_people(
    db: &Connection<'_>,
    found: &[Due],
    known: &mut HashMap<ReminderId, Result<Known, StoreError>>,
    claim: &Claim,
) -> Result<HashSet<ReminderId>, Fault> {
    let waits = |due: &&Due| {
        let known = known.get(&due.occurrence.id.reminder).and_then(|known| known.as_ref().ok());
        known.is_some_and(|known| matches!(wake(due, known, claim), Wake::Wait { .. }))
    };
    let waiting: HashSet<ReminderId> = found.iter().filter(waits).map(|due| due.occurrence.id.reminder).collect();
    if waiting.is_empty() {
        return Ok(HashSet::new());
    }
    let user = |id: &ReminderId| Some(known.get(id)?.as_ref().ok()?.reminder.user.clone());
    let users: Vec<String> = waiting.iter().filter_map(user).collect::<HashSet<_>>().into_iter().collect();
    let sql = format!(
        "select {}, u.id from unnest($1) as v (id) join punctual.app_user u on u.id = v.id for share of u skip locked",
        row::PERSON
    );
    let rows = db.rows(&sql, &[(&users, Type::TEXT_ARRAY)]).await?;
    let mut people: HashMap<String, Arc<Person>> = HashMap::with_capacity(rows.len());
    for row in &rows {
        let user: String = get(row, row::N_PERSON)?;
        let person = Arc::new(row::person_of(&user, row, 0));
        people.insert(user, person);
    }
    let mut busy = HashSet::new();
    for id in waiting {
        let Some(Ok(known)) = known.get_mut(&id) else { continue };
        match people.get(&known.reminder.user) {
            Some(person) => known.person = person.clone(),
            // Or removed, which a look in a moment tells.
            None => {
                busy.insert(id);
            }
        }
    }
    Ok(busy)
}

/// Fails occurrences that cannot be read, visibly, so that they do not stop all the others. A series goes on if it can be read;
/// returns what is left of each, for telling the admins.
async fn set_aside(
    db: &Connection<'_>,
    unreadable: &[(OccurrenceId, StoreError)],
    ended: &mut Ended,
    now: Timestamp,
    claims: &mut Claims,
) -> Result<Vec<Unreadable>, Fault> {
    if unreadable.is_empty() {
        return Ok(Vec::new());
    }
    for (occurrence, error) in unreadable {
        tracing::error!(%occurrence, %error, "an occurrence cannot be read; it is set aside as failed");
    }
    claims.n_taken += unreadable.len();
    claims.ended.extend(unreadable.iter().map(|_| StateKind::Failed));
    let ids: Ids = unreadable.iter().map(|(id, _)| *id).collect();
    let errors: Vec<String> = unreadable.iter().map(|(_, error)| error.to_string()).collect();
    db.execute(
        "update punctual.occurrence o set state = 'failed', wake_at = null, node = null, at = $4, error = v.error \
         from unnest($1, $2, $3) as v (reminder_id, run, error) where o.reminder_id = v.reminder_id and o.run = v.run",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&errors, Type::TEXT_ARRAY),
            (&micros(now), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    let entry = |(id, error): &(OccurrenceId, StoreError)| Entry {
        actor: "engine",
        action: "failed",
        reminder: uuid(id.reminder),
        run: Some(id.run),
        detail: Some(error.to_string()),
    };
    let entries: Vec<Entry<'_>> = unreadable.iter().map(entry).collect();
    both(audit(db, &entries, now), cut_off(db, &ids, now)).await?;
    // Nobody else may move these series on meanwhile.
    let theirs = unreadable.iter().map(|(id, _)| id.reminder).collect();
    let known = reminders(db, theirs, "order by r.id for update of r").await?;
    for (id, _) in unreadable {
        if let Some(Ok(known)) = known.get(&id.reminder) {
            ended.go_on_without(*id, known, now, claims);
        }
    }
    what_is_left(db, unreadable, now).await
}

/// What can be read of runs that cannot be read as a whole.
async fn what_is_left(
    db: &Connection<'_>,
    unreadable: &[(OccurrenceId, StoreError)],
    now: Timestamp,
) -> Result<Vec<Unreadable>, Fault> {
    let ids: Ids = unreadable.iter().map(|(id, _)| *id).collect();
    let rows = db
        .rows(
            "select o.reminder_id, o.run, o.priority, o.due_at, r.user_id, r.message, r.created_via \
             from unnest($1, $2) as v (reminder_id, run) \
             join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run \
             left join punctual.reminder r on r.id = o.reminder_id",
            &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)],
        )
        .await?;
    let left = |found: &Row| {
        let id = row::occurrence_id(found, 0)?;
        let text = |index| get::<Option<String>>(found, index).ok().flatten().unwrap_or_default();
        let rank = get::<i16>(found, 2).ok().and_then(|rank| u8::try_from(rank).ok());
        let error = unreadable.iter().find(|(of, _)| *of == id).map(|(_, error)| error.to_string());
        Ok(Unreadable {
            id,
            user: text(4),
            message: text(5),
            priority: Priority::from_rank(rank.unwrap_or(u8::MAX)),
            created_via: text(6),
            due_at: row::instant(found, 3).unwrap_or(now),
            error: error.unwrap_or_default(),
        })
    };
    Ok(rows.iter().map(left).collect::<Result<_, StoreError>>()?)
}

/// Writes the leases.
async fn lease(db: &Connection<'_>, claim: &Claim, taken: &[Claimed]) -> Result<(), Fault> {
    if taken.is_empty() {
        return Ok(());
    }
    let ids: Ids = taken.iter().map(|claimed| claimed.before.id).collect();
    let leases: Vec<i64> = taken.iter().map(|claimed| claimed.lease as i64).collect();
    let positions: Vec<i32> = taken.iter().map(|claimed| int(claimed.position)).collect();
    let attempts: Vec<i32> = taken.iter().map(|claimed| int(claimed.attempt())).collect();
    db.execute(
        "update punctual.occurrence o set state = 'processing', wake_at = $5, node = $6, at = null, error = null, \
         attempts = v.attempts, lease = v.lease, position = v.position \
         from unnest($1, $2, $3, $4, $7) as v (reminder_id, run, lease, position, attempts) \
         where o.reminder_id = v.reminder_id and o.run = v.run",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&leases, Type::INT8_ARRAY),
            (&positions, Type::INT4_ARRAY),
            (&micros(claim.lease_until), Type::TIMESTAMPTZ),
            (&claim.node, Type::TEXT),
            (&attempts, Type::INT4_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// Writes the attempts that are about to begin.
async fn insert_attempts(db: &Connection<'_>, taken: &[Claimed], now: Timestamp) -> Result<(), Fault> {
    // What is followed goes on with the attempt that it has.
    let taken: Vec<&Claimed> = taken.iter().filter(|claimed| claimed.noted.is_none()).collect();
    if taken.is_empty() {
        return Ok(());
    }
    let ids: Ids = taken.iter().map(|claimed| claimed.before.id).collect();
    let numbers: Vec<i32> = taken.iter().map(|claimed| int(claimed.attempt())).collect();
    let channels: Vec<_> = taken.iter().map(|claimed| clean(&claimed.to().channel)).collect();
    let addresses: Vec<_> = taken.iter().map(|claimed| clean(&claimed.to().address)).collect();
    let keys: Vec<String> = taken.iter().map(|claimed| claimed.attempt_key()).collect();
    db.execute(
        // Over what is there: one row that is there and should not be must not stop every claim from now on.
        "insert into punctual.attempt (reminder_id, run, number, channel, address, attempt_key, status, started_at) \
         select v.*, 'sending', $7 from unnest($1, $2, $3, $4, $5, $6) as v \
         on conflict (reminder_id, run, number) do update set channel = excluded.channel, address = excluded.address, \
         status = excluded.status, started_at = excluded.started_at, ended_at = null, error = null, message_id = null, \
         key = null, attempt_key = excluded.attempt_key",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&numbers, Type::INT4_ARRAY),
            (&channels, Type::TEXT_ARRAY),
            (&addresses, Type::TEXT_ARRAY),
            (&keys, Type::TEXT_ARRAY),
            (&micros(now), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

/// What ended without a send or was put off, gathered so that it is written in a handful of statements.
#[derive(Default)]
struct Ended {
    changed: Vec<Occurrence>,
    planned: Vec<(Occurrence, Arc<Reminder>)>,
    /// The moments of what was put off ahead of them. Whoever may be disturbed again at once is still not told before.
    ahead: Vec<(OccurrenceId, Timestamp)>,
    /// When what was put off must be looked at again.
    told: Vec<(u8, Timestamp)>,
    moved_on: HashMap<ReminderId, Moved>,
    entries: Vec<(OccurrenceId, &'static str, Option<String>)>,
}

/// What ended runs change about their reminder.
struct Moved {
    series: Series,
    /// What the last run that ended became.
    last_status: Option<StateKind>,
    n_failed: u32,
}

impl Ended {
    /// Ends one, and plans what comes next.
    fn add(&mut self, mut occurrence: Occurrence, known: &Known, wake: Wake, now: Timestamp, claims: &mut Claims) {
        let Wake::End { state, also_missed, n_more_missed, next } = wake else { return };
        claims.ended.extend(std::iter::repeat_n(state.kind(), 1 + also_missed.len()));
        let (id, reminder) = (occurrence.id, &known.reminder);
        let missed = matches!(state, State::Missed { .. });
        occurrence.state = state;
        self.changed.push(occurrence.clone());
        if !occurrence.state.is_final() {
            return;
        }
        let kind = occurrence.state.kind();
        // Another run of the same reminder may have ended in this very claim and moved the series on.
        let moved =
            self.moved_on.entry(id.reminder).or_insert(Moved { series: known.series, last_status: None, n_failed: 0 });
        moved.last_status = Some(kind);
        moved.n_failed += u32::from(kind == StateKind::Failed);
        let series = &mut moved.series;
        let carries = series.carried_by == Some(id.run);
        let next_run = |series: &mut Series| {
            series.last_run += 1;
            series.planned = series.planned.saturating_add(1);
            OccurrenceId { reminder: id.reminder, run: series.last_run }
        };
        let mut planned = None;
        if missed && carries {
            for missed_at in &also_missed {
                let also = Occurrence::scheduled(next_run(series), *missed_at);
                self.planned.push((Occurrence { state: State::Missed { at: now }, ..also }, reminder.clone()));
            }
            series.planned = series.planned.saturating_add(u32::try_from(n_more_missed).unwrap_or(u32::MAX));
            let within_count = reminder.schedule.count.is_none_or(|count| series.planned < count);
            planned = next.filter(|_| within_count);
        } else if carries {
            // An interval that is counted from the answer goes on when no answer came, too.
            planned = after_settle(reminder, series, id.run, occurrence.due_at, &occurrence.state, now).flatten();
        }
        if carries {
            series.carried_by = None;
            if let Some(due_at) = planned {
                let mut occurrence = Occurrence::scheduled(next_run(series), due_at);
                series.carried_by = Some(series.last_run);
                if reminder.status == ReminderStatus::Paused {
                    occurrence.state = State::Paused;
                }
                let wake_at = occurrence.state.wake_at(due_at);
                claims.wakes.extend(wake_at);
                claims.next_runs.extend(wake_at.map(|at| alarm::Entry::of(reminder, at)));
                self.planned.push((occurrence, reminder.clone()));
            }
        }
        let detail = missed.then(|| format!("{} runs missed", 1 + also_missed.len() + n_more_missed));
        self.entries.push((id, kind.as_str(), detail));
    }

    /// Plans the run after one that was set aside, if that one carried the series.
    fn go_on_without(&mut self, id: OccurrenceId, known: &Known, now: Timestamp, claims: &mut Claims) {
        let reminder = &known.reminder;
        let series = self.moved_on.get(&id.reminder).map_or(known.series, |moved| moved.series);
        let state = State::Failed { at: now, error: String::new() };
        let Some(next) = after_settle(reminder, &series, id.run, now, &state, now) else { return };
        let planned = self.plan(id, series, reminder, next);
        claims.next_runs.extend(planned.map(|at| alarm::Entry::of(reminder, at)));
        claims.wakes.extend(planned);
    }

    /// Plans the run with which a series goes on, or ends it; returns when to look at it.
    fn plan(
        &mut self,
        after: OccurrenceId,
        series: Series,
        reminder: &Arc<Reminder>,
        next: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let moved = self.moved_on.entry(after.reminder).or_insert(Moved { series, last_status: None, n_failed: 0 });
        moved.series.carried_by = None;
        let due_at = next?;
        moved.series.last_run += 1;
        moved.series.planned = moved.series.planned.saturating_add(1);
        moved.series.carried_by = Some(moved.series.last_run);
        let id = OccurrenceId { reminder: after.reminder, run: moved.series.last_run };
        let mut planned = Occurrence::scheduled(id, due_at);
        if reminder.status == ReminderStatus::Paused {
            planned.state = State::Paused;
        }
        let wake_at = planned.state.wake_at(due_at);
        self.planned.push((planned, reminder.clone()));
        wake_at
    }

    /// Puts one off, and plans the next run if its series goes on meanwhile.
    fn put_off(&mut self, mut occurrence: Occurrence, known: &Known, wake: Wake, now: Timestamp, claims: &mut Claims) {
        let Wake::Wait { state, due_at, why, moves_on, detail } = wake else { return };
        let (id, reminder) = (occurrence.id, &known.reminder);
        let was_due_at = std::mem::replace(&mut occurrence.due_at, due_at);
        occurrence.state = state;
        if was_due_at > now {
            self.ahead.push((id, was_due_at));
        }
        let mut to_come: Vec<Timestamp> = occurrence.state.wake_at(due_at).into_iter().collect();
        self.told.extend(to_come.iter().map(|at| (shard_of(&reminder.user), *at)));
        // Another run of the same reminder may have moved the series on in this very claim.
        let series = self.moved_on.get(&id.reminder).map_or(known.series, |moved| moved.series);
        if moves_on && let Some(next) = after_settle(reminder, &series, id.run, was_due_at, &occurrence.state, now) {
            to_come.extend(self.plan(id, series, reminder, next));
        }
        claims.ended.push(StateKind::Waiting);
        // A timer elsewhere holds one moment of a reminder: the first.
        claims.next_runs.extend(to_come.iter().min().map(|at| alarm::Entry::of(reminder, *at)));
        claims.wakes.extend(to_come);
        self.changed.push(occurrence);
        self.entries.push((id, why.as_str(), Some(detail)));
    }

    /// What was planned or put off, each in its shard.
    fn moments(&self) -> impl Iterator<Item = (u8, Timestamp)> {
        let wake_at = |o: &Occurrence| o.state.wake_at(o.due_at);
        let planned =
            self.planned.iter().filter_map(move |(o, reminder)| Some((shard_of(&reminder.user), wake_at(o)?)));
        planned.chain(self.told.iter().copied())
    }

    async fn write(&self, db: &Connection<'_>, now: Timestamp) -> Result<(), Fault> {
        if self.changed.is_empty() && self.moved_on.is_empty() {
            return Ok(());
        }
        let ids: Ids = self.changed.iter().map(|o| o.id).collect();
        let changed: Vec<&Occurrence> = self.changed.iter().collect();
        let planned: Vec<_> = self.planned.iter().map(|(occurrence, reminder)| (occurrence, &**reminder)).collect();
        let entry = |(id, action, detail): &(OccurrenceId, &'static str, Option<String>)| Entry {
            actor: "engine",
            action,
            reminder: uuid(id.reminder),
            run: Some(id.run),
            detail: detail.clone(),
        };
        let entries: Vec<Entry<'_>> = self.entries.iter().map(entry).collect();
        let rows = all4(
            cut_off(db, &ids, now),
            update_occurrences(db, &changed),
            insert_occurrences(db, &planned),
            self.move_on(db),
        );
        all3(rows, self.keep_moments(db), audit(db, &entries, now)).await?;
        Ok(())
    }

    async fn keep_moments(&self, db: &Connection<'_>) -> Result<(), Fault> {
        if self.ahead.is_empty() {
            return Ok(());
        }
        let ids: Ids = self.ahead.iter().map(|(id, _)| *id).collect();
        let moments: Vec<row::At> = self.ahead.iter().map(|(_, at)| micros(*at)).collect();
        db.execute(
            "update punctual.occurrence o set at = v.at from unnest($1, $2, $3) as v (reminder_id, run, at) \
             where o.reminder_id = v.reminder_id and o.run = v.run and o.state = 'snoozed'",
            &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY), (&moments, Type::TIMESTAMPTZ_ARRAY)],
        )
        .await?;
        Ok(())
    }

    async fn move_on(&self, db: &Connection<'_>) -> Result<(), Fault> {
        if self.moved_on.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = self.moved_on.keys().copied().map(uuid).collect();
        let last_runs: Vec<i32> = self.moved_on.values().map(|moved| int(moved.series.last_run)).collect();
        let carriers: Vec<Option<i32>> = self.moved_on.values().map(|moved| moved.series.carried_by.map(int)).collect();
        let planned: Vec<i64> = self.moved_on.values().map(|moved| i64::from(moved.series.planned)).collect();
        let statuses: Vec<Option<&str>> =
            self.moved_on.values().map(|moved| moved.last_status.as_ref().map(StateKind::as_str)).collect();
        let failed: Vec<i32> = self.moved_on.values().map(|moved| int(moved.n_failed)).collect();
        db.execute(
            "update punctual.reminder r set last_run = v.last_run, carried_by = v.carried_by, planned = v.planned, \
             last_status = coalesce(v.last_status, r.last_status), consecutive_errors = r.consecutive_errors + v.n_failed, \
             total_runs = r.total_runs + v.n_failed, \
             status = case when r.status = 'active' and v.carried_by is null and not exists (select from \
               punctual.occurrence o where o.reminder_id = r.id and (o.wake_at is not null or o.state = 'paused')) \
               then 'completed' else r.status end \
             from unnest($1, $2, $3, $4, $5, $6) as v (id, last_run, carried_by, planned, last_status, n_failed) \
             where r.id = v.id",
            &[
                (&ids, Type::UUID_ARRAY),
                (&last_runs, Type::INT4_ARRAY),
                (&carriers, Type::INT4_ARRAY),
                (&planned, Type::INT8_ARRAY),
                (&statuses, Type::TEXT_ARRAY),
                (&failed, Type::INT4_ARRAY),
            ],
        )
        .await?;
        Ok(())
    }
}
