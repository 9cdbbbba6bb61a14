//! The server that the command line talks to: how it is found, and the key that opens it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use punctual_client::http::StatusCode;
use punctual_client::http::header::AUTHORIZATION;
use punctual_client::{
    Client, DEFAULT_URL, Failure, Http, Refused, Request, Response, Transport, Unusable, bearer, is_same_server,
};

use crate::config::{Config, Secret, process_env};
use crate::serve::place;
use crate::wire::Problem;

/// Finds the server: the flag, `PUNCTUAL_URL`, the one that runs on this data directory, the default.
pub(crate) fn client(flag: Option<&str>, config: &Config) -> Result<Client, Unusable> {
    let announced = place::announced(&config.data_dir);
    let asked = flag.map(str::to_owned).or_else(|| process_env("PUNCTUAL_URL"));
    let url = asked.or_else(|| announced.as_ref().map(|server| server.url.clone()));
    let url = url.unwrap_or_else(|| DEFAULT_URL.into());
    // A certificate is seldom for the address by which a program on the same machine calls: this one server is known by its own.
    let cert =
        announced.as_ref().filter(|server| is_same_server(&url, &server.url)).and_then(|server| server.cert.clone());
    let pem = cert.filter(|_| url.starts_with("https:")).and_then(|cert| std::fs::read(cert).ok());
    let known = pem.map(|pem| Http::new(&url).map(|http| http.with_certificate(&pem))).transpose()?.flatten();
    let key = match (process_env("PUNCTUAL_API_KEY"), announced) {
        (Some(key), _) => Key::Given(Secret::new(key)),
        // The key is for the server that made it, and for no other.
        (None, Some(server)) if is_same_server(&url, &server.url) => {
            Key::Made { data_dir: config.data_dir.clone(), now: Mutex::new(server.key) }
        }
        (None, _) => Key::None,
    };
    let http = known.map_or_else(|| Http::new(&url), Ok)?;
    Ok(Client::over(Server { http, key }))
}

/// A server and the key to it.
struct Server {
    http: Http,
    key: Key,
}

/// The key to a server.
enum Key {
    None,
    /// It was given to us.
    Given(Secret),
    /// The server of this data directory made it for users of this machine. Another start makes another.
    Made {
        data_dir: PathBuf,
        now: Mutex<Secret>,
    },
}

#[async_trait]
impl Transport for Server {
    fn name(&self) -> &str {
        self.http.name()
    }

    async fn ask(&self, request: Request) -> Result<Response, Failure> {
        let mut response = self.http.ask(self.signed(&request)).await?;
        if response.status() == StatusCode::UNAUTHORIZED && self.key.renew(self.name()) {
            response = self.http.ask(self.signed(&request)).await?;
        }
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let problem: Option<Problem> = serde_json::from_slice(&response.into_body().bytes().await?).ok();
        let words = self.key.refused(self.name(), problem.as_ref());
        Err(Failure::Refused(Box::new(Refused { status: StatusCode::UNAUTHORIZED, problem, words })))
    }
}

impl Server {
    /// The request with the key that counts now.
    fn signed(&self, request: &Request) -> Request {
        let mut request = request.clone();
        if let Some(key) = self.key.get().and_then(|key| bearer(key.expose())) {
            request.headers_mut().insert(AUTHORIZATION, key);
        }
        request
    }
}

impl Key {
    fn get(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Given(key) => Some(key.clone()),
            Self::Made { now, .. } => Some(now.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// Takes the key that a later start of the server at `url` made; false when there is none.
    fn renew(&self, url: &str) -> bool {
        let Self::Made { data_dir, now } = self else { return false };
        let server = place::announced(data_dir);
        let Some(server) = server.filter(|server| is_same_server(url, &server.url)) else { return false };
        let mut now = now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = now.expose() != server.key.expose();
        *now = server.key;
        is_other
    }

    /// What to tell a person whose key the server at `url` does not accept.
    fn refused(&self, url: &str, problem: Option<&Problem>) -> String {
        match self {
            Self::None => format!("the server at {url} asks for a key; set PUNCTUAL_API_KEY"),
            Self::Made { .. } => format!(
                "what listens at {url} is not the server of this data directory: that one has stopped; start it with \
                 `punctual serve`, or set PUNCTUAL_URL and PUNCTUAL_API_KEY"
            ),
            Self::Given(_) => {
                let detail = problem.map_or("unauthorized", |problem| problem.detail.as_str());
                format!("the server at {url} does not accept the key: {detail}; set PUNCTUAL_API_KEY")
            }
        }
    }
}
