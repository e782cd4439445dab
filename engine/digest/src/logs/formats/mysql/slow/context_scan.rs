//! Scans a chunk for a timestamp or a default database. The scan runs over every chunk that several threads
//! read, and in most logs in vain: it must not cost more than reading memory.

use memchr::memmem;

/// What tells a time.
const TIME: &[u8] = b"# Time: ";
/// What tells, from an event's second line on, a default database, or that there is none any more. What stands
/// before a field's name and behind its colon is not asked when it is read either.
const DATABASE: [&[u8]; 3] = [b"\nuse ", b"Schema:", b". started with:"];

/// Bytes that are looked at together.
const BLOCK: usize = 4 << 10;
/// The longest text less its last byte: so far it may reach beyond a block.
const REACH: usize = 14;

/// Whether these events may tell a time or a default database, of those that are asked for.
pub(super) fn may_tell(events: &[u8], time: bool, database: bool) -> bool {
    match (time, database) {
        (false, false) => false,
        (true, false) => memmem::find(events, TIME).is_some(),
        (time, true) => (0..events.len()).step_by(BLOCK).any(|begin| {
            let block = &events[begin..events.len().min(begin + BLOCK + REACH)];
            has_hint(block, time) && has_text(block, time)
        }),
    }
}

fn has_text(block: &[u8], time: bool) -> bool {
    let has = |text: &[u8]| memmem::find(block, text).is_some();
    DATABASE.into_iter().any(has) || time && has(TIME)
}

#[cfg(target_arch = "x86_64")]
fn has_hint(block: &[u8], time: bool) -> bool {
    /// Twice as wide as what every processor has.
    #[target_feature(enable = "avx2")]
    fn wide(block: &[u8], time: bool) -> bool {
        if time { hint::<true>(block) } else { hint::<false>(block) }
    }

    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide(block, time) };
    }
    if time { hint::<true>(block) } else { hint::<false>(block) }
}

#[cfg(not(target_arch = "x86_64"))]
fn has_hint(block: &[u8], time: bool) -> bool {
    if time { hint::<true>(block) } else { hint::<false>(block) }
}

/// Whether two bytes stand as in one of the texts: pairs that hardly ever stand so elsewhere. Without a
/// branch, so that the compiler looks at many places at once.
#[inline(always)]
fn hint<const TIME: bool>(block: &[u8]) -> bool {
    let Some(last) = block.len().checked_sub(3) else { return false };
    let (first, third, fourth) = (&block[..last], &block[2..][..last], &block[3..]);
    let mut found = false;
    for at in 0..last {
        // The `\n` and `e` of `use`; the `a:` of `Schema:` and the `h:` of `with:`, and what is one bit off.
        found |= (first[at] == b'\n') & (fourth[at] == b'e');
        found |= (third[at] & 0xF6 == b'`') & (fourth[at] == b':');
        found |= TIME & (first[at] == b'#') & (third[at] == b'T');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(events: &[u8], time: bool, database: bool) -> bool {
        let has = |text: &[u8]| events.windows(text.len()).any(|window| window == text);
        time && has(TIME) || database && DATABASE.into_iter().any(has)
    }

    #[test]
    fn a_text_is_found_wherever_it_stands_in_blocks() {
        for text in [TIME].into_iter().chain(DATABASE) {
            for length in [text.len(), text.len() + 1, BLOCK, BLOCK + REACH, 2 * BLOCK + 1] {
                let edges = [0, 1, BLOCK - REACH, BLOCK - 2, BLOCK, BLOCK + 1, length - text.len()];
                for at in edges.into_iter().filter(|at| at + text.len() <= length) {
                    let mut events = vec![b'x'; length];
                    events[at..at + text.len()].copy_from_slice(text);
                    for (time, database) in [(true, true), (true, false), (false, true)] {
                        let asked = if text == TIME { time } else { database };
                        assert_eq!(may_tell(&events, time, database), asked, "{text:?} at {at}");
                    }
                    assert!(!may_tell(&events, false, false));
                }
            }
        }
    }

    proptest::proptest! {
        /// Pieces of texts, which are hints and no more, and whole ones.
        #[test]
        fn hints_alone_tell_nothing(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "\nuse", " ", "\nu", "e", "Schema", ":", "a:", "h:", ". started wit", "# T", "ime: ", "\n", "xyz",
                ]),
                0..12,
            ),
            filler in 0..3 * BLOCK,
            time: bool,
            database: bool,
        ) {
            let text = format!("{}{}", "x".repeat(filler), pieces.concat());
            let found = may_tell(text.as_bytes(), time, database);
            proptest::prop_assert_eq!(found, naive(text.as_bytes(), time, database));
        }
    }
}
