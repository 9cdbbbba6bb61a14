//! No schedule that anybody sends makes us panic or wait, and what is accepted keeps its promises.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use punctual_time::schedule::Schedule;
use punctual_time::zone::Zone;
use serde_json::json;

fuzz_target!(|input: (i64, u8, &str)| {
    let (second, choice, text) = input;
    let now = Timestamp::from_second(second.rem_euclid(8_000_000_000)).unwrap_or_default();
    let zone = Zone::named(["Europe/Berlin", "Pacific/Apia", "UTC"][usize::from(choice) % 3]).expect("these zones exist");
    let given = match choice % 4 {
        0 => json!({"type": "cron", "expr": text}),
        1 => json!({"type": "rrule", "ical": text}),
        2 => json!({"type": "smart", "text": text}),
        _ => serde_json::from_str(text).unwrap_or_default(),
    };
    let Ok(schedule) = Schedule::from_input(&given, &zone, now) else {
        return;
    };
    let stored = schedule.to_json();
    let again = Schedule::from_stored(&stored.to_string()).expect("what we store we can read");
    assert_eq!(again.to_json(), stored);
    let next = schedule.next_after(&zone, now);
    assert!(next.is_none_or(|next| next > now || !schedule.is_recurring()));
    assert!(!schedule.summary(&zone).is_empty());
});
