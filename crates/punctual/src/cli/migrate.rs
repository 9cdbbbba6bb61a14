//! Bringing the database up to date without serving it.

use anyhow::anyhow;
use punctual_store::sqlite;
use serde_json::json;

use super::{Global, print, print_json};
use crate::config::Flags;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// sqlite:PATH [env: PUNCTUAL_DATABASE_URL] [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let flags: Flags = args.database.iter().map(|url| ("database", url.clone())).collect();
    let path = global.config(flags)?.database;
    if !path.exists() {
        return Err(anyhow!("there is no database at {}; `punctual serve` makes one", path.display()));
    }
    let report = sqlite::migrate(&path)?;
    if global.json {
        return print_json(&json!({ "database": path, "from": report.from, "to": report.to }));
    }
    print(&match report.from == report.to {
        true => format!("{} is up to date, at version {}\n", path.display(), report.to),
        false => format!("{} went from version {} to {}\n", path.display(), report.from, report.to),
    })
}
