//! How long a receiver asks to wait.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::WAIT_MAX;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The shortest wait: a receiver that says "0" would otherwise be asked without a pause.
const WAIT_MIN: Duration = Duration::from_secs(1);

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
        check_wait("86400", Some(86_400));
        check_wait("86401", Some(86_400));
        check_wait("99999999999999999999999", Some(86_400));
        check_wait("Mon, 02 Mar 2026 07:02:01 GMT", Some(119));
        check_wait("Monday, 02-Mar-26 07:02:01 GMT", Some(119));
        check_wait("Mon Mar  2 07:02:01 2026", Some(119));
        check_wait("Sun, 06 Nov 1994 08:49:37 GMT", Some(1));
        check_wait("Wed, 02 Mar 2050 07:00:00 GMT", Some(86_400));
        check_wait("-5", None);
        check_wait("soon", None);
        check_wait("", None);
        check_wait("1.5", None);
    }
}
