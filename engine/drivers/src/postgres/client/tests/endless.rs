//! Servers with endless replies: the client refuses each one, and until then memory stays bounded.

use super::*;
use dyno_core::error::Error;

/// More than any buffer stores, bytes.
const ENDLESS: usize = 300 << 20;

/// Feeds `bytes` repeatedly during a query until the client fails.
fn refusal(bytes: &[u8]) -> Error {
    let mut client = ready();
    client.query(b"SELECT 1", &mut Vec::new());
    for _ in 0..ENDLESS / bytes.len() {
        match client.receive(bytes, &mut Vec::new()) {
            Ok(heard) => assert_eq!(heard, (bytes.len(), Progress::More)),
            Err(error) => return error,
        }
    }
    panic!("it was read to its end")
}

fn too_large(error: &Error) {
    assert_eq!(error.kind, ErrorKind::System, "{error}");
    assert!(error.what.contains("256 MiB") && error.hint.contains("LIMIT"), "{error}");
}

#[test]
fn rows_and_results_without_end_are_refused() {
    for row in [&[][..], &[7; 1 << 16]] {
        too_large(&refusal(&script(&[(b'D', row); 64])));
    }
    too_large(&refusal(&script(&[(b'C', &b"SELECT 1\0"[..]); 1024])));
}

#[test]
fn a_row_that_says_that_it_is_too_large_is_refused_before_it_comes() {
    too_large(&refusal(&[b'D', 0x10, 0, 0, 5]));
}

#[test]
fn a_row_that_goes_on_is_known_to_be_unfinished() {
    let mut client = ready();
    client.query(b"SELECT 1", &mut Vec::new());
    assert!(!client.is_amid_message());
    client.receive(b"D\0\0\0\x0a\0\x01", &mut Vec::new()).unwrap();
    assert!(client.is_amid_message());
    client.receive(b"\0\0\0\0N\0\0\x01\0", &mut Vec::new()).unwrap();
    assert!(client.is_amid_message(), "so is a notice");
}

#[test]
fn requests_for_rows_are_not_answered_without_end() {
    let mut client = ready();
    client.query(b"COPY t FROM STDIN", &mut Vec::new());
    let asks = script(&[(b'G', &b"\0\0\x01\0\0"[..]); 2]);
    let mut out = Vec::new();
    let error = client.receive(&asks, &mut out).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert_eq!(out.iter().filter(|&&byte| byte == b'f').count(), 1, "one refusal");
}

#[test]
fn of_the_answer_to_a_question_one_row_is_kept() {
    let mut target = target();
    target.read_only = true;
    let mut client = client(&target);
    client.connected(false, &mut Vec::new());
    whole(&mut *client, &[AUTH_OK, KEY, IDLE]).unwrap();
    let row = (b'D', &b"\0\x01\0\0\0\x02on"[..]);
    let said = [(b'C', &b"SET\0"[..]), IDLE, ONE_COLUMN, row, HELLO, row, (b'C', b"SHOW\0"), IDLE];
    assert_eq!(whole(&mut *client, &said).unwrap().0, Progress::Ready, "the last one");
}
