//! Where the database is, as people write it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::open::OpenError;

/// A server that does not answer within this is called unreachable.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A connection over which nothing that was sent arrives for so long is dead, however quiet its death was.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);

/// A parsed `postgres://` URL. Shown, it has no password.
#[derive(Clone)]
pub struct Url {
    pub(super) config: Config,
    pub(super) verify: Verify,
    shown: String,
}

/// How much of the server's certificate is checked. The words and their meaning are libpq's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verify {
    /// Nothing: `prefer` and `require` encrypt, and take any certificate.
    No,
    /// `verify-ca`: somebody we trust signed it.
    Chain(Option<PathBuf>),
    /// `verify-full`: and it is for this host.
    Full(Option<PathBuf>),
}

impl Url {
    /// Reads a URL such as `postgres://user:password@host:5432/database?sslmode=verify-full`.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut root) = (None, None);
        let mut others = Vec::new();
        // The two that the driver does not know.
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => root = Some(PathBuf::from(decoded(value))),
                _ => others.push(pair),
            }
        }
        let rest = if others.is_empty() { before.to_owned() } else { format!("{before}?{}", others.join("&")) };
        // The driver's error names what is wrong and never repeats the text.
        let mut config: Config = rest.parse().map_err(|error| OpenError::Url(chain(&error)))?;
        let (ssl_mode, verify) = match mode {
            None | Some("prefer" | "allow") => (SslMode::Prefer, Verify::No),
            Some("disable") => (SslMode::Disable, Verify::No),
            // As in libpq: who names a certificate wants it to be used.
            Some("require") if root.is_some() => (SslMode::Require, Verify::Chain(root)),
            Some("require") => (SslMode::Require, Verify::No),
            Some("verify-ca") => (SslMode::Require, Verify::Chain(root)),
            Some("verify-full") => (SslMode::Require, Verify::Full(root)),
            Some(_) => {
                return Err(OpenError::Url(
                    "sslmode must be disable, prefer, require, verify-ca or verify-full".into(),
                ));
            }
        };
        if config.get_hosts().is_empty() {
            return Err(OpenError::Url("it names no host".into()));
        }
        if config
            .get_hosts()
            .iter()
            .any(|host| matches!(host, Host::Tcp(name) if name.contains(['@', ':']) && !name.contains("::")))
        {
            return Err(OpenError::Url("the password has an @ in it, which must be written %40".into()));
        }
        config.ssl_mode(ssl_mode).tcp_user_timeout(ACKNOWLEDGED_WITHIN);
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WITHIN);
        }
        if config.get_application_name().is_none() {
            config.application_name("punctual");
        }
        let shown = shown(&config);
        Ok(Self { config, verify, shown })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The URL without the password.
fn shown(config: &Config) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let port = |index: usize| config.get_ports().get(index).or(config.get_ports().first()).copied().unwrap_or(5432);
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port(index)),
            #[cfg(unix)]
            Host::Unix(path) => format!("{}:{}", path.display(), port(index)),
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{user}{}/{database}", hosts.join(","))
}

/// An error with what caused it, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text.replace('\n', " ")
}

/// A value of a query string, with `%2F` and the like replaced.
fn decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = value.get(index + 1..index + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[index], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                index += 3;
            }
            (byte, _) => {
                out.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url =
            Url::parse("postgres://ann:hush@db.example:6432/life?sslmode=verify-full&sslrootcert=%2Fca.pem").unwrap();
        assert_eq!(url.to_string(), "postgres://ann@db.example:6432/life");
        assert!(!format!("{url:?}").contains("hush"));
        assert_eq!(url.verify, Verify::Full(Some("/ca.pem".into())));
        for wrong in [
            "postgres://ann:hu@sh@db/life",
            "postgres://ann:hush@db:port/life",
            "postgres://ann:hush@db/life?sslmode=perhaps",
            "postgres://ann:hush@db/life?colour=blue",
            "postgres:///",
        ] {
            let error = Url::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("hu"), "{wrong}: {error}");
        }
    }

    #[test]
    fn sslmode_means_what_it_means_in_libpq() {
        let read = |query: &str| {
            let url = Url::parse(&format!("postgres://h/d{query}")).unwrap();
            (url.config.get_ssl_mode(), url.verify)
        };
        assert_eq!(read(""), (SslMode::Prefer, Verify::No));
        assert_eq!(read("?sslmode=disable"), (SslMode::Disable, Verify::No));
        assert_eq!(read("?sslmode=require"), (SslMode::Require, Verify::No));
        assert_eq!(read("?sslmode=verify-ca"), (SslMode::Require, Verify::Chain(None)));
        let root = Some(PathBuf::from("/c"));
        assert_eq!(read("?sslmode=require&sslrootcert=/c"), (SslMode::Require, Verify::Chain(root)));
    }
}
