//! Finding reminders by what became of them, and by words in their text.

use async_trait::async_trait;
use punctual_core::id::ReminderId;
use punctual_core::rules::search::Words;
use punctual_core::store::{FailedQuery, FailedRun, Filled, FindQuery, Hits, Index, ReminderQuery, Search, StoreError};
use rusqlite::types::ToSql;
use rusqlite::{Connection, params, params_from_iter};

use super::read::{self, collect};
use super::row::{broken, get, micros};
use super::worker::Urgency;
use super::{SqliteStore, duty};
use crate::rows::{self, Fields, Reader};

/// How many texts a look at the index compares with the words.
const LOOKED_AT_MAX: usize = 20_000;
/// How many it compares where the words are too short for the index.
const LOOKED_AT_ONE_BY_ONE_MAX: usize = 10_000;

#[async_trait]
impl Search for SqliteStore {
    async fn failed_runs(&self, query: FailedQuery) -> Result<Vec<FailedRun>, StoreError> {
        self.read(move |db| failed_runs(db, &query)).await
    }

    async fn looks_to(&self, query: ReminderQuery) -> Result<Option<ReminderId>, StoreError> {
        self.read(move |db| read::looks_to(db, &query)).await
    }

    async fn prepare_search(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn filled(&self) -> Result<Filled, StoreError> {
        self.read(filled).await
    }

    async fn ids_after(&self, after: Option<ReminderId>, limit: usize) -> Result<Vec<ReminderId>, StoreError> {
        self.read(move |db| {
            let after = after.map_or(Vec::new(), |after| after.as_bytes().to_vec());
            let sql = "SELECT id FROM reminder WHERE id > ? ORDER BY id LIMIT ?";
            collect(db, sql, params![after, limit], |found| Fields::id(found, 0))
        })
        .await
    }

    async fn index(&self, index: Index) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| write_index(db, &index)).await
    }

    async fn find(&self, query: FindQuery) -> Result<Hits, StoreError> {
        self.read(move |db| find(db, &query)).await
    }
}

fn filled(db: &Connection) -> Result<Filled, StoreError> {
    let state = collect(db, "SELECT is_filled, filled_to FROM search_state", [], |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.flag()?, from.maybe_id()?))
    })?;
    Ok(match state.first() {
        Some((true, _)) => Filled::Whole,
        Some((false, Some(to))) => Filled::To(*to),
        _ => Filled::Nothing,
    })
}

fn write_index(db: &Connection, index: &Index) -> Result<(), StoreError> {
    if let Some(kept) = &index.kept
        && !duty::keep(db, kept)?
    {
        return Err(StoreError::LeaseLost);
    }
    for text in &index.texts {
        db.prepare_cached(
            "INSERT INTO search_text (reminder_id, user_id, text) SELECT id, ?2, ?3 FROM reminder WHERE id = ?1 \
             ON CONFLICT (reminder_id) DO UPDATE SET text = excluded.text WHERE text <> excluded.text",
        )
        .map_err(broken)?
        .execute(params![text.reminder.as_bytes(), text.user, kept_text(&text.user, &text.text)])
        .map_err(broken)?;
    }
    let (is_filled, to) = match &index.filled {
        None => return Ok(()),
        Some(Filled::Nothing) => (false, None),
        Some(Filled::To(to)) => (false, Some(to.as_bytes())),
        Some(Filled::Whole) => (true, None),
    };
    db.prepare_cached("UPDATE search_state SET is_filled = ?, filled_to = ?")
        .map_err(broken)?
        .execute(params![is_filled, to])
        .map_err(broken)?;
    Ok(())
}

fn find(db: &Connection, query: &FindQuery) -> Result<Hits, StoreError> {
    let before = query.before.unwrap_or(i64::MAX);
    let user = query.user.as_deref();
    if query.words.is_short() {
        let Some(user) = user else { return Ok(Hits::default()) };
        let sql =
            "SELECT number, reminder_id, text FROM search_text WHERE user_id = ?1 AND number < ?2 ORDER BY number DESC";
        return hits(db, sql, params![user, before], query, LOOKED_AT_ONE_BY_ONE_MAX, |_| Ok(true));
    }
    // The index walks its own lists backwards, and ends when nobody asks for more.
    let sql = "SELECT t.number, t.reminder_id, t.text, t.user_id FROM search CROSS JOIN search_text t ON t.number = search.rowid \
        WHERE search MATCH ?1 AND search.rowid < ?2 ORDER BY search.rowid DESC";
    let is_theirs = |found: &rusqlite::Row<'_>| {
        let owner: String = get(found, 3)?;
        Ok(user.is_none_or(|user| user == owner))
    };
    hits(db, sql, params![groups(&query.words, user), before], query, LOOKED_AT_MAX, is_theirs)
}

