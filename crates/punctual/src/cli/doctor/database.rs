//! The database file, looked at without changing it.

use std::io::Read;
use std::path::Path;

use punctual_store::sqlite;

use super::Check;

/// Older ones can corrupt a database in WAL mode.
const SQLITE_MIN: [u32; 3] = [3, 51, 3];

pub(super) fn check(path: &Path) -> Vec<Check> {
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
