//! Writes arbitrary events to a replay file, and parses arbitrary bytes as one. A written file must contain
//! each session's statements in order; a valid file must have the same content after reading and writing
//! it; other bytes must be rejected without a panic.
//!
//! The first byte selects the test. An event is two bytes (kind, connection and time; duration), a length,
//! and text, parameters, database and user, separated by zero bytes.
#![no_main]

use dyno_core::trace::{Index, Language, MAGIC, Meta, Origin, VERSION, Writer};
use dyno_digest::event::{Event, Kind};
use dyno_digest::replay_file::Tracer;

/// Session, begin in ns, duration in ns, effect, class, origin, text.
type Owned = (u32, i64, u64, u8, u32, u32, Vec<u8>);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    match choice & 3 {
        0 | 1 => events(choice, data),
        2 => again(&framed(choice, data)),
        _ => again(data),
    }
});

/// Writes events by connection, and checks the replay file.
fn events(choice: u8, mut data: &[u8]) {
    let language = if choice & 1 == 0 { Language::Mysql } else { Language::Postgres };
    let mut bytes = Vec::new();
    let mut tracer = Tracer::new(&mut bytes, language).expect("memory");
    let mut sent: [Vec<&[u8]>; 4] = Default::default();
    let (mut statements, mut commands) = (0, 0);
    let mut now_ns: i64 = 1_700_000_000_000_000_000;
    while let Some((&[head, took, length], rest)) = data.split_first_chunk::<3>() {
        let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        let event = event(head, took, body, &mut now_ns);
        match event.kind {
            Kind::Command => {
                let names: [&[u8]; 4] = [b"Quit", b"Connect", b"Change user", b"Init DB"];
                commands += u64::from(!names.contains(&event.text));
            }
            _ => {
                statements += 1;
                sent[usize::from(head & 3)].push(event.text);
            }
        }
        tracer.event(&event);
    }
    let meta = tracer.finish().expect("memory");
    let index = Index::read(&bytes).expect("what was written is a trace");
    assert_eq!((&index.meta, index.language), (&meta, language));
    let left_out: u64 = meta.left_out.values().sum();
    assert_eq!(statements + commands, meta.events + left_out, "{:?}", meta.left_out);
    let all = read(&index, &bytes);
    counts(&meta, &all);
    if language == Language::Mysql {
        for session in 0..meta.sessions {
            let of = all.iter().filter(|event| event.0 == session);
            let of: Vec<&[u8]> = of.map(|event| &*event.6).collect();
            assert!(sent.iter().any(|sent| is_within(&of, sent)), "a session in another order");
        }
    }
    // Only sometimes, since the other tests always do this.
    if choice & 4 != 0 {
        again(&bytes);
    }
}

/// Builds an event and advances `now_ns`.
fn event<'a>(head: u8, took: u8, body: &'a [u8], now_ns: &mut i64) -> Event<'a> {
    let mut texts = body.splitn(4, |&byte| byte == 0);
    let mut text = || texts.next().unwrap_or_default();
    let (text, parameters, database, user) = (text(), text(), text(), text());
    let kind = match head >> 2 & 7 {
        0 => Kind::Command,
        1 => Kind::Prepare,
        _ => Kind::Statement,
    };
    *now_ns = match head >> 5 {
        0 => *now_ns,
        1 => now_ns.saturating_add(1),
        2 => now_ns.saturating_add(1_000_000),
        3 => now_ns.saturating_add(1_000_000_000),
        4 => *now_ns - *now_ns % 1_000_000_000,
        5 => now_ns.saturating_sub(300_000_000),
        6 => *now_ns,
        _ => [i64::MIN, i64::MAX, 0, -1][usize::from(took & 3)],
    };
    let duration_ns = match took {
        0 => None,
        255 => Some(u64::MAX),
        _ => Some(u64::from(took) << (took & 31)),
    };
    Event {
        kind,
        end_ns: (head >> 5 != 6).then_some(*now_ns),
        duration_ns,
        session: (took != 1).then_some(u64::from(head & 3)),
        text,
        parameters,
        database,
        user,
        ..Event::default()
    }
}

