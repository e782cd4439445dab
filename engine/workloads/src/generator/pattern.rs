//! Random text by a pattern: `#` is a digit, `@` a letter a to z, `*` either of them. A backslash
//! escapes the next character. All other characters are literal.

use crate::digits::sixteen_digits;
use dyno_core::rng::Rng;

const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
const BOTH: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Characters per random word. The word is a fraction of 2^64, multiplied by the size of the alphabet
/// for each character. With eight characters out of 36, the bias is below 2^-22.
const A_WORD: usize = 8;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Fixed(Vec<u8>),
    Digits(usize),
    Letters(usize),
    Both(usize),
}

impl Pattern {
    /// Parses a pattern. Fails if it ends with an unescaped backslash.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let mut parts: Vec<Part> = Vec::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match (char, parts.last_mut()) {
                ('#', Some(Part::Digits(n)))
                | ('@', Some(Part::Letters(n)))
                | ('*', Some(Part::Both(n))) => *n += 1,
                ('#', _) => parts.push(Part::Digits(1)),
                ('@', _) => parts.push(Part::Letters(1)),
                ('*', _) => parts.push(Part::Both(1)),
                (char, last) => {
                    let char = if char == '\\' {
                        chars.next().ok_or("a backslash at its end escapes nothing")?
                    } else {
                        char
                    };
                    let mut buffer = [0; 4];
                    let bytes = char.encode_utf8(&mut buffer).as_bytes();
                    match last {
                        Some(Part::Fixed(fixed)) => fixed.extend_from_slice(bytes),
                        _ => parts.push(Part::Fixed(bytes.to_vec())),
                    }
                }
            }
        }
        Ok(Self { parts })
    }

    /// A pattern of `count` letters or digits.
    pub fn both(count: usize) -> Self {
        Self { parts: vec![Part::Both(count)] }
    }

    /// Appends a random text of this pattern.
    #[inline]
    pub fn put(&self, rng: &mut Rng, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Fixed(fixed) => out.extend_from_slice(fixed),
                Part::Digits(count) => put_digits(*count, rng, out),
                Part::Letters(count) => put_some(*count, LETTERS, rng, out),
                Part::Both(count) => put_some(*count, BOTH, rng, out),
            }
        }
    }
}

fn put_digits(count: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    let mut digits = [0; 16];
    let mut left = count;
    while left > 0 {
        let now = left.min(digits.len());
        sixteen_digits(rng, &mut digits);
        out.extend_from_slice(&digits[..now]);
        left -= now;
    }
}

fn put_some(count: usize, alphabet: &[u8], rng: &mut Rng, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + count, 0);
    for places in out[at..].chunks_mut(A_WORD) {
        let mut fraction = rng.u64();
        for place in places {
            let product = u128::from(fraction) * alphabet.len() as u128;
            *place = alphabet[(product >> 64) as usize];
            fraction = product as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::rng::Rng;
    use proptest::prelude::*;

    fn drawn(pattern: &str, seed: u64) -> String {
        let mut out = vec![];
        Pattern::new(pattern).expect("a pattern").put(&mut Rng::new(seed), &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn marks_are_replaced_and_the_rest_stays() {
        let text = drawn(r"user-##-@@-\#\\\@é*", 1);
        let shape: Vec<char> = text.chars().collect();
        assert_eq!(&text[..5], "user-");
        assert!(shape[5..7].iter().all(char::is_ascii_digit), "{text}");
        assert!(shape[8..10].iter().all(char::is_ascii_lowercase), "{text}");
        assert_eq!(shape[11..15].iter().collect::<String>(), r"#\@é");
        assert!(shape[15].is_ascii_digit() || shape[15].is_ascii_lowercase(), "{text}");
        assert_eq!(shape.len(), 16);
        assert!(Pattern::new(r"ab\").is_err());
        assert_eq!(drawn("", 1), "");
    }

    #[test]
    fn every_character_is_equally_likely() {
        for (mark, alphabet) in [("#", &BOTH[..10]), ("@", &LETTERS[..]), ("*", &BOTH[..])] {
            let text = drawn(&mark.repeat(100_000), 3);
            let expected = 100_000.0 / alphabet.len() as f64;
            for &letter in alphabet {
                let count = text.bytes().filter(|&byte| byte == letter).count() as f64;
                assert!(
                    (count - expected).abs() < 6.0 * expected.sqrt(),
                    "{mark} {letter}: {count}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn lengths_and_classes_hold(pattern in "[#@*a\\-é]{0,60}", seed: u64) {
            let text = drawn(&pattern, seed);
            prop_assert_eq!(text.chars().count(), pattern.chars().count());
            for (mark, char) in pattern.chars().zip(text.chars()) {
                let fits = match mark {
                    '#' => char.is_ascii_digit(),
                    '@' => char.is_ascii_lowercase(),
                    '*' => char.is_ascii_digit() || char.is_ascii_lowercase(),
                    fixed => char == fixed,
                };
                prop_assert!(fits, "{} for {}", char, mark);
            }
            prop_assert_eq!(drawn(&pattern, seed), text);
        }

        #[test]
        fn escaped_text_is_itself(text in "\\PC{0,40}") {
            let escaped: String = text.chars().flat_map(|char| ['\\', char]).collect();
            prop_assert_eq!(drawn(&escaped, 1), text);
        }
    }
}
