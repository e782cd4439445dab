//! Buffered results of one request: rows as bytes in the driver's own format, in one reused buffer.
//! Clients decode a row only when they read it.
//!
//! As in `libpq`, which scripts were written for, a result is buffered whole, within limits
//! (`allowance.rs`). Later requests release the memory of a large one.

use crate::allowance::{Allowance, no_memory};
use dyno_core::driver::ServerError;
use dyno_core::driver::client::Answer;
use dyno_core::error::{Error, Kind, Result};

/// Buffers up to this size are never shrunk, bytes.
const KEPT_BYTES: usize = 256 << 10;
/// Bytes per row in addition to its contents.
const ROW_BYTES: usize = size_of::<usize>();
/// Bytes per answer, in this buffer and in the reader's.
const ANSWER_BYTES: usize = size_of::<Answer>() + 3 * size_of::<usize>();

/// The results of the current request, or of the last one.
#[derive(Default)]
pub(crate) struct Results {
    answers: Vec<Answer>,
    /// For each answer, the index in `rows` of its first row.
    firsts: Vec<usize>,
    /// Offset in `bytes` of each row.
    rows: Vec<usize>,
    /// Contents of all rows.
    bytes: Vec<u8>,
    /// Bytes of the last row that have not arrived.
    missing: usize,
    /// Number of columns of the current result.
    fields: u32,
    /// Index in `rows` of the current result's first row.
    first: usize,
    /// Bytes that the request's results take, overhead included.
    size: usize,
    allowance: Allowance,
}

impl Results {
    /// Discards the results of the last request.
    pub fn clear(&mut self) {
        give_back(&mut self.rows);
        give_back(&mut self.bytes);
        give_back(&mut self.answers);
        give_back(&mut self.firsts);
        self.answers.clear();
        self.firsts.clear();
        self.rows.clear();
        self.bytes.clear();
        self.size = 0;
        self.allowance.lower(self.bytes.capacity() + self.rows.capacity() * ROW_BYTES);
        self.begin(0);
    }

    /// Counts `bytes` more, in this buffer or in the reader's.
    ///
    /// # Errors
    /// Those of [`Allowance::check`].
    #[inline]
    pub fn count(&mut self, bytes: usize) -> Result<()> {
        self.size = self.size.saturating_add(bytes);
        self.allowance.check(self.size)
    }

    fn begin(&mut self, fields: u32) {
        self.missing = 0;
        self.fields = fields;
        self.first = self.rows.len();
    }

    /// Sets the number of columns of the current result.
    pub fn describe(&mut self, fields: u32) {
        self.fields = fields;
    }

    /// Begins a row of `size` bytes, which [`take`](Self::take) fills. The announced size reserves
    /// no memory; only arriving bytes do.
    #[inline]
    pub fn row(&mut self, size: usize) -> Result<()> {
        self.count(size + ROW_BYTES)?;
        self.rows.try_reserve(1).map_err(no_memory)?;
        self.rows.push(self.bytes.len());
        self.missing = size;
        Ok(())
    }

    /// Extends the last row by `size` bytes.
    pub fn go_on(&mut self, size: usize) -> Result<()> {
        debug_assert_eq!(self.missing, 0);
        self.missing = size;
        self.count(size)
    }

    /// Consumes the bytes of `input` that belong to the current row; returns their number.
    #[inline]
    pub fn take(&mut self, input: &[u8]) -> Result<usize> {
        let here = self.missing.min(input.len());
        self.bytes.try_reserve(here).map_err(no_memory)?;
        self.bytes.extend_from_slice(&input[..here]);
        self.missing -= here;
        Ok(here)
    }

    /// Whether the current row is incomplete.
    pub fn is_amid_row(&self) -> bool {
        self.missing > 0
    }

    /// Adds a whole row, which `write` appends to the buffer.
    pub fn row_by<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T> {
        let begin = self.bytes.len();
        self.rows.push(begin);
        let written = write(&mut self.bytes);
        self.count(self.bytes.len() - begin + ROW_BYTES)?;
        Ok(written)
    }

    /// Drops the rows of the current result, which starts again.
    pub fn rewind(&mut self) {
        if let Some(&start) = self.rows.get(self.first) {
            let dropped = (self.rows.len() - self.first) * ROW_BYTES + self.bytes.len() - start;
            self.size = self.size.saturating_sub(dropped);
            self.bytes.truncate(start);
            self.rows.truncate(self.first);
        }
    }

    /// Completes the current result.
    pub fn end(&mut self, affected: u64) -> Result<()> {
        self.count(ANSWER_BYTES)?;
        let rows = (self.rows.len() - self.first) as u64;
        self.put(Answer { fields: self.fields, rows, affected, error: None });
        Ok(())
    }

    /// Ends the current statement with an error and drops its rows. Only the first error of a
    /// request counts.
    pub fn refuse(&mut self, refused: ServerError) {
        if self.answers.last().is_some_and(|answer| answer.error.is_some()) {
            return;
        }
        self.rewind();
        self.put(Answer { error: Some(Box::new(refused)), ..Answer::default() });
    }

