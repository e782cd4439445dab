//! Confines a digest, once its logs are open, to parsing them and writing its output, and a reading of
//! tablespaces to these files.
//!
//! Logs are untrusted input: a defect in a parser could give an attacker the rights of this process. The
//! process therefore drops them before it reads the first byte and before it starts a second thread:
//! Landlock denies files, TCP ports and signals; seccomp denies sockets, programs and other processes;
//! root becomes an unprivileged user. Where the kernel lacks a mechanism, the digest runs without it.
//! Sources: landlock(7), seccomp(2), capabilities(7), credentials(7); docs/decisions/privileges.md.

use crate::signals;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::io;
use std::path::{Path, PathBuf};

/// The unprivileged user: Linux's overflow id, which needs no entry in /etc/passwd.
const NOBODY: libc::uid_t = 65534;

/// Landlock ABI up to which tests verify denials. The crate omits access rights that the kernel lacks.
const TESTED: ABI = ABI::V6;

/// File operations that remain necessary once all logs are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// Reopening a followed log after its rotation.
    Reopening(PathBuf),
    /// Renaming the output file once it is complete.
    Renaming(PathBuf),
    /// Opening these files, and those below these directories.
    Reading(Vec<PathBuf>),
}

/// Capabilities (linux/capability.h).
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_FOWNER: u32 = 3;

impl Needs {
    /// Directories, and the access allowed in each.
    fn files(&self) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Reopening(log) => {
                places_of(log).into_iter().map(|place| (place, AccessFs::ReadFile.into())).collect()
            }
            Self::Renaming(out) => {
                vec![(parent(out), AccessFs::MakeReg | AccessFs::RemoveFile)]
            }
            Self::Reading(paths) => paths.iter().map(|path| (path.clone(), reads(path))).collect(),
        }
    }

    /// The capabilities that root keeps.
    fn capabilities(&self) -> &'static [u32] {
        match self {
            Self::Nothing => &[],
            Self::Reopening(_) | Self::Reading(_) => &[CAP_DAC_READ_SEARCH],
            Self::Renaming(_) => &[CAP_DAC_OVERRIDE, CAP_FOWNER],
        }
    }
}

/// The access that reading a file or directory needs.
fn reads(path: &Path) -> BitFlags<AccessFs> {
    if path.is_dir() { AccessFs::ReadFile | AccessFs::ReadDir } else { AccessFs::ReadFile.into() }
}

/// Directories in which a log of this name may be reopened: that of the path and that of the current file.
/// For a symbolic link, `/`, since its target may change.
fn places_of(log: &Path) -> Vec<PathBuf> {
    if log.is_symlink() {
        return vec!["/".into()];
    }
    let real = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    vec![parent(log), parent(&real)]
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    }
}

/// Drops all rights except `needs`, as far as the kernel allows.
pub fn confine(needs: &Needs) {
    // The mechanisms are independent: if one fails, the others still apply.
    let _ = restrict_files(needs);
    let _ = leave_root(needs);
    let _ = refuse_calls();
    // A change of user clears the parent-death signal.
    signals::end_with_parent();
}

/// Landlock: denies all files except open ones and those of `needs`, TCP, and signals to other processes.
fn restrict_files(needs: &Needs) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(TESTED))?
        .handle_access(AccessNet::from_all(TESTED))?
        .scope(Scope::from_all(TESTED))?
        .create()?;
    for (place, access) in needs.files() {
        // A directory that does not exist needs no rule.
        if let Ok(place) = PathFd::new(place) {
            rules = rules.add_rule(PathBeneath::new(place, access))?;
        }
    }
    rules.restrict_self()
}

/// Changes root to [`NOBODY`] and drops capabilities. A process that must rename a file remains root, since
/// a file server may check the user, but keeps no other capabilities.
fn leave_root(needs: &Needs) -> io::Result<()> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    if !matches!(needs, Needs::Renaming(_)) {
        // If this fails, dropping capabilities still removes most rights of root.
        let _ = become_nobody();
    }
    keep_capabilities(needs.capabilities())
}

fn become_nobody() -> io::Result<()> {
    // SAFETY: PR_SET_KEEPCAPS takes a number: capabilities survive the change of user.
    let kept = || unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) };
    // SAFETY: setgroups reads no element of an empty list.
    let groups = || unsafe { libc::setgroups(0, std::ptr::null()) };
    // SAFETY: setresgid takes numbers.
    let group = || unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    // SAFETY: setresuid takes numbers.
    let user = || unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    let is_done = kept() == 0 && groups() == 0 && group() == 0 && user() == 0;
    if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reduces the effective and permitted capabilities to `kept`. If a container lacks CAP_DAC_READ_SEARCH,
/// keeps CAP_DAC_OVERRIDE instead.
fn keep_capabilities(kept: &[u32]) -> io::Result<()> {
    let mut data = [Capabilities::default(); 2];
    let header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: version 3 takes one header and writes two structures, which live through the call.
    let had = unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) };
    if had != 0 {
        return Err(io::Error::last_os_error());
    }
    let bits = |kept: &[u32]| kept.iter().fold(0, |all, one| all | 1 << one) & data[0].permitted;
    let mut left = bits(kept);
    if left == 0 && kept == [CAP_DAC_READ_SEARCH] {
        left = bits(&[CAP_DAC_OVERRIDE]);
    }
    let none = Capabilities::default();
    let data = [Capabilities { effective: left, permitted: left, ..none }, none];
    // SAFETY: as above; both are read.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Header of capget(2) and capset(2).
#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

