//! What went wrong, as RFC 9457 has it.
//!
//! The caller is told what it can mend. What only the operator can mend goes to the log, and the
//! caller is told that it was not its fault.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_core::change::Refused;
use punctual_core::invalid::{FAULTS_MAX, Faults, Invalid};
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
        debug_assert!(wire::is_described(status.as_u16(), code), "{status} {code} is not in the table of codes");
        let document = wire::Problem {
            kind: "about:blank".into(),
            title: status.canonical_reason().unwrap_or("Problem").into(),
            status: status.as_u16(),
            code: code.into(),
            detail: detail.into(),
            field: None,
            index: None,
            errors: Vec::new(),
            request_id: None,
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

    /// Whether it says that something is not there.
    pub(super) fn is_not_found(&self) -> bool {
        self.0.document.status == StatusCode::NOT_FOUND.as_u16()
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

    /// Something else is there than the request says.
    pub(super) fn unexpected() -> Self {
        let detail =
            "it is not as If-Match or If-None-Match says, so nothing was changed; read it again, and decide anew";
        Self::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", detail)
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

    /// What the caller is told.
    pub(super) fn document(&self) -> &wire::Problem {
        &self.0.document
    }

    /// When it is worth trying again, if that is known.
    pub(super) fn retry_after_seconds(&self) -> Option<u32> {
        self.0.retry_after_seconds
    }

    /// Names the field that is to blame.
    pub(super) fn at_field(mut self, field: impl Into<String>) -> Self {
        self.0.document.field = Some(field.into());
        self
    }

    /// Whether it says what is wrong with the body.
    pub(super) fn is_invalid(&self) -> bool {
        self.0.document.status == StatusCode::UNPROCESSABLE_ENTITY.as_u16()
    }

    /// The same, with what else is wrong with the same body.
    pub(super) fn along_with(mut self, faults: Faults) -> Self {
        let (known, others) = (self.0.document.field.clone(), faults.finish().err());
        let others = others.into_iter().flat_map(Invalid::each).filter(|other| known.as_ref() != Some(&other.field));
        self.0.document.errors.extend(others.map(field_problem));
        self
    }

    /// The problems of several items of a batch as one, which says of the first what it is and of all of them what is wrong.
    pub(super) fn of_batch(problems: Vec<Self>) -> Option<Self> {
        let mut problems = problems.into_iter();
        let mut first = problems.next()?;
        first.0.document.errors.extend(problems.flat_map(|other| other.0.document.errors));
        first.0.document.errors.truncate(FAULTS_MAX);
        Some(first)
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
        let whole = |field: &str| if field == WHOLE { item.clone() } else { format!("{item}.{field}") };
        let field = document.field.take().map_or_else(|| item.clone(), |field| whole(&field));
        for error in &mut document.errors {
            error.field = whole(&error.field);
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
        if status == StatusCode::UPGRADE_REQUIRED {
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"punctual\""));
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(Document(self.0.document));
        response
    }
}

/// The document of a problem, beside its bytes: the request's id is written into it on its way out.
#[derive(Clone)]
pub(super) struct Document(wire::Problem);

impl Document {
    /// Its bytes, with the id of the request.
    pub(super) fn of_request(mut self, id: &str) -> Vec<u8> {
        self.0.request_id = Some(id.to_owned());
        serde_json::to_vec(&self.0).expect("texts and numbers always become JSON")
    }
}

fn field_problem(invalid: Invalid) -> FieldProblem {
    let Invalid { field, problem, fault, .. } = invalid;
    FieldProblem { field, code: fault.as_str().into(), detail: problem }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let detail = format!("{}: {}", invalid.field, invalid.problem);
        let mut this = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail).at_field(&invalid.field);
        this.0.document.errors.extend(invalid.each().take(FAULTS_MAX).map(field_problem));
        this
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::KeyUsed => Self::conflict("key_reused", error.to_string()),
            StoreError::Unexpected => Self::unexpected(),
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
            ChangeError::Refused(Refused::Unexpected) => Self::unexpected(),
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// The text of every source below `dir`, without spaces and line breaks.
    fn sources(dir: &Path) -> Vec<String> {
        let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: &Path| std::fs::read_to_string(path).unwrap().split_whitespace().collect();
        let of = |path: PathBuf| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => vec![text(&path)],
            _ => Vec::new(),
        };
        paths.flat_map(of).collect()
    }

    /// The name that a status has as a constant, such as `NOT_FOUND`.
    fn name_of(status: u16) -> String {
        let reason = StatusCode::from_u16(status).unwrap().canonical_reason().unwrap();
        reason.to_ascii_uppercase().replace(['-', ' '], "_")
    }

    #[test]
    fn every_code_that_the_source_names_is_in_the_table() {
        let known = |name: &str, code: &str| {
            wire::CODES.iter().any(|(status, known, _)| name_of(*status) == name && *known == code)
        };
        let mut n_found = 0;
        for source in sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
            let made = source.split("::new(StatusCode::").skip(1).filter_map(|rest| rest.split_once(",\""));
            let refused = source.split("::conflict(\"").skip(1).map(|rest| ("CONFLICT", rest));
            for (name, rest) in made.chain(refused) {
                let code = rest.split('"').next().unwrap();
                let is_call = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                if is_call && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                    n_found += 1;
                    assert!(known(name, code), "{name} {code} is not in the table of codes");
                }
            }
        }
        assert!(n_found > 20, "only {n_found} were found");
    }
}
