//! A thread's requests in the kernel's queue of asynchronous I/O. Sources: io_setup(2),
//! io_submit(2), io_getevents(2). They are raw system calls: the C library has no wrappers for
//! them.
//!
//! Without `O_DIRECT` most file systems execute the whole request within io_submit.

use super::Place;
use super::buffer::Buffer;
use std::ffi::{c_long, c_ulong};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

/// Operation codes of `linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// The kernel's `struct iocb` (linux/aio_abi.h); libc defines it for glibc only.
#[repr(C)]
#[derive(Default)]
struct Block {
    data: u64,
    key_and_flags: u64,
    operation: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    unused: [u64; 2],
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    outcome: i64,
    more: i64,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// The range of bytes.
    pub place: Place,
    /// Whether the request writes.
    pub is_write: bool,
}

/// A completed request.
pub struct Ended {
    /// The request.
    pub pending: Pending,
    /// Bytes moved, or the kernel's error.
    pub outcome: io::Result<u64>,
    slot: usize,
}

/// The queue of one thread.
pub struct Queue {
    context: c_ulong,
    /// The request in each slot.
    slots: Vec<Option<Pending>>,
    /// One per slot, created on first use; or one for all.
    buffers: Vec<Option<Buffer>>,
    free: Vec<usize>,
    /// The slot reserved for the next request.
    next: Option<usize>,
    /// Number of requests in flight.
    busy: usize,
    events: Vec<Event>,
}

impl Queue {
    /// A queue for `backlog` requests in flight. `is_looked_at`: the caller reads the contents, so
    /// each request has its own buffer; otherwise all share one, which saves memory.
    ///
    /// # Errors
    /// The kernel's limit on requests is reached.
    pub fn new(backlog: usize, is_looked_at: bool) -> io::Result<Self> {
        let mut context: c_ulong = 0;
        // SAFETY: `context` is valid for the call, and 0 as it must be.
        let outcome =
            unsafe { libc::syscall(libc::SYS_io_setup, backlog as c_long, &raw mut context) };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            context,
            slots: vec![None; backlog],
            buffers: (0..if is_looked_at { backlog } else { 1 }).map(|_| None).collect(),
            free: (0..backlog).rev().collect(),
            next: None,
            busy: 0,
            events: vec![Event::default(); backlog],
        })
    }

    /// Whether the queue accepts no further request.
    pub fn is_full(&self) -> bool {
        self.busy == self.slots.len()
    }

    /// Whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.busy == 0
    }

    /// Reserves a slot and a buffer for the next request; `make` creates the buffer if none exists.
    /// Returns the buffer if it is not shared. The queue must not be full.
    pub fn room<E>(
        &mut self,
        make: impl FnOnce() -> Result<Buffer, E>,
    ) -> Result<Option<&mut Buffer>, E> {
        let free = || self.free.pop().expect("the caller has seen to it");
        let slot = *self.next.get_or_insert_with(free);
        let is_shared = self.buffers.len() < self.slots.len();
        let buffer = &mut self.buffers[if is_shared { 0 } else { slot }];
        if buffer.is_none() {
            *buffer = Some(make()?);
        }
        Ok(buffer.as_mut().filter(|_| !is_shared))
    }

    /// Submits a request, after [`room`](Self::room). `WouldBlock`: the kernel accepts none until
    /// another request ends.
    pub fn submit(&mut self, pending: Pending, file: RawFd) -> io::Result<()> {
        let slot = self.next.expect("the caller has seen to it");
        let at = slot % self.buffers.len();
        let buffer = self.buffers[at].as_ref().expect("it was made with the room");
        assert!(pending.place.bytes <= buffer.bytes(), "a request fits its buffer");
        let mut block = Block {
            data: slot as u64,
            operation: if pending.is_write { PWRITE } else { PREAD },
            file: file as u32,
            buffer: buffer.start() as u64,
            bytes: pending.place.bytes,
            offset: pending.place.offset.cast_signed(),
            ..Block::default()
        };
        let mut blocks = [&raw mut block];
        // SAFETY: the kernel copies the block during the call. The buffer is not freed before the
        // request has ended, because `drop` destroys the context first; its contents are read only
        // if it belongs to the request alone, before the request begins and after it has ended.
        retried(|| unsafe {
            libc::syscall(libc::SYS_io_submit, self.context, 1 as c_long, blocks.as_mut_ptr())
        })?;
        self.next = None;
        self.busy += 1;
        self.slots[slot] = Some(pending);
        Ok(())
    }

    /// Waits until at least one request ends; returns all that have ended.
    pub fn wait(&mut self) -> io::Result<Vec<Ended>> {
        // SAFETY: the array has this length, and there is no timeout.
        let count = retried(|| unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                1 as c_long,
                self.events.len() as c_long,
                self.events.as_mut_ptr(),
                ptr::null_mut::<libc::timespec>(),
            )
        })?;
        let events = &self.events[..count as usize];
        let ended = |event: &Event| {
            let slot = event.data as usize;
            let outcome = match u64::try_from(event.outcome) {
                Ok(bytes) => Ok(bytes),
                Err(_) => Err(io::Error::from_raw_os_error(-event.outcome as i32)),
            };
            Some(Ended { pending: self.slots[slot].take()?, outcome, slot })
        };
        let ended: Vec<Ended> = events.iter().filter_map(ended).collect();
        self.busy -= ended.len();
        self.free.extend(ended.iter().map(|ended| ended.slot));
        Ok(ended)
    }

    /// The contents of a completed request's own buffer, valid until the next [`room`](Self::room);
    /// empty for a shared buffer.
    pub fn left_by(&self, ended: &Ended) -> &[u8] {
        let bytes = ended.pending.place.bytes as usize;
        match self.buffers.get(ended.slot) {
            Some(Some(buffer)) if self.buffers.len() == self.slots.len() => &buffer[..bytes],
            _ => &[],
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the queue owns the context; the call returns when no request is in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn retried(mut call: impl FnMut() -> c_long) -> io::Result<c_long> {
    loop {
        match call() {
            outcome if outcome >= 0 => return Ok(outcome),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
