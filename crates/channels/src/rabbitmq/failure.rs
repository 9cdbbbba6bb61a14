//! What the broker's answers and silences mean.

use lapin::protocol::{AMQPErrorKind, AMQPHardError};
use lapin::{Error, ErrorKind};
use punctual_core::channel::SendError;

use super::Place;
use super::connection::OpenError;
use super::url::Target;
use crate::broker::causes;

/// The broker gave it back.
pub(super) fn returned(code: u16, text: &str, place: &Place, target: &Target) -> SendError {
    SendError::Refused(format!("{target} returned it ({code} {text}): nothing takes {place}"))
}

/// There is no connection.
pub(super) fn connecting(error: &OpenError, target: &Target) -> SendError {
    SendError::Unavailable(match error {
        OpenError::TimedOut(limit) => format!("{target} does not answer within {limit:?}"),
        OpenError::Failed(error) => match error.kind() {
            // A wrong password is not the message's fault, and it may be right again at the next try.
            ErrorKind::ProtocolError(said) if is_access_refused(said) => {
                format!("{target} does not let us in: user, password or virtual host is wrong")
            }
            // RabbitMQ closes without a word where a client does not understand why.
            _ => format!("cannot connect to {target}: {}", causes(error)),
        },
    })
}

/// The message was not sent yet.
pub(super) fn before(error: &Error, target: &Target) -> SendError {
    SendError::Unavailable(format!("{target}: {}", causes(error)))
}

/// The message was on its way.
pub(super) fn during(error: &Error, place: &Place, target: &Target) -> SendError {
    match error.kind() {
        // The broker closed the channel, over this message or over the exchange that its whole group is for: it will not have
        // it. What it names (an exchange that is not there, a permission, a size) is changed by a person and not by trying again.
        ErrorKind::ProtocolError(said) if matches!(said.kind(), AMQPErrorKind::Soft(_)) => {
            SendError::Refused(format!("{target} refused {place}: {}", said.get_message()))
        }
        _ => SendError::Unknown(format!("{target} went away before it confirmed: {}", causes(error))),
    }
}

fn is_access_refused(said: &lapin::protocol::AMQPError) -> bool {
    use lapin::protocol::AMQPSoftError::ACCESSREFUSED;
    matches!(said.kind(), AMQPErrorKind::Soft(ACCESSREFUSED) | AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED))
}
