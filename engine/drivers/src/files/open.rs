//! Creates, opens, fills, reads, writes and syncs files.

use super::buffer::Buffer;
use super::mapped::Map;
use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const NOBODY_ELSES: u32 = 0o600;

/// Additional flags for open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// `O_SYNC`.
    pub sync: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
    /// `O_DIRECT`.
    pub direct: bool,
}

impl Flags {
    fn bits(self) -> c_int {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        bit(self.sync, libc::O_SYNC)
            | bit(self.dsync, libc::O_DSYNC)
            | bit(self.direct, libc::O_DIRECT)
    }
}

/// Opens an existing file for reading and writing.
pub fn existing(path: &Path, flags: Flags) -> io::Result<File> {
    options(flags).read(true).open(path)
}

/// Creates a file for reading and writing; fails if it exists.
pub fn new(path: &Path, flags: Flags) -> io::Result<File> {
    options(flags).read(true).create_new(true).open(path)
}

/// Opens a file for writing only; creates it if it does not exist.
pub fn existing_or_new(path: &Path, flags: Flags) -> io::Result<File> {
    options(flags).create(true).truncate(false).open(path)
}

fn options(flags: Flags) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(NOBODY_ELSES).custom_flags(flags.bits());
    options
}

/// Writes `block` repeatedly from `begin` to `end`; the last part is cut there. `each` receives
/// each part and its offset before the write. Returns the bytes written.
pub fn fill(
    file: &File,
    begin: u64,
    end: u64,
    block: &mut Buffer,
    mut each: impl FnMut(&mut [u8], u64),
) -> io::Result<u64> {
    let mut offset = begin;
    while offset < end {
        let bytes = block.bytes().min(end - offset);
        let part = &mut block[..bytes as usize];
        each(part, offset);
        file.write_all_at(part, offset)?;
        offset += bytes;
    }
    Ok(offset - begin)
}

/// Allocates a file's disk space, because a write through a mapping without space kills the
/// process. Where the file system cannot allocate, only the length is set.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes.cast_signed()) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => file.set_len(bytes),
        _ => Err(error),
    }
}

/// An open file of a run, accessed by system calls, or as memory once it is mapped.
pub struct OpenFile {
    /// The file itself.
    pub file: File,
    map: Option<Map>,
}

impl From<File> for OpenFile {
    fn from(file: File) -> Self {
        Self { file, map: None }
    }
}

impl OpenFile {
    /// Maps the first `bytes` bytes of the file, which must be at least that long.
    pub fn map(&mut self, bytes: u64) -> io::Result<()> {
        self.map = Some(Map::of(&self.file, bytes)?);
        Ok(())
    }

    /// Reads all of `into`, in several calls if necessary.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof` where the file ends earlier.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.map {
            None => self.file.read_exact_at(into, offset),
            Some(map) => map.read(offset, into),
        }
    }

    /// Writes all of `from`, in several calls if necessary.
    pub fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        match &self.map {
            None => self.file.write_all_at(from, offset),
            Some(map) => map.write(offset, from),
        }
    }

    /// Makes earlier writes durable: `fdatasync` if `data_only`, else `fsync`; `msync` for a mapped
    /// file.
    pub fn sync(&self, data_only: bool) -> io::Result<()> {
        match &self.map {
            None if data_only => self.file.sync_data(),
            None => self.file.sync_all(),
            Some(map) => map.sync(),
        }
    }
}
