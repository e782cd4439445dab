//! What the load threads ask of the operating system: descriptors, CPUs, their own CPU time and
//! memory.

use dyno_core::error::{Error, Kind, Result};
use std::io;

/// Descriptors beside the sessions' own.
const SPARE_DESCRIPTORS: u64 = 128;

/// Allows this process to open `descriptors` for its `sessions`.
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
    // Above the hard limit only a privileged process may go: try, then say so.
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

/// Restricts this thread, and all it starts later, to these CPUs; none: leaves it alone.
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

/// Lets servers on the same CPUs go first (Linux: `SCHED_BATCH`): a thread that is woken by an answer
/// then waits until the server's thread is done with what it does, and finds several answers. For
/// threads that nothing but answers wakes: `docs/decisions/load-threads-let-servers-go-first.md`.
pub fn let_servers_go_first() {
    let priority: libc::c_int = 0;
    // The system call itself: musl's function of its name does nothing.
    // SAFETY: `priority` is valid for the call. Refused, the thread stays as it is.
    unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority)
    };
}

/// Sessions a CPU above which servers on the same CPUs always have work: see [`load_threads`].
const SESSIONS_FEW: usize = 8;

/// How many load threads for so many sessions, where nobody has said: the CPUs that are their own;
/// without such all that this process may use. Half of these where servers on this machine need the
/// rest: among many sessions. Of few, each that waits for another's turn leaves a server idle.
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

/// CPU time of a living thread by its clock, user and system; `None` when the thread has ended.
pub fn cpu_time_ns(clock: i32) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (clock != 0 && failed == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Lets this thread's waits end on time: Linux otherwise adds up to 50 us to save wake-ups.
pub fn wait_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}

/// Peak resident memory of this process. Not `ru_maxrss`, which remembers the parent's size.
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
