//! Whose zone a time is meant and shown in: the reminder's, else the user's, else the server's.

use serde_json::Value;

use crate::common::{Home, Ran};

/// Four zones of which no two share an offset: this machine's (UTC), the server's, the user's and the reminder's.
const SERVER: &str = "Asia/Tokyo";
const USER: &str = "America/New_York";
const REMINDER: &str = "Asia/Kolkata";

fn zone_and_clock(reminder: &Value) -> (String, String) {
    let zone = reminder["timezone"].as_str().unwrap();
    let next: jiff::Timestamp = reminder["next_run_at"].as_str().unwrap().parse().unwrap();
    (zone.to_owned(), next.in_tz(zone).unwrap().strftime("%H:%M").to_string())
}

#[test]
fn the_command_line_means_the_reminders_zone_else_the_users_else_the_servers() {
    let home = Home::new();
    let _server = home.serve_with(&[("PUNCTUAL_TIMEZONE", SERVER)]);
    let eight = |zone: &str| (zone.to_owned(), "08:00".to_owned());
    let both_ways: [&[&str]; 3] = [
        &["add", "call mom tomorrow at 8", "--json"],
        &["add", "call mom", "--at", "08:00", "--json"],
        &["add", "call mom", "--daily", "--time", "08:00", "--json"],
    ];
    for args in both_ways {
        assert_eq!(zone_and_clock(&home.run(args).json()), eight(SERVER), "{args:?}");
    }
    home.run(&["users", "set", "me", "--timezone", USER]).ok();
    for args in both_ways {
        assert_eq!(zone_and_clock(&home.run(args).json()), eight(USER), "{args:?}");
        let own = [args, &["--tz", REMINDER]].concat();
        assert_eq!(zone_and_clock(&home.run(&own).json()), eight(REMINDER), "{own:?}");
        // Nobody's: a user without an entry.
        let other = [args, &["--user", "bob"]].concat();
        assert_eq!(zone_and_clock(&home.run(&other).json()), eight(SERVER), "{other:?}");
        let asked = Ran::of(punctual_testkit::process::output(home.command(args).env("PUNCTUAL_TZ", REMINDER)));
        assert_eq!(zone_and_clock(&asked.json()), eight(REMINDER), "PUNCTUAL_TZ {args:?}");
    }
}

/// The seconds of an instant are shown when it is near, which each of these is for a while every day.
fn without_seconds(said: &str) -> String {
    said.replace("08:00:00", "08:00").replace("09:30:00", "09:30")
}

#[test]
fn times_are_shown_in_the_zone_they_are_meant_in_and_say_which() {
    let home = Home::new();
    let _server = home.serve_with(&[("PUNCTUAL_TIMEZONE", SERVER)]);
    home.run(&["users", "set", "me", "--timezone", USER]).ok();
    let added = without_seconds(&home.run(&["add", "call mom", "--daily", "--time", "08:00"]).ok());
    assert!(added.contains(" 08:00 America/New_York  in "), "{added}");
    home.run(&["add", "call dad", "--daily", "--time", "08:15"]).ok();
    let added =
        without_seconds(&home.run(&["add", "call the bank", "--daily", "--time", "09:30", "--tz", REMINDER]).ok());
    assert!(added.contains(" 09:30 Asia/Kolkata  in "), "{added}");

    let list = without_seconds(&home.run(&["list"]).ok());
    let line = |words: &str| list.lines().find(|line| line.contains(words)).unwrap();
    assert!(line("NEXT").contains("NEXT (America/New_York)"), "{list}");
    assert!(line("call mom").contains(" 08:00  "), "{list}");
    assert!(line("call the bank").contains(" 09:30 Asia/Kolkata  "), "{list}");
    let shown = without_seconds(&home.run(&["show", "call mom"]).ok());
    let line = |words: &str| shown.lines().find(|line| line.starts_with(words)).unwrap();
    assert!(line("next").contains(" 08:00 America/New_York  in "), "{shown}");
    assert!(line("created").contains(" America/New_York  "), "{shown}");
    assert!(line("run 1").contains(" 08:00 America/New_York  in "), "{shown}");

    // A user's pause is in the user's zone, else in the server's.
    let paused = home.run(&["users", "pause", "me", "2099-01-01T08:00:00-05:00"]);
    assert!(paused.err.contains("ten years"), "{}", paused.err);
    for (user, zone) in [("me", USER), ("bob", SERVER)] {
        let paused = without_seconds(&home.run(&["users", "pause", user, "tomorrow at 8"]).ok());
        assert!(paused.contains(&format!(" 08:00 {zone}  in ")), "{paused}");
        let shown = without_seconds(&home.run(&["users", "show", user]).ok());
        assert!(shown.contains(&format!(" 08:00 {zone} ")), "{shown}");
    }
}

#[test]
fn without_a_server_the_zone_is_that_of_the_settings() {
    let home = Home::new();
    let config = home.path().join("punctual.toml");
    std::fs::write(&config, format!("timezone = \"{SERVER}\"\n")).unwrap();
    let config = config.to_str().unwrap();
    for (args, zone) in [
        (&["--config", config, "parse", "tomorrow at 8", "--now", "2026-03-01T10:00"][..], SERVER),
        (&["--config", config, "next", "--daily", "--time", "08:00"], SERVER),
        (&["--config", config, "next", "--daily", "--time", "08:00", "--tz", REMINDER], REMINDER),
        (&["next", "--daily", "--time", "08:00"], "UTC"),
    ] {
        let said = home.run_alone(args).ok();
        assert!(said.lines().next().unwrap().ends_with(&format!(", {zone}")), "{args:?}: {said}");
    }
    let said = punctual_testkit::process::output(
        home.command(["next", "--daily", "--time", "08:00"]).env("PUNCTUAL_TIMEZONE", SERVER),
    );
    assert!(String::from_utf8(said.stdout).unwrap().starts_with("every day at 08:00, Asia/Tokyo\n"));
}
