//! The system calls of the null server, each behind a safe function.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 16_384;

/// Events taken at once.
const EVENTS_MAX: usize = 1024;

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Owns a descriptor that a call has just returned.
fn own(result: i32) -> io::Result<OwnedFd> {
    let descriptor = check(result)?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// An epoll instance, level-triggered.
pub struct Poller(OwnedFd);

/// One ready descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Which.
    pub descriptor: RawFd,
    /// It was waited for because it could not be written to; otherwise there is something to read,
    /// or an end to notice by reading.
    pub writable: bool,
}

/// Room for one round's events.
pub struct Events(Box<[libc::epoll_event; EVENTS_MAX]>);

impl Default for Events {
    fn default() -> Self {
        Self(Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX]))
    }
}

impl Poller {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers.
        own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    /// Waits for something to read from now on; the descriptor leaves when it is closed.
    pub fn add(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, libc::EPOLLIN)
    }

    /// Waits for room to write only.
    pub fn await_writable(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, libc::EPOLLOUT)
    }

    /// Waits for something to read again.
    pub fn await_readable(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, libc::EPOLLIN)
    }

    fn control(&self, what: i32, descriptor: RawFd, interest: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest as u32, u64: descriptor as u64 };
        // SAFETY: `event` lives through the call, which copies it.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, descriptor, &raw mut event) })?;
        Ok(())
    }

    /// Waits without end for at least one event (none after a signal).
    #[inline]
    pub fn wait<'a>(&self, events: &'a mut Events) -> io::Result<impl Iterator<Item = Event> + 'a> {
        // SAFETY: the kernel writes at most EVENTS_MAX entries, which is the length of the array.
        let count = match check(unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.0.as_mut_ptr(), EVENTS_MAX as i32, -1)
        }) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => 0,
            other => other? as usize,
        };
        Ok(events.0[..count].iter().map(|event| Event {
            descriptor: event.u64 as RawFd,
            writable: event.events & libc::EPOLLOUT as u32 != 0,
        }))
    }
}

/// SIGTERM and SIGINT as a readable descriptor.
pub struct Signals(OwnedFd);

impl Signals {
    /// From here on the two signals do not end the process.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the set is plain data, made valid by sigemptyset before it is used, and outlives
        // the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            check(libc::sigemptyset(&raw mut set))?;
            check(libc::sigaddset(&raw mut set, libc::SIGTERM))?;
            check(libc::sigaddset(&raw mut set, libc::SIGINT))?;
            check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            own(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
                .map(Self)
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// An alarm as a readable descriptor.
pub struct Timer(OwnedFd);

impl Timer {
    /// Not armed.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers.
        own(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(Self)
    }

    /// Goes off once, after `delay`.
    pub fn arm(&self, delay: Duration) -> io::Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: delay.as_secs() as _,
            // Zero would disarm it.
            tv_nsec: delay.subsec_nanos().max(1) as libc::c_long,
        };
        let spec = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: `spec` lives through the call; the old value is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const spec, std::ptr::null_mut())
        })?;
        Ok(())
    }

    /// Takes note that it went off, so that it is not ready any more.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: eight bytes of room, as timerfd wants; its result does not matter.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Gives a listening socket a longer backlog.
pub fn listen(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers. Listening again only changes the backlog.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(())
}

/// Reads and writes return at once.
pub fn set_nonblocking(socket: &OwnedFd) -> io::Result<()> {
    let mut on: libc::c_int = 1;
    // SAFETY: `on` lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONBIO, &raw mut on) })?;
    Ok(())
}

/// SIGTERM when the parent dies.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) })?;
    Ok(())
}

/// Stays on one CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::other(format!("there is no CPU {cpu}")));
    }
    // SAFETY: the set is plain data, valid when zeroed; `cpu` is below its size.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    check(result)
        .map_err(|why| io::Error::new(why.kind(), format!("cannot run on CPU {cpu}: {why}")))?;
    Ok(())
}

/// As many descriptors as the system lets us have.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` lives through both calls.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
    }
    Ok(())
}

/// CPU time of this process so far, user and system.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call, which cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
