//! The tests themselves, driven as a command would drive them.

use super::{Crew, NATIVE, Native, Run};
use crate::drive::progress::Observer;
use crate::drive::{self, Drive, Ended, Ending, Times};
use crate::options::value;
use crate::options::{Options, Value};
use crate::pace::{Pace, Rate};
use crate::session::Program;
use crate::tally::{Reading, Tallies};
use std::sync::Arc;
use std::time::Duration;

fn test(name: &str) -> &'static dyn Native {
    *NATIVE.iter().find(|test| test.name() == name).expect("in the list")
}

/// The test's options with these values in place of the defaults.
pub(super) fn options(name: &str, given: &[(&str, Value)]) -> Options {
    let mut options = Options::default();
    for option in test(name).options() {
        let default = option.default.unwrap_or_else(|| value::empty(option.kind));
        options.set(&option.name, default, false);
    }
    for (name, value) in given {
        assert!(options.get(name).is_some(), "{name}");
        options.set(name, value.clone(), true);
    }
    options
}

pub(super) const CREW: Crew = Crew { sessions: 2, seed: 7 };

fn refusal(name: &str, option: &str, value: Value) -> String {
    test(name).run(&options(name, &[(option, value)]), CREW).err().expect("refused")
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn failed(&mut self, _number: u32, message: &str) {
        self.0.push(message.to_owned());
    }
}

pub(super) fn driven(run: &Run, pace: Pace, times: Times) -> (Ended, Reading, Vec<String>) {
    let tallies = Arc::new(Tallies::new(2, 2));
    let drive = Drive {
        program: Program::Run,
        sessions: 2,
        shares_threads: false,
        threads: 2,
        servers: Arc::new([]),
        tallies: Arc::clone(&tallies),
        pace: Arc::new(pace),
        make: Arc::clone(&run.make),
        times,
        cpus: Vec::new(),
    };
    let mut heard = Heard::default();
    let ended = drive::run(&drive, &mut heard).expect("runs");
    (ended, tallies.read(), heard.0)
}

pub(super) const TIMES: Times = Times {
    warmup: Duration::ZERO,
    length: None,
    grace: Duration::from_secs(600),
    ask_after: Duration::MAX,
    start_max: Duration::from_secs(600),
};

fn counted(name: &str, given: &[(&str, Value)], events: u64) -> Reading {
    let run = test(name).run(&options(name, given), CREW).unwrap_or_else(|error| panic!("{error}"));
    let pace = Pace::new(if run.limits_events { 0 } else { events }, None, 0.0);
    let (ended, reading, _) = driven(&run, pace, TIMES);
    assert_eq!((ended.how, ended.abandoned), (Ending::Done, 0));
    assert_eq!(reading.latency.histogram.count(), reading.events);
    reading
}

#[test]
fn as_many_events_as_asked_for() {
    assert_eq!(counted("cpu", &[("cpu-max-prime", Value::Int(100))], 25).events, 25);
    let few = [("thread-yields", Value::Int(3)), ("thread-locks", Value::Int(2))];
    assert_eq!(counted("threads", &few, 25).events, 25);
    assert_eq!(counted("threads", &[("thread-yields", Value::Int(0))], 3).events, 3);
}

