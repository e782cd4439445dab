//! Random strings.

use dyno_core::random::rng::Rng;

const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8; 10] = b"0123456789";
const BOTH: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters drawn from one random word: the word is a fraction of 2^64 that each character
/// multiplies by the size of its alphabet. Seven times 62 leave a bias below 2^-22.
const A_WORD: u32 = 7;

/// Draws characters, several from each random word.
struct Characters<'a> {
    rng: &'a mut Rng,
    fraction: u64,
    left: u32,
}

impl<'a> Characters<'a> {
    fn new(rng: &'a mut Rng) -> Self {
        Self { rng, fraction: 0, left: 0 }
    }

    #[inline]
    fn next(&mut self, alphabet: &[u8]) -> u8 {
        if self.left == 0 {
            (self.fraction, self.left) = (self.rng.u64(), A_WORD);
        }
        self.left -= 1;
        let product = u128::from(self.fraction) * alphabet.len() as u128;
        self.fraction = product as u64;
        alphabet[(product >> 64) as usize]
    }
}

/// Appends a string by a template: `#` becomes a digit, `@` a letter; all other bytes stay.
pub fn template(rng: &mut Rng, template: &[u8], out: &mut Vec<u8>) {
    let mut characters = Characters::new(rng);
    out.extend(template.iter().map(|&mark| match mark {
        b'#' => characters.next(DIGITS),
        b'@' => characters.next(LETTERS),
        fixed => fixed,
    }));
}

/// Appends `length` letters and digits.
pub fn alphanumeric(rng: &mut Rng, length: usize, out: &mut Vec<u8>) {
    let mut characters = Characters::new(rng);
    out.extend((0..length).map(|_| characters.next(BOTH)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::random::rng::Rng;
    use proptest::prelude::*;

    #[test]
    fn every_character_is_equally_likely() {
        let count = 100_000;
        let mut rng = Rng::new(5);
        let (mut digits, mut letters, mut both) = (vec![], vec![], vec![]);
        template(&mut rng, &vec![b'#'; count], &mut digits);
        template(&mut rng, &vec![b'@'; count], &mut letters);
        alphanumeric(&mut rng, count, &mut both);
        // 0.9999 quantiles of chi-square with 9, 25 and 61 degrees of freedom.
        for (text, alphabet, limit) in
            [(digits, &DIGITS[..], 33.8), (letters, LETTERS, 59.0), (both, BOTH, 111.0)]
        {
            let expected = count as f64 / alphabet.len() as f64;
            let of = |letter| text.iter().filter(|&&byte| byte == letter).count() as f64;
            let chi2: f64 =
                alphabet.iter().map(|&letter| (of(letter) - expected).powi(2) / expected).sum();
            assert!(chi2 < limit, "{} characters: chi-square {chi2}", alphabet.len());
        }
    }

    proptest! {
        #[test]
        fn marks_are_replaced_and_the_rest_stays(pattern in prop::collection::vec(any::<u8>(), 0..80), seed: u64) {
            let mut text = vec![b'>'];
            template(&mut Rng::new(seed), &pattern, &mut text);
            prop_assert_eq!(text.len(), pattern.len() + 1);
            for (&mark, &byte) in pattern.iter().zip(&text[1..]) {
                let fits = match mark {
                    b'#' => byte.is_ascii_digit(),
                    b'@' => byte.is_ascii_lowercase(),
                    fixed => byte == fixed,
                };
                prop_assert!(fits, "{} for {}", byte, mark);
            }
        }
    }
}
