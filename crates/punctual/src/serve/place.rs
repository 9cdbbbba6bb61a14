//! Where the running server is found, for the command line on the same machine, and a key to it.
//!
//! The key is made at the start and ends with the process. So a file that a killed server left behind opens nothing, and
//! a stranger who listens in its place gets nothing of worth: the admin's own key stays in the data directory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::config::{Secret, paths};

const FILE: &str = "server.json";

/// The file that says where the server is; removed when dropped.
pub(super) struct Place {
    path: PathBuf,
    key: Secret,
}

impl Place {
    /// Says where the server is. One that speaks TLS also says where its certificate is: the command line takes that one and no other,
    /// because a certificate is seldom for the address by which a program on the same machine calls.
    pub(super) fn announce(data_dir: &Path, url: &str, key: &Secret, cert: Option<&Path>) -> anyhow::Result<Self> {
        let path = data_dir.join(FILE);
        let cert = cert.map(std::path::absolute).transpose().context("the certificate's path is no path")?;
        let mut place = json!({ "url": url, "pid": std::process::id(), "key": key.expose() });
        if let Some(cert) = cert {
            place["tls_cert"] = cert.to_string_lossy().into();
        }
        let text = place.to_string();
        paths::write_private(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, key: key.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another server on the same directory may have written its own meanwhile.
        if read(&self.path).is_some_and(|announced| announced.key.expose() == self.key.expose()) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What a server wrote about itself when it started on a data directory; it removes this when it stops.
pub(crate) struct Announced {
    pub(crate) url: String,
    /// Opens that server, for as long as it runs.
    pub(crate) key: Secret,
    /// Where its certificate is, if it speaks TLS.
    pub(crate) cert: Option<PathBuf>,
}

pub(crate) fn announced(data_dir: &Path) -> Option<Announced> {
    read(&data_dir.join(FILE))
}

fn read(path: &Path) -> Option<Announced> {
    let text = std::fs::read_to_string(path).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    let text = |field: &str| value.get(field)?.as_str().map(str::to_owned);
    Some(Announced { url: text("url")?, key: Secret::new(text("key")?), cert: text("tls_cert").map(PathBuf::from) })
}

/// How a program on this machine reaches `address`.
pub(super) fn url_of(address: SocketAddr, is_encrypted: bool) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let scheme = if is_encrypted { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_removed_by_the_server_that_wrote_it_and_by_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let announce = |url: &str, key: &str| Place::announce(dir.path(), url, &Secret::new(key.into()), None).unwrap();
        let first = announce("http://127.0.0.1:1", "one");
        let second = announce("http://127.0.0.1:2", "two");
        drop(first);
        let left = announced(dir.path()).expect("the second server's file stays");
        assert_eq!((left.url.as_str(), left.key.expose()), ("http://127.0.0.1:2", "two"));
        drop(second);
        assert!(announced(dir.path()).is_none());
    }
}
