//! Which zones SQL takes: those that nodes know.

use punctual_core::zone::Zone;
use punctual_store::postgres::Published;
use punctual_testkit::servers::Postgres;

use crate::client::database;

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
