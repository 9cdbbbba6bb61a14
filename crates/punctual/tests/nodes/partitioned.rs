//! A node that is cut off from the database without being told.

use std::time::Duration;

use punctual_core::clock::Clock;
use punctual_testkit::proxy::Toward;
use reqwest::Method;

use crate::books::Books;
use crate::cluster::{Cluster, a_reminder, spread};
use crate::common::soon;
use crate::receiver::Receiver;
use crate::sizes;

/// A node whose connections are all swallowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_go_on_when_a_node_is_cut_off_and_it_comes_back_by_itself() {
    let Some(mut cluster) = Cluster::new() else { return };
    let cut_off = cluster.add_behind_proxy(&[]);
    let other = cluster.add(&[]);
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let first_at = cluster.soon(Duration::from_secs(1));
    let wanted = spread(sizes::left_to_others(), first_at, Duration::from_secs(6));
    books.add(cluster.nodes[other].create(&receiver.hook(), &wanted).await);

    cluster.sleep_until(first_at + Duration::from_secs(2)).await;
    let proxy = cluster.nodes[cut_off].proxy.as_ref().unwrap();
    // Every connection is dead for good, and nobody says so.
    proxy.swallow(Toward::Both);
    let cut_off_at = cluster.clock.now();
    let claimed = cluster.leased_by(cut_off);

    // A caller gets an answer within a bounded time, and the node says that it cannot work.
    let asked = async {
        let lost = a_reminder("ann", "1s", &receiver.hook());
        let node = &cluster.nodes[cut_off];
        let created = node.call(Method::POST, "/v1/reminders", Some(lost));
        let ready = node.call(Method::GET, "/readyz", None);
        for (status, body) in <[_; 2]>::from(tokio::join!(created, ready)) {
            assert_eq!(status, 503, "{body}");
        }
        println!("it said so after {:.1} s", cluster.clock.now().duration_since(cut_off_at).as_secs_f64());
    };
    let delivered = async {
        soon(receiver.until_all(books.ids())).await;
        cluster.until_settled().await;
    };
    tokio::join!(asked, delivered);
    let arrivals = receiver.arrivals();
    let verdict = books.compare(&arrivals);
    println!("{} claimed by the one cut off: {verdict}", claimed.len());
    verdict.holds();
    cluster.all_delivered();
    let mut unclaimed = books.clone();
    unclaimed.due.retain(|id, _| !claimed.contains(id));
    let arrivals: Vec<_> =
        arrivals.into_iter().filter(|arrival| unclaimed.due.contains_key(&arrival.reminder)).collect();
    unclaimed.compare(&arrivals).late_at_most(Duration::from_secs(2));

    // New connections work; it has to give up the old ones by itself.
    proxy.resume();
    let healed_at = cluster.clock.now();
    let give_up_at = healed_at + Duration::from_secs(20);
    loop {
        let (status, body) = cluster.nodes[cut_off].call(Method::GET, "/readyz", None).await;
        if status == 200 {
            break;
        }
        assert!(cluster.clock.now() < give_up_at, "it does not come back: {body}");
        cluster.clock.pause(Duration::from_millis(50)).await;
    }
    println!("ready again after {:.1} s", cluster.clock.now().duration_since(healed_at).as_secs_f64());
    cluster.nodes[other].kill();
    let due_at = cluster.soon(Duration::from_millis(500));
    books.add(cluster.nodes[cut_off].create(&receiver.hook(), &spread(20, due_at, Duration::ZERO)).await);
    soon(receiver.until_all(books.ids())).await;
    books.compare(&receiver.arrivals()).holds();
}
