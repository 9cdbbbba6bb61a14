//! Silencing reminders for a while.

use punctual_core::id::SilenceId;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::json;

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, Usage, User, print, print_json, when};
use crate::wire::{Silence, SilenceInput, SilenceQuery};

const EXAMPLES: &str = "\
Examples:
  punctual silence until monday --tag chores
  punctual silence 3d --user alice
  punctual silence \"until sunday at 20\" --group family --from \"friday at 18\"
  punctual silence list
  punctual silence end 8b85b99a";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Until when, such as "until monday", "friday at 8" or 3d, in the user's zone, else the server's
    #[arg(required = true, value_name = "UNTIL")]
    until: Vec<String>,
    /// From when on [default: now]
    #[arg(long, value_name = "WHEN")]
    from: Option<String>,
    /// Only reminders with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only reminders of the users in this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only this user's reminders [env: PUNCTUAL_USER] [default: me; with --tag or --group everybody's]
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List silences that have not ended
    List {
        /// Only those about this tag
        #[arg(long, value_name = "TAG")]
        tag: Option<String>,
        #[command(flatten)]
        user: User,
    },
    /// End a silence: what waits because of it is sent now
    End {
        /// Its id, or the end of it
        id: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        Some(Command::List { tag, user }) => list(user.named(), tag.clone(), context).await,
        Some(Command::End { id }) => {
            let id = meant(id, context).await?;
            context.client.end_silence(&id).await?;
            match context.json {
                true => print_json(&json!({ "ended": id })),
                false => print("ended; what waited is sent now\n"),
            }
        }
        None => {
            let input = SilenceInput {
                user: User { user: args.user.clone() }.named(),
                group: args.group.clone(),
                tag: args.tag.clone(),
                from: args.from.clone(),
                until: Some(args.until.join(" ")),
            };
            let silence = context.client.create_silence(&input).await?;
            if context.json {
                return print_json(&silence);
            }
            let (now, zone) = (SystemClock::read(), zone_of(&silence, context).await?);
            let from = match silence.from > silence.created_at {
                true => format!(" from {}", when::labelled(silence.from, &zone, now)),
                false => String::new(),
            };
            let until = when::both(silence.until, &zone, now);
            print(&format!("nothing is sent to {}{from} until {until}\n", about(&silence)))
        }
    }
}

/// What is silent, in words.
fn about(silence: &Silence) -> String {
    let whose = match (&silence.user, &silence.group) {
        (Some(user), _) => user.clone(),
        (None, Some(group)) => format!("the group {group}"),
        (None, None) => "anybody".to_owned(),
    };
    match &silence.tag {
        Some(tag) => format!("{whose} about {tag}"),
        None => whose,
    }
}

async fn list(user: Option<String>, tag: Option<String>, context: &Context) -> anyhow::Result<()> {
    let is_narrow = user.is_some() || tag.is_some();
    let page = context.client.silences(&SilenceQuery { user, tag, limit: Some(500), cursor: None }).await?;
    if context.json {
        return print_json(&page);
    }
    if page.silences.is_empty() && is_narrow {
        return print("No such silences.\n");
    }
    if page.silences.is_empty() {
        return print("Nothing is silent. Silence something:  punctual silence until monday --tag chores\n");
    }
    let now = SystemClock::read();
    let mut table = Table::new(&["ID", "USER", "GROUP", "TAG", "FROM", "UNTIL", "BY"]);
    for silence in &page.silences {
        let zone = zone_of(silence, context).await?;
        let text = |text: &Option<String>| Cell::plain(text.as_deref().unwrap_or("–"));
        table.push(vec![
            Cell::new(&short(&silence.id), Style::Cyan),
            text(&silence.user),
            text(&silence.group),
            text(&silence.tag),
            Cell::plain(&when::labelled(silence.from, &zone, now)),
            Cell::plain(&when::labelled(silence.until, &zone, now)),
            Cell::plain(&silence.created_by),
        ]);
    }
    print(&table.render(context.paint))
}

/// The silence that somebody means by an id or the end of one.
async fn meant(text: &str, context: &Context) -> anyhow::Result<String> {
    if text.parse::<SilenceId>().is_ok() {
        return Ok(text.to_owned());
    }
    let page = context.client.silences(&SilenceQuery { limit: Some(500), ..SilenceQuery::default() }).await?;
    let end = text.replace('-', "").to_lowercase();
    let mut found = page.silences.into_iter().filter(|silence| silence.id.replace('-', "").ends_with(&end));
    match (found.next(), found.next()) {
        (Some(silence), None) => Ok(silence.id),
        (None, _) => {
            Err(Usage(format!("no silence has an id that ends with `{text}`; `punctual silence list` shows them"))
                .into())
        }
        _ => Err(Usage(format!("several silences have an id that ends with `{text}`; write more of it")).into()),
    }
}

fn short(id: &str) -> String {
    id.parse::<SilenceId>().map_or_else(|_| id.to_owned(), |id| id.short())
}

/// The zone of the user it is for, else the server's.
async fn zone_of(silence: &Silence, context: &Context) -> anyhow::Result<Zone> {
    let user = match &silence.user {
        Some(user) => context.client.user(user).await.ok(),
        None => None,
    };
    match user.and_then(|user| user.timezone).and_then(|name| Zone::named(&name).ok()) {
        Some(zone) => Ok(zone),
        None => context.zone().await,
    }
}
