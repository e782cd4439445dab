//! A line protocol as a `Client` (`hi`, then `r` answered by `ok` or `big N`, each after any number of
//! `more`), and scripts in plain Rust over it, for tests of load threads.

use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::client::{Answer, Answers, Bind, Client, Nature};
use dyno_core::driver::{self, Cancel, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Protocol, Secret, Target, Tls};
use dyno_generator::transport::endpoint::Endpoint;
use dyno_sysbench::connection::{Connection, Wired};
use dyno_sysbench::drive::progress::{Observer, Progress};
use dyno_sysbench::drive::{Drive, Ended, Server, Times, run};
use dyno_sysbench::pace::{Next, Pace, Rate};
use dyno_sysbench::session::{MakeScripts, Outcome, Program, Scripts, Session, Step, Wait};
use dyno_sysbench::tally::{Sort, Tallies};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn client() -> Result<Nature> {
    Ok(Nature::Wire(Box::new(ToyClient::default())))
}

#[derive(Default)]
pub struct ToyClient {
    greeted: bool,
    answers: Vec<Answer>,
}

impl Answers for ToyClient {
    fn answers(&self) -> &[Answer] {
        &self.answers
    }
    fn fetch(&self, _: usize, _: u64, _: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        Ok(())
    }
    fn prepared(&self) -> (u32, u16) {
        (0, 0)
    }
}

impl WireProtocol for ToyClient {
    type Reply = ();

    fn connected(&mut self, _secure: bool, _out: &mut Vec<u8>) {}

    fn tls_established(&mut self, _out: &mut Vec<u8>) {}

    fn receive(
        &mut self,
        input: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<(usize, driver::Progress<()>)> {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            return Ok((0, driver::Progress::More));
        };
        let line = String::from_utf8_lossy(&input[..end]).into_owned();
        let words: Vec<&str> = line.split(' ').collect();
        let rows = match words.as_slice() {
            ["hi"] if !self.greeted => {
                self.greeted = true;
                return Ok((end + 1, driver::Progress::Ready));
            }
            ["more", ..] => return Ok((end + 1, driver::Progress::More)),
            ["ok"] => (1, end + 1),
            ["big", bytes] => (2, end + 1 + bytes.parse::<usize>().unwrap_or(0)),
            _ => return Err(Error::new(Kind::Protocol, format!("toy: unknown line {line:?}"))),
        };
        if input.len() < rows.1 {
            return Ok((0, driver::Progress::More));
        }
        assert!(input[end + 1..rows.1].iter().all(|&byte| byte == b'x'));
        self.answers = vec![Answer { fields: 1, rows: rows.0, ..Answer::default() }];
        Ok((rows.1, driver::Progress::Reply(())))
    }

    fn cancel(&self) -> Cancel {
        Cancel::Packet(b"cancel\n".to_vec())
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"quit\n");
    }
}

