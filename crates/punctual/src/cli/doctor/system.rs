//! The machine: settings, files, clock and zones.

use std::path::Path;

use jiff::tz::TimeZone;
use punctual_core::zone::Zone;
use punctual_engine::{SystemClock, machine};

use super::Check;
use crate::config::{Config, paths};
use crate::disk::free_bytes;
use crate::serve::links::LocalLinks;
use crate::serve::{admin_key_path, check_channels};

/// Less free space than this is soon none.
const FREE_BYTES_MIN: u64 = 200 * 1024 * 1024;
/// The clock of a machine without a battery starts long before this.
const YEAR_MIN: i16 = 2025;

pub(super) fn config(config: &Config) -> Check {
    if let Err(error) = check_channels(config, &machine()) {
        return Check::wrong("config", error.to_string(), "mend it; the server does not start before");
    }
    let from = match &config.file {
        Some(file) => format!("{} is right", file.display()),
        None => "no file; defaults, environment and flags".to_owned(),
    };
    match config.warnings.is_empty() {
        true => Check::good("config", from),
        false => Check::note("config", from, config.warnings.join("; ")),
    }
}

/// Links that would lead nowhere but to this machine, if a server were started by these settings.
pub(super) fn links(config: &Config) -> Option<Check> {
    let links = LocalLinks::of(config, &format!("http://{}", config.listen)).filter(|links| links.is_certain)?;
    Some(super::links(&links.warning))
}

pub(super) fn data_dir(dir: &Path) -> Vec<Check> {
    let shown = dir.display();
    if !dir.exists() {
        return vec![Check::note("data", format!("{shown} is not there yet"), "`punctual serve` makes it")];
    }
    let mut checks = Vec::new();
    checks.push(match (tempfile::tempfile_in(dir), paths::others_may(dir)) {
        (Err(error), _) => {
            let advice = format!(
                "give yourself the right to write there (chown, chmod), or choose another with --data-dir; now {shown}"
            );
            Check::wrong("data", format!("{shown} cannot be written to: {error}"), advice)
        }
        (Ok(_), Ok(bits)) if bits & 0o022 != 0 => {
            Check::wrong("data", format!("{shown} can be written to by others"), format!("chmod 700 {shown}"))
        }
        (Ok(_), Ok(bits)) if bits != 0 => {
            Check::note("data", format!("{shown} can be read by others"), format!("chmod 700 {shown}"))
        }
        _ => Check::good("data", format!("{shown} is yours alone")),
    });
    let key = admin_key_path(dir);
    if let Ok(bits) = paths::others_may(&key)
        && bits != 0
    {
        let shown = key.display();
        checks.push(Check::wrong(
            "admin key",
            format!("{shown} can be read by others"),
            format!("chmod 600 {shown}, and make a new one if somebody may have"),
        ));
    }
    checks
}

pub(super) fn disk(database: &Path) -> Check {
    let place = database.ancestors().skip(1).find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    let free = match free_bytes(place) {
        Ok(free) => free,
        Err(error) => return Check::note("disk", format!("free space is unknown: {error}"), "look at it with df"),
    };
    let shown = match free >> 30 {
        0 => format!("{} MB free", free >> 20),
        gigabytes => format!("{gigabytes} GB free"),
    };
    match free < FREE_BYTES_MIN {
        true => Check::wrong("disk", shown, "make room: without it nothing new is accepted"),
        false => Check::good("disk", shown),
    }
}

pub(super) fn clock() -> Check {
    let now = SystemClock::read().to_zoned(TimeZone::UTC);
    let shown = now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    match now.year() < YEAR_MIN {
        true => Check::wrong("clock", format!("{shown} cannot be right"), "set it, and let it follow a time server"),
        false => Check::good("clock", shown),
    }
}

pub(super) fn zones(default: &Zone) -> Check {
    // One with daylight saving, one without, one with an odd offset.
    for name in ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kathmandu"] {
        if let Err(invalid) = Zone::named(name) {
            return Check::wrong("zones", invalid.problem, "install the zone data of your system (tzdata)");
        }
    }
    let version = std::fs::read_to_string("/usr/share/zoneinfo/tzdata.zi").ok();
    let version = version.as_deref().and_then(|text| text.lines().next()?.strip_prefix("# version "));
    let source = match version {
        Some(version) => format!("the system's, version {version}"),
        None if Path::new("/usr/share/zoneinfo").exists() => "the system's".to_owned(),
        None => "those inside punctual; the system has none".to_owned(),
    };
    Check::good("zones", format!("{source}; the default is {default}"))
}
