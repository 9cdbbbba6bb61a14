//! Which servers are trusted: those that this machine trusts.
//!
//! To read a machine's certificates takes milliseconds, and every client would read them again. So they are read once, for the
//! first secure connection: a server that starts waits for none of this, and one that speaks plain HTTP alone never reads them.

use std::fmt;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Protocols in the order in which they are preferred.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
static MACHINE: LazyLock<Result<Verifier, Error>> = LazyLock::new(|| Verifier::new(Arc::clone(&PROVIDER)));

/// How a client of HTTP makes secure connections.
pub(crate) fn tls() -> ClientConfig {
    // Libraries that make connections of their own take the process's provider. If the program has chosen one, that choice stands.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&PROVIDER))
        .with_safe_default_protocol_versions()
        .expect("ring has suites for every version of TLS that rustls speaks")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OfMachine))
        .with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    config
}

/// Asks the machine's own verifier, which is made when it is first asked. Where a machine has no certificates, as a bare container
/// has none, every secure connection fails and says why.
struct OfMachine;

impl OfMachine {
    fn verifier() -> Result<&'static Verifier, Error> {
        MACHINE.as_ref().map_err(Error::clone)
    }
}

impl fmt::Debug for OfMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfMachine")
    }
}

impl ServerCertVerifier for OfMachine {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Self::verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::verifier()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::verifier()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{CertificateError, ClientConnection, ServerConfig, ServerConnection};

    use super::*;

    #[test]
    fn a_server_for_which_nobody_vouches_is_refused() {
        let dir = std::env::temp_dir().join(format!("punctual-trust-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (key, certificate) = (dir.join("key.pem"), dir.join("certificate.pem"));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=nobody vouches"]);
        openssl.args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]);
        let made = openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("left out: openssl is not installed, which makes the certificate");
            return;
        }
        let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
        let key = PrivateKeyDer::from_pem_file(&key).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let server = ServerConfig::builder_with_provider(Arc::clone(&PROVIDER)).with_safe_default_protocol_versions();
        let server = server.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(Arc::new(tls()), name).unwrap();

        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        server.read_tls(&mut hello.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).unwrap();
        }
        client.read_tls(&mut answer.as_slice()).unwrap();
        let refused = client.process_new_packets().unwrap_err();
        assert!(matches!(refused, Error::InvalidCertificate(CertificateError::UnknownIssuer)), "{refused}");
    }
}
