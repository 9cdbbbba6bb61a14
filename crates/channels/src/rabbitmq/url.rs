//! Where the broker is.

use std::fmt;

use lapin::uri::{AMQPScheme, AMQPUri};
use punctual_core::invalid::Invalid;
use reqwest::Url;

/// How often, in seconds, either side must be heard of; a connection is given up after twice that.
const HEARTBEAT_SECONDS: u16 = 10;

/// The parts of a URL; shown without user and password.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) uri: AMQPUri,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        // An error never repeats the URL: there is a password in it.
        let invalid = |problem: &str| {
            let right = "write one such as amqp://user:password@host:5672/vhost, or amqps:// with TLS";
            Invalid::new("url", format!("{problem}; {right}"))
        };
        let url = Url::parse(text).map_err(|error| invalid(&format!("is no URL ({error})")))?;
        if !matches!(url.scheme(), "amqp" | "amqps") {
            return Err(invalid("is no URL of a RabbitMQ"));
        }
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(invalid("names no host"));
        };
        let mut uri: AMQPUri = text.parse().map_err(|_| invalid("cannot be understood"))?;
        // The client takes an address of IP version 6 for no host at all, and connects to this machine.
        uri.authority.host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        // By the letter a lone slash names a virtual host without a name, which nobody has and many write.
        if matches!(url.path(), "" | "/") {
            uri.vhost = "/".into();
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
        Ok(Self { uri })
    }

    pub(super) fn has_tls(&self) -> bool {
        self.uri.scheme == AMQPScheme::AMQPS
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AMQPUri { scheme, authority, vhost, .. } = &self.uri;
        let (open, close) = if authority.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", authority.host, authority.port)?;
        if vhost == "/" { Ok(()) } else { write!(f, "/{vhost}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, shown: &str, vhost: &str, user: &str, password: &str) {
        let target = Target::parse(url).unwrap();
        assert_eq!(target.to_string(), shown, "{url}");
        assert_eq!(target.uri.vhost, vhost, "{url}");
        let userinfo = &target.uri.authority.userinfo;
        assert_eq!((userinfo.username.as_str(), userinfo.password.as_str()), (user, password), "{url}");
    }

    #[test]
    fn urls_as_people_write_them() {
        check("amqp://h", "amqp://h:5672", "/", "guest", "guest");
        check("amqp://h/", "amqp://h:5672", "/", "guest", "guest");
        check("amqp://h/%2f", "amqp://h:5672", "/", "guest", "guest");
        check("amqp://a:b%40c@h:1/v%2Fw", "amqp://h:1/v/w", "v/w", "a", "b@c");
        check("amqps://a:b@[::1]/v", "amqps://[::1]:5671/v", "v", "a", "b");
        check("amqp://10.0.0.1:5673", "amqp://10.0.0.1:5673", "/", "guest", "guest");
    }

    #[test]
    fn a_connection_is_always_watched() {
        assert_eq!(Target::parse("amqp://h").unwrap().uri.query.heartbeat, Some(HEARTBEAT_SECONDS));
        assert_eq!(Target::parse("amqp://h?heartbeat=60").unwrap().uri.query.heartbeat, Some(60));
    }
}
