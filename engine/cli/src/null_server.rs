//! `dyno-engine null-server`: a server that speaks the MySQL protocol and executes nothing, so that a run
//! against it measures the cost of the load generator.
//!
//! One thread with one epoll reads each ready socket once and answers by one write from a prebuilt buffer,
//! at once or after a delay (`held`). With `--record` the server logs the time that each request spent in
//! it (`record`), for comparison with a client's latencies. It accepts any login, and listens on 127.0.0.1
//! and optionally on a Unix socket. It prints `{"port":P}` when ready, and on SIGTERM, SIGINT or the end of
//! standard input `{"requests":N,"cpu_s":x,"wall_s":y,"busy":0.7}`, measured while clients were connected.
//! The end of standard input is noticed if that is a pipe or a terminal.
//!
//! Sources: MySQL client/server protocol, "Connection Phase" and "Command Phase"; epoll(7),
//! signalfd(2), timerfd_create(2).

mod answers;
mod connection;
mod delay;
mod held;
mod options;
mod record;
mod system;

use answers::Answers;
use connection::{Connection, Desk, Next};
use delay::Delays;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::shown::shown;
use dyno_generator::machine;
use held::Held;
use options::Options;
use record::{Batch, Record};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use system::{Poller, Signals, Timer};

/// Runs the server until a signal or the end of standard input. `args` are the arguments after
/// `null-server`. Returns the exit code: 0, or 2 with the reason on standard error.
pub fn main(args: &[String]) -> i32 {
    if matches!(args, [only] if only == "--help" || only == "-h") {
        return crate::output::text(options::HELP);
    }
    let done =
        Options::parse(args).and_then(|options| run(&options).map_err(|why| why.to_string()));
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("dyno-engine null-server: {}", shown(&why));
            2
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    system::die_with_parent()?;
    if let Some(cpu) = options.cpu {
        system::pin(cpu)?;
    }
    machine::raise_descriptor_limit()?;
    let mut server = Server::new(options, io::stdin().as_fd().try_clone_to_owned()?.into())?;
    say(&serde_json::json!({ "port": server.port()? }))?;
    server.serve()?;
    let (requests, cpu_s, wall_s) = server.spent();
    server.desk.record.take().map_or(Ok(()), Record::write)?;
    let busy = if wall_s > 0.0 { cpu_s / wall_s } else { 0.0 };
    say(&serde_json::json!({
        "requests": requests, "cpu_s": cpu_s, "wall_s": wall_s, "busy": busy
    }))
}

struct Server {
    poller: Poller,
    tcp: TcpListener,
    unix: Option<UnixSocket>,
    signals: Signals,
    /// Standard input, at whose end the server stops.
    input: File,
    timer: Timer,
    desk: Desk,
    delays: Delays,
    held: Held,
    /// Indexed by file descriptor.
    connections: Vec<Option<Connection>>,
    serial: u64,
    meter: Meter,
    /// A reserved descriptor, released to accept and close a connection when descriptors run out.
    spare: Option<File>,
}

/// A listening Unix socket; removes its file when dropped.
struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Maximum number of bytes per read from a socket.
const BUFFER_BYTES: usize = 64 << 10;

impl Server {
    fn new(options: &Options, input: File) -> io::Result<Self> {
        let tcp = TcpListener::bind(("127.0.0.1", options.port))?;
        tcp.set_nonblocking(true)?;
        // The standard library's backlog of 128 is too short for thousands of simultaneous connects.
        system::listen(&tcp)?;
        let unix = options.socket.as_deref().map(bind_unix).transpose()?;
        let (poller, signals, timer) = (Poller::new()?, Signals::new()?, Timer::new()?);
        for descriptor in [tcp.as_raw_fd(), signals.as_raw_fd(), timer.as_raw_fd()] {
            poller.add(descriptor)?;
        }
        if let Some(unix) = &unix {
            poller.add(unix.listener.as_raw_fd())?;
        }
        // A regular file or /dev/null cannot be polled, and its end does not matter.
        match poller.add(input.as_raw_fd()) {
            Err(why) if why.kind() != io::ErrorKind::PermissionDenied => return Err(why),
            _ => {}
        }
        Ok(Self {
            poller,
            tcp,
            unix,
            signals,
            input,
            timer,
            desk: Desk {
                answers: Answers::new(options.rows),
                buffer: vec![0; BUFFER_BYTES].into(),
                out: Vec::with_capacity(BUFFER_BYTES),
                record: options.record.as_deref().map(Record::create).transpose()?,
            },
            delays: Delays::new(options.delay),
            held: Held::default(),
            connections: vec![],
            serial: 0,
            meter: Meter::default(),
            spare: Some(File::open("/dev/null")?),
        })
    }

    fn port(&self) -> io::Result<u16> {
        Ok(self.tcp.local_addr()?.port())
    }

    /// Number of requests, CPU time in s, and wall time in s, while clients were connected.
    fn spent(&mut self) -> (u64, f64, f64) {
        self.meter.stop();
        let (cpu, wall) = (self.meter.cpu, self.meter.wall);
        (self.desk.answers.requests, cpu.as_secs_f64(), wall.as_secs_f64())
    }

