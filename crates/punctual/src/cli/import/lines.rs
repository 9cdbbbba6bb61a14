//! An export of another server.
//!
//! Nothing is remembered between two runs: the server leaves alone what it has. So a run may be killed at any moment, and the same command goes on.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use punctual_client::Failure;
use punctual_core::clock::Clock;
use punctual_core::whole::{Overdue, Section};
use punctual_engine::SystemClock;
use serde::Deserialize;
use serde_json::json;

use super::progress::Progress;
use super::tally::thousands;
use crate::cli::export::{FORMAT, Header, Known, TRY_AGAIN_AFTER, raw};
use crate::cli::style::neutral;
use crate::cli::table::{Cell, Table};
use crate::cli::{Context, Said, Usage, print, print_json};
use crate::wire::{Adopt, Adopted, Differs};

/// How many lines, and how many bytes, go to the server at once.
const LINES: usize = 1000;
const BYTES: usize = 8 * 1024 * 1024;
/// How many problems are shown.
const SHOWN: usize = 20;

/// The file that `source` names, if an export begins there.
pub(super) fn file(source: &str) -> Option<PathBuf> {
    let path = Path::new(source);
    let mut first = String::new();
    BufReader::new(File::open(path).ok()?).read_line(&mut first).ok()?;
    serde_json::from_str::<Header>(&first).is_ok_and(|header| header.line == "header").then(|| path.to_owned())
}

/// The lines of a file that count, and what its head says.
struct Outline {
    header: Header,
    n_lines: usize,
    /// Where the last line about each thing stands that was written again at the end.
    last: HashMap<(String, String), usize>,
    is_whole: bool,
}

/// What names a thing.
#[derive(Deserialize)]
struct Named<'a> {
    line: &'a str,
    id: Option<String>,
    name: Option<String>,
    path: Option<String>,
    key: Option<String>,
    owner: Option<String>,
    /// Of a thing that is not there any more: what it was.
    of: Option<String>,
}

impl Named<'_> {
    /// The kind and the name of a thing of which a later line counts.
    fn key(self) -> Option<(String, String)> {
        let name = match self.line {
            "user" | "silence" | "reminder" => self.id?,
            "group" => self.name?,
            "scope" => self.path?,
            "event" => self.key?,
            "calendar" => format!("{}/{}", self.owner?, self.name?),
            "gone" => return Some((self.of?, self.key?)),
            _ => return None,
        };
        Some((self.line.to_owned(), name))
    }
}

pub(super) async fn run(path: &Path, args: &super::Args, context: &Context) -> anyhow::Result<()> {
    let overdue = args.overdue.as_deref().unwrap_or("missed");
    overdue.parse::<Overdue>().map_err(|invalid| Usage(format!("--overdue: {}", invalid.problem)))?;
    let outline = outline(path)?;
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
        total: Adopted::default(),
        problems: Vec::new(),
        n_refused: 0,
        progress: Progress::begin(what, outline.n_lines as u64),
    };
    let done = importing.all(path, &outline).await;
    let Importing { total, problems, n_refused, progress, .. } = importing;
    let seconds = progress.end();
    done.map_err(|error| match args.apply {
        true => error.context("it was cut off; the same command goes on from there"),
        false => error,
    })?;
    if context.json {
        print_json(&json!({
            "file": path.display().to_string(), "dry_run": !args.apply, "seconds": seconds, "new": total.new, "here": total.here,
            "missed": total.missed, "differ": total.n_differ, "refused": n_refused, "problems": problems, "whole": outline.is_whole,
        }))?;
    } else {
        print(&table(&total, args.apply).render(context.paint))?;
        for problem in &problems {
            print(&format!("{}\n", neutral(problem)))?;
        }
        print(&format!("\n{}\n", closing(&total, n_refused, &outline, args, seconds)))?;
    }
    let n_missing: usize = total.new.values().sum();
    let is_bad = n_refused > 0 || args.check && (total.n_differ > 0 || n_missing > 0);
    if is_bad { Err(Said.into()) } else { Ok(()) }
}

