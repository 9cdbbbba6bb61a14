//! Which addresses are accepted.

use std::net::{Ipv4Addr, Ipv6Addr};

use lettre::Address;
use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;
use reqwest::Url;

use crate::common::pattern::beyond_ascii;

/// The longest address that SMTP can carry.
const LENGTH_MAX: usize = 254;
/// The longest part before the `@`.
const LOCAL_MAX: usize = 64;

/// Reads an address, with its domain in ASCII, or says that it is none.
///
/// An accepted address can be written to a server as it is: it has no comments, no folding, no control characters.
pub(super) fn check(field: &str, text: &str) -> Result<Address, Invalid> {
    read(text).ok_or_else(|| Invalid::new(field, NO_ADDRESS))
}

const NO_ADDRESS: &str = "is no e-mail address; write one such as alice@example.org";

/// The same rule for a database, which does not look into names that are not ASCII.
pub(super) fn rule() -> AddressRule {
    let letters = beyond_ascii(char::is_alphanumeric);
    let atom = format!("[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{letters}-]+");
    let quoted = format!(r#""([ !#-\[\]-~{letters}]|\\[!-~])+""#);
    let label = format!("[A-Za-z0-9{letters}]([A-Za-z0-9{letters}-]{{0,61}}[A-Za-z0-9{letters}])?");
    let byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    let literal = format!(r"\[({byte}(\.{byte}){{3}}|IPv6:(?=[^\]]*:[^\]]*:)[0-9A-Fa-f:.]+)\]");
    let local = format!(r"(?=.{{1,{LOCAL_MAX}}}@[^@]*$)({atom}(\.{atom})*|{quoted})");
    let domain = format!(r"{label}(\.{label})*|{literal}");
    let pattern = format!("^{local}@({domain})$");
    AddressRule::Text { pattern, bytes_max: LENGTH_MAX, problem: NO_ADDRESS.into() }
}

fn read(text: &str) -> Option<Address> {
    if text.len() > LENGTH_MAX || text.chars().any(|character| character.is_control()) {
        return None;
    }
    let (local, domain) = text.rsplit_once('@')?;
    let quoted = local.len() >= 2 && local.starts_with('"') && local.ends_with('"');
    if local.len() > LOCAL_MAX
        || (!quoted && local.chars().any(|character| character.is_whitespace() || character == '('))
    {
        return None;
    }
    let domain = if domain.is_ascii() { domain.to_owned() } else { in_ascii(domain)? };
    if !is_name(&domain) && !is_literal(&domain) {
        return None;
    }
    Address::new(local, domain).ok()
}

/// Whether a domain could be looked up: labels of letters, digits and hyphens.
fn is_name(domain: &str) -> bool {
    let right = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.split('.').all(right)
}

/// Whether a domain is an IP address as mail writes it: `[192.0.2.1]` or `[IPv6:2001:db8::1]`.
fn is_literal(domain: &str) -> bool {
    let Some(inside) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    match inside.strip_prefix("IPv6:") {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => inside.parse::<Ipv4Addr>().is_ok(),
    }
}

/// A domain such as `bücher.example` as the name system knows it.
fn in_ascii(domain: &str) -> Option<String> {
    let plain =
        |character: char| !character.is_ascii() || character.is_ascii_alphanumeric() || "-.".contains(character);
    if !domain.chars().all(plain) {
        return None;
    }
    Url::parse(&format!("http://{domain}/")).ok()?.host_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_testkit::report;

    use crate::spec::facts::{Facts, texts};
    use crate::spec::published;

    #[test]
    fn the_agreed_cases_are_decided() {
        let facts = Facts::of("addresses", |_| ());
        for address in texts(facts.at("/accepted")) {
            assert!(read(address).is_some(), "refused {address:?}");
        }
        for address in texts(facts.at("/refused")) {
            assert!(read(address).is_none(), "accepted {address:?}");
        }
    }

    #[test]
    fn the_published_cases_are_decided() {
        let Some(document) = published("email/isemail_tests.json") else { return };
        let tests = document["tests"].as_array().unwrap();
        assert_eq!(tests.len(), 164);
        for test in tests {
            let (address, category) = (test["address"].as_str().unwrap(), test["category"].as_str().unwrap());
            let accepted = read(address).is_some();
            match category {
                // An old way to write an IP address that is one.
                _ if test["diagnosis"].as_str().unwrap().contains("IPV6DEPRECATED") => {}
                "ISEMAIL_VALID_CATEGORY" | "ISEMAIL_DNSWARN" => assert!(accepted, "refused {address:?} ({category})"),
                // Comments, folding and what only old mail had: no address that anybody means.
                "ISEMAIL_ERR" | "ISEMAIL_CFWS" | "ISEMAIL_DEPREC" | "ISEMAIL_RFC5322" => {
                    assert!(!accepted, "accepted {address:?} ({category})");
                }
                // Quoted names, and IP addresses for domains: rare, and whatever can be sent is right.
                "ISEMAIL_RFC5321" => {}
                new => panic!("{new} is new: decide what it means"),
            }
        }
        report::ran(&format!("{} addresses of email/isemail_tests.json are decided", tests.len()));
    }

    #[test]
    fn addresses_out_of_real_headers_are_accepted() {
        let Some(document) = published("email/mail-parser_address.json") else { return };
        let mut n = 0;
        let mut look = vec![document];
        while let Some(value) = look.pop() {
            match value {
                serde_json::Value::Array(items) => look.extend(items),
                serde_json::Value::Object(map) => {
                    // The samples have broken ones, too: what stands between an @ and dots is meant as an address.
                    if let Some(address) = map.get("address").and_then(|address| address.as_str())
                        && address.split_once('@').is_some_and(|(local, domain)| {
                            let word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                            local.chars().all(word)
                                && domain.chars().all(word)
                                && !local.is_empty()
                                && domain.contains('.')
                        })
                    {
                        assert!(read(address).is_some(), "{address}");
                        n += 1;
                    }
                    look.extend(map.into_iter().map(|(_, value)| value));
                }
                _ => {}
            }
        }
        assert!(n > 20, "only {n}");
        report::ran(&format!("{n} addresses of email/mail-parser_address.json are accepted"));
    }

    #[test]
    fn good_and_bad_ones() {
        for good in ["alice@example.org", "a.b+tag@sub.example.org", "me@localhost", "o'neil@example.org"] {
            assert_eq!(read(good).unwrap().to_string(), good);
        }
        assert_eq!(read("me@bücher.example").unwrap().to_string(), "me@xn--bcher-kva.example");
        for bad in [
            "alice",
            "alice@",
            "@example.org",
            "a b@example.org",
            "alice@example.org, bob@example.org",
            "Alice <alice@example.org>",
            "alice@example.org\r\nBcc: all@example.org",
            "alice@example.org>\r\nDATA",
            "alice@exa mple.org",
            "alice@bü/cher.example",
            "alice@-x.example",
            "a@b@c.example",
        ] {
            let invalid = check("address", bad).unwrap_err();
            assert_eq!(
                invalid.to_string(),
                "address: is no e-mail address; write one such as alice@example.org",
                "{bad}"
            );
        }
        assert!(read(&format!("{}@example.org", "x".repeat(65))).is_none());
        assert!(read(&format!("x@{}.org", "x".repeat(64))).is_none());
    }
}
