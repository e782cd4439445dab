//! A connection: a non-blocking socket, plain or encrypted, that never blocks and never spins.
//!
//! Workers drive a [`Link`] from their own poll loop. [`wait`](Link::wait) and the methods based on
//! it (`open_blocking`, `send_all`, `receive_some`, `encrypt_blocking`) serve control connections
//! and populating, where one thread waits for one answer.

use crate::transport::endpoint::Endpoint;
use crate::transport::tls;
use dyno_core::error::{Error, Kind, Result};
use rustls::ClientConnection;
use socket2::Socket;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// One connection to a server.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    label: Arc<str>,
    tls: Option<Box<ClientConnection>>,
    /// Bytes that the kernel did not accept yet: at most one request, sent when the socket is writable.
    unsent: Vec<u8>,
}

impl Link {
    /// Opens a socket and begins to connect. If the second value is true, it is connected already;
    /// otherwise wait until it is writable and call [`connected`](Self::connected).
    ///
    /// # Errors
    /// [`Kind::Connection`] when refused at once, [`Kind::System`] when out of descriptors or ports.
    pub fn open(endpoint: &Endpoint, attempt: usize) -> Result<(Self, bool)> {
        let (socket, connected) = endpoint
            .open(attempt)
            .map_err(|error| explain(endpoint.label(), "cannot connect", &error))?;
        let link =
            Self { socket, label: Arc::clone(endpoint.label()), tls: None, unsent: Vec::new() };
        Ok((link, connected))
    }

    /// The outcome of connecting, once the socket is writable.
    ///
    /// # Errors
    /// [`Kind::Connection`]: refused, unreachable, timed out.
    pub fn connected(&self) -> Result<()> {
        let outcome = self.socket.take_error().and_then(|pending| match pending {
            Some(error) => Err(error),
            None => self.socket.peer_addr().map(drop),
        });
        outcome.map_err(|error| explain(&self.label, "cannot connect", &error))
    }

    /// The descriptor, for polling.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The peer's name in messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether received bytes must go through [`decrypt`](Self::decrypt).
    #[inline]
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether the TLS handshake is in progress.
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether to call [`flush`](Self::flush) when the socket is writable.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Receives available bytes, still encrypted on an encrypted link: `None` when there are none, 0 at
    /// the end of the stream.
    ///
    /// # Errors
    /// The system's, unchanged, since this is the hot path; [`lost`](Self::lost) explains it.
    #[inline]
    pub fn receive_raw(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            // SAFETY: the pointer and length describe `buffer`, which outlives the call.
            let n = unsafe { libc::recv(self.fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            if n >= 0 {
                return Ok(Some(n as usize));
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
    }

    /// Sends bytes, encrypting them if the link is encrypted. Buffers what the kernel does not accept:
    /// see [`has_unsent`](Self::has_unsent). Returns the number of system calls.
    ///
    /// # Errors
    /// The system's, unchanged.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<u32> {
        if self.tls.is_none() && self.unsent.is_empty() {
            let sent = send_some(self.fd(), bytes)?;
            self.unsent.extend_from_slice(&bytes[sent..]);
            return Ok(1);
        }
        match &mut self.tls {
            Some(tls) => {
                io::Write::write_all(&mut tls.writer(), bytes)?;
                take_ciphertext(tls, &mut self.unsent)?;
            }
            None => self.unsent.extend_from_slice(bytes),
        }
        self.flush()
    }

    /// Sends the buffered bytes. Returns the number of system calls.
    ///
    /// # Errors
    /// The system's, unchanged.
    pub fn flush(&mut self) -> io::Result<u32> {
        if self.unsent.is_empty() {
            return Ok(0);
        }
        let sent = send_some(self.fd(), &self.unsent)?;
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            // A bulk load must not leave every session with a large idle buffer.
            self.unsent.shrink_to(KEEP_BYTES);
        }
        Ok(1)
    }

    /// Begins the TLS handshake; pass received bytes to [`decrypt`](Self::decrypt) until
    /// [`is_handshaking`](Self::is_handshaking) returns false.
    ///
    /// # Errors
    /// [`Kind::Protocol`] when the plan states `off` but the server requires TLS.
    pub fn start_tls(&mut self, endpoint: &Endpoint) -> Result<()> {
        let Some((config, name)) = endpoint.tls() else {
            return Err(Error::new(
                Kind::Protocol,
                format!("{}: TLS is off in the plan", self.label),
            ));
        };
        let mut tls = ClientConnection::new(Arc::clone(config), name.clone())
            .map_err(|error| tls::explain(&self.label, &error))?;
        tls.set_buffer_limit(None);
        take_ciphertext(&mut tls, &mut self.unsent).map_err(|error| self.lost(&error))?;
        self.tls = Some(Box::new(tls));
        self.flush().map_err(|error| self.lost(&error))?;
        Ok(())
    }

    /// Decrypts received bytes, appends the plain ones to `plain`, and sends handshake messages.
    ///
    /// # Errors
    /// [`Kind::Authentication`] for an unacceptable certificate or a refused handshake.
    pub fn decrypt(&mut self, mut raw: &[u8], plain: &mut Vec<u8>) -> Result<()> {
        let Some(tls) = &mut self.tls else {
            plain.extend_from_slice(raw);
            return Ok(());
        };
        while !raw.is_empty() {
            tls.read_tls(&mut raw)
                .map_err(|error| explain(&self.label, "connection lost", &error))?;
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // Best effort: send the server the TLS alert before the connection closes.
                    if take_ciphertext(tls, &mut self.unsent).is_ok() {
                        let _ = self.flush();
                    }
                    return Err(tls::explain(&self.label, &error));
                }
            };
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            tls.reader()
                .read_exact(&mut plain[start..])
                .map_err(|error| explain(&self.label, "connection lost", &error))?;
        }
        if tls.wants_write() {
            take_ciphertext(tls, &mut self.unsent)
                .and_then(|()| self.flush())
                .map_err(|error| explain(&self.label, "connection lost", &error))?;
        }
        Ok(())
    }

    /// Converts a system error on this link to an error for the user.
    pub fn lost(&self, error: &io::Error) -> Error {
        explain(&self.label, "connection lost", error)
    }

    /// The error of an ended stream, for the user.
    pub fn closed(&self) -> Error {
        Error::new(Kind::Connection, format!("{}: the server closed the connection", self.label))
            .hint("look into the server's error log: it may have crashed, been stopped, or refused us")
    }
}

