//! The people reminders are for.

use punctual_core::reminder::Address;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::Refused;
use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, Usage, print, print_json};

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
    /// Whether they are told when a critical reminder fails
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    admin: Option<bool>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Show { user } => show(user, context).await,
        Command::Set(set) => put(set, context).await,
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
        false => print(&table(users).render(context.paint)),
    }
}

async fn show(user: &str, context: &Context) -> anyhow::Result<()> {
    let user = context.client.get(&path(user), &[]).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user]).render(context.paint)),
    }
}

async fn put(set: &Set, context: &Context) -> anyhow::Result<()> {
    let mut body = match context.client.get(&path(&set.user), &[]).await {
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
    match set.quiet.as_deref() {
        None => {}
        Some("none") => body["quiet_hours"] = Value::Null,
        Some(quiet) => {
            let (from, to) = quiet
                .split_once('-')
                .ok_or_else(|| Usage(format!("--quiet: `{quiet}` is no stretch of time; write 22:00-07:00")))?;
            body["quiet_hours"] = json!({ "from": from.trim(), "to": to.trim() });
        }
    }
    if let Some(admin) = set.admin {
        body["admin"] = admin.into();
    }
    let user = context.client.send(Method::PUT, &path(&set.user), Some(body)).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user]).render(context.paint)),
    }
}

fn table(users: &[Value]) -> Table {
    let mut table = Table::new(&["USER", "ZONE", "LANGUAGE", "QUIET", "ADMIN", "ADDRESSES"]);
    for user in users {
        let text = |field: &str| user[field].as_str().unwrap_or("–").to_owned();
        let quiet = match (user["quiet_hours"]["from"].as_str(), user["quiet_hours"]["to"].as_str()) {
            (Some(from), Some(to)) => format!("{from}-{to}"),
            _ => "–".into(),
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
            Cell::plain(&quiet),
            Cell::plain(if user["admin"] == true { "yes" } else { "–" }),
            Cell::plain(&addresses.join(", ")),
        ]);
    }
    table
}

/// The path of a user whose id may have any characters.
fn path(user: &str) -> String {
    format!("/v1/users/{}", super::client::escaped(user))
}
