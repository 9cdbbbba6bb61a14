//! Which run an answer in words is about, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::{asked, at, occurrence, once, reminder};
use punctual_core::answer::Verb;
use punctual_core::change::Change;
use punctual_core::decide::inbound::{Scene, Verdict, verdict};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Attempt, AttemptStatus, Occurrence, State, Tries};
use punctual_core::phrase::Answer;
use punctual_core::reminder::{AckPolicy, Reminder, ReminderStatus};
use punctual_core::rules::say::Line;
use punctual_core::store::{Question, Response, Said, Trail};

/// Now: ten minutes after the first runs were said.
const NOW: i64 = 600;

/// A run that was said at second `said` on `channel` to `address`, as message `m<number>`.
fn question(number: u8, said: i64, channel: &str, address: &str, state: State) -> Question {
    let reminder =
        Reminder { id: ReminderId::new(at(0), [number; 10]), ack: Some(AckPolicy::default()), ..reminder(once()) };
    let attempt = Attempt {
        number: 1,
        channel: channel.into(),
        address: address.into(),
        status: AttemptStatus::Sent,
        started_at: at(said),
        ended_at: Some(at(said)),
        error: None,
        message_id: Some(format!("{address}/m{number}")),
        key: None,
    };
    let tries = Tries { reached: 1, asks: 1, attempts: 1, ..Tries::default() };
    let occurrence = Occurrence { state, tries, ..occurrence(&reminder, 1, at(said)) };
    Question { reminder, trail: Trail::new(occurrence, vec![attempt], Vec::new()), user: None }
}

/// One that waits for an answer.
fn waiting(number: u8, said: i64) -> Question {
    question(number, said, "chat", "11", asked(at(said), at(said + 600)))
}

fn ended(number: u8, state: State) -> Question {
    question(number, 0, "chat", "11", state)
}

fn with(mut question: Question, change: impl FnOnce(&mut Question)) -> Question {
    change(&mut question);
    question
}

fn run(number: u8) -> OccurrenceId {
    OccurrenceId { reminder: ReminderId::new(at(0), [number; 10]), run: 1 }
}

/// The verdict in words, such as `ack 1`, where `1` is the number of the run.
fn said(verdict: Verdict) -> String {
    let number = |id: OccurrenceId| (0..=9).find(|n| run(*n) == id).unwrap();
    match verdict {
        Verdict::NotMine => "not mine".into(),
        Verdict::LookFurther => "look further".into(),
        Verdict::Which { runs } => {
            let runs: Vec<String> = runs.into_iter().map(|id| number(id).to_string()).collect();
            format!("which of {}", runs.join(" "))
        }
        Verdict::Say { about, line } => format!("{line:?} about {}", number(about)),
        Verdict::Answer { run, answer: Change::AnswerRun { run: 1, answer }, line } => match *answer {
            Change::Ack => format!("ack {}, {line:?}", number(run)),
            Change::Dismiss => format!("dismiss {}, {line:?}", number(run)),
            Change::Snooze { until } => {
                format!("snooze {} until {}", number(run), until.as_second() - at(0).as_second())
            }
            other => panic!("{other:?} is no answer"),
        },
        Verdict::Answer { answer, .. } => panic!("{answer:?} answers no run"),
    }
}

const HERE: &[String] = &[];

fn here() -> Scene<'static> {
    Scene { channel: Some("chat"), addresses: HERE, ..Scene::default() }
}

const LATER: Answer = Answer::Snooze { until: None };

#[test]
fn the_run_that_is_meant() {
    let addresses = ["11".to_owned()];
    let there = Scene { addresses: &addresses, ..here() };
    let elsewhere = |number, said| question(number, said, "mail", "a@b", asked(at(said), at(said + 600)));
    let other_chat = |number, said| question(number, said, "chat", "22", asked(at(said), at(said + 600)));
    let reply = |to: &'static str| Scene { reply_to: Some(to), ..there.clone() };
    let about = |number| Scene { about: Some(run(number)), ..there.clone() };
    let shared = Scene { is_shared: true, ..there.clone() };
    let written = |second| Scene { at: Some(at(second)), ..here() };
    for (name, scene, asked, expect) in [
        ("the only one", here(), vec![waiting(1, 0)], "ack 1, Done"),
        ("the one said last, well after the other", here(), vec![waiting(2, 400), waiting(1, 0)], "ack 2, Done"),
        ("two said close together", here(), vec![waiting(2, 300), waiting(1, 0)], "which of 2 1"),
        (
            "of three the last is well after the first alone",
            here(),
            vec![waiting(3, 590), waiting(2, 400), waiting(1, 0)],
            "which of 3 2 1",
        ),
        ("the one on this channel", here(), vec![elsewhere(2, 500), waiting(1, 0)], "ack 1, Done"),
        ("none on this channel: any", here(), vec![elsewhere(2, 500)], "ack 2, Done"),
        ("the one in this chat", there.clone(), vec![other_chat(2, 500), waiting(1, 0)], "ack 1, Done"),
        (
            "in a chat that is shared, none that was said elsewhere",
            shared.clone(),
            vec![other_chat(2, 500)],
            "look further",
        ),
        (
            "in a chat that is shared, the one said there",
            shared,
            vec![other_chat(2, 500), waiting(1, 0)],
            "ack 1, Done",
        ),
        ("no channel is known", Scene::default(), vec![waiting(1, 0)], "ack 1, Done"),
        ("a reply, with the whole receipt", reply("11/m1"), vec![waiting(2, 590), waiting(1, 0)], "ack 1, Done"),
        ("a reply, with the message's own number", reply("m1"), vec![waiting(2, 590), waiting(1, 0)], "ack 1, Done"),
        ("a reply to something else", reply("m7"), vec![waiting(1, 0)], "look further"),
        ("a reply whose buttons name the run", about(1), vec![waiting(2, 590), waiting(1, 0)], "ack 1, Done"),
        ("nothing waits", here(), vec![], "look further"),
        ("written before the other was said", written(100), vec![waiting(2, 400), waiting(1, 0)], "ack 1, Done"),
        ("written before it was said", written(-60), vec![waiting(1, 0)], "look further"),
        ("written before it was said elsewhere", written(100), vec![elsewhere(1, 400)], "look further"),
        ("written when it was said, by another clock", written(-3), vec![waiting(1, 0)], "ack 1, Done"),
    ] {
        assert_eq!(said(verdict(&scene, Answer::Ack, &asked, false, at(NOW))), expect, "{name}");
    }
}

