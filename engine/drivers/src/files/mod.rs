//! Plain files: sessions read, write and sync blocks; one OS thread per session, all on the same
//! open files. The implementation is shared with sysbench's file test.
//!
//! A run opens files that the load phase created; it creates, extends and removes none. An
//! operation is a system call (several per block if the kernel moves fewer bytes than requested) or
//! a copy from or to mapped memory. All calls block: more operations in flight need more sessions.
//!
//! | module | contents |
//! |---|---|
//! | `session` | a session's operations, and the files of the load phase |
//! | `errors` | errors of the operating system |
//! | `open` | creates, opens, fills, reads, writes and syncs files |
//! | `buffer` | memory for blocks |
//! | `mapped` | mapped files |
//! | `faults` | files that are truncated while mapped |
//! | `queue` | asynchronous requests in the kernel's queue (only sysbench's test) |
//! | `checksum` | blocks with a checksum (only sysbench's test) |

pub mod buffer;
pub mod checksum;
mod errors;
mod faults;
pub mod mapped;
pub mod open;
pub mod queue;
mod session;
#[cfg(test)]
mod tests;

use dyno_core::driver::{Driver, DriverKind, DriverOption, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Options, Target, Tls};
use dyno_core::request::capability::Capability;
use dyno_core::request::{Command, FileSet, FileVerb, Request};
use dyno_core::workload::Dialect;
use open::{Flags, OpenFile};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "files",
    about: "plain files in a directory, a thread a session",
    capabilities: &[Capability::Populate, Capability::Io],
    dialect: Dialect::Null,
    options: &[
        DriverOption {
            name: "direct",
            about: "whether files are opened with O_DIRECT, past the page cache",
            default: "false",
        },
        DriverOption {
            name: "method",
            about: "how blocks are moved: \"pread\" (pread, pwrite) or \"mmap\"",
            default: "\"pread\"",
        },
        DriverOption {
            name: "sync",
            about: "whether each write waits until it is durable: \"none\", \"dsync\" (O_DSYNC) \
                    or \"sync\" (O_SYNC)",
            default: "\"none\"",
        },
    ],
    library: || None,
    build,
    clients: None,
    routed: None,
};

/// Minimum alignment of sizes for `O_DIRECT`; a device may require more.
const SECTOR_BYTES: u64 = 512;

/// A range of bytes in one of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the file.
    pub file: usize,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// What all sessions of a group share.
struct Files {
    directory: PathBuf,
    settings: Settings,
    calls: Arc<[Call]>,
    sets: Vec<Arc<FileSet>>,
    /// Opened when the first session needs them.
    opened: Mutex<Option<Arc<Opened>>>,
    /// The load has ended: no new call may begin.
    is_stopped: Arc<AtomicBool>,
}

/// The files of all sets, set after set.
struct Opened {
    files: Vec<OpenFile>,
}

/// A request, with the index of its set's first file among the open files.
struct Call {
    class: String,
    verb: FileVerb,
    set: Arc<FileSet>,
    first: usize,
}

