//! A row of another system's table, by the names its kind has for the columns.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_core::zone::Zone;

use punctual_core::rules::instant;

/// Which column is where.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The table's columns, in order.
    pub(super) columns: Vec<String>,
    /// Where the kind's fields are among them.
    fields: BTreeMap<&'static str, usize>,
    /// The zone of instants that name none.
    zone: Zone,
}

impl Layout {
    pub(super) fn new(columns: Vec<String>, fields: BTreeMap<&'static str, usize>, zone: Zone) -> Self {
        Self { columns, fields, zone }
    }

    /// The place of a column, or of a field by the kind's name for it.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name).or_else(|| self.fields.get(name).copied())
    }

    /// The zone of instants that name none.
    pub(super) fn zone(&self) -> &Zone {
        &self.zone
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// The column a field is read from.
    pub(super) fn column(&self, field: &'static str) -> &str {
        self.fields.get(field).map_or(field, |index| self.columns[*index].as_str())
    }
}

/// Why a row cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bad {
    /// The column that is to blame.
    pub(super) column: String,
    /// What is wrong with it.
    pub(super) problem: String,
}

impl Bad {
    pub(super) fn new(column: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { column: column.into(), problem: problem.into() }
    }
}

/// One row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) layout: &'a Layout,
    values: &'a [Option<String>],
}

impl<'a> Row<'a> {
    pub(super) fn new(layout: &'a Layout, values: &'a [Option<String>]) -> Self {
        Self { layout, values }
    }

    /// The value at a place; none is NULL.
    pub(super) fn value(&self, index: usize) -> Option<&'a str> {
        self.values.get(index)?.as_deref()
    }

    /// A field's text; none when it is NULL, empty, or not in the table.
    pub(super) fn text(&self, field: &str) -> Option<&'a str> {
        self.value(*self.layout.fields.get(field)?).filter(|text| !text.is_empty())
    }

    pub(super) fn need(&self, field: &'static str) -> Result<&'a str, Bad> {
        self.text(field).ok_or_else(|| self.bad(field, "is empty"))
    }

    pub(super) fn instant(&self, field: &'static str) -> Result<Option<Timestamp>, Bad> {
        let Some(text) = self.text(field) else { return Ok(None) };
        instant::read(text, &self.layout.zone).map(Some).map_err(|problem| self.bad(field, problem))
    }

    pub(super) fn need_instant(&self, field: &'static str) -> Result<Timestamp, Bad> {
        self.instant(field)?.ok_or_else(|| self.bad(field, "is empty"))
    }

    pub(super) fn boolean(&self, field: &'static str) -> Result<Option<bool>, Bad> {
        let Some(text) = self.text(field) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "yes" | "y" | "on" => Ok(Some(true)),
            "false" | "f" | "0" | "no" | "n" | "off" => Ok(Some(false)),
            _ => Err(self.bad(field, format!("`{text}` is neither true nor false"))),
        }
    }

    pub(super) fn number(&self, field: &'static str) -> Result<Option<i64>, Bad> {
        let Some(text) = self.text(field) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| self.bad(field, format!("`{text}` is no whole number")))
    }

    /// The problem with a field, by the name of its column.
    pub(super) fn bad(&self, field: &'static str, problem: impl Into<String>) -> Bad {
        Bad::new(self.layout.column(field), problem)
    }
}
