//! Phone calls with attempts and retries, each due once.

use punctual_core::reminder::OnUnknown;
use serde_json::json;

use super::kind::{Kind, Sent, need, want};
use super::map::{Mapped, OVERDUE, Wishes, reminder};
use super::row::{Bad, Row};

pub(super) const KIND: Kind = Kind {
    name: "calls",
    tables: &["scheduled_jobs", "reminders", "scheduled_calls", "calls"],
    fields: &[
        need("id", &["id"]),
        need("status", &["status"]),
        need("due_at", &["date_time_utc", "scheduled_at", "scheduled_for", "scheduled_time", "run_at"]),
        need("attempt_count", &["attempt_count"]),
        need("max_attempts", &["max_attempts"]),
        need("next_retry_at", &["next_retry_at"]),
        want("last_error", &["last_error"]),
        want("vapi_call_id", &["vapi_call_id", "call_id"]),
        want("user_id", &["user_id", "owner_id", "customer_id"]),
        want("phone", &["phone_number", "phone", "customer_number", "to_number", "patient_phone"]),
        want("message", &["message", "content", "text", "title", "description", "notes"]),
        want("created_at", &["created_at"]),
        want("sent_at", &["completed_at", "sent_at", "called_at"]),
    ],
    users: &["{user_id}", "{phone}"],
    messages: &["{message}"],
    map,
    sent,
};

fn map(row: &Row<'_>, wishes: &Wishes) -> Result<Mapped, Bad> {
    let is_retry = match row.need("status")? {
        "scheduled" => false,
        "pending_retry" => true,
        "completed" => return Ok(Mapped::Ended("completed there")),
        "failed" => return Ok(Mapped::Ended("failed there")),
        // Whether the call was made is known there only; a second one is worse than asking somebody to look.
        "processing" => return Ok(Mapped::LeftOut("being processed there; look whether the call was made")),
        other => {
            let problem = format!("`{other}` is not one of scheduled, processing, pending_retry, completed, failed");
            return Err(row.bad("status", problem));
        }
    };
    let due_at = if is_retry { row.need_instant("next_retry_at")? } else { row.need_instant("due_at")? };
    if due_at <= wishes.now && !wishes.takes_overdue {
        return Ok(Mapped::LeftOut(OVERDUE));
    }
    let tried = row.number("attempt_count")?.unwrap_or(0);
    let allowed = row.number("max_attempts")?.unwrap_or(3);
    if tried >= allowed {
        return Err(row.bad("attempt_count", format!("is {tried} of {allowed}: nothing is left to try")));
    }
    // Theirs counts all attempts, ours those after the first.
    let retries = (allowed - tried.max(0) - 1).clamp(0, 100);
    let schedule = json!({ "type": "once", "at": due_at.to_string() });
    let mut reminder = reminder(row, wishes, schedule, &["phone", "attempt_count", "last_error", "vapi_call_id"])?;
    reminder.max_retries = u32::try_from(retries).ok();
    // A call that may have been made is not made again.
    reminder.on_unknown = Some(OnUnknown::Hold.into());
    Ok(Mapped::Take { reminder, paused: false })
}

fn sent(row: &Row<'_>) -> Result<Sent, Bad> {
    Ok(Sent {
        was_sent: row.text("status") == Some("completed"),
        due_at: row.instant("due_at")?,
        sent_at: row.instant("sent_at")?,
    })
}
