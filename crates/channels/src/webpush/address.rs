//! A browser's address: where its push service takes messages for it, and the keys to encrypt them with.
//!
//! It is the browser's `PushSubscription` on one line: the endpoint, and the two keys in its fragment, as in
//! `https://push.example/abc#p256dh=BNc…&auth=8eD…`. The fragment stays here: no request carries it. The endpoint's path is a secret, too,
//! so no problem repeats anything of an address.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use p256::PublicKey;
use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::TEXT_BYTES_MAX;
use reqwest::Url;

use super::encrypt::{Keys, POINT_BYTES};
use crate::common::pattern::below;

/// A browser's address that was read.
#[derive(Debug, Clone)]
pub(super) struct Browser {
    pub(super) url: Url,
    pub(super) keys: Keys,
}

/// An address for examples and tests. Its key is that of RFC 8291, section 5.
pub(crate) const EXAMPLE: &str = "https://push.example.net/abc#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4&auth=BTBZMqHH6r4Tts7J_aSIgg";

const RIGHT: &str = "write ENDPOINT#p256dh=KEY&auth=KEY with the values of the browser's PushSubscription, such as \
    https://push.example.net/abc#p256dh=BCVx…&auth=BTBZ…";

/// Reads an address. `allow_private`: it may lead into a private network, and without encryption.
pub(super) fn parse(address: &str, allow_private: bool) -> Result<Browser, Invalid> {
    let wrong = |problem: &str| Invalid::new("address", format!("{problem}; {RIGHT}"));
    if address.is_empty() {
        return Err(wrong("is empty"));
    }
    if address.len() > TEXT_BYTES_MAX {
        return Err(wrong(&format!("is {} bytes long; at most {TEXT_BYTES_MAX} are accepted", address.len())));
    }
    let Some((endpoint, keys)) = address.split_once('#') else {
        return Err(wrong("has no keys behind a #"));
    };
    let keys = keys.strip_prefix("p256dh=").and_then(|keys| keys.split_once("&auth="));
    let (p256dh, auth) = keys.ok_or_else(|| wrong("has no p256dh=KEY&auth=KEY behind its #"))?;
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    let point = decode(p256dh).filter(|point| point.len() == POINT_BYTES && point[0] == 4);
    let point = point.ok_or_else(|| wrong("has a p256dh that is no key: it is 87 characters of base64url"))?;
    let p256dh = PublicKey::from_sec1_bytes(&point).map_err(|_| wrong("has a p256dh that is no key of P-256"))?;
    let auth = decode(auth).and_then(|auth| auth.try_into().ok());
    let auth = auth.ok_or_else(|| wrong("has an auth that is no key: it is 22 characters of base64url"))?;
    let url = endpoint_of(endpoint, allow_private).map_err(|problem| wrong(&problem))?;
    Ok(Browser { url, keys: Keys { p256dh, auth } })
}

/// The endpoint. A browser writes it plainly, so nothing else is taken: no login, no capital letters in the host, and a name for a host.
fn endpoint_of(endpoint: &str, allow_private: bool) -> Result<Url, String> {
    let rest = match (endpoint.strip_prefix("https://"), endpoint.strip_prefix("http://")) {
        (Some(rest), _) => rest,
        (None, Some(rest)) if allow_private => rest,
        (None, Some(_)) => return Err("begins with http://, and a push service is called by https alone".into()),
        (None, None) => return Err("has no endpoint that begins with https://".into()),
    };
    let Some((authority, path)) = rest.split_once('/') else {
        return Err("has an endpoint without a path".into());
    };
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("has a space or another character in its endpoint that no URL has".into());
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_port = |port: &str| !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok();
    if port.is_some_and(|port| !is_port(port)) {
        return Err("has a port that is no number from 1 to 65535".into());
    }
    let is_public = is_name(host) && host.contains('.') && !host.ends_with(".localhost");
    let is_private = is_name(host) || is_ipv4(host);
    if !(is_public || allow_private && is_private) {
        let so = match allow_private {
            true => "has a host that is neither a name nor an IPv4 address",
            false => "has a host that is no public name; set webpush_allow_private = true to allow a private one",
        };
        return Err(so.into());
    }
    Url::parse(endpoint).map_err(|error| format!("has an endpoint that is no URL: {error}"))
}