impl Client for ToyClient {
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(sql);
        out.push(b'\n');
    }

    fn prepare(&mut self, _: &[u8], _: &mut Vec<u8>) {}

    fn execute(&mut self, _: u32, _: &[Bind<'_>], _: &mut Vec<u8>) {}

    fn close(&mut self, _: u32, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// What the scripts of a test do in addition to events of one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habits {
    /// Connections per session, used in turn.
    pub connections: usize,
    /// Whether a lost connection is reopened; otherwise the script fails.
    pub reconnects: bool,
    /// Events are pauses of this many milliseconds, without connections.
    pub pause_ms: Option<u64>,
    /// Session 0 fails after this many events.
    pub fails_after: Option<u64>,
    /// Session 0 does not return from its first event until the test sets this.
    pub spins: Option<&'static std::sync::atomic::AtomicBool>,
}

/// Begin and end of the completed events of all sessions, ns.
pub type Log = Arc<Mutex<Vec<(u64, u64)>>>;

struct Fake {
    habits: Habits,
    at: HashMap<u32, At>,
    log: Log,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Connecting(usize),
    Start,
    Asks(u64),
    Answer(u64),
}

impl Fake {
    fn connect(&mut self, session: &mut Session<'_>, place: usize) -> Step {
        if place == self.habits.connections {
            self.at.insert(session.number, At::Start);
            return Step::Wait(Wait::Start);
        }
        let wired = Wired::new(Box::new(ToyClient::default()), 0);
        session.connections.push(Some(Connection::Wire(Box::new(wired))));
        self.at.insert(session.number, At::Connecting(place));
        Step::Wait(Wait::Connect(place))
    }

    fn next(&mut self, session: &mut Session<'_>, events: u64) -> Step {
        if session.number == 0 && self.habits.fails_after == Some(events) {
            return Step::Failed("as asked".to_owned());
        }
        self.at.insert(session.number, At::Asks(events));
        let now_ns = MonotonicClock.now_ns();
        match session.next_event(now_ns) {
            Next::Go { due_ns } => assert!(due_ns <= now_ns),
            Next::Wait { until_ns } => return Step::Wait(Wait::Until(until_ns)),
            Next::Stop => return Step::Ended,
        }
        session.begin_event(now_ns);
        if session.number == 0
            && let Some(may_end) = self.habits.spins
        {
            while !may_end.load(std::sync::atomic::Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.at.insert(session.number, At::Answer(events));
        match self.habits.pause_ms {
            Some(0) => Step::Wait(Wait::Until(0)),
            Some(ms) => Step::Wait(Wait::Until(now_ns + ms * 1_000_000)),
            None => self.request(session, events),
        }
    }

    fn request(&self, session: &mut Session<'_>, events: u64) -> Step {
        let place = (events % self.habits.connections as u64) as usize;
        let Some(Some(Connection::Wire(wired))) = session.connections.get_mut(place) else {
            panic!("connection {place} is gone")
        };
        wired.client.query(b"r", &mut wired.channel.output);
        Step::Wait(Wait::Answer(place))
    }
}

impl Scripts for Fake {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        let at = self.at.get(&session.number).copied();
        if let Outcome::Lost(error) = outcome {
            return match at {
                Some(At::Answer(events)) if self.habits.reconnects => {
                    session.leave_event();
                    session.tally.reconnects.add(1);
                    self.at.insert(session.number, At::Asks(events));
                    let place = (events % self.habits.connections as u64) as usize;
                    let wired = Wired::new(Box::new(ToyClient::default()), 0);
                    session.connections[place] = Some(Connection::Wire(Box::new(wired)));
                    Step::Wait(Wait::Connect(place))
                }
                _ => Step::Failed(error.to_string()),
            };
        }
        match at {
            None => self.connect(session, 0),
            Some(At::Connecting(place)) => self.connect(session, place + 1),
            Some(At::Start) => self.next(session, 0),
            Some(At::Asks(events)) => self.next(session, events),
            Some(At::Answer(events)) => {
                session.tally.statement(Sort::Read);
                let (began_ns, now_ns) = (session.began_ns, MonotonicClock.now_ns());
                session.end_event(now_ns);
                self.log.lock().unwrap().push((began_ns, now_ns));
                self.next(session, events + 1)
            }
        }
    }
}

/// Settings of a run.
pub struct Trial {
    pub port: u16,
    pub sessions: u32,
    pub program: Program,
    pub shares_threads: bool,
    /// 0: the default number.
    pub threads: u32,
    pub events: u64,
    pub rate: Option<Rate>,
    pub times: Times,
    pub habits: Habits,
}

impl Trial {
    /// Three sessions for 0.3 s.
    pub fn new(port: u16) -> Self {
        let times = Times {
            warmup: Duration::ZERO,
            length: Some(Duration::from_millis(300)),
            grace: Duration::from_secs(10),
            ask_after: Duration::MAX,
            start_max: Duration::from_secs(30),
        };
        let habits = Habits { connections: 1, ..Habits::default() };
        let (sessions, shares_threads, threads, events, rate) = (3, true, 0, 0, None);
        let program = Program::Run;
        Self { port, sessions, program, shares_threads, threads, events, rate, times, habits }
    }

    pub fn run(self) -> Done {
        let cpus = [];
        let threads = Drive::threads_for(
            &self.program,
            self.sessions,
            self.shares_threads,
            (self.threads, &cpus),
            &[],
        );
        let tallies = Arc::new(Tallies::new(self.sessions as usize, threads));
        let (log, habits) = (Log::default(), self.habits);
        let shared_log = Arc::clone(&log);
        let make: Arc<MakeScripts> = Arc::new(move |_| {
            let (at, log) = (HashMap::new(), Arc::clone(&shared_log));
            Ok(Box::new(Fake { habits, at, log }) as Box<dyn Scripts>)
        });
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: self.port };
        let endpoint = Some(Endpoint::resolve(&target(address)).unwrap());
        let warmup_s = self.times.warmup.as_secs_f64();
        let drive = Drive {
            program: self.program,
            sessions: self.sessions,
            shares_threads: self.shares_threads,
            threads,
            servers: Arc::new([Server { clients: Box::new(client), endpoint }]),
            tallies: Arc::clone(&tallies),
            pace: Arc::new(Pace::new(self.events, self.rate, warmup_s)),
            make,
            times: self.times,
            cpus: cpus.to_vec(),
        };
        let mut heard = Heard::default();
        let ended = run(&drive, &mut heard).unwrap();
        Done { ended, tallies, heard, log }
    }
}

fn target(address: Address) -> Target {
    Target {
        driver: "toy".to_owned(),
        address,
        user: String::new(),
        password: Secret::default(),
        database: String::new(),
        protocol: Protocol::default(),
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    }
}

/// The calls that an observer received.
#[derive(Default)]
pub struct Heard {
    pub started: Option<Progress>,
    pub measuring: Option<Progress>,
    pub ticks: Vec<Progress>,
    pub failures: Vec<(u32, String)>,
}

impl Observer for Heard {
    fn started(&mut self, at: &Progress) {
        assert!(self.started.replace(*at).is_none());
    }
    fn measuring(&mut self, at: &Progress) -> u64 {
        assert!(self.started.is_some() && self.measuring.replace(*at).is_none());
        at.now_ns + 10_000_000
    }
    fn tick(&mut self, at: &Progress) -> u64 {
        self.ticks.push(*at);
        at.now_ns + 10_000_000
    }
    fn failed(&mut self, number: u32, message: &str) {
        self.failures.push((number, message.to_owned()));
    }
}

/// A run that has ended.
pub struct Done {
    pub ended: Ended,
    pub tallies: Arc<Tallies>,
    pub heard: Heard,
    pub log: Log,
}

impl Done {
    pub fn events(&self) -> u64 {
        self.tallies.read().events
    }
}
