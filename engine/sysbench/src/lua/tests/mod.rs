//! Scripts against a database that answers at once: whatever a session waits for has come.

mod codes;
mod moving;
mod places;
mod symbols;

use super::*;
use crate::connection::Connection;
use crate::drive::Server;
use crate::options::Value;
use crate::pace::Pace;
use crate::rand::Uniques;
use crate::session::{Outcome, Program, Scripts, Session, Step, Wait};
use crate::tally::Tallies;
use dyno_core::driver::client::{Answer, Answers, Bind, Client, Nature};
use dyno_core::driver::{Cancel, Progress, ServerError, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Address;
use std::sync::Arc;

/// A server whose answers are told by the statement: `rows 2`, `change 3`, `refuse 1213`, `lose`,
/// several of them separated by `;`; any other changes nothing.
#[derive(Default)]
struct Fake {
    answers: Vec<Answer>,
    prepared: Vec<String>,
    bound: String,
}

fn answer(statement: &str) -> Answer {
    let mut words = statement.split_whitespace();
    let word = words.next().unwrap_or_default();
    let number = words.next().and_then(|number| number.parse::<u32>().ok()).unwrap_or_default();
    match word {
        "rows" => Answer { fields: 2, rows: u64::from(number), ..Answer::default() },
        "change" => Answer { affected: u64::from(number), ..Answer::default() },
        "refuse" => {
            let refused = ServerError {
                number,
                state: "40001".into(),
                message: "no".into(),
                ..ServerError::default()
            };
            Answer { error: Some(Box::new(refused)), ..Answer::default() }
        }
        _ => Answer::default(),
    }
}

impl Answers for Fake {
    fn answers(&self) -> &[Answer] {
        &self.answers
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        put(Some(format!("{answer}.{row}{}", self.bound).as_bytes()));
        put(None);
        Ok(())
    }

    fn prepared(&self) -> (u32, u16) {
        let parameters = self.prepared.last().map_or(0, |sql| sql.matches('?').count());
        (self.prepared.len() as u32, parameters as u16)
    }
}

impl WireProtocol for Fake {
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

impl Client for Fake {
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.bound.clear();
        self.answers = std::str::from_utf8(sql).unwrap().split(';').map(answer).collect();
        out.extend_from_slice(sql);
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.query(sql, out);
        self.prepared.push(String::from_utf8(sql.to_vec()).unwrap());
    }

    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        let sql = self.prepared[statement as usize - 1].clone();
        self.query(sql.as_bytes(), out);
        self.bound = format!(" {values:?}");
    }

    fn close(&mut self, _: u32, _: &mut Vec<u8>) -> bool {
        false
    }
}

fn client() -> Result<Nature> {
    Ok(Nature::Wire(Box::new(Fake::default())))
}

fn setup() -> Arc<Setup> {
    let mut options = crate::options::Options::default();
    options.set("table-size", Value::Int(10), true);
    options.set("names", Value::List(vec!["a".into(), "b".into()]), true);
    let rand = crate::rand::Settings {
        kind: crate::rand::Kind::Uniform,
        iterations: 12,
        special_percent: 1,
        special_hits_percent: 75,
        pareto_h: 0.2,
        zipfian_exp: 0.8,
        seed: 7,
    };
    Arc::new(Setup {
        options,
        drivers: vec![Driver {
            name: "mysql",
            servers: vec![0],
            addresses: vec![Address::Tcp { host: "db1".into(), port: 3307 }],
            ignore: Ignore::new(&["1213".into(), "2013".into()]),
            is_traced: true,
        }],
        servers: [Server { clients: Box::new(client), endpoint: None }].into(),
        rand,
        uniques: Arc::new(Uniques::new(7)),
        version: ["1.0.20".into(), "sysbench 1.0.20".into()],
        script_path: Some("own.lua".into()),
        command: Some("run".into()),
        arguments: vec!["sysbench".into(), "run".into()],
        compat: "1.0",
    })
}

fn source(text: &str) -> Source {
    Source { chunk: "@own.lua".into(), text: text.into(), ..Source::empty(&[("inner", INNER)]) }
}

const INNER: &str = "count = (count or 0) + 1 return { name = ..., count = count }";
const MEMORY: usize = 64 << 20;

