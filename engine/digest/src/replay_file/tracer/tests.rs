use super::*;
use dyno_core::trace::Index;

const S: i64 = SECOND_NS;

fn event<'a>(session: u64, end_ns: i64, duration_ns: u64, text: &'a str) -> Event<'a> {
    Event {
        session: Some(session),
        end_ns: Some(end_ns),
        duration_ns: Some(duration_ns),
        text: text.as_bytes(),
        database: b"shop",
        user: b"app",
        ..Event::default()
    }
}

fn command(session: u64, text: &str) -> Event<'_> {
    Event { kind: Kind::Command, ..event(session, 0, 0, text) }
}

fn traced(language: Language, events: &[Event<'_>]) -> (Meta, Vec<(u32, i64, String)>) {
    let mut bytes = Vec::new();
    let mut tracer = Tracer::new(&mut bytes, language).unwrap();
    events.iter().for_each(|event| tracer.event(event));
    let meta = tracer.finish().unwrap();
    let index = Index::read(&bytes).unwrap();
    assert_eq!(index.meta, meta);
    let mut all = Vec::new();
    for session in 0..meta.sessions {
        let mut place = index.begin(session);
        while let Some(event) = index.next(&bytes, session, &mut place) {
            all.push((session, event.begin_ns, String::from_utf8_lossy(event.text).into_owned()));
        }
    }
    (meta, all)
}

#[test]
fn events_begin_before_they_end_and_in_order_of_their_session() {
    let (meta, all) = traced(
        Language::Mysql,
        &[
            event(4, 10 * S, S as u64, "select 1"),
            event(5, 11 * S, 5 * S as u64, "select 'a'"),
            // Its computed start lies before that of the preceding statement.
            event(4, 12 * S, 9 * S as u64, "select 2"),
        ],
    );
    let text = |text: &str| text.to_owned();
    assert_eq!(
        all,
        [
            (0, 9 * S, text("select 1")),
            (0, 9 * S, text("select 2")),
            (1, 6 * S, text("select 'a'"))
        ]
    );
    assert_eq!((meta.begin_ns, meta.length_ns), (6 * S, 6 * S as u64));
    assert_eq!((meta.sessions, meta.sessions_at_once, meta.clock_ns), (2, 2, S as u64));
    assert_eq!((meta.classes.len(), meta.classes[0].events), (1, 3));
    assert!(meta.classes[0].name.starts_with("select_"), "{:?}", meta.classes[0]);
    assert_eq!(meta.origins, [Origin { database: "shop".into(), user: "app".into() }]);
}

#[test]
fn a_number_that_comes_again_is_another_session() {
    let other = Event { user: b"other", ..event(4, 5, 0, "select 5") };
    let (meta, all) = traced(
        Language::Mysql,
        &[
            event(4, 1, 0, "select 1"),
            command(4, "Quit"),
            event(4, 2, 0, "select 2"),
            command(4, "Init DB"),
            event(4, 3, 0, "select 3"),
            command(4, "Connect"),
            event(4, 4, 0, "select 4"),
            other,
        ],
    );
    let sessions: Vec<u32> = all.iter().map(|event| event.0).collect();
    assert_eq!((sessions, meta.sessions_at_once), (vec![0, 1, 1, 2, 3], 1));
    assert!(meta.left_out.is_empty(), "{:?}", meta.left_out);
}

#[test]
fn what_cannot_be_sent_again_is_counted() {
    let prepare = Event { kind: Kind::Prepare, ..event(4, 1, 0, "select ?") };
    let unknown = Event { session: None, ..event(4, 1, 0, "select 1") };
    let (meta, all) = traced(
        Language::Mysql,
        &[
            Event { end_ns: None, ..event(4, 0, 0, "select 1") },
            prepare,
            unknown,
            command(4, "Ping"),
            event(4, 1, 0, "use shop"),
            event(4, 1, 0, "select 'cut"),
            event(4, 1, 0, "select ?"),
            event(4, 1, 0, "load data local infile 'x' into table t"),
            event(4, 1, 0, "delete from t"),
        ],
    );
    assert_eq!((all.len(), meta.events), (1, 1));
    let all_reasons = [NO_TIME, PREPARED, NO_SESSION, COMMANDS, USE, CUT, NO_VALUES, LOCAL_DATA];
    assert_eq!(meta.left_out.len(), all_reasons.len());
    assert!(all_reasons.iter().all(|why| meta.left_out[*why] == 1), "{:?}", meta.left_out);
    assert_eq!(meta.effects, BTreeMap::from([("write".to_owned(), 1)]));
}

#[test]
fn values_of_parameters_are_put_in_place() {
    let known = Event { parameters: b"$1 = '7'", ..event(4, 1, 0, "select $1") };
    let (meta, all) = traced(Language::Postgres, &[known, event(4, 2, 0, "select $1")]);
    assert_eq!(all, [(0, 1, "select '7'".to_owned())]);
    assert_eq!(meta.left_out[NO_VALUES], 1);
}

#[test]
fn spans_that_touch_do_not_overlap() {
    assert_eq!(at_once(&[(0, 5), (5, 9), (9, 9)]), 1);
    assert_eq!(at_once(&[(0, 5), (4, 9), (3, 3)]), 2);
    assert_eq!(at_once(&[(3, 3), (3, 3)]), 2);
}

#[test]
fn names_of_classes_are_plain_and_short() {
    assert_eq!(name("SELECT shop.orders `a b`", 0xab << 120), "select_shop_orders_a_b_ab000000");
    assert!(name(&"x".repeat(500), 0).len() < 64);
}

#[test]
fn what_ended_in_the_same_second_is_spread_over_it() {
    let at = |number| event(number, 10 * S, 0, "select 1");
    let (meta, all) = traced(
        Language::Mysql,
        &[at(1), at(2), command(1, "Quit"), at(1), at(2), event(1, 11 * S, 0, "select 2")],
    );
    let begins: Vec<(u32, i64)> = all.iter().map(|event| (event.0, event.1 * 4 / S)).collect();
    assert_eq!(begins, [(0, 40), (1, 41), (1, 43), (2, 42), (2, 44)]);
    assert_eq!((meta.sessions, meta.clock_ns), (3, S as u64));
    // Times of a finer clock stay unchanged.
    let (_, all) = traced(Language::Mysql, &[at(1), event(1, 10 * S + 5, 0, "select 1")]);
    assert_eq!((all[0].1, all[1].1), (10 * S, 10 * S + 5));
}

/// MariaDB logs a statement's start in whole seconds, and its duration in microseconds.
#[test]
fn what_began_in_the_same_second_is_spread_over_it() {
    let begun = |session, second: i64, took_ms: i64| {
        let ns = took_ms * 1_000_000;
        event(session, second * S + ns, ns as u64, "select 1")
    };
    let long = begun(9, 7, 3_400);
    let all = [begun(1, 10, 7), begun(2, 10, 300), long, begun(1, 10, 0), begun(2, 10, 9)];
    let (meta, found) = traced(Language::Mysql, &[&all[..], &[begun(1, 11, 5)]].concat());
    let of = |session| {
        let of = found.iter().filter(|event| event.0 == session);
        of.map(|event| event.1 * 4 / S).collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(1), of(2)), (vec![40, 42, 44], vec![41, 43], vec![28]));
    assert_eq!((meta.sessions, meta.clock_ns), (3, S as u64));
    // The clock was set back: another second.
    let (_, found) = traced(Language::Mysql, &[begun(1, 10, 2), begun(2, 8, 2), begun(3, 8, 2)]);
    assert_eq!(found.iter().map(|event| event.1 * 2 / S).collect::<Vec<_>>(), [20, 16, 17]);
}

#[test]
fn times_at_the_end_of_what_64_bits_reach_stay_there() {
    let last_ns = i64::MAX - i64::MAX % S;
    let sent: Vec<_> = (0..3).map(|number| event(number, last_ns, 0, "select 1")).collect();
    let (meta, all) = traced(Language::Mysql, &sent);
    assert_eq!((all[2].1, meta.sessions), (last_ns + S / 3 * 2, 3));
    let (meta, _) = traced(Language::Mysql, &[event(1, i64::MAX, 0, "select 1")]);
    assert_eq!((meta.begin_ns, meta.sessions_at_once), (i64::MAX, 1));
    let (meta, _) = traced(Language::Mysql, &[event(1, i64::MIN, u64::MAX, "select 1")]);
    assert_eq!((meta.begin_ns, meta.length_ns), (i64::MIN, 0));
}
