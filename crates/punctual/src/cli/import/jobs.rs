//! `scheduled_jobs`: an assistant's reminders, with six types of schedules.

use jiff::Timestamp;
use punctual_core::schedule::Schedule;
use punctual_core::zone::Zone;
use serde_json::{Value, json};

use super::kind::{Kind, Sent, need, want};
use super::map::{Mapped, Wishes, once, reminder};
use super::row::{Bad, Row};
use crate::wire::Word;

pub(super) const KIND: Kind = Kind {
    name: "scheduled_jobs",
    tables: &["scheduled_jobs"],
    fields: &[
        need("id", &["id"]),
        need("user_id", &["user_id"]),
        want("name", &["name"]),
        need("schedule_type", &["schedule_type"]),
        want("run_at", &["run_at"]),
        want("interval_ms", &["interval_ms"]),
        want("time_of_day", &["time_of_day"]),
        want("days_of_week", &["days_of_week"]),
        want("timezone", &["timezone"]),
        want("cron_expr", &["cron_expr"]),
        need("message", &["message"]),
        want("channel", &["channel"]),
        want("priority", &["priority"]),
        want("require_ack", &["require_ack"]),
        want("ack_prompt", &["ack_prompt"]),
        want("snooze_allowed", &["snooze_allowed"]),
        want("max_retries", &["max_retries"]),
        want("enabled", &["enabled"]),
        need("next_run_at", &["next_run_at"]),
        want("last_run_at", &["last_run_at"]),
        want("last_status", &["last_status"]),
        want("consecutive_errors", &["consecutive_errors"]),
        want("total_runs", &["total_runs"]),
        want("created_at", &["created_at"]),
        want("created_via", &["created_via"]),
        want("original_text", &["original_text"]),
    ],
    users: &["{user_id}"],
    messages: &["{message}"],
    map,
    sent,
};

/// Columns that go into the metadata, because the reminder starts anew here.
const CARRIED: &[&str] =
    &["channel", "total_runs", "last_run_at", "last_status", "consecutive_errors", "created_via", "next_run_at"];

fn map(row: &Row<'_>, wishes: &Wishes) -> Result<Mapped, Bad> {
    let kind = row.need("schedule_type")?;
    let enabled = row.boolean("enabled")?.unwrap_or(true);
    let has_run = row.number("total_runs")?.unwrap_or(0) > 0 || row.text("last_status") == Some("completed");
    if kind == "once" && (row.text("last_status") == Some("completed") || (!enabled && has_run)) {
        return Ok(Mapped::Ended("completed there"));
    }
    let zone = match row.text("timezone") {
        Some(name) => Some(Zone::named(name).map_err(|invalid| row.bad("timezone", invalid.problem))?),
        None => None,
    };
    let next = row.instant("next_run_at")?;
    let schedule = match kind {
        "once" => {
            let at = match row.instant("run_at")? {
                Some(at) => at,
                None => next.ok_or_else(|| row.bad("run_at", "is empty"))?,
            };
            // One that is switched off waits for somebody, and is not overdue.
            match once(at, wishes) {
                Err(left_out) if enabled => return Ok(left_out),
                Err(_) => return Ok(Mapped::LeftOut("switched off, and its time has passed")),
                Ok(schedule) => schedule,
            }
        }
        "interval" => interval(row, next)?,
        _ => go_on_at(next, local_rule(row, kind)?, zone.as_ref(), row, wishes.now),
    };
    let mut reminder = reminder(row, wishes, schedule, CARRIED)?;
    // There, too, the user's other channels came after the job's own.
    reminder.only = None;
    let text = |field: &str| row.text(field).map(str::to_owned);
    reminder.name = text("name").map(Some);
    reminder.priority = row.text("priority").map(Word::new);
    reminder.ack_prompt = text("ack_prompt").map(Some);
    reminder.created_via = text("created_via");
    reminder.original_text = text("original_text");
    reminder.timezone = zone.map(|zone| zone.name().to_owned());
    reminder.require_ack = row.boolean("require_ack")?;
    reminder.snooze_allowed = row.boolean("snooze_allowed")?;
    if let Some(retries) = row.number("max_retries")? {
        let wrong = |_| row.bad("max_retries", format!("must be a whole number from 0 up, not {retries}"));
        reminder.max_retries = Some(u32::try_from(retries).map_err(wrong)?);
    }
    Ok(Mapped::Take { reminder, paused: !enabled })
}

