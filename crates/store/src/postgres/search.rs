//! Finding reminders by what became of them, and by words in their text.

use std::borrow::Cow;

use async_trait::async_trait;
use punctual_core::id::ReminderId;
use punctual_core::store::{
    FailedQuery, FailedRun, Filled, FindQuery, Hits, Index, IndexText, ReminderQuery, Search, StoreError,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::batch::{BEGIN, BEGIN_READ_IN_ORDER};
use super::fault::Fault;
use super::pipeline::{all3, all4, both};
use super::pool::{Connection, Param};
use super::read::{self, each};
use super::row::{clean, int, micros, uuid};
use super::{PostgresStore, duty};
use crate::rows::{self, Reader};

/// How many of the newest texts are compared with the words before the index is asked: a common word is found among them at once. They stand
/// side by side.
const NEWEST: i64 = 10_000;
/// Those of one user stand far apart: each is a page of the table.
const NEWEST_OF_USER: i64 = 1000;
/// So many more are compared where the newest say that the page is full by then: finding every text with a common word costs more.
const COMPARED_MAX: i64 = 50_000;
/// So many of one user, also where their newest have nothing, and the word is a common one: the index would find everybody's.
const COMPARED_OF_USER_MAX: i64 = 10_000;
/// A word is common that stands in so many of everybody's newest texts, of so many.
const COMMON: (i64, i64) = (40, 2000);
/// How far back the index is asked at first; then ten times as far, and so on. It finds in no order, so all that it finds is fetched.
const WINDOW: i64 = 100_000;
/// And how many times as far the next time.
const WINDOW_GROWS: i64 = 10;
/// Begins a transaction that finds rows by the index of groups of letters, whatever the statistics say.
const BEGIN_BY_GROUPS: &str = "begin isolation level repeatable read, read only; set local jit = off; set local enable_seqscan = off; \
    set local enable_indexscan = off; set local enable_indexonlyscan = off";
/// What to do about a database without the extension.
const NO_EXTENSION: &str =
    "search needs PostgreSQL's extension pg_trgm: as the owner of the database run: create extension pg_trgm";

#[async_trait]
impl Search for PostgresStore {
    async fn failed_runs(&self, query: FailedQuery) -> Result<Vec<FailedRun>, StoreError> {
        on!(self, Normal, reads: true, db => failed_runs(&db, &query))
    }

    async fn looks_to(&self, query: ReminderQuery) -> Result<Option<ReminderId>, StoreError> {
        on!(self, Normal, reads: true, db => read::looks_to(&db, &query))
    }

    async fn prepare_search(&self) -> Result<(), StoreError> {
        on!(self, Patient, reads: false, db => prepare(&db))
    }

    async fn filled(&self) -> Result<Filled, StoreError> {
        on!(self, Normal, reads: true, db => filled(&db))
    }

    async fn ids_after(&self, after: Option<ReminderId>, limit: usize) -> Result<Vec<ReminderId>, StoreError> {
        on!(self, Normal, reads: true, db => ids_after(&db, after, limit))
    }

    async fn index(&self, index: Index) -> Result<(), StoreError> {
        on!(self, Normal, reads: false, db => write_index(&db, &index))
    }

    async fn find(&self, query: FindQuery) -> Result<Hits, StoreError> {
        on!(self, Normal, reads: true, db => find(&db, &query))
    }
}

/// Makes the index of groups of letters where the extension is there, and the extension where this role may.
async fn prepare(db: &Connection<'_>) -> Result<(), Fault> {
    let look = "select to_regclass('punctual.search_trigrams') is not null, \
        (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm')";
    let found = each(&db.rows(look, &[]).await?, |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.flag()?, from.maybe_owned()?))
    })?;
    match found.into_iter().next() {
        Some((true, _)) => Ok(()),
        Some((false, Some(schema))) => {
            // Only the writer of the index waits for it.
            let sql = format!(
                "create index if not exists search_trigrams on punctual.search using gin (text {schema}.gin_trgm_ops)"
            );
            db.batch(&sql).await
        }
        _ => Err(StoreError::Missing(NO_EXTENSION.to_owned()).into()),
    }
}

