//! What a store completes once it has counted, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::collections::HashMap;

use common::at;
use common::said::{check, written};
use punctual_core::id::ReminderId;
use punctual_core::reminder::ReminderStatus;
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::writes::{Moved, completed};

/// A row: its name, the reminders that may be over, how many runs of some are open, and what is written.
type Row<'a> = (&'a str, &'a [Moved], &'a [(u8, u32)], &'a [&'a str]);

#[test]
fn what_is_completed_once_its_open_runs_are_counted() {
    let id = |letter: u8| ReminderId::new(at(0), [letter; 10]);
    let over = |letter| Moved {
        reminder: id(letter),
        status: ReminderStatus::Active,
        changed_at: None,
        progress: Progress { series: Series { last_run: 9, carried_by: None, planned: 9 }, tally: Tally::default() },
    };
    let rows: [Row<'_>; 4] = [
        ("nothing to count", &[], &[], &[]),
        ("no run is open", &[over(1)], &[(1, 0)], &["reminder completed: carried by none, last run 9, 9 planned"]),
        ("a run is open", &[over(1)], &[(1, 1)], &[]),
        (
            "a reminder that is not among the counts has no open run",
            &[over(1), over(2), over(3)],
            &[(2, 3)],
            &[
                "reminder completed: carried by none, last run 9, 9 planned",
                "reminder c completed: carried by none, last run 9, 9 planned",
            ],
        ),
    ];
    for (name, uncounted, n_open, expect) in rows {
        let n_open: HashMap<_, _> = n_open.iter().map(|(letter, n_open)| (id(*letter), *n_open)).collect();
        check(name, "written", &written(&completed(uncounted, &n_open, at(5))), expect);
    }
}
