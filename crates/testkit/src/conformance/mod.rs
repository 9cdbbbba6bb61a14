//! The behaviour every store must show, written once.
//!
//! A store's own tests show [`every_rule`] on a new store, each as a test of its own, and [`every_rule_on_tables`] where it has tables.
//! A new rule about stores starts here; a function that no list names is dead code, which the compiler refuses.

mod desk;
mod tables;

use std::sync::Arc;

use punctual_core::clock::BoxFuture;
use punctual_core::store::Store;

use desk::Desk;

/// One rule, which an empty store can show.
#[derive(Clone, Copy)]
pub struct Rule {
    name: &'static str,
    show: fn(Desk) -> BoxFuture<()>,
}

impl Rule {
    /// Shows the rule on an empty store.
    ///
    /// # Panics
    /// When the store breaks it.
    pub async fn show(self, store: Arc<dyn Store>) {
        (self.show)(Desk::new(store)).await;
    }
}

/// Runs one statement on the tables of a store, in which `{user}`, `{reminder}`, `{occurrence}` and `{response}` stand for their names; returns the
/// first column of its rows.
pub type Sql = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// One rule that an empty store can show when its tables are at hand.
#[derive(Clone, Copy)]
pub struct TableRule {
    name: &'static str,
    show: fn(Desk, Sql) -> BoxFuture<()>,
}

impl TableRule {
    /// Shows the rule on an empty store.
    ///
    /// # Panics
    /// When the store breaks it.
    pub async fn show(self, store: Arc<dyn Store>, sql: Sql) {
        (self.show)(Desk::new(store), sql).await;
    }
}

/// Every rule that needs the tables, and its name.
pub fn every_rule_on_tables() -> impl Iterator<Item = (String, TableRule)> {
    tables::RULES.iter().map(|rule| (format!("tables::{}", rule.name), *rule))
}

/// Makes a table of rules out of async functions.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        pub(super) const RULES: &[super::Rule] =
            &[$(super::Rule { name: stringify!($rule), show: |desk| Box::pin($rule(desk)) }),+];
    };
}

/// Names the files that have rules, each once.
macro_rules! files {
    ($($file:ident),+ $(,)?) => {
        $(mod $file;)+
        const FILES: &[(&str, &[Rule])] = &[$((stringify!($file), $file::RULES)),+];
    };
}
files!(
    creates,
    reads,
    overview,
    claims,
    leases,
    settles,
    misfires,
    answers,
    commands,
    undo,
    resend,
    search,
    keeping,
    conditions,
    groups,
    calendars,
    silences,
    asked,
    addresses,
    quiet,
    alerts,
    journal,
    inbound,
    escalations,
    events,
    watches,
    wholes
);

/// Every rule and its name, such as `claims::the_earliest_comes_first`.
pub fn every_rule() -> impl Iterator<Item = (String, Rule)> {
    FILES.iter().flat_map(|(file, rules)| rules.iter().map(move |rule| (format!("{file}::{}", rule.name), *rule)))
}
