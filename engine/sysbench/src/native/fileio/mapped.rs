//! Files as memory: all threads share one mapping a file.

use super::faults;
use super::files::Files;
use super::plan::Plan;
use super::requests::Place;
use crate::native::cause;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// The files of a run, mapped.
pub(super) struct Maps(Vec<Map>);

struct Map {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to the mapping, which lives until `drop`; it is reached through copies made
// by the C library alone, never through references, so that threads may touch the same bytes at once.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Maps {
    /// Maps `bytes` of each file, which must have so many.
    pub fn of(files: &Files, bytes: u64) -> Result<Self, String> {
        faults::watch();
        let map = |number| {
            map(files, number, bytes).map_err(|error| {
                format!("Cannot map file '{}' {}", Plan::name(number as u64), cause(&error))
            })
        };
        (0..files.len()).map(map).collect::<Result<_, _>>().map(Self)
    }

    /// Copies out.
    ///
    /// # Errors
    /// The file does not hold it any more.
    pub fn read(&self, place: Place, into: &mut [u8]) -> io::Result<()> {
        let (start, bytes) = self.part(place);
        assert!(into.len() >= bytes, "a request fits its buffer");
        // SAFETY: both are so long: the mapping by `part`, the buffer by the assertion.
        faults::guarded(start, bytes, || unsafe {
            libc::memcpy(into.as_mut_ptr().cast(), start, bytes);
        })
    }

    /// Copies in.
    ///
    /// # Errors
    /// The file has no such place any more.
    pub fn write(&self, place: Place, from: &[u8]) -> io::Result<()> {
        let (start, bytes) = self.part(place);
        assert!(from.len() >= bytes, "a request fits its buffer");
        // SAFETY: as above.
        faults::guarded(start, bytes, || unsafe {
            libc::memcpy(start, from.as_ptr().cast(), bytes);
        })
    }

    /// Makes durable what was written of a file.
    pub fn sync(&self, number: usize) -> Result<(), String> {
        let map = &self.0[number];
        // SAFETY: the whole mapping, as it was made.
        if unsafe { libc::msync(map.start.as_ptr(), map.bytes, libc::MS_SYNC) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        Err(format!("Failed to msync file! file: {} {}", Plan::name(number as u64), cause(&error)))
    }

    fn part(&self, place: Place) -> (*mut libc::c_void, usize) {
        let map = &self.0[place.file];
        let (offset, bytes) = (place.offset as usize, place.bytes as usize);
        assert!(offset + bytes <= map.bytes, "a request lies within its file");
        // SAFETY: within the mapping.
        (unsafe { map.start.as_ptr().byte_add(offset) }, bytes)
    }
}

fn map(files: &Files, number: usize, bytes: u64) -> io::Result<Map> {
    let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping where there was none; the descriptor is open.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            files.file(number).as_raw_fd(),
            0,
        )
    };
    match NonNull::new(start).filter(|start| start.as_ptr() != libc::MAP_FAILED) {
        Some(start) => Ok(Map { start, bytes }),
        None => Err(io::Error::last_os_error()),
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: made with this address and length, and nobody uses it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.bytes) };
    }
}
