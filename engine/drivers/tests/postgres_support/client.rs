//! A blocking socket loop around the driver's wire: a minimal transport.

use super::cluster::Cluster;
use dyno_core::Result;
use dyno_core::driver::{Cancel, Progress, Reply, ServerError, Session, Task, Wire};
use dyno_core::error::{Error, Kind};
use dyno_core::plan::{Address, Protocol, Secret, Target, Tls};
use dyno_core::workload::{Request, Transaction};
use dyno_drivers::postgres;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Longer than any test here takes, so that a hang becomes a failure.
const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// `user` over the Unix socket, in the database `postgres`.
    pub fn local(&self, user: &str) -> Target {
        Target {
            driver: "postgres".into(),
            address: Address::Unix(self.socket()),
            user: user.into(),
            password: Secret("pencil".into()),
            database: "postgres".into(),
            protocol: Protocol::Prepared,
            tls: Tls::Off,
            tls_extras: dyno_core::plan::TlsExtras::default(),
            login: Default::default(),
            session_sql: Vec::new(),
            read_only: false,
            options: Default::default(),
        }
    }

    /// `user` over TCP.
    pub fn tcp(&self, user: &str) -> Target {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: self.port };
        Target { address, ..self.local(user) }
    }
}

/// A transport stream.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A logged-in session.
pub struct Client {
    wire: Box<dyn Wire>,
    stream: Box<dyn Stream>,
    inbox: Vec<u8>,
    address: Address,
}

impl Client {
    /// Logs in and prepares `statements`.
    pub fn connect(target: &Target, statements: &[Request]) -> Result<Self> {
        let driver = (postgres::KIND.build)(target, statements.into())?;
        let Session::Wire(mut wire) = driver.session(0)? else { panic!("postgres is a wire") };
        let stream = open(&target.address)?;
        let mut out = Vec::new();
        wire.connected(matches!(target.address, Address::Unix(_)), &mut out);
        let address = target.address.clone();
        let mut client = Self { wire, stream, inbox: Vec::new(), address };
        client.send(&out)?;
        match client.progress()? {
            Progress::Ready => return Ok(client),
            Progress::StartTls => {}
            other => panic!("{other:?} instead of Ready"),
        }
        assert!(client.inbox.is_empty(), "nothing may be left over before TLS");
        client.stream = encrypt(client.stream);
        out.clear();
        client.wire.tls_established(&mut out);
        client.send(&out)?;
        assert_eq!(client.progress()?, Progress::Ready);
        Ok(client)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(lost)
    }

    /// Reads until the wire reports progress.
    fn progress(&mut self) -> Result<Progress> {
        let mut out = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            let (used, progress) = self.wire.receive(&self.inbox, &mut out)?;
            self.inbox.drain(..used);
            self.send(&out)?;
            out.clear();
            if progress != Progress::More {
                return Ok(progress);
            }
            let count = self.stream.read(&mut piece).map_err(lost)?;
            if count == 0 {
                return Err(Error::new(Kind::Connection, "end of file"));
            }
            self.inbox.extend_from_slice(&piece[..count]);
        }
    }

    /// Waits for the reply to the request in flight.
    pub fn reply(&mut self) -> Result<Reply> {
        match self.progress()? {
            Progress::Reply(reply) => Ok(reply),
            other => panic!("{other:?} instead of a reply"),
        }
    }

    /// Sends a statement as text without waiting.
    pub fn start(&mut self, sql: &str) {
        let mut out = Vec::new();
        self.wire.query(sql, &mut out);
        self.send(&out).expect("sends");
    }

    /// Runs a statement given as text.
    pub fn query(&mut self, sql: &str) -> Result<Reply> {
        self.start(sql);
        self.reply()
    }

    /// Runs a statement that must succeed.
    pub fn run(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(reply.error, None, "{sql}");
        reply
    }

    /// Executes a task that must succeed.
    pub fn carry_out(&mut self, task: Task<'_>) {
        let mut out = Vec::new();
        assert!(self.wire.task(task, &mut out));
        self.send(&out).expect("sends");
        assert_eq!(self.reply().expect("replies").error, None, "{task}");
    }

    /// The single value of a query.
    pub fn value(&mut self, sql: &str) -> Option<String> {
        assert_eq!(self.run(sql).rows, 1, "{sql}");
        self.wire.first_row()[0].clone()
    }

    /// Runs statement number `statement` with the parameters that `fill` pushes.
    pub fn execute(&mut self, statement: u16, fill: impl FnOnce(&mut Transaction)) -> Reply {
        let mut tx = Transaction::default();
        fill(&mut tx);
        tx.op(statement);
        let mut out = Vec::new();
        self.wire.request(&tx.ops[0], &tx, &mut out);
        self.send(&out).expect("sends");
        self.reply().expect("replies")
    }

    /// Loads rows in the bulk format, in pieces of `piece` bytes.
    pub fn copy(&mut self, table: &str, columns: &[&str], rows: &[u8], piece: usize) -> Reply {
        let mut out = Vec::new();
        self.wire.bulk(table, columns, &mut out);
        self.send(&out).expect("sends");
        match self.progress().expect("answers") {
            Progress::WantData => {}
            Progress::Reply(reply) => return reply,
            other => panic!("{other:?} instead of WantData"),
        }
        for rows in rows.chunks(piece) {
            out.clear();
            self.wire.bulk_data(rows, &mut out);
            self.send(&out).expect("sends");
        }
        out.clear();
        self.wire.bulk_end(&mut out);
        self.send(&out).expect("sends");
        self.reply().expect("replies")
    }

    /// Cancels the session's current request from another connection.
    pub fn cancel(&self) {
        let Cancel::Packet(packet) = self.wire.cancel() else { panic!("no key") };
        let mut stream = open(&self.address).expect("connects");
        stream.write_all(&packet).expect("sends");
        assert_eq!(stream.read(&mut [0; 1]).expect("closed"), 0);
    }

    /// Terminates the session; the server must close the connection.
    pub fn quit(mut self) {
        let mut out = Vec::new();
        self.wire.quit(&mut out);
        self.send(&out).expect("sends");
        assert_eq!(self.stream.read(&mut [0; 1]).expect("closes"), 0);
    }
}

/// The server's error in a reply.
pub fn refusal(reply: Reply) -> ServerError {
    *reply.error.expect("refused")
}

/// Converts the transport's error to the driver's.
pub fn lost(error: std::io::Error) -> Error {
    Error::new(Kind::Connection, error.to_string())
}

/// Opens a transport to a server.
pub fn open(address: &Address) -> Result<Box<dyn Stream>> {
    match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).map_err(lost)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
            stream.set_nodelay(true).map_err(lost)?;
            Ok(Box::new(stream))
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(lost)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
            Ok(Box::new(stream))
        }
        other => panic!("{other:?}"),
    }
}

/// TLS that trusts any certificate: the tests cover the TLS handshake, not the verification.
pub fn encrypt(stream: Box<dyn Stream>) -> Box<dyn Stream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    Box::new(rustls::StreamOwned::new(connection, stream))
}

#[derive(Debug)]
struct AnyCertificate(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
