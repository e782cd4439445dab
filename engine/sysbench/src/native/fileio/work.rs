//! Executes a thread's requests one after the other; each event draws the next request.
//!
//! With `--file-io-mode=async` an event submits its request, and waits only for room in the queue; bytes
//! count when their request completes. Before a sync the thread waits for all its pending requests.

use super::files::{self, Files};
use super::plan::{Io, Plan};
use super::requests::{Request, Requests};
use crate::native::cause;
use crate::native::events::Work;
use crate::session::Session;
use crate::tally::Tally;
use dyno_core::random::rng::Rng;
use dyno_drivers::files::Place;
use dyno_drivers::files::buffer::Buffer;
use dyno_drivers::files::checksum::{self, Locks};
use dyno_drivers::files::queue::{Ended, Pending, Queue};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// State shared by all threads of a run.
pub(super) struct Shared {
    pub plan: Plan,
    pub files: Files,
    pub locks: Option<Locks>,
    pub requests: Requests,
}

impl Shared {
    fn is_checked(&self, pending: Pending) -> bool {
        self.plan.validates && !pending.is_write
    }

    /// The number of a block, which selects its lock.
    fn block(&self, place: Place) -> u64 {
        place.file as u64 * self.plan.blocks() + place.offset / self.plan.block_bytes
    }

    fn buffer(&self, rng: &mut Rng) -> Result<Buffer, String> {
        Buffer::random(self.plan.request_bytes_max(), rng)
    }

    /// With validation: fills a write's buffer with checksummed bytes.
    fn fill(&self, pending: Pending, bytes: &mut [u8], rng: &mut Rng) {
        if self.plan.validates && pending.is_write {
            checksum::fill(bytes, self.plan.block_bytes, pending.place.offset, rng);
        }
    }

    /// Reads or writes the bytes, and waits until that is done.
    fn transfer(&self, pending: Pending, bytes: &mut [u8]) -> io::Result<()> {
        let place = pending.place;
        let file = self.files.file(place.file);
        if pending.is_write {
            file.write(place.offset, bytes)
        } else {
            file.read(place.offset, bytes)
        }
    }

    /// Validates a completed request, and counts it.
    fn done(&self, pending: Pending, bytes: &[u8], tally: &Tally) -> Result<(), String> {
        let place = pending.place;
        if self.is_checked(pending) {
            checksum::check(bytes, self.plan.block_bytes, place.offset).map_err(|error| {
                format!(
                    "Validation failed on file '{}', {error}\nWARNING: Were the files written with \
                     --validate and the same --file-block-size?",
                    Plan::name(place.file as u64)
                )
            })?;
        }
        if pending.is_write {
            tally.writes.add(1);
            tally.bytes_written.add(place.bytes);
        } else {
            tally.reads.add(1);
            tally.bytes_read.add(place.bytes);
        }
        Ok(())
    }

    fn failed(&self, pending: Pending, error: &io::Error) -> String {
        let (word, place) = (if pending.is_write { "write" } else { "read" }, pending.place);
        format!(
            "Failed to {word} file! file: {} pos: {} {}{}",
            Plan::name(place.file as u64),
            place.offset,
            cause(error),
            files::hint(error, self.plan.flags),
        )
    }

    fn sync(&self, file: usize, tally: &Tally) -> Result<(), String> {
        self.files.sync(file, &self.plan)?;
        tally.others.add(1);
        Ok(())
    }

    fn give(&self, place: Place) {
        if let Some(locks) = &self.locks {
            locks.give(self.block(place));
        }
    }
}

/// The state of one thread.
pub(super) struct Requesting {
    shared: Arc<Shared>,
    rng: Rng,
    way: Way,
}

enum Way {
    /// Before `set_up`.
    None,
    Direct(Buffer),
    Queued(Queue),
}

impl Requesting {
    /// State of thread number `thread`, with its own random numbers.
    pub fn new(shared: Arc<Shared>, seed: u64, thread: u32) -> Self {
        Self { shared, rng: Rng::for_transaction(seed, thread, 0), way: Way::None }
    }

    fn move_bytes(&mut self, pending: Pending, tally: &Tally) -> Result<(), String> {
        match &mut self.way {
            Way::None => {}
            Way::Direct(buffer) => {
                let bytes = &mut buffer[..pending.place.bytes as usize];
                self.shared.fill(pending, bytes, &mut self.rng);
                if let Some(locks) = &self.shared.locks {
                    locks.take(self.shared.block(pending.place));
                }
                let moved = self.shared.transfer(pending, bytes);
                self.shared.give(pending.place);
                moved.map_err(|error| self.shared.failed(pending, &error))?;
                self.shared.done(pending, bytes, tally)?;
            }
            Way::Queued(_) => self.hand_over(pending, tally)?,
        }
        if pending.is_write && self.shared.plan.durability.each_write {
            self.settle(tally)?;
            self.shared.sync(pending.place.file, tally)?;
        }
        Ok(())
    }

