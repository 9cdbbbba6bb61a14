//! Watches of a program's own tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use punctual_core::clock::Machine;
use punctual_core::invalid::Invalid;
use punctual_engine::DefinedWatch;
use punctual_store::watched;
use toml::Value;

use crate::config::watch_of;

/// A table of the program's own, and what is said of its rows. It has the fields of a watch in the config file, and the same defaults: it looks
/// every hour for rows that are due within a day and were not reminded of within a day.
#[derive(Clone)]
pub struct Watch {
    fields: BTreeMap<String, Value>,
}

impl Watch {
    /// Over the database at `url`: `postgres://…` or `sqlite:PATH`.
    pub fn over(url: impl Into<String>) -> Self {
        Self { fields: BTreeMap::new() }.with("database", url.into())
    }

    /// The table.
    #[must_use]
    pub fn table(self, name: &str) -> Self {
        self.with("table", name.to_owned())
    }

    /// The column that names a row.
    #[must_use]
    pub fn key(self, column: &str) -> Self {
        self.with("key", column.to_owned())
    }

    /// The column that says when a row is due.
    #[must_use]
    pub fn due(self, column: &str) -> Self {
        self.with("due", column.to_owned())
    }

    /// The column in which a row is marked; without it the watch keeps a ledger.
    #[must_use]
    pub fn sent(self, column: &str) -> Self {
        self.with("sent", column.to_owned())
    }

    /// The column that says whom to remind.
    #[must_use]
    pub fn user(self, column: &str) -> Self {
        self.with("user", column.to_owned())
    }

    /// What to say, with columns in it: `{title} is due {due}`.
    #[must_use]
    pub fn message(self, text: &str) -> Self {
        self.with("message", text.to_owned())
    }

    /// When to look, as a cron expression.
    #[must_use]
    pub fn cron(self, expr: &str) -> Self {
        self.with("cron", expr.to_owned())
    }

    /// How far ahead a row may be due.
    #[must_use]
    pub fn window(self, span: Duration) -> Self {
        self.with("window", punctual_core::span::format(span))
    }

    /// How long after a reminder the same row is reminded of again.
    #[must_use]
    pub fn again_after(self, span: Duration) -> Self {
        self.with("again_after", punctual_core::span::format(span))
    }

    /// Any other field of a watch in the config file, such as `where` or `tags`.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// The watch under this name. Nothing is opened yet.
    pub(super) fn defined(&self, name: &str, machine: &Machine) -> Result<DefinedWatch, Invalid> {
        let config = watch_of(name, &self.fields.clone().into_iter().collect())?;
        let watch = Arc::new(config.watch);
        let source = watched::open(config.url.expose(), Arc::clone(&watch), machine);
        Ok(DefinedWatch { source: source.map_err(|problem| Invalid::new("database", problem))?, watch })
    }
}
