//! How much work a schedule may be: counted in steps, so that the same is refused everywhere.

use jiff::Timestamp;
use punctual_time::invalid::Invalid;
use punctual_time::phrase::{self, Lang, Meaning};
use punctual_time::schedule::Schedule;
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;
use serde_json::{Value, json};

const PLENTY: u64 = u64::MAX;

fn zone() -> Zone {
    Zone::named("Europe/Berlin").expect("it is a zone")
}

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().expect("it is an instant")
}

fn read(input: &Value, steps: &Steps) -> Result<Schedule, Invalid> {
    Schedule::from_input_within(input, &zone(), now(), steps)
}

/// How many steps it takes to read a schedule that is accepted.
#[track_caller]
fn cost(input: &Value) -> u64 {
    let steps = Steps::new(PLENTY);
    read(input, &steps).unwrap_or_else(|invalid| panic!("{input}: {invalid}"));
    PLENTY - steps.left()
}

/// How many steps it takes to find the next run.
fn next_cost(schedule: &Schedule, after: Timestamp) -> u64 {
    let steps = Steps::new(PLENTY);
    schedule.next_within(&zone(), after, &steps);
    PLENTY - steps.left()
}

/// Four kilobytes that took a core for seconds.
fn fifty_counts() -> Value {
    let rules: String = (0..50).map(|n| format!("\nRRULE:FREQ=DAILY;INTERVAL={};COUNT=100000", n + 1)).collect();
    json!({ "type": "rrule", "ical": format!("DTSTART:00010101T080000{rules}") })
}

#[test]
fn many_rules_that_have_to_be_counted_out_are_refused_after_a_bounded_number_of_steps() {
    let steps = Steps::of_request(1);
    let refused = read(&fifty_counts(), &steps).unwrap_err();
    assert_eq!(refused.field, "ical");
    assert!(refused.problem.contains("COUNT: `100000` takes too long to work out"), "{refused}");
    assert!(refused.problem.starts_with("line "), "the line is named: {refused}");
    assert!(steps.are_spent());
    // One of them is what somebody may mean.
    let one = json!({ "type": "rrule", "ical": "DTSTART:20200101T080000\nRRULE:FREQ=DAILY;COUNT=100000" });
    read(&one, &Steps::of_request(1)).unwrap();
}

#[test]
fn a_batch_shares_its_steps() {
    let steps = Steps::of_request(54);
    let each = json!({ "type": "rrule", "ical": "DTSTART:20200101T080000\nRRULE:FREQ=DAILY;COUNT=100000" });
    let n_read = (0..54).take_while(|_| read(&each, &steps).is_ok()).count();
    assert!((1..4).contains(&n_read), "{n_read}");
    // When they are spent, whatever takes steps is refused, also a phrase.
    for (input, field) in [
        (json!({ "type": "smart", "text": "every workday at 8" }), "text"),
        (json!({ "type": "once", "at": "tomorrow at 8" }), "at"),
        (json!({ "type": "cron", "expr": "0 8 29 2 *" }), "expr"),
    ] {
        let refused = read(&input, &steps).unwrap_err();
        assert_eq!(refused.field, field, "{refused}");
        assert!(refused.problem.contains("takes too long"), "{refused}");
    }
}

#[test]
fn ten_thousand_honest_reminders_fit_in_a_batch() {
    let share = (Steps::of_request(10_000).left()) / 10_000;
    for input in [
        json!({ "type": "once", "at": "tomorrow at 8" }),
        json!({ "type": "once", "at": "next friday at half past seven in the evening" }),
        json!({ "type": "interval", "every": "2h" }),
        json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"], "except": ["2026-12-24/2027-01-06"] }),
        json!({ "type": "cron", "expr": "*/15 8-18 * * 1-5" }),
        json!({ "type": "cron", "expr": "0 0 29 2 *" }),
        json!({ "type": "smart", "text": "workdays at 8, weekends at 10" }),
        json!({ "type": "smart", "text": "am letzten Werktag im Monat um 9" }),
        json!({ "type": "rrule", "ical": "DTSTART:20260101T080000\nRRULE:FREQ=DAILY;COUNT=100" }),
        json!({ "type": "rrule", "ical": "DTSTART:20260101T080000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1" }),
    ] {
        assert!(cost(&input) < share, "{input}: {} of {share}", cost(&input));
    }
}

