//! A relay in this process, and toy servers behind it.

#![allow(dead_code)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Patience with what must happen.
pub const SOON: Duration = Duration::from_secs(60);
/// A port of loopback that nobody listens on, and that the kernel gives to nobody.
pub const NOBODY: ([u8; 4], u16) = ([127, 0, 0, 1], 1);
/// Patience with what must not happen.
pub const AWHILE: Duration = Duration::from_millis(300);

/// A running relay. Dropping it ends its input.
pub struct Relay {
    commands: UnixStream,
    answers: BufReader<UnixStream>,
    pub thread: JoinHandle<std::io::Result<()>>,
}

impl Relay {
    pub fn start() -> Self {
        let (commands, input) = UnixStream::pair().unwrap();
        let (output, answers) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || dyno_relay::serve(input, output));
        Self { commands, answers: BufReader::new(answers), thread }
    }

    pub fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Listens under the name `db`; the address.
    pub fn listen(&mut self, to: SocketAddr, link: Value) -> SocketAddr {
        let mut link = link;
        link["to"] = json!(to.to_string());
        let done = self.ask(&json!({"do": "listen", "name": "db", "link": link}));
        let port = done["port"].as_u64().unwrap_or_else(|| panic!("{done}"));
        (Ipv4Addr::LOCALHOST, port as u16).into()
    }

    pub fn change(&mut self, link: Value) -> Value {
        let done = self.ask(&json!({"do": "change", "name": "db", "link": link}));
        assert_eq!(done["done"], "db", "{done}");
        done
    }

    pub fn end(self) {
        drop(self.commands);
        self.thread.join().unwrap().unwrap();
    }
}

/// A server that has `serve` handle each connection in a thread.
pub fn server(serve: impl Fn(TcpStream) + Send + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Sends back what it receives, and the end.
pub fn echo() -> SocketAddr {
    server(|mut stream| {
        stream.set_nodelay(true).unwrap();
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
    })
}

/// Greets with a word and then echoes one byte at a time.
pub fn greeter(word: &'static str) -> SocketAddr {
    server(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        let mut byte = [0];
        let _ = stream.write_all(word.as_bytes());
        while let Ok(1) = stream.read(&mut byte) {
            let _ = stream.write_all(&byte);
        }
    })
}

pub fn client(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Sends bytes and receives as many.
pub fn exchange(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, bytes);
}

pub fn word(stream: &mut TcpStream, bytes: usize) -> String {
    let mut word = vec![0; bytes];
    stream.read_exact(&mut word).unwrap();
    String::from_utf8(word).unwrap()
}

/// Whether it becomes true.
pub fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + SOON;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Whether nothing arrives for a while.
pub fn is_silent(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(AWHILE)).unwrap();
    let outcome = stream.read(&mut [0]);
    stream.set_read_timeout(Some(SOON)).unwrap();
    matches!(outcome, Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Whether the connection is reset, before any byte.
pub fn is_reset(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Err(why) if why.kind() == ErrorKind::ConnectionReset)
}

/// Whether a new client is reset: once it is connected, or before its call has returned.
pub fn is_turned_away(address: SocketAddr) -> bool {
    match TcpStream::connect(address) {
        Ok(mut stream) => {
            stream.set_read_timeout(Some(SOON)).unwrap();
            is_reset(&mut stream)
        }
        Err(why) => why.kind() == ErrorKind::ConnectionReset,
    }
}

/// What a toy name server says of every name: an address and its TTL; `None`: there is no such name.
pub type Record = Arc<Mutex<Option<(Ipv4Addr, u32)>>>;

pub fn name_server(record: &Record) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let record = Arc::clone(record);
    std::thread::spawn(move || {
        let mut message = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut message) {
            let mut reply = message[..length].to_vec();
            reply[2] |= 0x80;
            match *record.lock().unwrap() {
                None => reply[3] = 3,
                Some((ip, ttl_s)) => {
                    reply[7] = 1;
                    reply.extend([0xc0, 12, 0, 1, 0, 1]);
                    reply.extend(ttl_s.to_be_bytes());
                    reply.extend([0, 4]);
                    reply.extend(ip.octets());
                }
            }
            socket.send_to(&reply, from).unwrap();
        }
    });
    address
}

/// A link to the server on a port of the address that a name has.
pub fn resolve(server: SocketAddr, port: u16, keep_s: Option<f64>) -> Value {
    json!({"resolve": {
        "name": "db.dyno.test", "server": server.to_string(), "port": port, "keep_s": keep_s,
    }})
}