async fn filled(db: &Connection<'_>) -> Result<Filled, Fault> {
    let state = each(&db.rows("select is_filled, filled_to from punctual.search_state", &[]).await?, |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.flag()?, from.maybe_id()?))
    })?;
    Ok(match state.first() {
        Some((true, _)) => Filled::Whole,
        Some((false, Some(to))) => Filled::To(*to),
        _ => Filled::Nothing,
    })
}

async fn ids_after(db: &Connection<'_>, after: Option<ReminderId>, limit: usize) -> Result<Vec<ReminderId>, Fault> {
    let (after, limit) = (after.map_or(Uuid::nil(), uuid), i64::try_from(limit).unwrap_or(i64::MAX));
    let params: [Param<'_>; 2] = [(&after, Type::UUID), (&limit, Type::INT8)];
    let ids = db.rows("select r.id from punctual.reminder r where r.id > $1 order by r.id limit $2", &params);
    let ((), found, ()) = all3(db.begin(BEGIN_READ_IN_ORDER), ids, db.commit()).await?;
    each(&found, |found| Reader::new(found, 0).id())
}

async fn write_index(db: &Connection<'_>, index: &Index) -> Result<(), Fault> {
    db.begin(BEGIN).await?;
    if let Some(kept) = &index.kept
        && !duty::keep(db, kept).await?
    {
        return Err(StoreError::LeaseLost.into());
    }
    if !index.texts.is_empty() {
        write_texts(db, &index.texts).await?;
    }
    if let Some(filled) = &index.filled {
        let (is_filled, to) = match filled {
            Filled::Nothing => (false, None),
            Filled::To(to) => (false, Some(uuid(*to))),
            Filled::Whole => (true, None),
        };
        let params: [Param<'_>; 2] = [(&is_filled, Type::BOOL), (&to, Type::UUID)];
        db.execute("update punctual.search_state set is_filled = $1, filled_to = $2", &params).await?;
    }
    db.commit().await
}

async fn write_texts(db: &Connection<'_>, texts: &[IndexText]) -> Result<(), Fault> {
    let ids: Vec<Uuid> = texts.iter().map(|text| uuid(text.reminder)).collect();
    let users: Vec<_> = texts.iter().map(|text| clean(&text.user)).collect();
    let words: Vec<_> = texts.iter().map(|text| clean(&text.text)).collect();
    let params: [Param<'_>; 3] = [(&ids, Type::UUID_ARRAY), (&users, Type::TEXT_ARRAY), (&words, Type::TEXT_ARRAY)];
    // Whoever is removing one of them comes before or after this: nothing of it is left in the index.
    db.execute(
        "insert into punctual.search (reminder_id, user_id, text) \
         select v.id, v.user_id, v.text from unnest($1, $2, $3) with ordinality as v (id, user_id, text, n) \
         join (select r.id from punctual.reminder r where r.id = any ($1) order by r.id for key share) as r on r.id = v.id order by v.n \
         on conflict (reminder_id) do update set text = excluded.text where punctual.search.text <> excluded.text",
        &params,
    )
    .await?;
    Ok(())
}

async fn find(db: &Connection<'_>, query: &FindQuery) -> Result<Hits, Fault> {
    let mut looking = Looking::new(query);
    let is_of_user = looking.user.is_some();
    // No index finds a short word, so many texts are compared with it at once.
    let n_newest = if is_of_user && !query.words.is_short() { NEWEST_OF_USER } else { NEWEST };
    let (user, pattern) = (looking.user.clone(), looking.pattern.clone());
    let (ready, ()) = both(ready(db, user.as_deref(), &pattern), looking.compare(db, n_newest)).await?;
    // Where only the index is missing, it is about to be made.
    let (has_index, is_common) = match ready {
        Ready::Without => return Err(StoreError::Missing(NO_EXTENSION.to_owned()).into()),
        Ready::With { has_index, is_common } => (has_index, is_common),
    };
    if !has_index || query.words.is_short() {
        return Ok(looking.hits());
    }
    let n_found = i64::try_from(looking.list.len()).unwrap_or(i64::MAX);
    let n_max = if is_of_user { COMPARED_OF_USER_MAX } else { COMPARED_MAX };
    // Twice as many as the page should need.
    let n_needed = looking.rest().saturating_mul(n_newest).saturating_mul(2).checked_div(n_found).unwrap_or(i64::MAX);
    if n_needed <= n_max {
        looking.compare(db, n_needed).await?;
    } else if is_of_user && is_common {
        looking.compare(db, n_max).await?;
    }
    // The index finds those of one user apart from the others.
    let mut window = if is_of_user { i64::MAX } else { WINDOW };
    while looking.may_find_more() {
        looking.by_groups(db, window).await?;
        window = window.saturating_mul(WINDOW_GROWS);
    }
    Ok(looking.hits())
}

/// Whether words can be found.
enum Ready {
    /// The extension is missing.
    Without,
    /// It is there, and maybe the index; the words may be common among the newest texts of everybody.
    With { has_index: bool, is_common: bool },
}

async fn ready(db: &Connection<'_>, user: Option<&str>, pattern: &str) -> Result<Ready, Fault> {
    let (n_common, n_newest) = COMMON;
    let sql = format!(
        "select to_regclass('punctual.search_trigrams') is not null, \
           exists (select from pg_extension e where e.extname = 'pg_trgm'), \
           (select count(*) from (select s.text from punctual.search s where $1::text is not null \
              order by s.number desc limit {n_newest}) as s where s.text like $2) >= {n_common}"
    );
    let params: [Param<'_>; 2] = [(&user, Type::TEXT), (&pattern, Type::TEXT)];
    let ready = each(&db.rows(&sql, &params).await?, |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.flag()?, from.flag()?, from.flag()?))
    })?;
    Ok(match ready.first() {
        Some((has_index, true, is_common)) => Ready::With { has_index: *has_index, is_common: *is_common },
        _ => Ready::Without,
    })
}

/// A search on its way from the newest texts to the oldest.
struct Looking<'a> {
    user: Option<Cow<'a, str>>,
    of_user: &'static str,
    pattern: String,
    limit: usize,
    list: Vec<(i64, ReminderId)>,
    /// The texts from there on were looked at; none when all were.
    looked_to: Option<i64>,
}

