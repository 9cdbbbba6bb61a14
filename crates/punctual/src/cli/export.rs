//! Writing everything to a file.
//!
//! A file is written page by page, and after each page a line says where it goes on. So a file that was cut off is gone on with after its last whole
//! page, and one that is whole gets what has changed since.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use punctual_client::Failure;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::import::progress::Progress;
use super::import::tally::thousands;
use super::style::neutral;
use super::{Context, Said, Usage, print, print_json};
use crate::wire::{ExportPage, ExportQuery};

/// The version of the lines.
pub(super) const FORMAT: u32 = 1;
/// How long to wait before a page is asked for again, in seconds.
pub(super) const TRY_AGAIN_AFTER: [u64; 7] = [1, 2, 4, 8, 15, 30, 60];

const EXAMPLES: &str = "\
Examples:
  punctual export --output everything.jsonl
  punctual export --output everything.jsonl        # again: what has changed since
  punctual export --user alice --output alice.jsonl
  punctual export --history none | gzip > reminders.jsonl.gz";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only what is this user's: for a person who asks for it
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
    /// Where to; a file that is there already is gone on with [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How much of the journal: all, none, or how far back, such as 90d
    #[arg(long, value_name = "TIME", default_value = "all")]
    history: String,
}

/// The first line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) line: String,
    pub(super) format: u32,
    pub(super) version: String,
    pub(super) at: String,
    pub(super) head: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    pub(super) history: String,
}

/// A line, as far as it says what it is.
#[derive(Debug, Deserialize)]
pub(super) struct Known<'a> {
    pub(super) line: &'a str,
    /// Of a page: where it goes on.
    pub(super) after: Option<String>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let stats = match &args.user {
        Some(_) => None,
        None => context.client.stats().await.ok(),
    };
    let total = stats.map_or(0, |stats| stats.reminders.values().sum());
    let mut file = match &args.output {
        Some(path) => Some(Output::open(path)?),
        None => None,
    };
    let written = file.as_ref().map(Output::written).transpose()?.flatten();
    let n_whole = written.as_ref().map_or(0, |written| written.n_whole);
    let mut export = match written {
        Some(Written { header, after, counts, .. }) => {
            if (&header.user, &header.history) != (&args.user, &args.history) {
                let user = header.user.as_deref().unwrap_or("everybody");
                return Err(Usage(format!(
                    "--output: the file is an export of {user} with --history {}; go on with the same, or name another file",
                    header.history
                ))
                .into());
            }
            Exporting { header: Some(header), after, counts, unreadable: Vec::new() }
        }
        None => Exporting { header: None, after: None, counts: BTreeMap::new(), unreadable: Vec::new() },
    };
    if let Some(file) = &mut file {
        file.cut(n_whole)?;
    }
    let mut progress = Progress::begin("exporting", total);
    progress.advance(export.counts.get("reminder").copied().unwrap_or(0));
    let done = export.all(args, context, file.as_mut(), &mut progress).await;
    let seconds = progress.end();
    done.map_err(|error| match &args.output {
        Some(_) => error.context("it was cut off; the same command goes on from there"),
        None => error,
    })?;
    for (id, detail) in &export.unreadable {
        eprintln!("{}", neutral(&format!("left out: reminder {id} cannot be read: {detail}")));
    }
    if let Some(path) = &args.output {
        export.say(path, seconds, context)?;
    }
    if export.unreadable.is_empty() { Ok(()) } else { Err(Said.into()) }
}

/// An export under way.
struct Exporting {
    header: Option<Header>,
    after: Option<String>,
    counts: BTreeMap<String, usize>,
    unreadable: Vec<(String, String)>,
}

impl Exporting {
    async fn all(
        &mut self,
        args: &Args,
        context: &Context,
        mut file: Option<&mut Output>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        loop {
            let page = self.page(args, context, progress).await?;
            let mut text = String::new();
            if self.header.is_none() {
                let header = Header {
                    line: "header".into(),
                    format: FORMAT,
                    version: env!("CARGO_PKG_VERSION").into(),
                    at: SystemClock::read().to_string(),
                    head: page.head,
                    user: args.user.clone(),
                    history: args.history.clone(),
                };
                text = format!("{}\n", serde_json::to_string(&header)?);
                self.header = Some(header);
            }
            let n_before = self.counts.get("reminder").copied().unwrap_or(0);
            for line in &page.lines {
                self.count(line.get());
                text.push_str(line.get());
                text.push('\n');
            }
            text.push_str(&format!("{}\n", serde_json::json!({ "line": "page", "after": page.after })));
            self.unreadable.extend(page.unreadable.into_iter().map(|one| (one.id, one.detail)));
            self.after = Some(page.after);
            if page.is_last {
                text.push_str(&format!("{}\n", serde_json::json!({ "line": "end", "counts": self.counts })));
            }
            match &mut file {
                Some(file) => file.write(&text)?,
                None => print(&text)?,
            }
            progress.advance(self.counts.get("reminder").copied().unwrap_or(0) - n_before);
            if page.is_last {
                return file.map_or(Ok(()), Output::keep);
            }
        }
    }

