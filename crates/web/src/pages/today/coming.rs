//! The coming week, run by run. The store has the next run of each reminder; those after it follow from its schedule.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use punctual_client::known::{Except, Priority, QuietHours, quiet_until};
use punctual_client::wire::{self, DueQuery, DueRun, Word};
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;

use super::super::ahead::Ahead;
use super::is_coming;
use crate::manner::Manner;
use crate::trouble::Trouble;
use crate::viewer::Viewer;

/// How far ahead the line reaches.
const AHEAD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How many rows stand on a page, and how many beside an unfolded past: a page stays small.
const SHOWN: usize = 70;
const SHOWN_BESIDE: usize = 16;
/// How many next runs are looked at for the first page, and for those after it.
const LOOKED_AT: usize = 100;
const LOOKED_AT_FURTHER: usize = 500;
/// A reminder that is due more often than this in the week has one row, which says how often it follows.
const ROWS_EACH: usize = 7;

/// The rows of a page.
#[derive(Default)]
pub(super) struct Coming {
    /// The next runs that the rows are of.
    pub(super) runs: Vec<DueRun<'static>>,
    /// In order.
    pub(super) rows: Vec<Row>,
    /// Whether more rows follow on another page, and how many, if that is known.
    pub(super) is_on: bool,
    pub(super) n_more: usize,
    pub(super) until: Timestamp,
    /// From 1.
    pub(super) page: usize,
    pub(super) is_beside: bool,
}

/// A run that is coming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) at: Timestamp,
    /// Which of the next runs it is, or comes after.
    pub(super) of: usize,
    pub(super) is_next: bool,
    /// How many runs follow it in the week that have no row.
    pub(super) n_more: usize,
    /// When it really leaves, where its person is not to be disturbed when it is due.
    pub(super) leaves: Option<Timestamp>,
}

impl Coming {
    /// The days with rows. What is due and not sent yet is today's.
    pub(super) fn days(&self, m: &Manner) -> Vec<Date> {
        let mut days: Vec<Date> = self.rows.iter().map(|row| day_of(m, row)).collect();
        days.dedup();
        days
    }

    pub(super) fn of_day(&self, m: &Manner, day: Date) -> Vec<&Row> {
        self.rows.iter().filter(|row| day_of(m, row) == day).collect()
    }
}

fn day_of(m: &Manner, row: &Row) -> Date {
    m.local(row.at).date().max(m.today())
}

/// The runs that are due in the week; without any, the next run whenever it is.
pub(super) async fn coming(v: &Viewer, page: usize, is_beside: bool) -> Result<Coming, Trouble> {
    let until = v.m.now + AHEAD;
    let query = DueQuery { user: Some(v.person.clone()), from: Some(v.m.now.to_string()), ..DueQuery::default() };
    let limit = if page > 1 { LOOKED_AT_FURTHER } else { LOOKED_AT };
    let week = DueQuery { to: Some(until.to_string()), limit: Some(limit), ..query.clone() };
    let found = v.client.runs(&week).await?;
    let (mut runs, is_partial) = (found.runs, found.next_cursor.is_some());
    runs.retain(|run| is_coming(&run.occurrence));
    if runs.is_empty() && !is_partial {
        runs = v.client.runs(&DueQuery { limit: Some(20), ..query }).await?.runs;
        runs.retain(|run| is_coming(&run.occurrence));
        runs.truncate(1);
    }
    // The runs after the last one that was looked at may be incomplete.
    let end = runs.last().filter(|_| is_partial).map_or(until, |run| run.occurrence.due_at);
    let mut rows = rows(&runs, v.m.now, end);
    let peace = Peace::of(v.user.as_ref());
    for row in &mut rows {
        row.leaves = peace.leaves(&runs[row.of], row);
    }
    let shown = if is_beside { SHOWN_BESIDE } else { SHOWN };
    let first = (page - 1) * SHOWN;
    let n_left = rows.len().saturating_sub(first + shown);
    // How many there are is not said where not all were looked at.
    let (n_more, is_on) = if is_partial { (0, page == 1 || n_left > 0) } else { (n_left, n_left > 0) };
    let rows = rows.into_iter().skip(first).take(shown).collect();
    Ok(Coming { runs, rows, n_more, is_on, until, page, is_beside })
}

