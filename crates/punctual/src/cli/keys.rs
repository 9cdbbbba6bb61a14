//! Keys that may use the API.

use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::json;

use super::client::escaped;
use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, print, print_json, when};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a key; it is shown once
    Create {
        /// What the key is for
        name: String,
        /// The only user it sees
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// It may only read
        #[arg(long)]
        read_only: bool,
        /// When it stops working: a time, or a span such as 90d
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// List keys
    List,
    /// Delete a key: it stops working at once
    Delete {
        /// The key's id
        id: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Create { name, user, read_only, expires } => {
            let scopes = if *read_only { json!(["read"]) } else { json!(["read", "write"]) };
            let body = json!({ "name": name, "user": user, "scopes": scopes, "expires_at": expires });
            let key = context.client.send(Method::POST, "/v1/keys", Some(body)).await?;
            if context.json {
                return print_json(&key);
            }
            let text = |field: &str| key[field].as_str().unwrap_or_default();
            print(&format!("{}\n", text("key")))?;
            // Beside the key and not with it, so that the output can be piped to where the key
            // belongs.
            eprintln!("This is {}; it is not shown again.", text("id"));
            Ok(())
        }
        Command::Delete { id } => {
            context.client.send(Method::DELETE, &format!("/v1/keys/{}", escaped(id)), None).await?;
            match context.json {
                true => print_json(&json!({ "deleted": id })),
                false => print(&format!("deleted {id}\n")),
            }
        }
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.get("/v1/keys", &[]).await?;
    if context.json {
        return print_json(&page);
    }
    let keys = page["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    if keys.is_empty() {
        return print("No keys but the admin's. Make one:  punctual keys create my-bot\n");
    }
    let now = SystemClock::read();
    let zone = context.zone().await?;
    let mut table = Table::new(&["ID", "USER", "SCOPES", "EXPIRES", "NAME"]);
    for key in keys {
        let text = |field: &str| key[field].as_str().unwrap_or("–").to_owned();
        let scopes: Vec<&str> =
            key["scopes"].as_array().into_iter().flatten().filter_map(|scope| scope.as_str()).collect();
        let expires = when::instant(key, "expires_at").map(|at| when::both(at, &zone, now));
        table.push(vec![
            Cell::new(&text("id"), Style::Cyan),
            Cell::plain(&text("user")),
            Cell::plain(&scopes.join(",")),
            Cell::plain(&expires.unwrap_or_else(|| "–".into())),
            Cell::plain(&text("name")),
        ]);
    }
    print(&table.render(context.paint))
}