/// Blocking use of one connection, outside the workers.
impl Link {
    /// Waits until the socket is readable (or, with `writable`, writable).
    ///
    /// # Errors
    /// [`Kind::Connection`] when the deadline passes.
    pub fn wait(&self, writable: bool, deadline: Instant) -> Result<()> {
        let events = if writable { libc::POLLOUT } else { libc::POLLIN };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout_ms = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
            let mut poll = libc::pollfd { fd: self.fd(), events, revents: 0 };
            // SAFETY: `poll` is one valid pollfd.
            let n = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
            if n > 0 {
                return Ok(());
            }
            if n == 0 && left.is_zero() {
                return Err(self.too_late());
            }
            if n < 0 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(self.lost(&error));
                }
            }
        }
    }

    fn too_late(&self) -> Error {
        Error::new(Kind::Connection, format!("{}: no answer in time", self.label))
            .hint("the server hangs or is overloaded: look into its error log and process list")
    }

    /// Connects, trying each address of the name in turn, and waits for the outcome.
    ///
    /// # Errors
    /// [`Kind::Connection`], of the last address tried.
    pub fn open_blocking(endpoint: &Endpoint, deadline: Instant) -> Result<Self> {
        let mut attempt = 0;
        loop {
            let outcome = Self::open(endpoint, attempt).and_then(|(link, connected)| {
                if !connected {
                    link.wait(true, deadline)?;
                    link.connected()?;
                }
                Ok(link)
            });
            attempt += 1;
            match outcome {
                Ok(link) => {
                    endpoint.succeeded(attempt - 1);
                    return Ok(link);
                }
                Err(error) if attempt == endpoint.candidates() => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Sends all bytes, waiting while the kernel's buffer is full.
    ///
    /// # Errors
    /// [`Kind::Connection`] when the connection breaks or the deadline passes.
    pub fn send_all(&mut self, bytes: &[u8], deadline: Instant) -> Result<()> {
        self.send(bytes).map_err(|error| self.lost(&error))?;
        while self.has_unsent() {
            self.wait(true, deadline)?;
            self.flush().map_err(|error| self.lost(&error))?;
        }
        Ok(())
    }

    /// Waits for bytes and appends them, decrypted, to `plain`; returns how many (at least 1). Fails past
    /// the deadline even if bytes are available, so that a server that never stops sending cannot hold
    /// the thread.
    ///
    /// # Errors
    /// [`Kind::Connection`] at the end of the stream or past the deadline; see also
    /// [`decrypt`](Self::decrypt).
    pub fn receive_some(&mut self, plain: &mut Vec<u8>, deadline: Instant) -> Result<usize> {
        let start = plain.len();
        let mut raw = [0; 16 * 1024];
        while plain.len() == start {
            if Instant::now() >= deadline {
                return Err(self.too_late());
            }
            match self.receive_raw(&mut raw).map_err(|error| self.lost(&error))? {
                Some(0) => return Err(self.closed()),
                Some(n) => self.decrypt(&raw[..n], plain)?,
                None => self.wait(false, deadline)?,
            }
        }
        Ok(plain.len() - start)
    }

    /// Encrypts the connection and waits for the end of the handshake. Appends plain bytes that follow
    /// it to `plain`.
    ///
    /// # Errors
    /// As [`start_tls`](Self::start_tls) and [`decrypt`](Self::decrypt).
    pub fn encrypt_blocking(
        &mut self,
        endpoint: &Endpoint,
        plain: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<()> {
        self.start_tls(endpoint)?;
        let mut raw = [0; 16 * 1024];
        while self.is_handshaking() {
            if self.has_unsent() {
                self.wait(true, deadline)?;
                self.flush().map_err(|error| self.lost(&error))?;
                continue;
            }
            match self.receive_raw(&mut raw).map_err(|error| self.lost(&error))? {
                Some(0) => return Err(self.closed()),
                Some(n) => self.decrypt(&raw[..n], plain)?,
                None => self.wait(false, deadline)?,
            }
        }
        Ok(())
    }
}

/// Capacity in bytes above which an idle buffer is shrunk.
const KEEP_BYTES: usize = 4096;

/// Calls `send` once; returns 0 when the kernel's buffer is full.
#[inline]
fn send_some(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length describe `bytes`, which outlives the call.
        let n = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        if n >= 0 {
            return Ok(n as usize);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock => return Ok(0),
            io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

fn take_ciphertext(tls: &mut ClientConnection, into: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(into)?;
    }
    Ok(())
}

fn explain(label: &str, what: &str, error: &io::Error) -> Error {
    let hint = match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => "is the server running, and listening there?",
        Some(libc::ENOENT) => "no such socket: is the server running, and is the path right?",
        Some(libc::EACCES | libc::EPERM) => "this user may not use it: check the permissions",
        Some(libc::EAGAIN) => "the server accepts connections too slowly: raise its backlog",
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => "check the network and the firewall",
        Some(libc::ETIMEDOUT) => "the host does not answer: check the network and the firewall",
        Some(libc::ECONNRESET | libc::EPIPE) => {
            "look into the server's error log: it may have crashed, been stopped, or refused us"
        }
        Some(libc::EMFILE | libc::ENFILE) => "too many open files: raise `ulimit -n`",
        Some(libc::EADDRNOTAVAIL) => "no free local port: use fewer sessions or a Unix socket",
        _ => "",
    };
    let kind = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS | libc::EADDRNOTAVAIL) => {
            Kind::System
        }
        _ => Kind::Connection,
    };
    let cause = error.to_string();
    let cause = cause.split(" (os error").next().unwrap_or(&cause).to_lowercase();
    Error::new(kind, format!("{label}: {what}: {cause}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::{Address, Target};
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn endpoint(port: u16) -> Endpoint {
        let target: Target = serde_json::from_value(serde_json::json!({
            "driver": "mysql", "address": {"tcp": {"host": "127.0.0.1", "port": port}}
        }))
        .unwrap();
        assert!(matches!(target.address, Address::Tcp { .. }));
        Endpoint::resolve(&target).unwrap()
    }

    #[test]
    fn bytes_go_both_ways_and_the_end_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = endpoint(listener.local_addr().unwrap().port());
        let mut link = Link::open_blocking(&endpoint, soon()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        link.send_all(b"ping", soon()).unwrap();
        let mut got = [0; 4];
        peer.read_exact(&mut got).unwrap();
        peer.write_all(b"pong").unwrap();
        let mut plain = Vec::new();
        while plain.len() < 4 {
            link.receive_some(&mut plain, soon()).unwrap();
        }
        drop(peer);
        assert_eq!((&got, plain.as_slice()), (b"ping", b"pong".as_slice()));
        let error = link.receive_some(&mut plain, soon()).unwrap_err();
        assert!(error.what.contains("closed the connection"), "{error}");
    }

    #[test]
    fn more_than_the_kernel_takes_is_kept_and_sent_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = endpoint(listener.local_addr().unwrap().port());
        let mut link = Link::open_blocking(&endpoint, soon()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let sent: Vec<u8> = (0..16_000_000_u32).map(|i| (i % 251) as u8).collect();
        link.send(&sent).unwrap();
        assert!(link.has_unsent(), "16 MB must not fit into the socket buffers");
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            peer.read_to_end(&mut got).map(|_| got)
        });
        link.send_all(b"!", soon()).unwrap();
        drop(link);
        let got = reader.join().unwrap().unwrap();
        assert!(got[..sent.len()] == sent[..] && got[sent.len()..] == *b"!");
    }

    #[test]
    fn a_server_that_always_has_bytes_is_not_read_past_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = endpoint(listener.local_addr().unwrap().port());
        let mut link = Link::open_blocking(&endpoint, soon()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"more").unwrap();
        link.wait(false, soon()).unwrap();
        let error = link.receive_some(&mut Vec::new(), Instant::now()).unwrap_err();
        assert!(error.what.contains("no answer in time") && !error.hint.is_empty(), "{error}");
    }

    #[test]
    fn a_refused_connection_names_address_and_cause() {
        // Nobody listens there, and the kernel gives that port to nobody.
        let error = Link::open_blocking(&endpoint(1), soon()).unwrap_err();
        assert_eq!(error.kind, Kind::Connection);
        assert!(error.what.contains("127.0.0.1:1"), "{error}");
        assert!(error.what.contains("refused") && !error.hint.is_empty(), "{error}");
    }

    #[test]
    fn an_unknown_host_is_named() {
        let target: Target = serde_json::from_value(serde_json::json!({
            "driver": "mysql", "address": {"tcp": {"host": "no-such-host.invalid", "port": 1}}
        }))
        .unwrap();
        let error = Endpoint::resolve(&target).unwrap_err();
        assert!(error.what.contains("no-such-host.invalid"), "{error}");
    }
}
