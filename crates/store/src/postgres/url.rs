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
    /// The hosts, in the order in which they are tried.
    pub(super) places: Vec<Place>,
    /// How long each of them has to be connected to, to greet, and to say what it is.
    pub(super) each_within: Duration,
    pub(super) wanted: Wanted,
    shown: String,
}

/// One host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: Host,
    /// The name that the certificate must be for, where that is another one: `host` beside `hostaddr`.
    name: Option<String>,
    pub(super) port: u16,
}

impl Place {
    /// The name that the server's certificate must be for.
    pub(super) fn certified_as(&self) -> String {
        match (&self.name, &self.host) {
            (Some(name), _) | (None, Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            (None, Host::Unix(_)) => String::new(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Tcp(name) => write!(f, "{name}:{}", self.port),
            #[cfg(unix)]
            Host::Unix(path) => write!(f, "{}:{}", path.display(), self.port),
        }
    }
}

/// Which of several servers is the right one: `target_session_attrs`. The words and their meaning are libpq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Whichever answers.
    Any,
    /// One that can be written to.
    ReadWrite,
    /// One that cannot.
    ReadOnly,
    /// No standby.
    Primary,
    /// A standby.
    Standby,
    /// A standby, or else any.
    PreferStandby,
}

impl Wanted {
    fn read(word: &str) -> Result<Self, OpenError> {
        Ok(match word {
            "any" => Self::Any,
            "read-write" => Self::ReadWrite,
            "read-only" => Self::ReadOnly,
            "primary" => Self::Primary,
            "standby" => Self::Standby,
            "prefer-standby" => Self::PreferStandby,
            _ => {
                return Err(OpenError::Url(
                    "target_session_attrs must be any, read-write, read-only, primary, standby or prefer-standby"
                        .into(),
                ));
            }
        })
    }

    /// Refuses a server that is not what is wanted.
    pub(super) fn check(self, is_standby: bool, is_read_only: bool) -> Result<(), String> {
        let wrong = match self {
            Self::ReadWrite if is_read_only => "the server cannot be written to",
            Self::ReadOnly if !is_read_only => "the server is not read-only",
            Self::Primary if is_standby => "the server is a standby",
            Self::Standby if !is_standby => "the server is not a standby",
            _ => return Ok(()),
        };
        Err(wrong.to_owned())
    }
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
        let (mut mode, mut root, mut wanted) = (None, None, Wanted::Any);
        let mut others = Vec::new();
        // Options of which the driver does not know all words.
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("target_session_attrs", value)) => wanted = Wanted::read(&decoded(value))?,
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
        let each_within = config.get_connect_timeout().copied().unwrap_or(CONNECT_WITHIN);
        if config.get_application_name().is_none() {
            config.application_name("punctual");
        }
        let places = places(&config)?;
        let shown = shown(&config, &places);
        Ok(Self { config, verify, places, each_within, wanted, shown })
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

/// The hosts, each with its port.
fn places(config: &Config) -> Result<Vec<Place>, OpenError> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    if !addresses.is_empty() && addresses.len() != hosts.len() {
        return Err(OpenError::Url("it must name as many addresses in hostaddr as hosts".into()));
    }
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(OpenError::Url("it must name one port, or as many as hosts".into()));
    }
    let place = |(index, host): (usize, &Host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match (addresses.get(index), host) {
            (Some(address), Host::Tcp(name)) => {
                Place { host: Host::Tcp(address.to_string()), name: Some(name.clone()), port }
            }
            _ => Place { host: host.clone(), name: None, port },
        }
    };
    Ok(hosts.iter().enumerate().map(place).collect())
}

/// The URL without the password.
fn shown(config: &Config, places: &[Place]) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let hosts: Vec<String> = places.iter().map(Place::to_string).collect();
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
    fn target_session_attrs_means_what_it_means_in_libpq() {
        let wanted = |query: &str| Url::parse(&format!("postgres://a,b/d{query}")).map(|url| url.wanted);
        assert_eq!(wanted("").unwrap(), Wanted::Any);
        // Each with what it says to a primary, a primary that was made read-only, and a standby.
        let table = [
            ("any", [true, true, true]),
            ("read-write", [true, false, false]),
            ("read-only", [false, true, true]),
            ("primary", [true, true, false]),
            ("standby", [false, false, true]),
            ("prefer-standby", [true, true, true]),
        ];
        for (word, taken) in table {
            let wanted = wanted(&format!("?target_session_attrs={word}")).unwrap();
            let servers = [(false, false), (false, true), (true, true)];
            assert_eq!(servers.map(|(is_standby, ro)| wanted.check(is_standby, ro).is_ok()), taken, "{word}");
        }
        let error = wanted("?target_session_attrs=master").unwrap_err().to_string();
        assert!(error.contains("any, read-write, read-only, primary, standby or prefer-standby"), "{error}");
    }

    #[test]
    fn each_host_has_its_port_and_its_time() {
        let url = Url::parse("postgres://a:1,b:2,[::1]:3/d?connect_timeout=2").unwrap();
        assert_eq!(url.to_string(), "postgres://a:1,b:2,::1:3/d");
        assert_eq!(url.each_within, Duration::from_secs(2));
        assert_eq!(Url::parse("postgres://a/d").unwrap().each_within, CONNECT_WITHIN);
        let url = Url::parse("postgres://a:1,b:2/d?hostaddr=10.0.0.1,10.0.0.2").unwrap();
        assert_eq!((url.places[1].to_string().as_str(), url.places[1].certified_as().as_str()), ("10.0.0.2:2", "b"));
        assert!(Url::parse("postgres://a,b/d?hostaddr=10.0.0.1").is_err());
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
