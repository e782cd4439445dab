//! TLS against a server with valid and invalid certificates, generated for the test.

use dyno_core::error::{Kind, Result};
use dyno_core::plan::Target;
use dyno_generator::transport::endpoint::Endpoint;
use dyno_generator::transport::link::Link;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(120);

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server that echoes four bytes over TLS, once.
fn serve(authority: &CertifiedIssuer<'static, KeyPair>, name: &str, expired: bool) -> u16 {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if expired {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    }
    let certificate = params.signed_by(&key, authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    serve_by(config)
}

/// A server that admits clients with a certificate of the authority.
fn serve_known(authority: &CertifiedIssuer<'static, KeyPair>) -> u16 {
    let (certificate, key) = issued(authority);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let known = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(known.build().unwrap())
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    serve_by(config)
}

/// A certificate and its key, as PEM.
fn issued(authority: &CertifiedIssuer<'static, KeyPair>) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

fn serve_by(config: ServerConfig) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = Stream::new(&mut tls, &mut socket);
        let mut bytes = [0; 4];
        // A client that refuses the certificate disconnects: the server then has nothing to echo.
        if stream.read_exact(&mut bytes).is_ok() {
            let _ = stream.write_all(&bytes);
        }
    });
    port
}

fn echo(port: u16, tls: &serde_json::Value) -> Result<Vec<u8>> {
    echo_with(port, tls, &serde_json::json!({}))
}

fn echo_with(port: u16, tls: &serde_json::Value, extras: &serde_json::Value) -> Result<Vec<u8>> {
    let target: Target = serde_json::from_value(serde_json::json!({
        "driver": "mysql", "address": {"tcp": {"host": "127.0.0.1", "port": port}}, "tls": tls,
        "tls_extras": extras
    }))
    .unwrap();
    let endpoint = Endpoint::resolve(&target)?;
    let deadline = Instant::now() + TIMEOUT;
    let mut link = Link::open_blocking(&endpoint, deadline)?;
    let mut plain = Vec::new();
    link.encrypt_blocking(&endpoint, &mut plain, deadline)?;
    link.send_all(b"ping", deadline)?;
    while plain.len() < 4 {
        link.receive_some(&mut plain, deadline)?;
    }
    Ok(plain)
}

fn pem(directory: &Path, authority: &CertifiedIssuer<'static, KeyPair>) -> serde_json::Value {
    let path = directory.join("ca.pem");
    std::fs::write(&path, authority.pem()).unwrap();
    serde_json::json!({"ca": path})
}

#[test]
fn a_good_certificate_is_accepted() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), authority());
    let port = serve(&authority, "127.0.0.1", false);
    assert_eq!(echo(port, &pem(directory.path(), &authority)).unwrap(), b"ping");
}

#[test]
fn bad_certificates_are_refused_and_say_why() {
    let (directory, own) = (tempfile::tempdir().unwrap(), authority());
    let ca = pem(directory.path(), &own);
    for (port, word) in [
        (serve(&authority(), "127.0.0.1", false), "not trusted"),
        (serve(&own, "other.example", false), "another host name"),
        (serve(&own, "127.0.0.1", true), "expired"),
    ] {
        let error = echo(port, &ca).unwrap_err();
        assert_eq!(error.kind, Kind::Authentication);
        assert!(error.what.contains("certificate") && error.what.contains(word), "{error}");
        assert!(error.what.contains(&format!("127.0.0.1:{port}")) && !error.hint.is_empty());
    }
}

#[test]
fn a_chain_is_checked_and_the_name_is_not() {
    let (directory, own) = (tempfile::tempdir().unwrap(), authority());
    let chain = serde_json::json!({"chain": pem(directory.path(), &own)["ca"]});
    assert_eq!(echo(serve(&own, "other.example", false), &chain).unwrap(), b"ping");
    for (port, word) in [
        (serve(&authority(), "127.0.0.1", false), "not trusted"),
        (serve(&own, "other.example", true), "expired"),
    ] {
        let error = echo(port, &chain).unwrap_err();
        assert!(error.what.contains(word), "{error}");
    }
}

#[test]
fn a_client_certificate_is_shown_and_needed_where_the_server_wants_one() {
    let (directory, own) = (tempfile::tempdir().unwrap(), authority());
    let files = |authority, name: &str| {
        let (certificate, key) = issued(authority);
        let (at, of) = (directory.path().join(name), directory.path().join(format!("{name}-key")));
        std::fs::write(&at, certificate).unwrap();
        std::fs::write(&of, key).unwrap();
        serde_json::json!({"certificate": at, "key": of})
    };
    let (known, stranger) = (files(&own, "known"), files(&authority(), "stranger"));
    let require = serde_json::json!("require");
    assert_eq!(echo_with(serve_known(&own), &require, &known).unwrap(), b"ping");
    for extras in [serde_json::json!({}), stranger.clone()] {
        let error = echo_with(serve_known(&own), &require, &extras).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
    let mixed = serde_json::json!({"certificate": known["certificate"], "key": stranger["key"]});
    let error = echo_with(1, &require, &mixed).unwrap_err();
    assert!(
        error.what.contains("stranger-key") && error.hint.contains("belong together"),
        "{error}"
    );
}

#[test]
fn require_and_prefer_encrypt_whatever_the_certificate() {
    for word in ["require", "prefer"] {
        let port = serve(&authority(), "other.example", true);
        assert_eq!(echo(port, &serde_json::json!(word)).unwrap(), b"ping");
    }
}

#[test]
fn a_server_that_does_not_speak_tls_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 100]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = echo(port, &serde_json::json!("require")).unwrap_err();
    assert!(error.what.contains("not TLS"), "{error}");
}
