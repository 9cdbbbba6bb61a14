//! Checking that everything is in order, and saying what to do if not.

mod database;
mod redis;
mod server;
mod system;

use serde_json::json;

use super::style::{Paint, Style, neutral};
use super::{Global, Said, print, print_json};
use crate::config::Flags;
use crate::local;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// sqlite:PATH or postgres://… [env: PUNCTUAL_DATABASE_URL] [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    found: Found,
    /// What was seen.
    detail: String,
    /// What to do about it.
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Good,
    /// Worth knowing, and no reason to worry.
    Note,
    Wrong,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, found: Found::Good, detail: detail.into(), advice: None }
    }

    fn note(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, found: Found::Note, detail: detail.into(), advice: Some(advice.into()) }
    }

    fn wrong(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, found: Found::Wrong, detail: detail.into(), advice: Some(advice.into()) }
    }
}

pub(super) async fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let flags: Flags = args.database.iter().map(|url| ("database", url.clone())).collect();
    let mut checks = Vec::new();
    match global.config(flags) {
        Err(error) => {
            checks.push(Check::wrong("config", error.to_string(), "mend it; nothing else can be checked before"))
        }
        Ok(config) => {
            checks.push(system::config(&config));
            checks.extend(system::data_dir(&config.data_dir));
            checks.extend(database::check(&config.database).await);
            checks.extend(redis::check(config.redis.as_ref()).await);
            checks.push(system::disk(config.database.file().unwrap_or(&config.data_dir)));
            checks.push(system::clock());
            checks.push(system::zones(&config.timezone));
            match local::client(global.url.as_deref(), &config) {
                Ok(client) => {
                    let asked = server::check(&client, global.url.is_some()).await;
                    // A server that answers has said it itself.
                    if !asked.iter().any(|check| check.name == "channels") {
                        checks.extend(system::links(&config));
                    }
                    checks.extend(asked);
                }
                Err(error) => checks.push(Check::wrong("server", format!("{error:#}"), "mend it and try again")),
            }
        }
    }
    let ok = checks.iter().all(|check| check.found != Found::Wrong);
    if global.json {
        let checks: Vec<_> = checks.iter().map(to_json).collect();
        print_json(&json!({ "ok": ok, "checks": checks }))?;
    } else {
        print(&render(&checks, Paint::of_stdout()))?;
    }
    if ok { Ok(()) } else { Err(Said.into()) }
}

/// Links that only this machine can reach.
fn links(warning: &str) -> Check {
    let (found, advice) = warning.split_once("; ").unwrap_or((warning, "set public_url"));
    Check::note("links", found, advice)
}

fn to_json(check: &Check) -> serde_json::Value {
    let found = match check.found {
        Found::Good => "ok",
        Found::Note => "note",
        Found::Wrong => "wrong",
    };
    json!({ "name": check.name, "status": found, "detail": check.detail, "do": check.advice })
}

fn render(checks: &[Check], paint: Paint) -> String {
    let mut out = String::new();
    for check in checks {
        let mark = match check.found {
            Found::Good => paint.with(Style::Green, "✓"),
            Found::Note => paint.with(Style::Yellow, "–"),
            Found::Wrong => paint.with(Style::Red, "✗"),
        };
        out.push_str(&format!("{mark} {:<10} {}\n", check.name, neutral(&check.detail)));
        if let Some(advice) = &check.advice {
            out.push_str(&format!("             → {}\n", neutral(advice)));
        }
    }
    let n_wrong = checks.iter().filter(|check| check.found == Found::Wrong).count();
    out.push_str(&match n_wrong {
        0 => "\nEverything is in order.\n".to_owned(),
        1 => "\nOne thing is wrong.\n".to_owned(),
        n => format!("\n{n} things are wrong.\n"),
    });
    out
}
