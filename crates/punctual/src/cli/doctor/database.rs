//! The database, looked at without changing it.

use std::io::Read;
use std::path::Path;

use punctual_engine::machine;
use punctual_store::{postgres, sqlite};

use super::Check;
use crate::config::Database;

/// Older ones can corrupt a database in WAL mode.
const SQLITE_MIN: [u32; 3] = [3, 51, 3];

pub(super) async fn check(database: &Database) -> Vec<Check> {
    match database {
        Database::Sqlite(path) => file(path),
        Database::Postgres { url, .. } => server(url.expose()).await,
    }
}

async fn server(url: &str) -> Vec<Check> {
    let report = match postgres::check(url, &machine()).await {
        Ok(report) => report,
        Err(error) => {
            let advice = "check that the server runs, and the URL's host, port, user and password";
            return vec![Check::wrong("database", error.to_string(), advice)];
        }
    };
    let (shown, version) = (&report.url, format!("PostgreSQL {}", report.server));
    let mut checks = vec![match (report.schema, report.schema_known) {
        (0, _) => {
            Check::note("database", format!("{shown}, {version}, nothing in it yet"), "`punctual serve` makes it")
        }
        (found, known) if found > known => Check::wrong(
            "database",
            format!("{shown} has schema version {found}, and this punctual knows up to {known}"),
            "use a newer punctual",
        ),
        (found, known) if found < known => Check::note(
            "database",
            format!("{shown}, {version}, schema version {found} of {known}"),
            "`punctual migrate` or the next `punctual serve` brings it up to date",
        ),
        (found, _) => Check::good("database", format!("{shown}, {version}, schema version {found}")),
    }];
    if report.read_only {
        checks.push(Check::wrong("writes", "the server only reads: it is a standby", "name the primary in the URL"));
    }
    if !report.durable {
        let detail = "fsync, full_page_writes or synchronous_commit is off: a power cut may lose what was answered";
        checks.push(Check::wrong("durable", detail, "turn them on in postgresql.conf"));
    }
    if !report.autovacuum {
        let advice = "turn it on in postgresql.conf";
        checks.push(Check::wrong("vacuum", "autovacuum is off: dead rows pile up and everything slows down", advice));
    }
    // In an empty database the migration makes it, where it may.
    if report.schema > 0 && !report.searches {
        let detail = "words in reminders cannot be found: the extension pg_trgm is missing";
        checks.push(Check::note("search", detail, "as the owner of the database run: create extension pg_trgm"));
    }
    checks
}

fn file(path: &Path) -> Vec<Check> {
    let mut checks = vec![version()];
    if !path.exists() {
        let detail = format!("there is none yet at {}", path.display());
        checks.push(Check::note("database", detail, "`punctual serve` makes it"));
        return checks;
    }
    checks.push(match look(path) {
        Ok(check) => check,
        Err(error) => Check::wrong(
            "database",
            error.to_string(),
            "check that the file is a punctual database and that you may read it; else restore a backup",
        ),
    });
    checks
}

fn version() -> Check {
    let version = sqlite::version();
    let parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    match parts.as_slice() >= SQLITE_MIN.as_slice() {
        true => Check::good("sqlite", version),
        false => Check::wrong(
            "sqlite",
            format!("{version} is older than 3.51.3, which mended a corruption bug"),
            "use a newer punctual",
        ),
    }
}

fn look(path: &Path) -> anyhow::Result<Check> {
    let report = sqlite::check(path)?;
    let shown = path.display();
    if report.quick_check != "ok" {
        let advice = "stop the server, keep a copy of the file, and restore a backup";
        return Ok(Check::wrong("database", format!("{shown} is damaged: {}", report.quick_check), advice));
    }
    if report.schema > report.schema_known {
        let found = format!(
            "{shown} has schema version {}, and this punctual knows up to {}",
            report.schema, report.schema_known
        );
        return Ok(Check::wrong("database", found, "use a newer punctual"));
    }
    if !is_wal(path)? {
        let advice = "stop whatever else opens the file; `punctual serve` sets WAL mode again";
        return Ok(Check::wrong("database", format!("{shown} is not in WAL mode"), advice));
    }
    Ok(Check::good("database", format!("{shown}, schema version {}, WAL mode, intact", report.schema)))
}

/// Whether the file's header says that its changes go to a log first; asking SQLite could change it.
fn is_wal(path: &Path) -> std::io::Result<bool> {
    let mut header = [0; 20];
    std::fs::File::open(path)?.read_exact(&mut header)?;
    Ok(header[18..] == [2, 2])
}
