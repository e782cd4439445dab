//! Requests of the load threads to the operating system: descriptors, CPUs, CPU time and memory.

use dyno_core::error::{Error, Kind, Result};
use std::io;

/// Descriptors in addition to the sessions' own.
const SPARE_DESCRIPTORS: u64 = 128;

/// Raises the limit of open files of this process to `descriptors`, for `sessions` sessions.
///
/// # Errors
/// [`Kind::System`] naming the limit and how to raise it.
pub fn allow_descriptors(sessions: u64, descriptors: u64) -> Result<()> {
    let wanted = descriptors + SPARE_DESCRIPTORS;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0
        || limit.rlim_cur >= wanted
    {
        return Ok(());
    }
    // Only a privileged process may exceed the hard limit: try, and report a refusal.
    let raised = libc::rlimit { rlim_cur: wanted, rlim_max: limit.rlim_max.max(wanted) };
    // SAFETY: `raised` is valid for the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
        return Ok(());
    }
    let what = format!(
        "{sessions} sessions need {wanted} open files, and this process may have {}",
        limit.rlim_max
    );
    Err(Error::new(Kind::System, what)
        .hint(format!("run `ulimit -Hn {wanted}` first, or use fewer sessions")))
}

/// Raises the soft limit of open files of this process to the hard limit.
///
/// # Errors
/// The system's.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is valid for the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Restricts this thread and all threads that it starts later to `cpus`; an empty list changes nothing.
///
/// # Errors
/// [`Kind::Plan`] when the machine has none of them.
pub fn pin(cpus: &[u32]) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return Err(Error::new(Kind::Plan, format!("cpus: there is no CPU {cpu}")));
        }
        // SAFETY: `cpu` is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: `set` is valid and its size is passed.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) } != 0 {
        let error = io::Error::last_os_error();
        return Err(Error::new(Kind::Plan, format!("cpus: {cpus:?} cannot be used: {error}"))
            .hint("see `nproc --all` and the cpuset of this container"));
    }
    Ok(())
}

/// Gives servers on the same CPUs precedence (Linux: `SCHED_BATCH`): an answer that wakes the thread
/// does not preempt the server's thread, so that several answers are ready when the thread runs. For
/// threads that only answers wake: `docs/decisions/load-threads-let-servers-go-first.md`.
pub fn let_servers_go_first() {
    let priority: libc::c_int = 0;
    // The raw system call, since musl's function of this name does nothing.
    // SAFETY: `priority` is valid for the call. If the call fails, the thread keeps its policy.
    unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority)
    };
}

/// Sessions per CPU above which servers on the same CPUs always have work: see [`load_threads`].
const SESSIONS_FEW: usize = 8;

/// Default number of load threads for `sessions` sessions: the number of CPUs reserved for them, or else
/// of all CPUs that this process may use. With many sessions and servers on this machine, half of the
/// latter. With few sessions, one that waits for another's turn would leave a server idle.
pub fn load_threads(own_cpus: &[u32], beside_servers: bool, sessions: usize) -> usize {
    let usable = if own_cpus.is_empty() { cpus_usable() } else { own_cpus.len() };
    let shares = own_cpus.is_empty() && beside_servers;
    let threads = match shares && sessions > SESSIONS_FEW * usable {
        true => usable.div_ceil(2),
        false => usable,
    };
    threads.min(sessions).max(1)
}

/// How many CPUs this process may use.
pub fn cpus_usable() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The calling thread's CPU clock, for [`cpu_time_ns`].
pub fn own_cpu_clock() -> i32 {
    let mut clock = 0;
    // SAFETY: the calling thread exists, and `clock` is valid for the call.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    if failed == 0 { clock } else { 0 }
}

/// CPU time of a living thread by its clock, user and system, in nanoseconds; `None` when the thread
/// has ended.
pub fn cpu_time_ns(clock: i32) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (clock != 0 && failed == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Minimizes the timer slack of this thread: Linux otherwise delays wake-ups by up to 50 us.
pub fn wait_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}

/// Peak resident memory of this process, in bytes. Not `ru_maxrss`, which includes the parent's size.
pub fn rss_max_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status").map_or(0, |status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    })
}

/// Seconds since 1970.
pub fn unix_s() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        assert!(rss_max_bytes() > 100_000);
        assert!(cpu_time_ns(own_cpu_clock()).is_some());
        assert!(cpus_usable() >= 1);
        assert!(unix_s() > 1.6e9);
    }

    #[test]
    fn many_sessions_leave_half_of_the_cpus_to_servers_beside_them() {
        let all = cpus_usable();
        assert_eq!(load_threads(&[], true, SESSIONS_FEW * all), all);
        assert_eq!(load_threads(&[], true, SESSIONS_FEW * all + 1), all.div_ceil(2));
        assert_eq!(load_threads(&[], false, 1000 * all), all);
        assert_eq!(load_threads(&[1, 3, 5], true, 1000), 3);
        assert_eq!(load_threads(&[1, 3, 5], true, 2), 2);
        assert_eq!(load_threads(&[], true, 1), 1);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = pin(&[100_000]).unwrap_err();
        assert!(error.what.contains("100000"), "{error}");
    }
}
