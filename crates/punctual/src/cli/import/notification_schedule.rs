//! `notification_schedule`: one row for each event and how long before it.

use super::kind::{Kind, Sent, need, want};
use super::map::{Mapped, Wishes, once, reminder};
use super::row::{Bad, Row};

pub(super) const KIND: Kind = Kind {
    name: "notification_schedule",
    tables: &["notification_schedule"],
    fields: &[
        need("id", &["id"]),
        need("event_id", &["game_id", "event_id"]),
        need("minutes", &["reminder_minutes", "offset_minutes"]),
        need("notification_time", &["notification_time"]),
        need("sent", &["sent"]),
        want("created_at", &["created_at"]),
        want("sent_at", &["sent_at"]),
    ],
    users: &["event:{event_id}"],
    messages: &["Starts in {minutes} minutes"],
    map,
    sent,
};

fn map(row: &Row<'_>, wishes: &Wishes) -> Result<Mapped, Bad> {
    if row.boolean("sent")?.unwrap_or(false) {
        return Ok(Mapped::Ended("sent there"));
    }
    row.need("event_id")?;
    row.number("minutes")?.ok_or_else(|| row.bad("minutes", "is empty"))?;
    let schedule = match once(row.need_instant("notification_time")?, wishes) {
        Ok(schedule) => schedule,
        Err(left_out) => return Ok(left_out),
    };
    let reminder = reminder(row, wishes, schedule, &["event_id", "minutes"])?;
    Ok(Mapped::Take { reminder, paused: false })
}

fn sent(row: &Row<'_>) -> Result<Sent, Bad> {
    Ok(Sent {
        was_sent: row.boolean("sent")?.unwrap_or(false),
        due_at: row.instant("notification_time")?,
        sent_at: row.instant("sent_at")?,
    })
}
