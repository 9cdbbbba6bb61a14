//! Offsets for all events below a path.

use punctual_core::scope::Path;
use serde_json::Value;

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, print, print_deleted, print_json};
use crate::wire::{OffsetInput, Scope, ScopeInput, ScopeQuery};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  punctual scopes set guild:1 60 15\n  punctual scopes set guild:1/channel:2 1d -30\n  punctual scopes remove guild:1/channel:2"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List scopes
    List {
        /// Only this path and those below it
        #[arg(long, value_name = "PATH")]
        under: Option<String>,
    },
    /// Show one scope
    Show {
        /// Which, such as guild:1/channel:2
        #[arg(value_parser = path)]
        path: String,
    },
    /// Write or replace a scope: events below it that have no offsets of their own are planned anew
    Set {
        /// Where, such as guild:1/channel:2; in a name %2F is a slash and %25 a percent sign
        #[arg(value_parser = path)]
        path: String,
        /// When people are reminded, such as 60 (minutes before), 1d or -30 (minutes after); none: never
        #[arg(allow_hyphen_values = true)]
        offsets: Vec<String>,
    },
    /// Remove a scope: what depended on it depends on the next one up
    Remove {
        /// Which
        #[arg(value_parser = path)]
        path: String,
    },
}

/// The path as it is kept. It becomes part of an address, in which a percent sign that stands for nothing could not be told from an escape.
fn path(text: &str) -> Result<String, String> {
    text.parse::<Path>().map(|path| path.to_string()).map_err(|invalid| invalid.problem)
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let client = &context.client;
    match args.command.as_ref().unwrap_or(&Command::List { under: None }) {
        Command::List { under } => {
            let page = client.scopes(&ScopeQuery { under: under.clone(), limit: Some(500), cursor: None }).await?;
            match (context.json, page.scopes.is_empty()) {
                (true, _) => print_json(&page),
                (false, true) => print("No scopes yet. Make one:  punctual scopes set guild:1 60 15\n"),
                (false, false) => print(&table(&page.scopes).render(context.paint)),
            }
        }
        Command::Show { path } => shown(client.scope(path).await?, context),
        Command::Set { path, offsets } => {
            let offsets = offsets.iter().map(|text| OffsetInput(Value::String(text.clone()))).collect();
            shown(client.put_scope(path, &ScopeInput { offsets: Some(offsets) }).await?, context)
        }
        Command::Remove { path } => {
            client.delete_scope(path).await?;
            print_deleted(path, &format!("removed the scope {path}\n"), context)
        }
    }
}

fn shown(scope: Scope, context: &Context) -> anyhow::Result<()> {
    if context.json {
        return print_json(&scope);
    }
    let planned = match scope.replanned {
        Some(1) => "1 event is planned anew\n".to_owned(),
        Some(n_events) if n_events > 1 => format!("{n_events} events are planned anew\n"),
        _ => String::new(),
    };
    print(&format!("{}{planned}", table(&[scope]).render(context.paint)))
}

fn table(scopes: &[Scope]) -> Table {
    let mut table = Table::new(&["SCOPE", "OFFSETS"]);
    for scope in scopes {
        let offsets: Vec<String> = scope.offsets.iter().map(punctual_core::template::said).collect();
        let offsets = if offsets.is_empty() { "none".to_owned() } else { offsets.join(", ") };
        table.push(vec![Cell::new(&scope.path, Style::Cyan), Cell::plain(&offsets)]);
    }
    table
}
