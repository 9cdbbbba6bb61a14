//! Reading the journal: which entries a reader wants, and how far a page looks, once for every store.

use punctual_core::id::ReminderId;
use punctual_core::journal::{ENGINE, Placed};
use punctual_core::store::{JournalPage, JournalQuery, KnownDuty, LOOKED_AT_MAX, Start, StoreError};

use crate::columns::Value;
use crate::rows::{Fields, Reader};

/// The columns of an entry `j`, after its position and its node.
pub(crate) const ENTRY: &str = "j.at, j.kind, j.actor, j.via, j.user_id, j.reminder_id, j.run, j.data";

/// Reads a position, a node and [`ENTRY`].
pub(crate) fn placed<F: Fields>(row: &F) -> Result<Placed, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok(Placed {
        position: from.number()?,
        node: from.maybe_owned()?,
        at: from.at()?,
        kind: from.owned()?,
        actor: from.maybe_text()?.unwrap_or(ENGINE).to_owned(),
        via: from.maybe_owned()?,
        user: from.maybe_owned()?,
        reminder: from.maybe_id()?,
        run: from.maybe_count()?,
        data: from.maybe_owned()?,
    })
}

/// Reads a duty's name, its node, its position and its note.
pub(crate) fn known_duty<F: Fields>(row: &F) -> Result<KnownDuty, StoreError> {
    let mut from = Reader::new(row, 0);
    let (name, node) = (from.owned()?, from.maybe_owned()?);
    Ok(KnownDuty { name, node, position: from.number()?, note: from.maybe_owned()? })
}

/// Conditions on an entry `j`, each with ` and ` before it, and the values in them. `mark` stands before the number of a value, and `tags` is
/// the table of reminders by their tags.
pub(crate) fn wanted<'a>(query: &'a JournalQuery, mark: char, tags: &str) -> (String, Vec<Value<'a>>) {
    let JournalQuery { start: _, reminder, user, kinds, actor, via, tag, from, to, limit: _ } = query;
    let (mut sql, mut values) = (String::new(), Vec::new());
    let compared = [
        ("j.reminder_id =", reminder.as_ref().map(ReminderId::as_bytes).map(Value::from)),
        ("j.user_id =", user.as_deref().map(Value::from)),
        ("coalesce(j.actor, 'engine') =", actor.as_deref().map(Value::from)),
        ("j.via =", via.as_deref().map(Value::from)),
        ("j.at >=", from.map(Value::from)),
        ("j.at <", to.map(Value::from)),
    ];
    for (compared, value) in compared {
        let Some(value) = value else { continue };
        values.push(value);
        sql.push_str(&format!(" and {compared} {mark}{}", values.len()));
    }
    if let Some(tag) = tag {
        values.push(Value::from(tag.as_str()));
        let n = values.len();
        sql.push_str(&format!(
            " and exists (select 1 from {tags} t where t.tag = {mark}{n} and t.reminder_id = j.reminder_id)"
        ));
    }
    if !kinds.is_empty() {
        let words: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
        sql.push_str(&format!(" and j.kind in ({})", words.join(", ")));
    }
    (sql, values)
}

/// The positions that a page looks at, both included, when the journal has `first` to `head`. A reader who asks for one reminder's
/// entries finds them by an index, and looks at no others.
pub(crate) fn stretch(query: &JournalQuery, first: i64, head: i64) -> (i64, i64) {
    let most = if query.reminder.is_some() { i64::MAX } else { LOOKED_AT_MAX as i64 };
    match query.start {
        Start::After(after) => {
            let from = after.saturating_add(1).max(first);
            (from, head.min(from.saturating_add(most - 1)))
        }
        Start::Before(before) => {
            let to = before.saturating_sub(1).min(head);
            (first.max(to.saturating_sub(most - 1)), to)
        }
    }
}

/// The page of `entries` that were found in a stretch, by a reader who wants nothing before `oldest`, in a journal that has
/// `first` to `head`.
pub(crate) fn page(
    query: &JournalQuery,
    entries: Vec<Placed>,
    (from, to): (i64, i64),
    oldest: i64,
    (first, head): (i64, i64),
) -> JournalPage {
    let full_at = entries.last().filter(|_| entries.len() >= query.limit).map(|last| last.position);
    let (reached, is_last) = match query.start {
        Start::After(after) => {
            let reached = full_at.unwrap_or(to).max(after);
            (reached, reached >= head)
        }
        Start::Before(before) => {
            let reached = full_at.unwrap_or(from).min(before);
            (reached, reached <= oldest)
        }
    };
    JournalPage { entries, reached, is_last, head, first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(position: i64) -> Placed {
        let (kind, actor) = ("reminder.sent".to_owned(), ENGINE.to_owned());
        let (via, node, user, reminder, run, data) = (None, None, None, None, None, None);
        Placed { position, at: jiff::Timestamp::UNIX_EPOCH, kind, actor, via, node, user, reminder, run, data }
    }

    /// Where a page starts, the first position and the head; the stretch that is looked at, and the entries found there; how far it got, and
    /// if that is all.
    type Row<'a> = (Start, i64, i64, (i64, i64), &'a [i64], i64, bool);

    #[test]
    fn a_page_says_how_far_it_got() {
        const MOST: i64 = LOOKED_AT_MAX as i64;
        let rows: [Row<'_>; 9] = [
            (Start::OLDEST, 1, 0, (1, 0), &[], 0, true),
            (Start::OLDEST, 1, 9, (1, 9), &[4], 9, true),
            (Start::OLDEST, 1, 9, (1, 9), &[4, 7], 7, false),
            (Start::After(3), 7, 9, (7, 9), &[8, 9], 9, true),
            (Start::After(12), 1, 9, (13, 9), &[], 12, true),
            (Start::OLDEST, 1, MOST + 5, (1, MOST), &[], MOST, false),
            (Start::NEWEST, 1, 9, (1, 9), &[4], 1, true),
            (Start::NEWEST, 1, 9, (1, 9), &[9, 7], 7, false),
            (Start::Before(MOST + 9), 1, MOST + 20, (9, MOST + 8), &[], 9, false),
        ];
        for (start, first, head, expect, found, reached, is_last) in rows {
            let query = JournalQuery::new(start, 2);
            let found = found.iter().map(|position| entry(*position)).collect();
            assert_eq!(stretch(&query, first, head), expect, "{start:?} of {first} to {head}");
            let page = page(&query, found, expect, first, (first, head));
            assert_eq!((page.reached, page.is_last), (reached, is_last), "{start:?} of {first} to {head}");
        }
    }
}
