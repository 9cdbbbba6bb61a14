//! The people reminders are for.

use std::io::{self, IsTerminal};

use punctual_core::reminder::Address;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use super::add::{steps, steps_words};
use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, Usage, found, print, print_deleted, print_json, when};
use crate::wire::{self, EraseInput, HabitsInput, PageQuery, QuietHours, QuietHoursInput, UserInput, Word};

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
    /// Send nothing at all to a user until an instant; everything waits
    #[command(
        after_help = "Examples:\n  punctual users pause alice \"until monday\"\n  punctual users pause alice 3d\n  punctual users pause alice 2026-08-01T08:00:00+02:00"
    )]
    Pause {
        /// Whom
        user: String,
        /// Until when, such as "until monday", "friday at 8" or 3d, in their zone
        #[arg(required = true, value_name = "UNTIL")]
        until: Vec<String>,
    },
    /// End a pause: what waited is told now
    Resume {
        /// Whom
        user: String,
    },
    /// Show the address of a user's calendar, for their calendar program
    Calendar {
        /// Whom
        user: String,
        /// Change it first: earlier addresses lead nowhere
        #[arg(long)]
        new: bool,
    },
    /// Follow calendars: their items become events
    #[command(
        after_help = "Examples:\n  punctual users calendars alice\n  punctual users calendars alice add work https://calendar.example/work.ics\n  punctual users calendars alice remove work"
    )]
    Calendars {
        /// Whom
        user: String,
        #[command(subcommand)]
        command: Option<CalendarsCommand>,
    },
    /// Remove a user's entry; their reminders stay
    Delete {
        /// Whom
        user: String,
    },
    /// Remove a person everywhere: their entry, their reminders, their name in the journal
    Erase {
        /// Whom
        user: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Subcommand)]
enum CalendarsCommand {
    /// List them
    List,
    /// Follow a calendar, or change how
    Add {
        /// What to call it, such as work
        name: String,
        /// Where it is: https://…, webcal://…, or file:NAME in the server's folder
        #[arg(value_name = "URL")]
        source: String,
        /// How often to read it, such as 15m
        #[arg(long, value_name = "SPAN")]
        every: Option<String>,
        /// Which alarms count: own, defaults or both
        #[arg(long, value_name = "WHICH")]
        alarms: Option<String>,
        /// When to remind of items that say nothing about it, such as 60; may be given several times
        #[arg(long, value_name = "OFFSET", allow_hyphen_values = true)]
        offset: Vec<String>,
        /// What to say, such as '{title} in {minutes} min'
        #[arg(long, value_name = "TEMPLATE")]
        message: Option<String>,
    },
    /// Follow it no more; its events are withdrawn
    Remove {
        /// Which
        name: String,
    },
    /// Read it now
    Read {
        /// Which
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct Set {
    /// Whom
    user: String,
    /// Their zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, visible_alias = "tz")]
    timezone: Option<String>,
    /// What they mean by words that leave something open, such as morning=07:00 or date_order=day_first; `none` ends it
    #[arg(long, value_name = "NAME=VALUE")]
    habit: Vec<String>,
    /// Their language, such as de
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Where to reach them, in order of preference
    #[arg(long, value_name = "CHANNEL:ADDRESS")]
    to: Vec<String>,
    /// When not to disturb them, such as 22:00-07:00, or none
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<String>,
    /// What may disturb them all the same: critical alone, or high as well
    #[arg(long, value_name = "critical|high")]
    quiet_except: Option<String>,
    /// Whether reminders that waited during quiet hours come in one message
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    digest: Option<bool>,
    /// Who is asked when they do not answer, for reminders without a plan of their own, such as 5m:bob or 15m:group:on-call; may be given
    /// several times. Empty: nobody
    #[arg(long, value_name = "AFTER:WHO")]
    escalate: Vec<String>,
    /// Whether they are told when a critical reminder fails
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    admin: Option<bool>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Show { user } => show(user, context).await,
        Command::Set(set) => put(set, context).await,
        Command::Pause { user, until } => pause(user, Some(until.join(" ")), context).await,
        Command::Resume { user } => pause(user, None, context).await,
        Command::Calendar { user, new } => {
            let calendar = match new {
                true => context.client.renew_calendar(user).await?,
                false => context.client.calendar(user).await?,
            };
            match context.json {
                true => print_json(&calendar),
                false => print(&format!("{}\n", calendar.calendar_url)),
            }
        }
        Command::Calendars { user, command } => {
            calendars(user, command.as_ref().unwrap_or(&CalendarsCommand::List), context).await
        }
        Command::Delete { user } => {
            context.client.delete_user(user).await?;
            print_deleted(user, &format!("removed {user}; their reminders stay\n"), context)
        }
        Command::Erase { user, yes } => erase(user, *yes, context).await,
    }
}

async fn erase(user: &str, is_sure: bool, context: &Context) -> anyhow::Result<()> {
    if !is_sure && !io::stdin().is_terminal() {
        return Err(Usage("nothing was erased: --yes is needed where nobody can be asked".into()).into());
    }
    if !is_sure {
        eprint!("Everything of {} goes, and does not come back. Write the name once more: ", neutral(user));
        let mut name = String::new();
        io::stdin().read_line(&mut name)?;
        if name.trim_end_matches(['\r', '\n']) != user {
            return Err(Usage("nothing was erased; --yes erases without asking".into()).into());
        }
    }
    let is_known = found(context.client.user(user).await)?.is_some();
    let mut after = None;
    let erased = loop {
        let input = EraseInput { confirm: Some(user.to_owned()), after: after.take() };
        let erased =
            context.client.erase_user(user, &input).await.map_err(|failure| {
                anyhow::Error::from(failure).context("not all is erased; the same command goes on")
            })?;
        if erased.is_done {
            break erased;
        }
        eprintln!("{} reminders and {} records so far", erased.reminders, erased.records);
        after = Some(erased.after);
    };
    if !is_known && (erased.reminders, erased.records) == (0, 0) {
        // Maybe another name was meant, whose owner believes now that all is gone.
        return Err(anyhow::anyhow!("no such user: nothing here names {}, and nothing was erased", neutral(user)));
    }
    match context.json {
        true => print_json(&erased),
        false => print(&format!(
            "erased {}: {} reminders, and their name in {} records of others\n",
            neutral(user),
            erased.reminders,
            erased.records
        )),
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.users(&PageQuery { limit: Some(500), cursor: None }).await?;
    if context.json {
        return print_json(&page);
    }
    match page.users.is_empty() {
        true => {
            print("No users yet. Add one:  punctual users set alice --timezone Europe/Berlin --to webhook:https://…\n")
        }
        false => print(&table(&page.users, context).await?.render(context.paint)),
    }
}

async fn show(user: &str, context: &Context) -> anyhow::Result<()> {
    let user = context.client.user(user).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user], context).await?.render(context.paint)),
    }
}

