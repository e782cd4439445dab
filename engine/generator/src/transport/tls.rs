//! TLS by rustls with the ring provider: the plan's modes, client certificates, cipher selection,
//! and certificate errors with advice for the user.
//!
//! `require` and `prefer` encrypt without verifying the certificate, as libpq's `sslmode=require`
//! and MySQL's `--ssl-mode=REQUIRED` do: they protect against eavesdroppers, not against impostors.
//! `chain` is libpq's `verify-ca` and MySQL's `VERIFY_CA`: it trusts every certificate of the authority.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Tls, TlsExtras};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, CipherSuite, ClientConfig, ConfigBuilder, DigitallySignedStruct,
    RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// OpenSSL names of the provider's ciphers: those up to TLS 1.2, then those of TLS 1.3.
const CIPHERS: [(&str, CipherSuite); 9] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
];

/// The configuration for a TLS mode of the plan; `None` for `off`.
///
/// # Errors
/// [`Kind::Authentication`] when certificates or keys cannot be read, [`Kind::Plan`] for an unknown
/// cipher or a certificate without its key.
pub fn client_config(tls: &Tls, extras: &TlsExtras) -> Result<Option<Arc<ClientConfig>>> {
    let provider = Arc::new(provider(&extras.ciphers)?);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Kind::System, format!("TLS cannot be set up: {error}")))?;
    let builder = match tls {
        Tls::Off => return Ok(None),
        Tls::Verify => builder.with_root_certificates(system_roots()?),
        Tls::Ca(path) => builder.with_root_certificates(roots_of(path)?),
        Tls::Chain(path) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(ChainOnly {
                roots: roots_of(path)?,
                provider,
            }))
        }
        Tls::Require | Tls::Prefer => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
        }
    };
    with_identity(builder, extras).map(Arc::new).map(Some)
}

/// All ciphers that ring supports, or the requested ones, in the requested order.
fn provider(ciphers: &[String]) -> Result<CryptoProvider> {
    let mut provider = ring::default_provider();
    if ciphers.is_empty() {
        return Ok(provider);
    }
    let all = std::mem::take(&mut provider.cipher_suites);
    for name in ciphers {
        let known = CIPHERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let suite = known.and_then(|(_, suite)| all.iter().find(|have| have.suite() == *suite));
        let Some(suite) = suite else {
            let names: Vec<_> = CIPHERS.iter().map(|(name, _)| *name).collect();
            return Err(Error::new(Kind::Plan, format!("TLS cipher {name} is not to be had"))
                .hint(format!("remove it, or use some of {}", names.join(", "))));
        };
        provider.cipher_suites.push(*suite);
    }
    Ok(provider)
}

/// Adds the client's certificate, if there is one.
fn with_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    extras: &TlsExtras,
) -> Result<ClientConfig> {
    let (certificate, key) = match (&extras.certificate, &extras.key) {
        (None, None) => return Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => (certificate, key),
        (certificate, _) => {
            let (is, misses) = match certificate {
                Some(_) => ("certificate", "key"),
                None => ("key", "certificate"),
            };
            let what = format!("tls: there is a client {is} and no client {misses}");
            return Err(Error::new(Kind::Plan, what).hint("give both files, or none"));
        }
    };
    let chain = certificates_of("certificate", certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        unusable("key", key, &error)
            .hint("it must be a readable PEM file with a private key, without a pass phrase")
    })?;
    builder.with_client_auth_cert(chain, secret).map_err(|error| {
        unusable("key", key, &error)
            .hint("key and certificate must belong together, as RSA of 2048 bits or more, ECDSA or Ed25519")
    })
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

/// Converts a TLS error to an error for the user; `label` is the server's address.
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
        // A wrong signature: an authority with the same name and another key, perhaps recreated.
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
    let mut roots = RootCertStore::empty();
    for certificate in certificates_of("ca", path)? {
        roots.add(certificate).map_err(|error| unusable("ca", path, &error))?;
    }
    Ok(roots)
}

/// All certificates of a PEM file: at least one.
fn certificates_of(what: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(what, path, &error))?;
    if found.is_empty() {
        return Err(unusable(what, path, &"holds no certificate"));
    }
    Ok(found)
}

fn unusable(what: &str, path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Authentication, format!("tls {what} file {}: {why}", path.display()))
        .hint("it must be a readable PEM file with a certificate")
}

/// Accepts every valid certificate that the authorities have signed, for any name; the server must prove
/// that it has the key.
#[derive(Debug)]
struct ChainOnly {
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ChainOnly {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(end_entity)?,
            &self.roots,
            intermediates,
            now,
            self.provider.signature_verification_algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts every certificate without checking signatures, which prove nothing without a trusted
/// certificate. Self-signed certificates of servers are often in too old a format to be parsed.
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

    fn config(tls: &Tls) -> Result<Option<Arc<ClientConfig>>> {
        client_config(tls, &TlsExtras::default())
    }

    #[test]
    fn words_that_check_nothing_need_no_roots() {
        assert!(config(&Tls::Off).unwrap().is_none());
        assert!(config(&Tls::Require).unwrap().is_some());
        assert!(config(&Tls::Prefer).unwrap().is_some());
    }

    #[test]
    fn a_missing_or_empty_ca_file_is_named() {
        for tls in [Tls::Ca("no/such/file.pem".into()), Tls::Chain("no/such/file.pem".into())] {
            let error = config(&tls).unwrap_err();
            assert_eq!(error.kind, Kind::Authentication);
            assert!(error.what.contains("ca file no/such/file.pem"), "{error}");
        }
    }

    #[test]
    fn ciphers_are_those_asked_for_or_refused() {
        let with = |names: &[&str]| TlsExtras {
            ciphers: names.iter().map(|name| (*name).to_owned()).collect(),
            ..TlsExtras::default()
        };
        for (name, suite) in CIPHERS {
            let config = client_config(&Tls::Require, &with(&[name])).unwrap().unwrap();
            let offered: Vec<_> =
                config.crypto_provider().cipher_suites.iter().map(|s| s.suite()).collect();
            assert_eq!(offered, [suite], "{name}");
        }
        let error = client_config(&Tls::Require, &with(&["DHE-RSA-AES256-SHA"])).unwrap_err();
        assert_eq!(error.kind, Kind::Plan);
        assert!(error.what.contains("DHE-RSA-AES256-SHA") && error.hint.contains("ECDHE-RSA"));
    }

    #[test]
    fn a_client_certificate_needs_its_key() {
        let error = |certificate: Option<&str>, key: Option<&str>| {
            let extras = TlsExtras {
                certificate: certificate.map(Into::into),
                key: key.map(Into::into),
                ciphers: vec![],
            };
            client_config(&Tls::Require, &extras).unwrap_err().to_string()
        };
        assert!(error(Some("c"), None).contains("no client key"));
        assert!(error(None, Some("k")).contains("no client certificate"));
        assert!(error(Some("no/c.pem"), Some("no/k.pem")).contains("no/c.pem"));
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
