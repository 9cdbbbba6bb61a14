//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::calendar::calendar_renewed;
use punctual_core::journal::Who;
use punctual_core::store::{Feeds, StoreError};
use rusqlite::OptionalExtension;

use super::SqliteStore;
use super::row::broken;
use super::worker::Urgency;
use super::write::write;

#[async_trait]
impl Feeds for SqliteStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.read(move |db| {
            let mut found =
                db.prepare_cached("SELECT generation FROM calendar_key WHERE user_id = ?").map_err(broken)?;
            let generation = found.query_row([user], |row| row.get(0)).optional().map_err(broken)?;
            Ok(generation.unwrap_or(0))
        })
        .await
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.write(Urgency::Normal, move |db| {
            let generation = db
                .prepare_cached(
                    "INSERT INTO calendar_key (user_id, generation) VALUES (?, 1) \
                     ON CONFLICT (user_id) DO UPDATE SET generation = generation + 1 RETURNING generation",
                )
                .map_err(broken)?
                .query_row([&user], |row| row.get(0))
                .map_err(broken)?;
            write(db, &calendar_renewed(&user, who, now))?;
            Ok(generation)
        })
        .await
    }
}
