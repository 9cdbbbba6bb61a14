//! Open pages and their stream.

use std::net::TcpListener;

use punctual_testkit::proxy::Proxy;
use serde_json::{Value, json};

use super::browser::browser;
use super::world::World;
use super::{tell, tell_with};
use crate::common::Home;

#[tokio::test]
async fn a_page_that_lost_its_server_says_so_and_heals() {
    let home = Home::new();
    // The browser knows one address: the server comes back at the same.
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let server = home.serve_at(&listen);
    let with = json!({ "url": server.url, "key": server.key });
    let Some(browser) = browser() else { return };
    let mut running = Some(server);
    let answer = async |asked: Value| {
        match asked.as_str().unwrap() {
            "kill" => drop(running.take()),
            "restart" => running = Some(home.serve_at(&listen)),
            other => panic!("{other}"),
        }
        Value::Null
    };
    browser.tell("live/lostAndHealed", with, answer).await;
}

#[tokio::test]
async fn a_page_whose_network_was_cut_says_so_and_shows_afterwards_what_it_missed() {
    let (_home, server) = World::empty();
    let proxy = Proxy::start(server.url.trim_start_matches("http://").parse().unwrap());
    let with = json!({ "url": proxy.url_for(&server.url), "direct": server.url });
    tell_with("live/cutAndHealed", &server, with, async |asked| {
        match asked.as_str().unwrap() {
            "cut" => {
                proxy.refuse(true);
                proxy.cut();
            }
            "mend" => proxy.resume(),
            other => panic!("{other}"),
        }
        Value::Null
    })
    .await;
}

#[tokio::test]
async fn two_tabs_share_one_stream_and_both_are_live() {
    let (_home, server) = World::empty();
    tell("live/twoTabs", &server, json!({})).await;
}

#[tokio::test]
async fn the_tab_that_is_left_takes_over_the_stream() {
    let (_home, server) = World::empty();
    tell("live/tabCloses", &server, json!({})).await;
}

#[tokio::test]
async fn many_tabs_share_one_stream_where_the_browser_has_no_locks() {
    let (_home, server) = World::empty();
    tell("live/withoutLocks", &server, json!({})).await;
}
