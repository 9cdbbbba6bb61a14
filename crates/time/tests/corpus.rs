//! The public phrase corpora, where they lie beside the checkout: what was understood once must not be lost.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../../testkit/src/report.rs"]
#[expect(unreachable_pub, reason = "the testkit has it in public, and depends on this crate")]
mod report;

use std::collections::BTreeMap;

use jiff::{Timestamp, Zoned};
use punctual_time::phrase::{Meaning, parse};
use punctual_time::zone::Zone;
use serde_json::Value;

/// Of each group of a corpus: right at least, wrong at most, in percent. Instants are those of Duckling and of the others; of a range the
/// beginning is judged; a text without a time is to be left alone.
type Floors = &'static [(&'static str, f64, f64)];

const OLDER: Floors = &[
    ("duckling en", 98.0, 0.5),
    ("duckling de", 98.0, 1.5),
    ("duckling hr", 98.0, 0.5),
    ("others en", 97.0, 1.0),
    ("others de", 96.5, 1.5),
    ("others hr", 98.0, 0.5),
    ("others sr", 98.0, 1.0),
    ("others sr-Cyrl", 98.0, 0.5),
    ("others bs", 98.0, 0.5),
    // docs/phrases.md says where the corpora contradict each other.
    ("ranges en", 71.0, 11.0),
    ("ranges de", 90.0, 3.0),
    ("ranges hr", 97.0, 3.0),
    ("left alone", 86.0, 14.0),
];

const NEWER: Floors = &[
    ("others en", 98.5, 0.5),
    ("others de", 98.5, 0.5),
    ("others hr", 98.0, 0.5),
    ("others sr", 98.0, 0.5),
    ("others sr-Cyrl", 98.0, 0.5),
    ("others bs", 98.0, 0.5),
    ("ranges en", 90.0, 0.5),
    ("ranges de", 92.0, 3.0),
    ("left alone", 99.0, 1.0),
];

/// The time at which rows are said that have none of their own.
const NOW: &str = "2026-03-10T09:15:00+00:00";

/// The group that a row counts in, if it counts.
fn group(row: &Value, file: &str) -> Option<String> {
    let lang = file.rsplit('_').next()?;
    let is_fine = matches!(row["grain"].as_str(), Some("Day" | "Hour" | "Minute" | "Second"));
    let is_dated = row["value"].as_str().is_some_and(|value| value.as_bytes().get(4) == Some(&b'-'));
    let source = if file.starts_with("duckling_time") { "duckling" } else { "others" };
    match row["kind"].as_str()? {
        "none" => Some("left alone".into()),
        _ if !row["ref"].is_string() => None,
        "instant" if is_fine && is_dated && row["past"] != true => Some(format!("{source} {lang}")),
        "interval" => Some(format!("ranges {lang}")),
        _ => None,
    }
}

fn instant(text: &str) -> (Timestamp, Zone) {
    let at: Timestamp = text.parse().unwrap();
    let offset = text.get(text.len() - 6..).filter(|end| end.contains(':') && !text.ends_with('Z')).unwrap_or("+00:00");
    (at, Zone::named(offset).unwrap())
}

/// Whether the answer is right to the grain of the row; `None` without an answer.
fn is_right(row: &Value) -> Option<bool> {
    let (now, offset) = instant(row["ref"].as_str().unwrap_or(NOW));
    let zone = row["tz"].as_str().map_or(offset, |name| Zone::named(name).unwrap());
    let lang = row["lang"].as_str().unwrap().parse().unwrap();
    let meaning = parse(row["text"].as_str().unwrap(), Some(lang), &zone, now).meaning;
    if row["kind"] == "none" {
        return Some(matches!(meaning, Meaning::None { .. }));
    }
    let got = match meaning {
        Meaning::Instant { within: Some((from, _)), .. } | Meaning::Interval { from, .. } => from,
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => at,
        Meaning::Recurring(_) | Meaning::None { .. } => return None,
    };
    let (want, zone) = instant(row["value"].as_str().unwrap());
    let local = |at: Timestamp| at.to_zoned(zone.rules().clone());
    let cut = |at: Zoned| match (row["grain"].as_str(), row["rounded"] == true) {
        (Some("Day"), _) => at.strftime("%F").to_string(),
        (_, true) => at.strftime("%F %H").to_string(),
        _ => at.strftime("%F %H:%M").to_string(),
    };
    Some(cut(local(got)) == cut(local(want)))
}

fn check(corpus: &str, floors: Floors) {
    let Some(folder) = report::public(corpus) else { return };
    let files = folder.read_dir().unwrap().map(|file| file.unwrap().path());
    let mut groups: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new();
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let Some(group) = group(&row, &file) else { continue };
            let group = groups.entry(group).or_default();
            match is_right(&row) {
                Some(true) => group.0 += 1.0,
                Some(false) => group.1 += 1.0,
                None => {}
            }
            group.2 += 1.0;
        }
    }
    for (name, right_min, wrong_max) in floors {
        let (right, wrong, all) = groups[*name];
        let (right, wrong) = (100.0 * right / all, 100.0 * wrong / all);
        assert!(
            right >= *right_min && wrong <= *wrong_max,
            "{corpus}, {name}: right {right:.1}%, wrong {wrong:.1}% of {all}"
        );
        report::ran(&format!(
            "{all} phrases of ../shared/data/{corpus} ({name}): {right:.1}% are right, {wrong:.1}% are wrong"
        ));
    }
}

#[test]
fn the_older_public_corpora_are_understood() {
    check("time", OLDER);
}

#[test]
fn the_newer_public_corpora_are_understood() {
    check("time2", NEWER);
}
