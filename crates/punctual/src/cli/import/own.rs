//! Moving a file of punctual's own to PostgreSQL.

use std::path::Path;
use std::time::Duration;

use punctual_core::clock::Clock;
use punctual_engine::machine;
use punctual_store::postgres::{AdoptError, Adoption, TableCount};
use punctual_store::sqlite;
use serde_json::json;

use super::progress::Progress;
use super::take::TRY_AGAIN_AFTER;
use super::tally::thousands;
use crate::cli::style::{Paint, Style};
use crate::cli::table::{Cell, Table};
use crate::cli::{Context, Said, Usage, print, print_json};
use crate::config::Database;

/// The file that `source` names, if it is one of punctual's own.
pub(super) fn file(source: &str) -> anyhow::Result<Option<&Path>> {
    let Some(path) = source.strip_prefix("sqlite:") else { return Ok(None) };
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    match path.exists() && sqlite::is_ours(path)? {
        true => Ok(Some(path)),
        false => Ok(None),
    }
}

pub(super) async fn run(path: &Path, into: Option<&str>, applies: bool, context: &Context) -> anyhow::Result<()> {
    let missing =
        || Usage(format!("{} is punctual's own: say where to move it with --database postgres://…", path.display()));
    let url = match Database::parse(into.ok_or_else(missing)?) {
        Ok(Database::Postgres { url, .. }) => url,
        Ok(Database::Sqlite(_)) => {
            return Err(Usage("--database: write postgres://…; a file is moved by copying it".into()).into());
        }
        Err(problem) => return Err(Usage(format!("--database: {problem}")).into()),
    };
    let machine = machine();
    let mut adoption = Adoption::open(path, url.expose(), !applies, &machine)?;
    if applies {
        adoption.prepare().await?;
    }
    let before = adoption.counts().await?;
    let mut seconds = 0.0;
    let mut after = None;
    if applies {
        let n_reminders = before.iter().find(|count| count.table == "reminder").map_or(0, |count| count.in_file);
        let mut progress = Progress::begin("moving", n_reminders);
        let copied = copy(&mut adoption, &mut progress, &*machine.clock).await;
        seconds = progress.end();
        copied.map_err(|error| {
            anyhow::Error::from(error).context("it was cut off; the same command goes on from there")
        })?;
        after = Some(adoption.counts().await?);
    }
    let database = adoption.database();
    let counts = after.as_ref().unwrap_or(&before);
    let is_whole = after.iter().flatten().all(|count| count.in_database >= count.in_file);
    if context.json {
        let tables = counts.iter().map(|count| {
            json!({ "table": count.table, "file": count.in_file, "database": count.in_database, "copied": count.copied })
        });
        print_json(&json!({
            "file": path.display().to_string(), "database": database, "dry_run": !applies, "seconds": seconds,
            "tables": tables.collect::<Vec<_>>(),
        }))?;
    } else {
        print(&format!("{} to {database}\n\n{}\n", path.display(), table(counts, applies, context.paint)))?;
        print(&format!("{}\n", closing(counts, applies, is_whole, seconds)))?;
    }
    if is_whole { Ok(()) } else { Err(Said.into()) }
}

async fn copy(adoption: &mut Adoption, progress: &mut Progress, clock: &dyn Clock) -> Result<(), AdoptError> {
    let mut waits = TRY_AGAIN_AFTER.into_iter();
    loop {
        match adoption.step().await {
            Ok(Some(n_reminders)) => {
                waits = TRY_AGAIN_AFTER.into_iter();
                progress.advance(n_reminders);
            }
            Ok(None) => return adoption.announce().await,
            Err(AdoptError::Lost(why)) => {
                let Some(seconds) = waits.next() else { return Err(AdoptError::Lost(why)) };
                progress.say(&format!("{why}; trying again in {seconds} s"));
                clock.pause(Duration::from_secs(seconds)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn table(counts: &[TableCount], applies: bool, paint: Paint) -> String {
    let mut table = match applies {
        true => Table::new(&["TABLE", "FILE", "COPIED", "DATABASE"]),
        false => Table::new(&["TABLE", "FILE", "DATABASE"]),
    };
    for count in counts {
        let mut row = vec![Cell::plain(count.table), Cell::plain(&thousands(count.in_file))];
        if applies {
            row.push(Cell::plain(&thousands(count.copied)));
        }
        let style = if applies && count.in_database < count.in_file { Style::Red } else { Style::Plain };
        row.push(Cell::new(&thousands(count.in_database), style));
        table.push(row);
    }
    table.render(paint)
}

fn closing(counts: &[TableCount], applies: bool, is_whole: bool, seconds: f64) -> String {
    let copied: u64 = counts.iter().map(|count| count.copied).sum();
    match (applies, is_whole) {
        (false, _) => {
            "Nothing was written. With --apply everything is copied; no server may use the file meanwhile.".into()
        }
        (true, false) => {
            "The database has fewer rows than the file. Servers that use it may have removed old history; \
                          if none does, run it again."
                .into()
        }
        (true, true) if copied == 0 => "Nothing was copied: everything is there already.".into(),
        (true, true) => format!(
            "Everything is there, after {seconds:.1} s. Start servers with --database postgres://… now, and none with the \
             file: what it still has to say would be said twice."
        ),
    }
}
