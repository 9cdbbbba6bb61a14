//! `v2_reminders`: a chat bot's reminders, each due once.

use super::kind::{Kind, Sent, need, want};
use super::map::{Mapped, Wishes, once, reminder};
use super::row::{Bad, Row};

pub(super) const KIND: Kind = Kind {
    name: "v2_reminders",
    tables: &["v2_reminders"],
    fields: &[
        need("id", &["id"]),
        need("user_id", &["user_id"]),
        need("channel_id", &["channel_id"]),
        want("character_name", &["character_name"]),
        need("message", &["content"]),
        need("deliver_at", &["deliver_at"]),
        need("status", &["status"]),
        want("created_at", &["created_at"]),
        want("sent_at", &["sent_at", "delivered_at"]),
    ],
    users: &["{user_id}"],
    messages: &["{message}"],
    map,
    sent,
};

fn map(row: &Row<'_>, wishes: &Wishes) -> Result<Mapped, Bad> {
    match row.need("status")? {
        "pending" => {}
        "delivered" => return Ok(Mapped::Ended("delivered there")),
        "cancelled" => return Ok(Mapped::Ended("cancelled there")),
        "failed" => return Ok(Mapped::Ended("failed there")),
        other => {
            let problem = format!("`{other}` is not one of pending, delivered, cancelled, failed");
            return Err(row.bad("status", problem));
        }
    }
    let schedule = match once(row.need_instant("deliver_at")?, wishes) {
        Ok(schedule) => schedule,
        Err(left_out) => return Ok(left_out),
    };
    let reminder = reminder(row, wishes, schedule, &["channel_id", "character_name"])?;
    Ok(Mapped::Take { reminder, paused: false })
}

fn sent(row: &Row<'_>) -> Result<Sent, Bad> {
    Ok(Sent {
        was_sent: row.text("status") == Some("delivered"),
        due_at: row.instant("deliver_at")?,
        sent_at: row.instant("sent_at")?,
    })
}
