//! How many rows became what.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::style::{Paint, Style, neutral};
use crate::cli::table::{Cell, Table};

/// How many problems are shown one by one.
const PROBLEMS_SHOWN: usize = 10;

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It is a reminder now, or would be.
    Created,
    /// The same, and it waits to be resumed.
    CreatedPaused,
    /// It was imported before.
    Exists,
    /// It was imported before, and has another message, time or user there now.
    Differs,
    /// The same, and it was changed here now.
    ChangedHere,
    /// It is over there, and was imported before it ended: here it is still to come.
    StillActive,
    /// It is in the table no more, and here it is still to come.
    Gone,
    /// It ended or is gone there, and was cancelled here now.
    CancelledHere,
    /// It is not taken.
    LeftOut,
    /// It cannot be a reminder.
    Refused,
}

/// One row that needs somebody's eyes.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) key: String,
    pub(super) column: String,
    pub(super) detail: String,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By the state there, what became of it, and why.
    counts: BTreeMap<(Fate, String, String), u64>,
    problems: Vec<Problem>,
    n_problems: u64,
    pub(super) n_rows: u64,
}

impl Tally {
    pub(super) fn count(&mut self, state: &str, fate: Fate, why: &str) {
        // A reminder that is gone there is no row.
        self.n_rows += u64::from(state != "gone");
        *self.counts.entry((fate, state.to_owned(), why.to_owned())).or_default() += 1;
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.n_problems += 1;
        if self.problems.len() < PROBLEMS_SHOWN {
            self.problems.push(problem);
        }
    }

    pub(super) fn total(&self, fate: Fate) -> u64 {
        self.counts.iter().filter(|((of, _, _), _)| *of == fate).map(|(_, n)| n).sum()
    }

    pub(super) fn n_created(&self) -> u64 {
        self.total(Fate::Created) + self.total(Fate::CreatedPaused)
    }

    pub(super) fn render(&self, applies: bool, paint: Paint) -> String {
        let mut table = Table::new(&["ROWS", "THERE", "HERE"]);
        for ((fate, state, why), n) in &self.counts {
            let (words, style) = words(*fate, applies);
            let said = if why.is_empty() { words.to_owned() } else { format!("{words}: {why}") };
            table.push(vec![Cell::plain(&thousands(*n)), Cell::plain(state), Cell::new(&said, style)]);
        }
        let mut text = table.render(paint);
        if !self.problems.is_empty() {
            text.push('\n');
        }
        for problem in &self.problems {
            let line = format!("row {}: {}: {}", problem.key, problem.column, problem.detail);
            text.push_str(&format!("{}\n", neutral(&line)));
        }
        if self.n_problems > self.problems.len() as u64 {
            text.push_str(&format!("… and {} more\n", thousands(self.n_problems - self.problems.len() as u64)));
        }
        text
    }

    pub(super) fn json(&self, applies: bool) -> Value {
        let rows: Vec<Value> = self
            .counts
            .iter()
            .map(|((fate, state, why), n)| json!({ "state": state, "fate": fate.name(applies), "why": why, "rows": n }))
            .collect();
        let problem =
            |problem: &Problem| json!({ "key": problem.key, "column": problem.column, "detail": problem.detail });
        json!({
            "rows": self.n_rows,
            "created": if applies { self.n_created() } else { 0 },
            "new": if applies { 0 } else { self.n_created() },
            "exists": self.total(Fate::Exists) + self.total(Fate::Differs) + self.total(Fate::ChangedHere),
            "differs": self.total(Fate::Differs),
            "left_out": self.total(Fate::LeftOut),
            "refused": self.total(Fate::Refused),
            "still_active": self.total(Fate::StillActive),
            "gone": self.total(Fate::Gone),
            "changed": self.total(Fate::ChangedHere),
            "cancelled": self.total(Fate::CancelledHere),
            "by_state": rows,
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

impl Fate {
    fn name(self, applies: bool) -> &'static str {
        match self {
            Self::Created if applies => "created",
            Self::Created => "new",
            Self::CreatedPaused if applies => "created_paused",
            Self::CreatedPaused => "new_paused",
            Self::Exists => "exists",
            Self::Differs => "differs",
            Self::ChangedHere => "changed",
            Self::StillActive => "still_active",
            Self::Gone => "gone",
            Self::CancelledHere => "cancelled",
            Self::LeftOut => "left_out",
            Self::Refused => "refused",
        }
    }
}

fn words(fate: Fate, applies: bool) -> (&'static str, Style) {
    match fate {
        Fate::Created if applies => ("created", Style::Green),
        Fate::Created => ("would be created", Style::Green),
        Fate::CreatedPaused if applies => ("created, paused", Style::Green),
        Fate::CreatedPaused => ("would be created, paused", Style::Green),
        Fate::Exists => ("imported before", Style::Plain),
        Fate::Differs => ("imported before, and differs now", Style::Yellow),
        Fate::ChangedHere => ("changed here, too", Style::Yellow),
        Fate::Gone => ("imported before, still to come here", Style::Yellow),
        Fate::StillActive => ("imported before, still to come here", Style::Yellow),
        Fate::CancelledHere => ("cancelled here, too", Style::Yellow),
        Fate::LeftOut => ("left out", Style::Dim),
        Fate::Refused => ("cannot be imported", Style::Red),
    }
}

/// A number with a mark at every thousand.
pub(in crate::cli) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
