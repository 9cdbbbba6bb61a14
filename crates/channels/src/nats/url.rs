//! Where the servers are.

use std::fmt;

use async_nats::ServerAddr;
use punctual_core::invalid::Invalid;

/// What a URL says, or several with commas between; shown without user and password.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) servers: Vec<ServerAddr>,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        // What was written is never repeated: there is a password in it.
        let invalid = || {
            let right = "write one such as nats://user:password@host:4222, or tls:// with TLS";
            Invalid::new("url", format!("is no URL of a NATS server; {right}"))
        };
        let servers: Vec<ServerAddr> =
            text.split(',').map(|one| one.trim().parse().map_err(|_| invalid())).collect::<Result<_, _>>()?;
        let is_right = |server: &ServerAddr| !server.host().is_empty() && matches!(server.scheme(), "nats" | "tls");
        if servers.is_empty() || !servers.iter().all(is_right) {
            return Err(invalid());
        }
        Ok(Self { servers })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.servers.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}://{}:{}", server.scheme(), server.host(), server.port())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, shown: &str) {
        assert_eq!(Target::parse(url).unwrap().to_string(), shown, "{url}");
    }

    #[test]
    fn urls_as_people_write_them() {
        check("nats://h", "nats://h:4222");
        check("h:1", "nats://h:1");
        check("tls://a:b@h", "tls://h:4222");
        check("nats://t0ken@h:4", "nats://h:4");
        check("nats://a:b@h1:1, nats://a:b@h2:2", "nats://h1:1,nats://h2:2");
    }
}
