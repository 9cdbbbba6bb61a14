//! How transactions over many rows begin, and how they name their rows.

use punctual_core::id::OccurrenceId;
use uuid::Uuid;

use super::row::{int, uuid};

/// Begins a transaction that writes.
///
/// A node that stops in the middle of one, with its machine or by SIGSTOP, holds locks that others would step around for
/// ever; the server ends its transaction instead, after a second and a half in which the node said nothing. A statement that the
/// server itself takes long for does not count, and a node that was only slow does it again. The trigger keeps quiet: [`super::tell`] says what others must know.
pub(super) const BEGIN: &str =
    "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500";

/// Makes the rest of the transaction find rows by the keys it is given, one by one.
///
/// A statement over a batch begins with the rows it is given and finds each in its table by primary key. Left to itself the
/// planner does so only while its statistics are right. After a bulk load, a burst, or a night of pruning they say that a
/// table has one row, or that none is `processing`; then it walks the whole table and compares each row with all that were
/// given. That is quick in every test, and took 29 s for a settle of 10,000 among 1,000,000 rows that were last analysed
/// before the claim; by key it takes 0.18 s. Turning off whole-table scans is not enough: it walks an index from end to end
/// instead. So index scans are off as well, and what is left is a bitmap scan, which needs a key. JIT is off because the cost
/// of what is off would start it. `tests/postgres_plans.rs` holds it.
pub(super) const BY_KEY: &str = "set local jit = off; set local enable_seqscan = off; set local enable_indexscan = off; \
    set local enable_bitmapscan = on; set local enable_hashjoin = off; set local enable_mergejoin = off";

/// Begins a transaction over a batch.
pub(super) const BEGIN_BY_KEY: &str = "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500; set local jit = off; \
    set local enable_seqscan = off; set local enable_indexscan = off; set local enable_hashjoin = off; \
    set local enable_mergejoin = off";

/// Begins a transaction whose first statement takes the first few of an index, in its order. Whatever the statistics say, it
/// stops when it has enough, and never gathers and sorts what it will not take.
pub(super) const BEGIN_IN_ORDER: &str = "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500; \
    set local jit = off; set local enable_seqscan = off; set local enable_bitmapscan = off";

/// The same for reading, all of it at one moment.
pub(super) const BEGIN_READ_IN_ORDER: &str = "begin isolation level repeatable read, read only; set local jit = off; \
    set local enable_seqscan = off; set local enable_bitmapscan = off";

/// Begins a transaction that sees one moment of the database, and fails when what it writes has changed since.
pub(super) const BEGIN_SNAPSHOT: &str = "begin isolation level repeatable read; set local punctual.quiet = on; \
    set local idle_in_transaction_session_timeout = 1500";

/// The same over a batch.
pub(super) const BEGIN_SNAPSHOT_BY_KEY: &str = "begin isolation level repeatable read; set local punctual.quiet = on; \
    set local idle_in_transaction_session_timeout = 1500; set local jit = off; set local enable_seqscan = off; \
    set local enable_indexscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off";

/// Begins a transaction that reads, all of it at one moment.
pub(super) const BEGIN_READ: &str = "begin isolation level repeatable read, read only";

/// The names of occurrences, as two columns. In the order of their names, so that two transactions over the same rows
/// wait for each other instead of each holding what the other needs.
pub(super) struct Ids {
    pub(super) reminders: Vec<Uuid>,
    pub(super) runs: Vec<i32>,
}

impl FromIterator<OccurrenceId> for Ids {
    fn from_iter<I: IntoIterator<Item = OccurrenceId>>(ids: I) -> Self {
        let (reminders, runs) = ids.into_iter().map(|id| (uuid(id.reminder), int(id.run))).unzip();
        Self { reminders, runs }
    }
}
