//! Runs whose node died while it sent them.

use punctual_core::occurrence::{State, Tries};
use punctual_core::reminder::{Address, OnUnknown};

use crate::common::{at, once};
use crate::{Given, check_all, cut_off, given, paused, quiet, web};

#[test]
fn what_was_cut_off() {
    let unknown = |on_unknown| move |given: &mut Given| given.reminder.on_unknown = on_unknown;
    let cut = || given(once()).run(cut_off(web("a"))).now(16);
    let call = || {
        given(once()).run(cut_off(Address::new("call", "+49"))).now(16).with(|given| {
            given.reminder.to = vec![Address::new("call", "+49")];
        })
    };
    check_all([
        (
            "resend: the next attempt begins, and the one that was cut off is written as unknown",
            cut().with(unknown(OnUnknown::Resend)),
            &["send run 1 to web:a at 15, lease 8 until 31, attempt 2", "taken: 1"],
            &[
                "run 1 due 0: processing, lease 8 until 31, to web:a since 16; attempts 2",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
            ],
        ),
        (
            "hold: the run fails, and with it the reminder is over",
            cut().with(unknown(OnUnknown::Hold)),
            &["ended: failed", "taken: 1"],
            &[
                "run 1 due 0: failed at 16 (held, because the send was cut off in flight and it may have arrived); attempts 1",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
                "entry: reminder.failed run 1 {error:held, because the send was cut off in flight and it may have arrived}",
            ],
        ),
        (
            "auto, where the channel knows repeats: it is sent again",
            cut().with(unknown(OnUnknown::Auto)),
            &["send run 1 to web:a at 15, lease 8 until 31, attempt 2", "taken: 1"],
            &[
                "run 1 due 0: processing, lease 8 until 31, to web:a since 16; attempts 2",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
            ],
        ),
        (
            "auto, where a repeat is worse than silence: it fails",
            call().with(unknown(OnUnknown::Auto)),
            &["ended: failed", "taken: 1"],
            &[
                "run 1 due 0: failed at 16 (held, because the send was cut off in flight and it may have arrived); attempts 1",
                "attempt 1 of run 1 to call:+49: unknown, 0 to 16 (cut off in flight)",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed",
                "entry: attempt.failed run 1 {channel:call,attempt:1,status:unknown,error:cut off in flight}",
                "entry: reminder.failed run 1 {error:held, because the send was cut off in flight and it may have arrived}",
            ],
        ),
        (
            "resend, where a repeat is worse than silence: it is sent again, because that was asked for",
            call().with(unknown(OnUnknown::Resend)),
            &["send run 1 to call:+49 at 15, lease 8 until 31, attempt 2, holds", "taken: 1"],
            &[
                "run 1 due 0: processing, lease 8 until 31, to call:+49 since 16; attempts 2",
                "attempt 1 of run 1 to call:+49: unknown, 0 to 16 (cut off in flight)",
                "entry: attempt.failed run 1 {channel:call,attempt:1,status:unknown,error:cut off in flight}",
            ],
        ),
        (
            "hold, before it was due: no send has begun, so it is sent, and not before it is due",
            cut().with(unknown(OnUnknown::Hold)).with(|given| {
                given.due[0].due_at = at(30);
                given.due[0].made_for = at(30);
            }),
            &["send run 1 to web:a at 30, lease 8 until 31, attempt 2", "taken: 1"],
            &[
                "run 1 due 30: processing, lease 8 until 31, to web:a since 16; attempts 2",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
            ],
        ),
        (
            "the platform has it: the same attempt goes on and asks what became of it, also for a person who is paused",
            cut().with(unknown(OnUnknown::Hold)).with(|given| {
                given.person = paused();
                if let State::Processing { sending, .. } = &mut given.due[0].state {
                    sending.message_id = Some("CA1".into());
                }
            }),
            &["send run 1 to web:a at 15, lease 8 until 31, attempt 1, asks after CA1", "taken: 1"],
            &["run 1 due 0: processing, lease 8 until 31, to web:a since 16, id CA1; attempts 1"],
        ),
        (
            "other addresses since: what the old ones refused is forgotten",
            cut().with(|given| {
                given.addresses = Ok(vec![web("b")]);
                given.due[0].tries = Tries { attempts: 1, position: 1, refused: 0b11, ..Tries::default() };
                if let State::Processing { sending, .. } = &mut given.due[0].state {
                    sending.readdressed = true;
                }
            }),
            &["send run 1 to web:a at 15, lease 8 until 31, attempt 2", "taken: 1"],
            &[
                "run 1 due 0: processing, lease 8 until 31, to web:a since 16; attempts 2",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
            ],
        ),
        (
            "in quiet hours: it waits for their end, and the attempt is written",
            cut().with(|given| given.person = quiet()),
            &["ended: waiting", "next run of alice at 3600", "taken: 1"],
            &[
                "run 1 due 0: retry at 3600 (cut off in flight), waits: quiet; attempts 1",
                "attempt 1 of run 1 to web:a: unknown, 0 to 16 (cut off in flight)",
                "reminder active: carried by none, last run 1, 1 planned",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:unknown,error:cut off in flight}",
                "entry: reminder.waiting run 1 {why:quiet,until:2027-01-15T09:00:00Z,from:2027-01-15T08:00:00Z}",
                "look at 3600",
            ],
        ),
    ]);
}
