//! The files: created and extended, opened for a run, removed.

use super::plan::{Io, Mode, Plan, flags_text, size_text};
use crate::console::{self, Level};
use crate::native::cause;
use dyno_core::random::rng::Rng;
use dyno_drivers::files::buffer::Buffer;
use dyno_drivers::files::checksum;
use dyno_drivers::files::open::{self, Flags, OpenFile};
use std::fs;
use std::io;
use std::time::Instant;

const MIB: f64 = 1_048_576.0;

/// `prepare`: keeps existing data and appends what is missing.
pub(super) fn prepare(plan: &Plan) -> Result<(), String> {
    let (files, each) = (plan.files, plan.file_bytes);
    let text = format!(
        "{files} files, {}Kb each, {}Mb total\nCreating files for the test...\n{}",
        each >> 10,
        (files * each) >> 20,
        flags_text(plan.flags).trim_end_matches('\n'),
    );
    console::say(Level::Notice, &text);
    let mut rng = Rng::new(now_ns());
    let mut block = Buffer::random(plan.block_bytes.min(each), &mut rng)?;
    let begin = Instant::now();
    let mut written = 0;
    for number in 0..files {
        written += extend(plan, number, &mut block, &mut rng)?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let text = match written {
        0 => "No bytes written.".to_owned(),
        bytes => {
            let rate = bytes as f64 / MIB / seconds;
            format!("{bytes} bytes written in {seconds:.2} seconds ({rate:.2} MiB/sec).")
        }
    };
    console::say(Level::Notice, &text);
    Ok(())
}

/// Prevents two calls from writing the same bytes.
fn now_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |time| time.as_nanos() as u64)
}

/// Writes the missing part of a file, from the begin of its last block; returns the bytes written.
fn extend(plan: &Plan, number: u64, block: &mut Buffer, rng: &mut Rng) -> Result<u64, String> {
    let name = Plan::name(number);
    let failed = |what: &str, error: &io::Error| {
        format!("Cannot {what} file '{name}' {}{}", cause(error), hint(error, plan.flags))
    };
    let path = plan.path(number);
    let file = open::existing_or_new(&path, plan.flags).map_err(|error| failed("open", &error))?;
    let there = file.metadata().map_err(|error| failed("look at", &error))?.len();
    let word = match there {
        0 => "Creating",
        bytes if bytes < plan.file_bytes => "Extending existing",
        _ => "Reusing existing",
    };
    console::say(Level::Notice, &format!("{word} file {name}"));
    let mut written = 0;
    if there < plan.file_bytes {
        let begin = there - there % plan.block_bytes;
        let filled = open::fill(&file, begin, plan.file_bytes, block, |part, offset| {
            if plan.validates {
                checksum::fill(part, plan.block_bytes, offset, rng);
            }
        });
        written = filled.map_err(|error| failed("write", &error))?;
    }
    file.sync_all().map_err(|error| failed("fsync", &error))?;
    Ok(written)
}

/// `cleanup`: removes the files that this plan names; missing files are no error.
pub(super) fn cleanup(plan: &Plan) -> Result<(), String> {
    console::say(Level::Notice, "Removing test files...");
    let mut failure = Ok(());
    for number in 0..plan.files {
        if let Err(error) = remove(plan, number) {
            failure = failure.and(Err(error));
        }
    }
    failure
}

fn remove(plan: &Plan, number: u64) -> Result<(), String> {
    match fs::remove_file(plan.path(number)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("Cannot remove file '{}' {}", Plan::name(number), cause(&error)))
        }
        _ => Ok(()),
    }
}

/// The open files of a run.
pub(super) struct Files(Vec<OpenFile>);

impl Files {
    /// Opens the files, or creates them again if the mode requires it.
    pub fn open(plan: &Plan) -> Result<Self, String> {
        let one = if plan.mode == Mode::SeqWrite { create } else { existing };
        let files =
            Self((0..plan.files).map(|number| one(plan, number)).collect::<Result<_, _>>()?);
        if plan.io == Io::Mapped { files.mapped(plan.file_bytes) } else { Ok(files) }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn file(&self, number: usize) -> &OpenFile {
        &self.0[number]
    }

    /// Maps the files, each of which must have this many bytes.
    fn mapped(mut self, bytes: u64) -> Result<Self, String> {
        for (number, file) in self.0.iter_mut().enumerate() {
            file.map(bytes).map_err(|error| {
                format!("Cannot map file '{}' {}", Plan::name(number as u64), cause(&error))
            })?;
        }
        Ok(self)
    }

    /// Makes written data of a file durable.
    pub fn sync(&self, number: usize, plan: &Plan) -> Result<(), String> {
        let data_only = plan.durability.data_only;
        self.0[number].sync(data_only).map_err(|error| {
            let call = match plan.io {
                Io::Mapped => "msync",
                _ if data_only => "fdatasync",
                _ => "fsync",
            };
            format!("Failed to {call} file! file: {} {}", Plan::name(number as u64), cause(&error))
        })
    }
}

fn create(plan: &Plan, number: u64) -> Result<OpenFile, String> {
    remove(plan, number)?;
    let name = Plan::name(number);
    let failed = |error| {
        format!("Cannot create file '{name}' {}{}", cause(&error), hint(&error, plan.flags))
    };
    let file = open::new(&plan.path(number), plan.flags).map_err(failed)?;
    if plan.io == Io::Mapped {
        open::reserve(&file, plan.file_bytes).map_err(failed)?;
    }
    Ok(file.into())
}

fn existing(plan: &Plan, number: u64) -> Result<OpenFile, String> {
    let name = Plan::name(number);
    let failed = |error: io::Error| {
        let hint = match hint(&error, plan.flags) {
            "" => "\nWARNING: Did you forget to run the prepare step?",
            hint => hint,
        };
        format!("Cannot open file '{name}' {}{hint}", cause(&error))
    };
    let file = open::existing(&plan.path(number), plan.flags).map_err(failed)?;
    let there = file.metadata().map_err(failed)?.len();
    if there < plan.file_bytes {
        return Err(format!(
            "Size of file '{name}' is {}, but at least {} is expected.\nWARNING: Did you run \
             'prepare' with different --file-total-size or --file-num values?",
            size_text(there),
            size_text(plan.file_bytes)
        ));
    }
    Ok(file.into())
}

/// A line with the likely cause; empty if none is known.
pub(super) fn hint(error: &io::Error, flags: Flags) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL) if flags.direct => {
            "\nWARNING: --file-extra-flags=direct: the file system may refuse direct I/O, or want \
             --file-block-size to be a multiple of more than 512 bytes"
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "\nWARNING: use a smaller --file-num, or raise the limit of open files (ulimit -n)"
        }
        _ => "",
    }
}
