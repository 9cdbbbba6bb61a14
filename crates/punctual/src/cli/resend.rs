//! Sending again what has failed: one run, or many.

use std::io::{self, BufRead, IsTerminal};

use super::add::confirmation;
use super::find::find;
use super::{Context, Usage, User, print, print_json};
use crate::wire::{Answer, ResendInput, Resent, UserQuery};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The reminder whose last run failed: its id, the end of it, its name or its message
    #[arg(value_name = "REMINDER", required_unless_present = "failed")]
    reminder: Option<String>,
    /// The run that is meant, as `punctual show` numbers them [default: the last]
    #[arg(long, value_name = "N", conflicts_with = "failed")]
    run: Option<u32>,
    /// Everything that has failed since --since
    #[arg(long, requires = "since", conflicts_with = "reminder")]
    failed: bool,
    /// Since when: a length of time such as 2h, a day such as today, or a time
    #[arg(long, value_name = "WHEN", requires = "failed")]
    since: Option<String>,
    /// Only of reminders with this tag
    #[arg(long, value_name = "TAG", requires = "failed")]
    tag: Option<String>,
    /// Only what was tried on this channel
    #[arg(long, value_name = "CHANNEL", requires = "failed")]
    channel: Option<String>,
    /// Also what may have arrived
    #[arg(long)]
    held: bool,
    /// Do not ask
    #[arg(long, short, requires = "failed")]
    yes: bool,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match &args.reminder {
        Some(reminder) => one(reminder, args, context).await,
        None => many(args, context).await,
    }
}

async fn one(text: &str, args: &Args, context: &Context) -> anyhow::Result<()> {
    let user = args.user.named();
    let id = find(&context.client, text, user.as_deref()).await?.id;
    let answer = Answer { run: args.run, held: args.held.then_some(true), ..Answer::default() };
    let reminder = context.client.answer(&id, "resend", &UserQuery::of(user.as_deref()), &answer).await?;
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("sending again", &reminder, context))
}

async fn many(args: &Args, context: &Context) -> anyhow::Result<()> {
    let input = ResendInput {
        failed: Some(true),
        since: args.since.clone(),
        user: args.user.named(),
        tag: args.tag.clone(),
        channel: args.channel.clone(),
        held: args.held.then_some(true),
        count_only: None,
    };
    if !args.yes {
        let counted = context.client.resend(&ResendInput { count_only: Some(true), ..input.clone() }).await?;
        if context.json && counted.count == 0 {
            return print_json(&counted);
        }
        eprint!("{}", counted_words(&counted));
        if counted.count == 0 {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Usage("nobody is there to be asked; --yes sends them again".into()).into());
        }
        eprint!("Send again? [y/N] ");
        if !is_yes(&mut io::stdin().lock())? {
            return print("Nothing was sent.\n");
        }
    }
    let resent = context.client.resend(&input).await?;
    if context.json {
        return print_json(&resent);
    }
    print(&resent_words(&resent))
}

fn is_yes(input: &mut impl BufRead) -> io::Result<bool> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn runs(n: usize) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{n} runs") }
}

/// How many would be sent again.
fn counted_words(counted: &Resent) -> String {
    let at_least = if counted.more { "at least " } else { "" };
    let mut text = format!("Failed since then: {at_least}{}.\n", runs(counted.count));
    text.push_str(&held_words(counted));
    text
}

fn resent_words(resent: &Resent) -> String {
    let mut text = format!("Sending {} again.\n", runs(resent.resent));
    if resent.left_out > 0 {
        text.push_str(&format!("Changed meanwhile, and left alone: {}.\n", runs(resent.left_out)));
    }
    text.push_str(&held_words(resent));
    if resent.more {
        text.push_str("There are more; the same command goes on with them.\n");
    }
    text
}

fn held_words(resent: &Resent) -> String {
    match resent.held {
        0 => String::new(),
        n => format!("May have arrived, and left alone: {}; --held sends them, too.\n", runs(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, expect) in [("y\n", true), ("Yes\n", true), ("\n", false), ("no\n", false), ("", false)] {
            assert_eq!(is_yes(&mut line.as_bytes()).unwrap(), expect, "{line:?}");
        }
    }

    #[test]
    fn numbers_are_said_in_words() {
        let counted = Resent { count: 1, resent: 0, left_out: 0, held: 2, more: false };
        assert_eq!(
            counted_words(&counted),
            "Failed since then: 1 run.\nMay have arrived, and left alone: 2 runs; --held sends them, too.\n"
        );
    }
}
