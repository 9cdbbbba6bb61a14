//! Where a request goes on to when a receiver says it has moved.

use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};

use crate::common::guard::{Guard, PrivateAddress};

/// How many redirects are followed for one send; the next one ends it as unavailable.
pub(super) const HOPS_MAX: usize = 3;

/// Why a redirect that repeats the POST is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotFollowed {
    /// It leads into a private network.
    #[error("redirected: {0}")]
    Private(#[from] PrivateAddress),
    /// There were too many before it.
    #[error("redirected more than {HOPS_MAX} times; update the address")]
    TooMany,
    /// It leads to no web server, or from https to something that anyone on the way can read.
    #[error("redirected from {from} to {to}, which is not followed; update the address")]
    OtherScheme {
        /// The scheme it was called by.
        from: String,
        /// The scheme it should go on with.
        to: String,
    },
}

/// Follows redirects as [`follows`] decides.
pub(super) fn policy(guard: Guard) -> Policy {
    Policy::custom(move |attempt| {
        let Some(from) = attempt.previous().last() else {
            return attempt.stop();
        };
        let n_followed = attempt.previous().len() - 1;
        match follows(guard, attempt.status(), from, attempt.url(), n_followed) {
            Ok(true) => attempt.follow(),
            Ok(false) => attempt.stop(),
            Err(error) => attempt.error(error),
        }
    })
}

/// Whether to go on to `to`. Only 307 and 308 repeat the POST with its body; the others would become a GET
/// that looks like success and says nothing.
fn follows(guard: Guard, status: StatusCode, from: &Url, to: &Url, n_followed: usize) -> Result<bool, NotFollowed> {
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return Ok(false);
    }
    if n_followed >= HOPS_MAX {
        return Err(NotFollowed::TooMany);
    }
    if !matches!((from.scheme(), to.scheme()), (_, "https") | ("http", "http")) {
        let (from, to) = (from.scheme().to_owned(), to.scheme().to_owned());
        return Err(NotFollowed::OtherScheme { from, to });
    }
    guard.check_url(to)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, from: &str, to: &str, n_followed: usize, expect: Result<bool, &str>) {
        let (from, to) = (Url::parse(from).unwrap(), Url::parse(to).unwrap());
        let guard = Guard::test(false);
        let decided = follows(guard, StatusCode::from_u16(status).unwrap(), &from, &to, n_followed);
        match (decided, expect) {
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (decided, expect) => assert_eq!(decided.map_err(|error| error.to_string()), expect.map_err(str::to_owned)),
        }
    }

    #[test]
    fn only_what_repeats_the_post_is_followed_and_never_home() {
        check(307, "http://a.example", "http://b.example", 0, Ok(true));
        check(308, "http://a.example", "https://a.example", 2, Ok(true));
        check(308, "http://a.example", "https://a.example", 3, Err("more than 3 times"));
        check(301, "http://a.example", "https://a.example", 0, Ok(false));
        check(302, "http://a.example", "http://127.0.0.1", 0, Ok(false));
        check(303, "http://a.example", "https://a.example", 0, Ok(false));
        check(307, "https://a.example", "http://a.example", 0, Err("from https to http"));
        check(307, "https://a.example", "https://127.0.0.1/x", 0, Err("127.0.0.1 is a private address"));
        check(307, "https://8.8.8.8", "https://0x7f.1/x", 0, Err("127.0.0.1 is a private address"));
        check(308, "http://8.8.8.8", "http://169.254.169.254/latest", 1, Err("is a private address"));
        check(307, "http://8.8.8.8", "http://[::ffff:10.0.0.1]/", 1, Err("is a private address"));
    }
}
