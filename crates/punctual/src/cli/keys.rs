//! Keys that may use the API.

use punctual_engine::SystemClock;

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, print, print_deleted, print_json, when};
use crate::wire::KeyInput;

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
            let scopes = if *read_only { &["read"][..] } else { &["read", "write"] };
            let input = KeyInput {
                name: Some(name.clone()),
                user: user.clone(),
                scopes: Some(scopes.iter().map(|scope| (*scope).to_owned()).collect()),
                expires_at: expires.clone(),
            };
            let key = context.client.create_key(&input).await?;
            if context.json {
                return print_json(&key);
            }
            print(&format!("{}\n", key.key.as_deref().unwrap_or_default()))?;
            // Beside the key and not with it, so that the output can be piped to where the key
            // belongs.
            eprintln!("This is {}; it is not shown again.", key.id);
            Ok(())
        }
        Command::Delete { id } => {
            context.client.delete_key(id).await?;
            print_deleted(id, &format!("deleted {id}\n"), context)
        }
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.keys().await?;
    if context.json {
        return print_json(&page);
    }
    if page.keys.is_empty() {
        return print("No keys but the admin's. Make one:  punctual keys create my-bot\n");
    }
    let now = SystemClock::read();
    let zone = context.zone().await?;
    let mut table = Table::new(&["ID", "USER", "SCOPES", "EXPIRES", "NAME"]);
    for key in &page.keys {
        let expires = key.expires_at.map(|at| when::both(at, &zone, now));
        table.push(vec![
            Cell::new(&key.id, Style::Cyan),
            Cell::plain(key.user.as_deref().unwrap_or("–")),
            Cell::plain(&key.scopes.join(",")),
            Cell::plain(&expires.unwrap_or_else(|| "–".into())),
            Cell::plain(&key.name),
        ]);
    }
    print(&table.render(context.paint))
}
