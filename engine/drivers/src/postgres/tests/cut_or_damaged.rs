//! Answers that arrive in pieces, and bytes that no server sends.

use super::*;
use proptest::prelude::*;

/// A whole conversation: login with notices, rows, an error, a query, a bulk load.
fn conversation(mut cut: impl FnMut() -> usize) -> Vec<(Progress, Vec<u8>)> {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into()];
    let mut wire = wire(&target);
    let mut sent = Vec::new();
    let mut events = Vec::new();
    wire.connected(false, &mut sent);
    let status = (b'S', &b"server_version\x0015.1\0"[..]);
    let notice = (b'N', &b"SNOTICE\0Mx\0\0"[..]);
    let row = (b'D', &b"\0\x01\0\0\0\x05hello"[..]);
    let steps: Vec<Vec<(u8, &[u8])>> = vec![
        vec![AUTH_OK, status, KEY, notice, IDLE, (b'C', b"SET\0"), IDLE, (b'1', b""), IDLE],
        vec![(b'2', b""), row, row, notice, row, (b'C', b"SELECT 3\0"), (b'Z', b"T")],
        vec![(b'2', b""), row, DEADLOCK, (b'Z', b"E")],
        vec![(b'T', b"abc"), row, row, (b'C', b"SELECT 2\0"), status, IDLE],
        vec![(b'G', b"\0\0\x01\0\0")],
        vec![(b'C', b"COPY 12\0"), IDLE],
    ];
    for (number, step) in steps.iter().enumerate() {
        match number {
            1 | 2 => point_select(&mut *wire),
            3 => wire.query("SELECT", &mut sent),
            4 => wire.bulk("t", &["c"], &mut sent),
            5 => wire.bulk_end(&mut sent),
            _ => {}
        }
        let bytes = script(step);
        let (progress, out, used) = feed(&mut *wire, &bytes, &mut cut).unwrap();
        assert_eq!(used, bytes.len(), "step {number}");
        events.push((progress, out));
    }
    assert_eq!(wire.first_row(), [Some("hello".to_owned())]);
    events
}

#[test]
fn one_byte_at_a_time_means_the_same() {
    let events = conversation(|| usize::MAX);
    assert_eq!(events.len(), 6);
    assert_eq!(events, conversation(|| 1));
}

proptest! {
    #[test]
    fn cuts_do_not_matter(cuts in proptest::collection::vec(1_usize..30, 1..50)) {
        let mut next = cuts.iter().cycle();
        let cut = move || *next.next().expect("cycles");
        prop_assert_eq!(conversation(cut), conversation(|| usize::MAX));
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        stage in 0..5,
    ) {
        let mut wire = at_stage(stage);
        let _ = feed(&mut *wire, &bytes, || 7);
    }

    /// Valid tags and lengths around random bodies reach deeper than random bytes.
    #[test]
    fn random_messages_never_panic(
        messages in proptest::collection::vec(
            (
                proptest::sample::select(&b"RKSEZCDTIGHdcNA123nsWv"[..]),
                proptest::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..24),
            ),
            0..12,
        ),
        stage in 0..5,
    ) {
        let mut wire = at_stage(stage);
        let bytes: Vec<u8> =
            messages.iter().flat_map(|(tag, body)| from_server(*tag, body)).collect();
        let _ = feed(&mut *wire, &bytes, || 11);
    }
}

/// A session in each of the phases that read input.
fn at_stage(stage: i32) -> Box<dyn Wire> {
    let mut target = target();
    let mut out = Vec::new();
    match stage {
        0 => {
            target.tls = Tls::Prefer;
            let mut wire = wire(&target);
            wire.connected(false, &mut out);
            wire
        }
        1 => {
            let mut wire = wire(&target);
            wire.connected(true, &mut out);
            wire
        }
        2 => {
            let mut wire = ready(&target);
            point_select(&mut *wire);
            wire
        }
        3 => {
            let mut wire = ready(&target);
            wire.query("SELECT", &mut out);
            wire
        }
        _ => {
            let mut wire = ready(&target);
            wire.bulk("t", &["c"], &mut out);
            wire
        }
    }
}
