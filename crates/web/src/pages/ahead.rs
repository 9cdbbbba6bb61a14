//! The runs that a reminder's schedule plans from the next one on. The store has the next run alone: those after it follow from the schedule, the
//! number of runs and the zone, which the API gives with every reminder.

use std::time::Duration;

use jiff::Timestamp;
use punctual_client::wire::Reminder;
use punctual_time::schedule::{Anchor, Rule, Schedule};
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;

/// A last run further after the next one is not looked for: no page shows it.
const LAST_WITHIN: Duration = Duration::from_hours(40 * 24);

/// The runs of a reminder that are still to come.
pub(super) struct Ahead<'a> {
    next: Option<Timestamp>,
    /// Its schedule and zone, where anything follows the next run by the clock.
    plan: Option<(Schedule, Zone)>,
    /// The last run, where their number is limited.
    last: Option<Timestamp>,
    /// The time from an answer to the next run, where answers are what counts.
    after_answer: Option<Duration>,
    /// Those that the whole page may take.
    steps: &'a Steps,
}

/// The runs in a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Runs {
    /// The first of them, in order.
    pub(super) at: Vec<Timestamp>,
    /// How many there are, listed or not.
    pub(super) n: usize,
    /// Whether there are more than `n`.
    pub(super) has_more: bool,
}

impl<'a> Ahead<'a> {
    /// Of a reminder whose run with this number is due at `next`. That may be off its schedule: it was put off, or asked for.
    pub(super) fn of(reminder: &Reminder<'_>, next: Option<Timestamp>, run_number: u32, steps: &'a Steps) -> Self {
        let schedule = Schedule::from_stored(&reminder.schedule.0.to_string()).ok();
        let plan = schedule.zip(Zone::named(&reminder.timezone).ok()).filter(|_| next.is_some());
        let after_answer = plan.as_ref().and_then(|(schedule, _)| match schedule.rule {
            Rule::Interval { every, anchor: Anchor::Ack, .. } => Some(every),
            _ => None,
        });
        let plan = plan.filter(|(schedule, _)| schedule.is_recurring() && after_answer.is_none());
        let last = plan.as_ref().zip(next).and_then(|((schedule, zone), next)| {
            last_of(schedule, zone, next, schedule.count?.saturating_sub(run_number), steps)
        });
        Self { next, plan, last, after_answer, steps }
    }

    /// The time from an answer to the next run, if the schedule counts from answers.
    pub(super) fn after_answer(&self) -> Option<Duration> {
        self.after_answer
    }

    /// Whether the calendar was too long to look through: then some runs are not known.
    pub(super) fn is_cut(&self) -> bool {
        self.steps.are_spent()
    }

    /// The runs from `from` on and before `until`, `max` of them by name. More are counted where that costs nothing.
    pub(super) fn between(&self, from: Timestamp, until: Timestamp, max: usize) -> Runs {
        let mut runs = Runs::default();
        let Some(next) = self.next else { return runs };
        if (from..until).contains(&next) {
            runs.at.push(next);
            runs.n = 1;
        }
        let Some((schedule, zone)) = &self.plan else { return runs };
        let is_over = |at: &Timestamp| *at >= until || self.last.is_some_and(|last| *at > last);
        let mut after = from.checked_sub(Duration::from_nanos(1)).unwrap_or(from).max(next);
        while let Some(at) = schedule.next_within(zone, after, self.steps).filter(|at| !is_over(at)) {
            if runs.n >= max {
                match schedule.rule {
                    // An interval is counted, not walked.
                    Rule::Interval { .. } if schedule.except.is_empty() => {
                        let end = until.checked_sub(Duration::from_nanos(1)).unwrap_or(until);
                        let end = self.last.map_or(end, |last| last.min(end));
                        runs.n += schedule.latest_between(zone, after, end, 0).total;
                    }
                    _ => runs.has_more = true,
                }
                break;
            }
            runs.at.push(at);
            runs.n += 1;
            after = at;
        }
        runs.has_more |= self.is_cut();
        runs
    }
}