/// Sessions of one worker, and what became of them.
struct Ran {
    tallies: Tallies,
    steps: Vec<Step>,
    waits: Vec<Wait>,
}

impl Ran {
    fn failure(&self) -> &str {
        match &self.steps[0] {
            Step::Failed(message) => message,
            step => panic!("{step:?}"),
        }
    }

    fn assert_ended(&self) {
        for step in &self.steps {
            assert!(matches!(step, Step::Ended), "{step:?}");
        }
    }
}

/// Runs so many sessions to their ends, a turn each, of at most `events` events together.
fn run(text: &str, sessions: u32, events: u64) -> Ran {
    task(text, Task::from(&Program::Run), sessions, events)
}

fn task(text: &str, task: Task, count: u32, events: u64) -> Ran {
    let setup = setup();
    let mut worker = Worker::new(&source(text), &setup, task, false, MEMORY).unwrap();
    let tallies = Tallies::new(count as usize, 1);
    let pace = Pace::new(events, None, 0.0);
    pace.starts(0, u64::MAX);
    let mut ran = Ran { tallies: Tallies::new(0, 0), steps: Vec::new(), waits: Vec::new() };
    {
        let mut sessions: Vec<_> =
            (0..count).map(|number| Some(Session::new(number, 0, &tallies, &pace))).collect();
        let mut waits: Vec<Option<Wait>> = vec![None; count as usize];
        while sessions.iter().any(Option::is_some) {
            for (number, place) in sessions.iter_mut().enumerate() {
                let Some(session) = place else { continue };
                let outcome = match waits[number] {
                    None => Outcome::Begin,
                    Some(wait) => outcome(session, wait),
                };
                match worker.resume(session, outcome) {
                    Step::Wait(wait) => {
                        ran.waits.push(wait);
                        waits[number] = Some(wait);
                    }
                    step => {
                        ran.steps.push(step);
                        *place = None;
                    }
                }
            }
        }
    }
    ran.tallies = tallies;
    ran
}

fn outcome(session: &mut Session<'_>, wait: Wait) -> Outcome {
    if let Wait::Answer(place) = wait
        && let Some(Connection::Wire(wired)) = &mut session.connections[place]
    {
        let sent = std::mem::take(&mut wired.channel.output);
        if sent.starts_with(b"lose") {
            return Outcome::Lost(Error::new(Kind::Connection, "it went away"));
        }
    }
    Outcome::Come
}

#[test]
fn a_run_is_thread_init_then_events_then_thread_done() {
    let ran = run(
        "local seen = ''
         function thread_init(tid) seen = seen .. 'i' .. tid end
         function event(tid) seen = seen .. 'e' .. tid end
         function thread_done(tid) error(seen .. 'd' .. tid, 0) end",
        1,
        2,
    );
    assert_eq!(ran.failure(), "`thread_done' function failed: i0e0e0d0");
    assert_eq!(ran.waits, [Wait::Start]);
    assert_eq!(ran.tallies.sessions[0].events.get(), 2);
}

#[test]
fn an_event_that_returns_something_is_the_last() {
    for (returned, events) in [("0", 1), ("true", 1), ("{}", 1), ("false", 3), ("nil", 3)] {
        let ran = run(&format!("function event() return {returned} end"), 1, 3);
        ran.assert_ended();
        assert_eq!(ran.tallies.sessions[0].events.get(), events, "{returned}");
    }
}

#[test]
fn statements_are_counted_by_what_they_did() {
    let ran = run(
        "function thread_init() con = dyno.connect('mysql') end
         function event()
           local fields, rows, affected = dyno.query(con, 'rows 2; change 3; begin')
           assert(fields == 2 and rows == 2 and affected == 0)
           local a, b = dyno.fetch(con, 1)
           assert(a == '0.1' and b == nil)
           assert(select('#', dyno.fetch(con, 2)) == 0)
           assert(dyno.more_results(con))
           fields, rows, affected = dyno.next_result(con)
           assert(fields == 0 and affected == 3)
           assert(dyno.next_result(con) == 0)
           assert(not dyno.more_results(con) and select('#', dyno.next_result(con)) == 0)
         end",
        1,
        2,
    );
    ran.assert_ended();
    let tally = &ran.tallies.sessions[0];
    assert_eq!((tally.reads.get(), tally.writes.get(), tally.others.get()), (2, 2, 2));
}