impl Call {
    /// Bytes per operation.
    fn bytes(&self) -> u64 {
        match self.verb {
            FileVerb::Read { bytes } | FileVerb::Write { bytes } => bytes.into(),
            FileVerb::Sync | FileVerb::SyncData => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Settings {
    flags: Flags,
    is_mapped: bool,
}

fn path(directory: &Path, set: &FileSet, number: u32) -> PathBuf {
    directory.join(format!("{}.{number}", set.name))
}

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    let refuse = |what: &str, hint: &str| Err(Error::new(Kind::Plan, what).hint(hint));
    let Address::File(directory) = &target.address else {
        return refuse(
            "a files target needs the path of a directory",
            "give address: {\"file\": PATH}",
        );
    };
    if target.tls != Tls::Off {
        return refuse("a files target has no connection to encrypt", "leave out tls");
    }
    if !target.session_sql.is_empty() {
        return refuse("a files target runs no statements", "leave out session_sql");
    }
    let settings = settings(&target.options)?;
    let (sets, calls) = calls(&requests)?;
    if target.read_only && calls.iter().any(|call| matches!(call.verb, FileVerb::Write { .. })) {
        return refuse(
            "a files target that is read_only is written to",
            "use a workload that reads",
        );
    }
    let odd = |bytes: u64| !bytes.is_multiple_of(SECTOR_BYTES);
    if let Some(call) = calls.iter().find(|call| settings.flags.direct && odd(call.bytes())) {
        let what = format!("option direct: blocks of {} bytes are no whole sectors", call.bytes());
        return refuse(&what, "give blocks of a multiple of 512 bytes");
    }
    Ok(Box::new(Files {
        directory: directory.clone(),
        settings,
        calls: calls.into(),
        sets,
        opened: Mutex::default(),
        is_stopped: Arc::default(),
    }))
}

fn calls(requests: &[Request]) -> Result<(Vec<Arc<FileSet>>, Vec<Call>)> {
    let (mut sets, mut calls) = (Vec::<Arc<FileSet>>::new(), Vec::new());
    for request in requests {
        let Command::Io(io) = &request.command else {
            let what = format!("request {} is no operation on files", request.class);
            return Err(Error::new(Kind::Plan, what));
        };
        if !sets.contains(&io.set) {
            sets.push(Arc::clone(&io.set));
        }
        let before = sets.iter().take_while(|set| **set != io.set);
        calls.push(Call {
            class: request.class.clone(),
            verb: io.verb,
            set: Arc::clone(&io.set),
            first: before.map(|set| set.files as usize).sum(),
        });
    }
    Ok((sets, calls))
}

fn settings(options: &Options) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value) in options {
        let wrong = |allowed: &str| {
            let what = format!("option {name} of a files target is {value}");
            Error::new(Kind::Plan, what).hint(format!("give {allowed}"))
        };
        match (name.as_str(), value.as_str()) {
            ("direct", _) => {
                settings.flags.direct = value.as_bool().ok_or_else(|| wrong("true or false"))?;
            }
            ("method", Some("pread")) => settings.is_mapped = false,
            ("method", Some("mmap")) => settings.is_mapped = true,
            ("method", _) => return Err(wrong("pread or mmap")),
            ("sync", Some(word @ ("none" | "dsync" | "sync"))) => {
                settings.flags.dsync = word == "dsync";
                settings.flags.sync = word == "sync";
            }
            ("sync", _) => return Err(wrong("none, dsync or sync")),
            _ => {
                let what = format!("a files target has no option {name}");
                return Err(
                    Error::new(Kind::Plan, what).hint("its options are direct, method, sync")
                );
            }
        }
    }
    if settings.is_mapped && settings.flags != Flags::default() {
        return Err(Error::new(
            Kind::Plan,
            "options direct and sync do not apply to mapped memory",
        )
        .hint("leave them out, or set method: pread"));
    }
    Ok(settings)
}

impl Files {
    /// The open files; the first session opens them.
    fn opened(&self) -> Result<Arc<Opened>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let all = self.sets.iter().flat_map(|set| (0..set.files).map(move |n| (set, n)));
        let files = all.map(|(set, number)| self.open(set, number)).collect::<Result<_>>()?;
        Ok(Arc::clone(opened.insert(Arc::new(Opened { files }))))
    }

    fn open(&self, set: &FileSet, number: u32) -> Result<OpenFile> {
        let path = path(&self.directory, set, number);
        let shown = path.display();
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Err(Error::new(Kind::Plan, format!("there is no file {shown}"))
                .hint("load the data first; a run never creates it"));
        }
        let failed = |error: std::io::Error| {
            let what = format!("cannot open {shown}: {error} ({})", errors::code(&error));
            Error::new(Kind::System, what).hint(errors::cause(&error))
        };
        let mut file = OpenFile::from(open::existing(&path, self.settings.flags).map_err(failed)?);
        let there = file.file.metadata().map_err(failed)?.len();
        if there != set.file_bytes {
            let what = format!("{shown} has {there} bytes, not {}", set.file_bytes);
            return Err(Error::new(Kind::Plan, what)
                .hint("load the data again, with the same number and size of files"));
        }
        if self.settings.is_mapped {
            file.map(set.file_bytes).map_err(failed)?;
        }
        Ok(file)
    }
}

impl Driver for Files {
    fn session(&self, session: u32) -> Result<Session> {
        Ok(Session::Blocking(Box::new(session::FilesSession::open(self, session)?)))
    }

    fn in_process(&self) -> bool {
        true
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
