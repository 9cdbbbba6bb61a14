//! The failures between a client and its server.

use http::StatusCode;

use crate::wire::Problem;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server refused.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The server did not answer. Asking again may help.
    #[error("{0}")]
    Unreachable(String),
    /// Something else answered.
    #[error("what answers at {0} is not a punctual server")]
    Stranger(String),
    /// The request could not be written.
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
}

/// The server's answer to a request it did not accept.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct Refused {
    /// The status of the answer.
    pub status: StatusCode,
    /// What the server says about it, if it was a punctual server that said it.
    pub problem: Option<Problem>,
    /// What to tell the person.
    pub words: String,
}

/// A text that names no server.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no URL of a server; write one such as {url}", url = crate::DEFAULT_URL)]
pub struct BadUrl(pub(crate) String);

/// Why no server can be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The text names no server.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// This machine cannot speak to it, such as for want of certificates to trust.
    #[error("cannot set up HTTP: {0}")]
    Setup(String),
}

impl Failure {
    /// What the server refused, if it did.
    pub fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }

    /// Whether something is not as [`Client::if_seen`](crate::Client::if_seen) says: it has changed since it was seen.
    pub fn is_overtaken(&self) -> bool {
        self.refused().is_some_and(|refused| refused.status == StatusCode::PRECONDITION_FAILED)
    }

    /// Whether the same may work later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused(refused) => refused.status.is_server_error(),
            Self::Unreachable(_) => true,
            Self::Stranger(_) | Self::Unwritable(_) => false,
        }
    }
}

impl Refused {
    /// Whether several fields are to blame.
    pub fn is_of_many(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.errors.len() > 1)
    }

    /// The field that is to blame, if it is one.
    pub fn field(&self) -> Option<&str> {
        self.problem.as_ref()?.field.as_deref()
    }
}
