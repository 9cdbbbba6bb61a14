//! Texts that fuzzing and noise have found, so that they are never found again: no text makes the parser panic or wait.

use std::path::Path;

use punctual_time::phrase::{Lang, answer, parse, series};
use punctual_time::zone::Zone;

#[test]
fn no_find_makes_the_parser_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/finds");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for zone in ["Pacific/Apia", "-02:00"] {
            let zone = Zone::named(zone).unwrap();
            for now in ["2026-03-04T10:00:00Z", "1970-01-01T00:00:00Z", "9999-12-01T00:00:00Z"] {
                let now = now.parse().unwrap();
                for lang in Lang::ALL.map(Some).into_iter().chain([None]) {
                    let _ = parse(&text, lang, &zone, now);
                    let _ = series(&text, lang, &zone, now);
                    let _ = answer(&text, lang, &zone, now);
                }
            }
        }
        count += 1;
    }
    assert!(count > 0, "no finds in {}", folder.display());
}
