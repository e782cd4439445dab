//! A thread's requests under way, in the kernel's queue of asynchronous I/O. Source: io_setup(2), io_submit(2),
//! io_getevents(2), which are called directly: the C library has no names for them.
//!
//! Without `O_DIRECT` most file systems do the whole request while it is handed over.

use super::Place;
use super::buffer::Buffer;
use std::ffi::{c_long, c_ulong};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

/// Operation codes of `linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// The kernel's `struct iocb` (linux/aio_abi.h), which libc has for glibc alone.
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

/// A request under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Which bytes.
    pub place: Place,
    /// Whether they are written.
    pub is_write: bool,
}

/// One that has ended.
pub struct Ended {
    /// What was asked.
    pub pending: Pending,
    /// Bytes moved.
    pub outcome: io::Result<u64>,
    slot: usize,
}

/// The queue of one thread.
pub struct Queue {
    context: c_ulong,
    /// What each slot is busy with.
    slots: Vec<Option<Pending>>,
    /// One for each slot, made when it is first used; or one for all.
    buffers: Vec<Option<Buffer>>,
    free: Vec<usize>,
    /// The slot of the next request, once its buffer was asked for.
    next: Option<usize>,
    /// Requests under way.
    busy: usize,
    events: Vec<Event>,
}

impl Queue {
    /// For `backlog` requests at the same time. `is_looked_at`: what they move matters, so that each has a
    /// buffer of its own; otherwise all share one, which saves memory.
    ///
    /// # Errors
    /// The kernel has no room for so many.
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

    /// Whether no further one can be handed over.
    pub fn is_full(&self) -> bool {
        self.busy == self.slots.len()
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.busy == 0
    }

    /// Sees to a slot and a buffer for the next request; `make` makes the buffer when there is none. It is
    /// given if it is the request's alone. The queue must not be full.
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

    /// Hands over a request, for which there is [`room`](Self::room). `WouldBlock`: the kernel has none until
    /// something under way ends.
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
        // SAFETY: the kernel copies the block during the call. The buffer is not freed before the request
        // has ended, for `drop` destroys the context first; and it is looked at only if it is the
        // request's alone, before the request begins and after it has ended.
        retried(|| unsafe {
            libc::syscall(libc::SYS_io_submit, self.context, 1 as c_long, blocks.as_mut_ptr())
        })?;
        self.next = None;
        self.busy += 1;
        self.slots[slot] = Some(pending);
        Ok(())
    }

    /// Waits until something under way has ended, and takes all that has.
    pub fn wait(&mut self) -> io::Result<Vec<Ended>> {
        // SAFETY: the array is so long, and no time limit is given.
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

    /// What an ended request has left in its own buffer, until the next one has room; nothing in a shared
    /// one.
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
        // SAFETY: the context is ours; the call returns when nothing is under way any more.
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
