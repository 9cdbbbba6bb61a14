//! Local times in SQL and in core mean the same instants.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp};
use punctual_core::schedule::{Rule, Schedule, Weekdays};
use punctual_core::zone::Zone;
use punctual_store::postgres::Published;
use punctual_testkit::sample::instant;
use punctual_testkit::servers::Postgres;

use crate::client::{Listener, database};

/// The first local times after moments around every change of the clocks of some years, in every zone there is.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_run_is_the_one_core_computes_in_every_zone() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let client = Listener::connect(&server.url(&name)).await.client;
    let names = client.query("select name from punctual.zone order by name", &[]).await.unwrap();
    let mut zones: Vec<String> = names.iter().map(|row| row.get(0)).collect();
    assert!(zones.len() > 400, "{}", zones.len());
    zones.extend(["+05:45", "-02", "+00:00", "-09:30"].map(str::to_owned));
    let (mut asked, mut expect): (Vec<String>, Vec<Timestamp>) = (Vec::new(), Vec::new());
    for name in &zones {
        let zone = Zone::named(name).unwrap();
        assert_eq!(zone.name(), name, "the same spelling");
        let changes = zone.rules().following(instant("2026-01-01T00:00:00Z")).take(2);
        let moments = changes.map(|change| change.timestamp()).chain([instant("2026-06-15T12:00:00Z")]);
        for change in moments.filter(|at| *at < instant("2030-01-01T00:00:00Z")) {
            for (hours, time) in [(-20, 1), (-2, 1), (0, 2), (-30, 2), (1, 2), (-3, 0), (-20, 3), (-20, 23)] {
                let after = change + SignedDuration::from_hours(hours);
                let (time, weekly) = (Time::constant(time, 30, 0, 0), hours == -30);
                let days = if weekly { Weekdays::WEEKEND } else { Weekdays::ALL };
                let schedule = Schedule::new(Rule::Weekly { time, days });
                let days = if weekly { "{6,7}" } else { "{1,2,3,4,5,6,7}" };
                asked.push(format!("('{name}', '{time}'::time, '{days}'::int[], '{after}'::timestamptz)"));
                expect.push(schedule.next_after(&zone, after).unwrap());
            }
        }
    }
    let sql = "select extract(epoch from punctual.next_on(v.zone, v.clock, v.days, v.after))::bigint \
               from (values %) as v (zone, clock, days, after)";
    let mut got = Vec::new();
    for asked in asked.chunks(1000) {
        let rows = client.query(&sql.replace('%', &asked.join(",")), &[]).await.unwrap();
        got.extend(rows.iter().map(|row| Timestamp::from_second(row.get(0)).unwrap()));
    }
    println!("{} first runs in {} zones", got.len(), zones.len());
    for ((asked, got), expect) in asked.iter().zip(got).zip(expect) {
        assert_eq!(got, expect, "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_publish_the_zones_they_know() {
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    server.sql(&name, "delete from punctual.zone where name like 'Europe/%'");
    let published = Published {
        channels: Vec::new(),
        timezone: Zone::utc(),
        retries_max: 3,
        webhook_allow_private: false,
        default_is_chosen: true,
    };
    store.publish(&published).await.unwrap();
    for zone in jiff::tz::db().available() {
        let at = format!("select punctual.zone_name(upper('{}'))", zone.as_str());
        assert_eq!(server.sql(&name, &at), zone.as_str());
        if zone.as_str() > "Europe/M" {
            break;
        }
    }
}
