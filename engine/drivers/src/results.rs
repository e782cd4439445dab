//! The results of one request, for clients that keep them: rows as bytes in whatever form the driver
//! has them, in one buffer that is used again, taken apart only when somebody looks at them.
//!
//! Like `libpq`, which scripts were written for, a result is kept whole: its size is bounded by what
//! the script asks for. What a large one leaves behind is given back by the requests after it.

use dyno_core::client::{Answer, Refused};
use dyno_core::error::{Error, Kind, Result};

/// Buffers up to this size are kept for the next request, however small that is.
const KEPT_BYTES: usize = 256 << 10;

/// The results of the request in flight, or of the last one.
#[derive(Default)]
pub(crate) struct Results {
    answers: Vec<Answer>,
    /// For each answer, which of `rows` is its first.
    firsts: Vec<usize>,
    /// Where in `bytes` each row begins.
    rows: Vec<usize>,
    /// The rows.
    bytes: Vec<u8>,
    /// How much of the last row is still to come.
    missing: usize,
    /// Columns of the result under way.
    fields: u32,
    /// The first row of the result under way.
    first: usize,
}

impl Results {
    /// Forgets the last request.
    pub fn clear(&mut self) {
        give_back(&mut self.rows);
        give_back(&mut self.bytes);
        self.answers.clear();
        self.firsts.clear();
        self.rows.clear();
        self.bytes.clear();
        self.begin(0);
    }

    fn begin(&mut self, fields: u32) {
        self.missing = 0;
        self.fields = fields;
        self.first = self.rows.len();
    }

    /// The result under way has rows, of this many columns.
    pub fn describe(&mut self, fields: u32) {
        self.fields = fields;
    }

    /// A row of `size` bytes begins; [`take`](Self::take) fills it.
    #[inline]
    pub fn row(&mut self, size: usize) {
        self.rows.push(self.bytes.len());
        self.missing = size;
    }

    /// Takes as much of `input` as belongs to the row under way; returns how much.
    #[inline]
    pub fn take(&mut self, input: &[u8]) -> usize {
        let here = self.missing.min(input.len());
        self.bytes.extend_from_slice(&input[..here]);
        self.missing -= here;
        here
    }

    /// More of the last row, which was longer than was said.
    pub fn go_on(&mut self, input: &[u8]) {
        self.bytes.extend_from_slice(input);
    }

    /// A whole row, which `write` appends.
    pub fn row_by<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.rows.push(self.bytes.len());
        write(&mut self.bytes)
    }

    /// Drops the rows of the result under way, which begins anew.
    pub fn rewind(&mut self) {
        if let Some(&start) = self.rows.get(self.first) {
            self.bytes.truncate(start);
            self.rows.truncate(self.first);
        }
    }

    /// The result under way is whole.
    pub fn end(&mut self, affected: u64) {
        let rows = (self.rows.len() - self.first) as u64;
        self.put(Answer { fields: self.fields, rows, affected, error: None });
    }

    /// The statement under way was refused: its rows so far are dropped. Only the first refusal of
    /// a request counts.
    pub fn refuse(&mut self, refused: Refused) {
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
    pub fn bytes_of(&self, answer: usize, row: u64) -> Result<&[u8]> {
        let rows = self.answers.get(answer).map_or(0, |answer| answer.rows);
        if row >= rows {
            return Err(Error::new(
                Kind::Plan,
                format!("row {row} of result {answer} was asked for, which has {rows}"),
            )
            .hint("rows count from 0, up to the number of rows less one"));
        }
        // Both fit: the rows are in memory.
        let index = self.firsts[answer] + row as usize;
        let end = self.rows.get(index + 1).copied().unwrap_or(self.bytes.len());
        Ok(&self.bytes[self.rows[index]..end])
    }
}

/// Shrinks a buffer whose use of last time is small against its size.
fn give_back<T>(buffer: &mut Vec<T>) {
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
        results.row(3);
        assert_eq!((results.take(b"ab"), results.take(b"cd"), results.take(b"d")), (2, 1, 0));
        results.row_by(|out| out.push(b'x'));
        results.end(0);
        results.end(5);
        results.row_by(|out| out.push(b'y'));
        results.rewind();
        results.row_by(|out| out.push(b'z'));
        results.end(0);
        results.row_by(|out| out.push(b'?'));
        let refused = Refused { number: 1, state: String::new(), message: "no".into() };
        results.refuse(refused.clone());
        results.refuse(Refused { number: 2, ..refused });
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
            results.row(size);
            results.take(&vec![0; size]);
            results.end(0);
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
}