/// The last run, of which so many follow `next`; `None` if that is further away than any page shows.
fn last_of(schedule: &Schedule, zone: &Zone, next: Timestamp, n: u32, steps: &Steps) -> Option<Timestamp> {
    if matches!(schedule.rule, Rule::Interval { .. }) && schedule.except.is_empty() {
        // An interval is reckoned, not walked.
        return Some(schedule.nth_after(zone, next, n));
    }
    let end = next.checked_add(LAST_WITHIN).ok()?;
    let mut last = next;
    for _ in 0..n {
        match schedule.next_within(zone, last, steps) {
            Some(at) if at > end => return None,
            Some(at) => last = at,
            None => break,
        }
    }
    Some(last)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A reminder as the API says it, with these fields in the place of others.
    pub(crate) fn reminder(fields: Value) -> Reminder<'static> {
        let mut all = json!({ "id": "1", "user": "me", "name": null, "message": "tea", "schedule": { "type": "daily", "time": "09:00" },
            "timezone": "UTC", "priority": "normal", "to": [], "only": false, "require_ack": false, "snooze_allowed": true, "max_retries": 3,
            "misfire": { "policy": "latest", "within": "24h" }, "on_unknown": "hold", "created_via": "api", "original_text": null, "metadata": {},
            "status": "active", "next_run_at": "2026-11-18T09:00:00Z", "snoozed_until": null, "summary": "every day at 09:00, UTC",
            "last_run_at": null, "last_status": null, "total_runs": 0, "consecutive_errors": 0, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z" });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_str(&all.to_string()).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// How many runs there are in the week from 18 November 2026, the last that is named, and whether there are more.
    fn week(schedule: Value, next: &str, run_number: u32, max: usize) -> (usize, Option<String>, bool) {
        let reminder = reminder(json!({ "schedule": schedule }));
        let steps = Steps::of_request(1);
        let ahead = Ahead::of(&reminder, Some(at(next)), run_number, &steps);
        let runs = ahead.between(at("2026-11-18T00:00:00Z"), at("2026-11-25T00:00:00Z"), max);
        assert!(runs.at.is_sorted() && runs.at.len() <= runs.n, "{runs:?}");
        (runs.n, runs.at.last().map(ToString::to_string), runs.has_more)
    }

    #[test]
    fn runs_ahead_follow_the_schedule_from_the_next_one_on() {
        let daily = json!({ "type": "daily", "time": "09:00" });
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(week(daily.clone(), "2026-11-18T09:00:00Z", 1, 20), (7, said("2026-11-24T09:00:00Z"), false));
        assert_eq!(week(daily.clone(), "2026-11-23T09:00:00Z", 1, 20), (2, said("2026-11-24T09:00:00Z"), false));
        // The next one was put off: it is due then, and the others as ever.
        assert_eq!(week(daily.clone(), "2026-11-18T11:30:00Z", 1, 20), (7, said("2026-11-24T09:00:00Z"), false));
        assert_eq!(week(daily, "2026-11-18T09:00:00Z", 1, 3), (3, said("2026-11-20T09:00:00Z"), true));
        let once = json!({ "type": "once", "at": "2026-11-20T09:00:00Z" });
        assert_eq!(week(once, "2026-11-20T09:00:00Z", 1, 20), (1, said("2026-11-20T09:00:00Z"), false));
    }

    #[test]
    fn an_interval_is_counted_beyond_what_is_named() {
        let minutes = json!({ "type": "interval", "every": "1m", "origin": "2026-11-01T00:00:00Z" });
        assert_eq!(week(minutes, "2026-11-18T00:00:00Z", 1, 3), (7 * 1440, Some("2026-11-18T00:02:00Z".into()), false));
    }

    #[test]
    fn a_number_of_runs_ends_them() {
        let three = json!({ "type": "daily", "time": "09:00", "count": 5 });
        let last = Some("2026-11-20T09:00:00Z".to_owned());
        assert_eq!(week(three.clone(), "2026-11-18T09:00:00Z", 3, 20), (3, last, false));
        assert_eq!(week(three, "2026-11-18T09:00:00Z", 5, 20), (1, Some("2026-11-18T09:00:00Z".into()), false));
        // A last run that is years away changes nothing in this week.
        let many = json!({ "type": "daily", "time": "09:00", "count": 5000 });
        assert_eq!(week(many, "2026-11-18T09:00:00Z", 3, 20), (7, Some("2026-11-24T09:00:00Z".into()), false));
    }

    #[test]
    fn all_schedules_of_a_page_share_its_steps() {
        let daily = reminder(json!({}));
        let steps = Steps::new(5);
        let n_found = |_| {
            let ahead = Ahead::of(&daily, Some(at("2026-11-18T09:00:00Z")), 1, &steps);
            ahead.between(at("2026-11-18T00:00:00Z"), at("2026-11-25T00:00:00Z"), 20).n
        };
        // The next run is known without a look at the calendar.
        assert_eq!((0..3).map(n_found).last(), Some(1));
        assert!(steps.are_spent());
    }

    #[test]
    fn nobody_knows_the_runs_that_count_from_answers() {
        let answers = json!({ "type": "interval", "every": "8h", "anchor": "ack", "origin": "2026-11-01T00:00:00Z" });
        let reminder = reminder(json!({ "schedule": answers, "require_ack": true }));
        let steps = Steps::of_request(1);
        let ahead = Ahead::of(&reminder, Some(at("2026-11-18T09:00:00Z")), 1, &steps);
        assert_eq!(ahead.after_answer(), Some(Duration::from_secs(8 * 3600)));
        let runs = ahead.between(at("2026-11-18T00:00:00Z"), at("2026-11-25T00:00:00Z"), 20);
        assert_eq!(runs.at, [at("2026-11-18T09:00:00Z")]);
    }
}
