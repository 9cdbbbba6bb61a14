//! The people reminders are for.

use punctual_core::reminder::Address;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::Refused;
use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, Usage, print, print_json, when};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List users
    List,
    /// Show one user
    Show {
        /// Whom
        user: String,
    },
    /// Make or change a user; what is not given stays as it is
    Set(Set),
    /// Send nothing at all to a user until an instant; everything waits
    #[command(
        after_help = "Examples:\n  punctual users pause alice \"until monday\"\n  punctual users pause alice 3d\n  punctual users pause alice 2026-08-01T08:00:00+02:00"
    )]
    Pause {
        /// Whom
        user: String,
        /// Until when, such as "until monday", "friday at 8" or 3d, in their zone
        #[arg(required = true, value_name = "UNTIL")]
        until: Vec<String>,
    },
    /// End a pause: what waited is told now
    Resume {
        /// Whom
        user: String,
    },
    /// Remove a user's entry; their reminders stay
    Delete {
        /// Whom
        user: String,
    },
}

#[derive(Debug, clap::Args)]
struct Set {
    /// Whom
    user: String,
    /// Their zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", visible_alias = "tz")]
    timezone: Option<String>,
    /// Their language, such as de
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Where to reach them, in order of preference
    #[arg(long, value_name = "CHANNEL:ADDRESS")]
    to: Vec<String>,
    /// When not to disturb them, such as 22:00-07:00, or none
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<String>,
    /// What may disturb them all the same: critical alone, or high as well
    #[arg(long, value_name = "critical|high")]
    quiet_except: Option<String>,
    /// Whether what waited during quiet hours is told in one message
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    digest: Option<bool>,
    /// Whether they are told when a critical reminder fails
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    admin: Option<bool>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Show { user } => show(user, context).await,
        Command::Set(set) => put(set, context).await,
        Command::Pause { user, until } => pause(user, until.join(" ").into(), context).await,
        Command::Resume { user } => pause(user, Value::Null, context).await,
        Command::Delete { user } => {
            context.client.send(Method::DELETE, &path(user), None).await?;
            match context.json {
                true => print_json(&json!({ "deleted": user })),
                false => print(&format!("removed {user}; their reminders stay\n")),
            }
        }
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.get("/v1/users", &[("limit", "500".into())]).await?;
    if context.json {
        return print_json(&page);
    }
    let users = page["users"].as_array().map(Vec::as_slice).unwrap_or_default();
    match users.is_empty() {
        true => {
            print("No users yet. Add one:  punctual users set alice --timezone Europe/Berlin --to webhook:https://…\n")
        }
        false => print(&table(users, context).await?.render(context.paint)),
    }
}

async fn show(user: &str, context: &Context) -> anyhow::Result<()> {
    let user = context.client.get(&path(user), &[]).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user], context).await?.render(context.paint)),
    }
}

/// What a user is now, as the API takes it; empty for one who is not known.
async fn known(user: &str, context: &Context) -> anyhow::Result<Value> {
    let mut body = match context.client.get(&path(user), &[]).await {
        Ok(user) => user,
        Err(error) => match error.downcast_ref::<Refused>() {
            Some(refused) if refused.status == StatusCode::NOT_FOUND => json!({}),
            _ => return Err(error),
        },
    };
    if let Some(fields) = body.as_object_mut() {
        for made_by_the_server in ["id", "created_at", "updated_at"] {
            fields.remove(made_by_the_server);
        }
    }
    Ok(body)
}

async fn put(set: &Set, context: &Context) -> anyhow::Result<()> {
    let mut body = known(&set.user, context).await?;
    if let Some(timezone) = &set.timezone {
        body["timezone"] = timezone.clone().into();
    }
    if let Some(language) = &set.language {
        body["language"] = language.clone().into();
    }
    if !set.to.is_empty() {
        let addresses: Result<Vec<Address>, _> = set.to.iter().map(|to| to.parse::<Address>()).collect();
        body["addresses"] = json!(addresses.map_err(|invalid| Usage(format!("--to: {}", invalid.problem)))?);
    }
    quiet(set, &mut body)?;
    if let Some(admin) = set.admin {
        body["admin"] = admin.into();
    }
    let user = context.client.send(Method::PUT, &path(&set.user), Some(body)).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user], context).await?.render(context.paint)),
    }
}