/// Whether `host` is a name, whose last part begins with a letter.
fn is_name(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(is_plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.split('.').all(is_label) && last.starts_with(|first: char| first.is_ascii_lowercase())
}

fn is_ipv4(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok()
}

/// The same rule for PostgreSQL. Whether a key lies on the curve is seen by this program alone.
pub(super) fn rule(allow_private: bool) -> AddressRule {
    let label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
    let last = "[a-z]([a-z0-9-]*[a-z0-9])?";
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let scheme_and_host = match allow_private {
        true => format!("https?://(({label}\\.)*{last}|({byte}\\.){{3}}{byte})"),
        false => format!("https://(?!([a-z0-9-]+\\.)*localhost[:/])({label}\\.)+{last}"),
    };
    let port = format!("(:([1-9][0-9]{{0,3}}|{}))?", below("65536"));
    // The last character of each key has bits that are not used, and must be nothing.
    let keys = "#p256dh=B[A-P][A-Za-z0-9_-]{84}[AEIMQUYcgkosw048]&auth=[A-Za-z0-9_-]{21}[AQgw]";
    AddressRule::Text {
        pattern: format!("^({scheme_and_host}{port}/[!-\"$-~]*{keys})$"),
        bytes_max: TEXT_BYTES_MAX,
        problem: format!("is no address of a browser; {RIGHT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(address: &str, expect: &str) {
        let error = parse(address, false).unwrap_err();
        assert_eq!(error.field, "address");
        assert!(error.problem.contains(expect), "{address}: {error}");
        assert!(!error.problem.contains("s3cret"), "{error}");
    }

    fn with(endpoint: &str) -> String {
        EXAMPLE.replace("https://push.example.net/abc", endpoint)
    }

    #[test]
    fn an_address_is_the_endpoint_and_its_keys() {
        let browser = parse(EXAMPLE, false).unwrap();
        assert_eq!(browser.url.as_str(), "https://push.example.net/abc");
        assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(browser.keys.auth), "BTBZMqHH6r4Tts7J_aSIgg");
        for endpoint in [
            "https://fcm.googleapis.com/fcm/send/dpH5lCsTSSM:APA91bHqjZxM0VImWWqDRN7U0a3AycjUf4O-byuxb_wJsKRaKvV_iKw56s16",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABkJ-9s",
            "https://web.push.apple.com/QGuQyavXutnMH",
            "https://wns2-par02p.notify.windows.com/w/?token=BQYAAACnv%2fd",
            "https://push.example.org:8443/",
        ] {
            parse(&with(endpoint), false).unwrap_or_else(|error| panic!("{endpoint}: {error}"));
        }
        for endpoint in ["http://127.0.0.1:8080/x", "http://localhost/x", "https://push.lan/x", "https://10.0.0.1/x"] {
            parse(&with(endpoint), true).unwrap_or_else(|error| panic!("{endpoint}: {error}"));
        }
    }

    #[test]
    fn a_wrong_address_is_answered_with_what_would_be_right_and_not_repeated() {
        check_refused("", "is empty; write ENDPOINT#p256dh=KEY&auth=KEY");
        check_refused("https://push.example/s3cret", "has no keys behind a #");
        check_refused("https://push.example/s3cret#auth=x", "has no p256dh=KEY&auth=KEY");
        check_refused("https://push.example/s3cret#p256dh=x&auth=y", "has a p256dh that is no key");
        // A point that is not on the curve: a character was lost or changed on the way.
        check_refused(&EXAMPLE.replace("BCVxsr7N", "BCVxsr7M"), "that is no key of P-256");
        check_refused(&EXAMPLE.replace("auth=BTBZ", "auth=BT"), "has an auth that is no key");
        check_refused(&format!("{EXAMPLE}&more=s3cret"), "has an auth that is no key");
        check_refused(&with("http://push.example/s3cret"), "by https alone");
        check_refused(&with("ftp://push.example/s3cret"), "begins with https://");
        check_refused(&with("https://push.example"), "without a path");
        check_refused(&with("https://push.example/s3cret x"), "a space");
        check_refused(&with("https://push.example:0/s3cret"), "no number from 1 to 65535");
        check_refused(&with("https://push.example:65536/s3cret"), "no number from 1 to 65535");
        for host in [
            "127.0.0.1",
            "10.0.0.1",
            "8.8.8.8",
            "2130706433",
            "0x7f.1",
            "[::1]",
            "localhost",
            "api.localhost",
            "router",
            "user:pw@push.example",
            "Push.Example",
            "push.example.",
            "",
            "-a.example",
            "a..example",
            "push.example\\",
        ] {
            assert!(parse(&with(&format!("https://{host}/s3cret")), false).is_err(), "{host}");
        }
        check_refused(&with("https://127.0.0.1/s3cret"), "set webpush_allow_private = true");
        check_refused(&with(&format!("https://push.example/{}", "x".repeat(2048))), "at most 2048");
    }
}
