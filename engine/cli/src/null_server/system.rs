//! The system calls of the null server, each behind a safe function.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 16_384;

/// Maximum number of events per wait.
const EVENTS_MAX: usize = 1024;

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that a system call has just returned.
fn own(result: i32) -> io::Result<OwnedFd> {
    let descriptor = check(result)?;
    // SAFETY: the kernel has just created this descriptor; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A level-triggered epoll instance.
pub struct Poller(OwnedFd);

/// A ready descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The file descriptor.
    pub descriptor: RawFd,
    /// Whether the descriptor is writable, after [`Poller::await_writable`]. Otherwise it has input, or an
    /// end or error that a read reports.
    pub writable: bool,
}

/// Buffer for the events of one wait.
pub struct Events(Box<[libc::epoll_event; EVENTS_MAX]>);

impl Default for Events {
    fn default() -> Self {
        Self(Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX]))
    }
}

impl Poller {
    /// Creates an empty instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers.
        own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    /// Adds a descriptor, polled for input. Closing the descriptor removes it.
    pub fn add(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, libc::EPOLLIN)
    }

    /// Polls a descriptor for writability only.
    pub fn await_writable(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, libc::EPOLLOUT)
    }

    /// Polls a descriptor for input again.
    pub fn await_readable(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, libc::EPOLLIN)
    }

    fn control(&self, what: i32, descriptor: RawFd, interest: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest as u32, u64: descriptor as u64 };
        // SAFETY: `event` lives through the call, which copies it.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, descriptor, &raw mut event) })?;
        Ok(())
    }

    /// Waits without timeout for events; returns none if a signal interrupts the wait.
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

/// A signalfd of SIGTERM and SIGINT.
pub struct Signals(OwnedFd);

impl Signals {
    /// Creates the descriptor and blocks the two signals, so that they no longer end the process.
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

/// A timerfd on the monotonic clock.
pub struct Timer(OwnedFd);

impl Timer {
    /// Creates a disarmed timer.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers.
        own(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(Self)
    }

    /// Arms the timer to expire once, after `delay`.
    pub fn arm(&self, delay: Duration) -> io::Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: delay.as_secs() as _,
            // Zero would disarm the timer.
            tv_nsec: delay.subsec_nanos().max(1) as libc::c_long,
        };
        let spec = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: `spec` lives through the call; the old value is not requested.
        check(unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const spec, std::ptr::null_mut())
        })?;
        Ok(())
    }

    /// Reads the expiration count, so that the descriptor is no longer ready.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: the buffer has eight bytes, as timerfd requires; its result does not matter.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Sets the backlog of a listening socket to [`BACKLOG`].
pub fn listen(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers. Listening again only changes the backlog.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(())
}

/// Makes a socket non-blocking.
pub fn set_nonblocking(socket: &OwnedFd) -> io::Result<()> {
    let mut on: libc::c_int = 1;
    // SAFETY: `on` lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONBIO, &raw mut on) })?;
    Ok(())
}

/// Requests SIGTERM on the parent's death.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) })?;
    Ok(())
}

/// Pins the process to one CPU. Fails if the CPU does not exist or is not allowed.
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

/// User and system CPU time of this process so far.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call, which cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
