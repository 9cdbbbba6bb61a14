//! The runs that were said to somebody, for finding out which of them words are about.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::occurrence::{Attempt, Occurrence};
use punctual_core::reminder::Reminder;
use punctual_core::shard::shard_of;
use punctual_core::store::{ASKED_MAX, Question, Response, Trail};
use punctual_core::user::User;
use tokio_postgres::types::Type;

use super::batch::{BEGIN_READ, BY_KEY, Ids};
use super::fault::Fault;
use super::keep;
use super::pipeline::{all3, all4};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, micros};
use crate::rows::{self, Reader};

/// Those of these users that wait for an answer, and with `ended_since` those that have ended since then; the one that was said last
/// comes first. All of it at one moment.
pub(super) async fn asked(
    db: &Connection<'_>,
    users: &[String],
    ended_since: Option<Timestamp>,
) -> Result<Vec<Question>, Fault> {
    let select = |found: &str| {
        format!(
            "select {}, {}, coalesce(o.at, o.due_at) as said_at from unnest($1, $3) as v (user_id, shard) {found}",
            rows::OCCURRENCE,
            rows::REMINDER
        )
    };
    // Whatever the statistics say, what waits is found by its shard, and its reminder by its key. What has ended is found by its user: as many
    // runs may have ended since then as there are.
    let mut sql = select(
        "cross join lateral (select * from punctual.occurrence o where o.shard = v.shard and o.reached > 0 \
         and o.wake_at is not null offset 0) as o \
         cross join lateral (select * from punctual.reminder r where r.id = o.reminder_id and r.user_id = v.user_id offset 0) as r",
    );
    if ended_since.is_some() {
        // Only the last few runs of a series: nobody talks about older ones.
        let ended = select(
            "cross join lateral (select * from punctual.reminder r where r.user_id = v.user_id offset 0) as r \
             cross join lateral (select * from punctual.occurrence o where o.reminder_id = r.id and o.reached > 0 \
             and o.wake_at is null and o.at >= $4 and o.run > r.last_run - 8 offset 0) as o",
        );
        sql = format!("{sql} union all {ended}");
    }
    let sql = format!("{sql} order by said_at desc limit $2");
    let shards: Vec<i16> = users.iter().map(|user| i16::from(shard_of(user))).collect();
    let users: Vec<_> = users.iter().map(|user| clean(user)).collect();
    let (limit, since) = (i64::try_from(ASKED_MAX).unwrap_or(i64::MAX), ended_since.map(micros));
    let mut params: Vec<Param<'_>> =
        vec![(&users, Type::TEXT_ARRAY), (&limit, Type::INT8), (&shards, Type::INT2_ARRAY)];
    if let Some(since) = &since {
        params.push((since, Type::TIMESTAMPTZ));
    }
    let ((), (), found) = all3(db.begin(BEGIN_READ), db.batch(BY_KEY), db.rows(&sql, &params)).await?;
    let found: Vec<(Occurrence, Reminder)> = found
        .iter()
        .filter_map(|row| {
            // A run that cannot be read is left to the claim, which sets it aside.
            let occurrence = rows::occurrence(&mut Reader::new(row, 0)).ok()?;
            Some((occurrence, rows::reminder(&mut Reader::new(row, rows::N_OCCURRENCE)).ok()?))
        })
        .collect();
    if found.is_empty() {
        db.commit().await?;
        return Ok(Vec::new());
    }
    let ids: Ids = found.iter().map(|(occurrence, _)| occurrence.id).collect();
    let of_runs: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let attempts = format!(
        "select a.reminder_id, a.run, {} from unnest($1, $2) as v (reminder_id, run) \
         join punctual.attempt a on a.reminder_id = v.reminder_id and a.run = v.run order by a.reminder_id, a.run, a.number",
        rows::ATTEMPT
    );
    let responses = format!(
        "select {} from unnest($1, $2) as v (reminder_id, run) \
         join punctual.response s on s.reminder_id = v.reminder_id and s.run = v.run order by s.number",
        rows::RESPONSE
    );
    let mut names: Vec<String> = found.iter().map(|(_, reminder)| reminder.user.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let (attempts, responses, people, ()) =
        all4(db.rows(&attempts, &of_runs), db.rows(&responses, &of_runs), keep::users_of(db, &names), db.commit())
            .await?;
    let attempts: Vec<(_, Attempt)> = each(&attempts, |row| {
        let mut from = Reader::new(row, 0);
        Ok((from.occurrence_id()?, rows::attempt(&mut from)?))
    })?;
    let responses: Vec<Response> = each(&responses, |row| rows::response(&mut Reader::new(row, 0)))?;
    let people: HashMap<String, User> = people.into_iter().map(|user| (user.id.clone(), user)).collect();
    let question = |(occurrence, reminder): (Occurrence, Reminder)| {
        let id = occurrence.id;
        let attempts = attempts.iter().filter(|(of, _)| *of == id).map(|(_, attempt)| attempt.clone()).collect();
        let responses = responses.iter().filter(|response| response.occurrence == id).cloned().collect();
        let user = people.get(&reminder.user).cloned();
        Question { trail: Trail::new(occurrence, attempts, responses), reminder, user }
    };
    Ok(found.into_iter().map(question).collect())
}
