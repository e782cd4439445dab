//! Detects numbers that ascend within each session, though not across sessions: blocks of keys that
//! clients use up one after the other (hi/lo), or every n-th key per session.

use std::collections::HashMap;

/// Maximum number of sessions whose last number is stored.
const SESSIONS_MAX: usize = 512;

/// Statistics of the numbers of a place within each session.
#[derive(Default)]
pub struct Upwards {
    /// The last number of each session.
    last: HashMap<u64, f64>,
    /// Numbers with a predecessor in their session.
    followed: u64,
    /// Those of them that are greater than their predecessor.
    greater: u64,
}

impl Upwards {
    /// Adds the next number of a session.
    pub fn add(&mut self, session: u64, number: f64) {
        let has_room = self.last.len() < SESSIONS_MAX;
        match self.last.get_mut(&session) {
            Some(last) => {
                self.followed += 1;
                self.greater += u64::from(number > *last);
                *last = number;
            }
            None if has_room => {
                self.last.insert(session, number);
            }
            None => {}
        }
    }

    /// Whether the numbers are keys of new rows: `fresh` numbers, of which `distinct` differ.
    pub fn is_sequence(&self, fresh: u64, distinct: u64) -> bool {
        self.followed >= 20
            && self.followed * 2 >= fresh
            && self.greater * 10 >= self.followed * 9
            && distinct * 10 >= fresh * 9
    }
}

#[cfg(test)]
mod tests {
    use super::super::Values;

    #[test]
    fn keys_that_each_session_counts_upwards_are_new_ones_too() {
        let of = |key: &dyn Fn(u64, u64) -> u64| {
            let mut values = Values::default();
            for n in 0..400 {
                let (session, nth) = (n % 8, n / 8);
                values.add(key(session, nth).to_string().as_bytes(), false, Some(session));
            }
            values.finish().is_sequence
        };
        assert!(of(&|session, nth| 100_000 * (session * 5 % 8) + nth), "blocks");
        assert!(of(&|session, nth| 8 * (nth + 20 * session) + session), "each n-th, some ahead");
        let drawn = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        assert!(!of(&|session, nth| drawn(1000 * session + nth)), "drawn");
        assert!(!of(&|_, nth| nth), "asked for by all");
    }
}
