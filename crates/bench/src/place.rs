//! Where the database lies, and what is in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use punctual_core::clock::Random;
use punctual_core::reminder::Address;
use punctual_core::store::ReminderQuery;
use punctual_core::store::{Create, NewReminder, Store};
use punctual_engine::{SystemClock, SystemRandom, machine};
use punctual_store::postgres::{PostgresStore, Url};
use punctual_store::sqlite::{Options, SqliteStore};

use super::Common;
use super::rig::{self, plus};

/// Says that a bench made the directory, so that a bench may write in it again and remove it.
const MARK: &str = "made-by-punctual-bench";
/// How many of the others are created in one transaction.
const BATCH: usize = 10_000;
/// The others are due from then on, long after the bench is over.
const OTHERS_AFTER: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Over how long the others are due, in seconds: a year.
const OTHERS_OVER_SECONDS: usize = 365 * 86_400;
/// Among how many users the others are divided.
const OTHERS_USERS: usize = 100;

/// The directory of one bench; removed in the end unless it is to be kept.
pub(super) struct Place {
    dir: PathBuf,
    keep: bool,
    database: Database,
}

/// Where the reminders are.
enum Database {
    Sqlite(PathBuf),
    /// The URL as it was given, and without its password.
    Postgres {
        url: String,
        shown: String,
    },
}

impl Database {
    /// Reads a PostgreSQL URL. An error does not repeat it, because it may hold a password.
    fn parse(url: &str) -> anyhow::Result<Self> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            bail!("--database: write postgres://…; for SQLite, --dir says where");
        }
        let shown = Url::parse(url).map_err(|problem| anyhow!("--database: {problem}"))?;
        Ok(Self::Postgres { url: url.to_owned(), shown: shown.to_string() })
    }
}

