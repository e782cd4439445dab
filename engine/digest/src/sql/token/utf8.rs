//! What is UTF-8. `std` looks at texts beyond ASCII byte by byte; this takes a third of its time.

/// So many bytes are looked at at once, with the three before them.
const PART: usize = 32;

/// Whether this is UTF-8 as servers take it, of which the last character may be cut: a byte goes on with a character
/// if and only if one of the three before it asks for that, and no character is longer than needed, a surrogate or
/// beyond Unicode.
pub(super) fn is_utf8(text: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { is_utf8_by_avx2(text) };
    }
    is_utf8_by_parts(text)
}

/// The same; the compiler makes it twice as wide.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn is_utf8_by_avx2(text: &[u8]) -> bool {
    is_utf8_by_parts(text)
}

#[inline(always)]
fn is_utf8_by_parts(text: &[u8]) -> bool {
    let before = |at: usize, back: usize| at.checked_sub(back).map_or(0, |at| text[at]);
    let is_right =
        |at: usize| is_no_utf8(before(at, 3), before(at, 2), before(at, 1), text[at]) == 0;
    // The last part ends with the text, and may have bytes of the one before it.
    let Some(last) = text.len().checked_sub(PART + 3) else {
        return (0..text.len()).all(is_right);
    };
    let mut begin = 0;
    while let Some(part) = text[begin..].first_chunk::<{ PART + 3 }>() {
        let is_wrong = (0..PART).fold(0, |is_wrong, at| {
            is_wrong | is_no_utf8(part[at], part[at + 1], part[at + 2], part[at + 3])
        });
        if is_wrong != 0 {
            return false;
        }
        if begin == last {
            break;
        }
        begin = (begin + PART).min(last);
    }
    (0..3).all(is_right)
}

/// The highest bit is set: this byte does not stand behind these three in UTF-8. In bits instead of conditions: the
/// compiler does not make branches wide.
#[inline(always)]
fn is_no_utf8(third: u8, second: u8, last: u8, byte: u8) -> u8 {
    let from_c0 = |byte: u8| byte & byte << 1;
    let from_e0 = |byte: u8| from_c0(byte) & byte << 2;
    let from_f0 = |byte: u8| from_e0(byte) & byte << 3;
    let asks = from_f0(third) | from_e0(second) | from_c0(last);
    let goes_on = byte & !(byte << 1);
    // Characters of three bytes go on from 0xa0 behind 0xe0, up to 0x9f behind 0xed; those of four from 0x90
    // behind 0xf0, up to 0x8f behind 0xf4.
    let (from_a0, from_90) = (byte << 2, byte << 2 | byte << 3);
    let is = |lead: u8| u8::from(last == lead).wrapping_neg();
    let is_wrong_second =
        is(0xe0) & !from_a0 | is(0xed) & from_a0 | is(0xf0) & !from_90 | is(0xf4) & from_90;
    let is_no_lead =
        u8::from(byte & 0xfe == 0xc0).wrapping_neg() | u8::from(byte >= 0xf5).wrapping_neg();
    (asks ^ goes_on | is_wrong_second | is_no_lead) & 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_utf8_of_std(text: &[u8]) -> bool {
        std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
    }

    #[test]
    fn one_wrong_byte_anywhere_is_no_utf8() {
        let text = "aé名😀".repeat(12).into_bytes();
        for length in 0..text.len() {
            assert!(is_utf8(&text[..length]), "cut at {length}");
        }
        for at in 0..text.len() {
            for byte in [b'a', 0xc3, 0xff] {
                let mut other = text.clone();
                other[at] = byte;
                assert_eq!(is_utf8(&other), is_utf8_of_std(&other), "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn what_is_no_character_is_no_utf8() {
        for lead in 0x80..=0xff {
            for second in 0..=0xff {
                for rest in [&b""[..], b"\x80", b"\x80\x80", b"\xbf\xbfa"] {
                    for before in [0, 1, PART + 1, PART + 2, 2 * PART + 2] {
                        let text = [&b"a".repeat(before), &[lead, second][..], rest].concat();
                        let found = [is_utf8(&text), is_utf8_by_parts(&text)];
                        assert_eq!(found, [is_utf8_of_std(&text); 2], "{}", text.escape_ascii());
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_utf8_is_always_found_to_be(text in any::<String>(), cut in any::<prop::sample::Index>()) {
            let cut = &text.as_bytes()[..cut.index(text.len() + 1)];
            prop_assert!(is_utf8(cut));
        }
    }
}
