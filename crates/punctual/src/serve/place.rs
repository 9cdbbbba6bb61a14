//! Where the running server is found, for the command line on the same machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::config::paths;

const FILE: &str = "server.json";

/// The file that says where the server is; removed when dropped.
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn announce(data_dir: &Path, url: &str) -> anyhow::Result<Self> {
        let path = data_dir.join(FILE);
        let text = json!({ "url": url, "pid": std::process::id() }).to_string();
        paths::write_private(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another server on the same directory may have written its own meanwhile.
        if read(&self.0).is_some_and(|(_, pid)| pid == u64::from(std::process::id())) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// The URL of the server that was last started on `data_dir` and did not say that it stopped.
pub(crate) fn announced(data_dir: &Path) -> Option<String> {
    read(&data_dir.join(FILE)).map(|(url, _)| url)
}

fn read(path: &Path) -> Option<(String, u64)> {
    let text = std::fs::read_to_string(path).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    Some((value.get("url")?.as_str()?.to_owned(), value.get("pid")?.as_u64()?))
}

/// How a program on this machine reaches `address`.
pub(super) fn url_of(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}
