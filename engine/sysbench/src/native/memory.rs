//! `memory`: each event reads or writes one block, word by word, in order or at random positions of the
//! block. All threads share one block (`global`), or each has its own (`local`).
//!
//! Each thread does an equal part of the total size, in whole blocks: the remainder is omitted, as in
//! sysbench.

use super::events::{Events, Work};
use super::{Crew, Native, Run, declared, invalid, text};
use crate::console::{self, Level};
use crate::options::{Declared, Kind, Options, Value};
use crate::report;
use crate::session::Session;
use dyno_core::random::rng::Rng;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of a word; a block has at least one word.
const WORD_BYTES: u64 = 8;
/// Size of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The test.
pub struct Memory;

impl Native for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn about(&self) -> &'static str {
        "Memory functions speed test"
    }

    fn options(&self) -> Vec<Declared> {
        let size = |name, help, default| declared(name, help, Kind::Size, Value::Int(default));
        vec![
            size("memory-block-size", "size of memory block for test", 1 << 10),
            size("memory-total-size", "total size of data to transfer", 100 << 30),
            text("memory-scope", "memory access scope {global,local}", "global"),
            declared(
                "memory-hugetlb",
                "allocate memory from HugeTLB pool",
                Kind::Bool,
                Value::Bool(false),
            ),
            text("memory-oper", "type of memory operations {read, write, none}", "write"),
            text("memory-access-mode", "memory access mode {seq,rnd}", "seq"),
        ]
    }

    fn run(&self, options: &Options, crew: Crew) -> Result<Run, String> {
        let plan = Plan::of(options)?;
        let shared = match plan.scope {
            Scope::Global => Some(plan.block()?),
            Scope::Local => None,
        };
        let limit = (plan.total_bytes > 0)
            .then(|| plan.total_bytes / plan.block_bytes / u64::from(crew.sessions));
        Ok(Run {
            heading: plan.heading(),
            kind: report::Kind::Memory {
                block_bytes: plan.block_bytes,
                transfers: plan.operation != Operation::None,
            },
            limits_events: true,
            make: Arc::new(move |thread| {
                let rng = Rng::for_transaction(crew.seed, thread as u32, 0);
                Ok(Box::new(Events::new(Transfer { plan, block: shared.clone(), rng }, limit)))
            }),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Global,
    Local,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    None,
}

/// The values of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    block_bytes: u64,
    /// 0: no limit.
    total_bytes: u64,
    scope: Scope,
    operation: Operation,
    is_random: bool,
    is_huge: bool,
}

impl Plan {
    fn of(options: &Options) -> Result<Self, String> {
        let block = options.int("memory-block-size");
        let block_bytes = u64::try_from(block)
            .ok()
            .filter(|&bytes| bytes > 0 && bytes.is_multiple_of(WORD_BYTES))
            .ok_or_else(|| invalid("memory-block-size", block))?;
        let total_bytes = super::at_least(options, "memory-total-size", 0)?;
        let word = |name: &str| (name.to_owned(), options.text(name).to_owned());
        let wrong = |(name, value): (String, String)| Err(invalid(&name, value));
        let scope = match word("memory-scope") {
            (_, value) if value == "global" => Scope::Global,
            (_, value) if value == "local" => Scope::Local,
            other => return wrong(other),
        };
        let operation = match word("memory-oper") {
            (_, value) if value == "read" => Operation::Read,
            (_, value) if value == "write" => Operation::Write,
            (_, value) if value == "none" => Operation::None,
            other => return wrong(other),
        };
        let is_random = match word("memory-access-mode") {
            (_, value) if value == "seq" => false,
            (_, value) if value == "rnd" => true,
            other => return wrong(other),
        };
        let is_huge = options.bool("memory-hugetlb");
        Ok(Self { block_bytes, total_bytes, scope, operation, is_random, is_huge })
    }

    fn heading(&self) -> String {
        let operation = match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::None => "none",
        };
        let scope = match self.scope {
            Scope::Global => "global",
            Scope::Local => "local",
        };
        format!(
            "Running memory speed test with the following options:\n  block size: {}KiB\n  \
             total size: {}MiB\n  operation: {operation}\n  scope: {scope}\n\n",
            self.block_bytes >> 10,
            self.total_bytes >> 20,
        )
    }

    fn block(&self) -> Result<Arc<Block>, String> {
        let words = usize::try_from(self.block_bytes / WORD_BYTES).ok();
        let block = match words {
            Some(words) if self.is_huge => Block::huge(words),
            Some(words) => Block::new(words),
            None => None,
        };
        block.map(Arc::new).ok_or_else(|| "Failed to allocate buffer!".to_owned())
    }
}

