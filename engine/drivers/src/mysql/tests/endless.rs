//! Servers with endless replies, against scripts' connections: the client refuses each one, and
//! until then consumes all input, so that buffers before the protocol stay small.

use super::script::*;
use crate::mysql::client::build;
use crate::mysql::compressed::Codec;
use crate::mysql::flags::capability::{COMPRESS, DEPRECATE_EOF};
use crate::mysql::packet::{CONTROL_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX, write};
use dyno_core::driver::Progress;
use dyno_core::driver::client::{Client, Nature};
use dyno_core::error::{Error, Kind};

/// Size of one network read, bytes.
const PIECE: usize = 64 << 10;
/// More than any buffer stores, bytes.
const ENDLESS: usize = 300 << 20;

/// A client whose query has received a column count.
fn amid_rows(more: u32) -> Box<dyn Client> {
    let mut target = target();
    if more == COMPRESS {
        target.options.insert("compression".into(), "zlib".into());
    }
    let Nature::Wire(mut client) = build(&target).unwrap()().unwrap() else {
        panic!("mysql is a wire")
    };
    let mut sent = vec![];
    client.connected(true, &mut sent);
    client
        .receive(&greeting(PLAIN | DEPRECATE_EOF | more, "mysql_native_password"), &mut sent)
        .unwrap();
    assert_eq!(client.receive(&ok(2, 0, 2), &mut sent).unwrap().1, Progress::Ready);
    client.query(b"SELECT 1", &mut sent);
    client
}

/// Feeds `bytes` repeatedly until the client fails.
fn refusal(client: &mut dyn Client, bytes: &[u8]) -> Error {
    let mut input = vec![];
    for _ in 0..ENDLESS / bytes.len() {
        for piece in bytes.chunks(PIECE) {
            input.extend_from_slice(piece);
            match client.receive(&input, &mut vec![]) {
                Ok((taken, said)) => {
                    assert_eq!(said, Progress::More);
                    drop(input.drain(..taken));
                }
                Err(error) => return error,
            }
            assert!(input.len() <= CONTROL_BYTES_MAX + PIECE, "{} bytes wait", input.len());
        }
    }
    panic!("it was read to its end")
}

/// One packet per payload, numbered from `seq` on.
fn packets(seq: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    payloads.iter().fold(seq, |seq, payload| write(&mut out, seq, payload));
    out
}

fn too_large(error: &Error) {
    assert_eq!(error.kind, Kind::System, "{error}");
    assert!(error.what.contains("256 MiB") && error.hint.contains("LIMIT"), "{error}");
}

#[test]
fn rows_without_end_are_refused() {
    for row in [&[251; 1][..], &[0xfb; 1 << 16]] {
        let mut client = amid_rows(0);
        let head = packets(1, &[&[1], b"def"]);
        assert_eq!(client.receive(&head, &mut vec![]), Ok((head.len(), Progress::More)));
        // 256 packets, so that their numbers restart with each round.
        too_large(&refusal(&mut *client, &packets(3, &[row; 256])));
    }
}

#[test]
fn one_row_without_end_is_refused() {
    let mut client = amid_rows(0);
    let head = packets(1, &[&[1], b"def"]);
    client.receive(&head, &mut vec![]).unwrap();
    let mut seq = 3_u8;
    let part = vec![7; PAYLOAD_BYTES_MAX];
    let refused = (0..20).find_map(|_| {
        let head = (PAYLOAD_BYTES_MAX as u32 | u32::from(seq) << 24).to_le_bytes();
        seq += 1;
        client.receive(&[&head[..], &part].concat(), &mut vec![]).err()
    });
    too_large(&refused.unwrap());
}

#[test]
fn results_without_end_are_refused() {
    let mut client = amid_rows(0);
    // OK, and another result follows.
    too_large(&refusal(&mut *client, &packets(1, &[&[0, 0, 0, 8, 0, 0, 0][..]; 256])));
}

#[test]
fn what_is_compressed_a_thousandfold_is_refused_too() {
    let mut client = amid_rows(COMPRESS);
    let mut line = vec![];
    let head = packets(1, &[&[1], b"def"]);
    Codec::default().put(&head, &mut line).unwrap();
    client.receive(&line, &mut vec![]).unwrap();
    let mut row = vec![];
    Codec::default()
        .put(&packets(0, &[&vec![7; PAYLOAD_BYTES_MAX - HEADER_BYTES - 1]]), &mut row)
        .unwrap();
    assert!(row.len() < 100_000, "a bomb");
    let refused = (0..20).find_map(|_| client.receive(&row, &mut vec![]).err());
    too_large(&refused.unwrap());
}
