//! The measurements of several nodes, with little to measure.

use punctual_testkit::servers::Postgres;

use crate::common::Home;

#[test]
fn what_is_measured_with_several_nodes_adds_up() {
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
    // Nothing of it is left.
    assert_eq!(postgres.sql(&database, "select count(*) from punctual.occurrence where wake_at is not null"), "0");
}

#[test]
fn what_cannot_be_measured_is_said() {
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