    /// Serves until a signal or the end of `input`.
    fn serve(&mut self) -> io::Result<()> {
        let tcp = self.tcp.as_raw_fd();
        let unix = self.unix.as_ref().map_or(-1, |unix| unix.listener.as_raw_fd());
        let mut events = system::Events::default();
        loop {
            for event in self.poller.wait(&mut events)? {
                let descriptor = event.descriptor;
                if let Some(Some(_)) = self.connections.get(descriptor as usize) {
                    self.ready(descriptor, event.writable)?;
                } else if descriptor == tcp {
                    self.accept_all(|server| {
                        server.tcp.accept().map(|(stream, _)| {
                            let _ = stream.set_nodelay(true);
                            stream.into()
                        })
                    })?;
                } else if descriptor == unix {
                    self.accept_all(|server| match &server.unix {
                        Some(unix) => unix.listener.accept().map(|(stream, _)| stream.into()),
                        None => Err(io::ErrorKind::WouldBlock.into()),
                    })?;
                } else if descriptor == self.timer.as_raw_fd() {
                    self.send_due()?;
                } else if descriptor == self.signals.as_raw_fd()
                    || (descriptor == self.input.as_raw_fd() && self.input_ended())
                {
                    return Ok(());
                }
            }
        }
    }

    fn accept_all(
        &mut self,
        mut accept: impl FnMut(&mut Self) -> io::Result<OwnedFd>,
    ) -> io::Result<()> {
        loop {
            match accept(self) {
                Ok(socket) => self.welcome(socket)?,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.raw_os_error() == Some(libc::EMFILE) => {
                    // Otherwise the listener would stay ready and the loop would spin.
                    self.spare = None;
                    drop(accept(self));
                    self.spare = File::open("/dev/null").ok();
                    eprintln!("dyno-engine null-server: out of descriptors: raise `ulimit -n`");
                }
                // The client has already disconnected.
                Err(_) => {}
            }
        }
    }

    fn welcome(&mut self, socket: OwnedFd) -> io::Result<()> {
        system::set_nonblocking(&socket)?;
        let index = socket.as_raw_fd() as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.poller.add(socket.as_raw_fd())?;
        self.serial += 1;
        self.meter.open();
        let mut connection = Connection::new(File::from(socket), self.serial);
        let next = connection.send(self.desk.answers.greeting(), Batch::default(), &mut None);
        self.connections[index] = Some(connection);
        self.settle(index, next)
    }

    fn ready(&mut self, descriptor: RawFd, writable: bool) -> io::Result<()> {
        let index = descriptor as usize;
        let Some(connection) = &mut self.connections[index] else { return Ok(()) };
        let next = if writable {
            connection.send_pending(&mut self.desk.record)
        } else if self.delays.are_none() {
            connection.serve(&mut self.desk)
        } else {
            let (next, batch) = connection.collect(&mut self.desk);
            if !self.desk.out.is_empty() {
                let now_ns = MonotonicClock.now_ns();
                // Answers to a client that pipelines requests stay in order.
                let due_ns = connection.due_ns.max(now_ns + self.delays.next_ns());
                connection.due_ns = due_ns;
                let to = (descriptor, connection.serial);
                if self.held.add(due_ns, to, self.desk.out.as_slice().into(), batch) {
                    self.timer.arm(Duration::from_nanos(due_ns - now_ns))?;
                }
            }
            next
        };
        self.settle(index, next)
    }

    fn send_due(&mut self) -> io::Result<()> {
        self.timer.clear();
        while let Some(answer) = self.held.take_due(MonotonicClock.now_ns()) {
            let index = answer.socket as usize;
            if let Some(Some(connection)) = self.connections.get_mut(index)
                && connection.serial == answer.serial
            {
                let next = connection.send(&answer.bytes, answer.batch, &mut self.desk.record);
                self.settle(index, next)?;
            }
        }
        match self.held.first_ns() {
            Some(due_ns) => {
                let wait_ns = due_ns.saturating_sub(MonotonicClock.now_ns());
                self.timer.arm(Duration::from_nanos(wait_ns))
            }
            None => Ok(()),
        }
    }

    fn settle(&mut self, index: usize, next: Next) -> io::Result<()> {
        match next {
            Next::Same => Ok(()),
            Next::AwaitWritable => self.poller.await_writable(index as RawFd),
            Next::AwaitReadable => self.poller.await_readable(index as RawFd),
            Next::Close => {
                self.connections[index] = None;
                self.meter.close();
                Ok(())
            }
        }
    }

    /// Whether the input, which is ready, has ended. Its content is discarded.
    fn input_ended(&mut self) -> bool {
        !matches!(self.input.read(&mut [0; 64]), Ok(1..))
    }
}

fn bind_unix(path: &std::path::Path) -> io::Result<UnixSocket> {
    let listener = UnixListener::bind(path)
        .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))?;
    listener.set_nonblocking(true)?;
    system::listen(&listener)?;
    Ok(UnixSocket { listener, path: path.to_path_buf() })
}

/// Prints one line of JSON. A broken pipe is not an error.
fn say(line: &serde_json::Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(why),
        _ => Ok(()),
    }
}

/// Measures CPU time and wall time while clients are connected.
#[derive(Default)]
struct Meter {
    open: u64,
    since: Option<(Instant, Duration)>,
    cpu: Duration,
    wall: Duration,
}

impl Meter {
    fn open(&mut self) {
        self.open += 1;
        if self.since.is_none() {
            self.since = Some((Instant::now(), system::cpu_time()));
        }
    }

    fn close(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.stop();
        }
    }

    fn stop(&mut self) {
        if let Some((start, cpu)) = self.since.take() {
            self.wall += start.elapsed();
            self.cpu += system::cpu_time().saturating_sub(cpu);
        }
    }
}

#[cfg(test)]
mod tests;
