//! How fast reminders are found by words in their text, and how fast the index is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_channels::Closure;
use punctual_core::channel::{Message, Receipt};
use punctual_core::clock::Random;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::rules::search::{Words, text_of};
use punctual_core::store::{Create, Filled, Index, IndexText, NewReminder, ReminderQuery, Store};
use punctual_engine::{Engine, SystemClock, SystemRandom};
use serde_json::{Value, json};

use super::Common;
use super::place::{Place, pending, progress};
use super::report::{Report, Table, count, per_second, rate};
use super::rig::{self, Wanted, plus};
use super::summary::Summary;

/// The reminders are due long after.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(24 * 30);
/// How many are written in one transaction, and how many texts.
const BATCH: usize = 1000;
/// Among how many users they are divided.
const USERS: usize = 100;
/// How many are asked for.
const LIMIT: usize = 50;
/// Of which messages are made.
const VOCABULARY: [&str; 40] = [
    "call", "mother", "about", "birthday", "take", "medicine", "with", "a", "glass", "of", "milk", "feed", "the",
    "cat", "and", "dog", "pay", "rent", "before", "friday", "send", "report", "to", "office", "buy", "bread", "eggs",
    "clean", "kitchen", "meet", "anna", "at", "station", "write", "letter", "repair", "bicycle", "book", "train",
    "tickets",
];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders there are
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    rows: usize,
    /// How often each word is looked for
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// A word that stands in so many of the messages.
pub(super) struct Planted {
    word: &'static str,
    /// In every so many; 0 is none of its own.
    every: usize,
    /// In those before this one.
    until: usize,
}

/// None, 12, 5,000 and 400,000 of a million; 45,000 of which the newest tenth has none; and two common words beside each other.
pub(super) fn planted(rows: usize) -> [Planted; 6] {
    let anywhere = |word, every| Planted { word, every, until: rows };
    [
        anywhere("zeppelin", 0),
        anywhere("umbrella", (rows / 12).max(1)),
        anywhere("passport", 200),
        anywhere("water", 0),
        Planted { word: "vaccine", every: 20, until: rows - rows / 10 },
        anywhere("take medicine", 0),
    ]
}

/// The message of reminder `number`.
pub(super) fn message(number: usize, planted: &[Planted]) -> String {
    let mut words = Vec::new();
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..6 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.push(VOCABULARY[(state >> 33) as usize % VOCABULARY.len()]);
    }
    let is_due =
        |planted: &&Planted| planted.every > 0 && number < planted.until && number.is_multiple_of(planted.every);
    words.extend(planted.iter().filter(is_due).map(|planted| planted.word));
    // The common word.
    words.extend((number % 5 < 2).then_some("water"));
    words.join(" ")
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let place = Place::new(common)?;
    let store = place.open().await?;
    let planted = planted(args.rows);
    anyhow::ensure!(pending(&*store).await? == 0, "the database is not empty; name another");
    store.prepare_search().await?;
    let nowhere = Arc::new(Closure::new(|_: Message| async { Ok(Receipt::default()) }));
    let engine = rig::engine(store.clone(), nowhere, None)?;
    let made = |number: usize, now: Timestamp| made(number, &planted, plus(now, DUE_AFTER), now);
    let (indexed_in, before) = fill(&*store, args.rows, &place, &made).await?;
    let size = place.size();
    // The index has come to the end of the journal: it is as a server has it that has nothing to do.
    store.place().await?;
    store.take_duty("search", "bench", SystemClock::read()).await?;

    let mut table = Table::new(["", "hits"].into_iter().chain(Summary::COLUMNS));
    let mut measured = Vec::new();
    for planted in &planted {
        // One who has a hundredth of each word, and one who has none of most.
        for user in [None, Some("user-0".to_owned()), Some("user-8".to_owned())] {
            let (summary, hits) = look_for(&engine, planted.word, user.as_deref(), args.rounds).await?;
            let whose = user.as_deref().map_or("everybody's".to_owned(), |user| format!("{user}'s"));
            let mut row = vec![format!("{}, {whose}", planted.word), count(hits)];
            row.extend(summary.cells());
            table.row(row);
            let mut json = summary.json();
            json["word"] = json!(planted.word);
            json["user"] = json!(user);
            json["hits"] = json!(hits);
            measured.push(json);
        }
    }
    let title = format!("search: a page of up to {LIMIT} among {} reminders", count(args.rows));
    let mut report = Report::new("search", title);
    report.table(table);
    let indexing = rate(args.rows, indexed_in);
    report.note(format!("The index was filled at {} without rests.", per_second(indexing)));
    if let (Some(before), Some(after)) = (before, size) {
        let bytes = after.saturating_sub(before) / args.rows.max(1) as u64;
        report.note(format!("It takes about {bytes} bytes a reminder."));
        report.field("index_bytes_per_reminder", bytes);
    }
    report.note(place.note());
    report.field("rows", args.rows);
    report.field("indexed_per_second", indexing);
    report.field("searches", Value::Array(measured));
    Ok(report)
}

