//! The tables that are understood, and how one is told from another.

use std::collections::BTreeMap;

use super::map::{Mapped, Wishes};
use super::row::{Bad, Row};
use super::{calls, jobs, notification_schedule, v2_reminders};
use crate::cli::Usage;

/// A kind of table.
pub(super) struct Kind {
    /// Its name.
    pub(super) name: &'static str,
    /// What tables of this kind are usually called.
    pub(super) tables: &'static [&'static str],
    /// What is read of it.
    pub(super) fields: &'static [Field],
    /// Whose a reminder is, unless `--user` says otherwise: the first of these whose columns are there.
    pub(super) users: &'static [&'static str],
    /// What it says, unless `--message` says otherwise.
    pub(super) messages: &'static [&'static str],
    /// What a row means.
    pub(super) map: fn(&Row<'_>, &Wishes) -> Result<Mapped, Bad>,
    /// Whether, and when, the other system sent what a row asks for.
    pub(super) sent: fn(&Row<'_>) -> Result<Sent, Bad>,
}

/// What a row says about a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Whether it was sent.
    pub(super) was_sent: bool,
    /// When it was due.
    pub(super) due_at: Option<jiff::Timestamp>,
    /// When it was sent, where the table says so.
    pub(super) sent_at: Option<jiff::Timestamp>,
}

/// Something that is read of a row.
pub(super) struct Field {
    /// What it is called here.
    pub(super) name: &'static str,
    /// What its column may be called.
    columns: &'static [&'static str],
    /// Whether a table without it is of another kind.
    is_needed: bool,
}

pub(super) const fn need(name: &'static str, columns: &'static [&'static str]) -> Field {
    Field { name, columns, is_needed: true }
}

pub(super) const fn want(name: &'static str, columns: &'static [&'static str]) -> Field {
    Field { name, columns, is_needed: false }
}

/// All kinds, the most particular first.
pub(super) const KINDS: &[&Kind] = &[&v2_reminders::KIND, &notification_schedule::KIND, &jobs::KIND, &calls::KIND];

/// The kind of this name.
pub(super) fn named(name: &str) -> Result<&'static Kind, Usage> {
    let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    KINDS
        .iter()
        .copied()
        .find(|kind| kind.name == name)
        .ok_or_else(|| Usage(format!("--kind: `{name}` is no kind of table; there are {}", known())))
}

impl Kind {
    /// Where each field is among `columns`; else what is missing. `renamed` says which column a field really has.
    pub(super) fn fields_in(
        &self,
        columns: &[String],
        renamed: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<&'static str, usize>, Vec<&'static str>> {
        let place = |name: &str| columns.iter().position(|column| column == name);
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for field in self.fields {
            let at = match renamed.get(field.name) {
                Some(column) => place(column),
                None => field.columns.iter().find_map(|column| place(column)),
            };
            match at {
                Some(index) => {
                    found.insert(field.name, index);
                }
                None if field.is_needed => missing.push(field.name),
                None => {}
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(missing) }
    }
}

/// The kind that `columns` are of; else what is missing to be of the nearest.
pub(super) fn detect(
    columns: &[String],
    renamed: &BTreeMap<String, String>,
) -> Result<&'static Kind, (&'static Kind, Vec<&'static str>)> {
    let mut nearest: Option<(&'static Kind, Vec<&'static str>)> = None;
    for kind in KINDS.iter().copied() {
        match kind.fields_in(columns, renamed) {
            Ok(_) => return Ok(kind),
            Err(missing) => {
                let share = |kind: &Kind, missing: &[&str]| missing.len() * 100 / kind.fields.len();
                if nearest.as_ref().is_none_or(|(near, least)| share(kind, &missing) < share(near, least)) {
                    nearest = Some((kind, missing));
                }
            }
        }
    }
    Err(nearest.unwrap_or((KINDS[0], Vec::new())))
}
