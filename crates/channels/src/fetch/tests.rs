//! Over the network and TLS. The guard admits no address of this machine, so the client is told that `calendar.example` is here, as a public
//! name would be somewhere else; all that a redirect names is looked up as ever.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;

const CLOSED: Guard = Guard::test(false);
const MEGABYTE: usize = 1024 * 1024;

/// A server of calendars on this machine, with a certificate of its own.
struct Server {
    address: SocketAddr,
    trusts_it: ClientConfig,
    /// The heads of the requests that came.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request with what `answer` writes; `None`, and a line about it, where openssl is not installed.
    fn start(answer: impl Fn(&str, u16, &mut dyn Write) + Send + Sync + 'static) -> Option<Self> {
        let dir = tempfile();
        let made = certificate(&dir);
        let read = made.then(|| {
            let certificate = CertificateDer::from_pem_file(dir.join("certificate.pem")).unwrap();
            (certificate, PrivateKeyDer::from_pem_file(dir.join("key.pem")).unwrap())
        });
        std::fs::remove_dir_all(&dir).unwrap();
        let Some((certificate, key)) = read else {
            punctual_testkit::report::left_out(
                "fetching over TLS: openssl is not installed, which makes the certificate",
            );
            return None;
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let trusts_it = client.unwrap().with_root_certificates(roots).with_no_client_auth();
        let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = server.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (heads, config, answer) = (Arc::clone(&asked), Arc::new(config), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heads, config, answer) = (Arc::clone(&heads), Arc::clone(&config), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let secure = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                    let mut secure = BufReader::new(secure);
                    let mut head = String::new();
                    // A client that hangs up ends the line, and has asked for nothing.
                    while secure.read_line(&mut head).is_ok_and(|n| n > 2) {}
                    if head.ends_with("\r\n\r\n") {
                        heads.lock().unwrap().push(head.clone());
                        answer(&head, address.port(), secure.get_mut());
                    }
                });
            }
        });
        Some(Self { address, trusts_it, asked })
    }

    fn fetcher(&self, bytes_max: usize) -> Fetcher {
        let client = builder(CLOSED)
            .tls_backend_preconfigured(self.trusts_it.clone())
            .resolve("calendar.example", self.address)
            .build()
            .unwrap();
        Fetcher { client, guard: CLOSED, bytes_max }
    }

    fn url(&self, path: &str) -> String {
        format!("https://calendar.example:{}{path}", self.address.port())
    }

    fn n_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn tempfile() -> std::path::PathBuf {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("punctual-fetch-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Makes a certificate for every name that the server is called by.
fn certificate(dir: &Path) -> bool {
    let names = "subjectAltName=DNS:calendar.example,DNS:localhost,IP:127.0.0.1";
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=calendars"]);
    openssl.args(["-addext", names, "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(dir.join("key.pem")).arg("-out").arg(dir.join("certificate.pem"));
    openssl.output().is_ok_and(|made| made.status.success())
}

/// Says where the text is, by the first word of the path asked for.
fn redirecting(head: &str, port: u16, to: &mut dyn Write) {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let location = match path {
        "/moved" => format!("https://calendar.example:{port}/work.ics"),
        "/by-address" => format!("https://127.0.0.1:{port}/secret"),
        "/by-name" => format!("https://localhost:{port}/secret"),
        "/mapped" => format!("https://[::ffff:127.0.0.1]:{port}/secret"),
        "/metadata" => "https://169.254.169.254/latest/meta-data".to_owned(),
        "/plain" => format!("http://calendar.example:{port}/work.ics"),
        "/file" => "file:///etc/passwd".to_owned(),
        "/circle" => format!("https://calendar.example:{port}/circle"),
        _ => {
            let _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntext");
            return;
        }
    };
    let _ = write!(to, "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

#[tokio::test]
async fn a_redirect_is_followed_but_not_into_a_private_network() {
    let Some(server) = Server::start(redirecting) else { return };
    let fetcher = server.fetcher(MEGABYTE);
    let fetched = fetcher.fetch(&server.url("/moved"), None, None).await;
    assert!(
        matches!(&fetched, Ok(Fetched::Text { text, .. }) if text == "text"),
        "the way itself is open: {fetched:?}"
    );
    assert_eq!(server.n_asked(), 2);

    for (path, host) in [
        ("/by-address", "127.0.0.1"),
        ("/by-name", "localhost"),
        ("/mapped", "::ffff:127.0.0.1"),
        ("/metadata", "169.254.169.254"),
    ] {
        let before = server.n_asked();
        let refused = fetcher.fetch(&server.url(path), None, None).await;
        let Err(FetchError::Refused(why)) = refused else { panic!("{path}: {refused:?}") };
        assert_eq!(why, format!("{host} is a private address; set allow_private to allow it"), "{path}");
        assert_eq!(server.n_asked(), before + 1, "{path}: the private address was asked");
    }
}

#[tokio::test]
async fn a_redirect_without_https_or_in_circles_is_not_followed() {
    let Some(server) = Server::start(redirecting) else { return };
    let fetcher = server.fetcher(MEGABYTE);
    for (path, n_asked) in [("/plain", 1), ("/file", 1), ("/circle", HOPS_MAX + 1)] {
        let before = server.n_asked();
        let failed = fetcher.fetch(&server.url(path), None, None).await;
        let Err(FetchError::Later(why)) = failed else { panic!("{path}: {failed:?}") };
        assert!(why.starts_with("calendar.example ") && !why.contains(path), "{path}: {why}");
        assert_eq!(server.n_asked() - before, n_asked, "{path}: {why}");
    }
}

#[tokio::test]
async fn a_server_is_asked_whether_the_text_is_another_than_before() {
    let Some(server) = Server::start(|head, _, to| {
        let head = head.to_lowercase();
        let is_known = head.contains("if-none-match: \"7\"\r\n") || head.contains("if-modified-since: monday\r\n");
        let _ = match is_known {
            true => write!(to, "HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\nConnection: close\r\n\r\n"),
            false => write!(
                to,
                "HTTP/1.1 200 OK\r\nETag: \"7\"\r\nLast-Modified: monday\r\nCache-Control: private, max-age=3600\r\n\
                 Content-Length: 4\r\nConnection: close\r\n\r\ntext"
            ),
        };
    }) else {
        return;
    };
    let (fetcher, url) = (server.fetcher(MEGABYTE), server.url("/work.ics"));
    for (etag, modified) in [(None, None), (Some("\"6\""), None), (None, Some("sunday"))] {
        let Ok(Fetched::Text { text, etag, modified, max_age }) = fetcher.fetch(&url, etag, modified).await else {
            panic!("{etag:?} {modified:?}")
        };
        assert_eq!((text.as_str(), etag.as_deref(), modified.as_deref()), ("text", Some("\"7\""), Some("monday")));
        assert_eq!(max_age, Some(Duration::from_secs(3600)));
    }
    for (etag, modified) in [(Some("\"7\""), None), (None, Some("monday")), (Some("\"7\""), Some("monday"))] {
        let fetched = fetcher.fetch(&url, etag, modified).await;
        assert!(matches!(fetched, Ok(Fetched::Unchanged)), "{etag:?} {modified:?}: {fetched:?}");
    }
}

#[tokio::test]
async fn a_text_is_read_to_its_bound_whatever_the_server_says_of_its_length() {
    let Some(server) = Server::start(|head, _, to| {
        let (n_bytes, said) = match head.split(' ').nth(1).unwrap_or_default() {
            "/whole" => (MEGABYTE, format!("Content-Length: {MEGABYTE}\r\n")),
            "/said" => (2 * MEGABYTE, format!("Content-Length: {}\r\n", 2 * MEGABYTE)),
            // It says nothing, and never ends.
            _ => (usize::MAX, String::new()),
        };
        let _ = write!(to, "HTTP/1.1 200 OK\r\n{said}Connection: close\r\n\r\n");
        let part = [b'a'; 16 * 1024];
        for _ in 0..n_bytes / part.len() {
            // The client hangs up.
            if to.write_all(&part).is_err() {
                return;
            }
        }
    }) else {
        return;
    };
    let fetcher = server.fetcher(MEGABYTE);
    let Ok(Fetched::Text { text, .. }) = fetcher.fetch(&server.url("/whole"), None, None).await else {
        panic!("a text of the bound's length is read")
    };
    assert_eq!(text.len(), MEGABYTE);
    for path in ["/said", "/endless"] {
        let refused = fetcher.fetch(&server.url(path), None, None).await;
        let Err(FetchError::Refused(why)) = refused else { panic!("{path}: it was read") };
        assert_eq!(why, "calendar.example sends more than 1 MB");
    }
}
