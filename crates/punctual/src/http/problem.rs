//! What went wrong, as RFC 9457 has it.
//!
//! The caller is told what it can mend. What only the operator can mend goes to the log, and the
//! caller is told that it was not its fault.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_core::change::Refused;
use punctual_core::invalid::Invalid;
use punctual_core::store::{Answer, ChangeError, StoreError};
use punctual_engine::CreateError;

use super::idempotency::Instead;
use super::read::WHOLE;
use crate::wire::{self, FieldProblem};

/// A refused request. Nothing was changed by it.
#[derive(Debug)]
pub(super) struct Problem(Box<Inner>);

#[derive(Debug)]
struct Inner {
    document: wire::Problem,
    retry_after_seconds: Option<u32>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let document = wire::Problem {
            kind: "about:blank".into(),
            title: status.canonical_reason().unwrap_or("Problem").into(),
            status: status.as_u16(),
            code: code.into(),
            detail: detail.into(),
            field: None,
            index: None,
            errors: Vec::new(),
        };
        Self(Box::new(Inner { document, retry_after_seconds: None }))
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(super) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// Whether it says that the key does not work.
    pub(super) fn is_unauthorized(&self) -> bool {
        self.0.document.status == StatusCode::UNAUTHORIZED.as_u16()
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(super) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// A sentence in which no time was found.
    pub(super) fn not_understood(invalid: Invalid) -> Self {
        let mut this = Self::from(invalid);
        let document = &mut this.0.document;
        document.code = "not_understood".into();
        document.detail.push_str("; or send `message` and a `schedule` such as {\"type\":\"once\",\"at\":\"5m\"}");
        this
    }

    /// The answer to a repeated request whose first answer could not be kept.
    pub(super) fn instead(&self) -> Instead {
        let body = serde_json::to_string(&self.0.document).expect("texts and numbers always become JSON");
        Instead(Answer { status: self.0.document.status, body })
    }

    /// Names the field that is to blame.
    pub(super) fn at_field(mut self, field: impl Into<String>) -> Self {
        self.0.document.field = Some(field.into());
        self
    }

    /// Says when it is worth trying again.
    pub(super) fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// The same problem, met at one item of a batch, which is the list `list`.
    pub(super) fn in_batch(mut self, list: &str, index: usize) -> Self {
        let item = format!("{list}[{index}]");
        let document = &mut self.0.document;
        document.index = Some(index);
        let field = match document.field.take() {
            Some(field) if field != WHOLE => format!("{item}.{field}"),
            _ => item,
        };
        for error in &mut document.errors {
            error.field.clone_from(&field);
        }
        document.detail = format!("item {index} of the batch: {}; nothing was written", document.detail);
        document.field = Some(field);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0.document).expect("texts and numbers always become JSON");
        let status = StatusCode::from_u16(self.0.document.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"punctual\""));
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let Invalid { field, problem } = invalid;
        let mut this =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", format!("{field}: {problem}")).at_field(&field);
        this.0.document.errors.push(FieldProblem { field, detail: problem });
        this
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::KeyUsed => Self::conflict("key_reused", error.to_string()),
            StoreError::Missing(_) => Self::new(StatusCode::NOT_IMPLEMENTED, "missing", error.to_string()),
            StoreError::Unavailable(_) => {
                tracing::warn!(%error, "a request was refused");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error.to_string()).retry_after(1)
            }
            // No request comes by a connection to a platform.
            StoreError::Broken(_) | StoreError::Seen | StoreError::LeaseLost => {
                tracing::error!(%error, "a request failed");
                Self::internal("the database gave an unexpected answer; the log has more")
            }
        }
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotFound => Self::not_found("no such reminder"),
            ChangeError::Refused(Refused::Invalid(invalid)) => invalid.into(),
            ChangeError::Refused(refused @ (Refused::SendBegun | Refused::OtherBegun(_))) => {
                Self::conflict("send_begun", refused.to_string())
            }
            ChangeError::Refused(refused) => Self::conflict("conflict", refused.to_string()),
            ChangeError::Store(error) => error.into(),
        }
    }
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Invalid { invalid, .. } => invalid.into(),
            CreateError::Store(error) => error.into(),
        }
    }
}
