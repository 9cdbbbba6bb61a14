//! TLS on the listening socket, with a certificate that is read again when its files change.
//!
//! Nothing watches the files: a new connection has them looked at, at most once a second, so that a server that nobody calls does
//! nothing. A pair of files that cannot be used is told of once, and the certificate from before stays.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use punctual_core::clock::Clock;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::socket::Socket;

/// How often the files are looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The largest file that is read. Those that people have are much smaller.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The first byte of every TLS connection.
const HANDSHAKE: u8 = 0x16;
/// What somebody is told who speaks HTTP without TLS.
const PLAIN: &str = concat!(
    r#"{"type":"about:blank","title":"Bad Request","status":400,"code":"https_only","#,
    r#""detail":"this server speaks HTTPS; begin the URL with https://"}"#
);

/// Where the certificate and its key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate, and those between it and one that clients trust (PEM).
    pub(crate) cert: PathBuf,
    /// Its private key (PEM).
    pub(crate) key: PathBuf,
}

/// TLS for the connections of one listener.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
    looked: Mutex<Looked>,
    clock: Arc<dyn Clock>,
}

/// What the files were like when they were last looked at.
struct Looked {
    at: Duration,
    stamps: [Option<Stamp>; 2],
}

/// Tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

/// The certificate that new connections get.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Tls {
    /// Reads the files, or says what is wrong with them.
    pub(crate) fn open(files: TlsFiles, clock: Arc<dyn Clock>) -> Result<Arc<Self>, String> {
        let provider = Arc::new(default_provider());
        let stamps = files.stamps();
        let current = Arc::new(Current(RwLock::new(Arc::new(files.load(&provider)?))));
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| format!("TLS cannot be set up: {error}"))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let looked = Mutex::new(Looked { at: clock.run_for(), stamps });
        Ok(Arc::new(Self { files, current, acceptor: TlsAcceptor::from(Arc::new(config)), looked, clock }))
    }

    /// Reads the files again, whether they have changed or not.
    pub(crate) fn reload(&self) {
        self.looked().stamps = self.files.stamps();
        match self.files.load(&default_provider()) {
            Ok(key) => {
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                tracing::info!("the certificate in {} was read again", self.files.cert.display());
            }
            Err(problem) => tracing::warn!("{problem}; the certificate from before stays"),
        }
    }

    /// Reads the files again if they have changed since they were last looked at.
    fn refresh(&self) {
        let stamps = self.files.stamps();
        if self.looked().stamps != stamps {
            self.reload();
        }
    }

    /// Greets a client, which gets the newest certificate.
    pub(super) async fn greet(self: &Arc<Self>, mut socket: Socket) -> io::Result<TlsStream<Socket>> {
        let mut first = [0];
        // A client that says nothing is closed by the rule for those who send no head.
        if socket.stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
            return Err(refuse_plain(&mut socket, first[0]).await);
        }
        if self.is_time_to_look() {
            let this = Arc::clone(self);
            // Only a panic could end it otherwise, and then the certificate from before does.
            let _ = tokio::task::spawn_blocking(move || this.refresh()).await;
        }
        self.acceptor.accept(socket).await
    }

    fn is_time_to_look(&self) -> bool {
        let now = self.clock.run_for();
        let mut looked = self.looked();
        let is_time = now.saturating_sub(looked.at) >= LOOK_EVERY;
        if is_time {
            looked.at = now;
        }
        is_time
    }

    fn looked(&self) -> MutexGuard<'_, Looked> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a client that speaks plain HTTP what would be right.
async fn refuse_plain(socket: &mut Socket, first: u8) -> io::Error {
    if first.is_ascii_alphabetic() {
        // What was sent is taken first: a connection that is closed on unread bytes loses its answer.
        let _ = socket.stream.try_read(&mut [0; 16 * 1024]);
        let length = PLAIN.len();
        let answer = format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{PLAIN}"
        );
        let _ = socket.write_all(answer.as_bytes()).await;
        let _ = socket.shutdown().await;
    }
    io::Error::new(io::ErrorKind::InvalidData, "the client does not speak TLS")
}

impl TlsFiles {
    fn stamps(&self) -> [Option<Stamp>; 2] {
        [stamp(&self.cert), stamp(&self.key)]
    }

    /// The certificate with its key. What is wrong is said without anything of the key.
    fn load(&self, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
        let wrong =
            |setting: &str, path: &Path, problem: &dyn Display| format!("{setting}: {} {problem}", path.display());
        let cert = |problem: &dyn Display| wrong("tls_cert", &self.cert, problem);
        let key = |problem: &dyn Display| wrong("tls_key", &self.key, problem);

        let text = read(&self.cert).map_err(|error| cert(&error))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let chain = chain.map_err(|error| cert(&format!("is no file of certificates (PEM): {error}")))?;
        if chain.is_empty() {
            return Err(cert(&"has no certificate in it; it must have one as PEM (-----BEGIN CERTIFICATE-----)"));
        }
        let text = read(&self.key).map_err(|error| key(&error))?;
        let private = PrivateKeyDer::from_pem_slice(&text).map_err(|_| match is_encrypted(&text) {
            true => key(&"is encrypted; write it without a passphrase, readable by this program's user alone"),
            false => key(&"has no private key in it; it must have one as PEM (-----BEGIN PRIVATE KEY-----)"),
        })?;
        CertifiedKey::from_der(chain, private, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                key(&format!("is not the key of the certificate in {}", self.cert.display()))
            }
            rustls::Error::InvalidCertificate(_) => cert(&format!("has a certificate that cannot be read: {error}")),
            error => key(&format!("cannot be used: {error}")),
        })
    }
}

fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    let bytes = std::fs::metadata(path).map_err(cannot)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("is {bytes} bytes long, which no certificate and no key is"));
    }
    std::fs::read(path).map_err(cannot)
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    Some(Stamp { modified: found.modified().ok(), bytes: found.len(), inode })
}

#[cfg(test)]
mod tests {
    use super::PLAIN;
    use crate::wire::{self, Problem};

    #[test]
    fn plain_http_is_refused_with_a_problem_that_is_described() {
        let problem: Problem = serde_json::from_str(PLAIN).unwrap();
        assert!(wire::is_described(problem.status, &problem.code), "{problem:?}");
    }
}
