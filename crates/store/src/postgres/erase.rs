//! Removing a person: their reminders, and their name in the records of others.

use punctual_core::id::ReminderId;
use punctual_core::journal::{ENGINE, Placed};
use punctual_core::rules::redact::{self, ERASED};
use punctual_core::shard::Shards;
use punctual_core::store::{ERASED_AT_ONCE, Record, Redacted, Removed, StoreError};
use punctual_core::writes::Writes;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN, BEGIN_IN_ORDER, Ids};
use super::fault::Fault;
use super::pipeline::{all, all3, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, occurrence_id, uuid};
use super::write::{put, update, write};
use crate::columns::FEED_PROBLEMS;
use crate::erase::{ROTAS, SMALL, after_bad, in_json, in_path, redact_bad};
use crate::journal::{ENTRY, placed};
use crate::rows::{self, Reader};
use crate::watch::{self, BAD};

/// How many reminders are looked at together.
const REMINDERS: i64 = 200;
const AT_ONCE: i64 = ERASED_AT_ONCE as i64;

pub(super) async fn remove_reminders(db: &Connection<'_>, user: &str) -> Result<Removed, Fault> {
    let user = clean(user);
    let of_user: [Param<'_>; 2] = [(&user, Type::TEXT), (&REMINDERS, Type::INT8)];
    let theirs = db.rows("select id from punctual.reminder where user_id = $1 order by id limit $2", &of_user);
    let ((), rows) = both(db.begin(BEGIN_IN_ORDER), theirs).await?;
    let ids: Vec<Uuid> = each(&rows, |row| get(row, 0))?;
    let mut removed = Removed { has_more: ids.len() as i64 == REMINDERS, ..Removed::default() };
    // Whoever plans a run for one of them locks its runs first.
    let sql = format!(
        "select distinct o.reminder_id from unnest($1) as v (id) join punctual.occurrence o on o.reminder_id = v.id where {}",
        rows::OPEN
    );
    let rows = db.rows(&sql, &[(&ids, Type::UUID_ARRAY)]).await?;
    removed.open = each(&rows, |row| Reader::new(row, 0).id())?;
    let gone: Vec<Uuid> = ids.into_iter().filter(|id| !removed.open.iter().any(|open| uuid(*open) == *id)).collect();
    let rows = db
        .rows(
            "select o.reminder_id, o.run from punctual.occurrence o where o.reminder_id = any ($1) \
             order by o.reminder_id, o.run limit $2 for update",
            &[(&gone, Type::UUID_ARRAY), (&AT_ONCE, Type::INT8)],
        )
        .await?;
    let runs: Ids = each(&rows, |row| occurrence_id(row, 0))?.into_iter().collect();
    removed.has_more |= rows.len() as i64 == AT_ONCE;
    let of_runs: [Param<'_>; 2] = [(&runs.reminders, Type::UUID_ARRAY), (&runs.runs, Type::INT4_ARRAY)];
    let delete = |table: &str| {
        format!(
            "delete from punctual.{table} a using unnest($1, $2) as v (id, run) where a.reminder_id = v.id and a.run = v.run"
        )
    };
    let (attempts, responses, occurrences) = (delete("attempt"), delete("response"), delete("occurrence"));
    all3(db.execute(&attempts, &of_runs), db.execute(&responses, &of_runs), db.execute(&occurrences, &of_runs)).await?;
    let n = db
        .execute(
            "delete from punctual.reminder r where r.id = any ($1) \
             and not exists (select from punctual.occurrence o where o.reminder_id = r.id)",
            &[(&gone, Type::UUID_ARRAY)],
        )
        .await?;
    db.commit().await?;
    removed.n_reminders = usize::try_from(n).unwrap_or(usize::MAX);
    Ok(removed)
}

pub(super) async fn redact(
    db: &Connection<'_>,
    own: Shards,
    user: &str,
    record: Record,
    after: &str,
) -> Result<Redacted, Fault> {
    match record {
        Record::Reminders => reminders(db, own, user, after).await,
        Record::Responses => responses(db, user, after).await,
        Record::Silences => silences(db, user).await,
        Record::Answered => answered(db, user, after).await,
        Record::Small => {
            let (name, mut n) = (clean(user), 0);
            for sql in SMALL {
                n += db.execute(&sql.replace("{}", "punctual."), &[(&name, Type::TEXT)]).await?;
            }
            let mut rotas = each(&db.rows(&ROTAS.replace("{}", "punctual."), &[]).await?, rows::feed)?;
            rotas.retain_mut(|rota| redact::feed(rota, user));
            let (sql, mut statements) = (update(&FEED_PROBLEMS), Vec::new());
            put(&mut statements, db, &sql, &FEED_PROBLEMS, rotas.iter().collect());
            all(statements).await?;
            n += rotas.len() as u64;
            Ok(Redacted { n: usize::try_from(n).unwrap_or(usize::MAX), next: None })
        }
        Record::BadRows => bad_rows(db, user, after).await,
        Record::Journal => journal(db, user, after).await,
    }
}

async fn reminders(db: &Connection<'_>, own: Shards, user: &str, after: &str) -> Result<Redacted, Fault> {
    let after = after.parse::<ReminderId>().map_or_else(|_| Uuid::nil(), uuid);
    let rows = db
        .rows(
            "select r.id from punctual.reminder r where r.id > $1 order by r.id offset $2 - 1 limit 1",
            &[(&after, Type::UUID), (&AT_ONCE, Type::INT8)],
        )
        .await?;
    let until: Option<Uuid> = rows.first().map(|row| get(row, 0)).transpose()?;
    let sql = format!(
        "select {} from punctual.reminder r where r.id > $1 and r.id <= coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff') \
         and r.user_id <> $3 and (strpos(r.metadata, $4) > 0 or strpos(r.escalate, $4) > 0) for update of r",
        rows::REMINDER
    );
    let (name, json) = (clean(user), in_json(user));
    let these: [Param<'_>; 4] = [(&after, Type::UUID), (&until, Type::UUID), (&name, Type::TEXT), (&json, Type::TEXT)];
    let ((), rows) = both(db.begin(BEGIN), db.rows(&sql, &these)).await?;
    let mut found = each(&rows, |row| rows::reminder(&mut Reader::new(row, 0)))?;
    found.retain_mut(|reminder| redact::reminder(reminder, user));
    let n = found.len();
    // They are not found by the words that they had.
    let ids: Vec<Uuid> =
        found.iter().filter(|reminder| reminder.message == ERASED).map(|reminder| uuid(reminder.id)).collect();
    db.execute("delete from punctual.search where reminder_id = any ($1)", &[(&ids, Type::UUID_ARRAY)]).await?;
    let writes = Writes { reminders: found, ..Writes::new(jiff::Timestamp::UNIX_EPOCH) };
    both(write(db, own, &writes), db.commit()).await?;
    Ok(Redacted { n, next: until.map(|id| id.to_string()) })
}

async fn responses(db: &Connection<'_>, user: &str, after: &str) -> Result<Redacted, Fault> {
    let after: i64 = after.parse().unwrap_or(0);
    let rows = db
        .rows(
            "select s.number from punctual.response s where s.number > $1 order by s.number offset $2 - 1 limit 1",
            &[(&after, Type::INT8), (&AT_ONCE, Type::INT8)],
        )
        .await?;
    let until: Option<i64> = rows.first().map(|row| get(row, 0)).transpose()?;
    let sql = format!(
        "select s.number, {} from punctual.response s where s.number > $1 and s.number <= coalesce($2, {}) \
         and (s.user_id = $3 or strpos(s.actor, $3) > 0) for update",
        rows::RESPONSE,
        i64::MAX
    );
    let name = clean(user);
    let these: [Param<'_>; 3] = [(&after, Type::INT8), (&until, Type::INT8), (&name, Type::TEXT)];
    let ((), rows) = both(db.begin(BEGIN), db.rows(&sql, &these)).await?;
    let found = each(&rows, |row| Ok((get::<i64>(row, 0)?, rows::response(&mut Reader::new(row, 1))?)))?;
    let mut n = 0;
    for (number, mut response) in found {
        if redact::response(&mut response, user) {
            n += 1;
            db.execute(
                "update punctual.response set user_id = $2, actor = $3, text = $4, name = $5 where number = $1",
                &[
                    (&number, Type::INT8),
                    (&response.user, Type::TEXT),
                    (&response.actor, Type::TEXT),
                    (&response.said.text, Type::TEXT),
                    (&response.said.name, Type::TEXT),
                ],
            )
            .await?;
        }
    }
    db.commit().await?;
    Ok(Redacted { n, next: until.map(|number| number.to_string()) })
}

async fn silences(db: &Connection<'_>, user: &str) -> Result<Redacted, Fault> {
    let name = clean(user);
    let gone = db.execute("delete from punctual.silence where user_id = $1", &[(&name, Type::TEXT)]).await?;
    let sql = "update punctual.silence set created_by = $2 where created_by = $1";
    let asked = db.execute(sql, &[(&name, Type::TEXT), (&ERASED, Type::TEXT)]).await?;
    Ok(Redacted { n: usize::try_from(gone + asked).unwrap_or(usize::MAX), next: None })
}

async fn answered(db: &Connection<'_>, user: &str, after: &str) -> Result<Redacted, Fault> {
    let rows = db
        .rows(
            "select a.key from punctual.answered a where a.key > $1 order by a.key offset $2 - 1 limit 1",
            &[(&after, Type::TEXT), (&AT_ONCE, Type::INT8)],
        )
        .await?;
    let until: Option<String> = rows.first().map(|row| get(row, 0)).transpose()?;
    let json = in_json(user);
    let n = db
        .execute(
            "delete from punctual.answered a where a.key > $1 and ($2 is null or a.key <= $2) and strpos(a.body, $3) > 0",
            &[(&after, Type::TEXT), (&until, Type::TEXT), (&json, Type::TEXT)],
        )
        .await?;
    Ok(Redacted { n: usize::try_from(n).unwrap_or(usize::MAX), next: until })
}

async fn bad_rows(db: &Connection<'_>, user: &str, after: &str) -> Result<Redacted, Fault> {
    let (run, number) = after_bad(after);
    let run = Uuid::from_bytes(*run.as_bytes());
    let sql = "select run, number, key, field, problem from punctual.watch_bad where (run, number) > ($1, $2) \
               order by run, number limit $3";
    let these: [Param<'_>; 3] = [(&run, Type::UUID), (&number, Type::INT8), (&AT_ONCE, Type::INT8)];
    let (changed, next) = redact_bad(each(&db.rows(sql, &these).await?, watch::bad)?, user);
    let (sql, mut statements) = (update(&BAD), Vec::new());
    put(&mut statements, db, &sql, &BAD, changed.iter().collect());
    all(statements).await?;
    Ok(Redacted { n: changed.len(), next })
}

/// An entry is named by its write and its number in it. A page ends with a whole write.
async fn journal(db: &Connection<'_>, user: &str, after: &str) -> Result<Redacted, Fault> {
    let after: i64 = after.parse().unwrap_or(0);
    let rows = db
        .rows(
            "select j.write from punctual.journal j where j.write > $1 order by j.write offset $2 - 1 limit 1",
            &[(&after, Type::INT8), (&AT_ONCE, Type::INT8)],
        )
        .await?;
    let until: Option<i64> = rows.first().map(|row| get(row, 0)).transpose()?;
    let sql = format!(
        "select j.write, null::text, {ENTRY}, j.item from punctual.journal j where j.write > $1 and j.write <= coalesce($2, {}) \
         and (j.user_id = $3 or strpos(j.actor, $3) > 0 or strpos(j.data, $4) > 0 or strpos(j.data, $5) > 0) for update",
        i64::MAX
    );
    let (name, json, path) = (clean(user), in_json(user), in_path(user));
    let these: [Param<'_>; 5] =
        [(&after, Type::INT8), (&until, Type::INT8), (&name, Type::TEXT), (&json, Type::TEXT), (&path, Type::TEXT)];
    let ((), rows) = both(db.begin(BEGIN), db.rows(&sql, &these)).await?;
    let mut found: Vec<(Placed, i32)> = each(&rows, |row| {
        let item = Reader::new(row, N_ENTRY).number()?;
        Ok((placed(row)?, i32::try_from(item).map_err(|error| StoreError::Broken(error.to_string()))?))
    })?;
    found.retain_mut(|(entry, _)| redact::entry(entry, user));
    if !found.is_empty() {
        let writes: Vec<i64> = found.iter().map(|(entry, _)| entry.position).collect();
        let items: Vec<i32> = found.iter().map(|(_, item)| *item).collect();
        let users: Vec<_> = found.iter().map(|(entry, _)| entry.user.as_deref()).collect();
        let actors: Vec<_> =
            found.iter().map(|(entry, _)| Some(entry.actor.as_str()).filter(|actor| *actor != ENGINE)).collect();
        let data: Vec<_> = found.iter().map(|(entry, _)| entry.data.as_deref()).collect();
        db.execute(
            "update punctual.journal j set user_id = v.user_id, actor = v.actor, data = v.data \
             from unnest($1, $2, $3, $4, $5) as v (write, item, user_id, actor, data) where j.write = v.write and j.item = v.item",
            &[
                (&writes, Type::INT8_ARRAY),
                (&items, Type::INT4_ARRAY),
                (&users, Type::TEXT_ARRAY),
                (&actors, Type::TEXT_ARRAY),
                (&data, Type::TEXT_ARRAY),
            ],
        )
        .await?;
    }
    db.commit().await?;
    Ok(Redacted { n: found.len(), next: until.map(|write| write.to_string()) })
}

/// The column after a position, a node and [`ENTRY`].
const N_ENTRY: usize = 10;
