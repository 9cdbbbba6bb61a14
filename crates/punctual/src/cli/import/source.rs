//! Another system's table, found and understood.

use std::collections::BTreeMap;

use punctual_core::zone::Zone;
use punctual_engine::machine;
use punctual_store::foreign::{Foreign, ForeignTable};

use super::kind::{self, KINDS, Kind};
use super::row::Layout;
use crate::cli::Usage;
use crate::config::process_env;

/// Where another system's reminders are.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SourceArgs {
    /// postgres://…, sqlite:PATH, or a file that punctual export has written [env: PUNCTUAL_IMPORT_SOURCE]
    #[arg(value_name = "SOURCE")]
    pub(in crate::cli) source: Option<String>,
    /// The table; for PostgreSQL also SCHEMA.TABLE [default: the one that is known]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// What kind of table it is: v2_reminders, notification_schedule, scheduled_jobs or calls [default: as its columns say]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// A column that is called differently, such as deliver_at=due
    #[arg(long, value_name = "FIELD=COLUMN")]
    map: Vec<String>,
    /// The zone of instants there that name none
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, default_value = "UTC")]
    source_tz: String,
    /// What the source is called here, in ids and metadata; a calendar that comes again under the same name moves and adds
    /// [default: TABLE@DATABASE, of a calendar the file's name]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
}

/// A table whose rows can be understood.
pub(in crate::cli) struct Source {
    pub(super) database: Foreign,
    pub(super) table: ForeignTable,
    pub(super) kind: &'static Kind,
    pub(super) layout: Layout,
    /// What it is called in ids and metadata.
    pub(super) name: String,
}

impl SourceArgs {
    /// The source that was named. It may hold a password.
    pub(in crate::cli) fn url(&self) -> Result<String, Usage> {
        let missing =
            || Usage("SOURCE: is missing; write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH".into());
        self.source.clone().or_else(|| process_env("PUNCTUAL_IMPORT_SOURCE")).ok_or_else(missing)
    }

    /// Opens the source and finds out what its table is.
    pub(in crate::cli) async fn open(&self) -> anyhow::Result<Source> {
        let renamed = self.renamed()?;
        let zone =
            Zone::named(&self.source_tz).map_err(|invalid| Usage(format!("--source-tz: {}", invalid.problem)))?;
        let asked = self.kind.as_deref().map(kind::named).transpose()?;
        let database = match Foreign::open(&self.url()?, &machine()).await {
            Err(punctual_store::foreign::ForeignError::Url(why)) => return Err(Usage(format!("SOURCE: {why}")).into()),
            opened => opened?,
        };
        let table = self.table(&database).await?;
        let kind = match asked {
            Some(kind) => kind,
            None => {
                kind::detect(&table.columns, &renamed).map_err(|(kind, missing)| unknown(&table, kind, &missing))?
            }
        };
        let fields = kind.fields_in(&table.columns, &renamed).map_err(|missing| unknown(&table, kind, &missing))?;
        let wrong = renamed.iter().find(|(field, column)| {
            !kind.fields.iter().any(|known| known.name == field.as_str()) || !table.columns.contains(column)
        });
        if let Some((field, column)) = wrong {
            let fields = kind.fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
            let columns = table.columns.join(", ");
            return Err(Usage(format!(
                "--map {field}={column}: a {} has the fields {fields}, and {} has the columns {columns}",
                kind.name, table.name
            ))
            .into());
        }
        let layout = Layout::new(table.columns.clone(), fields, zone);
        let name = self.name.clone().unwrap_or_else(|| format!("{}@{}", table.name, database.name()));
        Ok(Source { database, table, kind, layout, name })
    }

    /// The table that was named, or the only one that is known.
    async fn table(&self, database: &Foreign) -> anyhow::Result<ForeignTable> {
        if let Some(name) = &self.table {
            return match database.table(name).await? {
                Some(table) => Ok(table),
                None => {
                    let there = listed(&database.tables().await?);
                    Err(Usage(format!("--table: {} has no table `{name}`; {there}", database.shown())).into())
                }
            };
        }
        let mut known: Vec<&str> = KINDS.iter().flat_map(|kind| kind.tables.iter().copied()).collect();
        known.sort_unstable();
        known.dedup();
        let mut found = Vec::new();
        for name in known {
            if let Some(table) = database.table(name).await? {
                found.push(table);
            }
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => {
                let there = listed(&database.tables().await?);
                let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
                let shown = database.shown();
                Err(Usage(format!(
                    "{shown} has no table of a known name; {there}; name one with --table, and one of {known} with --kind"
                ))
                .into())
            }
            _ => {
                let names = found.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", ");
                Err(Usage(format!("{} has several: {names}; name one with --table", database.shown())).into())
            }
        }
    }

    fn renamed(&self) -> Result<BTreeMap<String, String>, Usage> {
        let pair = |text: &String| match text.split_once('=') {
            Some((field, column)) if !field.is_empty() && !column.is_empty() => {
                Ok((field.to_owned(), column.to_owned()))
            }
            _ => Err(Usage(format!("--map: `{text}` is not FIELD=COLUMN, such as deliver_at=due"))),
        };
        self.map.iter().map(pair).collect()
    }
}

fn unknown(table: &ForeignTable, kind: &Kind, missing: &[&str]) -> Usage {
    Usage(format!(
        "the table {} has no column for {} of a {}; its columns are {}; say which is which with --map {}=COLUMN, or name \
         another --kind",
        table.name,
        missing.join(", "),
        kind.name,
        table.columns.join(", "),
        missing.first().copied().unwrap_or("id"),
    ))
}

fn listed(tables: &[String]) -> String {
    const SHOWN_MAX: usize = 20;
    match tables.len() {
        0 => "it has no tables that can be seen".into(),
        n if n > SHOWN_MAX => format!("there are {}, and {} more", tables[..SHOWN_MAX].join(", "), n - SHOWN_MAX),
        _ => format!("there are {}", tables.join(", ")),
    }
}
