//! Keys that may use the API.

use jiff::Timestamp;
use punctual_engine::SystemClock;

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, print, print_deleted, print_json, when};
use crate::wire::{Key, KeyInput, RotateInput};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a key; it is shown once
    #[command(
        after_help = "Examples:\n  punctual keys create my-bot\n  punctual keys create alices-phone --user alice --expires 90d\n  punctual keys create family-bot --channel family --scope write\n  punctual keys create dashboard --scope read --rate 10/s"
    )]
    Create {
        /// What the key is for
        name: String,
        /// The only user it sees
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// The only channel it sends by and sees; may be given again
        #[arg(long = "channel", value_name = "CHANNEL")]
        channels: Vec<String>,
        /// What it may do: read, write, inbound, send-test, keys, admin; may be given again [default: read,write]
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', conflicts_with = "read_only")]
        scopes: Vec<String>,
        /// It may only read
        #[arg(long)]
        read_only: bool,
        /// How often it may ask, such as 100/s or 30/min
        #[arg(long, value_name = "RATE")]
        rate: Option<String>,
        /// When it stops working: a time, or a span such as 90d
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// List keys
    List,
    /// Give a key another secret, which is shown once; the old one works for a while
    Rotate {
        /// The key's id
        id: String,
        /// How long the old secret works as well; 0s: not at all [default: 1h]
        #[arg(long, value_name = "SPAN")]
        overlap: Option<String>,
    },
    /// Delete a key: it stops working at once
    Delete {
        /// The key's id
        id: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Create { name, user, channels, scopes, read_only, rate, expires } => {
            let scopes = match (read_only, scopes.is_empty()) {
                (true, _) => Some(vec!["read".to_owned()]),
                (false, false) => Some(scopes.clone()),
                (false, true) => None,
            };
            let input = KeyInput {
                name: Some(name.clone()),
                user: user.clone(),
                channels: Some(channels.clone()).filter(|channels| !channels.is_empty()),
                scopes,
                rate: rate.clone(),
                expires_at: expires.clone(),
            };
            let key = context.client.create_key(&input).await?;
            show_once(&key, &format!("This is {}; it is not shown again.", key.id), context)
        }
        Command::Rotate { id, overlap } => {
            let key = context.client.rotate_key(id, &RotateInput { overlap: overlap.clone() }).await?;
            let old = match &key.replaced {
                Some(replaced) => {
                    let until = when::labelled(replaced.until, &context.zone().await?, SystemClock::read());
                    format!("the old one works until {until}")
                }
                None => "the old one works no more".to_owned(),
            };
            show_once(&key, &format!("This is {id} from now on, and is not shown again; {old}."), context)
        }
        Command::Delete { id } => {
            context.client.delete_key(id).await?;
            print_deleted(id, &format!("deleted {id}\n"), context)
        }
    }
}

/// Prints a secret, and `words` beside it and not with it, so that the output can be piped to where the key belongs.
fn show_once(key: &Key, words: &str, context: &Context) -> anyhow::Result<()> {
    if context.json {
        return print_json(key);
    }
    print(&format!("{}\n", key.key.as_deref().unwrap_or_default()))?;
    eprintln!("{words}");
    Ok(())
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
    let mut table = Table::new(&["ID", "KEY", "FOR", "SCOPES", "RATE", "EXPIRES", "LAST USED", "NAME"]);
    for key in &page.keys {
        let instant = |at: Option<Timestamp>| at.map_or_else(|| "–".to_owned(), |at| when::both(at, &zone, now));
        table.push(vec![
            Cell::new(&key.id, Style::Cyan),
            Cell::plain(&key.prefix.as_ref().map_or_else(|| "–".to_owned(), |prefix| format!("{prefix}…"))),
            Cell::plain(&bond(key)),
            Cell::plain(&key.scopes.join(",")),
            Cell::plain(key.rate.as_deref().unwrap_or("–")),
            Cell::plain(&instant(key.expires_at)),
            Cell::plain(&instant(key.last_used_at)),
            Cell::plain(&key.name),
        ]);
    }
    print(&table.render(context.paint))
}

/// The user and the channels that a key is bound to.
fn bond(key: &Key) -> String {
    match (&key.user, key.channels.is_empty()) {
        (None, true) => "–".into(),
        (Some(user), true) => user.clone(),
        (None, false) => format!("by {}", key.channels.join(",")),
        (Some(user), false) => format!("{user} by {}", key.channels.join(",")),
    }
}
