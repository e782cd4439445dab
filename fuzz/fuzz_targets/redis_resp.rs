//! Parses arbitrary bytes as replies of Redis. The values must not depend on how the input is split. The
//! first byte selects the size of the pieces and whether small strings are stored.
#![no_main]

use dyno_protocol::resp::{Reader, Token};
use libfuzzer_sys::fuzz_target;

/// The values of `data`, parsed in pieces of `size` bytes, as text; and whether it is not RESP.
fn values(data: &[u8], size: usize, keep: bool) -> (Vec<String>, bool) {
    let mut reader = Reader::new(keep);
    let (mut inbox, mut values) = (Vec::new(), Vec::new());
    let mut pieces = data.chunks(size);
    loop {
        match reader.next(&inbox) {
            Err(_) => return (values, true),
            Ok((used, token)) => {
                assert!(used <= inbox.len());
                assert!(token.is_none() || used > 0, "a value out of nothing");
                let is_between = reader.is_between();
                assert!(!(is_between && reader.is_skipping()));
                if let Some(token) = &token {
                    assert!(!matches!(token, Token::Many(n) if *n > 0 && is_between));
                    values.push(format!("{token:?} {is_between}"));
                }
                let is_stuck = token.is_none();
                inbox.drain(..used);
                if is_stuck {
                    match pieces.next() {
                        Some(piece) => inbox.extend_from_slice(piece),
                        None => return (values, false),
                    }
                }
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let keep = first & 1 == 1;
    let size = usize::from(first >> 1) + 1;
    assert_eq!(values(data, data.len().max(1), keep), values(data, size, keep));
});
