//! People who belong together.

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, found, print, print_deleted, print_json};
use crate::wire::{Group, GroupInput, PageQuery, Word};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  punctual groups set on-call bob eve\n  punctual groups set family --mode all ann zoe"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List groups
    List,
    /// Show one group
    Show {
        /// Which
        group: String,
    },
    /// Make or change a group; what is not given stays as it is
    Set {
        /// Its name, such as on-call
        group: String,
        /// The users, in the order in which they are asked
        users: Vec<String>,
        /// Whether they are asked one after the other or all at once: in_order or all
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
        /// The calendar that says who is on duty: https://…, or file:NAME in the server's folder; empty: none
        #[arg(long, value_name = "URL")]
        rota: Option<String>,
    },
    /// Remove a group; its users stay
    Delete {
        /// Which
        group: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Show { group } => shown(context.client.group(group).await?, context),
        Command::Set { group, users, mode, rota } => {
            let before = known(group, context).await?;
            let input = GroupInput {
                users: (!users.is_empty()).then(|| users.clone()).or(before.users),
                mode: mode.as_deref().map(Word::new).or(before.mode),
                rota: rota.clone().or(before.rota),
            };
            shown(context.client.put_group(group, &input).await?, context)
        }
        Command::Delete { group } => {
            context.client.delete_group(group).await?;
            print_deleted(group, &format!("removed the group {group}; its users stay\n"), context)
        }
    }
}

/// A group as the API takes it; empty for one that there is not.
async fn known(group: &str, context: &Context) -> anyhow::Result<GroupInput> {
    let group = found(context.client.group(group).await)?;
    let input = |group: Group| GroupInput { users: Some(group.users), mode: Some(group.mode), rota: group.rota };
    Ok(group.map(input).unwrap_or_default())
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.groups(&PageQuery { limit: Some(500), cursor: None }).await?;
    if context.json {
        return print_json(&page);
    }
    match page.groups.is_empty() {
        true => print("No groups yet. Make one:  punctual groups set on-call bob eve\n"),
        false => print(&table(&page.groups).render(context.paint)),
    }
}

fn shown(group: Group, context: &Context) -> anyhow::Result<()> {
    match context.json {
        true => print_json(&group),
        false => print(&table(&[group]).render(context.paint)),
    }
}

fn table(groups: &[Group]) -> Table {
    let has_rota = groups.iter().any(|group| group.rota.is_some());
    let is_troubled = groups.iter().any(|group| problem(group).is_some());
    let names = ["GROUP", "MODE", "USERS", "ROTA", "ON DUTY", "PROBLEM"];
    let mut table = Table::new(match (has_rota, is_troubled) {
        (false, _) => &names[..3],
        (true, false) => &names[..5],
        (true, true) => &names,
    });
    for group in groups {
        let mut row = vec![
            Cell::new(&group.name, Style::Cyan),
            Cell::plain(group.mode.as_str()),
            Cell::plain(&group.users.join(", ")),
        ];
        if has_rota {
            row.push(Cell::plain(group.rota.as_deref().unwrap_or("–")));
            row.push(Cell::plain(&group.on_duty.as_ref().map_or_else(|| "–".to_owned(), |people| people.join(", "))));
        }
        if has_rota && is_troubled {
            row.push(Cell::plain(problem(group).unwrap_or("–")));
        }
        table.push(row);
    }
    table
}

/// Why its rota cannot be read, or what of it.
fn problem(group: &Group) -> Option<&str> {
    group.problem.as_deref().or_else(|| group.problems.first().map(String::as_str))
}
