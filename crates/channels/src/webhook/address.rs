//! A webhook's address: which URLs are accepted, and how they are shown.

use percent_encoding::percent_decode_str;
use punctual_core::invalid::Invalid;
use reqwest::Url;

use crate::common::guard::Guard;
use crate::common::redact::redact as blot_out;

/// The longest URL, in bytes. A longer one is refused when the reminder is created.
pub const BYTES_MAX: usize = 2048;

const EXAMPLE: &str = "write one such as https://example.org/hook";

/// Reads an address, and says what would be right if it is wrong. The address itself is never repeated,
/// because it may carry a password or a token.
pub(super) fn parse(address: &str) -> Result<Url, Invalid> {
    let wrong = |problem: String| Err(Invalid::new("address", problem));
    if address.is_empty() {
        return wrong(format!("is empty; {EXAMPLE}"));
    }
    if address.len() > BYTES_MAX {
        return wrong(format!("is {} bytes long; at most {BYTES_MAX} are accepted", address.len()));
    }
    if address.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return wrong(format!("has a space or a control character in it; {EXAMPLE}"));
    }
    // Checked before parsing, which would also take `http:example.org` for an absolute URL.
    let scheme_of = |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    if !scheme_of("http://") && !scheme_of("https://") {
        return wrong(format!("is no URL that begins with http:// or https://; {EXAMPLE}"));
    }
    let url = match Url::parse(address) {
        Ok(url) => url,
        Err(error) => return wrong(format!("is no URL: {error}; {EXAMPLE}")),
    };
    if url.port() == Some(0) {
        return wrong("has port 0, which nothing listens on; write the receiver's port".into());
    }
    Ok(url)
}

/// Refuses an address that cannot be right or that the guard would not call.
pub(super) fn check(address: &str, guard: Guard) -> Result<(), Invalid> {
    let url = parse(address)?;
    guard.check_new_url(&url).map_err(|private| Invalid::new("address", private.to_string()))
}

/// The receiver: scheme, host and port. Errors and logs say no more of a URL, because a token may stand
/// anywhere else in it.
pub(super) fn receiver(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default())
}

/// `text` with everything blotted out that only the owner of `url` should know, for what a receiver sends
/// back may repeat what it was called with.
pub(crate) fn redact(text: &str, url: &Url) -> String {
    /// Shorter values are in every text, and no secrets.
    const SECRET_MIN: usize = 4;
    /// Shorter parts of a path are words, such as `hooks`.
    const PART_MIN: usize = 8;
    let both = |part: &str| [part.to_owned(), percent_decode_str(part).decode_utf8_lossy().into_owned()];
    let userinfo = [url.password(), Some(url.username())].into_iter().flatten().flat_map(both);
    let query = url.query().map(str::to_owned);
    let raw = url.query().into_iter().flat_map(|query| query.split('&'));
    let raw = raw.filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.to_owned());
    let decoded = url.query_pairs().map(|(_, value)| value.into_owned());
    let parts = url.path_segments().into_iter().flatten().filter(|part| part.len() >= PART_MIN);
    let path = parts.chain([url.path()]).flat_map(both);
    let mut secrets: Vec<String> = userinfo.chain(query).chain(raw).chain(decoded).chain(path).collect();
    secrets.retain(|secret| secret.len() >= SECRET_MIN);
    blot_out(text, secrets.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(address: &str, expect: &str) {
        let error = check(address, Guard::test(false)).unwrap_err();
        assert_eq!(error.field, "address");
        assert!(error.problem.contains(expect), "{address}: {error}");
    }

    #[test]
    fn a_wrong_address_is_answered_with_what_would_be_right() {
        check_refused("", "is empty; write one such as https://example.org/hook");
        check_refused("example.org/hook", "begins with http:// or https://");
        check_refused("ftp://example.org", "begins with http:// or https://");
        check_refused("http:example.org", "begins with http:// or https://");
        check_refused("javascript:alert(1)", "begins with http:// or https://");
        check_refused("https://", "is no URL");
        check_refused("https://exa mple.org", "a space");
        check_refused(" https://example.org", "a space");
        check_refused("https://example.org/\r\nx", "control character");
        check_refused("https://example.org:99999/", "is no URL");
        check_refused("https://example.org:0/", "port 0");
        check_refused("https://[::1", "is no URL");
        check_refused("http://127.1:9000/hook", "127.0.0.1 is a private address; set allow_private to allow it");
        check_refused("http://localhost:9000/hook", "localhost is a private address");
        check_refused(&format!("https://example.org/{}", "x".repeat(2048)), "at most 2048");
    }

    #[test]
    fn a_right_address_is_accepted() {
        let closed = Guard::test(false);
        for address in [
            "https://example.org",
            "HTTPS://Example.org/hook?x=1#y",
            "http://user:word@example.org:8080/",
            "https://bücher.example/ö",
        ] {
            assert_eq!(check(address, closed), Ok(()), "{address}");
        }
        assert_eq!(check("http://127.0.0.1:9000/hook", Guard::test(true)), Ok(()));
    }

    #[test]
    fn a_receiver_is_scheme_host_and_port() {
        let check = |address, expect| assert_eq!(receiver(&Url::parse(address).unwrap()), expect);
        check("https://user:word@Example.org/a/b?c=d", "https://example.org:443");
        check("http://example.org", "http://example.org:80");
        check("http://[::1]:9000/x", "http://[::1]:9000");
    }

    #[test]
    fn a_token_in_a_url_is_blotted_out() {
        let check = |url: &str, text: &str, expect: &str| {
            assert_eq!(redact(text, &Url::parse(url).unwrap()), expect, "{url}");
        };
        check(
            "https://anna:pass-word@example.org/hook?token=s%20cret&n=1",
            "no token=s%20cret&n=1 for anna with pass-word, s cret or s%20cret in 1",
            "no … for … with …, … or … in 1",
        );
        check(
            "https://example.org/hooks/s3cret?n=1",
            "Cannot POST /hooks/s3cret?n=1, but hooks",
            "Cannot POST …?n=1, but hooks",
        );
        check(
            "https://example.org/v1/T0123456/long-s%C3%A9cret",
            "no long-sécret or long-s%C3%A9cret in T0123456 of /v1/T0123456/long-sécret; v1 is",
            "no … or … in … of …; v1 is",
        );
        // The login as the receiver got it: `anna:pass-word` in Base64.
        check("https://anna:pass-word@example.org/", "no Basic YW5uYTpwYXNzLXdvcmQ= here", "no Basic … here");
        check("https://example.org/", "a/b: no / here", "a/b: no / here");
        check("https://example.org", "a/b: no / here", "a/b: no / here");
    }
}
