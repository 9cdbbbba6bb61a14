//! An export of another server.
//!
//! Nothing is remembered between two runs: the server leaves alone what it has. So a run may be killed at any moment, and the same command goes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use punctual_client::Failure;
use punctual_core::clock::Clock;
use punctual_core::whole::Overdue;
use punctual_engine::SystemClock;
use serde_json::json;

use super::outline::{Outline, numbered, read};
use super::progress::Progress;
use super::tally::thousands;
use crate::cli::export::{FORMAT, Header, TRY_AGAIN_AFTER, raw};
use crate::cli::style::neutral;
use crate::cli::table::{Cell, Table};
use crate::cli::{Context, Said, Usage, print, print_json};
use crate::wire::{Adopt, Adopted, Differs};

/// How many lines, and how many bytes, go to the server at once.
const LINES: usize = 1000;
const BYTES: usize = 8 * 1024 * 1024;
/// How many lines that cannot be taken are named, and how many fields that differ.
const SHOWN: usize = 20;

/// The file that `source` names, if an export begins there.
pub(super) fn file(source: &str) -> Option<PathBuf> {
    let path = Path::new(source);
    let mut first = String::new();
    BufReader::new(File::open(path).ok()?).read_line(&mut first).ok()?;
    serde_json::from_str::<Header>(&first).is_ok_and(|header| header.line == "header").then(|| path.to_owned())
}

pub(super) async fn run(path: &Path, args: &super::Args, context: &Context) -> anyhow::Result<()> {
    let overdue = args.overdue.as_deref().unwrap_or("missed");
    overdue.parse::<Overdue>().map_err(|invalid| Usage(format!("--overdue: {}", invalid.problem)))?;
    let outline = Outline::of(path)?;
    if outline.header.format != FORMAT {
        let found = outline.header.format;
        return Err(
            Usage(format!("{}: its lines have format {found}; this program reads {FORMAT}", path.display())).into()
        );
    }
    let what = if args.apply { "importing" } else { "comparing" };
    let mut importing = Importing {
        context,
        overdue,
        applies: args.apply,
        tally: Tally::default(),
        progress: Progress::begin(what, outline.n_lines as u64),
    };
    let done = importing.all(path, &outline).await;
    let Importing { mut tally, progress, .. } = importing;
    let seconds = progress.end();
    done.map_err(|error| match args.apply {
        true => error.context("it was cut off; the same command goes on from there"),
        false => error,
    })?;
    tally.refused.sort_by_key(|(number, _)| *number);
    let refused = tally.refused.iter().map(|(number, why)| format!("line {number}: {why}"));
    let problems: Vec<String> = refused.chain(tally.differing.iter().cloned()).collect();
    if context.json {
        let Tally { total, n_refused, .. } = &tally;
        print_json(&json!({
            "file": path.display().to_string(), "dry_run": !args.apply, "seconds": seconds, "new": total.new, "here": total.here,
            "missed": total.missed, "differ": total.n_differ, "refused": n_refused, "problems": problems, "whole": outline.is_whole(),
        }))?;
    } else {
        print(&table(&tally.total, args.apply).render(context.paint))?;
        for problem in &problems {
            print(&format!("{}\n", neutral(problem)))?;
        }
        print(&format!("\n{}\n", closing(&tally, &outline, args, seconds)))?;
    }
    let is_bad = tally.n_refused > 0 || !outline.is_whole() || args.check && !tally.is_same();
    if is_bad { Err(Said.into()) } else { Ok(()) }
}

/// An import under way.
struct Importing<'a> {
    context: &'a Context,
    overdue: &'a str,
    applies: bool,
    tally: Tally,
    progress: Progress,
}

/// What became of the lines.
#[derive(Default)]
struct Tally {
    total: Adopted,
    /// The first lines that cannot be taken, each with the reason.
    refused: Vec<(usize, String)>,
    n_refused: usize,
    /// The first fields that differ.
    differing: Vec<String>,
    /// How many lines of one person's export only tell of things that are others' too.
    n_told: usize,
}

impl Tally {
    fn refuse(&mut self, number: usize, why: String) {
        self.n_refused += 1;
        if self.refused.len() < SHOWN {
            self.refused.push((number, why));
        }
    }

    /// Whether everything that was compared is here, and says the same.
    fn is_same(&self) -> bool {
        self.n_new() == 0 && self.total.n_differ == 0
    }

    fn n_new(&self) -> usize {
        self.total.new.values().sum()
    }
}

