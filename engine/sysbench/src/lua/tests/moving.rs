//! Scripts on real load threads: those that block, and those that take all memory.

use super::*;
use crate::drive::progress::{Observer, Progress};
use crate::drive::{Drive, Ended, Ending, Times};
use crate::session::MakeScripts;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Default)]
struct Heard {
    failures: Vec<(u32, String)>,
}

impl Observer for Heard {
    fn measuring(&mut self, _: &Progress) -> u64 {
        u64::MAX
    }

    fn failed(&mut self, number: u32, message: &str) {
        self.failures.push((number, message.to_owned()));
    }
}

/// So many sessions for a second on as many threads as there are CPUs, two at least.
fn drive(text: &str, sessions: u32, warmup_ms: u64) -> (Ended, Heard, Arc<Tallies>) {
    let (source, setup) = (Arc::new(source(text)), setup());
    let make: Arc<MakeScripts> = Arc::new(move |_| {
        let task = Task::from(&Program::Run);
        let worker = Worker::new(&source, &setup, task, false, MEMORY)?;
        Ok(Box::new(worker) as Box<dyn Scripts>)
    });
    let threads = Drive::threads_for(&Program::Run, sessions, true, (0, &[]), &[]);
    let tallies = Arc::new(Tallies::new(sessions as usize, threads));
    let warmup = Duration::from_millis(warmup_ms);
    let drive = Drive {
        program: Program::Run,
        sessions,
        shares_threads: true,
        threads,
        servers: Arc::new([]),
        tallies: Arc::clone(&tallies),
        pace: Arc::new(Pace::new(0, None, warmup.as_secs_f64())),
        make,
        times: Times {
            warmup,
            length: Some(Duration::from_secs(1)),
            grace: Duration::from_secs(60),
            ask_after: Duration::MAX,
            start_max: Duration::from_secs(60),
        },
        cpus: Vec::new(),
    };
    let mut heard = Heard::default();
    let ended = crate::drive::run(&drive, &mut heard).unwrap();
    (ended, heard, tallies)
}

/// What the sessions of [`blocking`] have written: by session, what ran on which thread.
fn lives(path: &std::path::Path) -> BTreeMap<u32, Vec<(String, u64)>> {
    let mut lives: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let words: Vec<_> = line.split(' ').collect();
        let life = lives.entry(words[1].parse().unwrap()).or_default();
        life.push((words[0].to_owned(), words[2].parse().unwrap()));
    }
    lives
}

/// A script whose session 3 blocks in each event, and that writes down where it runs.
fn blocking(path: &std::path::Path) -> String {
    format!(
        "local ffi = require('ffi')
         ffi.cdef [[int poll(void *, unsigned long, int); int gettid(void); int usleep(unsigned);]]
         local function note(what, tid)
           local file = io.open('{}', 'a')
           file:write(('%s %d %d\\n'):format(what, tid, ffi.C.gettid()))
           file:close()
         end
         function thread_init(tid) note('init', tid) end
         function event(tid)
           if not noted then noted = note('event', tid) or true end
           if tid == 3 then ffi.C.poll(nil, 0, 60) else ffi.C.usleep(1000) end
         end
         function thread_done(tid) note('done', tid) end",
        path.display()
    )
}

#[test]
fn a_session_that_blocks_moves_to_a_thread_of_its_own() {
    for warmup_ms in [0, 500] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (ended, heard, tallies) = drive(&blocking(file.path()), 8, warmup_ms);
        assert_eq!((ended.how, ended.moved, ended.abandoned), (Ending::Done, 1, 0));
        assert!(heard.failures.is_empty(), "{:?}", heard.failures);
        let total = tallies.read();
        assert_eq!(total.sessions.iter().map(|share| share.events).sum::<u64>(), total.events);
        assert_eq!(total.latency.histogram.count(), total.events);
        assert_eq!(total.sessions.iter().map(|share| share.busy_ns).sum::<u64>(), {
            total.latency.histogram.sum_ns()
        });
        assert!(total.sessions.iter().all(|share| share.events > 0));
        assert!(total.latency.max_ns >= 60_000_000, "latencies are as they were");
        let mut lives = lives(file.path());
        let moved = lives.remove(&3).unwrap();
        let what: Vec<_> = moved.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(what, ["init", "event", "done", "init", "event", "done"]);
        let others: BTreeSet<_> = lives.values().flatten().map(|(_, thread)| *thread).collect();
        assert!(others.contains(&moved[0].1));
        assert!(moved[3..].iter().all(|(_, thread)| !others.contains(thread)), "{moved:?}");
        assert!(lives.values().all(|life| life.len() == 3), "{lives:?}");
    }
}

#[test]
fn a_session_that_works_stays_however_long() {
    let text = "function event(tid)
                  local start = dyno.now()
                  while dyno.now() < start + 0.06 do end
                end";
    let (ended, _, tallies) = drive(text, 4, 0);
    assert_eq!((ended.how, ended.moved), (Ending::Done, 0));
    assert!(tallies.read().sessions.iter().all(|share| share.events > 0));
}

#[test]
fn the_last_session_of_a_thread_stays_there() {
    let text = "local ffi = require('ffi')
                ffi.cdef 'int poll(void *, unsigned long, int);'
                function event() ffi.C.poll(nil, 0, 60) end";
    let (ended, _, tallies) = drive(text, 8, 0);
    let threads = tallies.threads.len() as u32;
    assert_eq!((ended.how, ended.moved), (Ending::Done, 8_u32.saturating_sub(threads)));
}

#[test]
fn a_state_without_memory_costs_no_other_states_figures() {
    let text = "function event(tid)
                  n = (n or 0) + 1
                  if tid == 0 and n > 5 then local t = {} while true do t[#t + 1] = {} end end
                  dyno.sleep(0.001)
                end";
    let (ended, heard, tallies) = drive(text, 4, 0);
    assert_eq!((ended.how, ended.abandoned), (Ending::Failed, 0));
    assert_eq!(heard.failures[0].1, "`thread_run' function failed: not enough memory");
    let total = tallies.read();
    assert_eq!(total.sessions[0].events, 5);
    assert!(total.sessions.iter().all(|share| share.events > 0));
    assert_eq!(total.latency.histogram.count(), total.events);
}
