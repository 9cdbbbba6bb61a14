//! The functions that other clients call in SQL, and those that these and the triggers are made of.
//!
//! The text of each stands in `functions/NAME.sql`, and is put in place when it has changed, in the transaction and under the lock
//! of the migrations. Nodes of two versions share one database while they are replaced one by one: a program puts its text
//! over that of an older program, and leaves that of a newer one. Two builds of one version, which only developers have, cannot
//! tell which of them is newer: the one that was started last has its text in place, and says so. A node looks only when it starts.

use std::cmp::Ordering;

use tokio_postgres::Row;

use super::fault::Fault;
use super::pool::Connection;
use super::row::get;

macro_rules! functions {
    ($($name:ident)*) => {
        &[$((stringify!($name), include_str!(concat!("functions/", stringify!($name), ".sql")))),*]
    };
}

/// Each function's name and text. One function's text may call any other.
const FUNCTIONS: &[(&str, &str)] = functions! {
    actor admit blanks cancel check_address check_days check_escalate check_instant check_path check_reach check_tags check_template
    check_text check_url check_word compact draft end_open event_changed instant_text lock_event lock_scope marked micros new_id
    occurrence_deleted occurrence_inserted occurrence_updated offset_list offset_seconds place_writes put_event put_instance
    put_scope refuse remind reminder_tagged reminder_unsearched remove_event remove_scope route_of scope_changed span_millis span_nanos take_turns tell
    unplaced write_reminders zone_name
};

/// The version of a program: major, minor, patch.
type Program = [i32; 3];

/// The text of the functions: this program's, or the one in place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    program: Program,
    hash: String,
}

/// What is to be done about the functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Todo {
    /// They have this program's text.
    Nothing,
    /// They have another, and this program's comes in its place.
    Put(Instead),
    /// They have that of a newer program, which stays.
    Leave,
}

/// Whose text this program's takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instead {
    /// There is none: the schema has just been made.
    Nothing,
    /// An older program's.
    Older,
    /// That of another build of this version.
    OtherBuild,
}

/// Looks at what is in place, without changing it. The table must be there.
pub(super) async fn todo(db: &Connection<'_>) -> Result<Todo, Fault> {
    let rows = db.rows("select program, hash from punctual.functions order by program desc limit 1", &[]).await?;
    let text = |row: &Row| {
        let program: Vec<i32> = get(row, 0)?;
        let part = |index: usize| program.get(index).copied().unwrap_or(0);
        Ok::<_, Fault>(Text { program: [part(0), part(1), part(2)], hash: get(row, 1)? })
    };
    Ok(decide(rows.first().map(text).transpose()?.as_ref(), &ours()))
}

fn decide(found: Option<&Text>, ours: &Text) -> Todo {
    match found {
        None => Todo::Put(Instead::Nothing),
        Some(found) if found.hash == ours.hash => Todo::Nothing,
        Some(found) => match found.program.cmp(&ours.program) {
            Ordering::Less => Todo::Put(Instead::Older),
            Ordering::Equal => Todo::Put(Instead::OtherBuild),
            Ordering::Greater => Todo::Leave,
        },
    }
}

/// Whether this role may put functions in place: the owner of the schema may.
pub(super) async fn may_put(db: &Connection<'_>) -> Result<bool, Fault> {
    let owner = "select pg_has_role(nspowner, 'usage') from pg_namespace where nspname = 'punctual'";
    let rows = db.rows(owner, &[]).await?;
    Ok(rows.first().map_or(Ok(false), |row| get(row, 0))?)
}

/// Puts this program's text in place. The caller has begun a transaction that no other node's migration can run beside.
pub(super) async fn put(db: &Connection<'_>) -> Result<(), Fault> {
    db.batch(&put_sql(FUNCTIONS, &ours())).await
}

fn put_sql(functions: &[(&str, &str)], text: &Text) -> String {
    let names: Vec<String> = functions.iter().map(|(name, _)| format!("'{name}'")).collect();
    let texts: Vec<String> = functions.iter().map(|(_, text)| format!("$text${text}$text$")).collect();
    let [major, minor, patch] = text.program;
    include_str!("functions.sql")
        .replace("NAMES", &names.join(", "))
        .replace("PROGRAM", &format!("{major}, {minor}, {patch}"))
        .replace("HASH", &text.hash)
        .replace("TEXTS", &texts.join(",\n"))
}

fn ours() -> Text {
    let mut program = Program::default();
    for (part, number) in program.iter_mut().zip(env!("CARGO_PKG_VERSION").split(['.', '-', '+'])) {
        *part = number.parse().unwrap_or(0);
    }
    Text { program, hash: hash(FUNCTIONS) }
}

/// FNV-1a over all names and texts. Nobody gains by making two texts alike, so it need not be a cryptographic one.
fn hash(functions: &[(&str, &str)]) -> String {
    let bytes = functions.iter().flat_map(|(name, text)| [name.as_bytes(), b"\0", text.as_bytes(), b"\0"]).flatten();
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_put_in_place_and_holds_the_function_it_is_named_after() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/functions");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".sql", ""))
            .collect();
        files.sort_unstable();
        assert_eq!(FUNCTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), files);
        for (name, text) in FUNCTIONS {
            let made: Vec<&str> = text.split("create or replace function ").skip(1).collect();
            assert!(made.len() == 1 && made[0].starts_with(&format!("punctual.{name}(")), "{name}");
            assert!(!text.contains("$text$") && !text.contains("$put$"), "{name} quotes as `put_sql` does");
        }
    }

    #[test]
    fn an_older_program_leaves_the_functions_of_a_newer_one() {
        let text = |program: Program, hash: &str| Text { program, hash: hash.to_owned() };
        let ours = text([1, 4, 2], "b");
        for (found, todo) in [
            (None, Todo::Put(Instead::Nothing)),
            (Some(text([1, 4, 2], "b")), Todo::Nothing),
            (Some(text([1, 4, 2], "a")), Todo::Put(Instead::OtherBuild)),
            (Some(text([1, 4, 1], "a")), Todo::Put(Instead::Older)),
            (Some(text([1, 3, 9], "a")), Todo::Put(Instead::Older)),
            (Some(text([0, 9, 9], "a")), Todo::Put(Instead::Older)),
            (Some(text([1, 4, 3], "a")), Todo::Leave),
            (Some(text([1, 10, 0], "a")), Todo::Leave),
            (Some(text([2, 0, 0], "a")), Todo::Leave),
            // A newer program with the same functions.
            (Some(text([2, 0, 0], "b")), Todo::Nothing),
        ] {
            assert_eq!(decide(found.as_ref(), &ours), todo, "{found:?}");
        }
    }

    #[test]
    fn the_hash_changes_with_any_name_or_text() {
        let one = hash(&[("a", "text"), ("b", "more")]);
        assert_eq!(one, hash(&[("a", "text"), ("b", "more")]));
        for other in [[("a", "text"), ("c", "more")], [("a", "texT"), ("b", "more")], [("b", "more"), ("a", "text")]] {
            assert_ne!(one, hash(&other));
        }
    }
}