    fn hand_over(&mut self, pending: Pending, tally: &Tally) -> Result<(), String> {
        self.make_room(pending, tally)?;
        let Self { shared, rng, way: Way::Queued(queue) } = self else { return Ok(()) };
        let room = queue.room(|| shared.buffer(rng));
        if let Some(own) = room.inspect_err(|_| shared.give(pending.place))? {
            shared.fill(pending, &mut own[..pending.place.bytes as usize], rng);
        }
        let file = shared.files.file(pending.place.file).file.as_raw_fd();
        loop {
            match queue.submit(pending, file) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !queue.is_idle() => {
                    reap(shared, queue, tally)?;
                }
                Err(error) => {
                    shared.give(pending.place);
                    return Err(shared.failed(pending, &error));
                }
            }
        }
    }

    /// Waits for a slot, and for the block's lock if blocks have locks. A thread that waits for a lock has
    /// no pending requests, hence holds no lock.
    fn make_room(&mut self, pending: Pending, tally: &Tally) -> Result<(), String> {
        let Self { shared, way: Way::Queued(queue), .. } = self else { return Ok(()) };
        while queue.is_full() {
            reap(shared, queue, tally)?;
        }
        let Some(locks) = &shared.locks else { return Ok(()) };
        let block = shared.block(pending.place);
        if !locks.try_take(block) {
            self.settle(tally)?;
            if let Some(locks) = &self.shared.locks {
                locks.take(block);
            }
        }
        Ok(())
    }

    /// Waits for all pending requests.
    fn settle(&mut self, tally: &Tally) -> Result<(), String> {
        let Self { shared, way: Way::Queued(queue), .. } = self else { return Ok(()) };
        while !queue.is_idle() {
            reap(shared, queue, tally)?;
        }
        Ok(())
    }
}

/// Waits until at least one pending request completes.
fn reap(shared: &Shared, queue: &mut Queue, tally: &Tally) -> Result<(), String> {
    let all = wait(shared, queue)?;
    all.iter().try_for_each(|ended| {
        let pending = ended.pending;
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let outcome = match &ended.outcome {
            Ok(bytes) if *bytes == pending.place.bytes => Ok(()),
            Ok(_) => Err(shared.failed(pending, &short())),
            Err(error) => Err(shared.failed(pending, error)),
        };
        outcome.and_then(|()| shared.done(pending, queue.left_by(ended), tally))
    })
}

fn wait(shared: &Shared, queue: &mut Queue) -> Result<Vec<Ended>, String> {
    let all = queue.wait().map_err(|error| {
        format!("Failed to wait for asynchronous I/O: io_getevents() {}", cause(&error))
    })?;
    all.iter().for_each(|ended| shared.give(ended.pending.place));
    Ok(all)
}

fn queue(backlog: usize, is_looked_at: bool) -> Result<Queue, String> {
    Queue::new(backlog, is_looked_at).map_err(|error| {
        format!(
            "Cannot set up asynchronous I/O for {backlog} requests a thread: io_setup() {}\n\
             WARNING: use a smaller --file-async-backlog or fewer threads, raise \
             /proc/sys/fs/aio-max-nr, or use --file-io-mode=sync",
            cause(&error)
        )
    })
}

impl Work for Requesting {
    fn set_up(&mut self) -> Result<(), String> {
        self.way = match self.shared.plan.io {
            Io::Sync | Io::Mapped => Way::Direct(self.shared.buffer(&mut self.rng)?),
            Io::Async { backlog } => Way::Queued(queue(backlog, self.shared.plan.validates)?),
        };
        Ok(())
    }

    fn event(&mut self, session: &Session<'_>) -> Result<(), String> {
        let tally = session.tally;
        match self.shared.requests.next(&mut self.rng) {
            Request::Read(place) => self.move_bytes(Pending { place, is_write: false }, tally),
            Request::Write(place) => self.move_bytes(Pending { place, is_write: true }, tally),
            Request::Sync { file } => {
                self.settle(tally)?;
                self.shared.sync(file, tally)
            }
        }
    }

    fn finish(&mut self, session: &Session<'_>) -> Result<(), String> {
        self.settle(session.tally)?;
        let plan = &self.shared.plan;
        if plan.mode.writes() && plan.durability.at_end {
            (0..self.shared.files.len())
                .try_for_each(|file| self.shared.sync(file, session.tally))?;
        }
        Ok(())
    }
}

impl Drop for Requesting {
    /// After a failure other threads may wait for the locks of pending requests.
    fn drop(&mut self) {
        if let Way::Queued(queue) = &mut self.way {
            while !queue.is_idle() && wait(&self.shared, queue).is_ok() {}
        }
    }
}