    fn put(&mut self, answer: Answer) {
        self.answers.push(answer);
        self.firsts.push(self.first);
        self.begin(0);
    }

    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The bytes of row `row` of result `answer`.
    ///
    /// # Errors
    /// [`Kind::Plan`]: the result has no such row.
    pub fn bytes_of(&self, answer: usize, row: u64) -> Result<&[u8]> {
        let rows = self.answers.get(answer).map_or(0, |answer| answer.rows);
        if row >= rows {
            return Err(Error::new(
                Kind::Plan,
                format!("row {row} of result {answer} was asked for, which has {rows}"),
            )
            .hint("rows count from 0, up to the number of rows less one"));
        }
        // The index fits a usize: the rows are in memory.
        let index = self.firsts[answer] + row as usize;
        let end = self.rows.get(index + 1).copied().unwrap_or(self.bytes.len());
        Ok(&self.bytes[self.rows[index]..end])
    }
}

/// Shrinks a buffer whose last use was small against its capacity.
pub(crate) fn give_back<T>(buffer: &mut Vec<T>) {
    let kept = (KEPT_BYTES / size_of::<T>()).max(buffer.len() * 2);
    if buffer.capacity() > kept.saturating_mul(2) {
        buffer.clear();
        buffer.shrink_to(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_their_result() {
        let mut results = Results::default();
        results.describe(1);
        results.row(3).unwrap();
        assert_eq!(["ab", "cd", "d"].map(|part| results.take(part.as_bytes()).unwrap()), [2, 1, 0]);
        let row = |results: &mut Results, byte| results.row_by(|out| out.push(byte)).unwrap();
        row(&mut results, b'x');
        results.end(0).unwrap();
        results.end(5).unwrap();
        row(&mut results, b'y');
        results.rewind();
        row(&mut results, b'z');
        results.end(0).unwrap();
        row(&mut results, b'?');
        let refused = ServerError { number: 1, message: "no".into(), ..ServerError::default() };
        results.refuse(refused.clone());
        results.refuse(ServerError { number: 2, ..refused });
        let seen: Vec<_> =
            results.answers().iter().map(|a| (a.fields, a.rows, a.affected)).collect();
        assert_eq!(seen, [(1, 2, 0), (0, 0, 5), (0, 1, 0), (0, 0, 0)]);
        assert_eq!(results.answers()[3].error.as_ref().map(|error| error.number), Some(1));
        assert_eq!(results.bytes_of(0, 0), Ok(&b"abc"[..]));
        assert_eq!(results.bytes_of(0, 1), Ok(&b"x"[..]));
        assert_eq!(results.bytes_of(2, 0), Ok(&b"z"[..]));
        for (answer, row) in [(0, 2), (1, 0), (3, 0), (4, 0), (0, u64::MAX)] {
            assert_eq!(results.bytes_of(answer, row).unwrap_err().kind, Kind::Plan);
        }
    }

    #[test]
    fn a_large_result_is_given_back_by_the_next_small_ones() {
        let mut results = Results::default();
        let fill = |results: &mut Results, size: usize| {
            results.clear();
            results.row(size).unwrap();
            results.take(&vec![0; size]).unwrap();
            results.end(0).unwrap();
            results.bytes.capacity()
        };
        let large = fill(&mut results, 100 << 20);
        assert!(large >= 100 << 20);
        assert_eq!(fill(&mut results, 90 << 20), large, "large ones in a row reuse it");
        fill(&mut results, 10);
        assert!(fill(&mut results, 10) <= 4 * KEPT_BYTES);
        let small = fill(&mut results, 10);
        assert_eq!(fill(&mut results, KEPT_BYTES / 2), small, "small ones too");
    }

    /// Results with a limit of one megabyte per request.
    fn bounded() -> Results {
        Results { allowance: Allowance::of(1 << 20, usize::MAX), ..Results::default() }
    }

    /// How often a server can do so before the request fails.
    fn times(mut again: impl FnMut(&mut Results) -> Result<()>) -> usize {
        let mut results = bounded();
        let refused = (0..).find_map(|count| again(&mut results).err().map(|why| (count, why)));
        let (count, error) = refused.unwrap();
        assert_eq!(error.kind, Kind::System);
        results.clear();
        assert_eq!(again(&mut results), Ok(()), "the next request is another");
        count
    }

    #[test]
    fn nothing_that_a_server_repeats_is_kept_without_end() {
        assert_eq!(times(|results| results.row(1 << 17)), 7, "sizes that it says");
        assert_eq!(times(|results| results.row(0)), (1 << 20) / ROW_BYTES, "empty rows");
        assert_eq!(times(|results| results.end(0)), (1 << 20) / ANSWER_BYTES, "results");
        assert_eq!(times(|results| results.go_on(0).and(results.count(1 << 19))), 2, "columns");
        let large = |results: &mut Results| results.row_by(|out| out.extend(vec![0; 1 << 18]));
        assert_eq!(times(large), 3, "rows of a library");
        assert_eq!(bounded().row((1 << 20) + 1).unwrap_err().kind, Kind::System);
    }

    #[test]
    fn rows_that_are_dropped_do_not_count() {
        let mut results = bounded();
        for _ in 0..100 {
            results.row_by(|out| out.extend(vec![0; 1 << 19])).unwrap();
            results.rewind();
        }
        assert_eq!(results.size, 0);
    }
}
