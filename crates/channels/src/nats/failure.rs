//! What the server's answers and silences mean.

use std::error::Error;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamByNameError, GetStreamByNameErrorKind, PublishError, PublishErrorKind};
use async_nats::{ConnectError, ConnectErrorKind, jetstream};
use punctual_core::channel::SendError;

use super::url::Target;
use crate::broker::causes;

/// Codes that mean: not now. The first says that a message with this key is being stored at the moment.
const NOT_NOW: [usize; 2] = [409, 429];
/// The account is full, or has no limits for such a stream: the operator's to mend, and no fault of the message. The server calls
/// both a bad request.
const FULL: [ErrorCode; 2] = [ErrorCode::ACCOUNT_RESOURCES_EXCEEDED, ErrorCode::NO_LIMITS];
/// From this code on an error is the server's, as in HTTP.
const SERVER_FAULT: usize = 500;

/// There is no connection.
pub(super) fn connecting(error: &ConnectError, target: &Target) -> SendError {
    SendError::Unavailable(match error.kind() {
        // A wrong password is not the message's fault, and it may be right again at the next try.
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            format!("{target} does not let us in: user, password, token or credentials are wrong")
        }
        _ => format!("cannot connect to {target}: {}", causes(error)),
    })
}

/// The server was silent until the timeout.
pub(super) fn silent(target: &Target, limit: Duration) -> SendError {
    SendError::Unavailable(format!("{target} does not answer within {limit:?}"))
}

/// No acknowledgement came.
pub(super) fn timed_out() -> PublishError {
    PublishError::new(PublishErrorKind::TimedOut)
}

/// Whether the message may have arrived and nobody said so.
pub(super) fn is_silence(error: &PublishError) -> bool {
    matches!(error.kind(), PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe)
}

/// Whether the server has said so itself, and not the client.
pub(super) fn is_answer(error: &PublishError) -> bool {
    is_no_stream(error) || said(error).is_some()
}

/// Whether nobody listens on the subject.
pub(super) fn is_no_stream(error: &PublishError) -> bool {
    error.kind() == PublishErrorKind::StreamNotFound
}

/// No stream listens on the subject; `asked` is the server's answer about its streams, `None` if it gave none in time.
///
/// A stream that is being started, or whose cluster has no leader at the moment, does not listen either, and will in a moment.
pub(super) fn no_stream(
    asked: Option<Result<String, GetStreamByNameError>>,
    subject: &str,
    target: &Target,
) -> SendError {
    match asked {
        Some(Err(error)) if error.kind() == GetStreamByNameErrorKind::NotFound => {
            SendError::Refused(format!("no stream at {target} takes the subject {subject:?}"))
        }
        Some(Ok(stream)) => SendError::Unavailable(format!("the stream {stream:?} at {target} takes no messages now")),
        Some(Err(_)) | None => {
            SendError::Unavailable(format!("nobody at {target} takes the subject {subject:?}, or JetStream is away"))
        }
    }
}

/// The server or the client would not have it.
pub(super) fn publishing(error: &PublishError, target: &Target) -> SendError {
    let problem = format!("{target}: {}", causes(error));
    match (error.kind(), said(error)) {
        (PublishErrorKind::MaxPayloadExceeded, _) => SendError::Refused(problem),
        (_, Some(said)) if !is_for_later(said) => SendError::Refused(problem),
        // The client had no place for it.
        (PublishErrorKind::MaxAckPending, _) | (_, Some(_)) => SendError::Unavailable(problem),
        // An answer that is none: somebody else listens on the subject, and has the message.
        (_, None) => SendError::Unknown(problem),
    }
}

fn is_for_later(said: &jetstream::Error) -> bool {
    said.code() >= SERVER_FAULT || NOT_NOW.contains(&said.code()) || FULL.contains(&said.error_code())
}

/// The error of JetStream itself, if it answered with one.
fn said(error: &PublishError) -> Option<&jetstream::Error> {
    error.source()?.downcast_ref()
}