async fn calendars(user: &str, command: &CalendarsCommand, context: &Context) -> anyhow::Result<()> {
    let shown = match command {
        CalendarsCommand::List => context.client.calendars(user).await?.calendars,
        CalendarsCommand::Add { name, source, every, alarms, offset, message } => {
            let offsets = offset.iter().map(|offset| wire::OffsetInput(offset.as_str().into())).collect();
            let input = wire::CalendarInput {
                url: Some(source.clone()),
                every: every.clone().map(wire::Span),
                alarms: alarms.clone(),
                offsets: Some(offsets).filter(|offsets: &Vec<_>| !offsets.is_empty()),
                message: message.clone(),
            };
            vec![context.client.put_calendar(user, name, &input).await?]
        }
        CalendarsCommand::Read { name } => vec![context.client.read_calendar(user, name).await?],
        CalendarsCommand::Remove { name } => {
            context.client.delete_calendar(user, name).await?;
            return print_deleted(name, &format!("{user} follows {name} no more\n"), context);
        }
    };
    if context.json {
        return print_json(&wire::Calendars { calendars: shown });
    }
    if shown.is_empty() {
        return print(&format!(
            "{user} follows no calendar. Add one:  punctual users calendars {user} add work https://…\n"
        ));
    }
    let now = SystemClock::read();
    let zone = context.zone().await?;
    let mut table = Table::new(&["CALENDAR", "SOURCE", "READ", "NEXT", "PROBLEM"]);
    for calendar in &shown {
        let at = |at: Option<jiff::Timestamp>| at.map_or_else(|| "–".to_owned(), |at| when::labelled(at, &zone, now));
        let problem = calendar.problem.clone().or_else(|| calendar.problems.first().cloned());
        table.push(vec![
            Cell::new(&calendar.name, Style::Cyan),
            Cell::plain(&calendar.source),
            Cell::plain(&at(calendar.read_at)),
            Cell::plain(&at(calendar.next_read_at)),
            Cell::plain(problem.as_deref().unwrap_or("–")),
        ]);
    }
    print(&table.render(context.paint))
}

/// A user's entry, as the API takes it; empty for a user without one.
async fn known(user: &str, context: &Context) -> anyhow::Result<UserInput> {
    Ok(found(context.client.user(user).await)?.map(UserInput::from).unwrap_or_default())
}

async fn put(set: &Set, context: &Context) -> anyhow::Result<()> {
    let before = known(&set.user, context).await?;
    let to: Result<Vec<Address>, _> = set.to.iter().map(|to| to.parse::<Address>()).collect();
    let to = to.map_err(|invalid| Usage(format!("--to: {}", invalid.problem)))?;
    let to = (!to.is_empty()).then(|| to.into_iter().map(Into::into).collect());
    let input = UserInput {
        timezone: set.timezone.clone().or(before.timezone),
        language: set.language.clone().or(before.language),
        addresses: to.or(before.addresses),
        quiet_hours: quiet(set, before.quiet_hours)?,
        paused_until: before.paused_until,
        escalate: steps(&set.escalate)?.or(before.escalate),
        habits: habits(&set.habit, before.habits)?,
        admin: set.admin.or(before.admin),
    };
    let user = context.client.put_user(&set.user, &input).await?;
    match context.json {
        true => print_json(&user),
        false => print(&table(&[user], context).await?.render(context.paint)),
    }
}