#[test]
fn values_are_bound_by_their_types() {
    let ran = run(
        "local ffi = require('ffi')
         function event()
           local con = dyno.connect('')
           local stmt, parameters = dyno.prepare(con, 'rows 1 ? ? ? ? ? ?')
           assert(parameters == 6)
           dyno.execute(con, stmt, 6, 1, 0.5, 'x', true, nil, 9007199254740993LL)
           error((dyno.fetch(con, 0)), 0)
         end",
        1,
        1,
    );
    let bound =
        "0.0 [Int(1), Double(0.5), Text([120]), Int(1), Null, Int(9007199254740993)]".to_owned();
    assert_eq!(ran.failure(), format!("`thread_run' function failed: {bound}"));
}

#[test]
fn an_ignorable_refusal_begins_the_event_again() {
    let ran = run(
        "sysbench.hooks.before_restart_event = function(err) restarts = (restarts or 0) + err.errdesc end
         function thread_init() con = dyno.connect('mysql') end
         function event()
           tries = (tries or 0) + 1
           local ok, err = dyno.query(con, tries < 3 and 'refuse 1213' or 'change 1')
           if not ok then
             assert(err.kind == 'ignorable' and err.number == 1213 and err.state == '40001')
             error({ errcode = sysbench.error.RESTART_EVENT, errdesc = 5 })
           end
           assert(restarts == 10)
         end",
        1,
        1,
    );
    ran.assert_ended();
    let tally = &ran.tallies.sessions[0];
    assert_eq!((tally.errors.get(), tally.events.get(), tally.writes.get()), (2, 1, 1));
}

#[test]
fn other_refusals_and_errors_end_the_session_with_their_place() {
    let ran = run(
        "function event()
           local ok, err = dyno.query(dyno.connect('mysql'), 'refuse 1064')
           assert(err.kind == 'fatal' and not err.lost)
           error('syntax')
         end",
        1,
        1,
    );
    assert_eq!(ran.failure(), "`thread_run' function failed: own.lua:4: syntax");
    assert_eq!(run("x()", 1, 1).failure(), "own.lua:1: attempt to call global 'x' (a nil value)");
    assert_eq!(
        run("function event() error({}) end", 1, 1).failure(),
        "`thread_run' function failed: (not a string)"
    );
}

#[test]
fn a_lost_connection_is_made_anew_if_that_error_is_ignorable() {
    let ran = run(
        "function event()
           local con = dyno.connect('mysql')
           local stmt = dyno.prepare(con, 'change 1')
           local ok, err = dyno.query(con, 'lose')
           assert(err.kind == 'ignorable' and err.number == 2013 and err.lost)
           ok, err = dyno.execute(con, stmt, 0)
           assert(not ok and err.message:find('gone'))
           dyno.close(con, stmt)
           assert(dyno.query(con, 'change 1'))
           assert(dyno.reconnect(con))
           dyno.disconnect(con)
           ok, err = dyno.query(con, 'change 1')
           assert(not ok and err.message:find('closed'))
           assert(dyno.connect('mysql') ~= con, 'the number of a closed one')
         end",
        1,
        1,
    );
    ran.assert_ended();
    let tally = &ran.tallies.sessions[0];
    assert_eq!((tally.errors.get(), tally.reconnects.get()), (1, 2));
}

#[test]
fn sessions_share_code_but_no_globals_and_no_modules() {
    let ran = run(
        "local inner = require('inner')
         assert(inner.name == 'inner' and inner.count == 1 and count == 1)
         assert(require('inner') == inner and package.loaded.inner == inner)
         mine = dyno.tid()
         function event(tid)
           assert(mine == tid and _G.mine == tid and getfenv(0).mine == tid)
           assert(loadstring('return mine')() == tid)
           dyno.sleep(0)
           assert(mine == tid)
         end",
        3,
        9,
    );
    ran.assert_ended();
    assert_eq!(ran.tallies.sessions.iter().map(|tally| tally.events.get()).sum::<u64>(), 9);
}