/// Reads rows of a place, a reminder and a text until there are enough that have the words, or `looked_at_max` were looked at.
fn hits(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    query: &FindQuery,
    looked_at_max: usize,
    is_wanted: impl Fn(&rusqlite::Row<'_>) -> Result<bool, StoreError>,
) -> Result<Hits, StoreError> {
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    let mut rows = statement.query(params).map_err(broken)?;
    let (mut hits, mut n_looked_at) = (Hits::default(), 0);
    while let Some(row) = rows.next().map_err(broken)? {
        let place: i64 = get(row, 0)?;
        if hits.list.len() >= query.limit || n_looked_at >= looked_at_max {
            hits.more_before = Some(place + 1);
            return Ok(hits);
        }
        n_looked_at += 1;
        let has_words =
            row.get_ref(2).map_err(broken)?.as_str().map_err(rows::impossible)?.contains(query.words.as_str());
        if has_words && is_wanted(row)? {
            hits.list.push((place, Fields::id(row, 1)?));
        }
    }
    Ok(hits)
}

/// A text as the index has it: with three letters for its owner, which nobody writes. So the texts of one user are found without looking at
/// those of all others.
fn kept_text(user: &str, text: &str) -> String {
    format!("{}\n{text}", owner(user))
}

/// Three letters for a user, from Unicode's private use area; a few users may have the same.
fn owner(user: &str) -> String {
    let hash = user
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let letter = |shift: u32| char::from_u32(0xe000 + (hash >> shift) as u32 % 6400).unwrap_or('\u{e000}');
    [letter(0), letter(20), letter(40)].iter().collect()
}

/// What the index is asked for: that a text has each of these groups of three letters.
fn groups(words: &Words, user: Option<&str>) -> String {
    let quoted = |group: String| format!("\"{}\"", group.replace('"', "\"\""));
    let all: Vec<String> = user.map(owner).into_iter().chain(words.groups()).map(quoted).collect();
    all.join(" AND ")
}

fn failed_runs(db: &Connection, query: &FailedQuery) -> Result<Vec<FailedRun>, StoreError> {
    let mut wheres = String::new();
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(micros(query.since)), Box::new(query.limit)];
    let mut add = |sql: &str, value: Box<dyn ToSql>| {
        values.push(value);
        wheres.push_str(&format!(" AND {}", sql.replace("{}", &format!("?{}", values.len()))));
    };
    if let Some(after) = query.after {
        // One stretch of the index; the runs of this reminder that were listed are left out.
        add("o.reminder_id >= {}", Box::new(after.reminder.as_bytes().to_vec()));
        add("(o.reminder_id > {} OR", Box::new(after.reminder.as_bytes().to_vec()));
        add("o.run > {})", Box::new(after.run));
    }
    if let Some(user) = &query.user {
        add("r.user_id = {}", Box::new(user.clone()));
    }
    if let Some(tag) = &query.tag {
        add(
            "EXISTS (SELECT 1 FROM reminder_tag t WHERE t.tag = {} AND t.reminder_id = o.reminder_id)",
            Box::new(tag.clone()),
        );
    }
    if let Some(channel) = &query.channel {
        let tried =
            "EXISTS (SELECT 1 FROM attempt a WHERE a.reminder_id = o.reminder_id AND a.run = o.run AND a.channel = {})";
        add(tried, Box::new(channel.clone()));
    }
    let wheres = wheres.replace("OR AND", "OR");
    let sql = format!(
        "SELECT o.reminder_id, o.run, r.on_unknown, (SELECT json_group_array(DISTINCT a.channel) FROM attempt a \
           WHERE a.reminder_id = o.reminder_id AND a.run = o.run AND a.status = 'unknown') \
         FROM occurrence o INDEXED BY occurrence_failed CROSS JOIN reminder r ON r.id = o.reminder_id \
         WHERE o.state = 'failed' AND o.at >= ?1 AND {}{wheres} ORDER BY o.reminder_id, o.run LIMIT ?2",
        rows::CAN_BE_RESENT
    );
    collect(db, &sql, params_from_iter(values.iter()), |found| rows::failed_run(&mut Reader::new(found, 0)))
}
