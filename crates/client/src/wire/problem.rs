//! What went wrong, as RFC 9457 has it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A refused request. Nothing was changed by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Always `about:blank`: `code` says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The status in words.
    pub title: Cow<'static, str>,
    /// The status of the answer.
    pub status: u16,
    /// What kind of problem it is, for programs.
    pub code: Cow<'static, str>,
    /// What is wrong and what would be right: of several things the first.
    pub detail: String,
    /// The field that is to blame, if it is one: of several the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The item of a batch that is to blame: of several the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Everything that is wrong with the body, up to 100 things.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// The `X-Request-Id` of the request, which is also in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldProblem {
    /// Such as `schedule.at` or `reminders[3].to[0].channel`.
    pub field: String,
    /// What kind of problem it is, for programs: `invalid`, `missing`, `unknown_field`, `wrong_type` or `read_only`.
    #[serde(default)]
    pub code: Cow<'static, str>,
    /// What is wrong and what would be right.
    pub detail: String,
}

/// Every kind of problem there is: the status it comes with, its `code`, and what it means.
pub const CODES: &[(u16, &str, &str)] = &[
    (400, "bad_request", "The request itself cannot be read: its query, its headers, or a body that is not JSON."),
    (400, "https_only", "The server speaks HTTPS, and the request came without TLS."),
    (401, "unauthorized", "There is no key, or it is not known, or it has expired."),
    (403, "forbidden", "The key may not do this."),
    (404, "not_found", "There is no such thing, or the key must not see it."),
    (405, "method_not_allowed", "There is such a path, and this method is not possible there."),
    (406, "not_acceptable", "The answer has a form that the request does not accept."),
    (408, "too_slow", "The body did not come in time."),
    (409, "conflict", "The state of the thing does not allow it."),
    (409, "send_begun", "It comes too late: the send has begun."),
    (409, "key_reused", "The Idempotency-Key was used for a different request."),
    (409, "in_progress", "The first request with this Idempotency-Key has not been answered."),
    (409, "shown_once", "The first request with this Idempotency-Key made a key or a link, which was shown once."),
    (409, "too_many", "There are as many as there may be."),
    (409, "defined", "The config file defines it."),
    (409, "not_defined_here", "Another node's config file defines it."),
    (409, "replaced", "Its definition was replaced while it ran."),
    (409, "ahead", "The position is ahead of the journal: it may be another server's."),
    (409, "not_now", "An answer is not possible now."),
    (410, "answered", "The question is over."),
    (410, "removed", "The journal does not have what came after this position any more."),
    (412, "precondition_failed", "It is not as `If-Match` or `If-None-Match` says."),
    (413, "too_large", "The body is too large, or has too many values."),
    (415, "wrong_content_type", "The body is not JSON."),
    (421, "misdirected", "The request calls the server by a name that is not its own."),
    (422, "invalid", "The body or the query has a value that cannot be accepted; `errors` has all of them."),
    (422, "not_understood", "The sentence says no time."),
    (426, "upgrade_required", "There is a WebSocket here, and the request does not ask for one."),
    (429, "too_many", "The connection has as many subscriptions as it may have."),
    (429, "rate_limited", "The key asks too often; `Retry-After` says when to come back."),
    (500, "internal", "A mistake in punctual; the log has more."),
    (501, "not_here", "This call cannot be made over a WebSocket."),
    (501, "missing", "The database lacks something that its owner must give it."),
    (502, "source", "The application's own database, which a watch reads, did not answer."),
    (503, "unavailable", "The database cannot be used now; `Retry-After` says when to come back."),
    (503, "busy", "Too many large requests are being read; `Retry-After` says when to come back."),
    (
        503,
        "too_many_sessions",
        "Assistants have as many sessions as there may be; `Retry-After` says when to come back.",
    ),
];

/// Whether a problem of this status and code is described.
pub fn is_described(status: u16, code: &str) -> bool {
    CODES.iter().any(|(known_status, known, _)| (*known_status, *known) == (status, code))
}