/// Puts the quiet hours into `body`. What is not given of them stays as it is.
fn quiet(set: &Set, body: &mut Value) -> Result<(), Usage> {
    match set.quiet.as_deref() {
        None => {}
        Some("none") => body["quiet_hours"] = Value::Null,
        Some(quiet) => {
            let (from, to) = quiet
                .split_once('-')
                .ok_or_else(|| Usage(format!("--quiet: `{quiet}` is no stretch of time; write 22:00-07:00")))?;
            if !body["quiet_hours"].is_object() {
                body["quiet_hours"] = json!({});
            }
            body["quiet_hours"]["from"] = from.trim().into();
            body["quiet_hours"]["to"] = to.trim().into();
        }
    }
    if (set.quiet_except.is_some() || set.digest.is_some()) && !body["quiet_hours"].is_object() {
        let option = if set.digest.is_some() { "--digest" } else { "--quiet-except" };
        return Err(Usage(format!("{option}: there are no quiet hours; say when, with --quiet 22:00-07:00")));
    }
    if let Some(except) = &set.quiet_except {
        body["quiet_hours"]["except"] = except.clone().into();
    }
    if let Some(digest) = set.digest {
        body["quiet_hours"]["digest"] = digest.into();
    }
    Ok(())
}

/// Pauses a user until then, or ends the pause.
async fn pause(user: &str, until: Value, context: &Context) -> anyhow::Result<()> {
    let mut body = known(user, context).await?;
    body["paused_until"] = until;
    let shown = context.client.send(Method::PUT, &path(user), Some(body)).await?;
    if context.json {
        return print_json(&shown);
    }
    let now = SystemClock::read();
    let zone = zone_of(&shown, context).await?;
    print(&match when::instant(&shown, "paused_until") {
        Some(until) => format!("nothing is sent to {user} until {}\n", when::both(until, &zone, now)),
        None => format!("{user} is told again\n"),
    })
}

/// The user's zone, else the server's.
async fn zone_of(user: &Value, context: &Context) -> anyhow::Result<Zone> {
    match when::zone_of(user) {
        Some(zone) => Ok(zone),
        None => context.zone().await,
    }
}

async fn table(users: &[Value], context: &Context) -> anyhow::Result<Table> {
    let mut table = Table::new(&["USER", "ZONE", "LANGUAGE", "QUIET", "PAUSED UNTIL", "ADMIN", "ADDRESSES"]);
    let now = SystemClock::read();
    for user in users {
        let text = |field: &str| user[field].as_str().unwrap_or("–").to_owned();
        let paused = match when::instant(user, "paused_until") {
            Some(until) => Some(when::labelled(until, &zone_of(user, context).await?, now)),
            None => None,
        };
        let addresses: Vec<String> = user["addresses"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|address| serde_json::from_value::<Address>(address.clone()).ok())
            .map(|address| address.to_string())
            .collect();
        table.push(vec![
            Cell::new(&text("id"), Style::Cyan),
            Cell::plain(&text("timezone")),
            Cell::plain(&text("language")),
            Cell::plain(&quiet_words(&user["quiet_hours"])),
            Cell::plain(paused.as_deref().unwrap_or("–")),
            Cell::plain(if user["admin"] == true { "yes" } else { "–" }),
            Cell::plain(&addresses.join(", ")),
        ]);
    }
    Ok(table)
}

/// `22:00-07:00 but high, digest`.
fn quiet_words(hours: &Value) -> String {
    let (Some(from), Some(to)) = (hours["from"].as_str(), hours["to"].as_str()) else { return "–".into() };
    let except = if hours["except"] == "high" { " but high" } else { "" };
    let digest = if hours["digest"] == true { ", digest" } else { "" };
    format!("{from}-{to}{except}{digest}")
}

/// The path of a user whose id may have any characters.
fn path(user: &str) -> String {
    format!("/v1/users/{}", super::client::escaped(user))
}
