//! Which reminders an event should have, one row a case.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use punctual_core::event::{Event, Repeats};
use punctual_core::group::{Group, Mode};
use punctual_core::model::offset::read_list;
use punctual_core::model::series::{Override, has, name_of};
use punctual_core::reminder::{Address, Metadata, Misfire, MisfirePolicy, OnUnknown, Priority};
use punctual_core::rules::event::{Around, Wanted, next_starts, wanted};
use punctual_core::scope::Scope;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::{Value, json};

/// An instant of Tuesday, 10 March 2026, in UTC: a time of day, or a date and a time.
fn at(text: &str) -> Timestamp {
    let text = if text.len() == 5 { format!("2026-03-10T{text}") } else { text.to_owned() };
    format!("{text}:00Z").parse().unwrap()
}

fn said(at: Timestamp) -> String {
    let text = at.strftime("%Y-%m-%dT%H:%M").to_string();
    text.strip_prefix("2026-03-10T").map(str::to_owned).unwrap_or(text)
}

/// A game at 18:00, of which ann is reminded.
pub(crate) fn game(fields: Value) -> Event {
    let text = |name: &str| fields[name].as_str();
    let list = |name: &str| -> Vec<String> {
        fields[name].as_array().into_iter().flatten().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let overrides =
        fields["instances"].as_array().into_iter().flatten().map(|value| Override::from_value(value).unwrap());
    Event {
        key: "game:1".into(),
        starts_at: at(text("starts_at").unwrap_or("18:00")),
        ends_at: text("ends_at").map(at),
        repeats: text("rrule").map(|rule| Repeats::new(rule, overrides.collect())),
        offsets: fields.get("offsets").map(|offsets| read_list("offsets", offsets).unwrap()),
        scope: text("scope").map(|path| path.parse().unwrap()),
        users: if fields.get("users").is_some() { list("users") } else { vec!["ann".into()] },
        groups: list("groups"),
        name: None,
        message: text("message").unwrap_or("Chess in {minutes} min").into(),
        timezone: text("timezone").map(|name| Zone::named(name).unwrap()),
        priority: Priority::Normal,
        to: text("to").map(|to| Address::new("web", to)).into_iter().collect(),
        only: false,
        ack: None,
        escalate: Vec::new(),
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        metadata: fields["metadata"].as_object().map(Metadata::new).unwrap_or_default(),
        tags: Vec::new(),
        source: None,
        created_at: at("09:00"),
        updated_at: at("09:00"),
    }
}

fn scope(path: &str, offsets: Value) -> Scope {
    Scope { path: path.parse().unwrap(), offsets: read_list("offsets", &offsets).unwrap(), updated_at: at("09:00") }
}

fn group(name: &str, users: &[&str]) -> Group {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    Group {
        name: name.into(),
        mode: Mode::All,
        users,
        rota: None,
        shifts: vec![],
        created_at: at("09:00"),
        updated_at: at("09:00"),
    }
}

/// What an event should have: each slot's instant with whom it is for, and `!` where it is wanted late.
fn slots(wanted: &Wanted<'_>, now: Timestamp) -> Vec<String> {
    let mut slots: Vec<_> = wanted.slots.iter().collect();
    slots.sort_by_key(|(slot, want)| (want.due_at, (*slot).clone()));
    let ahead = slots.iter().filter(|(_, want)| want.due_at > now || want.is_late);
    let late = |is_late| if is_late { "!" } else { "" };
    ahead.map(|(slot, want)| format!("{} {}{}", said(want.due_at), slot.user, late(want.is_late))).collect()
}

#[test]
fn offsets_come_from_the_event_or_from_the_nearest_scope_and_people_are_reminded_once() {
    let guilds = || vec![scope("guild:1", json!([60])), scope("guild:1/channel:2", json!([30, 0]))];
    let rows: Vec<(Value, Vec<Scope>, &[&str])> = vec![
        (json!({"offsets": [60, 15]}), vec![], &["17:00 ann", "17:45 ann"]),
        (json!({"offsets": [60, 15], "scope": "guild:1"}), guilds(), &["17:00 ann", "17:45 ann"]),
        (json!({"scope": "guild:1/channel:2"}), guilds(), &["17:30 ann", "18:00 ann"]),
        (json!({"scope": "guild:1/channel:2"}), vec![scope("guild:1", json!([60]))], &["17:00 ann"]),
        (
            json!({"scope": "guild:1"}),
            vec![scope("guild:10", json!([5])), scope("guild:1/channel:22", json!([5]))],
            &[],
        ),
        (json!({"offsets": [], "scope": "guild:1"}), guilds(), &[]),
        (json!({"scope": "user:ann"}), guilds(), &["17:45 ann"]),
        (json!({"scope": "user:ann"}), vec![scope("user:ann", json!([5]))], &["17:55 ann"]),
        (json!({"scope": "user:ann"}), vec![scope("user:ann", json!([]))], &[]),
        (json!({"offsets": [], "scope": "user:ann"}), vec![], &[]),
        (json!({}), guilds(), &[]),
        (json!({"offsets": [60, "PT1H", "1h"]}), vec![], &["17:00 ann"]),
        (
            json!({"offsets": [-30, {"after": "end", "by": "10m"}], "ends_at": "19:00"}),
            vec![],
            &["18:30 ann", "19:10 ann"],
        ),
        (json!({"scope": "a"}), vec![scope("a", json!([15, "end+10m"]))], &["17:45 ann"]),
        (json!({"offsets": [600]}), vec![], &[]),
        (json!({"offsets": [15], "users": [], "to": "x"}), vec![], &["17:45 event:game:1"]),
        (json!({"offsets": [15], "users": ["bob", "ann"]}), vec![], &["17:45 ann", "17:45 bob"]),
        (json!({"offsets": [15], "groups": ["oc"]}), vec![], &["17:45 ann", "17:45 bob"]),
        (json!({"offsets": [15], "users": [], "groups": ["nobody"]}), vec![], &[]),
    ];
    let (zones, zone, groups) = (HashMap::new(), Zone::utc(), [group("oc", &["ann", "bob"])]);
    for (fields, scopes, expect) in rows {
        let event = game(fields.clone());
        let around = Around { scopes: &scopes, groups: &groups, zones: &zones, zone: &zone, planned_until: None };
        let wanted = wanted(&event, around, &BTreeSet::new(), at("10:00")).unwrap();
        assert_eq!(slots(&wanted, at("10:00")), expect, "{fields}");
        assert_eq!(wanted.plan_at, None, "a single event need not be looked at again");
    }
}

#[test]
fn the_offsets_of_a_scope_make_no_more_reminders_than_an_events_own_may() {
    let users: Vec<String> = (0..1000).map(|n| format!("u{n}")).collect();
    let event = Event { users, ..game(json!({"scope": "guild:1"})) };
    let (zones, zone) = (HashMap::new(), Zone::utc());
    let n_wanted = |n_offsets: i64| {
        let scopes = [scope("guild:1", json!((0..n_offsets).collect::<Vec<_>>()))];
        let around = Around { scopes: &scopes, groups: &[], zones: &zones, zone: &zone, planned_until: None };
        wanted(&event, around, &BTreeSet::new(), at("10:00")).map(|wanted| wanted.slots.len())
    };
    assert_eq!(n_wanted(20).unwrap(), 20_000);
    let problem = n_wanted(21).unwrap_err().to_string();
    assert_eq!(problem, "offsets: of its scope make 21000 reminders for its people; at most 20000");
}

/// What is wanted of a series at `now`; `linked` are the instances that have reminders.
fn series(
    fields: Value,
    now: &str,
    planned_until: Option<&str>,
    linked: &[&str],
) -> (Vec<String>, Option<String>, u32) {
    let event = game(fields);
    let (zones, zone) = (HashMap::new(), Zone::utc());
    let planned_until = planned_until.map(at);
    let around = Around { scopes: &[], groups: &[], zones: &zones, zone: &zone, planned_until };
    let linked = linked.iter().map(|name| (*name).to_owned()).collect();
    let wanted = wanted(&event, around, &linked, at(now)).unwrap();
    (slots(&wanted, at(now)), wanted.plan_at.map(said), wanted.n_missed)
}

#[test]
fn a_series_is_planned_a_week_ahead() {
    let weekly = json!({"rrule": "FREQ=WEEKLY;BYDAY=TU", "offsets": [60]});
    let (slots, plan_at, _) = series(weekly.clone(), "10:00", None, &[]);
    assert_eq!(slots, ["17:00 ann", "2026-03-17T17:00 ann"]);
    assert_eq!(plan_at.as_deref(), Some("2026-03-11T10:00"), "it is looked at every day");
    // A rule that is far away is planned all the same: the next instance always is.
    let yearly = json!({"rrule": "FREQ=YEARLY", "offsets": ["1d"]});
    let (slots, _, _) = series(yearly, "2026-03-10T20:00", None, &[]);
    assert_eq!(slots, ["2027-03-09T18:00 ann"]);
    // At most so many.
    let (slots, plan_at, _) = series(json!({"rrule": "FREQ=MINUTELY", "offsets": [0]}), "18:00", None, &[]);
    assert_eq!((slots.len(), slots[0].as_str()), (64, "18:01 ann"));
    assert_eq!(plan_at.as_deref(), Some("19:00"), "no sooner than in an hour");
    // One that is over.
    let once = json!({"rrule": "FREQ=DAILY;COUNT=2", "offsets": [60, -30]});
    let (slots, plan_at, _) = series(once.clone(), "2026-03-11T17:30", None, &[]);
    assert_eq!((slots.join(", "), plan_at), ("2026-03-11T18:30 ann".to_owned(), None));
    assert_eq!(series(once, "2026-03-12T17:30", None, &[]), (vec![], None, 0));
}

#[test]
fn a_series_for_very_many_people_is_planned_as_far_ahead_as_memory_allows() {
    let users: Vec<String> = (0..10_000).map(|n| format!("u{n}")).collect();
    let rows = [
        // Twenty thousand reminders each: the next instance alone.
        ("FREQ=DAILY", "10:00", json!([60, 15]), vec!["17:00", "17:45"], 20_000, "11:00"),
        ("FREQ=HOURLY", "16:30", json!([30, 0]), vec!["17:30", "18:00"], 20_000, "17:30"),
        // The first reminder of the second comes with the last of the first.
        ("FREQ=HOURLY", "17:58", json!([60, 0]), vec!["18:00", "19:00"], 30_000, "18:58"),
        // Ten thousand each.
        ("FREQ=DAILY", "10:00", json!([60]), vec!["17:00", "2026-03-11T17:00"], 20_000, "11:00"),
    ];
    for (rrule, now, offsets, due, n_slots, look_at) in rows {
        let fields = json!({"rrule": rrule, "offsets": offsets, "users": users});
        let (slots, plan_at, _) = series(fields, now, None, &[]);
        let mut found: Vec<&str> = slots.iter().filter_map(|slot| Some(slot.split_once(' ')?.0)).collect();
        found.dedup();
        assert_eq!((found, slots.len()), (due, n_slots), "{rrule} {now}");
        assert_eq!(plan_at.as_deref(), Some(look_at), "{rrule} {now}");
    }
}

#[test]
fn a_moved_instance_moves_alone_and_a_cancelled_one_is_left_out() {
    let rows: &[(Value, &[&str])] = &[
        (json!([]), &["17:00 ann", "2026-03-17T17:00 ann"]),
        (json!([{"at": "20260310T180000", "cancelled": true}]), &["2026-03-17T17:00 ann"]),
        (
            json!([{"at": "20260317T180000", "starts_at": "2026-03-17T19:00:00Z"}]),
            &["17:00 ann", "2026-03-17T18:00 ann"],
        ),
        // From far away into this week.
        (
            json!([{"at": "20260609T180000", "starts_at": "2026-03-12T08:00:00Z"}]),
            &["17:00 ann", "2026-03-12T07:00 ann", "2026-03-17T17:00 ann"],
        ),
        // Out of the window.
        (json!([{"at": "20260310T180000", "starts_at": "2026-06-10T18:00:00Z"}]), &["2026-03-17T17:00 ann"]),
        // No instance of the series.
        (
            json!([{"at": "20260311T180000", "starts_at": "2026-03-12T18:00:00Z"}]),
            &["17:00 ann", "2026-03-17T17:00 ann"],
        ),
        // It and all later ones, by as much; and one of those once more.
        (
            json!([
                {"at": "20260310T180000", "following": true, "starts_at": "2026-03-10T20:00:00Z"},
                {"at": "20260317T180000", "starts_at": "2026-03-17T21:00:00Z"},
            ]),
            &["19:00 ann", "2026-03-17T20:00 ann"],
        ),
        (json!([{"at": "20260317T180000", "following": true, "cancelled": true}]), &["17:00 ann"]),
        (json!([{"at": "20260310T180000", "offsets": [30, 5]}]), &["17:30 ann", "17:55 ann", "2026-03-17T17:00 ann"]),
    ];
    for (instances, expect) in rows {
        let fields = json!({"rrule": "FREQ=WEEKLY;BYDAY=TU", "offsets": [60], "instances": instances});
        assert_eq!(series(fields, "10:00", None, &[]).0, *expect, "{instances}");
    }
}

#[test]
fn the_clocks_change_and_the_local_time_stays() {
    let fields =
        json!({"rrule": "FREQ=WEEKLY", "starts_at": "2026-03-24T18:00", "timezone": "Europe/Berlin", "offsets": [60]});
    // 19:00 in Berlin, before and after the 29th.
    let (slots, _, _) = series(fields, "2026-03-24T10:00", None, &[]);
    assert_eq!(slots, ["2026-03-24T17:00 ann", "2026-03-31T16:00 ann"]);
}

#[test]
fn an_instance_that_has_reminders_is_looked_at_although_it_has_passed() {
    let fields = json!({"rrule": "FREQ=DAILY", "offsets": [60]});
    let event = game(fields);
    let (zones, zone) = (HashMap::new(), Zone::utc());
    let planned_until = Some(at("2026-03-14T10:00"));
    let around = Around { scopes: &[], groups: &[], zones: &zones, zone: &zone, planned_until };
    let linked = BTreeSet::from(["20260310T180000".to_owned(), "19990101T180000".to_owned()]);
    let wanted = wanted(&event, around, &linked, at("2026-03-12T10:00")).unwrap();
    let instances: BTreeSet<_> = wanted.slots.keys().map(|slot| slot.instance.as_str()).collect();
    assert!(instances.contains("20260310T180000") && !instances.contains("20260311T180000"), "{instances:?}");
}

#[test]
fn a_long_outage_misses_instances_and_the_latest_is_told_late() {
    let daily = json!({"rrule": "FREQ=DAILY", "offsets": [60]});
    let now = "2026-04-10T17:30";
    // Everything was planned until the 18th of March; the reminder of the last day is half an hour old.
    let (slots, _, n_missed) = series(daily.clone(), now, Some("2026-03-18T10:00"), &[]);
    assert_eq!(slots[..2], ["2026-04-10T17:00 ann!", "2026-04-11T17:00 ann"]);
    assert_eq!(n_missed, 23, "from 18 March to 9 April");
    let (slots, _, n_missed) = series(daily.clone(), now, Some("2026-04-11T10:00"), &[]);
    assert_eq!((slots[0].as_str(), n_missed), ("2026-04-11T17:00 ann", 0), "nothing was missed");
    let mut event = game(daily);
    event.misfire = Misfire { policy: MisfirePolicy::Skip, within: Duration::from_secs(86_400) };
    let (zones, zone) = (HashMap::new(), Zone::utc());
    let planned_until = Some(at("2026-03-18T10:00"));
    let around = Around { scopes: &[], groups: &[], zones: &zones, zone: &zone, planned_until };
    let wanted = wanted(&event, around, &BTreeSet::new(), at(now)).unwrap();
    assert!(wanted.slots.values().all(|want| !want.is_late));
}

#[test]
fn a_message_says_the_minutes_the_start_and_what_the_metadata_says() {
    let metadata = json!({"title": "Chess {x}", "round": 3, "open": true, "at": {"x": 1}});
    let rows = [
        ("{title} in {minutes} min", Ok("Chess {x} in 60 min")),
        ("{{{key}}} at {starts_at} to {ends_at}", Ok("{game:1} at 2026-03-10 19:00 to 2026-03-10 20:00")),
        ("round {round}: {open}", Ok("round 3: true")),
        ("{titel}", Err("message: has the unknown field {titel}")),
        ("{at}", Err("message: has the field {at}, which is no text, number or flag")),
        ("{", Err("message: has a single { or }")),
    ];
    let (zone, zones) = (Zone::utc(), HashMap::from([("ann".to_owned(), Zone::named("Europe/Berlin").unwrap())]));
    for (message, expect) in rows {
        let fields = json!({"message": message, "metadata": metadata, "offsets": [60], "ends_at": "19:00"});
        let event = game(fields);
        let around = Around { scopes: &[], groups: &[], zones: &zones, zone: &zone, planned_until: None };
        let drafted = wanted(&event, around, &BTreeSet::new(), at("10:00")).and_then(|wanted| {
            let (slot, want) = wanted.slots.iter().next().unwrap();
            wanted.draft(slot, want)
        });
        match (drafted, expect) {
            (Ok(reminder), Ok(expect)) => {
                assert_eq!(reminder.message, expect);
                let of = reminder.event.unwrap();
                assert_eq!((of.key.as_str(), of.starts_at, of.offset.minutes()), ("game:1", at("18:00"), 60.0));
                assert_eq!(reminder.timezone.name(), "Europe/Berlin", "the person's");
            }
            (Err(invalid), Err(expect)) => assert!(invalid.to_string().starts_with(expect), "{invalid}"),
            (found, expect) => panic!("{message}: {found:?} instead of {expect:?}"),
        }
    }
}

#[test]
fn a_wrong_event_is_told_what_is_wrong() {
    let zone = Zone::utc();
    let many: Vec<String> = (0..10_000).map(|n| format!("u{n}")).collect();
    for (fields, problem) in [
        (json!({"users": []}), "users: is missing; say whom to remind: users, groups, or addresses in `to`"),
        (json!({"users": ["a", "a"]}), "users[1]: `a` is there already; name each user once"),
        (json!({"users": [""]}), "users[0]: must be 1 to 256 bytes long"),
        (
            json!({"groups": ["On call"]}),
            "groups[0]: `On call` is no name of a group; write 1 to 64 of a-z, 0-9, `.`, `_` and `-`",
        ),
        (json!({"ends_at": "17:00"}), "ends_at: is before starts_at"),
        (json!({"offsets": [15, "end+1m"]}), "offsets[1]: counts from the end, and the event has no ends_at"),
        (
            json!({"users": many, "offsets": [1, 2, 3]}),
            "offsets: has 3 entries for 10000 people, which are 30000 reminders; at most 20000",
        ),
        (json!({"message": " "}), "message: is empty; say what to be reminded of"),
        (
            json!({"message": "{x}"}),
            "message: has the unknown field {x}; known are minutes, starts_at, ends_at, key and the fields of the metadata",
        ),
        (json!({"rrule": "FREQ=SOMETIMES"}), "rrule: line 2: RRULE: "),
        (
            json!({"rrule": "DTSTART:20260310T180000\nRRULE:FREQ=DAILY"}),
            "rrule: has a DTSTART; leave it out, because a series begins with starts_at",
        ),
        (
            json!({"rrule": "FREQ=DAILY", "instances": [{"at": "20260310T180000", "message": "{x}"}]}),
            "instances.20260310T180000.message: has the unknown field {x}",
        ),
    ] {
        let invalid = game(fields).validate(&zone, &Steps::of_request(1)).unwrap_err();
        assert!(invalid.to_string().starts_with(problem), "{invalid}");
    }
    let fine =
        json!({"rrule": "RRULE:FREQ=DAILY\nEXDATE:20260311T180000", "offsets": [60, "end+5m"], "ends_at": "19:00"});
    assert_eq!(game(fine).validate(&zone, &Steps::of_request(1)), Ok(()));
}

/// Lets `after` follow the series `before`; returns the instances with what is different about them, and those that are dropped.
fn carried(before: Value, after: Value) -> (Repeats, Vec<DateTime>) {
    let mut after = game(after);
    after.repeats.as_mut().unwrap().follow(&game(before));
    after.repeats.as_ref().unwrap().checked(&after, &Zone::utc(), &Steps::of_request(1)).unwrap()
}

#[test]
fn what_is_different_about_instances_goes_along_by_day() {
    let day = |text: &str| -> DateTime { text.parse().unwrap() };
    let before = json!({"rrule": "FREQ=WEEKLY;BYDAY=TU", "starts_at": "18:00", "instances": [
        {"at": "20260317T180000", "cancelled": true},
        {"at": "20260324T180000", "starts_at": "2026-03-25T08:00:00Z", "message": "later"},
        {"at": "20260326T180000", "cancelled": true},
    ]});
    let after = json!({"rrule": "FREQ=WEEKLY;BYDAY=TU", "starts_at": "19:00"});
    let (repeats, dropped) = carried(before.clone(), after.clone());
    assert_eq!(dropped, [day("2026-03-26T18:00")], "the series has no Thursday");
    let names: Vec<_> = repeats.overrides.iter().map(|other| other.at).collect();
    assert_eq!(names, [day("2026-03-17T19:00"), day("2026-03-24T19:00")]);
    let put = &game(before).repeats.unwrap().overrides[1].change;
    assert_eq!(repeats.overrides[1].change, *put, "where it was put, it stays");
    let event = game(after);
    let schedule = repeats.schedule(event.starts_at, &Zone::utc(), &Steps::of_request(1)).unwrap();
    let has = |at: &str| has(&schedule, &Zone::utc(), day(at));
    assert!(has("2026-03-17T19:00") && !has("2026-03-17T18:00"));
    let kept = repeats.to_stored();
    assert_eq!(Repeats::from_stored(&kept), Ok(repeats), "{kept}");
}

/// The rule and the start before and after; the instances that are off, then those that are off after, and those that are dropped.
type Carried<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

#[test]
fn each_of_several_instances_a_day_goes_along_and_two_never_become_one() {
    let twice = |hours: &str| format!("FREQ=DAILY;BYHOUR={hours}");
    let rows: &[Carried<'_>] = &[
        (&twice("8,20"), "08:00", &twice("9,21"), "09:00", &["20T20"], &["20T21"], &[]),
        (&twice("8,20"), "08:00", &twice("9,21"), "09:00", &["20T08", "20T20"], &["20T09", "20T21"], &[]),
        (&twice("8,20"), "08:00", &twice("19,23"), "19:00", &["20T20"], &["20T23"], &[]),
        // The day has one fewer.
        (&twice("8,20"), "08:00", &twice("9"), "09:00", &["20T08", "20T20"], &["20T09"], &["20T20"]),
        // It has one of this name.
        (&twice("8,20"), "08:00", &twice("20,22"), "20:00", &["20T20"], &["20T20"], &[]),
        (&twice("8,20"), "08:00", &twice("20,22"), "20:00", &["20T08", "20T20"], &["20T20"], &["20T08"]),
        ("FREQ=HOURLY", "18:00", "FREQ=HOURLY", "18:30", &["20T10", "20T11"], &["20T1030", "20T1130"], &[]),
        ("FREQ=HOURLY", "18:30", "FREQ=HOURLY", "18:00", &["20T1030", "20T1130"], &["20T10", "20T11"], &[]),
        ("FREQ=HOURLY", "18:00", "FREQ=DAILY", "18:00", &["20T10", "20T18"], &["20T18"], &["20T10"]),
        // The name fits no instance of the old series, so it is dropped.
        (&twice("8,20"), "08:00", &twice("9,21"), "09:00", &["20T12"], &[], &["20T12"]),
        ("FREQ=NEVER", "08:00", &twice("8,20"), "08:00", &["20T08", "20T12"], &["20T08"], &["20T12"]),
    ];
    let name = |short: &&str| format!("202603{short:0<9}");
    for (rule_before, from_before, rule, from, off, expect, expect_dropped) in rows {
        let instances: Vec<Value> = off.iter().map(|at| json!({"at": name(at), "cancelled": true})).collect();
        let before = json!({"rrule": rule_before, "starts_at": from_before, "instances": instances});
        let (repeats, dropped) = carried(before, json!({"rrule": rule, "starts_at": from}));
        let found: Vec<String> = repeats.overrides.iter().map(|other| name_of(other.at)).collect();
        let dropped: Vec<String> = dropped.into_iter().map(name_of).collect();
        let [expect, expect_dropped] = [expect, expect_dropped].map(|names| names.iter().map(name).collect::<Vec<_>>());
        assert_eq!(
            (found, dropped),
            (expect, expect_dropped),
            "{rule_before} {from_before}, then {rule} {from}: {off:?}"
        );
    }
}

#[test]
fn an_instance_that_was_just_named_is_meant_by_its_very_name() {
    let event = |stored: Value| {
        let mut event = game(json!({"rrule": "FREQ=HOURLY", "starts_at": "18:30"}));
        event.repeats = Some(Repeats::from_stored(&stored.to_string()).unwrap());
        event
    };
    let off = |at: &str| json!({"at": at, "cancelled": true});
    let was = json!({"rule": "FREQ=HOURLY", "starts_at": "2026-03-10T18:00:00Z", "timezone": null});
    let rows = [
        (json!({"instances": [off("20260320T103000")]}), "20260320T103000", ""),
        (json!({"instances": [off("20260320T100000")]}), "", "20260320T100000"),
        (json!({"instances": [off("20260320T100000")], "was": was}), "20260320T103000", ""),
        (
            json!({"instances": [off("20260320T100000")], "was": was, "named": ["20260320T100000"]}),
            "",
            "20260320T100000",
        ),
        // It comes before one that would become the same.
        (
            json!({"instances": [off("20260320T100000"), off("20260320T103000")], "was": was, "named": ["20260320T103000"]}),
            "20260320T103000",
            "20260320T100000",
        ),
    ];
    for (mut stored, expect, expect_dropped) in rows {
        (stored["rule"], stored["unchecked"]) = (json!("FREQ=HOURLY"), json!(true));
        let event = event(stored.clone());
        let repeats = event.repeats.as_ref().unwrap();
        assert_eq!(Repeats::from_stored(&repeats.to_stored()).as_ref(), Ok(repeats), "{stored}");
        let (repeats, dropped) = repeats.checked(&event, &Zone::utc(), &Steps::of_request(1)).unwrap();
        let found: String = repeats.overrides.iter().map(|other| name_of(other.at)).collect();
        let dropped: String = dropped.into_iter().map(name_of).collect();
        assert_eq!((found.as_str(), dropped.as_str()), (expect, expect_dropped), "{stored}");
        assert_eq!(repeats.unchecked, None);
    }
}

#[test]
fn people_see_the_next_starts() {
    let starts = |fields, after: &str, max| -> Vec<String> {
        next_starts(&game(fields), &Zone::utc(), at(after), max).iter().map(|at| said(at.starts_at)).collect()
    };
    let moved = json!({"rrule": "FREQ=WEEKLY", "instances": [
        {"at": "20260317T180000", "starts_at": "2026-03-25T08:00:00Z"}, {"at": "20260324T180000", "cancelled": true},
    ]});
    assert_eq!(starts(moved, "10:00", 3), ["18:00", "2026-03-25T08:00", "2026-03-31T18:00"]);
    assert_eq!(starts(json!({}), "10:00", 3), ["18:00"]);
    assert_eq!(starts(json!({}), "18:00", 3), Vec::<String>::new());
}
