//! `io`: reads, writes and syncs blocks of plain files.
//!
//! A transaction reads or writes one block. After each n-th write of a session (`sync_every`) it also
//! syncs: the file just written if n is 1, else all files, since the n writes may be in any of them.
//! Reads and writes are spread evenly over a session's transactions.
//!
//! Random blocks are drawn from all whole blocks of all files; hot blocks (`distribution: zipfian`) are
//! scattered. With sequential access, each session cycles through all files from a start of its own; the
//! sessions' starts are equally spaced.
//!
//! The files do not depend on the block size, so that workloads that differ only in `block_size` share
//! them.

mod settings;
#[cfg(test)]
mod tests;

use crate::evenly::Evenly;
use crate::generator::scatter::Scatter;
use crate::mix::SESSION_BITS;
use dyno_core::error::Result;
use dyno_core::random::distribution::Distribution;
use dyno_core::random::rng::Rng;
use dyno_core::request::capability::Capability;
use dyno_core::request::{FileSet, FileVerb};
use dyno_core::workload::{Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind};
use settings::Settings;
use std::ops::Range;
use std::sync::Arc;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: "io",
    about: "blocks of plain files, read, written and made durable; presets random_read, \
            random_write, random_mixed, sequential_read, sequential_write",
    needs: &[Capability::Io],
    build,
};

/// Prefix of the files' names.
const SET: &str = "io";
/// Separates the random phase of a session's writes from its transactions' draws.
const PHASE: u64 = 0x696f_7068_6173_6500;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    let settings = Settings::read(order.options)?;
    let (files, file_bytes) = (settings.files, settings.file_bytes);
    let set = Arc::new(FileSet { name: SET.to_owned(), files, file_bytes });
    Ok(Box::new(Io {
        catalogue: Catalogue::new(&settings, &set),
        set,
        writes: Evenly::new(1.0 - settings.read_share),
        distribution: Distribution::new(settings.shape, settings.blocks()),
        scatter: Scatter::new(settings.blocks()),
        seed: order.seed,
        sessions: u64::from(order.sessions.max(1)),
        settings,
    }))
}

struct Io {
    settings: Settings,
    set: Arc<FileSet>,
    seed: u64,
    sessions: u64,
    writes: Evenly,
    distribution: Distribution,
    scatter: Scatter,
    catalogue: Catalogue,
}

/// The list of requests, and the index of each.
#[derive(Debug, Default)]
struct Catalogue {
    read: u16,
    write: u16,
    sync: u16,
    requests: Vec<Request>,
}

impl Catalogue {
    fn new(settings: &Settings, set: &Arc<FileSet>) -> Self {
        let mut all = Self::default();
        let bytes = settings.block_bytes;
        if settings.read_share > 0.0 {
            all.read = all.add(Request::io("read", set, FileVerb::Read { bytes }));
        }
        if settings.read_share < 1.0 {
            all.write = all.add(Request::io("write", set, FileVerb::Write { bytes }));
            if settings.sync_every > 0 {
                let (class, verb) = match settings.is_data_only {
                    true => ("fdatasync", FileVerb::SyncData),
                    false => ("fsync", FileVerb::Sync),
                };
                all.sync = all.add(Request::io(class, set, verb));
            }
        }
        all
    }

    fn add(&mut self, request: Request) -> u16 {
        self.requests.push(request);
        (self.requests.len() - 1) as u16
    }
}

impl Io {
    /// Number of a transaction's block (0-based) among the blocks of all files.
    fn block(&self, session: u32, index: u64, rng: &mut Rng) -> u64 {
        let blocks = self.settings.blocks();
        if self.settings.is_random {
            return self.scatter.place(self.distribution.sample(rng) - 1);
        }
        let number = u64::from(session & ((1 << SESSION_BITS) - 1)) % self.sessions;
        let first = u128::from(blocks) * u128::from(number) / u128::from(self.sessions);
        (first as u64 + index % blocks) % blocks
    }

    /// The files to sync after write number `nth` (0-based) of a session, which was to `file`.
    fn due(&self, nth: u64, file: u64) -> Range<u64> {
        match self.settings.sync_every {
            1 => file..file + 1,
            n if n > 0 && (nth + 1).is_multiple_of(n) => 0..self.settings.files.into(),
            _ => 0..0,
        }
    }
}

impl Workload for Io {
    fn requests(&self) -> Vec<Request> {
        self.catalogue.requests.clone()
    }

    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        let mut rng = Rng::for_transaction(self.seed, session, index);
        let phase = Rng::for_transaction(self.seed ^ PHASE, session, 0).u64();
        let is_write = self.writes.is_chosen(index, phase);
        let block = self.block(session, index, &mut rng);
        let a_file = self.settings.blocks_a_file();
        let (file, offset) =
            (block / a_file, block % a_file * u64::from(self.settings.block_bytes));
        tx.int(file as i64);
        tx.int(offset as i64);
        tx.op(if is_write { self.catalogue.write } else { self.catalogue.read });
        if is_write {
            for file in self.due(self.writes.before(index, phase), file) {
                tx.int(file as i64);
                tx.op(self.catalogue.sync);
            }
        }
    }

    fn changes_data(&self) -> bool {
        self.settings.read_share < 1.0
    }

    fn tables(&self) -> Vec<Table> {
        vec![]
    }

    fn rows(&self, _: usize, _: Range<u64>, _: &mut dyn RowSink) {}

    fn files(&self) -> Option<FileSet> {
        Some((*self.set).clone())
    }
}