impl Importing<'_> {
    async fn all(&mut self, path: &Path, outline: &Outline) -> anyhow::Result<()> {
        let (mut some, mut n_bytes) = (Vec::new(), 0);
        for line in numbered(path)?.skip(1) {
            let (number, bytes) = line?;
            let (text, kind) = match read(&bytes) {
                Ok((text, known)) => (text, known.line),
                // Lines stand alone: what follows is not worse for it.
                Err(why) => {
                    self.tally.refuse(number, why.to_owned());
                    continue;
                }
            };
            if matches!(kind, "page" | "end") {
                continue;
            }
            let counts = outline.counts(number, text);
            // A person's own export tells of their groups and events, and not who else belongs to them; their calendars would make the events anew.
            let is_told_only = matches!(kind, "group" | "event" | "calendar") && outline.header.user.is_some();
            self.tally.n_told += usize::from(counts && is_told_only);
            if !counts || is_told_only || kind == "gone" {
                self.progress.advance(1);
                continue;
            }
            n_bytes += text.len();
            some.push((number, text.to_owned()));
            if some.len() == LINES || n_bytes >= BYTES {
                self.hand_over(std::mem::take(&mut some)).await?;
                n_bytes = 0;
            }
        }
        if some.is_empty() { Ok(()) } else { self.hand_over(some).await }
    }

    async fn hand_over(&mut self, lines: Vec<(usize, String)>) -> anyhow::Result<()> {
        let overdue = Some(self.overdue.to_owned());
        let numbers: Vec<usize> = lines.iter().map(|(number, _)| *number).collect();
        let lines = lines.iter().map(|(_, line)| raw(line)).collect::<Result<Vec<_>, _>>()?;
        let adopt = Adopt { lines, overdue, check: !self.applies };
        let clock = SystemClock::start();
        let mut waits = TRY_AGAIN_AFTER.into_iter();
        let answer = loop {
            match (self.context.client.adopt(&adopt).await, waits.next()) {
                // What was written stays, so the same again does no harm.
                (Err(Failure::Unreachable(why)), Some(seconds))
                    if self.tally.total.new.len() + self.tally.total.here.len() > 0 =>
                {
                    self.progress.say(&format!("{why}; trying again in {seconds} s"));
                    clock.pause(Duration::from_secs(seconds)).await;
                }
                (answer, _) => break answer?,
            }
        };
        let number = |index: usize| numbers.get(index).copied().unwrap_or_default();
        let tally = &mut self.tally;
        for one in &answer.refused {
            tally.refuse(number(one.index), format!("{}: {}", one.field, one.detail));
        }
        let differs = answer.differs.iter().map(|one: &Differs| {
            let Differs { index, kind, key, field, line, here } = one;
            format!("line {}: {kind} {key}: {field} is {line} in the file and {here} here", number(*index))
        });
        let room = SHOWN.saturating_sub(tally.differing.len());
        tally.differing.extend(differs.take(room));
        add(&mut tally.total.new, &answer.new);
        add(&mut tally.total.here, &answer.here);
        tally.total.missed += answer.missed;
        tally.total.n_differ += answer.n_differ;
        self.progress.advance(numbers.len());
        Ok(())
    }
}

type Counts = BTreeMap<std::borrow::Cow<'static, str>, usize>;

fn add(to: &mut Counts, from: &Counts) {
    for (kind, n) in from {
        *to.entry(kind.clone()).or_default() += n;
    }
}

fn table(total: &Adopted, applies: bool) -> Table {
    let mut table = Table::new(&["LINES", if applies { "NEW" } else { "NOT HERE" }, "HERE"]);
    let mut kinds: Vec<_> = total.new.keys().chain(total.here.keys()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let of = |counts: &Counts| thousands(counts.get(kind).copied().unwrap_or(0) as u64);
        table.push(vec![Cell::plain(kind), Cell::plain(&of(&total.new)), Cell::plain(&of(&total.here))]);
    }
    table
}

fn closing(tally: &Tally, outline: &Outline, args: &super::Args, seconds: f64) -> String {
    let Tally { total, n_refused, n_told, .. } = tally;
    let is_all = *n_refused == 0 && *n_told == 0 && outline.is_whole();
    let (n_new, count) = (tally.n_new(), |n: usize| thousands(n as u64));
    let mut lines = Vec::new();
    lines.push(match (args.apply, args.check) {
        (true, _) if n_new == 0 => format!("Nothing was new. ({seconds:.1} s)"),
        (true, _) => format!("{} lines were new, after {seconds:.1} s.", count(n_new)),
        (false, true) if tally.is_same() && is_all => {
            format!("Nothing differs: every line of the file is here, and says the same. ({seconds:.1} s)")
        }
        (false, true) if tally.is_same() => {
            format!("What was compared is here, and says the same; that is not everything. ({seconds:.1} s)")
        }
        (false, true) => format!("{} lines are not here, and {} differ.", count(n_new), count(total.n_differ)),
        (false, false) => format!("Nothing was written. With --apply {} lines are new.", count(n_new)),
    });
    if total.missed > 0 {
        let n = count(total.missed);
        lines.push(format!(
            "{n} runs were overdue, or being sent, and are missed now: the other server may have sent them."
        ));
    }
    if *n_told > 0 {
        lines.push(format!(
            "{} lines about groups, events and calendars are not taken from one person's export.",
            count(*n_told)
        ));
    }
    if *n_refused > 0 {
        let rest = if *n_refused > SHOWN { format!("; the first {SHOWN} are named above") } else { String::new() };
        lines.push(format!("{} lines cannot be taken{rest}.", count(*n_refused)));
    }
    if outline.is_unsure {
        lines.push(
            "One that cannot be read stands where a later line counts: what it is about may be taken as an earlier line has it.".to_owned(),
        );
    }
    if !outline.has_end {
        lines.push("The file has no end: the export was cut off, or is still being written.".to_owned());
    }
    if outline.n_lost > 0 {
        lines.push(format!("The file has {} lines fewer than its end says.", count(outline.n_lost)));
    }
    lines.join("\n")
}
