//! A file as memory, shared by all threads.

use super::faults;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A file, mapped.
pub struct Map {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to the mapping, which lives until `drop`; it is reached through copies made
// by the C library alone, never through references, so that threads may touch the same bytes at once.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `bytes` of a file, which must have so many.
    pub fn of(file: &File, bytes: u64) -> io::Result<Self> {
        faults::watch();
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping where there was none; the descriptor is open.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start).filter(|start| start.as_ptr() != libc::MAP_FAILED) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// Copies out.
    ///
    /// # Errors
    /// The file does not hold it any more.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let start = self.part(offset, into.len());
        // SAFETY: both are so long: the mapping by `part`.
        faults::guarded(start, into.len(), || unsafe {
            libc::memcpy(into.as_mut_ptr().cast(), start, into.len());
        })
    }

    /// Copies in.
    ///
    /// # Errors
    /// The file has no such place any more.
    pub fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let start = self.part(offset, from.len());
        // SAFETY: as above.
        faults::guarded(start, from.len(), || unsafe {
            libc::memcpy(start, from.as_ptr().cast(), from.len());
        })
    }

    /// Makes durable what was written.
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the whole mapping, as it was made.
        match unsafe { libc::msync(self.start.as_ptr(), self.bytes, libc::MS_SYNC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn part(&self, offset: u64, bytes: usize) -> *mut libc::c_void {
        let offset = offset as usize;
        assert!(offset + bytes <= self.bytes, "a request lies within its file");
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().byte_add(offset) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: made with this address and length, and nobody uses it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.bytes) };
    }
}
