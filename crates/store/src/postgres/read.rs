//! Reading reminders and what became of them.

use std::sync::LazyLock;

use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Attempt, StateKind};
use punctual_core::reminder::ReminderStatus;
use punctual_core::shard::Shards;
use punctual_core::store::{
    CHANNEL_LOOKED_AT_MAX, COUNTED_MAX, HowMany, ReminderQuery, ReminderView, StatusFilter, StoreError, StoreStats,
    Trail, Upcoming, UpcomingQuery, id_end,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::batch::{BEGIN_BY_KEY, BEGIN_READ, BEGIN_READ_IN_ORDER};
use super::fault::Fault;
use super::pipeline::{all3, all4, all6};
use super::pool::{Connection, Param};
use super::row::{self, get, impossible, instant, int, micros, optional_instant, uuid};
use crate::rows::{self, Reader};

/// When a reminder is due next, and until when a run of it is snoozed, for a join to `reminder r`.
static NEXT_RUN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "left join lateral (select min(case o.state when 'pending_retry' then coalesce(o.own_at, o.wake_at) else o.due_at end) \
         as at, min(o.due_at) filter (where o.state = 'snoozed') as snoozed_until \
         from punctual.occurrence o where o.reminder_id = r.id and {}) as next_run on true",
        *rows::TO_COME
    )
});

/// The columns of reminders as people see them, and where they come from.
pub(super) fn views() -> String {
    format!("{} from punctual.reminder r {}", view_columns(), *NEXT_RUN)
}

fn view_columns() -> String {
    format!("select {}, {}, next_run.at, next_run.snoozed_until", rows::REMINDER, rows::PROGRESS)
}

/// Reads [`views`].
pub(super) fn view(found: &Row) -> Result<ReminderView, StoreError> {
    rows::view(&mut Reader::new(found, 0))
}

