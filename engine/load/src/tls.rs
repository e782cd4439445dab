//! TLS by rustls with the ring provider: the five words of the plan, and certificate errors in
//! words a user can act on.
//!
//! `require` and `prefer` encrypt without looking at the certificate, as libpq's `sslmode=require`
//! and MySQL's `--ssl-mode=REQUIRED` do: they keep out listeners, not impostors.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Tls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// The configuration for one word of the plan; `None` for `off`.
///
/// # Errors
/// [`Kind::Authentication`] when the root certificates cannot be read.
pub fn client_config(tls: &Tls) -> Result<Option<Arc<ClientConfig>>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Kind::System, format!("TLS cannot be set up: {error}")))?;
    let config = match tls {
        Tls::Off => return Ok(None),
        Tls::Verify => builder.with_root_certificates(system_roots()?).with_no_client_auth(),
        Tls::Ca(path) => builder.with_root_certificates(roots_of(path)?).with_no_client_auth(),
        Tls::Require | Tls::Prefer => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
            .with_no_client_auth(),
    };
    Ok(Some(Arc::new(config)))
}

/// The name that the server's certificate must carry.
///
/// # Errors
/// [`Kind::Plan`] for a host that is neither a DNS name nor an IP address.
pub fn server_name(host: &str) -> Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        Error::new(Kind::Plan, format!("{host} is not a name that a certificate can carry"))
            .hint("use a DNS name or an IP address, or tls: off")
    })
}

/// An encryption error as the user should read it; `label` is the server's address.
pub fn explain(label: &str, error: &rustls::Error) -> Error {
    let (what, hint) = match error {
        rustls::Error::InvalidCertificate(reason) => return explain_certificate(label, reason),
        rustls::Error::NoCertificatesPresented => (
            "the server sent no certificate".to_owned(),
            "give the server a certificate, or use tls: off",
        ),
        rustls::Error::AlertReceived(alert) => (
            format!("the server refused the TLS handshake ({alert:?})"),
            "check the server's TLS versions, ciphers and whether it wants client certificates",
        ),
        rustls::Error::InvalidMessage(_) => {
            ("the server's answer is not TLS".to_owned(), "check address and port, or use tls: off")
        }
        other => {
            (format!("TLS failed: {other}"), "check the server's TLS settings, or use tls: off")
        }
    };
    Error::new(Kind::Authentication, format!("{label}: {what}")).hint(hint)
}

fn explain_certificate(label: &str, reason: &CertificateError) -> Error {
    let (what, hint) = match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "has expired".to_owned(),
            "renew it, or use tls: require to encrypt without checking it",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("is not valid yet".to_owned(), "compare the clocks of this machine and of the server")
        }
        // A wrong signature: an authority of the same name and another key, made anew perhaps.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (
            "is signed by an authority that is not trusted here".to_owned(),
            "name the authority's file with tls: ca:FILE, or use tls: require to encrypt without checking",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "is for another host name".to_owned(),
            "connect by the name in the certificate, or use tls: require to encrypt without checking",
        ),
        other => (
            format!("is not acceptable ({other:?})"),
            "give the server a proper certificate, or use tls: require to encrypt without checking",
        ),
    };
    Error::new(Kind::Authentication, format!("{label}: the server's certificate {what}")).hint(hint)
}

fn system_roots() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(Error::new(
            Kind::Authentication,
            "this system has no trusted root certificates",
        )
        .hint("install ca-certificates, or name the authority's file with tls: ca:FILE"));
    }
    Ok(roots)
}

fn roots_of(path: &Path) -> Result<RootCertStore> {
    let unusable = |why: String| {
        Error::new(Kind::Authentication, format!("tls ca file {}: {why}", path.display()))
            .hint("it must be a readable PEM file with the authority's certificate")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| unusable(e.to_string()))? {
        let certificate = certificate.map_err(|e| unusable(e.to_string()))?;
        roots.add(certificate).map_err(|e| unusable(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("holds no certificate".to_owned()));
    }
    Ok(roots)
}

/// Accepts every certificate. Signatures are not checked either: without a trusted certificate they
/// prove nothing, and servers' self-made certificates are often too old in form to be parsed.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_check_nothing_need_no_roots() {
        assert!(client_config(&Tls::Off).unwrap().is_none());
        assert!(client_config(&Tls::Require).unwrap().is_some());
        assert!(client_config(&Tls::Prefer).unwrap().is_some());
    }

    #[test]
    fn a_missing_or_empty_ca_file_is_named() {
        let error = client_config(&Tls::Ca("no/such/file.pem".into())).unwrap_err();
        assert_eq!(error.kind, Kind::Authentication);
        assert!(error.what.contains("no/such/file.pem"), "{error}");
    }

    #[test]
    fn certificate_errors_say_what_to_do() {
        for (reason, word) in [
            (CertificateError::Expired, "expired"),
            (CertificateError::UnknownIssuer, "not trusted"),
            (CertificateError::NotValidForName, "another host name"),
            (CertificateError::BadEncoding, "not acceptable"),
        ] {
            let error = explain("db:3306", &rustls::Error::InvalidCertificate(reason));
            assert_eq!(error.kind, Kind::Authentication);
            assert!(error.what.starts_with("db:3306") && error.what.contains(word), "{error}");
            assert!(!error.hint.is_empty());
        }
    }
}