/// Reads the file once.
fn outline(path: &Path) -> anyhow::Result<Outline> {
    let broken = |number: usize| move || format!("{}: line {number} is no JSON; the file is damaged", path.display());
    let mut lines = BufReader::new(File::open(path)?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let header: Header = serde_json::from_str(&first).with_context(broken(1))?;
    let mut outline = Outline { header, n_lines: 0, last: HashMap::new(), is_whole: false };
    let mut is_again = false;
    for (index, line) in lines.enumerate() {
        let (line, number) = (line?, index + 2);
        let known: Known<'_> = match serde_json::from_str(&line) {
            Ok(known) => known,
            // The last page was cut off; nothing of it follows.
            Err(_) if !outline.is_whole => break,
            Err(error) => return Err(error).with_context(broken(number)),
        };
        outline.is_whole = known.line == "end";
        match (known.line, known.after) {
            ("page", Some(after)) => is_again = after.starts_with(Section::Changes.as_str()),
            ("page" | "end", _) => {}
            _ => {
                outline.n_lines += 1;
                if is_again && let Some(key) = serde_json::from_str::<Named<'_>>(&line)?.key() {
                    outline.last.insert(key, number);
                }
            }
        }
    }
    Ok(outline)
}

/// An import under way.
struct Importing<'a> {
    context: &'a Context,
    overdue: &'a str,
    applies: bool,
    total: Adopted,
    problems: Vec<String>,
    n_refused: usize,
    progress: Progress,
}

impl Importing<'_> {
    async fn all(&mut self, path: &Path, outline: &Outline) -> anyhow::Result<()> {
        let (mut some, mut n_bytes) = (Vec::new(), 0);
        for (index, line) in BufReader::new(File::open(path)?).lines().enumerate().skip(1) {
            let (line, number) = (line?, index + 1);
            // Of a file that was cut off the last line may be half.
            let Ok(Known { line: kind, .. }) = serde_json::from_str(&line) else { break };
            if matches!(kind, "page" | "end") {
                continue;
            }
            let counts = match outline.last.is_empty() {
                true => true,
                false => {
                    let key = serde_json::from_str::<Named<'_>>(&line)?.key();
                    key.and_then(|key| outline.last.get(&key)).is_none_or(|last| *last == number)
                }
            };
            // A person's own export tells of their groups and events, and not who else belongs to them; their calendars would make the events anew.
            let is_told_only = matches!(kind, "group" | "event" | "calendar") && outline.header.user.is_some();
            if !counts || is_told_only || kind == "gone" {
                self.progress.advance(1);
                continue;
            }
            n_bytes += line.len();
            some.push((number, line));
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
                (Err(Failure::Unreachable(why)), Some(seconds)) if self.total.new.len() + self.total.here.len() > 0 => {
                    self.progress.say(&format!("{why}; trying again in {seconds} s"));
                    clock.pause(Duration::from_secs(seconds)).await;
                }
                (answer, _) => break answer?,
            }
        };
        let number = |index: usize| numbers.get(index).copied().unwrap_or_default();
        self.n_refused += answer.refused.len();
        let refused =
            answer.refused.iter().map(|one| format!("line {}: {}: {}", number(one.index), one.field, one.detail));
        let differs = answer.differs.iter().map(|one: &Differs| {
            let Differs { index, kind, key, field, line, here } = one;
            format!("line {}: {kind} {key}: {field} is {line} in the file and {here} here", number(*index))
        });
        let room = SHOWN.saturating_sub(self.problems.len());
        self.problems.extend(refused.chain(differs.filter(|_| !self.applies)).take(room));
        add(&mut self.total.new, &answer.new);
        add(&mut self.total.here, &answer.here);
        self.total.missed += answer.missed;
        self.total.n_differ += answer.n_differ;
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

fn closing(total: &Adopted, n_refused: usize, outline: &Outline, args: &super::Args, seconds: f64) -> String {
    let n_new: usize = total.new.values().sum();
    let mut lines = Vec::new();
    lines.push(match (args.apply, args.check) {
        (true, _) if n_new == 0 => format!("Nothing was new. ({seconds:.1} s)"),
        (true, _) => format!("{} lines were new, after {seconds:.1} s.", thousands(n_new as u64)),
        (false, true) if n_new == 0 && total.n_differ == 0 => {
            format!("Nothing differs: every line of the file is here, and says the same. ({seconds:.1} s)")
        }
        (false, true) => {
            format!("{} lines are not here, and {} differ.", thousands(n_new as u64), thousands(total.n_differ as u64))
        }
        (false, false) => format!("Nothing was written. With --apply {} lines are new.", thousands(n_new as u64)),
    });
    if total.missed > 0 {
        let n = thousands(total.missed as u64);
        lines.push(format!(
            "{n} runs were overdue, or being sent, and are missed now: the other server may have sent them."
        ));
    }
    if n_refused > 0 {
        lines.push(format!("{} lines cannot be taken.", thousands(n_refused as u64)));
    }
    if !outline.is_whole {
        lines.push("The file has no end: the export was cut off, or is still being written.".to_owned());
    }
    lines.join("\n")
}
