//! Address of a target. The name is resolved and the TLS roots are read once, before any clock
//! runs; all sessions share them.

use crate::transport::tls;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Target};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A resolved address and the TLS configuration for it.
#[derive(Debug)]
pub struct Endpoint {
    label: Arc<str>,
    candidates: Vec<SockAddr>,
    /// Index of the address that answered last: `localhost` often has two addresses and one listener.
    preferred: AtomicUsize,
    is_unix: bool,
    is_loopback: bool,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Endpoint {
    /// Resolves the target's address and reads its certificates.
    ///
    /// # Errors
    /// [`Kind::Plan`] for an address that is no socket or a bad socket path, [`Kind::Connection`]
    /// for an unknown host, [`Kind::Authentication`] for unusable certificates.
    pub fn resolve(target: &Target) -> Result<Self> {
        match &target.address {
            Address::Tcp { host, port } => Self::tcp(host, *port, target),
            Address::Unix(path) => {
                let address = SockAddr::unix(path).map_err(|error| {
                    Error::new(Kind::Plan, format!("socket path {}: {error}", path.display()))
                        .hint("a Unix socket's path has at most 107 bytes; use a shorter directory")
                })?;
                Ok(Self {
                    label: path.display().to_string().into(),
                    candidates: vec![address],
                    preferred: AtomicUsize::new(0),
                    is_unix: true,
                    is_loopback: true,
                    // A Unix socket never leaves the machine and needs no TLS.
                    tls: None,
                })
            }
            Address::File(_) | Address::None => Err(Error::new(
                Kind::Plan,
                format!("driver {} needs a tcp or unix address", target.driver),
            )),
        }
    }

    fn tcp(host: &str, port: u16, target: &Target) -> Result<Self> {
        let resolved = (host, port).to_socket_addrs().map_err(|error| {
            Error::new(Kind::Connection, format!("host {host} is unknown ({error})"))
                .hint("check the spelling, DNS and /etc/hosts")
        })?;
        let candidates: Vec<SockAddr> = resolved.map(SockAddr::from).collect();
        if candidates.is_empty() {
            return Err(Error::new(Kind::Connection, format!("host {host} has no address")));
        }
        let label =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Self {
            label: label.into(),
            candidates,
            preferred: AtomicUsize::new(0),
            is_unix: false,
            is_loopback: target.address.is_loopback(),
            tls: tls::client_config(&target.tls, &target.tls_extras)?
                .map(|config| tls::server_name(host).map(|name| (config, name)))
                .transpose()?,
        })
    }

    /// The name in messages: `host:port` or the socket's path.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Whether it is a Unix socket, for
    /// [`WireProtocol::connected`](dyno_core::driver::WireProtocol::connected).
    pub fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// Whether it refers to this machine: see [`Address::is_loopback`].
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// TLS configuration and name to verify; `None` if the plan states `off` or this is a Unix socket.
    pub fn tls(&self) -> Option<&(Arc<ClientConfig>, ServerName<'static>)> {
        self.tls.as_ref()
    }

    /// Number of addresses that the name has.
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Remembers that `attempt` connected, so that later sessions start with its address.
    pub fn succeeded(&self, attempt: usize) {
        let first = self.preferred.load(Ordering::Relaxed);
        self.preferred.store((first + attempt) % self.candidates.len(), Ordering::Relaxed);
    }

    /// Opens a non-blocking socket and begins to connect it; `attempt` 0 is the address that worked
    /// last, 1 the next one. The second value is true if it is connected already (Unix sockets).
    pub(crate) fn open(&self, attempt: usize) -> io::Result<(Socket, bool)> {
        let first = self.preferred.load(Ordering::Relaxed);
        let address = &self.candidates[(first + attempt) % self.candidates.len()];
        let domain = if self.is_unix { Domain::UNIX } else { address.domain() };
        let socket = Socket::new(domain, Type::STREAM.cloexec(), None)?;
        socket.set_nonblocking(true)?;
        if !self.is_unix {
            socket.set_tcp_nodelay(true)?;
        }
        match socket.connect(address) {
            Ok(()) => Ok((socket, true)),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((socket, false)),
            Err(error) => Err(error),
        }
    }
}