/// Elapsed time: it goes on from its next run.
fn interval(row: &Row<'_>, next: Option<Timestamp>) -> Result<Value, Bad> {
    let millis = row.number("interval_ms")?.ok_or_else(|| row.bad("interval_ms", "is empty"))?;
    if millis < 1000 {
        return Err(row.bad("interval_ms", format!("is {millis}; the shortest interval is 1000")));
    }
    let next = next.ok_or_else(|| row.bad("next_run_at", "is empty"))?;
    Ok(json!({ "type": "interval", "every": format!("{millis}ms"), "starts_at": next.to_string() }))
}

/// A rule about local time.
fn local_rule(row: &Row<'_>, kind: &str) -> Result<Value, Bad> {
    match kind {
        "daily" => Ok(json!({ "type": "daily", "time": row.need("time_of_day")? })),
        "weekly" => Ok(json!({ "type": "weekly", "time": row.need("time_of_day")?, "days": days(row)? })),
        "cron" => Ok(json!({ "type": "cron", "expr": row.need("cron_expr")? })),
        // A smart job has no column of its own for its meaning; some systems keep the cron expression they made of it.
        "smart" => match (row.text("cron_expr"), row.text("original_text")) {
            (Some(expr), _) => Ok(json!({ "type": "cron", "expr": expr })),
            (None, Some(text)) => Ok(json!({ "type": "smart", "text": text })),
            (None, None) => Err(row.bad("original_text", "is empty, so nothing says when a smart job is due")),
        },
        other => {
            let problem = format!("`{other}` is not one of once, interval, daily, weekly, cron, smart");
            Err(row.bad("schedule_type", problem))
        }
    }
}

/// Days as numbers, Monday first and Sunday 0 or 7, or as names.
fn days(row: &Row<'_>) -> Result<Vec<String>, Bad> {
    const NAMES: [&str; 8] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let text = row.need("days_of_week")?;
    let mut days = Vec::new();
    for part in text.trim_matches(['[', ']', '{', '}']).split(',') {
        let part = part.trim().trim_matches('"');
        match part.parse::<usize>() {
            Ok(number) => match NAMES.get(number) {
                Some(name) => days.push((*name).to_owned()),
                None => return Err(row.bad("days_of_week", format!("`{part}` in `{text}` is no day; 1 is Monday"))),
            },
            Err(_) => days.push(part.to_owned()),
        }
    }
    Ok(days)
}

/// The rule, which begins at `next` where it would be due before: a run that was there does not come again here.
fn go_on_at(next: Option<Timestamp>, mut rule: Value, zone: Option<&Zone>, row: &Row<'_>, now: Timestamp) -> Value {
    let Some(next) = next.filter(|next| *next > now) else { return rule };
    let read_at = row.instant("created_at").ok().flatten().unwrap_or(Timestamp::UNIX_EPOCH);
    let first = zone.and_then(|zone| {
        let schedule = Schedule::from_input(&rule, zone, read_at).ok()?;
        schedule.next_after(zone, now)
    });
    if first != Some(next) {
        rule["starts_at"] = next.to_string().into();
    }
    rule
}

fn sent(row: &Row<'_>) -> Result<Sent, Bad> {
    let last_run_at = row.instant("last_run_at")?;
    let was_sent = last_run_at.is_some() && row.text("last_status").is_some_and(|status| status != "failed");
    Ok(Sent { was_sent, due_at: last_run_at, sent_at: last_run_at })
}
