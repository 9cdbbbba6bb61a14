//! What a receiver's answer means.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Held, Receipt, SendError};
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};

use super::address;

/// How much of a body is read, in bytes, so that the connection can be used again. A longer one costs the
/// connection.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How much of a body is kept to be quoted from, in bytes.
const KEPT_BYTES_MAX: usize = 4 * 1024;
/// How much of a body an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 200;
/// The longest wait a receiver can ask for; it is asked again then.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// The shortest wait: a receiver that says "0" would otherwise be asked without a pause.
const WAIT_MIN: Duration = Duration::from_secs(1);

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
                Some(wait) => SendError::Throttled { wait, held: Held::Receiver },
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

/// The beginning of `text` on one line, without control characters.
pub(crate) fn quote(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(|character| !character.is_control()).collect())
        .collect();
    words.join(" ").trim().chars().take(QUOTED_CHARS_MAX).collect()
}

/// How long the receiver asks to wait: in seconds, or until a date. The date is measured from when the
/// request was sent, since nothing here reads the clock.
pub(crate) fn retry_after(headers: &HeaderMap, sent_at: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number too large to count fails.
        value.parse().map_or(WAIT_MAX, Duration::from_secs)
    } else {
        let wait = http_date(value)?.duration_since(sent_at);
        wait.max(SignedDuration::ZERO).unsigned_abs()
    };
    Some(wait.clamp(WAIT_MIN, WAIT_MAX))
}

/// Reads a date in the three forms that RFC 9110 wants understood.
fn http_date(text: &str) -> Option<Timestamp> {
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]
        .into_iter()
        .find_map(|form| DateTime::strptime(form, text).ok())
        .and_then(|date| date.to_zoned(TimeZone::UTC).ok())
        .map(|date| date.timestamp())
}

/// Who is to be called now. No more is shown: the rest of a URL may be a secret.
fn moved_to(response: &Response) -> Option<String> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    Some(address::receiver(&response.url().join(location).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_wait(header: &str, expect_seconds: Option<u64>) {
        let sent_at = "2026-03-02T07:00:01.5Z".parse().unwrap();
        let headers = HeaderMap::from_iter([(RETRY_AFTER, header.parse().unwrap())]);
        assert_eq!(retry_after(&headers, sent_at).map(|wait| wait.as_secs()), expect_seconds, "{header}");
    }

    #[test]
    fn a_wait_is_understood_in_every_form_and_bounded() {
        check_wait("120", Some(120));
        check_wait(" 7 ", Some(7));
        check_wait("0", Some(1));
        check_wait("3600", Some(3600));
        check_wait("86400", Some(3600));
        check_wait("99999999999999999999999", Some(3600));
        check_wait("Mon, 02 Mar 2026 07:02:01 GMT", Some(119));
        check_wait("Monday, 02-Mar-26 07:02:01 GMT", Some(119));
        check_wait("Mon Mar  2 07:02:01 2026", Some(119));
        check_wait("Sun, 06 Nov 1994 08:49:37 GMT", Some(1));
        check_wait("Wed, 02 Mar 2050 07:00:00 GMT", Some(3600));
        check_wait("-5", None);
        check_wait("soon", None);
        check_wait("", None);
        check_wait("1.5", None);
    }

    #[test]
    fn a_quote_is_one_short_line() {
        assert_eq!(quote("  <b>no\x1b[2J\r\n\tsuch\u{9b} room\0</b>\n"), "<b>no[2J such room</b>");
        assert_eq!(quote(&"ä".repeat(500)).chars().count(), 200);
        assert_eq!(quote(" \r\n "), "");
    }
}
