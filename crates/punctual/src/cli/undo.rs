//! Undoing a cancel.

use anyhow::anyhow;
use jiff::SignedDuration;
use punctual_core::journal::{Ended, Kind};
use punctual_engine::SystemClock;

use super::add::confirmation;
use super::find::find;
use super::{Context, User, print, print_json};
use crate::wire::{JournalQuery, UserQuery};

/// How far back the last cancel is looked for. A server may go by another clock, and says itself what is too late.
const LOOKED_BACK: SignedDuration = SignedDuration::from_hours(24);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the end of it, its name or its message [default: what was cancelled last]
    #[arg(value_name = "REMINDER")]
    reminder: Option<String>,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let user = args.user.named();
    let id = match &args.reminder {
        Some(text) => find(&context.client, text, user.as_deref()).await?.id,
        None => last_cancelled(user.clone(), context).await?,
    };
    let reminder = context.client.command(&id, "undo", &UserQuery::of(user.as_deref())).await?;
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("brought back", &reminder, context))
}

/// The reminder of `user`, or of whom the key means, that was cancelled last.
async fn last_cancelled(user: Option<String>, context: &Context) -> anyhow::Result<String> {
    let mut query = JournalQuery {
        mine: user.is_none().then_some(true),
        user,
        kind: Some(Kind::Cancelled.to_string()),
        order: Some("newest".into()),
        from: SystemClock::read().checked_sub(LOOKED_BACK).ok().map(|at| at.to_string()),
        ..JournalQuery::default()
    };
    loop {
        let page = context.client.journal(&query).await?;
        // An entry that is not about a whole reminder is of a question that another has answered.
        let cancels =
            page.entries.iter().filter(|entry| Ended::read(entry.data.as_ref().map(|data| data.get())).is_some());
        if let Some(id) = cancels.filter_map(|entry| entry.reminder_id.clone()).next() {
            return Ok(id);
        }
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return Err(anyhow!("nothing was cancelled that could be brought back")),
        }
    }
}
