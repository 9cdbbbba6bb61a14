//! What a node says about itself, so that the functions which other clients call in SQL judge as it would.

use punctual_core::zone::Zone;
use tokio_postgres::types::Type;

use super::batch::BEGIN;
use super::fault::Fault;
use super::flight::{all3, all4};
use super::pool::Connection;

/// What a node would accept, and what it would fill in.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its channels by name, each with its kind: `webhook`, `console`, …
    pub channels: Vec<(String, String)>,
    /// The zone of reminders when neither they nor their users have one.
    pub timezone: Zone,
    /// Retries of a reminder that does not say.
    pub retries_max: u32,
    /// Whether webhooks may call private addresses.
    pub webhook_allow_private: bool,
}

/// Nothing is written that is there already: nodes start often, and settings change rarely.
pub(super) async fn publish(db: &Connection<'_>, published: &Published) -> Result<(), Fault> {
    // In the order of their names, so that nodes which start at once do not wait in a circle.
    let mut channels = published.channels.clone();
    channels.sort_unstable();
    let (names, kinds): (Vec<String>, Vec<String>) = channels.into_iter().unzip();
    let retries_max = published.retries_max.to_string();
    let settings = vec!["max_retries", "timezone", "webhook_allow_private"];
    let allow_private = if published.webhook_allow_private { "true" } else { "false" };
    let values = vec![retries_max.as_str(), published.timezone.name(), allow_private];
    let mut zones: Vec<String> = jiff::tz::db().available().map(|zone| zone.as_str().to_owned()).collect();
    zones.sort_unstable();

    let named = [(&names as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY)];
    let gone = db.execute("delete from punctual.channel where name <> all ($1)", &named);
    let of_channels =
        [(&names as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY), (&kinds, Type::TEXT_ARRAY)];
    let channels = db.execute(
        "insert into punctual.channel as c (name, kind) select * from unnest($1, $2) \
         on conflict (name) do update set kind = excluded.kind where c.kind <> excluded.kind",
        &of_channels,
    );
    let of_settings =
        [(&settings as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY), (&values, Type::TEXT_ARRAY)];
    let settings = db.execute(
        "insert into punctual.setting as s (name, value) select * from unnest($1, $2) \
         on conflict (name) do update set value = excluded.value where s.value <> excluded.value",
        &of_settings,
    );
    let of_zones = [(&zones as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY)];
    let zones =
        db.execute("insert into punctual.zone (name) select unnest($1) as name on conflict do nothing", &of_zones);
    all3(db.begin(BEGIN), all4(gone, channels, settings, zones), db.commit()).await?;
    Ok(())
}
