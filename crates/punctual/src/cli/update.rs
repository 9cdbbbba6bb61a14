//! Changing a reminder.

use super::add::{Details, confirmation, warn};
use super::find::find;
use super::schedule::When;
use super::{Context, Usage, User, asked_zone, print, print_json};
use crate::wire::{ReminderInput, UserQuery};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the end of it, or its name
    #[arg(value_name = "REMINDER")]
    reminder: String,
    /// What to say instead
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    when: When,
    /// How many times at most
    #[arg(long, value_name = "N", requires = "when")]
    count: Option<u32>,
    #[command(flatten)]
    details: Details,
    /// Ask for no answer
    #[arg(long, conflicts_with_all = ["ack", "ack_timeout"])]
    no_ack: bool,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let mut input = args.details.input()?;
    input.message = args.message.clone();
    input.schedule = args.when.schedule(args.count)?;
    if args.no_ack {
        input.require_ack = Some(false);
    }
    // Here only a zone that was asked for: a changed message must not move a reminder to where its
    // writer sits.
    if let Some(zone) = args.details.tz.as_deref().map(|name| asked_zone(Some(name))).transpose()?.flatten() {
        input.timezone = Some(zone.name().to_owned());
    }
    if input == ReminderInput::default() {
        return Err(
            Usage("nothing to change; say what, such as --message TEXT, --at TIME or --priority high".into()).into()
        );
    }
    let user = args.user.named();
    let before = find(&context.client, &args.reminder, user.as_deref()).await?;
    args.details.check_answer(before.require_ack)?;
    let reminder = context.client.update(&before.id, &UserQuery::of(user.as_deref()), &input).await?;
    warn(&reminder);
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("changed", &reminder, context))
}
