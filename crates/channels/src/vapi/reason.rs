//! What the reason for a call's end means.
//!
//! Vapi has some six hundred reasons. Most of them are one of a provider's errors, and are told by how they begin; what a person
//! did is told by its whole name.

/// The person's part in a call, as its end reason tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// They picked up, and the reminder was said.
    Heard,
    /// Somebody or something picked up; a person, if they said a word.
    HeardIfTalked,
    /// They did not, or nothing could be said. Worth another try.
    NotHeard,
    /// Another try would end the same, or is not wanted.
    Never,
}

/// The meaning of `reason`; `None` for one that is new to us.
pub(super) fn ended(reason: &str) -> Option<Ended> {
    let by_name = match reason {
        // The conversation came to its end, by whichever side.
        "assistant-ended-call"
        | "assistant-said-end-call-phrase"
        | "assistant-ended-call-with-hangup-task"
        | "assistant-ended-call-after-message-spoken"
        | "assistant-forwarded-call"
        | "customer-ended-call"
        | "customer-ended-call-before-warm-transfer"
        | "customer-ended-call-after-warm-transfer-attempt"
        | "customer-ended-call-during-transfer"
        | "call.in-progress.twilio-completed-call"
        | "call.in-progress.sip-completed-call"
        | "vonage-completed"
        // A transfer comes after the first words, so they were heard, whatever became of the transfer.
        | "call.forwarding.operator-busy"
        | "call.forwarding.no-answer"
        | "call.in-progress.error-transfer-failed"
        | "call.in-progress.error-warm-transfer-max-duration"
        | "call.in-progress.error-warm-transfer-assistant-cancelled"
        | "call.in-progress.error-warm-transfer-silence-timeout"
        | "call.in-progress.error-warm-transfer-microphone-timeout" => Ended::Heard,

        // A mailbox picks up and is silent, too, and hold music lasts for ever.
        "silence-timed-out"
        | "exceeded-max-duration"
        | "call.in-progress.error-assistant-did-not-receive-customer-audio"
        | "call.ending.hook-executed-say"
        | "call.ending.hook-executed-transfer"
        | "phone-call-provider-closed-websocket"
        | "vonage-disconnected"
        | "worker-shutdown" => Ended::HeardIfTalked,

        "customer-busy"
        | "customer-did-not-answer"
        | "customer-did-not-give-microphone-permission"
        | "voicemail"
        | "twilio-failed-to-connect-call"
        | "vonage-failed-to-connect-call"
        | "vonage-rejected"
        | "phone-call-provider-bypass-enabled-but-no-call-received"
        | "call-start-error-neither-assistant-nor-server-set"
        | "assistant-not-found"
        | "assistant-not-valid"
        | "assistant-join-timed-out" => Ended::NotHeard,

        // The number is none, or not one that this account may call.
        "twilio-reported-customer-misdialed"
        | "call.start.error-get-customer"
        | "call.start.error-vapi-number-international"
        // Somebody stopped this call on purpose: ringing again would undo that.
        | "manually-canceled"
        | "call-deleted"
        | "scheduled-call-deleted" => Ended::Never,

        _ => return by_beginning(reason),
    };
    Some(by_name)
}

/// Whole families: faults of Vapi, of the telephone network, of the models and voices, and of the account.
fn by_beginning(reason: &str) -> Option<Ended> {
    // These come in the middle of a call, too, when all was said already.
    const DURING_CALLS: [&str; 2] = ["pipeline-error-", "call.in-progress.error-"];
    const BEFORE_CALLS: [&str; 4] = [
        "call.start.",
        // These are about calls that come in.
        "call.ringing.",
        "assistant-request-",
        "phone-call-provider-",
    ];
    let is_of = |family: &[&str]| family.iter().any(|beginning| reason.starts_with(beginning));
    if is_of(&DURING_CALLS) {
        return Some(Ended::HeardIfTalked);
    }
    is_of(&BEFORE_CALLS).then_some(Ended::NotHeard)
}