/// Sets of 32 capabilities, for capget(2) and capset(2).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Version of capset(2) with two times 32 capabilities.
const VERSION_3: u32 = 0x2008_0522;

/// System calls that a digest does not use and that Landlock does not restrict: access to local sockets,
/// programs, other processes, and files by other ways. All other calls are allowed, since the calls that C
/// libraries make differ between versions.
const REFUSED: [libc::c_long; 21] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
];

/// seccomp: makes the calls above fail with EPERM. Kernels before 5.16 slow down processes with a filter,
/// to mitigate speculative reads by untrusted code inside the process. This process runs no such code, so
/// that SPEC_ALLOW disables the mitigation; `seccompiler`, which compiles the filter, does not set that
/// flag when it installs one.
fn refuse_calls() -> Result<(), seccompiler::Error> {
    let refused = REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    let deny = SeccompAction::Errno(libc::EPERM as u32);
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, deny, machine)?;
    let mut program = BpfProgram::try_from(filter)?;
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr().cast::<libc::sock_filter>(),
    };
    let failed = || Err(seccompiler::Error::Prctl(io::Error::last_os_error()));
    // SAFETY: PR_SET_NO_NEW_PRIVS takes a number.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return failed();
    }
    let (set, allow) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW);
    // SAFETY: the kernel copies the program, which lives through the call; both crates define it as
    // in linux/filter.h.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, set, allow, &raw const program) };
    if done == 0 { Ok(()) } else { failed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landlock::RulesetStatus;
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    /// Runs `work` on a separate thread, since Landlock and seccomp apply to the calling thread.
    fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    fn is_refused<T>(done: io::Result<T>) -> bool {
        done.err().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Enables Landlock and returns its status; `None` if the kernel lacks it.
    fn restricted(needs: &Needs) -> Option<RulesetStatus> {
        let status = restrict_files(needs).unwrap().ruleset;
        (status != RulesetStatus::NotEnforced).then_some(status)
    }

    #[test]
    fn with_landlock_no_file_can_be_opened_made_or_removed_but_open_ones_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("slow.log");
        std::fs::write(&log, "text").unwrap();
        apart(move || {
            let mut file = File::open(&log).unwrap();
            if restricted(&Needs::Nothing).is_none() {
                return;
            }
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
            assert!(is_refused(File::open(&log)));
            assert!(is_refused(File::open("/etc/passwd")));
            assert!(is_refused(File::create(log.with_extension("new"))));
            assert!(is_refused(std::fs::remove_file(&log)));
            assert!(is_refused(std::fs::read_dir("/etc")));
        });
    }

    #[test]
    fn a_log_that_is_followed_can_be_opened_again_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("slow.log");
        std::fs::write(&log, "text").unwrap();
        apart(move || {
            if restricted(&Needs::Reopening(log.clone())).is_none() {
                return;
            }
            assert!(File::open(&log).is_ok());
            assert!(is_refused(File::options().append(true).open(&log)));
            assert!(is_refused(std::fs::rename(&log, log.with_extension("old"))));
            assert!(is_refused(File::open("/etc/passwd")));
        });
    }

    #[test]
    fn files_below_a_directory_to_be_read_can_be_opened_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (file, other) = (directory.path().join("db/t.ibd"), directory.path().join("other"));
        std::fs::create_dir(directory.path().join("db")).unwrap();
        std::fs::write(&file, "pages").unwrap();
        std::fs::write(&other, "other").unwrap();
        apart(move || {
            let paths = vec![directory.path().join("db"), "not-there".into()];
            if restricted(&Needs::Reading(paths)).is_none() {
                return;
            }
            assert!(File::open(&file).is_ok() && std::fs::read_dir(file.parent().unwrap()).is_ok());
            assert!(is_refused(File::options().append(true).open(&file)));
            assert!(is_refused(File::open(&other)) && is_refused(File::open("/etc/passwd")));
        });
    }

    #[test]
    fn a_link_that_is_followed_may_lead_anywhere_later() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("current.log");
        std::os::unix::fs::symlink("a.log", &link).unwrap();
        assert_eq!(places_of(&link), [PathBuf::from("/")]);
        assert_eq!(places_of(Path::new("slow.log")), [PathBuf::from("."), ".".into()]);
    }

    #[test]
    fn a_trace_gets_its_name_in_its_directory_and_nothing_else_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (out, partial) = (directory.path().join("a"), directory.path().join("a.partial"));
        let other = directory.path().join("other");
        std::fs::write(&partial, "trace").unwrap();
        std::fs::write(&other, "other").unwrap();
        apart(move || {
            if restricted(&Needs::Renaming(out.clone())).is_none() {
                return;
            }
            std::fs::rename(&partial, &out).unwrap();
            assert!(is_refused(File::open(&other)));
            assert!(is_refused(File::options().append(true).open(&other)));
            assert!(is_refused(std::fs::write("/tmp/dyno-not-there", "")));
        });
    }

    #[test]
    fn neither_sockets_nor_programs_are_to_be_had() {
        let there = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = there.local_addr().unwrap();
        apart(move || {
            refuse_calls().unwrap();
            assert!(is_refused(std::net::TcpStream::connect(address)));
            assert!(is_refused(UnixStream::connect("/run/dbus/system_bus_socket")));
            assert!(is_refused(UnixStream::pair()));
            assert!(is_refused(Command::new("/bin/true").status()));
            // SAFETY: the call has a null pointer for its parameters, which fails before it is read.
            let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, 0) };
            assert_eq!((ring, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
            // Threads and memory remain available.
            assert_eq!(apart(|| vec![1_u8; 1 << 20].len()), 1 << 20);
        });
    }
}