    /// The next page; asked for again while the server cannot be reached.
    async fn page(&self, args: &Args, context: &Context, progress: &Progress) -> anyhow::Result<ExportPage> {
        let query = ExportQuery {
            after: self.after.clone(),
            head: self.header.as_ref().map(|header| header.head),
            user: args.user.clone(),
            history: Some(args.history.clone()),
        };
        let clock = SystemClock::start();
        // The first page tells at once that there is no server, or that the key is wrong.
        let mut waits = TRY_AGAIN_AFTER.into_iter().take(if self.header.is_some() { usize::MAX } else { 0 });
        loop {
            match (context.client.export(&query).await, waits.next()) {
                (Err(Failure::Unreachable(why)), Some(seconds)) => {
                    progress.say(&format!("{why}; trying again in {seconds} s"));
                    clock.pause(Duration::from_secs(seconds)).await;
                }
                (page, _) => return Ok(page?),
            }
        }
    }

    fn count(&mut self, line: &str) {
        if let Ok(Known { line: kind, .. }) = serde_json::from_str(line) {
            *self.counts.entry(kind.to_owned()).or_default() += 1;
        }
    }

    fn say(&self, path: &Path, seconds: f64, context: &Context) -> anyhow::Result<()> {
        if context.json {
            return print_json(&serde_json::json!({
                "file": path.display().to_string(), "lines": self.counts, "seconds": seconds, "unreadable": self.unreadable.len(),
            }));
        }
        let counts: Vec<String> =
            self.counts.iter().map(|(kind, n)| format!("{} {kind}", thousands(*n as u64))).collect();
        print(&format!("{} has {} lines, after {seconds:.1} s.\n", path.display(), counts.join(", ")))
    }
}

/// The file that is written.
struct Output {
    file: File,
    path: PathBuf,
}

/// What a file that was cut off has.
struct Written {
    header: Header,
    after: Option<String>,
    counts: BTreeMap<String, usize>,
    /// How many bytes are whole pages.
    n_whole: u64,
}

impl Output {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            // It has everybody's addresses and messages.
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// What is there, up to its last whole page.
    fn written(&self) -> anyhow::Result<Option<Written>> {
        let mut reader = BufReader::new(&self.file);
        let (mut line, mut read) = (String::new(), 0_u64);
        let mut found: Option<Written> = None;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            line.clear();
            let n = reader.read_line(&mut line).with_context(|| format!("cannot read {}", self.path.display()))?;
            read += n as u64;
            if !line.ends_with('\n') {
                break;
            }
            let Some(written) = &mut found else {
                let other =
                    || Usage(format!("--output: {} is there and is no export; name another file", self.path.display()));
                let header: Header = serde_json::from_str(&line).map_err(|_| other())?;
                found = Some(Written { header, after: None, counts: BTreeMap::new(), n_whole: 0 });
                continue;
            };
            match serde_json::from_str::<Known<'_>>(&line) {
                Ok(Known { line: "page", after }) => {
                    written.n_whole = read;
                    written.after = after;
                    written.counts = counts.clone();
                }
                Ok(Known { line: "end", .. }) => {}
                Ok(Known { line: kind, .. }) => *counts.entry(kind.to_owned()).or_default() += 1,
                Err(_) => break,
            }
        }
        if found.is_none() && read > 0 {
            return Err(Usage(format!(
                "--output: {} is there and is no export; name another file",
                self.path.display()
            ))
            .into());
        }
        Ok(found.filter(|written| written.after.is_some()))
    }

    /// Leaves the first `n_whole` bytes, to go on after them.
    fn cut(&mut self, n_whole: u64) -> anyhow::Result<()> {
        self.file.set_len(n_whole).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Waits until it is on the disk.
    fn keep(&mut self) -> anyhow::Result<()> {
        self.file.sync_all().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// A line as it goes to a server.
pub(super) fn raw(line: &str) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(line.trim_end().to_owned())
}