/// Makes the reminders, each by its number, then the index; returns how long the index took, and the size before it.
pub(super) async fn fill(
    store: &dyn Store,
    rows: usize,
    place: &Place,
    made: &(dyn Fn(usize, Timestamp) -> NewReminder + Sync),
) -> anyhow::Result<(SignedDuration, Option<u64>)> {
    let bar = progress(rows, "reminders");
    let mut texts: Vec<IndexText> = Vec::with_capacity(rows);
    for first in (0..rows).step_by(BATCH) {
        let now = SystemClock::read();
        let reminders: Vec<NewReminder> = (first..rows.min(first + BATCH)).map(|number| made(number, now)).collect();
        texts.extend(reminders.iter().map(|new| text(&new.reminder)));
        store.create(Create { reminders, who: "bench".into(), answered: None, now }).await?;
        bar.inc(BATCH as u64);
    }
    // A bench knows a database that a bench has filled by its newest reminder.
    let now = SystemClock::read();
    let wanted = Wanted { user: "bench".into(), due_at: plus(now, DUE_AFTER), to: Vec::<Address>::new() };
    let reminders = vec![rig::new_reminder(wanted, SystemRandom.ten(), now)];
    store.create(Create { reminders, who: "bench".into(), answered: None, now }).await?;
    bar.finish_and_clear();
    let before = place.size();
    let bar = progress(rows, "index");
    let begun_at = SystemClock::read();
    let mut texts = texts.into_iter();
    loop {
        let batch: Vec<IndexText> = texts.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        store.index(Index { texts: batch, ..Index::default() }).await?;
        bar.inc(BATCH as u64);
    }
    store.index(Index { filled: Some(Filled::Whole), ..Index::default() }).await?;
    bar.finish_and_clear();
    Ok((SystemClock::read().duration_since(begun_at), before))
}

fn made(number: usize, planted: &[Planted], due_at: Timestamp, now: Timestamp) -> NewReminder {
    let user = format!("user-{}", number % USERS);
    let mut new = rig::new_reminder(Wanted { user, due_at, to: Vec::<Address>::new() }, SystemRandom.ten(), now);
    new.reminder.message = message(number, planted);
    new
}

fn text(reminder: &Reminder) -> IndexText {
    IndexText { reminder: reminder.id, user: reminder.user.clone(), text: text_of(reminder) }
}

/// Looks for a word, again and again; returns how long each search took, and how many reminders a page has.
async fn look_for(engine: &Engine, word: &str, user: Option<&str>, rounds: u16) -> anyhow::Result<(Summary, usize)> {
    let words = Words::read("q", word, true)?;
    let query = ReminderQuery { user: user.map(str::to_owned), limit: LIMIT, ..ReminderQuery::default() };
    let (mut took, mut hits) = (Vec::new(), BTreeMap::new());
    for _ in 0..rounds {
        let begun_at = SystemClock::read();
        let page = engine.search(&words, &query, None).await?;
        took.push(SystemClock::read().duration_since(begun_at));
        *hits.entry(page.views.len()).or_insert(0_usize) += 1;
    }
    anyhow::ensure!(hits.len() == 1, "`{word}` has {hits:?} hits: not the same each time");
    Ok((Summary::of(took), hits.into_keys().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_as_many_messages_as_they_should() {
        let planted = planted(1000);
        let n = |word: &str| (0..1000).filter(|number| message(*number, &planted).contains(word)).count();
        assert_eq!((n("zeppelin"), n("umbrella"), n("passport"), n("water"), n("vaccine")), (0, 13, 5, 400, 45));
        assert!((1..20).contains(&n("take medicine")), "{}", n("take medicine"));
        let of_user = (8..1000).step_by(100).map(|number| message(number, &planted));
        assert_eq!(of_user.filter(|text| text.contains("water") || text.contains("vaccine")).count(), 0);
    }
}