#[test]
fn a_phrase_pays_for_the_calendar_that_is_searched_for_it() {
    let cost = |text: &str| {
        let steps = Steps::new(PLENTY);
        let parsed = phrase::parse_within(text, Some(Lang::En), &zone(), now(), &steps);
        assert!(matches!(parsed.meaning, Meaning::Recurring(_)), "{text}");
        PLENTY - steps.left()
    };
    // The same words; the one day is found in the first month that is looked at, and the other two years later, three times.
    let (near, far) = (cost("every 2 march at 9"), cost("every 29 february at 9"));
    assert!(far >= near + 6, "{near} {far}");
    // A request that has no steps left for that search is told so.
    let steps = Steps::new(near);
    let parsed = phrase::parse_within("every 29 february at 9", Some(Lang::En), &zone(), now(), &steps);
    assert!(matches!(&parsed.meaning, Meaning::None { reason } if reason.contains("takes too long")), "{parsed:?}");
    assert!(steps.are_spent());
}

#[test]
fn a_schedule_whose_next_run_is_hard_to_find_is_refused_by_the_name_of_its_part() {
    // Each rule is due once in more than a hundred years, and there are fifty of them.
    let rare: Vec<String> =
        (0..50).map(|n| format!("FREQ=SECONDLY;INTERVAL={};BYHOUR=3;BYMINUTE=0;BYSECOND=0", 86_401 + 2 * n)).collect();
    // The rule is due on Mondays only, and no Monday is left.
    let ranges: Vec<String> = (1..900).map(|n| format!("2{n:03}-01-01/2{n:03}-06-30")).collect();
    let mut except = ranges;
    except.extend(["tue", "wed", "thu", "fri", "sat", "sun"].map(str::to_owned));
    for (input, field) in [
        (json!({ "type": "smart", "rules": rare, "anchor": "2026-03-01T03:00:00" }), "rules"),
        (
            json!({ "type": "weekly", "time": "08:00", "days": ["tue", "wed", "thu", "fri", "sat", "sun"], "except": except }),
            "except",
        ),
    ] {
        let steps = Steps::of_request(1);
        let refused = read(&input, &steps).unwrap_err();
        assert!(refused.field.starts_with(field), "{refused}");
        assert!(refused.problem.contains("takes too long"), "{refused}");
    }
}

#[test]
fn a_stored_schedule_that_nobody_would_accept_costs_a_bounded_number_of_steps_at_every_run() {
    // As somebody may write it into the database by hand: fifty rules that no day ever matches, beside one for every minute.
    let never = "FREQ=DAILY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=30;BYHOUR=8;BYMINUTE=0;BYSECOND=0";
    let mut rules = vec![never; 49];
    rules.push("FREQ=MINUTELY");
    let stored = json!({ "type": "smart", "rules": rules, "anchor": "2026-01-01T00:00:00" });
    let schedule = Schedule::from_stored(&stored.to_string()).unwrap();
    let steps = Steps::new(1_000_000);
    assert!(schedule.next_within(&zone(), now(), &steps).is_none() && steps.are_spent(), "it is far too much work");
    // The engine asks for the next run, and for those that were missed in a year; both end.
    assert_eq!(schedule.next_after(&zone(), now()), None, "it gave up");
    let missed = schedule.latest_between(&zone(), now(), "2027-03-01T09:00:00Z".parse().unwrap(), 100);
    assert!(!missed.is_exact, "{missed:?}");
    // An accepted schedule takes a fraction of the steps that a search may take, now and later.
    for input in [
        json!({ "type": "cron", "expr": "0 0 29 2 1" }),
        json!({ "type": "smart", "rules": ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO"], "anchor": "2026-03-01T03:00:00" }),
        json!({ "type": "smart", "text": "workdays at 8, weekends at 10" }),
    ] {
        let schedule = read(&input, &Steps::of_request(1)).unwrap();
        for after in ["2026-03-01T09:00:00Z", "2030-01-01T00:00:00Z", "2096-03-01T00:00:00Z", "2200-01-01T00:00:00Z"] {
            let cost = next_cost(&schedule, after.parse().unwrap());
            assert!(cost < 10_000, "{input} after {after}: {cost}");
        }
    }
}
