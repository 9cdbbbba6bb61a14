//! What a server's replies mean.
//!
//! | Reply | Meaning |
//! | --- | --- |
//! | 5xx to the recipient or the mail, with 5.1.1, 5.1.6, 5.1.10 or 5.2.1 | gone: there is no such mailbox |
//! | other 5xx to the recipient or the mail | refused |
//! | 5xx before that: greeting, login, sender | unavailable: the settings are to be mended, this mail is not to blame |
//! | 552, 5.3.4 or 5.2.3 to the sender | refused: the mail is too big |
//! | 4xx that speaks of a rate, or 4.5.3 | throttled; 4.2.1 holds back this address alone |
//! | other 4xx to the recipient | this address waits a minute: greylisting wants exactly that, and says nothing about the server |
//! | other 4xx; 421, 452 and 4.3.x to the recipient: the server's own state | unavailable |

use std::error::Error as _;
use std::time::Duration;

use lettre::transport::smtp::Error;
use punctual_core::channel::{SendError, Whom};

use crate::common::quote::told;
use crate::common::token::Token;

/// How long to leave a server alone that says it is too much: they do not say how long.
const WAIT: Duration = Duration::from_secs(60);

/// How far a mail had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Connecting, and everything up to being let in.
    Connect,
    /// Saying who it comes from.
    Sender,
    /// Saying who it is for.
    Recipient,
    /// Asking to begin with the mail.
    Begin,
    /// The mail itself.
    Mail,
}

impl Step {
    fn words(self) -> &'static str {
        match self {
            Self::Connect => "to the connection",
            Self::Sender => "to the sender",
            Self::Recipient => "to the recipient",
            Self::Begin | Self::Mail => "to the mail",
        }
    }
}

/// Names what went wrong at `step`. `receiver` is the server; one that repeats the `secrets` must not make us repeat them.
pub(super) fn name(error: &Error, step: Step, receiver: &str, secrets: &[&Token]) -> SendError {
    let quote = |text: &str| told(text, secrets);
    let why = error.source().map(ToString::to_string).unwrap_or_default();
    let Some(code) = error.status().map(u16::from) else {
        return match step {
            Step::Mail => SendError::Unknown(format!(
                "the connection to {receiver} broke before it had taken the mail ({}); it may have arrived",
                quote(&root(error))
            )),
            Step::Connect if error.is_client() => SendError::Unavailable(format!("{receiver}: {}", quote(&why))),
            Step::Connect => SendError::Unavailable(format!("no connection to {receiver}: {}", quote(&root(error)))),
            _ => SendError::Unavailable(format!("the connection to {receiver} broke: {}", quote(&root(error)))),
        };
    };
    class(code, &why, step, format!("{receiver} answered {} {code} {}", step.words(), quote(&why)))
}

/// The meaning of a reply; `said` is its text in errors.
fn class(code: u16, text: &str, step: Step, said: String) -> SendError {
    let enhanced = enhanced(text);
    let mailbox = matches!(step, Step::Recipient | Step::Begin | Step::Mail);
    match (code, enhanced) {
        (400..=499, Some((4, 5, 3))) => SendError::Throttled { wait: WAIT, whom: Whom::Receiver },
        (400..=499, _) if is_rate(text) => {
            let whom = if enhanced == Some((4, 2, 1)) { Whom::Address } else { Whom::Receiver };
            SendError::Throttled { wait: WAIT, whom }
        }
        // The server's own state, which concerns every mail.
        (421, _) | (452, None) | (400..=499, Some((4, 3, _))) => SendError::Unavailable(said),
        (400..=499, _) if step == Step::Recipient => SendError::Throttled { wait: WAIT, whom: Whom::Address },
        (500..=599, Some((5, 1, 1 | 6 | 10) | (5, 2, 1))) if mailbox => SendError::Gone(said),
        (500..=599, _) if mailbox => SendError::Refused(said),
        (552, _) | (500..=599, Some((5, 3, 4) | (5, 2, 3))) if step == Step::Sender => SendError::Refused(said),
        _ => SendError::Unavailable(said),
    }
}

