//! The measurements of several nodes, with little to measure.

use punctual_testkit::servers::Postgres;

use crate::common::Home;

#[test]
fn the_figures_of_several_nodes_add_up() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let home = Home::new();
    let bench = |args: &[&str]| {
        let args = [&["bench"], args, &["--database", &url, "--json"]].concat();
        home.run_alone(&args).json()
    };

    let burst = bench(&["burst", "--nodes", "2", "--count", "300", "--rounds", "1"]);
    println!("{burst}");
    assert_eq!(burst["all_nodes"]["received"], 300);
    assert_eq!((&burst["all_nodes"]["twice"], &burst["all_nodes"]["early"]), (&0.into(), &0.into()));
    let shares = burst["all_nodes"]["sent_by_each_node"].as_array().unwrap();
    assert_eq!(shares.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 300);
    assert!(shares.iter().all(|n| n.as_u64() > Some(50)), "{burst}");
    assert_eq!(burst["not_settled"], 0);

    let notify = bench(&["notify", "--writers", "4", "--listeners", "2", "--seconds", "1"]);
    println!("{notify}");
    for way in ["told", "quiet", "later", "no_trigger"] {
        assert!(notify[way]["commits_per_second"].as_f64() > Some(0.0), "{notify}");
    }
    // The bench leaves no run that is still to come.
    assert_eq!(postgres.sql(&database, "select count(*) from punctual.occurrence where wake_at is not null"), "0");
}

#[test]
fn the_cost_of_a_reminder_is_counted_on_both_stores() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let home = Home::new();
    let cost = |further: &[&str]| {
        let args = [&["bench", "cost", "--rate", "200", "--seconds", "3", "--ahead", "1", "--json"], further].concat();
        home.run_alone(&args).json()
    };
    for found in [cost(&[]), cost(&["--database", &url])] {
        println!("{found}");
        let each = |field: &str| found[field].as_f64().unwrap_or(f64::NAN);
        // The reminder, its run, the attempt and two entries of the journal, and what each transaction adds to that: PostgreSQL says so
        // up to a second late.
        assert!((2.0..8.0).contains(&each("inserts")), "{found}");
        assert!((1.0..8.0).contains(&each("updates")), "{found}");
        assert!(each("commits") > 0.0 && each("wal_bytes") > 100.0, "{found}");
        assert!(each("node_us") > 0.0 && each("database_us") > 0.0, "{found}");
    }
}

#[test]
fn answers_and_streams_are_measured_on_both_stores() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let home = Home::new();
    for on in [&[][..], &["--database", &url]] {
        let bench = |args: &[&str]| home.run_alone(&[&["bench"], args, &["--json"], on].concat()).json();
        // It fails unless every run has exactly one answer.
        let inbound = bench(&["inbound", "--presses", "20", "--rate", "50", "--answers", "100", "--concurrency", "8"]);
        println!("{inbound}");
        for way in ["press_by_poll", "press_by_webhook"] {
            assert!(inbound[way]["p50_ms"].as_f64() > Some(0.0), "{inbound}");
        }
        for way in ["words", "presses"] {
            assert_eq!(inbound[way]["answers"], 100, "{inbound}");
            assert!(inbound[way]["rate_per_second"].as_f64() > Some(0.0), "{inbound}");
        }
        let stream = bench(&["stream", "--readers", "20", "--entries", "5", "--every", "10"]);
        println!("{stream}");
        assert!(stream["last_reader"]["max_ms"].as_f64() > Some(0.0), "{stream}");
    }
}

#[test]
fn a_bench_says_what_it_cannot_measure() {
    let home = Home::new();
    let bench = |args: &[&str]| home.run_alone(&[&["bench"], args].concat());
    bench(&["failover"]).fails(1, &["failover", "--database postgres://"]);
    bench(&["notify"]).fails(1, &["notify", "--database postgres://"]);
    let url = "postgres://ann:hush@127.0.0.1:1/life";
    bench(&["burst", "--nodes", "2", "--channel", "in-process", "--database", url]).fails(1, &["--channel webhook"]);
    assert_eq!(bench(&["burst", "--nodes", "1", "--database", url]).code, Some(2));
    assert_eq!(bench(&["burst", "--nodes", "2"]).code, Some(2));
    let refused = bench(&["failover", "--database", url]);
    assert_eq!(refused.code, Some(1));
    assert!(!refused.err.contains("hush"), "{}", refused.err);
}
