use super::*;
use proptest::prelude::*;

type Owned = (u32, i64, u64, u8, Vec<u8>);

fn meta(events: &[Owned]) -> Meta {
    Meta {
        sessions: events.iter().map(|event| event.0 + 1).max().unwrap_or(0),
        events: events.len() as u64,
        origins: vec![Origin { database: "shop".into(), user: "app".into() }],
        classes: vec![Class { name: "SELECT t".into(), ..Class::default() }],
        ..Meta::default()
    }
}

fn written(events: &[Owned]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Language::Postgres).unwrap();
    for (session, begin_ns, duration_ns, effect, text) in events {
        let effect = Effect::ALL[usize::from(*effect)];
        let (begin_ns, duration_ns) = (*begin_ns, *duration_ns);
        let event = Event { begin_ns, duration_ns, effect, class: 7, origin: 0, text };
        writer.event(*session, &event).unwrap();
    }
    writer.finish(&meta(events)).unwrap()
}

fn read(trace: &[u8]) -> Vec<Owned> {
    let index = Index::read(trace).unwrap();
    let mut all = Vec::new();
    for session in 0..index.meta.sessions {
        let mut place = index.begin(session);
        while let Some(event) = index.next(trace, session, &mut place) {
            assert_eq!((event.class, event.origin), (7, 0));
            let effect = event.effect as u8;
            all.push((session, event.begin_ns, event.duration_ns, effect, event.text.to_vec()));
        }
        assert_eq!(index.next(trace, session, &mut place), None);
    }
    all
}

/// Each session's events in order; none begins before the one before it.
fn expected(events: &[Owned]) -> Vec<Owned> {
    let mut all = events.to_vec();
    all.sort_by_key(|event| event.0);
    for at in 1..all.len() {
        if all[at].0 == all[at - 1].0 {
            all[at].1 = all[at].1.max(all[at - 1].1);
        }
    }
    all
}

fn some() -> impl Strategy<Value = Vec<Owned>> {
    let text = prop::collection::vec(any::<u8>(), 0..40);
    let effect = 0..Effect::ALL.len() as u8;
    let time = prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>(), 0..1000_i64];
    prop::collection::vec((0..5_u32, time, any::<u64>(), effect, text), 0..30)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_by_session(events in some()) {
        prop_assert_eq!(read(&written(&events)), expected(&events));
    }

    #[test]
    fn a_cut_trace_is_an_error(events in some(), share in 0.0..1.0) {
        let trace = written(&events);
        let cut = (trace.len() as f64 * share) as usize;
        let error = Index::read(&trace[..cut]).unwrap_err();
        prop_assert!(!error.hint.is_empty(), "{error}");
    }

    #[test]
    fn a_changed_bit_is_an_error(events in some(), at: prop::sample::Index, bit in 0..8) {
        let mut trace = written(&events);
        let at = at.index(trace.len());
        trace[at] ^= 1_u8 << bit;
        // The language may be the other one.
        prop_assume!(at != 10);
        prop_assert!(Index::read(&trace).is_err());
    }

    #[test]
    fn rubbish_is_no_trace(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Index::read(&bytes).is_err());
        prop_assert!(Index::read(&[MAGIC, &*bytes].concat()).is_err());
    }
}

#[test]
fn long_sessions_take_several_blocks_and_stay_in_order() {
    let text = vec![b'x'; 1000];
    let events: Vec<Owned> =
        (0..500).map(|n| (n % 2, i64::from(n), u64::from(n), 0, text.clone())).collect();
    assert_eq!(read(&written(&events)), expected(&events));
}

#[test]
fn errors_say_what_is_wrong() {
    let trace = written(&[(0, 5, 6, 0, b"select 1".to_vec())]);
    let what = |trace: &[u8]| Index::read(trace).unwrap_err().what;
    assert!(what(b"select 1").contains("no trace"));
    assert!(what(&trace[..trace.len() - 1]).contains("no end"));
    let mut other = trace.clone();
    other[8] = 9;
    assert!(what(&other).contains("version 9"));
    let mut other = trace.clone();
    other[30] ^= 1;
    assert!(what(&other).contains("block at byte 24"), "{}", what(&other));
}

#[test]
fn a_session_does_not_go_back_in_time() {
    let mut writer = Writer::new(Vec::new(), Language::Mysql).unwrap();
    for begin_ns in [6, 5] {
        let effect = Effect::Read;
        let event = Event { begin_ns, duration_ns: 0, effect, class: 0, origin: 0, text: b"" };
        writer.event(0, &event).unwrap();
        writer.end(0).unwrap();
    }
    let meta = Meta { sessions: 1, events: 2, origins: vec![Origin::default()], ..Meta::default() };
    let error = Index::read(&writer.finish(&meta).unwrap()).unwrap_err();
    assert!(error.what.contains("block at byte 40"), "{error}");
}