#[test]
fn each_thread_has_one_event_of_mutex() {
    let few = [
        ("mutex-num", Value::Int(3)),
        ("mutex-locks", Value::Int(100)),
        ("mutex-loops", Value::Int(10)),
    ];
    let reading = counted("mutex", &few, 10);
    assert_eq!(reading.sessions.iter().map(|share| share.events).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn memory_is_moved_in_equal_parts() {
    let text = |text: &str| Value::Text(text.into());
    for (operation, scope, mode) in [
        ("read", "global", "seq"),
        ("write", "local", "seq"),
        ("read", "local", "rnd"),
        ("write", "global", "rnd"),
        ("none", "global", "seq"),
    ] {
        let given = [
            ("memory-block-size", Value::Int(4096)),
            // Five blocks and a rest: two for each of two threads.
            ("memory-total-size", Value::Int(5 * 4096 + 1)),
            ("memory-oper", text(operation)),
            ("memory-scope", text(scope)),
            ("memory-access-mode", text(mode)),
        ];
        let reading = counted("memory", &given, 1);
        assert_eq!(reading.sessions.iter().map(|share| share.events).collect::<Vec<_>>(), [2, 2]);
        let moved = |is| if is { 4 * 4096 } else { 0 };
        let expected = (moved(operation == "read"), moved(operation == "write"));
        assert_eq!((reading.bytes_read, reading.bytes_written), expected);
    }
    let tiny = [("memory-total-size", Value::Int(1024))];
    assert_eq!(counted("memory", &tiny, 1).events, 0, "less than a block each");
}

#[test]
fn a_limit_of_its_own_holds_behind_the_warm_up() {
    let few = [("mutex-locks", Value::Int(10)), ("mutex-loops", Value::Int(10))];
    let run = test("mutex").run(&options("mutex", &few), CREW).unwrap_or_else(|e| panic!("{e}"));
    let times = Times { warmup: Duration::from_millis(20), ..TIMES };
    let (ended, reading, _) = driven(&run, Pace::new(0, None, 0.02), times);
    assert_eq!((ended.how, reading.events), (Ending::Done, 2));
}

#[test]
fn a_rate_and_the_end_of_the_time_hold() {
    let run = test("cpu").run(&options("cpu", &[]), CREW).unwrap_or_else(|error| panic!("{error}"));
    let pace = Pace::new(3, Some(Rate { per_s: 200.0, seed: 1 }), 0.0);
    let (ended, reading, _) = driven(&run, pace, TIMES);
    assert_eq!(
        (ended.how, reading.events, reading.response.histogram.count()),
        (Ending::Done, 3, 3)
    );
    let times = Times { length: Some(Duration::from_millis(30)), ..TIMES };
    let (ended, reading, _) = driven(&run, Pace::new(0, None, 0.0), times);
    assert_eq!(ended.how, Ending::Done);
    assert!(reading.events > 0);
}

#[test]
fn memory_that_a_thread_cannot_have_fails_the_run() {
    let given =
        [("memory-block-size", Value::Int(1 << 62)), ("memory-scope", Value::Text("local".into()))];
    let run =
        test("memory").run(&options("memory", &given), CREW).unwrap_or_else(|e| panic!("{e}"));
    let (ended, reading, heard) = driven(&run, Pace::new(0, None, 0.0), TIMES);
    assert_eq!((ended.how, reading.events), (Ending::Failed, 0));
    assert_eq!(heard[0], "Failed to allocate buffer!");
    assert_eq!(refusal("memory", "memory-block-size", Value::Int(1 << 62)), heard[0]);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for value in [-1, 0] {
        let said = refusal("cpu", "cpu-max-prime", Value::Int(value));
        assert_eq!(said, format!("Invalid value of cpu-max-prime: {value}."));
        for (test, option) in
            [("threads", "thread-locks"), ("mutex", "mutex-num"), ("mutex", "mutex-locks")]
        {
            let said = refusal(test, option, Value::Int(value));
            assert_eq!(said, format!("Invalid value for {option}: {value}"));
        }
    }
    refusal("threads", "thread-locks", Value::Int(i64::MAX));
    for (test, option) in
        [("threads", "thread-yields"), ("mutex", "mutex-loops"), ("memory", "memory-total-size")]
    {
        refusal(test, option, Value::Int(-1));
    }
    for value in [-1, 0, 3, 4, 9] {
        let said = refusal("memory", "memory-block-size", Value::Int(value));
        assert_eq!(said, format!("Invalid value for memory-block-size: {value}"));
    }
    for option in ["memory-scope", "memory-oper", "memory-access-mode"] {
        let said = refusal("memory", option, Value::Text("odd".into()));
        assert_eq!(said, format!("Invalid value for {option}: odd"));
    }
}

#[test]
fn headings_tell_what_is_run() {
    let heading = |name: &str| match test(name).run(&options(name, &[]), CREW) {
        Ok(run) => run.heading,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(heading("cpu"), "Prime numbers limit: 10000\n\n");
    assert_eq!(heading("threads") + &heading("mutex"), "");
    assert_eq!(
        heading("memory"),
        "Running memory speed test with the following options:\n  block size: 1KiB\n  \
         total size: 102400MiB\n  operation: write\n  scope: global\n\n"
    );
}
