//! A histogram with one writer and lock-free readers.

use super::counter::Counter;
use dyno_core::histogram::{CHUNK, CHUNKS, Histogram, bucket_of};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

type Chunk = [AtomicU64; CHUNK];

/// A histogram with one writer. It allocates 1 KiB for each doubling of values in use: a session's
/// latencies seldom span many, so that thousands of threads need little memory.
#[derive(Debug)]
pub struct LiveHistogram {
    chunks: [OnceLock<Box<Chunk>>; CHUNKS],
    sum_ns: Counter,
}

impl Default for LiveHistogram {
    fn default() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], sum_ns: Counter::default() }
    }
}

impl Clone for LiveHistogram {
    fn clone(&self) -> Self {
        let copy = |chunk: &Chunk| {
            Box::new(std::array::from_fn(|place| AtomicU64::new(chunk[place].load(Relaxed))))
        };
        let chunks = self.chunks.each_ref().map(|chunk| {
            chunk.get().map_or_else(OnceLock::new, |chunk| OnceLock::from(copy(chunk)))
        });
        Self { chunks, sum_ns: self.sum_ns.clone() }
    }
}

impl LiveHistogram {
    /// Counts one value; only the owning thread may call it.
    #[inline]
    pub fn record(&self, value_ns: u64) {
        let bucket = bucket_of(value_ns);
        let chunk = self.chunks[bucket / CHUNK]
            .get_or_init(|| Box::new([const { AtomicU64::new(0) }; CHUNK]));
        let cell = &chunk[bucket % CHUNK];
        cell.store(cell.load(Relaxed) + 1, Relaxed);
        self.sum_ns.add(value_ns);
    }

    /// Adds all values recorded so far to `total`.
    pub fn add_to(&self, total: &mut Histogram) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let Some(chunk) = chunk.get() else { continue };
            for (place, cell) in chunk.iter().enumerate() {
                let count = cell.load(Relaxed);
                if count > 0 {
                    total.add_bucket(number * CHUNK + place, count);
                }
            }
        }
        total.add_sum(self.sum_ns.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn live_and_plain_histograms_agree(values in prop::collection::vec(any::<u64>(), 0..300)) {
            let (live, mut plain) = (LiveHistogram::default(), Histogram::default());
            for value in values {
                live.record(value >> 20);
                plain.record(value >> 20);
            }
            let mut read = Histogram::default();
            live.add_to(&mut read);
            prop_assert_eq!(read, plain);
        }
    }
}
