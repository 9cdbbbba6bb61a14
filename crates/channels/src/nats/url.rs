//! Where the servers are.

use std::fmt;

use async_nats::ServerAddr;
use percent_encoding::percent_decode_str;
use punctual_core::invalid::Invalid;

use crate::common::token::Token;

/// The parts of a URL, or of several with commas between; shown without user and password.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) servers: Vec<ServerAddr>,
    pub(super) login: Option<Login>,
}

/// How to sign in, as a URL says it: `USER:PASSWORD@`, or `TOKEN@`. The client leaves it to its caller.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    Password { user: String, password: String },
    Token(Token),
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        // An error never repeats the URL: there is a password in it.
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
        let login = servers.iter().find_map(login).transpose().map_err(|()| invalid())?;
        // The client gets no secret that it has no use for and might log.
        let servers = servers.into_iter().map(bare).collect::<Result<_, _>>().map_err(|()| invalid())?;
        Ok(Self { servers, login })
    }
}

/// The text before the `@`; an error if it is no UTF-8.
fn login(server: &ServerAddr) -> Option<Result<Login, ()>> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned()).map_err(drop);
    let user = decoded(server.username()?);
    let password = server.password().map(decoded).transpose();
    Some(user.and_then(|user| {
        Ok(match password? {
            Some(password) => Login::Password { user, password },
            None => Login::Token(Token::new(user)),
        })
    }))
}

/// The same server without what stands before the `@`.
fn bare(server: ServerAddr) -> Result<ServerAddr, ()> {
    let mut url = server.into_inner();
    url.set_username("")?;
    url.set_password(None)?;
    ServerAddr::from_url(url).map_err(drop)
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

    #[test]
    fn a_url_has_user_and_password_or_a_token() {
        let login = |url: &str| Target::parse(url).unwrap().login;
        let password = |user: &str, password: &str| Login::Password { user: user.into(), password: password.into() };
        assert!(login("nats://h").is_none());
        assert!(login("nats://a:b%40c@h") == Some(password("a", "b@c")));
        assert!(login("nats://h1,nats://a:b@h2") == Some(password("a", "b")));
        assert!(login("nats://t%2Fk@h") == Some(Login::Token(Token::new("t/k"))));
        assert!(Target::parse("nats://a:%ff@h").is_err());
        let servers = Target::parse("nats://a:hunter2@h1,nats://hunter2@[::1]:5").unwrap().servers;
        assert!(!format!("{servers:?}").contains("hunter2"));
    }
}
