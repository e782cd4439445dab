//! The values of the options, checked, and the lines that print them before a run.

use crate::console::{self, Level};
use crate::native::{at_least, invalid};
use crate::options::Options;
use dyno_drivers::files::checksum::{self, Locks};
use dyno_drivers::files::open::Flags;
use std::path::{Path, PathBuf};

/// Minimum alignment of sizes for `O_DIRECT`; a device may require more.
const SECTOR_BYTES: u64 = 512;
/// Maximum number of requests in flight per thread.
const BACKLOG_MAX: u64 = 1 << 20;

/// The kind of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Creates the files again and writes them in order.
    SeqWrite,
    /// Writes existing files in order.
    SeqRewrite,
    SeqRead,
    RandomRead,
    RandomWrite,
    RandomMix,
}

impl Mode {
    fn named(name: &str) -> Result<Self, String> {
        Ok(match name {
            "seqwr" => Self::SeqWrite,
            "seqrewr" => Self::SeqRewrite,
            "seqrd" => Self::SeqRead,
            "rndrd" => Self::RandomRead,
            "rndwr" => Self::RandomWrite,
            "rndrw" => Self::RandomMix,
            "" => return Err("Missing required argument: --file-test-mode\n".into()),
            other => return Err(format!("Invalid IO operations mode: {other}.")),
        })
    }

    fn about(self) -> &'static str {
        match self {
            Self::SeqWrite => "sequential write (creation)",
            Self::SeqRewrite => "sequential rewrite",
            Self::SeqRead => "sequential read",
            Self::RandomRead => "random read",
            Self::RandomWrite => "random write",
            Self::RandomMix => "random r/w",
        }
    }

    pub fn is_random(self) -> bool {
        matches!(self, Self::RandomRead | Self::RandomWrite | Self::RandomMix)
    }

    pub fn writes(self) -> bool {
        !matches!(self, Self::SeqRead | Self::RandomRead)
    }
}

/// The method of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Io {
    /// One system call per request.
    Sync,
    /// A kernel queue, with this many requests in flight per thread.
    Async { backlog: usize },
    /// Copies from and to mapped memory.
    Mapped,
}

fn flags(options: &Options) -> Result<Flags, String> {
    let mut flags = Flags::default();
    for name in options.list("file-extra-flags") {
        match name.trim() {
            "sync" => flags.sync = true,
            "dsync" => flags.dsync = true,
            "direct" => flags.direct = true,
            other => return Err(invalid("file-extra-flags", other)),
        }
    }
    Ok(flags)
}

/// A line, with its end.
pub(super) fn flags_text(flags: Flags) -> String {
    let word = |is_set, word| if is_set { word } else { "" };
    format!(
        "Extra file open flags: {}{}{}{}\n",
        word(flags == Flags::default(), "(none)"),
        word(flags.sync, "sync "),
        word(flags.dsync, "dsync "),
        word(flags.direct, "directio"),
    )
}

/// The method of making writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Durability {
    /// Synchronises all files after this many requests, one request per file; 0: never.
    pub every: u64,
    /// Synchronises the file after each write, within the event; then there are no other syncs.
    pub each_write: bool,
    /// Each thread synchronises all files when it ends.
    pub at_end: bool,
    /// By `fdatasync`.
    pub data_only: bool,
}

impl Durability {
    fn of(options: &Options) -> Result<Self, String> {
        let data_only = match options.text("file-fsync-mode") {
            "fsync" => false,
            "fdatasync" => true,
            other => return Err(format!("Invalid fsync mode: {other}.")),
        };
        let each_write = options.bool("file-fsync-all");
        let every = at_least(options, "file-fsync-freq", 0).map_err(|text| text + ".")?;
        Ok(Self {
            every: if each_write { 0 } else { every },
            each_write,
            at_end: options.bool("file-fsync-end") && !each_write,
            data_only,
        })
    }

    fn told(self) -> String {
        let mut out = String::new();
        if self.each_write {
            out += "Calling fsync() after each write operation.\n";
        }
        if self.every > 0 {
            out +=
                &format!("Periodic FSYNC enabled, calling fsync() each {} requests.\n", self.every);
        }
        if self.at_end {
            out += "Calling fsync() at the end of test, Enabled.\n";
        }
        out
    }
}

/// The files, as all commands need them; with [`with_mode`](Self::with_mode) the requests too.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub directory: PathBuf,
    pub files: u64,
    pub file_bytes: u64,
    pub block_bytes: u64,
    pub flags: Flags,
    /// Blocks carry checksums.
    pub validates: bool,
    pub mode: Mode,
    pub io: Io,
    pub durability: Durability,
    /// Maximum number of blocks of a sequential request.
    pub merged: u64,
    pub reads_a_write: f64,
    /// `--events`, only to be printed.
    events: i64,
}

