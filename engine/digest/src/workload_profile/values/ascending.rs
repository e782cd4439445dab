//! Detects numbers that ascend within each session, though not over all sessions: blocks of keys that clients
//! take one after the other (hi/lo), keys of which each session has every n-th.

use std::collections::HashMap;

/// Sessions whose last number is remembered.
const SESSIONS_MAX: usize = 512;

/// Numbers of a place, by session.
#[derive(Default)]
pub struct Upwards {
    /// Of each session the last one.
    last: HashMap<u64, f64>,
    /// Numbers that follow another one of their session.
    followed: u64,
    /// Those of them that are greater than it.
    greater: u64,
}

impl Upwards {
    /// The next number of a session.
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

    /// Whether so many numbers, of which so many differ, are keys of new rows.
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