impl<'a> Looking<'a> {
    fn new(query: &'a FindQuery) -> Self {
        let escaped = query.words.as_str().replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
        let user = query.user.as_deref().map(clean);
        Self {
            of_user: if user.is_some() { "and s.user_id = $1" } else { "and $1::text is null" },
            user,
            pattern: format!("%{escaped}%"),
            limit: query.limit,
            list: Vec::new(),
            looked_to: Some(query.before.unwrap_or(i64::MAX)),
        }
    }

    fn rest(&self) -> i64 {
        i64::try_from(self.limit.saturating_sub(self.list.len())).unwrap_or(i64::MAX)
    }

    fn may_find_more(&self) -> bool {
        self.rest() > 0 && self.looked_to.is_some()
    }

    fn hits(self) -> Hits {
        let is_full = self.list.len() >= self.limit;
        let more_before = if is_full { self.list.last().map(|(place, _)| *place) } else { self.looked_to };
        Hits { list: self.list, more_before }
    }

    /// Compares the next `n` texts with the words, one by one.
    async fn compare(&mut self, db: &Connection<'_>, n: i64) -> Result<(), Fault> {
        let Some(before) = self.looked_to.filter(|_| self.rest() > 0) else { return Ok(()) };
        let (of_user, rest) = (self.of_user, self.rest());
        let of: [Param<'_>; 3] = [(&self.user, Type::TEXT), (&before, Type::INT8), (&n, Type::INT8)];
        let with_words: [Param<'_>; 5] =
            [of[0].clone(), of[1].clone(), of[2].clone(), (&self.pattern, Type::TEXT), (&rest, Type::INT8)];
        let newest = format!(
            "select s.number, s.reminder_id from (select s.number, s.reminder_id, s.text from punctual.search s \
             where s.number < $2 {of_user} order by s.number desc limit $3) as s where s.text like $4 order by s.number desc limit $5"
        );
        let last = format!(
            "select s.number from punctual.search s where s.number < $2 {of_user} order by s.number desc limit 1 offset $3 - 1"
        );
        let ((), found, last, ()) =
            all4(db.begin(BEGIN_READ_IN_ORDER), db.rows(&newest, &with_words), db.rows(&last, &of), db.commit())
                .await?;
        self.list.extend(each(&found, hit)?);
        // Where fewer were there, that was all.
        self.looked_to = each(&last, |found| Reader::new(found, 0).number())?.pop();
        Ok(())
    }

    /// Asks the index of groups of letters for what stands in the next `window` places.
    async fn by_groups(&mut self, db: &Connection<'_>, window: i64) -> Result<(), Fault> {
        let Some(before) = self.looked_to else { return Ok(()) };
        let (from, rest) = (before.saturating_sub(window).max(0), self.rest());
        let sql = format!(
            "select s.number, s.reminder_id from punctual.search s where s.text like $3 and s.number < $2 {} {} \
             order by s.number desc limit $4",
            self.of_user,
            if from > 0 { format!("and s.number >= {from}") } else { String::new() }
        );
        let params: [Param<'_>; 4] =
            [(&self.user, Type::TEXT), (&before, Type::INT8), (&self.pattern, Type::TEXT), (&rest, Type::INT8)];
        let ((), found, ()) = all3(db.begin(BEGIN_BY_GROUPS), db.rows(&sql, &params), db.commit()).await?;
        self.list.extend(each(&found, hit)?);
        self.looked_to = Some(from).filter(|from| *from > 0);
        Ok(())
    }
}

/// A place of the index, and its reminder.
fn hit(found: &Row) -> Result<(i64, ReminderId), StoreError> {
    let mut from = Reader::new(found, 0);
    Ok((from.number()?, from.id()?))
}

async fn failed_runs(db: &Connection<'_>, query: &FailedQuery) -> Result<Vec<FailedRun>, Fault> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut wheres = String::new();
    let mut values: Vec<(Box<dyn ToSql + Sync + Send>, Type)> =
        vec![(Box::new(micros(query.since)), Type::TIMESTAMPTZ), (Box::new(limit), Type::INT8)];
    let mut add = |sql: &str, value: Box<dyn ToSql + Sync + Send>, kind: Type| {
        values.push((value, kind));
        wheres.push_str(&sql.replace("{}", &format!("${}", values.len())));
    };
    if let Some(after) = query.after {
        add(" and (o.reminder_id, o.run) > ({}", Box::new(uuid(after.reminder)), Type::UUID);
        add(", {})", Box::new(int(after.run)), Type::INT4);
    }
    if let Some(user) = &query.user {
        add(" and r.user_id = {}", Box::new(clean(user).into_owned()), Type::TEXT);
    }
    if let Some(tag) = &query.tag {
        let is_tagged =
            " and exists (select from punctual.reminder_tag t where t.tag = {} and t.reminder_id = o.reminder_id)";
        add(is_tagged, Box::new(clean(tag).into_owned()), Type::TEXT);
    }
    if let Some(channel) = &query.channel {
        let is_tried = " and exists (select from punctual.attempt a \
            where a.reminder_id = o.reminder_id and a.run = o.run and a.channel = {})";
        add(is_tried, Box::new(clean(channel).into_owned()), Type::TEXT);
    }
    let sql = format!(
        "select o.reminder_id, o.run, r.on_unknown, (select json_agg(distinct a.channel)::text from punctual.attempt a \
           where a.reminder_id = o.reminder_id and a.run = o.run and a.status = 'unknown') \
         from punctual.occurrence o join punctual.reminder r on r.id = o.reminder_id \
         where o.state = 'failed' and o.at >= $1 and {}{wheres} order by o.reminder_id, o.run limit $2",
        rows::CAN_BE_RESENT
    );
    let params: Vec<Param<'_>> =
        values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
    let ((), found, ()) = all3(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &params), db.commit()).await?;
    each(&found, |found| rows::failed_run(&mut Reader::new(found, 0)))
}
