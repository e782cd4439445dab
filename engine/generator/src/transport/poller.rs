//! Waiting for sockets or for a time: `epoll`, or simulated time.
//!
//! Edge-triggered, so that a socket is registered once a connection and never changed in the
//! steady state. Sources: epoll(7), epoll_pwait2(2).

use crate::machine;
use dyno_core::clock::{Clock, SimulatedClock};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;

/// More sockets than one process can have.
const PLACES_MAX: usize = 1 << 20;

/// Readiness of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token that the socket was registered with.
    pub token: u64,
    /// Bytes, the end of the stream or an error can be read.
    pub readable: bool,
    /// The socket is writable, or connecting has ended.
    pub writable: bool,
    /// The peer has closed its side, or the connection broke.
    pub is_closing: bool,
}

/// Waits for sockets or for a time.
pub trait Poller {
    /// Waits until a socket is ready or until `until_ns` on the clock whose present is `now_ns`;
    /// replaces `ready`. Returns whether nothing was ready at first, so that the thread slept.
    ///
    /// # Errors
    /// The system's.
    fn wait(&mut self, now_ns: u64, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<bool>;

    /// CPU time of the calling thread; all simulated time counts as work.
    fn worked_ns(&self, now_ns: u64) -> u64 {
        now_ns
    }

    /// Watches `fd` for readability and, with `writable`, for writability. `known`: `fd` is watched
    /// already.
    ///
    /// # Errors
    /// The system's: out of watches or memory.
    fn watch(&mut self, fd: RawFd, token: u64, writable: bool, known: bool) -> io::Result<()>;
}

/// Linux `epoll`.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event]>,
    /// `epoll_pwait2` (Linux 5.11) waits in nanoseconds, `epoll_wait` in milliseconds.
    has_pwait2: bool,
}

impl Epoll {
    /// Creates an instance that reports up to `sockets` at a time. With room for all of a worker's
    /// sockets, no ready socket waits for the answers of others without being counted in the lag.
    ///
    /// # Errors
    /// The system's: out of descriptors.
    pub fn new(sockets: usize) -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let places = sockets.clamp(1, PLACES_MAX);
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; places].into_boxed_slice();
        Ok(Self { fd, events, has_pwait2: true })
    }

    fn call(&mut self, wait_ns: u64) -> i32 {
        let (fd, places) = (self.fd.as_raw_fd(), self.events.len() as i32);
        let events = self.events.as_mut_ptr();
        if self.has_pwait2 {
            let timeout = libc::timespec {
                tv_sec: (wait_ns / 1_000_000_000) as _,
                tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: `events` has `places` places, `timeout` outlives the call, no signal mask.
            let n = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    fd,
                    events,
                    places,
                    &raw const timeout,
                    std::ptr::null::<libc::sigset_t>(),
                    0_usize,
                )
            };
            if n >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS) {
                return n as i32;
            }
            self.has_pwait2 = false;
        }
        let timeout_ms = wait_ns.div_ceil(1_000_000).min(i32::MAX as u64) as i32;
        // SAFETY: `events` has `places` places.
        unsafe { libc::epoll_wait(fd, events, places, timeout_ms) }
    }
}

impl Poller for Epoll {
    #[inline]
    fn wait(&mut self, now_ns: u64, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let wait_ns = until_ns.saturating_sub(now_ns);
        // Poll without waiting first, to know whether the thread slept: one short call more before a sleep,
        // which costs far more.
        let mut n = self.call(0);
        let slept = n == 0 && wait_ns > 0;
        if slept {
            n = self.call(wait_ns);
        }
        if n < 0 {
            let error = io::Error::last_os_error();
            // A signal: return, so that the caller checks its flags.
            return if error.kind() == io::ErrorKind::Interrupted { Ok(slept) } else { Err(error) };
        }
        ready.extend(self.events[..n as usize].iter().map(|event| {
            let flags = event.events as i32;
            let broken = flags & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            Ready {
                token: event.u64,
                readable: broken || flags & (libc::EPOLLIN | libc::EPOLLRDHUP) != 0,
                writable: broken || flags & libc::EPOLLOUT != 0,
                is_closing: broken || flags & libc::EPOLLRDHUP != 0,
            }
        }));
        Ok(slept)
    }

    #[inline]
    fn worked_ns(&self, now_ns: u64) -> u64 {
        machine::cpu_time_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(now_ns)
    }

    fn watch(&mut self, fd: RawFd, token: u64, writable: bool, known: bool) -> io::Result<()> {
        // Watch writability only while needed: a Unix socket reports it after each message that the peer
        // reads, which would double the wake-ups.
        let out = if writable { libc::EPOLLOUT } else { 0 };
        let flags = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET | out;
        let mut event = libc::epoll_event { events: flags as u32, u64: token };
        let operation = if known { libc::EPOLL_CTL_MOD } else { libc::EPOLL_CTL_ADD };
        // SAFETY: `event` is valid for the call.
        if unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &raw mut event) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// A poller without sockets: each wait advances simulated time to its end.
#[derive(Debug)]
pub struct SimulatedPoller(pub Rc<SimulatedClock>);

impl Poller for SimulatedPoller {
    fn wait(&mut self, _now_ns: u64, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let now_ns = self.0.now_ns();
        self.0.set_ns(until_ns.max(now_ns));
        Ok(until_ns > now_ns)
    }

    fn watch(&mut self, _fd: RawFd, _token: u64, _writable: bool, _known: bool) -> io::Result<()> {
        Err(io::Error::other("simulated time has no sockets"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn all_ready_sockets_are_reported_at_once() {
        const SOCKETS: usize = 300;
        let mut epoll = Epoll::new(SOCKETS).unwrap();
        let mut pairs: Vec<_> = (0..SOCKETS).map(|_| UnixStream::pair().unwrap()).collect();
        for (token, (mine, theirs)) in pairs.iter_mut().enumerate() {
            epoll.watch(mine.as_raw_fd(), token as u64, false, false).unwrap();
            theirs.write_all(b"x").unwrap();
        }
        let mut ready = Vec::new();
        epoll.wait(0, 1_000_000_000, &mut ready).unwrap();
        let mut tokens: Vec<u64> = ready.iter().map(|event| event.token).collect();
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..SOCKETS as u64));
        assert!(ready.iter().all(|event| event.readable && !event.is_closing));
    }
}
