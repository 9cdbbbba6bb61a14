//! The names by which this server may be called.
//!
//! A page of a stranger's can make a browser on this machine or in this network ask us, under a name of the stranger's that leads here
//! (DNS rebinding). The browser then takes our answers for the stranger's own. So a request that calls us by a name that is not ours is
//! refused before anything else. An address in numbers cannot lead elsewhere: where we listen on every address of the machine, each of
//! them is ours.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use super::App;
use super::problem::Problem;
use crate::connections::Connection;

/// What monitors ask, by whatever name they know us.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// The most of a name that is said back.
const SAID_BYTES_MAX: usize = 100;

/// The names and addresses that mean this server, whatever the port: it may be mapped to another one on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    /// In small letters. `*.example.org` stands for every name below it, `*` for every name.
    names: Vec<String>,
    /// Where it listens, if not on every address.
    address: Option<IpAddr>,
    /// How to call it right, for the refusal.
    url: String,
}

impl Hosts {
    /// Of a server that listens at `listen` (as it was asked to) and `address`, and is reached at `url`.
    pub(crate) fn new(listen: &str, address: SocketAddr, url: &str, others: impl IntoIterator<Item = String>) -> Self {
        let (address, url) = (Some(address.ip()).filter(|ip| !ip.is_unspecified()), url.to_owned());
        let own = name_of(listen).into_iter().chain(name_of(url.split("://").last().unwrap_or_default()));
        let names = own.chain(others).map(|name| name.to_lowercase()).collect();
        Self { names, address, url }
    }

    /// Whether `host`, as a request has it, means this server; `None`: it is no host at all.
    fn knows(&self, host: &str) -> Option<bool> {
        let authority: Authority = host.parse().ok().filter(|_| !host.contains('@'))?;
        let name = authority.host().trim_end_matches('.').to_lowercase();
        let ip: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let is_named = |own: &String| match own.strip_prefix('*') {
            Some("") => true,
            Some(below) => name.len() > below.len() && name.ends_with(below),
            None => *own == name,
        };
        let is_ours = match ip {
            Some(ip) => ip.is_loopback() || self.address.is_none_or(|own| own == ip),
            None => name == "localhost" || name.ends_with(".localhost"),
        };
        Some(!name.is_empty() && (is_ours || self.names.iter().any(is_named)))
    }
}

/// The name in `HOST:PORT`.
fn name_of(text: &str) -> Option<String> {
    let authority: Authority = text.split('/').next()?.parse().ok()?;
    Some(authority.host().to_owned())
}

/// Refuses a request that calls this server by a name that is not its own.
pub(super) async fn layer(State(app): State<Arc<App>>, request: Request, next: Next) -> Result<Response, Problem> {
    // A request of this process's own calls nobody by a name.
    let is_called = request.extensions().get::<Arc<Connection>>().is_some();
    if is_called && !OPEN.contains(&request.uri().path()) {
        check(&request, &app.hosts)?;
    }
    Ok(next.run(request).await)
}

fn check(request: &Request, hosts: &Hosts) -> Result<(), Problem> {
    let mut said = request.headers().get_all(header::HOST).iter();
    // A request with a whole URL means the host in it (RFC 9112, 3.2.2).
    let host = match (request.uri().authority(), said.next()) {
        (_, Some(_)) if said.next().is_some() => {
            return Err(Problem::bad_request("there are two Host headers; send one"));
        }
        (Some(authority), _) => authority.as_str(),
        (None, Some(host)) => host.to_str().unwrap_or_default().trim(),
        // Programs from before there were names; no browser is among them.
        (None, None) if request.version() < Version::HTTP_11 => return Ok(()),
        (None, None) => return Err(Problem::bad_request("there is no Host header; HTTP/1.1 needs one")),
    };
    let shown: String = host.chars().filter(|c| !c.is_control()).take(SAID_BYTES_MAX).collect();
    match hosts.knows(host) {
        Some(true) => Ok(()),
        Some(false) => Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "misdirected",
            format!(
                "this server is not called `{shown}`; call it {}, or name it in the setting allowed_hosts (PUNCTUAL_ALLOWED_HOSTS)",
                hosts.url
            ),
        )),
        None => Err(Problem::bad_request(format!("Host: `{shown}` is no host"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, url: &str, others: &[&str]) -> Hosts {
        let address = listen.replace("my-host", "10.0.0.5").parse().unwrap();
        Hosts::new(listen, address, url, others.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn a_server_knows_its_own_names_and_no_others() {
        let local =
            hosts("127.0.0.1:7373", "https://Reminders.example.org/punctual", &["bot.internal", "*.example.com"]);
        let everywhere = hosts("0.0.0.0:7373", "http://127.0.0.1:7373", &[]);
        let at_one = hosts("my-host:7373", "http://10.0.0.5:7373", &[]);
        let any = hosts("127.0.0.1:7373", "http://127.0.0.1:7373", &["*"]);
        for (host, expect) in [
            ("localhost:7373", [true, true, true, true]),
            ("LOCALHOST", [true, true, true, true]),
            ("localhost.", [true, true, true, true]),
            ("punctual.localhost:8080", [true, true, true, true]),
            ("127.0.0.1:7373", [true, true, true, true]),
            ("127.8.9.1", [true, true, true, true]),
            ("[::1]:7373", [true, true, true, true]),
            ("reminders.example.org", [true, false, false, true]),
            ("reminders.example.org:8443", [true, false, false, true]),
            ("other.example.org", [false, false, false, true]),
            ("bot.internal:7373", [true, false, false, true]),
            ("a.example.com", [true, false, false, true]),
            ("a.b.example.com", [true, false, false, true]),
            ("example.com", [false, false, false, true]),
            ("badexample.com", [false, false, false, true]),
            ("my-host:7373", [false, false, true, true]),
            ("10.0.0.5:7373", [false, true, true, true]),
            ("10.0.0.6", [false, true, false, true]),
            ("[2001:db8::1]:80", [false, true, false, true]),
            ("evil.example", [false, false, false, true]),
            ("localhost.evil.example", [false, false, false, true]),
            ("127.0.0.1.evil.example:7373", [false, false, false, true]),
        ] {
            let known = [&local, &everywhere, &at_one, &any].map(|hosts| hosts.knows(host));
            assert_eq!(known, expect.map(Some), "{host}");
        }
        for wrong in ["a b", "user@localhost", "localhost/x", "[::1", "a:b:c"] {
            assert_eq!(local.knows(wrong), None, "{wrong}");
        }
        assert_ne!(local.knows(""), Some(true));
    }
}
