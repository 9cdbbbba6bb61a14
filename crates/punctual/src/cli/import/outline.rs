//! The lines of an export, read once before any of them is taken: which of them count, and whether all that were written are there.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::Context as _;
use punctual_core::whole::Section;
use serde::Deserialize;
use serde_json::error::Category;

use crate::cli::export::{Header, Known};

/// The lines of a file that count, and what its head and its end say.
pub(super) struct Outline {
    pub(super) header: Header,
    pub(super) n_lines: usize,
    /// Where the last line about each thing stands of which more than one may be there.
    last: HashMap<(String, String), usize>,
    /// Whether the last line that can be read is the end.
    pub(super) has_end: bool,
    /// How many lines are not there that the end counts, beside those that cannot be read.
    pub(super) n_lost: usize,
    /// Whether a line that cannot be read may have been one that counts instead of an earlier one.
    pub(super) is_unsure: bool,
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

/// What a line is about. A line that does not say it right is for the server to refuse.
fn key(text: &str) -> Option<(String, String)> {
    serde_json::from_str::<Named<'_>>(text).ok()?.key()
}

/// The last line.
#[derive(Deserialize)]
struct End {
    /// How many lines of each kind were written.
    #[serde(default)]
    counts: BTreeMap<String, usize>,
}

impl Outline {
    /// Reads the file once.
    pub(super) fn of(path: &Path) -> anyhow::Result<Self> {
        let mut lines = numbered(path)?;
        let (_, first) = lines.next().transpose()?.unwrap_or_default();
        let header: Header = serde_json::from_slice(&first)
            .with_context(|| format!("{}: line 1 is no header of an export", path.display()))?;
        let mut outline =
            Self { header, n_lines: 0, last: HashMap::new(), has_end: false, n_lost: 0, is_unsure: false };
        let (mut found, mut written) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
        let (mut n_unreadable, mut is_page_damaged) = (0, false);
        // Whether later lines count from here on, and whether names are kept so that they can.
        let (mut is_again, mut keeps_names) = (false, false);
        for line in lines {
            let (number, bytes) = line?;
            let Ok((text, known)) = read(&bytes) else {
                n_unreadable += 1;
                is_page_damaged = true;
                outline.is_unsure |= is_again;
                // It may have been the line after which later lines count.
                keeps_names = true;
                continue;
            };
            outline.has_end = known.line == "end";
            match (known.line, &known.after) {
                ("end", _) => written = serde_json::from_str::<End>(text).map(|end| end.counts).unwrap_or_default(),
                ("page", after) => {
                    // A page ends right where the changes begin. One that ends within them is the first only if the line of that page cannot be read.
                    if let Some(within) = after.as_deref().and_then(|at| at.strip_prefix(Section::Changes.as_str())) {
                        outline.is_unsure |= is_page_damaged && !within.is_empty();
                        (is_again, keeps_names) = (true, true);
                    }
                    is_page_damaged = false;
                }
                (kind, _) => {
                    outline.n_lines += 1;
                    match found.get_mut(kind) {
                        Some(n) => *n += 1,
                        None => drop(found.insert(kind.to_owned(), 1)),
                    }
                    if keeps_names && let Some(key) = key(text) {
                        outline.last.insert(key, number);
                    }
                }
            }
        }
        let of = |kind: &String| found.get(kind).copied().unwrap_or(0);
        let n_missing: usize = written.iter().map(|(kind, n)| n.saturating_sub(of(kind))).sum();
        outline.n_lost = n_missing.saturating_sub(n_unreadable);
        Ok(outline)
    }

    /// Whether everything is there that was written.
    pub(super) fn is_whole(&self) -> bool {
        self.has_end && self.n_lost == 0
    }

    /// Whether no later line is about the same thing.
    pub(super) fn counts(&self, number: usize, text: &str) -> bool {
        self.last.is_empty() || key(text).and_then(|key| self.last.get(&key).copied()).is_none_or(|last| last == number)
    }
}

/// The lines of a file by their numbers, without those that are empty.
pub(super) fn numbered(path: &Path) -> io::Result<impl Iterator<Item = io::Result<(usize, Vec<u8>)>>> {
    let lines = BufReader::new(File::open(path)?).split(b'\n').zip(1..);
    let lines = lines.map(|(line, number)| line.map(|line| (number, line)));
    Ok(lines.filter(|line| !line.as_ref().is_ok_and(|(_, bytes)| bytes.trim_ascii().is_empty())))
}

/// The text of a line, and what it says that it is; else why it cannot be read.
pub(super) fn read(bytes: &[u8]) -> Result<(&str, Known<'_>), &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is no text")?;
    match serde_json::from_str(text) {
        Ok(known) => Ok((text, known)),
        Err(error) => Err(match error.classify() {
            Category::Eof => "is cut off",
            Category::Data => "does not say what it is",
            Category::Syntax | Category::Io => "is no JSON",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_says_why() {
        for (bytes, why) in [
            (&b"garbage"[..], "is no JSON"),
            (b"{\"line\":\"reminder\",\"id", "is cut off"),
            (b"{}", "does not say what it is"),
            (b"7", "does not say what it is"),
            (b"\xff\xfe", "is no text"),
        ] {
            assert_eq!(read(bytes).err(), Some(why));
        }
        assert_eq!(read(b"{\"line\":\"user\",\"id\":\"ann\"}").unwrap().1.line, "user");
    }

    /// What a file of these lines after its header is found to be: whether it is unsure, how many lines are lost, and which lines count.
    #[track_caller]
    fn check(lines: &[&str], is_unsure: bool, n_lost: usize, count: &[usize]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.jsonl");
        let header = r#"{"line":"header","format":1,"version":"1","at":"","head":0,"history":"all"}"#;
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        let outline = Outline::of(&path).unwrap();
        assert_eq!((outline.is_unsure, outline.n_lost), (is_unsure, n_lost), "{lines:?}");
        let counting = lines.iter().zip(2..).filter(|(line, number)| {
            read(line.as_bytes()).is_ok_and(|(_, known)| known.line == "user") && outline.counts(*number, line)
        });
        assert_eq!(counting.map(|(_, number)| number).collect::<Vec<_>>(), count, "{lines:?}");
    }

    #[test]
    fn later_lines_count_even_where_the_page_is_damaged_after_which_they_do() {
        let (ann, bob, gone) = (
            r#"{"line":"user","id":"ann"}"#,
            r#"{"line":"user","id":"bob"}"#,
            r#"{"line":"gone","of":"user","key":"bob"}"#,
        );
        let (begins, within) = (r#"{"line":"page","after":"changes"}"#, r#"{"line":"page","after":"changes:9"}"#);
        let end = r#"{"line":"end","counts":{"user":3,"gone":1}}"#;
        check(&[ann, bob, begins, ann, gone, within, end], false, 0, &[5]);
        check(&[ann, bob, "garbage", ann, gone, within, end], true, 0, &[5]);
        check(&[ann, "garbage", bob, begins, ann, gone, within, end], false, 0, &[6]);
        check(&[ann, bob, begins, "garbage", ann, gone, within, end], true, 0, &[6]);
        check(&[ann, bob, begins, gone, within, end], false, 1, &[2]);
        check(&["garbage", bob, begins, gone, within, end], false, 1, &[]);
    }
}
