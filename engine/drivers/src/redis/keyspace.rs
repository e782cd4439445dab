//! Finds the keys of a store by a scan of the whole keyspace, which does not block other clients.
//! The scan verifies that a store is empty before its load and complete after it.
//!
//! Source: Redis documentation, `SCAN`: every key that exists from the first call to the last is
//! returned; a key may be returned twice while the server's table shrinks.

use super::commands::key_prefix;
use dyno_core::error::Result;
use dyno_protocol::resp::{self, Token, rubbish};

/// Keys examined per call.
const KEYS_A_CALL: &[u8] = b"1000";

/// A scan in progress.
#[derive(Debug)]
pub(super) struct Walk {
    /// Glob pattern of the store's keys.
    pattern: Vec<u8>,
    cursor: Vec<u8>,
    place: Place,
    /// Keys found so far.
    pub found: u64,
}

/// Position in a reply: a cursor and an array of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Cursor,
    Keys,
    Key,
}

impl Walk {
    /// Begins a scan of the keys of `store`.
    pub fn begin(prefix: &str, store: &str, out: &mut Vec<u8>) -> Self {
        let pattern = glob(key_prefix(prefix, store).as_bytes());
        let walk = Self { pattern, cursor: b"0".to_vec(), place: Place::Head, found: 0 };
        walk.call(out);
        walk
    }

    fn call(&self, out: &mut Vec<u8>) {
        resp::command(
            &[b"SCAN", &self.cursor, b"MATCH", &self.pattern, b"COUNT", KEYS_A_CALL],
            out,
        );
    }

    /// Handles the next value of a reply.
    pub fn token(&mut self, token: &Token<'_>) -> Result<()> {
        self.place = match (self.place, token) {
            (Place::Head, Token::Many(2)) => Place::Cursor,
            (Place::Cursor, Token::Text(cursor)) if is_number(cursor) => {
                self.cursor.clear();
                self.cursor.extend_from_slice(cursor);
                Place::Keys
            }
            (Place::Keys, Token::Many(_)) => Place::Key,
            (Place::Key, Token::Text(_) | Token::Skipped) => {
                self.found += 1;
                Place::Key
            }
            _ => return Err(rubbish("an answer to SCAN that is no cursor with keys")),
        };
        Ok(())
    }

    /// The reply is complete: requests the next one, or returns true at the end.
    pub fn is_over(&mut self, out: &mut Vec<u8>) -> bool {
        self.place = Place::Head;
        if self.cursor == b"0" {
            return true;
        }
        self.call(out);
        false
    }
}

fn is_number(text: &[u8]) -> bool {
    (1..=20).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// A glob pattern for all names with this prefix.
fn glob(prefix: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(prefix.len() + 1);
    for &byte in prefix {
        if b"*?[]^-\\".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_prefix_matches_itself_alone() {
        assert_eq!(glob(b"a:b:"), b"a:b:*");
        assert_eq!(glob(b"a*[?"), b"a\\*\\[\\?*");
    }
}
