//! Classifies 64 bytes of a statement at once, to find those that a skeleton must examine (see `memo`).

use crate::sql::token::bytes::is_word;

/// Number of bytes in a window.
pub(super) const WIDTH: usize = 64;
/// The mark for a list of literals; statements that contain this byte have no skeleton.
pub(super) const LIST: u8 = 0;

/// Classes of 64 bytes of a statement, one bit per byte.
pub(super) struct Window {
    /// Offset of the window in the statement.
    pub(super) begin: usize,
    /// Bytes that a skeleton must examine: marks, and digits that do not follow a name.
    pub(super) special: u64,
    /// Single quotes and backslashes, which determine the end of a string in single quotes.
    pub(super) ends: u64,
}

impl Window {
    /// A window that contains no offset.
    pub(super) const NONE: Self = Self { begin: usize::MAX - 2 * WIDTH, special: 0, ends: 0 };

    /// The window at `begin`, which is within the statement. Bytes after the statement's end are special.
    #[inline]
    pub(super) fn new(statement: &[u8], begin: usize) -> Self {
        let before = begin.checked_sub(1).map_or(b' ', |before| statement[before]);
        let rest = &statement[begin..];
        let mut last = [LIST; WIDTH];
        let chunk = rest.first_chunk().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        let (special, ends) = masks(chunk, before);
        Self { begin, special, ends }
    }
}

/// Masks of special bytes and of string ends; `before` precedes the first byte.
#[inline]
fn masks(chunk: &[u8; WIDTH], before: u8) -> (u64, u64) {
    let found = classes(chunk);
    let words = found.digits | found.words;
    let numbers = found.digits & !(words << 1 | u64::from(is_word(before)));
    (found.marks | numbers, found.ends)
}

/// Byte classes of a window, one bit per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bits {
    /// Bytes that a skeleton must examine in any position.
    marks: u64,
    digits: u64,
    /// Bytes of names other than digits.
    words: u64,
    /// `'` and `\`.
    ends: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn classes(chunk: &[u8; WIDTH]) -> Bits {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { vector::classes(chunk) }
    } else {
        classes_of_bytes(chunk)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn classes(chunk: &[u8; WIDTH]) -> Bits {
    classes_of_bytes(chunk)
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, LIST | b'"'..=b'$' | b'\'' | b'(' | b'-' | b'/' | b'`')
}

fn classes_of_bytes(chunk: &[u8; WIDTH]) -> Bits {
    let bits = |is: fn(u8) -> bool| {
        chunk.iter().rev().fold(0, |bits, &byte| bits << 1 | u64::from(is(byte)))
    };
    Bits {
        marks: bits(is_mark),
        digits: bits(|byte| byte.is_ascii_digit()),
        words: bits(|byte| is_word(byte) && !byte.is_ascii_digit()),
        ends: bits(|byte| matches!(byte, b'\'' | b'\\')),
    }
}

/// The same with AVX2: two tables, indexed by the lower and the upper half, give the class of a byte.
#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{Bits, WIDTH};
    use std::arch::x86_64::*;

    /// The rules that a byte satisfies are the bits that `LOWER` and `UPPER` have in common.
    const MARKS: u8 = 0b1000_0111;
    const DIGITS: u8 = 0b0000_1000;
    const WORDS: u8 = 0b1111_0000;

    /// By the lower half: 1 zero, 2 marks of the third row of ASCII, 4 the backtick, 8 digits, 16 letters to
    /// O, 32 letters from P, 64 the underscore, 128 the dollar.
    const LOWER: [u8; 16] = {
        let mut table = [0; 16];
        table[0] |= 1 | 4;
        let (mut at, marks) = (0, *b"\"#'(-/");
        while at < marks.len() {
            table[(marks[at] & 15) as usize] |= 2;
            at += 1;
        }
        let mut low = 0;
        while low < 16 {
            table[low] |= (if low < 10 { 8 } else { 0 }) | (if low > 0 { 16 } else { 0 });
            table[low] |= if low < 11 { 32 } else { 0 };
            low += 1;
        }
        table[15] |= 64;
        table[4] |= 128;
        table
    };

    /// By the upper half; bytes beyond ASCII satisfy no rule.
    const UPPER: [u8; 16] = [1, 0, 2 | 128, 8, 16, 32 | 64, 4 | 16, 32, 0, 0, 0, 0, 0, 0, 0, 0];

    #[target_feature(enable = "avx2")]
    pub(super) fn classes(chunk: &[u8; WIDTH]) -> Bits {
        let table = |table: [u8; 16]| {
            // SAFETY: the load reads the 16 bytes of the array, at any alignment.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
        };
        let (lower, upper) = (table(LOWER), table(UPPER));
        let half = _mm256_set1_epi8(15);
        let mut all = Bits { marks: 0, digits: 0, words: 0, ends: 0 };
        for at in [0, 32] {
            // SAFETY: the load reads 32 bytes within the array, at any alignment.
            let x = unsafe { _mm256_loadu_si256(chunk[at..at + 32].as_ptr().cast()) };
            let low = _mm256_and_si256(x, half);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(x), half);
            let rules =
                _mm256_and_si256(_mm256_shuffle_epi8(lower, low), _mm256_shuffle_epi8(upper, high));
            let keeps = |rule: u8| {
                let kept = _mm256_and_si256(rules, _mm256_set1_epi8(rule as i8));
                !bits(_mm256_cmpeq_epi8(kept, _mm256_setzero_si256())) as u32
            };
            let is = |byte: u8| _mm256_cmpeq_epi8(x, _mm256_set1_epi8(byte as i8));
            let ends = bits(_mm256_or_si256(is(b'\''), is(b'\\'))) as u32;
            all.marks |= u64::from(keeps(MARKS)) << at;
            all.digits |= u64::from(keeps(DIGITS)) << at;
            // Bytes beyond ASCII, which have the highest bit, are in names.
            all.words |= u64::from(keeps(WORDS) | bits(x) as u32) << at;
            all.ends |= u64::from(ends) << at;
        }
        all
    }

    /// The highest bits of all bytes.
    #[target_feature(enable = "avx2")]
    fn bits(x: __m256i) -> i32 {
        _mm256_movemask_epi8(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_a_bit_for_every_byte_that_is_looked_at() {
        for byte in 0..=255 {
            for filler in *b"x7_$\xe4A'" {
                for at in 0..WIDTH {
                    let mut chunk = [filler; WIDTH];
                    chunk[at] = byte;
                    assert_eq!(classes(&chunk), classes_of_bytes(&chunk), "{byte:#x} at {at}");
                    let before = |at: usize| if at == 0 { b'=' } else { chunk[at - 1] };
                    let is_special = |at: usize| {
                        is_mark(chunk[at]) || chunk[at].is_ascii_digit() && !is_word(before(at))
                    };
                    let special: u64 = (0..WIDTH).map(|at| u64::from(is_special(at)) << at).sum();
                    assert_eq!(masks(&chunk, b'=').0, special, "{byte:#x} at {at}");
                }
            }
        }
    }
}
