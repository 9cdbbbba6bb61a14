//! One statement for many rows.
//!
//! SQLite takes a table of values as parameters: `WITH v (a, b) AS (VALUES (?, ?), (?, ?), …)`. Statements are prepared
//! for a few fixed numbers of rows and kept, so a batch of any size is a handful of executions.

use punctual_core::store::StoreError;
use rusqlite::types::ToSql;
use rusqlite::{CachedStatement, Connection, Row, StatementStatus};

use super::row::broken;

/// The numbers of rows statements are prepared for, largest first. Larger ones than this are no faster, and take memory.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// Where a row's values go, one after the other.
pub(super) struct Values<'s, 'c> {
    statement: &'s mut CachedStatement<'c>,
    n_bound: usize,
    failed: Option<rusqlite::Error>,
}

impl Values<'_, '_> {
    /// The next value of the row.
    pub(super) fn push(&mut self, value: impl ToSql) {
        self.n_bound += 1;
        if let Err(error) = self.statement.raw_bind_parameter(self.n_bound, value) {
            self.failed.get_or_insert(error);
        }
    }
}

/// Runs `sql`, in which `{values}` stands for the rows of `n_columns` values, over all `rows`; hands every returned row to
/// `each`. What is the same for all rows is a column, too: a text that changed with every batch could not be kept prepared.
pub(super) fn for_rows<'a, T>(
    db: &Connection,
    sql: &str,
    n_columns: usize,
    rows: &'a [T],
    bind: impl Fn(&'a T, &mut Values<'_, '_>),
    mut each: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let row = format!("({})", vec!["?"; n_columns].join(","));
    let mut rest = rows;
    for size in SIZES {
        if rest.len() < size {
            continue;
        }
        let text = sql.replace("{values}", &vec![row.as_str(); size].join(","));
        let mut statement = db.prepare_cached(&text).map_err(broken)?;
        while rest.len() >= size {
            let (now, later) = rest.split_at(size);
            rest = later;
            let mut values = Values { statement: &mut statement, n_bound: 0, failed: None };
            for row in now {
                bind(row, &mut values);
            }
            debug_assert_eq!(values.n_bound, n_columns * size, "one value for each column: {sql}");
            if let Some(error) = values.failed {
                return Err(broken(error));
            }
            let mut returned = statement.raw_query();
            while let Some(row) = returned.next().map_err(broken)? {
                each(row)?;
            }
            drop(returned);
            // A table that is scanned for a handful of rows is fast in every test and hopeless with a million.
            debug_assert!(
                statement.reset_status(StatementStatus::FullscanStep) < i32::try_from(size).unwrap_or(i32::MAX),
                "a table is scanned: {sql}"
            );
        }
    }
    Ok(())
}
