//! What waits for an answer stands out, and is answered in place.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_client::known::AttemptStatus;
use punctual_client::wire::{Occurrence, Reminder, Word};

use crate::parts;
use crate::texts::today as t;
use crate::viewer::{Scope, Viewer};

pub(in crate::pages) fn ask(v: &Viewer, run: &Occurrence, reminder: &Reminder<'_>) -> Markup {
    let m = &v.m;
    let sent: Vec<_> =
        run.attempts.iter().filter(|attempt| matches!(attempt.status, Word::Known(AttemptStatus::Sent))).collect();
    // What is said, and the instant in it.
    let mut why: Vec<(String, Option<Timestamp>)> = Vec::new();
    if let Some(last) = sent.last() {
        let said = m.say(t::SENT_ON, &[("time", &m.instant(last.started_at)), ("channel", &last.channel)]);
        why.push((said, Some(last.started_at)));
    }
    if sent.len() > 1 {
        why.push((m.say(t::ASKED_TIMES, &[("n", &m.number(sent.len() as u64))]), None));
    }
    why.extend(run.ask_again_at.map(|at| (m.say(t::ASKED_NEXT, &[("time", &m.instant(at))]), Some(at))));
    // Each step of the plan that has not come yet, as the run has it: those of the reminder may be others by now.
    for step in run.escalation.iter().flat_map(|escalation| &escalation.next) {
        why.push((m.say(t::THEN_TOLD, &[("who", &step.to), ("time", &m.instant(step.at))]), Some(step.at)));
    }
    let question = reminder.ack_prompt.as_deref().unwrap_or(&reminder.message);
    let to = |verb: &str| format!("/reminders/{}/{verb}", reminder.id);
    let snooze = |field: &str, value: &str, label: &str| {
        parts::form(
            v,
            &to("snooze"),
            html! {
                (hidden(v, run.run_number))
                input type="hidden" name=(field) value=(value);
                button type="submit" { (label) }
            },
        )
    };
    html! {
        section.ask aria-label=(m.t(t::WAITING)) data-id=(run.id) {
            h2.q { a.what href=(v.href(to("").trim_end_matches('/'))) { (question) } }
            @if !why.is_empty() {
                p.why {
                    @for (index, (said, at)) in why.iter().enumerate() {
                        @if index > 0 { " · " }
                        (said) @if let Some(at) = at { (parts::there(m, *at, &reminder.timezone)) }
                    }
                }
            }
            @if v.may(Scope::Write) {
                div.buttons {
                    (parts::form(v, &to("ack"), html! { (hidden(v, run.run_number)) button.main type="submit" { (m.t(t::DONE)) } }))
                    @if reminder.snooze_allowed {
                        (snooze("minutes", "15", &m.t(t::SNOOZE_15)))
                        (snooze("minutes", "60", &m.t(t::SNOOZE_60)))
                        (snooze("until", "tomorrow at 8", &m.t(t::TOMORROW_8)))
                    }
                    (parts::form(v, &to("dismiss"), html! { (hidden(v, run.run_number)) button.quiet type="submit" { (m.t(t::NOT_NEEDED)) } }))
                }
                @if reminder.snooze_allowed {
                    details id=(format!("until-{}", run.id)) {
                        summary { (m.t(t::UNTIL)) }
                        (parts::form(v, &to("snooze"), html! {
                            (hidden(v, run.run_number))
                            input name="until" required autocomplete="off" placeholder=(m.t(t::UNTIL_EXAMPLE)) aria-label=(m.t(t::UNTIL));
                            button type="submit" { (m.t(t::SNOOZE)) }
                        }))
                    }
                }
            }
        }
    }
}

fn hidden(v: &Viewer, run: u32) -> Markup {
    html! {
        input type="hidden" name="back" value=(v.here);
        input type="hidden" name="run" value=(run);
    }
}
