//! A file mapped into memory, shared by all threads.

use super::faults;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A mapped file.
pub struct Map {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to the mapping, which lives until `drop`; only copies by the C library
// access it, never references, so that threads may access the same bytes at once.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `bytes` bytes of a file, which must be at least that long.
    pub fn of(file: &File, bytes: u64) -> io::Result<Self> {
        faults::watch();
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping at an address that the kernel chooses; the descriptor is open.
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

    /// Copies from the mapping.
    ///
    /// # Errors
    /// The file no longer backs these bytes.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let start = self.part(offset, into.len());
        // SAFETY: both sides have this length; `part` checks the mapping's.
        faults::guarded(start, into.len(), || unsafe {
            libc::memcpy(into.as_mut_ptr().cast(), start, into.len());
        })
    }

    /// Copies into the mapping.
    ///
    /// # Errors
    /// The file no longer backs these bytes.
    pub fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let start = self.part(offset, from.len());
        // SAFETY: as above.
        faults::guarded(start, from.len(), || unsafe {
            libc::memcpy(start, from.as_ptr().cast(), from.len());
        })
    }

    /// Makes earlier writes durable (`msync`).
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the address and length of the whole mapping.
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
        // SAFETY: the mapping has this address and length, and has no users any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.bytes) };
    }
}