/// A row for each run before `until`, in order. The first is the next run, wherever it lies.
fn rows(runs: &[DueRun<'_>], now: Timestamp, until: Timestamp) -> Vec<Row> {
    let mut rows = Vec::new();
    let steps = Steps::of_request(runs.len());
    for (of, DueRun { occurrence, reminder }) in runs.iter().enumerate() {
        let next = occurrence.due_at;
        let ahead = Ahead::of(reminder, Some(next), occurrence.run_number, &steps);
        let ahead = ahead.between(now, until, ROWS_EACH + 1);
        let row = |at, is_next, n_more| Row { at, of, is_next, n_more, leaves: None };
        if ahead.n > ROWS_EACH || ahead.has_more {
            // Runs that are too many to be counted are said by their schedule.
            rows.push(row(next, true, if ahead.has_more { 0 } else { ahead.n - 1 }));
            continue;
        }
        rows.push(row(next, true, 0));
        rows.extend(ahead.at.iter().filter(|at| **at > next).map(|at| row(*at, false, 0)));
    }
    rows.sort_by_key(|row| (row.at, row.of));
    rows
}

/// When somebody is not to be disturbed.
struct Peace {
    hours: Option<QuietHours>,
    zone: Option<Zone>,
    paused_until: Option<Timestamp>,
}

impl Peace {
    fn of(user: Option<&wire::User>) -> Self {
        let hours = user.and_then(|user| user.quiet_hours.as_ref()).and_then(|hours| {
            let except = match hours.except {
                Word::Known(except) => except,
                Word::Other(_) => Except::Critical,
            };
            let (from, to) = (hours.from.parse().ok()?, hours.to.parse().ok()?);
            Some(QuietHours { from, to, except, digest: hours.digest })
        });
        let zone = user.and_then(|user| user.timezone.as_deref()).and_then(|zone| Zone::named(zone).ok());
        Self { hours, zone, paused_until: user.and_then(|user| user.paused_until) }
    }

    /// When a run leaves that may not when it is due. The server looks once more when the run is due: a silence or a change may come between.
    fn leaves(&self, DueRun { occurrence, reminder }: &DueRun<'_>, row: &Row) -> Option<Timestamp> {
        if let Some(until) = occurrence.until.filter(|until| row.is_next && *until > row.at) {
            return Some(until);
        }
        let awake = self.paused_until.filter(|until| *until > row.at);
        let is_exempt = |except: Except| match &reminder.priority {
            Word::Known(Priority::Critical) => true,
            Word::Known(Priority::High) => except == Except::High,
            _ => false,
        };
        let hours = self.hours.as_ref().filter(|hours| !is_exempt(hours.except));
        let zone = self.zone.clone().or_else(|| Zone::named(&reminder.timezone).ok());
        let quiet = hours.zip(zone).and_then(|(hours, zone)| quiet_until(hours, &zone, awake.unwrap_or(row.at)));
        quiet.or(awake)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pages::ahead::tests::reminder;

    const NOW: &str = "2026-11-18T08:00:00Z";

    fn run(fields: Value, due_at: &str) -> DueRun<'static> {
        let occurrence = json!({ "id": "run", "reminder_id": "1", "run_number": 1, "due_at": due_at, "state": "scheduled", "at": null,
            "attempts": [], "responses": [], "audit": [] });
        DueRun { occurrence: serde_json::from_value(occurrence).unwrap(), reminder: reminder(fields) }
    }

    fn said(runs: &[DueRun<'_>]) -> Vec<(String, usize, usize)> {
        let now: Timestamp = NOW.parse().unwrap();
        rows(runs, now, now + AHEAD).into_iter().map(|row| (row.at.to_string(), row.of, row.n_more)).collect()
    }

    #[test]
    fn the_week_has_every_run_of_a_reminder_that_is_due_daily() {
        let weekly = json!({ "schedule": { "type": "weekly", "time": "20:00", "days": ["wed", "sun"] } });
        let runs = [run(json!({}), "2026-11-18T09:00:00Z"), run(weekly, "2026-11-18T20:00:00Z")];
        let said = said(&runs);
        assert_eq!(said.len(), 7 + 2, "{said:?}");
        assert_eq!(said[1], ("2026-11-18T20:00:00Z".into(), 1, 0));
        assert_eq!(said[8], ("2026-11-24T09:00:00Z".into(), 0, 0));
    }

    #[test]
    fn a_reminder_that_is_due_very_often_has_one_row_which_says_how_many_follow() {
        let hours = json!({ "schedule": { "type": "interval", "every": "2h", "origin": "2026-11-18T00:00:00Z" } });
        assert_eq!(said(&[run(hours, "2026-11-18T10:00:00Z")]), [("2026-11-18T10:00:00Z".into(), 0, 82)]);
        let cron = json!({ "schedule": { "type": "cron", "expr": "*/5 * * * *" } });
        assert_eq!(said(&[run(cron, "2026-11-18T08:05:00Z")]), [("2026-11-18T08:05:00Z".into(), 0, 0)]);
    }

    #[test]
    fn the_next_run_has_its_row_however_far_it_is() {
        let once = json!({ "schedule": { "type": "once", "at": "2026-12-24T18:00:00Z" } });
        assert_eq!(said(&[run(once, "2026-12-24T18:00:00Z")]), [("2026-12-24T18:00:00Z".into(), 0, 0)]);
    }

    #[test]
    fn a_run_in_quiet_hours_says_when_it_leaves() {
        let user: wire::User = serde_json::from_value(json!({ "id": "me", "timezone": "Europe/Zagreb", "language": null, "addresses": [],
            "quiet_hours": { "from": "22:00", "to": "07:00", "except": "high", "digest": false }, "paused_until": null, "admin": false,
            "created_at": NOW, "updated_at": NOW }))
        .unwrap();
        let leaves = |fields: Value, due_at: &str, paused_until: Option<&str>| {
            let paused_until = paused_until.map(|until| until.parse().unwrap());
            let run = run(fields, due_at);
            let row = Row { at: due_at.parse().unwrap(), of: 0, is_next: true, n_more: 0, leaves: None };
            let peace = Peace::of(Some(&wire::User { paused_until, ..user.clone() }));
            peace.leaves(&run, &row).map(|at| at.to_string())
        };
        assert_eq!(leaves(json!({}), "2026-11-18T20:59:00Z", None), None);
        assert_eq!(leaves(json!({}), "2026-11-18T21:00:00Z", None).as_deref(), Some("2026-11-19T06:00:00Z"));
        assert_eq!(leaves(json!({ "priority": "high" }), "2026-11-18T21:00:00Z", None), None);
        let until = Some("2026-11-20T00:00:00Z");
        assert_eq!(leaves(json!({}), "2026-11-18T12:00:00Z", until).as_deref(), Some("2026-11-20T06:00:00Z"));
    }
}