/// Checks the metadata against all events.
fn counts(meta: &Meta, all: &[Owned]) {
    assert_eq!(meta.events, all.len() as u64);
    assert_eq!(meta.effects.values().sum::<u64>(), meta.events);
    assert_eq!(meta.sessions_at_once > 0, meta.events > 0);
    assert!(meta.sessions_at_once <= meta.sessions && u64::from(meta.sessions) <= meta.events);
    let mut classes = vec![0; meta.classes.len()];
    for event in all {
        classes[event.4 as usize] += 1;
        assert!((event.5 as usize) < meta.origins.len());
        assert!(event.1.abs_diff(meta.begin_ns) <= meta.length_ns && meta.begin_ns <= event.1);
    }
    assert!(meta.classes.iter().map(|class| class.events).eq(classes));
}

/// Whether `part` is a subsequence of `whole`.
fn is_within(part: &[&[u8]], whole: &[&[u8]]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|text| whole.any(|other| other == text))
}

fn read(index: &Index, trace: &[u8]) -> Vec<Owned> {
    let mut all = Vec::new();
    for session in 0..index.meta.sessions {
        let (mut place, mut last_ns) = (index.begin(session), i64::MIN);
        while let Some(event) = index.next(trace, session, &mut place) {
            assert!(last_ns <= event.begin_ns, "a session goes back in time");
            last_ns = event.begin_ns;
            let (effect, text) = (event.effect as u8, event.text.to_vec());
            let (class, origin) = (event.class, event.origin);
            all.push((session, last_ns, event.duration_ns, effect, class, origin, text));
        }
        assert!(index.next(trace, session, &mut place).is_none());
    }
    all
}

/// If `trace` is a replay file, writes its events again and compares the files' events and metadata.
fn again(trace: &[u8]) {
    let Ok(index) = Index::read(trace) else { return };
    let mut writer = Writer::new(Vec::new(), index.language).expect("memory");
    for session in 0..index.meta.sessions {
        let mut place = index.begin(session);
        while let Some(event) = index.next(trace, session, &mut place) {
            writer.event(session, &event).expect("memory");
        }
    }
    let second = writer.finish(&index.meta).expect("memory");
    let other = Index::read(&second).expect("what was written is a trace");
    assert_eq!(index.meta, other.meta);
    assert_eq!(read(&index, trace), read(&other, &second));
}

/// Builds a replay file with valid checksums. `data` is three bytes (numbers of sessions, events and
/// origins), then blocks: session, length, and the content after the session's number. A session 255
/// precedes a literal footer.
fn framed(choice: u8, data: &[u8]) -> Vec<u8> {
    let mut trace = MAGIC.to_vec();
    trace.extend(VERSION.to_le_bytes());
    trace.extend([1 + (choice >> 2 & 1), 0, 0, 0, 0, 0]);
    let Some((&[sessions, events, origins], mut rest)) = data.split_first_chunk::<3>() else {
        return trace;
    };
    let (mut index, mut blocks, mut footer) = (Vec::new(), 0_u8, None);
    while let Some((&[session, length], behind)) = rest.split_first_chunk::<2>() {
        if session == 255 {
            footer = Some(behind.to_vec());
            break;
        }
        let (body, behind) = behind.split_at(usize::from(length & 127).min(behind.len()));
        rest = behind;
        let payload = [&[session & 127], body].concat();
        trace.extend((payload.len() as u32).to_le_bytes());
        trace.extend(checksum(&payload).to_le_bytes());
        trace.extend_from_slice(&payload);
        let claimed = if session & 128 == 0 { session } else { length & 127 };
        number(&mut index, claimed.into());
        number(&mut index, payload.len() as u64);
        // The number of events, which the reader ignores.
        index.push(0);
        blocks = blocks.saturating_add(1);
    }
    let footer = footer.unwrap_or_else(|| {
        let meta = Meta {
            sessions: sessions.into(),
            events: events.into(),
            origins: vec![Origin::default(); usize::from(origins % 8)],
            ..Meta::default()
        };
        let json = serde_json::to_vec(&meta).expect("it has only names as keys");
        let mut footer = Vec::new();
        number(&mut footer, json.len() as u64);
        footer.extend(json);
        number(&mut footer, blocks.into());
        [footer, index].concat()
    });
    trace.extend_from_slice(&footer);
    trace.extend(checksum(&footer).to_le_bytes());
    trace.extend((footer.len() as u64).to_le_bytes());
    trace.extend(b"dynotend");
    trace
}

/// Appends a number in LEB128.
fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// CRC-32, as in zlib and gzip (RFC 1952).
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let (mut value, mut bit) = (at as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ value >> 1 } else { value >> 1 };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum, &byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}