impl Place {
    pub(super) fn new(common: &Common) -> anyhow::Result<Self> {
        let dir = match &common.options.dir {
            Some(dir) => dir.clone(),
            None => nearest((common.data_dir)()?).join(format!("punctual-bench-{}", std::process::id())),
        };
        let database = match &common.options.database {
            None => Database::Sqlite(dir.join("punctual.db")),
            Some(url) => Database::parse(url)?,
        };
        let shown = dir.display();
        if dir.join(MARK).exists() {
            return Ok(Self { dir, keep: common.options.keep, database });
        }
        let is_used = fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some());
        if is_used {
            bail!("{shown} is in use and no bench made it; name a new directory, which is removed in the end");
        }
        make_private_dir(&dir).with_context(|| format!("cannot make {shown}"))?;
        let place = Self { dir, keep: common.options.keep, database };
        fs::write(place.dir.join(MARK), "").with_context(|| format!("cannot write in {}", place.dir.display()))?;
        Ok(place)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The database, if it is a file.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.database {
            Database::Sqlite(path) => Some(path),
            Database::Postgres { .. } => None,
        }
    }

    /// The database, as `punctual serve` is told it.
    pub(super) fn url(&self) -> String {
        match &self.database {
            Database::Sqlite(path) => format!("sqlite:{}", path.display()),
            Database::Postgres { url, .. } => url.clone(),
        }
    }

    /// A place within this one, with a database of its own; `None` where there is only one database.
    pub(super) fn within(&self, name: &str) -> anyhow::Result<Option<Self>> {
        if self.file().is_none() {
            return Ok(None);
        }
        let dir = self.dir.join(name);
        make_private_dir(&dir)?;
        fs::write(dir.join(MARK), "")?;
        // It goes when this one goes.
        let database = Database::Sqlite(dir.join("punctual.db"));
        Ok(Some(Self { dir, keep: true, database }))
    }

    /// Opens the database; refuses one that holds somebody's reminders.
    pub(super) async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let (url, shown) = match &self.database {
            Database::Sqlite(path) => return Ok(Arc::new(SqliteStore::open(path, Options::default())?)),
            Database::Postgres { url, shown } => (url, shown),
        };
        let store = PostgresStore::open(url, &machine()).await?;
        let newest = store.reminders(ReminderQuery { limit: 1, ..ReminderQuery::default() }).await?;
        if newest.iter().any(|view| view.reminder.message != rig::MESSAGE) {
            bail!("{shown} holds reminders that no bench made; name an empty database");
        }
        Ok(Arc::new(store))
    }

    /// How many bytes the database takes with its log; `None` where it is on a server.
    pub(super) fn size(&self) -> Option<u64> {
        let path = self.file()?;
        let of = |suffix: &str| fs::metadata(format!("{}{suffix}", path.display())).map_or(0, |file| file.len());
        Some(of("") + of("-wal"))
    }

    /// The line of a report that says where it was measured.
    pub(super) fn note(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        if let Database::Postgres { shown, .. } = &self.database {
            return format!("{cores} cores, {shown}; what was written stays there");
        }
        let disk = if is_in_memory(&self.dir) { "IN MEMORY: commits cost nothing here" } else { "fsync on" };
        let kept = if self.keep { "kept" } else { "removed" };
        format!(
            "{cores} cores, SQLite {}, {disk}; database in {} ({kept})",
            punctual_store::sqlite::version(),
            self.dir.display()
        )
    }

    /// How many transactions have been committed while the database was open, as its log's index counts them; `None` where
    /// others may commit as well.
    pub(super) fn commits(&self) -> anyhow::Result<Option<u32>> {
        if self.file().is_none() {
            return Ok(None);
        }
        // https://sqlite.org/walformat.html: bytes 8 to 11 are the transaction counter, in the machine's own order.
        let index = fs::read(self.dir.join("punctual.db-shm")).context("cannot read the log's index")?;
        let counter = index.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
        counter.map(Some).context("the log's index is too short")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep {
            // A directory that cannot be removed is found again by its name.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// Fills the store until `n_wanted` reminders are pending that are due far in the future; returns how many there are.
pub(super) async fn fill(store: &dyn Store, n_wanted: usize) -> anyhow::Result<usize> {
    if n_wanted == 0 {
        return pending(store).await;
    }
    let n_there = pending(store).await?;
    let bar = progress(n_wanted.saturating_sub(n_there), "others");
    for first in (n_there..n_wanted).step_by(BATCH) {
        let now = SystemClock::read();
        let reminders = (first..n_wanted.min(first + BATCH)).map(|number| other(number, now)).collect();
        store.create(Create { reminders, who: "bench".into(), answered: None, now }).await?;
        bar.inc(BATCH as u64);
    }
    bar.finish_and_clear();
    pending(store).await
}

/// How many are pending.
pub(super) async fn pending(store: &dyn Store) -> anyhow::Result<usize> {
    let pending = store.stats(SystemClock::read()).await?.pending;
    Ok(usize::try_from(pending)?)
}

fn other(number: usize, now: jiff::Timestamp) -> NewReminder {
    // One after the other: ten million that were due in no order would take an hour to write into any index.
    let second = (number * 3) % OTHERS_OVER_SECONDS;
    let due_at = plus(plus(now, OTHERS_AFTER), SignedDuration::from_secs(second as i64));
    let user = format!("user-{}", number % OTHERS_USERS);
    rig::new_reminder(rig::Wanted { user, due_at, to: Vec::<Address>::new() }, SystemRandom.ten(), now)
}

/// A bar on the terminal, or nothing where there is none.
pub(super) fn progress(length: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_message(what)
}

/// The nearest directory to the data directory that exists: it is on the same disk.
fn nearest(data_dir: PathBuf) -> PathBuf {
    data_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new(".")).to_owned()
}

/// Makes `dir` and its parents for their owner alone: a server keeps its admin key there.
pub(super) fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(target_os = "linux")]
fn is_in_memory(dir: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    rustix::fs::statfs(dir).is_ok_and(|found| matches!(found.f_type, TMPFS | RAMFS))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> bool {
    false
}
