//! What it means when a request ends without an answer.

use std::error::Error;
use std::io;
use std::time::Duration;

use punctual_core::channel::SendError;
use rustls::CertificateError;

use super::guard::PrivateAddress;

/// Names `error` by what to do next. `receiver` is who was called.
///
/// What surely did not arrive may be sent again; what was cut off after it may have been written is
/// unknown. In doubt it is unknown. Reqwest's own text is not used, because it repeats the whole URL.
pub(crate) fn name(error: &reqwest::Error, receiver: &str, timeout: Duration) -> SendError {
    if let Some(private) = find::<PrivateAddress>(error) {
        return SendError::Refused(private.to_string());
    }
    if error.is_builder() {
        return SendError::Unavailable(format!(
            "the request to {receiver} cannot be made; check the channel's settings"
        ));
    }
    if let Some(tls) = find::<rustls::Error>(error)
        && error.is_connect()
    {
        return SendError::Unavailable(format!("no secure connection to {receiver}: {}", explain(tls)));
    }
    if error.is_dns() {
        return SendError::Unavailable(format!("the name in {receiver} was not found: {}", root(error)));
    }
    if error.is_connect() {
        let why = if error.is_timeout() { "it took too long".to_owned() } else { root(error) };
        return SendError::Unavailable(format!("no connection to {receiver}: {why}"));
    }
    if error.is_timeout() {
        return SendError::Unknown(format!("no answer from {receiver} within {timeout:?}; it may have arrived"));
    }
    SendError::Unknown(format!(
        "the connection to {receiver} broke before an answer came ({}); it may have arrived",
        root(error)
    ))
}

fn explain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired".into(),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet; is the clock right?".into()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name".into()
            }
            CertificateError::UnknownIssuer => "its certificate is not issued by anyone this machine trusts".into(),
            CertificateError::Revoked => "its certificate was revoked".into(),
            other => format!("its certificate is not valid ({other})"),
        },
        rustls::Error::InvalidMessage(_) => "it does not speak TLS; is it http and not https?".into(),
        other => other.to_string(),
    }
}

/// The cause of this type among the causes of `error`.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// The text of the innermost cause.
fn root(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}

/// Everything beneath `error`. An I/O error hides what it wraps from `source`, so it is opened here.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let beneath = |error: &'a (dyn Error + 'static)| -> Option<&'a (dyn Error + 'static)> {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    };
    std::iter::successors(beneath(error), move |error| beneath(*error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_found_inside_an_io_error() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let outer = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        let found = find::<rustls::Error>(&outer).unwrap();
        assert_eq!(explain(found), "its certificate is not issued by anyone this machine trusts");
        assert_eq!(root(&outer), "invalid peer certificate: UnknownIssuer");
    }

    #[test]
    fn a_request_that_cannot_be_made_is_the_settings_fault() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let request = reqwest::Client::new().get("https://example.org").header("authorization", "a\nb").build();
        let expect = "the request to X cannot be made; check the channel's settings";
        assert_eq!(name(&request.unwrap_err(), "X", Duration::ZERO), SendError::Unavailable(expect.into()));
    }

    #[test]
    fn certificate_problems_are_said_in_words() {
        let explain = |problem| explain(&rustls::Error::InvalidCertificate(problem));
        assert_eq!(explain(CertificateError::Expired), "its certificate has expired");
        assert_eq!(explain(CertificateError::NotValidForName), "its certificate is for another name");
        assert_eq!(explain(CertificateError::BadSignature), "its certificate is not valid (BadSignature)");
    }
}