#[test]
fn a_session_that_never_waits_lets_others_have_their_turn() {
    let ran = run(
        "function event() local start = dyno.now() while dyno.now() < start + 0.006 do end end",
        2,
        6,
    );
    ran.assert_ended();
    assert!(ran.tallies.sessions.iter().all(|tally| tally.events.get() > 0));
    assert!(ran.waits.contains(&Wait::Until(0)));
}

#[test]
fn coroutines_of_scripts_wait_like_scripts() {
    let ran = run(
        "function event()
           local con = dyno.connect('mysql')
           local step = coroutine.wrap(function(a)
             local b = coroutine.yield((dyno.query(con, 'rows 1')) + a)
             return dyno.fetch(con, 0) .. b
           end)
           assert(step(1) == 3)
           assert(step('x') == '0.0x')
         end",
        1,
        1,
    );
    ran.assert_ended();
}

#[test]
fn scripts_may_wait_where_lua_may_yield_and_learn_where_not() {
    let ran = run(
        "function event()
           local con = dyno.connect('mysql')
           local ok = pcall(function() assert(dyno.query(con, 'change 1')) end)
           assert(ok)
           local meta = setmetatable({}, { __index = function() return dyno.query(con, 'rows 1') end })
           assert(meta.x == 2)
           local result, err
           string.gsub('x', '.', function() result, err = dyno.query(con, 'change 1') end)
           assert(result == nil and err.message:find('callback'))
           assert(dyno.query(con, 'change 1') == 0)
         end",
        1,
        1,
    );
    ran.assert_ended();
}

#[test]
fn options_arrive_by_type() {
    let ran = run(
        "assert(sysbench.opt.table_size == 10 and sysbench.opt.names[2] == 'b')
         assert(dyno.version == '1.0.20' and dyno.script_path() == 'own.lua' and dyno.argv()[1] == 'run')
         assert(dyno.driver('') == 'mysql' and dyno.drivers()[1] == 'mysql')
         local none, message = dyno.driver('none')
         assert(none == nil and message == \"invalid database driver name: 'none'\")
         function event() end",
        1,
        1,
    );
    ran.assert_ended();
}

#[test]
fn commands_are_found_under_their_names() {
    let command = |name: &str| Task::from(&Program::Command(name.into()));
    let text = "function prepare() dyno.query(dyno.connect(''), 'change 1') end
                sysbench.cmdline.commands = { both = { function() nofun() end, 1 } }";
    let ran = task(text, command("prepare"), 2, 0);
    ran.assert_ended();
    assert_eq!(ran.tallies.sessions[1].writes.get(), 1);
    assert!(task(text, command("both"), 1, 0).failure().starts_with(
        "`sysbench.cmdline.call_command' function failed: own.lua:2: attempt to call global 'nofun'"
    ));
    assert!(task(text, command("none"), 1, 0).failure().contains("no such command"));
}

#[test]
fn a_script_that_takes_all_memory_fails_alone() {
    let ran = run("function event() local t = {} while true do t[#t + 1] = {} end end", 1, 1);
    assert_eq!(ran.failure(), "`thread_run' function failed: not enough memory");
}

#[test]
fn what_is_no_chunk_by_itself_is_refused_as_such() {
    assert!(
        run("end function x()", 1, 1)
            .failure()
            .starts_with("own.lua:1: '<eof>' expected near 'end'")
    );
    assert!(run("foo\n", 1, 1).failure().starts_with("own.lua:2: '=' expected near '<eof>'"));
}

#[test]
fn traces_of_one_session_serve_the_others() {
    let text = "local util = require('jit.util')
         local function many(n) local sum = 0 for i = 1, n do sum = sum + i % 7 end return sum end
         function event() for i = 1, 20 do many(i) end dyno.sleep(0) end
         function thread_done(tid)
           if tid < 255 then return end
           local traces = 0
           for i = 1, 4000 do if util.traceinfo(i) then traces = traces + 1 end end
           error(tostring(traces), 0)
         end";
    let ran = run(text, 256, 256 * 64);
    let Some(Step::Failed(message)) = ran.steps.last() else { panic!("it ends with its count") };
    let traces: u32 = message.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((1..64).contains(&traces), "{traces} traces for 256 sessions");
}
