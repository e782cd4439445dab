//! Answers that arrive in pieces, and bytes that no server sends.

use super::*;
use proptest::prelude::*;

/// A whole conversation of every kind of request.
fn conversation(mut cut: impl FnMut() -> usize) -> Vec<Heard> {
    let mut target = target();
    target.session_sql = vec!["SET a = 1".into()];
    let mut client = client(&target);
    let mut sent = Vec::new();
    client.connected(false, &mut sent);
    let bound = (b'2', &b""[..]);
    let steps: Vec<Vec<Message<'_>>> = vec![
        vec![AUTH_OK, STATUS, KEY, NOTICE, IDLE, (b'C', b"SET\0"), IDLE],
        vec![ONE_COLUMN, HELLO, NULL, (b'C', b"SELECT 2\0"), NOTICE, (b'C', b"BEGIN\0"), IDLE],
        vec![(b'1', b""), (b't', b"\0\x02........"), ONE_COLUMN, IDLE],
        vec![bound, NULL, HELLO, NOTICE, (b'C', b"SELECT 2\0"), (b'Z', b"T")],
        vec![bound, HELLO, DEADLOCK, (b'Z', b"E")],
        vec![(b'G', b"\0\0\x01\0\0"), DEADLOCK, IDLE],
        vec![(b'H', b"\0\0\x01\0\0"), (b'd', b"1\n"), (b'c', b""), (b'C', b"COPY 1\0"), IDLE],
        vec![(b'3', b""), STATUS, IDLE],
    ];
    let mut heard = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        match number {
            1 => client.query(b"SELECT; BEGIN", &mut sent),
            2 => client.prepare(b"SELECT ?, ?", &mut sent),
            3 | 4 => client.execute(0, &[Bind::Text(b"x"), Bind::Double(0.5)], &mut sent),
            5 | 6 => client.query(b"COPY", &mut sent),
            7 => assert!(client.close(0, &mut sent)),
            _ => {}
        }
        let bytes = script(step);
        let (said, out, used) = feed(&mut *client, &bytes, &mut cut).unwrap();
        assert_eq!(used, bytes.len(), "step {number}");
        let all = client.answers().to_vec();
        let first = all.first().is_some_and(|answer| answer.rows > 0);
        let first = if first { row(&*client, 0, 0) } else { Vec::new() };
        heard.push((said, out, all, first));
    }
    heard
}

#[test]
fn one_byte_at_a_time_means_the_same() {
    let heard = conversation(|| usize::MAX);
    assert_eq!(heard.len(), 8);
    assert_eq!(heard[3].2, [result(1, 2, 0)]);
    assert_eq!(heard, conversation(|| 1));
}

/// A connection in each of the phases that read input.
fn at_stage(stage: i32) -> Box<dyn Client> {
    let mut out = Vec::new();
    let mut client = match stage {
        0 | 1 => {
            let tls = if stage == 0 { Tls::Prefer } else { Tls::Off };
            let mut client = client(&Target { tls, ..target() });
            client.connected(false, &mut out);
            client
        }
        _ => ready(),
    };
    match stage {
        2 => client.query(b"SELECT", &mut out),
        3 => client.prepare(b"SELECT", &mut out),
        4 => client.execute(0, &[], &mut out),
        5 => drop(client.close(0, &mut out)),
        _ => {}
    }
    client
}

/// Feeds `bytes` until nothing more is consumed, and reads every row.
fn read_all(client: &mut dyn Client, bytes: &[u8], piece: usize) {
    let mut at = 0;
    while at < bytes.len() {
        let Ok((said, _, used)) = feed(client, &bytes[at..], || piece) else { return };
        at += used;
        for (answer, Answer { rows, .. }) in client.answers().to_vec().iter().enumerate() {
            (0..*rows).for_each(|row| drop(client.fetch(answer, row, &mut |_| ())));
        }
        match said {
            Progress::Reply(()) => client.query(b"SELECT", &mut Vec::new()),
            Progress::Ready => client.prepare(b"SELECT", &mut Vec::new()),
            Progress::StartTls => client.tls_established(&mut Vec::new()),
            Progress::More | Progress::WantData => return,
        }
    }
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
        stage in 0..7,
    ) {
        read_all(&mut *at_stage(stage), &bytes, 7);
    }

    /// Valid tags and lengths around random bodies reach deeper than random bytes.
    #[test]
    fn random_messages_never_panic(
        messages in proptest::collection::vec(
            (
                proptest::sample::select(&b"RKSEZCDTIGHdcNA123nstWv"[..]),
                prop_oneof![
                    proptest::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..24),
                    Just(b"I".to_vec()),
                    Just(vec![0; 4]),
                ],
            ),
            0..16,
        ),
        stage in 0..7,
    ) {
        let messages: Vec<Message<'_>> =
            messages.iter().map(|(tag, body)| (*tag, &body[..])).collect();
        read_all(&mut *at_stage(stage), &script(&messages), 11);
    }
}
