//! Bringing the database up to date without serving it.

use anyhow::anyhow;
use punctual_engine::machine;
use punctual_store::{postgres, sqlite};
use serde_json::json;

use super::{Global, client_runtime, print, print_json, wait_for};
use crate::config::{Database, Flags};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// sqlite:PATH or postgres://… [env: PUNCTUAL_DATABASE_URL] [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let flags: Flags = args.database.iter().map(|url| ("database", url.clone())).collect();
    let database = global.config(flags)?.database;
    let (from, to) = match &database {
        Database::Sqlite(path) if !path.exists() => {
            return Err(anyhow!("there is no database at {database}; `punctual serve` makes one"));
        }
        Database::Sqlite(path) => {
            let report = sqlite::migrate(path)?;
            (report.from, report.to)
        }
        Database::Postgres { url, .. } => {
            let report = wait_for(client_runtime()?, postgres::migrate(url.expose(), &machine()))?;
            (report.from, report.to)
        }
    };
    if global.json {
        return print_json(&json!({ "database": database.to_string(), "from": from, "to": to }));
    }
    print(&match from == to {
        true => format!("{database} is up to date, at version {to}\n"),
        false => format!("{database} went from version {from} to {to}\n"),
    })
}
