//! Processor time and written bytes of processes and threads, as Linux counts them under `/proc`.

use std::fs;
use std::path::Path;

use anyhow::Context;
use jiff::SignedDuration;

/// The unit in which `/proc` counts processor time, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// One process or thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: u32,
    /// Its own processor time.
    own: u64,
    /// The time of its children which have ended.
    children: u64,
}

impl Stat {
    /// Reads `stat` in `dir`, such as `/proc/1` or `/proc/self/task/1`.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("stat");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not what was expected", path.display()))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name, in parentheses, may hold anything.
        let (_, behind) = text.rsplit_once(')')?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        let ticks =
            |first: usize| Some(fields.get(first)?.parse::<u64>().ok()? + fields.get(first + 1)?.parse::<u64>().ok()?);
        Some(Self { parent: fields.get(1)?.parse().ok()?, own: ticks(11)?, children: ticks(13)? })
    }

    /// The processor time that it has used, in steps of 10 ms.
    pub(super) fn cpu(self) -> SignedDuration {
        span(self.own)
    }

    /// The same with that of its children which have ended.
    pub(super) fn cpu_with_children(self) -> SignedDuration {
        span(self.own + self.children)
    }
}

/// How many bytes the process or thread at `dir` has written, to files or elsewhere.
pub(super) fn written(dir: &Path) -> anyhow::Result<u64> {
    let path = dir.join("io");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    bytes
        .and_then(|bytes| bytes.trim().parse().ok())
        .with_context(|| format!("there is no wchar in {}", path.display()))
}

fn span(ticks: u64) -> SignedDuration {
    SignedDuration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_moves_no_field() {
        let text = "77 (a ) b) S 42 77 77 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 5 6";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat, Stat { parent: 42, own: 200, children: 50 });
        assert_eq!(stat.cpu(), SignedDuration::from_secs(2));
        assert_eq!(stat.cpu_with_children(), SignedDuration::from_millis(2500));
        assert_eq!(Stat::parse("77 (a) S 42"), None);
    }
}
