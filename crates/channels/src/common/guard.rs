//! Keeps requests to addresses that users choose out of the network that punctual itself stands in.
//!
//! A caller who may create a reminder or follow a calendar chooses a URL, and punctual calls it from inside: the cloud's metadata
//! service, a database's admin page, a router. So only public addresses are called unless the operator
//! allows others. A name says nothing about where it leads, and may lead elsewhere a moment later. That is
//! why the resolver itself does the filtering: what it did not let through, nobody can connect to. An address written in
//! the URL never meets the resolver, so [`Guard::check_url`] looks at those, for each request and redirect.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Which addresses may be called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    /// Whether all of them may be.
    pub(crate) allow_private: bool,
    /// The setting that allows it.
    pub(crate) setting: &'static str,
}

/// A host that is not called because it is, or leads to, a private address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} is a private address; set {setting} to allow it")]
pub(crate) struct PrivateAddress {
    host: String,
    setting: &'static str,
}

impl Guard {
    /// Refuses a URL with a private address for a host. A name passes; the resolver judges it.
    ///
    /// The odd spellings (`0x7f.1`, `2130706433`, `127.1`) are no names: parsing a URL has made them plain.
    pub(crate) fn check_url(self, url: &Url) -> Result<(), PrivateAddress> {
        match literal(url) {
            Some(ip) if !self.admits(ip) => Err(self.refusal(ip.to_string())),
            _ => Ok(()),
        }
    }

    /// Refuses, when a reminder is created, what [`Self::check_url`] refuses and also `localhost`, which
    /// leads to this machine everywhere. Other names are not looked up: they may change until it is due.
    pub(crate) fn check_new_url(self, url: &Url) -> Result<(), PrivateAddress> {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        if !self.allow_private && (host == "localhost" || host.ends_with(".localhost")) {
            return Err(self.refusal(host.to_owned()));
        }
        self.check_url(url)
    }

    fn refusal(self, host: String) -> PrivateAddress {
        PrivateAddress { host, setting: self.setting }
    }

    fn admits(self, ip: IpAddr) -> bool {
        self.allow_private || is_public(ip)
    }
}

#[cfg(test)]
impl Guard {
    pub(crate) const fn test(allow_private: bool) -> Self {
        Self { allow_private, setting: "allow_private" }
    }
}

/// Looks up names as the system does, and returns only what the guard admits.
pub(crate) struct GuardedResolver(pub(crate) Guard);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0;
        Box::pin(async move {
            // Port 0 stands for the port of the URL.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            let admitted: Vec<SocketAddr> = found.into_iter().filter(|found| guard.admits(found.ip())).collect();
            if admitted.is_empty() {
                return Err(guard.refusal(name.as_str().to_owned()).into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// The address that a URL has in place of a name.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether `ip` is one that the whole internet reaches.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// After IANA's registry of special-purpose addresses.
fn is_public_v4(ip: Ipv4Addr) -> bool {
    !matches!(
        ip.octets(),
        [0, ..]                          // this network
            | [10, ..]                   // private
            | [100, 64..=127, ..]        // carrier's own (RFC 6598)
            | [127, ..]                  // this machine
            | [169, 254, ..]             // link-local, and the metadata services of clouds
            | [172, 16..=31, ..]         // private
            | [192, 0, 0, _]             // protocol assignments
            | [192, 0, 2, _]             // documentation
            | [192, 88, 99, _]           // 6to4 relays, withdrawn
            | [192, 168, ..]             // private
            | [198, 18..=19, ..]         // benchmarks
            | [198, 51, 100, _]          // documentation
            | [203, 0, 113, _]           // documentation
            | [224..=255, ..] // multicast, reserved, broadcast
    )
}

/// Global unicast is `2000::/3`; all else is special. Some of it carries an IPv4 address, which counts.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match ip.segments() {
        // IPv4-mapped, NAT64, 6to4. IPv4-compatible `::a.b.c.d` is obsolete and falls to the last arm.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0..=0x01ff, ..] => false, // protocol assignments, with Teredo
        [0x2001, 0x0db8, ..] => false,     // documentation
        [0x3fff, 0..=0x0fff, ..] => false, // documentation
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: Guard = Guard::test(false);
    const OPEN: Guard = Guard::test(true);

    #[test]
    fn private_addresses_are_refused_however_they_are_written() {
        for host in "
            127.0.0.1 127.1 127.255.255.254 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1
            127.0.0.1. %31%32%37.0.0.1 127。0。0。1 ①②⑦.0.0.1 0 0.0.0.0 0.1.2.3 10.0.0.1
            10.255.255.255 100.64.0.1 100.127.255.255 169.254.169.254 172.16.0.1 172.31.255.255
            192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7
            203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 [::] [::1]
            [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:169.254.169.254]
            [::127.0.0.1] [::10.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b:1::1]
            [2002:7f00:1::] [2002:a00:1::1] [2002:c0a8:101::] [fc00::1] [fd12:3456::1] [fe80::1]
            [febf::1] [fec0::1] [ff02::1] [2001:db8::1] [2001::1] [2001:10::1] [3fff::1]
            [100::1] [5f00::1]
        "
        .split_whitespace()
        {
            let url = Url::parse(&format!("http://{host}:8080/hook")).unwrap_or_else(|e| panic!("{host}: {e}"));
            assert!(CLOSED.check_url(&url).is_err(), "{host} was let through as {url}");
            assert!(OPEN.check_url(&url).is_ok(), "{host}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for host in "
            1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
            128.0.0.1 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0
            192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
            [2606:4700:4700::1111] [2a00:1450::1] [::ffff:8.8.8.8] [64:ff9b::808:808]
            [2002:808:808::1] example.org 127.0.0.1.example.org localhost
        "
        .split_whitespace()
        {
            let url = Url::parse(&format!("https://{host}/hook")).unwrap();
            assert_eq!(CLOSED.check_url(&url), Ok(()), "{host}");
        }
    }

    #[test]
    fn localhost_is_refused_at_creation() {
        for host in ["localhost", "LOCALHOST", "localhost.", "api.localhost"] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert!(CLOSED.check_new_url(&url).is_err(), "{host}");
            assert!(OPEN.check_new_url(&url).is_ok(), "{host}");
        }
        assert!(CLOSED.check_new_url(&Url::parse("http://mylocalhost/").unwrap()).is_ok());
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_refused_by_the_resolver() {
        let lookup = |guard| GuardedResolver(guard).resolve("localhost".parse().unwrap());
        let error = lookup(CLOSED).await.err().unwrap();
        assert_eq!(error.to_string(), "localhost is a private address; set allow_private to allow it");
        assert!(error.is::<PrivateAddress>());
        assert!(lookup(OPEN).await.unwrap().all(|found| found.ip().is_loopback()));
    }
}
