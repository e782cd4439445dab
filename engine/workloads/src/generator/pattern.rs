//! Random text by a pattern: `#` is a digit, `@` a letter a to z, `*` either of them. A backslash
//! escapes the next character. All other characters are literal.

use super::scatter::Scatter;
use crate::digits::sixteen_digits;
use dyno_core::random::rng::Rng;

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

    /// Appends at most `most` characters of one text, random ones by `put_one`. How many.
    fn put_once(
        &self,
        most: usize,
        mut put_one: impl FnMut(&[u8], &mut Rng, &mut Vec<u8>),
        rng: &mut Rng,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut left = most;
        for part in &self.parts {
            match part {
                Part::Fixed(fixed) => {
                    for char in String::from_utf8_lossy(fixed).chars().take(left) {
                        out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                        left -= 1;
                    }
                }
                Part::Digits(count) | Part::Letters(count) | Part::Both(count) => {
                    let count = (*count).min(left);
                    (0..count).for_each(|_| put_one(part.alphabet(), rng, out));
                    left -= count;
                }
            }
        }
        most - left
    }

    /// Whether it has no random character.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Fixed(_)))
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

/// Texts with numbers: number n always has the same one, and other numbers have others, as far as
/// the pattern has room for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbered {
    pattern: Pattern,
    /// Permutes the numbers, so that neighbours have different texts.
    scatter: Scatter,
    room: u64,
    /// Least and greatest number of characters; `None`: those of the pattern.
    lengths: Option<(usize, usize)>,
}

impl Numbered {
    /// Texts for numbers up to `highest`. With `lengths` the pattern is repeated and cut; texts differ
    /// if the least length has room for all numbers.
    pub fn new(pattern: Pattern, highest: u64, lengths: Option<(usize, usize)>) -> Self {
        let mut room = 1u64;
        let times = if lengths.is_some() { usize::MAX } else { 1 };
        let sizes = || pattern.parts.iter().flat_map(Part::sizes);
        for size in (0..times).flat_map(|_| sizes()) {
            if room > highest {
                break;
            }
            room = room.saturating_mul(size);
        }
        Self { pattern, scatter: Scatter::new(room), room, lengths }
    }

    /// Appends the text of a number.
    pub fn put(&self, number: u64, out: &mut Vec<u8>) {
        let (mut code, mut room) = (self.scatter.place(number % self.room), self.room);
        let mut rng = Rng::new(number);
        let mut put_one = |alphabet: &[u8], rng: &mut Rng, out: &mut Vec<u8>| {
            let size = alphabet.len() as u64;
            let place = if room > 1 { code % size } else { rng.below(size) };
            (code, room) = (code / size, room / size);
            out.push(alphabet[place as usize]);
        };
        match self.lengths {
            None => {
                self.pattern.put_once(usize::MAX, put_one, &mut rng, out);
            }
            Some((least, most)) => {
                let mut left = rng.between(least as u64, most as u64) as usize;
                while left > 0 {
                    left -= self.pattern.put_once(left, &mut put_one, &mut rng, out);
                }
            }
        }
    }
}

impl Part {
    /// The sizes of the alphabets of its random characters.
    fn sizes(&self) -> impl Iterator<Item = u64> + use<> {
        let count = match self {
            Self::Fixed(_) => 0,
            Self::Digits(count) | Self::Letters(count) | Self::Both(count) => *count,
        };
        std::iter::repeat_n(self.alphabet().len() as u64, count)
    }

    fn alphabet(&self) -> &'static [u8] {
        match self {
            Self::Fixed(_) => &[],
            Self::Digits(_) => &BOTH[..10],
            Self::Letters(_) => LETTERS,
            Self::Both(_) => BOTH,
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
    use dyno_core::random::rng::Rng;
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
        fn numbers_have_texts_of_their_own(count in 1u64..3000, most in 0usize..30) {
            let pattern = Pattern::new("a-*#@").expect("a pattern");
            let numbered = Numbered::new(pattern, count, Some((8, 8 + most)));
            let mut texts: Vec<String> = (1..=count).map(|number| {
                let mut out = vec![];
                numbered.put(number, &mut out);
                String::from_utf8(out).expect("UTF-8")
            }).collect();
            let fits = |text: &String| text.starts_with("a-") && (8..=8 + most).contains(&text.len());
            prop_assert!(texts.iter().all(fits));
            texts.sort_unstable();
            texts.dedup();
            prop_assert_eq!(texts.len() as u64, count);
        }

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
