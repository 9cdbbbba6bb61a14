//! What a receiver's answer means.

use jiff::Timestamp;
use punctual_core::channel::{Receipt, SendError, Whom};
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode, Url};

use super::address;
use crate::common::quote::quote;
use crate::common::retry_after::retry_after;

/// How much of a body is read, in bytes, so that the connection can be used again. A longer one costs the
/// connection.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How much of a body is kept to be quoted from, in bytes.
const KEPT_BYTES_MAX: usize = 4 * 1024;

/// Reads `response` and says what it means. `url` is what was called, `sent_at` when.
pub(super) async fn read(mut response: Response, url: &Url, sent_at: Timestamp) -> Result<Receipt, SendError> {
    let body = read_body(&mut response).await;
    let status = response.status();
    if status.is_success() {
        return Ok(Receipt::default());
    }
    let said = || {
        // It may speak of the address, or of where a redirect has led.
        let body = address::redact(&String::from_utf8_lossy(&body), url);
        let quote = quote(&address::redact(&body, response.url()));
        if quote.is_empty() { format!("answered {status}") } else { format!("answered {status}: {quote}") }
    };
    Err(match status {
        StatusCode::GONE => SendError::Gone(said()),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            match retry_after(response.headers(), sent_at) {
                // Strangers share one host, such as that of a chat platform, and each has their own limit.
                Some(wait) => SendError::Throttled { wait, whom: Whom::Shared },
                None => SendError::Unavailable(said()),
            }
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => SendError::Unavailable(said()),
        status if status.is_client_error() => SendError::Refused(said()),
        status if status.is_redirection() => SendError::Unavailable(match moved_to(&response) {
            Some(place) => format!("answered {status}: moved to {place}; update the address"),
            None => said(),
        }),
        _ => SendError::Unavailable(said()),
    })
}

/// Reads the body to its end or its limit, and returns the beginning.
///
/// A body that breaks off changes nothing: the status has said what happened.
async fn read_body(response: &mut Response) -> Vec<u8> {
    let (mut kept, mut n_read) = (Vec::new(), 0);
    while n_read < BODY_BYTES_MAX
        && let Ok(Some(chunk)) = response.chunk().await
    {
        n_read += chunk.len();
        let room = KEPT_BYTES_MAX - kept.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    kept
}

/// The host that a redirect names. No more is shown: the rest of a URL may be a secret.
fn moved_to(response: &Response) -> Option<String> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    Some(address::receiver(&response.url().join(location).ok()?))
}
