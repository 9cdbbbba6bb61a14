//! No text makes the phrase parser or the reader of answers panic, in any language, zone or year.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use punctual_time::phrase::{Lang, Meaning, parse, series};
use punctual_time::zone::Zone;

fuzz_target!(|input: (i64, u8, &str)| {
    let (second, choice, text) = input;
    let now = Timestamp::from_second(second.rem_euclid(8_000_000_000)).unwrap_or_default();
    let zones = ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kathmandu", "-02:00", "UTC"];
    let zone = Zone::named(zones[usize::from(choice) % zones.len()]).expect("these zones exist");
    for lang in Lang::ALL.map(Some).into_iter().chain([None]) {
        let parsed = parse(text, lang, &zone, now);
        if let Meaning::Recurring(schedule) = parsed.meaning {
            let next = schedule.next_after(&zone, now);
            assert!(next.is_none_or(|next| next > now));
            assert!(!schedule.summary(&zone).is_empty());
        }
        let _ = series(text, lang, &zone, now);
        let _ = punctual_time::phrase::answer(text, lang, &zone, now);
    }
});