/// The habits that are asked for. What is not given of them stays as it is.
fn habits(given: &[String], before: Option<HabitsInput>) -> Result<Option<HabitsInput>, Usage> {
    let mut habits = before.unwrap_or_default();
    for habit in given {
        let wrong = || {
            Usage(format!(
                "--habit: `{habit}` is no habit; write morning=07:00, evening=18:00, day=09:00, date_order=day_first or first_day_of_week=sun"
            ))
        };
        let (name, text) = habit.split_once('=').ok_or_else(wrong)?;
        let field = match name {
            "date_order" => &mut habits.date_order,
            "first_day_of_week" => &mut habits.first_day_of_week,
            "morning" => &mut habits.morning,
            "evening" => &mut habits.evening,
            "day" => &mut habits.day,
            _ => return Err(wrong()),
        };
        *field = Some(text.to_owned()).filter(|text| text != "none");
    }
    Ok(Some(habits).filter(|habits| *habits != HabitsInput::default()))
}

/// The quiet hours that `set` asks for. What is not given of them stays as it is.
fn quiet(set: &Set, before: Option<QuietHoursInput>) -> Result<Option<QuietHoursInput>, Usage> {
    let hours = match set.quiet.as_deref() {
        None => before,
        Some("none") => None,
        Some(quiet) => {
            let (from, to) = quiet
                .split_once('-')
                .ok_or_else(|| Usage(format!("--quiet: `{quiet}` is no stretch of time; write 22:00-07:00")))?;
            let (from, to) = (Some(from.trim().to_owned()), Some(to.trim().to_owned()));
            Some(QuietHoursInput { from, to, ..before.unwrap_or_default() })
        }
    };
    let Some(hours) = hours else {
        let option = set.digest.map(|_| "--digest").or(set.quiet_except.as_ref().map(|_| "--quiet-except"));
        return match option {
            Some(option) => {
                Err(Usage(format!("{option}: there are no quiet hours; say when, with --quiet 22:00-07:00")))
            }
            None => Ok(None),
        };
    };
    let except = set.quiet_except.as_deref().map(Word::new).or(hours.except);
    Ok(Some(QuietHoursInput { except, digest: set.digest.or(hours.digest), ..hours }))
}

/// Pauses a user until then, or ends the pause.
async fn pause(user: &str, until: Option<String>, context: &Context) -> anyhow::Result<()> {
    let input = UserInput { paused_until: until, ..known(user, context).await? };
    let shown = context.client.put_user(user, &input).await?;
    if context.json {
        return print_json(&shown);
    }
    let now = SystemClock::read();
    let zone = zone_of(&shown, context).await?;
    print(&match shown.paused_until {
        Some(until) => format!("nothing is sent to {user} until {}\n", when::both(until, &zone, now)),
        None => format!("{user} is told again\n"),
    })
}

/// The user's zone, else the server's.
async fn zone_of(user: &wire::User, context: &Context) -> anyhow::Result<Zone> {
    match user.timezone.as_deref().and_then(|name| Zone::named(name).ok()) {
        Some(zone) => Ok(zone),
        None => context.zone().await,
    }
}

async fn table(users: &[wire::User], context: &Context) -> anyhow::Result<Table> {
    let mut table =
        Table::new(&["USER", "ZONE", "LANGUAGE", "QUIET", "PAUSED UNTIL", "ESCALATE", "ADMIN", "ADDRESSES"]);
    let now = SystemClock::read();
    for user in users {
        let paused = match user.paused_until {
            Some(until) => Some(when::labelled(until, &zone_of(user, context).await?, now)),
            None => None,
        };
        let addresses: Vec<String> = user.addresses.iter().map(Address::to_string).collect();
        table.push(vec![
            Cell::new(&user.id, Style::Cyan),
            Cell::plain(user.timezone.as_deref().unwrap_or("–")),
            Cell::plain(user.language.as_deref().unwrap_or("–")),
            Cell::plain(&user.quiet_hours.as_ref().map_or_else(|| "–".to_owned(), quiet_words)),
            Cell::plain(paused.as_deref().unwrap_or("–")),
            Cell::plain(&steps_words(&user.escalate).unwrap_or_else(|| "–".to_owned())),
            Cell::plain(if user.admin { "yes" } else { "–" }),
            Cell::plain(&addresses.join(", ")),
        ]);
    }
    Ok(table)
}

/// `22:00-07:00 but high, digest`.
fn quiet_words(hours: &QuietHours) -> String {
    let except = match hours.except.as_str() {
        "critical" => String::new(),
        except => format!(" but {except}"),
    };
    let digest = if hours.digest { ", digest" } else { "" };
    format!("{}-{}{except}{digest}", hours.from, hours.to)
}
