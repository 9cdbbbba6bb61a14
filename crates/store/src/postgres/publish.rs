//! A node publishes what it accepts, so that the functions which other clients call in SQL judge as it would.

use punctual_core::channel::AddressRule;
use punctual_core::zone::Zone;
use tokio_postgres::types::Type;

use super::batch::BEGIN;
use super::fault::Fault;
use super::pipeline::{all3, all4};
use super::pool::Connection;

/// What a node would accept, and what it would fill in.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its channels.
    pub channels: Vec<PublishedChannel>,
    /// The zone of reminders when neither they nor their users have one.
    pub timezone: Zone,
    /// Retries of a reminder that does not say.
    pub retries_max: u32,
    /// Whether webhooks may call private addresses.
    pub webhook_allow_private: bool,
    /// Whether somebody chose where reminders go that have no address.
    pub default_is_chosen: bool,
}

/// A channel that a node has.
#[derive(Debug, Clone)]
pub struct PublishedChannel {
    /// The name that reminders call it by.
    pub name: String,
    /// Its kind: `webhook`, `console`, …
    pub kind: String,
    /// Which addresses it takes.
    pub rule: AddressRule,
}

/// A row that is there already is not written again: nodes start often, and settings change rarely.
pub(super) async fn publish(db: &Connection<'_>, published: &Published) -> Result<(), Fault> {
    // In the order of their names, so that nodes which start at once do not wait in a circle.
    let mut channels = published.channels.clone();
    channels.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
    let kinds: Vec<&str> = channels.iter().map(|channel| channel.kind.as_str()).collect();
    let rules = channels.iter().map(|channel| match &channel.rule {
        AddressRule::Text { pattern, bytes_max, problem } => {
            (Some(pattern), i32::try_from(*bytes_max).ok(), Some(problem), None)
        }
        AddressRule::Url { allow_private } => (None, None, None, Some(*allow_private)),
    });
    let (mut patterns, mut lengths, mut problems, mut privates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (pattern, length, problem, private) in rules {
        patterns.push(pattern);
        lengths.push(length);
        problems.push(problem);
        privates.push(private);
    }
    let retries_max = published.retries_max.to_string();
    let settings = vec!["default_channel_chosen", "max_retries", "timezone", "webhook_allow_private"];
    let word = |yes: bool| if yes { "true" } else { "false" };
    let (chosen, allow_private) = (word(published.default_is_chosen), word(published.webhook_allow_private));
    let values = vec![chosen, retries_max.as_str(), published.timezone.name(), allow_private];
    let mut zones: Vec<String> = jiff::tz::db().available().map(|zone| zone.as_str().to_owned()).collect();
    zones.sort_unstable();

    let named = [(&names as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT_ARRAY)];
    let gone = db.execute("delete from punctual.channel where name <> all ($1)", &named);
    let of_channels: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 6] = [
        (&names, Type::TEXT_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
        (&patterns, Type::TEXT_ARRAY),
        (&lengths, Type::INT4_ARRAY),
        (&problems, Type::TEXT_ARRAY),
        (&privates, Type::BOOL_ARRAY),
    ];
    let channels = db.execute(
        "insert into punctual.channel as c (name, kind, pattern, bytes_max, problem, allow_private) \
         select * from unnest($1, $2, $3, $4, $5, $6) on conflict (name) do update set kind = excluded.kind, \
         pattern = excluded.pattern, bytes_max = excluded.bytes_max, problem = excluded.problem, \
         allow_private = excluded.allow_private where (c.kind, c.pattern, c.bytes_max, c.problem, c.allow_private) \
         is distinct from (excluded.kind, excluded.pattern, excluded.bytes_max, excluded.problem, excluded.allow_private)",
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
