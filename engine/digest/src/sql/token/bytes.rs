//! Byte classes, and the ends of runs of each class.

/// Whether a byte can be in an unquoted name: letters, digits, `_`, `$`, all bytes beyond ASCII.
#[inline]
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether a byte separates tokens: space and all control characters.
#[inline]
pub fn is_space(byte: u8) -> bool {
    byte <= b' '
}

/// The offset after the run of word bytes from `from` on; `from` if the run is empty.
#[inline]
pub fn word_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_word(**byte)).count()
}

/// The offset after the run of ASCII digits from `from` on.
#[inline]
pub fn digits_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The offset after the run of digits and separators (space, `,`, `.`, `+`) from `from` on, and
/// whether it contains a digit.
#[inline]
pub fn numbers_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let (mut at, mut has_digit) = (from, false);
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        let (length, digits) = numbers_length(chunk);
        at += length;
        has_digit |= digits;
        if length < 64 {
            return (at, has_digit);
        }
    }
    while at < bytes.len() && is_in_numbers(bytes[at]) {
        has_digit |= bytes[at].is_ascii_digit();
        at += 1;
    }
    (at, has_digit)
}

/// Whether a byte is a digit or a separator of numbers.
#[inline]
fn is_in_numbers(byte: u8) -> bool {
    is_space(byte) || byte.is_ascii_digit() || matches!(byte, b',' | b'.' | b'+')
}

/// Offset of the first occurrence of either byte from `from` on; the length if there is none.
#[inline]
pub fn find2(first: u8, second: u8, bytes: &[u8], from: usize) -> usize {
    memchr::memchr2(first, second, &bytes[from..]).map_or(bytes.len(), |found| from + found)
}

/// Length of the leading run of digits and separators of numbers, and whether it contains a digit.
#[cfg(target_arch = "x86_64")]
#[inline]
fn numbers_length(chunk: &[u8; 64]) -> (usize, bool) {
    use std::arch::x86_64::*;
    let (mut digits, mut others) = (0, 0);
    for at in (0..64).step_by(16) {
        // SAFETY: SSE2 is part of x86-64; the load reads 16 bytes within the array, at any alignment.
        unsafe {
            let x = _mm_loadu_si128(chunk[at..at + 16].as_ptr().cast());
            let up_to = |x, most: u8| _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(most as i8)), x);
            let is = |byte: u8| _mm_cmpeq_epi8(x, _mm_set1_epi8(byte as i8));
            let digit = up_to(_mm_sub_epi8(x, _mm_set1_epi8(b'0' as i8)), 9);
            let marks = _mm_or_si128(_mm_or_si128(is(b','), is(b'.')), is(b'+'));
            let other = _mm_or_si128(up_to(x, b' '), marks);
            digits |= u64::from(_mm_movemask_epi8(digit) as u32) << at;
            others |= u64::from(_mm_movemask_epi8(other) as u32) << at;
        }
    }
    let length = (!(digits | others)).trailing_zeros();
    // With a length of 64 no byte follows the run.
    let behind = u64::MAX.checked_shl(length).unwrap_or(0);
    (length as usize, digits & !behind != 0)
}

/// Length of the leading run of digits and separators of numbers, and whether it contains a digit.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn numbers_length(chunk: &[u8; 64]) -> (usize, bool) {
    let length = chunk.iter().position(|&byte| !is_in_numbers(byte)).unwrap_or(64);
    (length, chunk[..length].iter().any(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_end_where_bytes_say_whatever_the_length() {
        for byte in 0..=255u8 {
            for before in [0, 1, 7, 15, 16, 17, 40, 63, 64, 65, 150] {
                for filler in [b'7', b','] {
                    let mut text = vec![filler; before];
                    text.push(byte);
                    text.extend_from_slice(&[b'x'; 70]);
                    for text in [&text[..], &text[..=before]] {
                        let end =
                            text.iter().position(|&b| !is_in_numbers(b)).unwrap_or(text.len());
                        let has_digit = text[..end].iter().any(u8::is_ascii_digit);
                        assert_eq!(numbers_end(text, 0), (end, has_digit), "{byte:#x}, {before}");
                    }
                }
            }
        }
    }
}