/// A block of words. They are atomic because threads share them, and accessed without order, which
/// costs nothing and keeps each access.
enum Block {
    Heap(Vec<AtomicU64>),
    Huge { start: *mut AtomicU64, words: usize, bytes: usize },
}

// SAFETY: a block is words that any thread may access at any time, in memory that belongs to it.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Writes to all pages: reads of a page that was never written would hit the shared zero page.
    fn new(words: usize) -> Option<Self> {
        let mut heap = Vec::new();
        heap.try_reserve_exact(words).ok()?;
        heap.extend((0..words as u64).map(AtomicU64::new));
        Some(Self::Heap(heap))
    }

    fn huge(words: usize) -> Option<Self> {
        let bytes = (words * size_of::<u64>()).checked_next_multiple_of(HUGE_PAGE_BYTES)?;
        // SAFETY: a new anonymous mapping; nothing of ours is replaced.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            let cause = super::cause(&std::io::Error::last_os_error());
            let text = format!("Failed to allocate {bytes} bytes from HugeTLB memory. {cause}");
            console::say(Level::Fatal, &text);
            return None;
        }
        let block = Self::Huge { start: start.cast(), words, bytes };
        block.words().iter().zip(0..).for_each(|(word, value)| word.store(value, Relaxed));
        Some(block)
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        match self {
            Self::Heap(words) => words,
            // SAFETY: the mapping is ours until `drop`, aligned to a page, at least so long and
            // filled with zeros; its words are only ever accessed as atomics.
            Self::Huge { start, words, .. } => unsafe {
                std::slice::from_raw_parts(*start, *words)
            },
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Self::Huge { start, bytes, .. } = self {
            // SAFETY: the mapping was made with this address and length, and nobody borrows it.
            unsafe { libc::munmap(start.cast(), *bytes) };
        }
    }
}

/// The work of one thread.
struct Transfer {
    plan: Plan,
    /// None until the thread has created its own.
    block: Option<Arc<Block>>,
    rng: Rng,
}

impl Work for Transfer {
    fn set_up(&mut self) -> Result<(), String> {
        if self.block.is_none() {
            self.block = Some(self.plan.block()?);
        }
        Ok(())
    }

    #[inline]
    fn event(&mut self, session: &Session<'_>) -> Result<(), String> {
        let Some(block) = &self.block else { return Ok(()) };
        let words = block.words();
        match (self.plan.operation, self.plan.is_random) {
            (Operation::Read, false) => read(words.iter()),
            (Operation::Read, true) => read(anywhere(words, &mut self.rng)),
            (Operation::Write, false) => write(words.iter()),
            (Operation::Write, true) => write(anywhere(words, &mut self.rng)),
            (Operation::None, _) => {}
        }
        match self.plan.operation {
            Operation::Read => session.tally.bytes_read.add(self.plan.block_bytes),
            Operation::Write => session.tally.bytes_written.add(self.plan.block_bytes),
            Operation::None => {}
        }
        Ok(())
    }
}

#[inline]
fn read<'a>(words: impl Iterator<Item = &'a AtomicU64>) {
    words.for_each(|word| {
        black_box(word.load(Relaxed));
    });
}

#[inline]
fn write<'a>(words: impl Iterator<Item = &'a AtomicU64>) {
    let value = black_box(1);
    words.for_each(|word| word.store(value, Relaxed));
}

/// Iterates over random words, as many as the block has.
fn anywhere<'a>(words: &'a [AtomicU64], rng: &mut Rng) -> impl Iterator<Item = &'a AtomicU64> {
    words.iter().map(|_| &words[rng.below(words.len() as u64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_does_its_part_in_whole_blocks() {
        let block = Block::new(4).unwrap();
        write(block.words().iter());
        assert!(block.words().iter().all(|word| word.load(Relaxed) == 1));
        let mut rng = Rng::new(1);
        assert_eq!(anywhere(block.words(), &mut rng).count(), 4);
        assert!(Block::new(usize::MAX / 16).is_none());
        assert!(Block::huge(usize::MAX / 8).is_none());
    }
}
