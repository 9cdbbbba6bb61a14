//! How fast everything goes out, and in.

use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_core::whole::{ADOPTED_AT_ONCE, Cursor, Line, LineKind, Overdue, RUNS_MAX, Section};
use punctual_engine::SystemClock;
use punctual_engine::export::{Export, History, page};
use punctual_store::line::{from_json, to_json};
use punctual_store::sqlite::{Options, SqliteStore};

use super::Common;
use super::place::{self, Place};
use super::report::{Report, Table, count, per_second, rate};
use super::server::Memory;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders there are
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    rows: usize,
}

/// One way.
struct Measured {
    n_lines: usize,
    n_reminders: usize,
    n_bytes: usize,
    took: SignedDuration,
}

impl Measured {
    fn row(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            per_second(rate(self.n_reminders, self.took)),
            per_second(rate(self.n_lines, self.took)),
            format!("{:.1} s", self.took.as_secs_f64()),
            format!("{:.0} MB", Memory::megabytes(self.n_bytes as u64)),
        ]
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock = SystemClock::start();
    let place = Place::new(common)?;
    let store = place.open().await?;
    let n_reminders = place::fill(&*store, args.rows).await?;
    // What comes out goes into a file of its own, a thousand lines at a time, as an import sends them.
    let into: Arc<dyn Store> = Arc::new(SqliteStore::open(&place.dir().join("imported.db"), Options::default())?);
    let (mut out, mut back) = (Measured::new(), Measured::new());
    let mut memory_max = 0;
    let mut waiting: Vec<String> = Vec::new();
    let head = store.place().await?;
    let after = Cursor::begin(Section::Entries);
    let mut export = Export { after, head, user: None, history: History::All, runs_max: RUNS_MAX };
    loop {
        let begun_at = clock.now();
        let page = page(&*store, &export, begun_at).await?;
        let lines: Vec<String> = page.lines.iter().map(to_json).collect();
        out.took += clock.now().duration_since(begun_at);
        out.count(&page.lines, &lines);
        waiting.extend(lines);
        while waiting.len() >= ADOPTED_AT_ONCE || page.is_last && !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(ADOPTED_AT_ONCE));
            let some = std::mem::replace(&mut waiting, rest);
            let begun_at = clock.now();
            let lines = some.iter().map(|line| from_json(line)).collect::<Result<Vec<Line>, _>>()?;
            back.count(&lines, &some);
            into.adopt(lines, Overdue::Missed, begun_at).await?;
            back.took += clock.now().duration_since(begun_at);
        }
        memory_max = memory_max.max(Memory::read(Path::new("/proc/self"))?.now);
        if page.is_last {
            break;
        }
        export.after = page.next;
    }

    let mut report = Report::new(
        "export",
        format!("export: {} reminders with their journal, and into an SQLite file", count(n_reminders)),
    );
    let mut table = Table::new(["", "reminders", "lines", "time", "text"]);
    table.row(out.row("out: read, and written as lines"));
    table.row(back.row("in: lines read, looked for, written"));
    report.table(table);
    report.note(format!("At most {:.0} MB of memory.", Memory::megabytes(memory_max)));
    report.note(place.note());
    report.field("reminders", n_reminders);
    report.field("out_reminders_per_second", rate(out.n_reminders, out.took));
    report.field("out_lines_per_second", rate(out.n_lines, out.took));
    report.field("in_reminders_per_second", rate(back.n_reminders, back.took));
    report.field("in_lines_per_second", rate(back.n_lines, back.took));
    report.field("memory_max_mb", Memory::megabytes(memory_max));
    Ok(report)
}

impl Measured {
    fn new() -> Self {
        Self { n_lines: 0, n_reminders: 0, n_bytes: 0, took: SignedDuration::ZERO }
    }

    fn count(&mut self, lines: &[Line], texts: &[String]) {
        self.n_lines += lines.len();
        self.n_reminders += lines.iter().filter(|line| line.kind() == LineKind::Reminder).count();
        self.n_bytes += texts.iter().map(String::len).sum::<usize>();
    }
}
