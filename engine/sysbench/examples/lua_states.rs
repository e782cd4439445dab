//! Compares one LuaJIT state for all sessions of a thread with one per session: memory and time per
//! resume (docs/decisions/lua-states.md).
//!
//!     cargo run --release -p dyno-sysbench --example lua_states -- shared 4096
//!     cargo run --release -p dyno-sysbench --example lua_states -- own 4096
//!
//! In each event a session executes a prepared statement against a database that answers at once. The
//! sessions run in turn, as a load thread resumes them.

use dyno_core::driver::client::{Answer, Answers, Bind, Client, Nature};
use dyno_core::driver::{Cancel, Progress, WireProtocol};
use dyno_core::error::Result;
use dyno_sysbench::connection::Connection;
use dyno_sysbench::drive::Server;
use dyno_sysbench::lua::{Driver, Ignore, Setup, Source, Task, Worker};
use dyno_sysbench::options::Options;
use dyno_sysbench::pace::Pace;
use dyno_sysbench::rand::{Kind, Settings, Uniques};
use dyno_sysbench::session::{Outcome, Program, Scripts, Session, Step};
use dyno_sysbench::tally::Tallies;
use std::sync::Arc;
use std::time::Instant;

const SCRIPT: &str = "
function thread_init()
  con = sysbench.sql.driver():connect()
  stmt = con:prepare('SELECT c FROM sbtest1 WHERE id=?')
  id = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(id)
end
function event()
  id:set(sysbench.rand.default(1, 100000))
  stmt:execute()
end
";
const MEMORY_MAX_BYTES: usize = 1 << 34;
const ROUNDS: [(&str, usize); 3] = [("warm-up", 200), ("first", 500), ("second", 500)];

struct Instant1([Answer; 1]);

impl Answers for Instant1 {
    fn answers(&self) -> &[Answer] {
        &self.0
    }

    fn fetch(&self, _: usize, _: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        put(Some(b"1"));
        Ok(())
    }

    fn prepared(&self) -> (u32, u16) {
        (1, 1)
    }
}

impl WireProtocol for Instant1 {
    type Reply = ();

    fn connected(&mut self, _: bool, _: &mut Vec<u8>) {}

    fn tls_established(&mut self, _: &mut Vec<u8>) {}

    fn receive(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        Ok((0, Progress::More))
    }

    fn cancel(&self) -> Cancel {
        Cancel::Close
    }

    fn quit(&mut self, _: &mut Vec<u8>) {}
}

impl Client for Instant1 {
    fn query(&mut self, _: &[u8], _: &mut Vec<u8>) {}

    fn prepare(&mut self, _: &[u8], _: &mut Vec<u8>) {}

    fn execute(&mut self, _: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        out.push(values.len() as u8);
    }

    fn close(&mut self, _: u32, _: &mut Vec<u8>) -> bool {
        false
    }
}

fn client() -> Result<Nature> {
    let answer = Answer { fields: 1, rows: 1, ..Answer::default() };
    Ok(Nature::Wire(Box::new(Instant1([answer]))))
}

fn setup() -> Arc<Setup> {
    let rand = Settings {
        kind: Kind::Uniform,
        iterations: 12,
        special_percent: 1,
        special_hits_percent: 75,
        pareto_h: 0.2,
        zipfian_exp: 0.8,
        seed: 7,
    };
    let drivers = vec![Driver {
        name: "mysql",
        servers: vec![0],
        addresses: Vec::new(),
        ignore: Ignore::All,
        is_traced: false,
    }];
    Arc::new(Setup {
        options: Options::default(),
        drivers,
        servers: [Server { clients: Box::new(client), endpoint: None }].into(),
        rand,
        uniques: Arc::new(Uniques::new(7)),
        version: ["1.0.20".into(), "sysbench 1.0.20".into()],
        script_path: None,
        command: Some("run".into()),
        arguments: vec!["sysbench".into()],
        compat: "1.0",
    })
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn resume(worker: &mut Worker, session: &mut Session<'_>, outcome: Outcome) {
    match worker.resume(session, outcome) {
        Step::Wait(_) => {}
        step => panic!("session {}: {step:?}", session.number),
    }
    for connection in session.connections.iter_mut().flatten() {
        if let Connection::Wire(wired) = connection {
            wired.channel.output.clear();
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let is_shared = args.next().as_deref() != Some("own");
    let count: u32 = args.next().and_then(|count| count.parse().ok()).unwrap_or(4096);
    let source = Source { chunk: "=point".into(), text: SCRIPT.into(), ..Source::empty(&[]) };
    let setup = setup();
    let tallies = Tallies::new(count as usize, 1);
    let pace = Pace::new(0, None, 0.0);
    pace.starts(0, u64::MAX);
    let task = Task::from(&Program::Run);
    let empty_kib = resident_kib();
    let mut sessions: Vec<_> =
        (0..count).map(|number| Session::new(number, 0, &tallies, &pace)).collect();
    let began = Instant::now();
    let make = || Worker::new(&source, &setup, task.clone(), false, MEMORY_MAX_BYTES);
    let states = if is_shared { 1 } else { count };
    let mut workers: Vec<Worker> = (0..states).map(|_| make().expect("a state")).collect();
    let mut turn = |begins: bool| {
        for session in &mut sessions {
            let place = if is_shared { 0 } else { session.number as usize };
            let outcome = if begins { Outcome::Begin } else { Outcome::Come };
            resume(&mut workers[place], session, outcome);
        }
    };
    turn(true);
    // Connect, prepare, start.
    (0..3).for_each(|_| turn(false));
    println!(
        "{states} states, {count} sessions: begun in {:.2} s, {:.1} KiB a session",
        began.elapsed().as_secs_f64(),
        (resident_kib() - empty_kib) as f64 / f64::from(count)
    );
    for (name, rounds) in ROUNDS {
        let rounds = (rounds * 4096 / count as usize).max(1);
        let began = Instant::now();
        (0..rounds).for_each(|_| turn(false));
        println!(
            "{name}: {:.0} ns a resume, {:.1} KiB a session",
            began.elapsed().as_nanos() as f64 / (rounds as f64 * f64::from(count)),
            (resident_kib() - empty_kib) as f64 / f64::from(count)
        );
    }
}
