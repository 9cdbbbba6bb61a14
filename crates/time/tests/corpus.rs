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

/// Of each group: right at least, wrong at most, in percent.
const FLOORS: [(&str, f64, f64); 9] = [
    ("duckling en", 94.0, 1.5),
    ("duckling de", 94.0, 1.5),
    ("duckling hr", 96.0, 1.5),
    ("others en", 85.0, 3.0),
    ("others de", 85.0, 3.0),
    ("others hr", 90.0, 3.0),
    ("others sr", 90.0, 3.0),
    ("others sr-Cyrl", 90.0, 3.0),
    ("others bs", 90.0, 3.0),
];

fn is_core(row: &Value) -> bool {
    let is_fine = matches!(row["grain"].as_str(), Some("Day" | "Hour" | "Minute" | "Second"));
    row["kind"] == "instant" && row["ref"].is_string() && is_fine && row["past"] != true
}

fn instant(text: &str) -> (Timestamp, Zone) {
    let at: Timestamp = text.parse().unwrap();
    let offset = text.get(text.len() - 6..).filter(|end| end.contains(':') && !text.ends_with('Z')).unwrap_or("+00:00");
    (at, Zone::named(offset).unwrap())
}

/// Whether the answer is right to the grain of the row; `None` without an answer.
fn is_right(row: &Value) -> Option<bool> {
    let (now, offset) = instant(row["ref"].as_str().unwrap());
    let zone = row["tz"].as_str().map_or(offset, |name| Zone::named(name).unwrap());
    let lang = row["lang"].as_str().unwrap().parse().unwrap();
    let got = match parse(row["text"].as_str().unwrap(), Some(lang), &zone, now).meaning {
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } | Meaning::Interval { from: at, .. } => at,
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

#[test]
fn the_public_corpora_are_understood() {
    let Some(folder) = report::public("time") else { return };
    let files = folder.read_dir().unwrap();
    let mut groups: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new();
    for path in files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = if name.starts_with("duckling_time") { "duckling" } else { "others" };
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if !is_core(&row) || row["value"].as_str().is_none_or(|value| value.as_bytes().get(4) != Some(&b'-')) {
                continue;
            }
            let group = groups.entry(format!("{source} {}", name.rsplit('_').next().unwrap())).or_default();
            match is_right(&row) {
                Some(true) => group.0 += 1.0,
                Some(false) => group.1 += 1.0,
                None => {}
            }
            group.2 += 1.0;
        }
    }
    for (name, right_min, wrong_max) in FLOORS {
        let (right, wrong, all) = groups[name];
        let (right, wrong) = (100.0 * right / all, 100.0 * wrong / all);
        assert!(right >= right_min && wrong <= wrong_max, "{name}: right {right:.1}%, wrong {wrong:.1}% of {all}");
        report::ran(&format!(
            "{all} phrases of ../shared/data/time ({name}): {right:.1}% are right, {wrong:.1}% are wrong"
        ));
    }
}