/// What `read` makes of each row.
pub(super) fn each<T>(rows: &[Row], read: impl FnMut(&Row) -> Result<T, StoreError>) -> Result<Vec<T>, Fault> {
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

pub(super) async fn reminder(db: &Connection<'_>, id: ReminderId) -> Result<Option<ReminderView>, Fault> {
    let sql = format!("{} where r.id = $1", views());
    let rows = db.rows(&sql, &[(&uuid(id), Type::UUID)]).await?;
    Ok(each(&rows, view)?.pop())
}

pub(super) async fn existing(db: &Connection<'_>, ids: &[ReminderId]) -> Result<Vec<ReminderView>, Fault> {
    let ids: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
    let sql = format!("{} where r.id = any($1)", views());
    let these: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
    let ((), rows, ()) = all3(db.begin(BEGIN_BY_KEY), db.rows(&sql, &these), db.commit()).await?;
    each(&rows, view)
}

pub(super) async fn reminders(db: &Connection<'_>, query: &ReminderQuery) -> Result<Vec<ReminderView>, Fault> {
    let mut chosen = Chosen::of(query);
    let limit = chosen.bind(Box::new(i64::try_from(query.limit).unwrap_or(i64::MAX)), Type::INT8);
    let sql = match &query.channel {
        None => {
            let Chosen { source, wheres, order, .. } = &chosen;
            let next_run = &*NEXT_RUN;
            format!("{} {source} {next_run} where {wheres} order by {order} desc limit {limit}", view_columns())
        }
        Some(channel) => {
            // The reminders that all else is true of come first, so many of them.
            let looked_at = chosen.bind(Box::new(CHANNEL_LOOKED_AT_MAX as i64), Type::INT8);
            let channel = chosen.bind(Box::new(row::clean(channel).into_owned()), Type::TEXT);
            let Chosen { source, next_run, wheres, order, .. } = &chosen;
            format!(
                "{} from (select r.id {source} {next_run} where {wheres} order by {order} desc limit {looked_at}) as c \
                 join punctual.reminder r on r.id = c.id {} \
                 where {channel} = (select a.channel from punctual.attempt a where a.reminder_id = r.id order by a.run desc, a.number desc limit 1) \
                   or exists (select from json_array_elements(r.route::json) as a where a ->> 'channel' = {channel}) \
                 order by r.id desc limit {limit}",
                view_columns(),
                *NEXT_RUN
            )
        }
    };
    each(&db.rows(&sql, &chosen.params()).await?, view)
}

/// How many of the first reminders of its user or its tag a query asks for.
pub(super) async fn count(db: &Connection<'_>, query: &ReminderQuery) -> Result<HowMany, Fault> {
    let chosen = Chosen::of(&ReminderQuery { before: None, ..query.clone() });
    let (keys, rest) = chosen.wheres.split_at(chosen.n_keys);
    let Chosen { source, next_run, .. } = &chosen;
    let sql = format!(
        "select count(*), count(*) filter (where is_wanted) from (select (true{rest}) as is_wanted {source} {next_run} \
         where {keys} limit {COUNTED_MAX}) as looked_at"
    );
    let rows = db.rows(&sql, &chosen.params()).await?;
    let Some(found) = rows.first() else { return Err(impossible("a count has no row").into()) };
    let number = |index: usize| usize::try_from(get::<i64>(found, index)?).map_err(impossible);
    Ok(HowMany { n: number(1)?, is_all: number(0)? < COUNTED_MAX })
}

/// The last of the reminders at which [`reminders`] looks for one that goes by a channel; none if that is all of them.
pub(super) async fn looks_to(db: &Connection<'_>, query: &ReminderQuery) -> Result<Option<ReminderId>, Fault> {
    let mut chosen = Chosen::of(query);
    let n_before = chosen.bind(Box::new(CHANNEL_LOOKED_AT_MAX as i64 - 1), Type::INT8);
    let Chosen { source, next_run, wheres, order, .. } = &chosen;
    let sql = format!("select r.id {source} {next_run} where {wheres} order by {order} desc limit 1 offset {n_before}");
    Ok(each(&db.rows(&sql, &chosen.params()).await?, |found| Reader::new(found, 0).id())?.pop())
}

/// The reminders that a query asks for, but for their channel: where they come from, and what is true of them.
struct Chosen {
    source: &'static str,
    /// The join of when they are due next, where that is asked for.
    next_run: &'static str,
    wheres: String,
    /// How much of that an index finds: whose they are, and their tag.
    n_keys: usize,
    /// The id by which they are in order.
    order: &'static str,
    values: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl Chosen {
    fn of(query: &ReminderQuery) -> Self {
        let is_failed = query.status == Some(StatusFilter::LastRun(StateKind::Failed));
        // One stretch of an index, in the order of the page.
        let (source, user_id, order) = if query.tag.is_some() {
            let tagged = "from punctual.reminder_tag tagged join punctual.reminder r on r.id = tagged.reminder_id";
            (tagged, "tagged.user_id", "tagged.reminder_id")
        } else if is_failed && query.user.is_none() {
            let failed = "from (select distinct o.reminder_id from punctual.occurrence o where o.state = 'failed') as failed \
                join punctual.reminder r on r.id = failed.reminder_id";
            (failed, "r.user_id", "failed.reminder_id")
        } else {
            ("from punctual.reminder r", "r.user_id", "r.id")
        };
        let next_run = if query.from.is_some() || query.to.is_some() { NEXT_RUN.as_str() } else { "" };
        let mut chosen = Self { source, next_run, wheres: "true".to_owned(), n_keys: 0, order, values: Vec::new() };
        if let Some(tag) = &query.tag {
            chosen.add("tagged.tag = {}", Box::new(row::clean(tag).into_owned()), Type::TEXT);
        }
        if let Some(user) = &query.user {
            chosen.add(&format!("{user_id} = {{}}"), Box::new(user.clone()), Type::TEXT);
        }
        chosen.n_keys = chosen.wheres.len();
        match query.status {
            Some(StatusFilter::Is(status)) => chosen.add("r.status = {}", Box::new(status.as_str()), Type::TEXT),
            Some(StatusFilter::LastRun(end)) => chosen.add("r.last_status = {}", Box::new(end.as_str()), Type::TEXT),
            None => {}
        }
        if let Some(from) = query.from {
            chosen.add("next_run.at >= {}", Box::new(micros(from)), Type::TIMESTAMPTZ);
        }
        if let Some(to) = query.to {
            chosen.add("next_run.at < {}", Box::new(micros(to)), Type::TIMESTAMPTZ);
        }
        if let Some(matching) = &query.matching {
            let words = chosen.bind(Box::new(row::clean(matching).into_owned()), Type::TEXT);
            let of_id = id_end(matching).map(|end| {
                let end = chosen.bind(Box::new(end), Type::TEXT);
                format!(" or right(replace(r.id::text, '-', ''), length({end})) = {end}")
            });
            chosen.wheres.push_str(&format!(" and ({words} in (r.name, r.message){})", of_id.unwrap_or_default()));
        }
        if let Some(before) = query.before {
            chosen.add(&format!("{order} < {{}}"), Box::new(uuid(before)), Type::UUID);
        }
        chosen
    }

    /// The place of one more value.
    fn bind(&mut self, value: Box<dyn ToSql + Sync + Send>, kind: Type) -> String {
        self.values.push((value, kind));
        format!("${}", self.values.len())
    }

    /// One more that must be true, of the value in the place of `{}`.
    fn add(&mut self, sql: &str, value: Box<dyn ToSql + Sync + Send>, kind: Type) {
        let place = self.bind(value, kind);
        self.wheres.push_str(&format!(" and {}", sql.replace("{}", &place)));
    }

    fn params(&self) -> Vec<Param<'_>> {
        self.values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
    }
}

pub(super) async fn occurrences(
    db: &Connection<'_>,
    id: ReminderId,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<Trail>, Fault> {
    let before = before.map_or(i64::MAX, i64::from);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let id = uuid(id);
    let params: [Param<'_>; 3] = [(&id, Type::UUID), (&before, Type::INT8), (&limit, Type::INT8)];
    trails(db, "o.reminder_id = $1 and o.run < $2 order by o.run desc limit $3", &params).await
}

pub(super) async fn occurrence(db: &Connection<'_>, id: OccurrenceId) -> Result<Option<Trail>, Fault> {
    let (reminder, run) = (uuid(id.reminder), int(id.run));
    let params: [Param<'_>; 2] = [(&reminder, Type::UUID), (&run, Type::INT4)];
    Ok(trails(db, "o.reminder_id = $1 and o.run = $2", &params).await?.pop())
}

/// The attempts of a run that have ended, in order.
pub(super) async fn attempts(db: &Connection<'_>, id: OccurrenceId) -> Result<Vec<Attempt>, Fault> {
    let sql = format!(
        "select {} from punctual.attempt a where a.reminder_id = $1 and a.run = $2 order by a.number",
        rows::ATTEMPT
    );
    let (reminder, run) = (uuid(id.reminder), int(id.run));
    let params: [Param<'_>; 2] = [(&reminder, Type::UUID), (&run, Type::INT4)];
    each(&db.rows(&sql, &params).await?, |found| rows::attempt(&mut Reader::new(found, 0)))
}

/// The occurrences chosen by `which`, all of one reminder, with their trails, at one moment and in one round trip.
async fn trails(db: &Connection<'_>, which: &str, params: &[Param<'_>]) -> Result<Vec<Trail>, Fault> {
    let occurrences = format!("select {} from punctual.occurrence o where {which}", rows::OCCURRENCE);
    let these = format!("in (select o.run from punctual.occurrence o where {which})");
    let attempts = format!(
        "select a.run, {} from punctual.attempt a where a.reminder_id = $1 and a.run {these} order by a.run, a.number",
        rows::ATTEMPT
    );
    let responses = format!(
        "select {} from punctual.response s where s.reminder_id = $1 and s.run {these} order by s.run, s.number",
        rows::RESPONSE
    );
    let others = format!(
        "select {} where r.escalates_id = $1 and r.escalates_run {these} order by o.due_at, r.user_id",
        rows::escalated_columns("punctual.")
    );
    let ((), occurrences, attempts, responses, others, ()) = all6(
        db.begin(BEGIN_READ),
        db.rows(&occurrences, params),
        db.rows(&attempts, params),
        db.rows(&responses, params),
        db.rows(&others, params),
        db.commit(),
    )
    .await?;
    let attempts = each(&attempts, |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.count()?, rows::attempt(&mut from)?))
    })?;
    let responses = each(&responses, |found| rows::response(&mut Reader::new(found, 0)))?;
    let others = each(&others, |found| rows::escalated(&mut Reader::new(found, 0)))?;
    each(&occurrences, |found| {
        let occurrence = rows::occurrence(&mut Reader::new(found, 0))?;
        let run = occurrence.id.run;
        let attempts = attempts.iter().filter(|(of, _)| *of == run).map(|(_, attempt)| attempt.clone()).collect();
        let responses = responses.iter().filter(|response| response.occurrence.run == run).cloned().collect();
        let others = others.iter().filter(|(of, _)| *of == run).map(|(_, other)| other.clone());
        Ok(Trail { escalated: others.collect(), ..Trail::new(occurrence, attempts, responses) })
    })
}

pub(super) async fn upcoming(db: &Connection<'_>, window: &UpcomingQuery) -> Result<Upcoming, Fault> {
    let each_priority = |select: &str| {
        let one = |rank: u8| select.replace("{rank}", &rank.to_string());
        [3, 2, 1, 0].map(one).join(" union all ")
    };
    let own = if window.shards == Shards::ALL { "" } else { "and get_bit($4, shard) = 1" };
    // Four short stretches of the hot index, whatever the statistics say: each is in order already.
    let instants = each_priority(&format!(
        "(select wake_at from punctual.occurrence where priority = {{rank}} and wake_at >= $1 and wake_at <= $2 {own} \
         order by wake_at limit $3)"
    ));
    let instants = format!("select wake_at from ({instants}) as coming order by wake_at limit $3");
    let firsts = each_priority(
        "(select wake_at from punctual.occurrence where priority = {rank} and wake_at < $1 order by wake_at limit 1)",
    );
    let firsts = format!("select wake_at from ({firsts}) as passed order by wake_at limit 1");
    let (from, until) = (micros(window.from), micros(window.until));
    let limit = i64::try_from(window.limit).unwrap_or(i64::MAX);
    let shards = window.shards.as_bytes();
    let mut of_instants: Vec<Param<'_>> =
        vec![(&from, Type::TIMESTAMPTZ), (&until, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    if !own.is_empty() {
        of_instants.push((&shards, Type::BYTEA));
    }
    let of_firsts: [Param<'_>; 1] = [(&from, Type::TIMESTAMPTZ)];
    let ((), instants, firsts, ()) = all4(
        db.begin(BEGIN_READ_IN_ORDER),
        db.rows(&instants, &of_instants),
        db.rows(&firsts, &of_firsts),
        db.commit(),
    )
    .await?;
    let overdue_since = each(&firsts, |found| instant(found, 0))?.pop();
    Ok(Upcoming { instants: each(&instants, |found| instant(found, 0))?, overdue_since })
}

pub(super) async fn stats(db: &Connection<'_>) -> Result<StoreStats, Fault> {
    let by_status =
        [ReminderStatus::Active, ReminderStatus::Paused, ReminderStatus::Completed, ReminderStatus::Cancelled];
    let counts = by_status.map(|status| format!("count(*) filter (where status = '{status}')")).join(", ");
    let sql = format!(
        "select * from (select count(*), min(wake_at) from punctual.occurrence where wake_at is not null) as pending, \
         (select {counts} from punctual.reminder) as reminders"
    );
    let rows = db.rows(&sql, &[]).await?;
    let Some(found) = rows.first() else { return Err(impossible("a count has no row").into()) };
    let number = |found: &Row, index: usize| u64::try_from(get::<i64>(found, index)?).map_err(impossible);
    let mut reminders = Vec::new();
    for (index, status) in by_status.into_iter().enumerate() {
        match number(found, 2 + index)? {
            0 => {}
            n => reminders.push((status, n)),
        }
    }
    Ok(StoreStats { pending: number(found, 0)?, oldest_at: optional_instant(found, 1)?, reminders })
}

/// How many runs have failed since then; by the index of what has ended, whatever the statistics say.
pub(super) async fn failed_since(db: &Connection<'_>, since: jiff::Timestamp, limit: usize) -> Result<usize, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let since = micros(since);
    let params: [Param<'_>; 2] = [(&since, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let failed = db.rows(
        "select count(*) from (select from punctual.occurrence where wake_at is null and at >= $1 and state = 'failed' \
         limit $2) as failed",
        &params,
    );
    let ((), failed, ()) = all3(db.begin(BEGIN_READ_IN_ORDER), failed, db.commit()).await?;
    let n_failed: i64 = failed.first().map_or(Ok(0), |found| get(found, 0))?;
    Ok(usize::try_from(n_failed).unwrap_or(usize::MAX))
}

/// Whether a write works: updates one row.
pub(super) async fn probe(db: &Connection<'_>) -> Result<(), Fault> {
    all3(
        db.begin("begin; set local lock_timeout = 2000"),
        db.execute("update punctual.probe set value = value + 1", &[]),
        db.commit(),
    )
    .await?;
    Ok(())
}