#[test]
fn what_becomes_of_an_answer_to_a_run_that_waits() {
    let snoozed = question(1, 0, "chat", "11", State::Snoozed);
    let strict = with(waiting(1, 0), |question| question.reminder.snooze_allowed = false);
    let until = |second| Answer::Snooze { until: Some(at(second)) };
    for (name, question, answer, expect) in [
        ("done", waiting(1, 0), Answer::Ack, "ack 1, Done"),
        ("not needed", waiting(1, 0), Answer::Dismiss, "dismiss 1, Dismissed"),
        ("later: ten minutes", waiting(1, 0), LATER, "snooze 1 until 1200"),
        ("until then", waiting(1, 0), until(900), "snooze 1 until 900"),
        ("until a time that is over", waiting(1, 0), until(500), "BadTime about 1"),
        ("for two years", waiting(1, 0), until(2 * 366 * 86_400), "BadTime about 1"),
        (
            "it must not be put off",
            strict.clone(),
            LATER,
            "CannotSnooze { again_at: Some(2027-01-15T08:10:00Z) } about 1",
        ),
        ("what must not be put off can be done", strict, Answer::Ack, "ack 1, Done"),
        ("what was put off is done sooner", snoozed.clone(), Answer::Ack, "ack 1, Done"),
        ("what was put off is put off again", snoozed, LATER, "snooze 1 until 1200"),
    ] {
        assert_eq!(said(verdict(&here(), answer, &[question], false, at(NOW))), expect, "{name}");
    }
}

#[test]
fn what_is_said_of_a_run_that_has_ended() {
    let minutes = |n: i64| at(NOW - n * 60);
    let completed = |n| ended(1, State::Completed { at: minutes(n) });
    let by_bob = with(completed(5), |question| {
        question.trail.responses.push(Response {
            occurrence: run(1),
            verb: Verb::Ack,
            at: minutes(5),
            actor: "api".into(),
            until: None,
            snooze_minutes: None,
            user: Some("bob".into()),
            said: Said::default(),
        });
    });
    let cancelled = with(ended(1, State::Dismissed { at: minutes(5) }), |question| {
        question.reminder.status = ReminderStatus::Cancelled;
    });
    let unanswered = |n| ended(1, State::Unanswered { at: minutes(n) });
    let delivered = |n| with(ended(1, State::Delivered { at: minutes(n) }), |question| question.reminder.ack = None);
    let reply = Scene { reply_to: Some("11/m1"), ..here() };
    let day = 24 * 60;
    for (name, scene, question, answer, expect) in [
        ("done twice", here(), completed(5), Answer::Ack, "WasDone { at: 2027-01-15T08:05:00Z, by: None } about 1"),
        (
            "done by another",
            here(),
            by_bob,
            Answer::Ack,
            "WasDone { at: 2027-01-15T08:05:00Z, by: Some(\"bob\") } about 1",
        ),
        ("done long ago", here(), completed(11), Answer::Ack, "not mine"),
        (
            "done long ago, and replied to",
            reply.clone(),
            completed(11),
            LATER,
            "WasDone { at: 2027-01-15T07:59:00Z, by: None } about 1",
        ),
        (
            "not needed before",
            here(),
            ended(1, State::Dismissed { at: minutes(1) }),
            Answer::Ack,
            "WasNotNeeded about 1",
        ),
        ("cancelled before", here(), cancelled, Answer::Ack, "WasCancelled about 1"),
        ("done late", here(), unanswered(60), Answer::Ack, "ack 1, DoneLate"),
        ("not needed, late", here(), unanswered(60), Answer::Dismiss, "dismiss 1, Dismissed"),
        ("done after more than a day", here(), unanswered(day + 1), Answer::Ack, "not mine"),
        ("put off when nobody answered", here(), unanswered(60), LATER, "IsOver about 1"),
        ("put off what asked nothing", here(), delivered(60), LATER, "snooze 1 until 1200"),
        ("done, of what asked nothing", here(), delivered(1), Answer::Ack, "not mine"),
        ("failed", reply, ended(1, State::Failed { at: minutes(1), error: String::new() }), Answer::Ack, "not mine"),
    ] {
        assert_eq!(said(verdict(&scene, answer, &[question], true, at(NOW))), expect, "{name}");
    }
    assert!(matches!(verdict(&here(), Answer::Ack, &[], true, at(NOW)), Verdict::NotMine));
    let line = verdict(&here(), LATER, &[waiting(1, 0)], false, at(NOW));
    assert!(matches!(line, Verdict::Answer { line: Line::Snoozed { until }, .. } if until == at(1200)));
}