impl Plan {
    /// Reads all options except the mode, which commands do not need.
    pub fn of(directory: &Path, options: &Options) -> Result<Self, String> {
        let files = at_least(options, "file-num", 1)?;
        let block_bytes = at_least(options, "file-block-size", 1).map_err(|text| text + ".")?;
        let total_bytes = at_least(options, "file-total-size", 1)?;
        let file_bytes = total_bytes / files;
        if file_bytes == 0 {
            return Err(invalid("file-total-size", total_bytes)
                + &format!(" (less than a byte for each of {files} files)"));
        }
        let ratio = options.double("file-rw-ratio");
        if !(ratio >= 0.0 && ratio.is_finite()) {
            return Err(format!("Invalid value for --file-rw-ratio: {ratio:.6}."));
        }
        let merged = at_least(options, "file-merged-requests", 0).map_err(|text| text + ".")?;
        let plan = Self {
            directory: directory.to_owned(),
            files,
            file_bytes,
            block_bytes,
            flags: flags(options)?,
            validates: options.bool("validate"),
            mode: Mode::SeqWrite,
            io: io(options)?,
            durability: Durability::of(options)?,
            merged: merged.max(1),
            reads_a_write: ratio,
            events: options.int("events"),
        };
        plan.check_sizes()?;
        Ok(plan)
    }

    fn check_sizes(&self) -> Result<(), String> {
        if self.validates && self.block_bytes < checksum::BLOCK_BYTES_MIN {
            return Err(format!(
                "--validate needs a --file-block-size of at least {} bytes, for the checksum",
                checksum::BLOCK_BYTES_MIN
            ));
        }
        let fits = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
        if self.flags.direct && !(fits(self.block_bytes) && fits(self.file_bytes)) {
            return Err(format!(
                "--file-extra-flags=direct needs blocks and files of whole sectors: \
                 {} bytes a block and {} a file are not multiples of {SECTOR_BYTES}",
                self.block_bytes, self.file_bytes
            ));
        }
        Ok(())
    }

    /// Adds the options that only a run needs.
    pub fn with_mode(mut self, options: &Options) -> Result<Self, String> {
        self.mode = Mode::named(options.text("file-test-mode"))?;
        if self.mode.is_random() {
            self.merged = 1;
        }
        Ok(self)
    }

    /// Returns the name of a file, also for messages.
    pub fn name(number: u64) -> String {
        format!("test_file.{number}")
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.directory.join(Self::name(number))
    }

    /// Bytes of the largest request.
    pub fn request_bytes_max(&self) -> u64 {
        self.block_bytes.saturating_mul(self.merged).min(self.file_bytes)
    }

    /// Blocks of a file; the last one may be cut short.
    pub fn blocks(&self) -> u64 {
        self.file_bytes.div_ceil(self.block_bytes)
    }

    /// Only where a block may be read while another thread writes it, and is checked.
    pub fn locks(&self) -> Option<Locks> {
        (self.validates && self.mode == Mode::RandomMix).then(Locks::default)
    }

    /// Warns of options without effect.
    pub fn warn_of_idle(&self, options: &Options) {
        let queues = matches!(self.io, Io::Async { .. });
        let idle = [
            ("file-merged-requests", self.mode.is_random(), "random requests are not merged"),
            ("file-async-backlog", !queues, "only --file-io-mode=async has a queue"),
            (
                "file-extra-flags",
                self.io == Io::Mapped && self.flags != Flags::default(),
                "they do not apply to mapped memory",
            ),
            (
                "file-rw-ratio",
                self.mode != Mode::RandomMix,
                "only --file-test-mode=rndrw both reads and writes",
            ),
        ];
        for (name, is_idle, why) in idle {
            if is_idle && options.is_given(name) {
                console::say(Level::Warning, &format!("--{name} has no effect: {why}"));
            }
        }
    }

    /// Returns the lines before a run.
    pub fn heading(&self) -> String {
        let mut out = flags_text(self.flags);
        out += &format!("{} files, {} each\n", self.files, size_text(self.file_bytes));
        out += &format!("{} total file size\n", size_text(self.files * self.file_bytes));
        out += &format!("Block size {}\n", size_text(self.block_bytes));
        if self.merged > 1 {
            let most = size_text(self.block_bytes.saturating_mul(self.merged));
            out += &format!("Merging requests up to {most} for sequential IO.\n");
        }
        if self.mode.is_random() {
            out += &format!("Number of IO requests: {}\n", self.events);
            let ratio = self.reads_a_write;
            out += &format!("Read/Write ratio for combined random IO test: {ratio:.2}\n");
        }
        out += &self.durability.told();
        out += match self.io {
            Io::Sync => "Using synchronous I/O mode\n",
            Io::Async { .. } => "Using asynchronous I/O mode\n",
            Io::Mapped => "Using fast mmaped I/O mode\n",
        };
        if self.validates {
            out += "Using checksums validation.\n";
        }
        out + &format!("Doing {} test\n", self.mode.about())
    }
}

fn io(options: &Options) -> Result<Io, String> {
    match options.text("file-io-mode") {
        "sync" => Ok(Io::Sync),
        "mmap" => Ok(Io::Mapped),
        "async" => {
            let backlog = options.int("file-async-backlog");
            match u64::try_from(backlog) {
                Ok(count @ 1..=BACKLOG_MAX) => Ok(Io::Async { backlog: count as usize }),
                _ => Err(format!("Invalid value of file-async-backlog: {backlog}")),
            }
        }
        other => Err(format!("unknown I/O mode: {other}")),
    }
}

/// A size in the largest unit that it fills, with five digits.
pub(super) fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 {
        value /= 1024.0;
        unit += 1;
    }
    let before_point = (value as u64).to_string().len();
    let mut text = format!("{value:.*}", 5 - before_point);
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text + UNITS[unit]
}