/// The code of RFC 3463 that a reply begins with, such as `5.1.1`.
fn enhanced(text: &str) -> Option<(u16, u16, u16)> {
    let mut parts = text.split_whitespace().next()?.splitn(3, '.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// Whether a reply says that it is too much, and not merely "not now": greylisting and full disks are 4xx, too.
fn is_rate(text: &str) -> bool {
    let text = text.to_lowercase();
    ["rate", "too many", "throttl", "too fast", "too much mail", "slow down", "limit exceeded", "sending limit"]
        .iter()
        .any(|word| text.match_indices(word).any(|(at, _)| *word != "rate" || is_word(&text, at, word.len())))
}

/// Whether the text at this place is a word of its own: "rate", and not "generated".
fn is_word(text: &str, at: usize, len: usize) -> bool {
    let letter = |character: Option<char>| character.is_some_and(char::is_alphabetic);
    !letter(text[..at].chars().next_back()) && !letter(text[at + len..].chars().next())
}

/// The innermost cause.
fn root(error: &Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| (*error).source()).last().unwrap_or(first).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(step: Step, reply: &str, expect: &str) {
        let (code, text) = reply.split_once(' ').unwrap();
        let named = class(code.parse().unwrap(), text, step, reply.to_owned());
        let class = match named {
            SendError::Throttled { wait, whom: Whom::Receiver } if wait == WAIT => "throttled",
            SendError::Throttled { whom: Whom::Address, .. } => "address throttled",
            SendError::Unavailable(_) => "unavailable",
            SendError::Refused(_) => "refused",
            SendError::Gone(_) => "gone",
            _ => "other",
        };
        assert_eq!(class, expect, "{reply}");
    }

    #[test]
    fn real_replies_are_classified() {
        // As Postfix, Exim, Gmail, Outlook, Yahoo and Amazon word them.
        for (step, reply, expect) in [
            (Step::Recipient, "550 5.1.1 <x@y>: Recipient address rejected: User unknown in local table", "gone"),
            (Step::Recipient, "550 5.1.1 The email account that you tried to reach does not exist.", "gone"),
            (Step::Recipient, "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found", "gone"),
            (Step::Recipient, "551 5.1.6 User has moved; please try <z@y>", "gone"),
            (Step::Recipient, "550 5.2.1 The email account that you tried to reach is disabled.", "gone"),
            (Step::Mail, "554 5.1.1 delivery error: no such mailbox", "gone"),
            (Step::Recipient, "550 No such user here", "refused"),
            (Step::Recipient, "553 sorry, that domain isn't in my list of allowed rcpthosts", "refused"),
            (Step::Recipient, "554 5.7.1 <x@y>: Relay access denied", "refused"),
            (Step::Recipient, "552 5.2.2 mailbox full", "refused"),
            (Step::Mail, "550 5.7.1 Our system has detected that this message is likely unsolicited mail", "refused"),
            (Step::Mail, "554 5.6.0 message content rejected", "refused"),
            (Step::Sender, "552 5.3.4 Message size exceeds fixed limit", "refused"),
            (Step::Sender, "550 5.7.1 Sender not allowed", "unavailable"),
            (Step::Sender, "530 5.7.0 Authentication Required", "unavailable"),
            (Step::Connect, "535 5.7.8 Username and Password not accepted", "unavailable"),
            (Step::Connect, "554 5.7.1 Your IP is on a list", "unavailable"),
            (Step::Connect, "454 4.7.0 Temporary authentication failure", "unavailable"),
            (Step::Connect, "421 4.3.2 Service not available, closing transmission channel", "unavailable"),
            (Step::Recipient, "450 4.2.0 <x@y>: Recipient address rejected: Greylisted", "address throttled"),
            (Step::Recipient, "450 4.7.1 <x@y>: Greylisted, generated by postgrey", "address throttled"),
            (Step::Recipient, "451 Temporary local problem, greylisted; please try later", "address throttled"),
            (Step::Recipient, "452 4.2.2 mailbox full", "address throttled"),
            (Step::Recipient, "451 4.3.0 Temporary lookup failure", "unavailable"),
            (Step::Recipient, "452 insufficient system storage", "unavailable"),
            (Step::Recipient, "421 4.7.0 closing", "unavailable"),
            (Step::Sender, "450 4.7.1 not now", "unavailable"),
            (Step::Mail, "452 4.3.1 Insufficient system storage", "unavailable"),
            (Step::Mail, "451 Requested action aborted: local error in processing", "unavailable"),
            (Step::Mail, "421 4.7.0 Our system has detected an unusual rate of unsolicited mail", "throttled"),
            (Step::Connect, "421 4.7.0 Too many concurrent SMTP connections", "throttled"),
            (Step::Recipient, "450 4.7.1 Error: too much mail from 10.0.0.1", "throttled"),
            (Step::Sender, "454 4.7.0 Throttling failure: Maximum sending rate exceeded.", "throttled"),
            (Step::Recipient, "452 4.5.3 Too many recipients", "throttled"),
            (Step::Recipient, "452 4.5.3 Error", "throttled"),
            (Step::Recipient, "450 4.2.1 The user is receiving mail at a rate that prevents it", "address throttled"),
        ] {
            check(step, reply, expect);
        }
    }
}
