//! A run: the lines before it, the load, the reports, the exit code.

use crate::command::call::Call;
use crate::command::exit_code::{DONE, FAILED, FORCED};
use crate::command::header;
use crate::command::options::settings::Settings;
use crate::command::refusal::Refusal;
use crate::console::{self, Level};
use crate::drive::progress::{Observer, Progress};
use crate::drive::{self, Drive, Ended, Ending, Server, Times};
use crate::options::{Options, Value};
use crate::pace::{Pace, Rate};
use crate::report::json::Whole;
use crate::report::record::{Head, Record};
use crate::report::watch::{Hooks, Reports, Watch, on_console};
use crate::report::{Form, Kind};
use crate::session::{MakeScripts, Outcome, Program, Scripts, Session, Step, Wait};
use crate::tally::Tallies;
use std::sync::Arc;
use std::time::Duration;

/// The default of how long events may continue after the end of the run, at least. sysbench waits
/// without limit: one hung query suppresses the report.
const GRACE_MIN: Duration = Duration::from_secs(60);
/// The default of how long after the end servers are first probed.
const ASK_AFTER: Duration = Duration::from_secs(5);

/// The load of a run or command: sessions of a script or of a native test.
pub struct Work<'a> {
    /// The call.
    pub call: &'a Call,
    /// The test's name in messages.
    pub name: &'a str,
    /// All options with their values.
    pub options: &'a Options,
    /// The program of each session.
    pub program: Program,
    /// Creates the scripts of each load thread.
    pub make: Arc<MakeScripts>,
    /// The kind of test, as far as reports differ.
    pub kind: Kind,
    /// Additional lines to print before "Initializing worker threads...".
    pub heading: String,
    /// Maximum number of events; 0: no limit.
    pub events: u64,
    /// Whether a load thread drives many sessions.
    pub shares_threads: bool,
    /// The number of load threads.
    pub threads: usize,
    /// The servers that sessions connect to.
    pub servers: Arc<[Server]>,
}

/// Executes `run`: the lines before it, the load, its reports. Returns the exit code.
///
/// # Errors
/// The load cannot begin, or a result cannot be written.
pub fn run(work: &Work<'_>, hooks: &mut dyn Hooks) -> Result<i32, Refusal> {
    let settings = &work.call.settings;
    console::say(Level::Notice, &header::options(settings, work.options));
    if console::admits(Level::Notice) {
        console::print(&work.heading);
    }
    console::say(Level::Notice, "Initializing worker threads...\n");
    let drive = drive_of(work);
    let reports = reports(settings, work.kind);
    let form = reports.form.clone();
    let mut print = on_console;
    let record = record(work, &form, &drive.tallies)?;
    let watch = Watch::new(reports, Arc::clone(&drive.tallies), hooks, &mut print);
    let warmup = settings.warmup;
    let mut told = Told { watch, record, warmup, has_started: false, failure: None };
    let ended = drive::run(&drive, &mut told).map_err(|error| Refusal::fatal(error.to_string()))?;
    if !told.has_started {
        return Ok(not_started(&ended, settings));
    }
    tell_limit(&ended, work);
    let code = tell_end(&ended);
    if ended.moved > 1 {
        let moved = ended.moved;
        let text = format!("the scripts of {moved} threads have moved, since they block");
        console::say(Level::Warning, &text);
    }
    let Told { watch, record, failure, .. } = told;
    let unfinished = if let Ending::Forced { unfinished } = ended.how { unfinished } else { 0 };
    let (total, intervals) = watch.finish(ended.measured.1, unfinished);
    if let Some(path) = &settings.json {
        let failure = failure.as_deref();
        Whole { test: work.name, form: &form, total: &total, intervals: &intervals, failure }
            .write(path)
            .map_err(|error| Refusal::fatal(error.to_string()))?;
    }
    if let Some(record) = record {
        let cut = "the time was over, and events were not";
        let failure = failure.as_deref().or((code == FORCED).then_some(cut));
        record
            .finish(ended.measured.1, failure)
            .map_err(|error| Refusal::fatal(error.to_string()))?;
    }
    Ok(code)
}

/// Opens the record of the run, if one was requested.
fn record(work: &Work<'_>, form: &Form, tallies: &Arc<Tallies>) -> Result<Option<Record>, Refusal> {
    let Some(path) = &work.call.record else { return Ok(None) };
    let settings = &work.call.settings;
    let is_told = |name: &str| work.options.is_given(name) && !name.ends_with("password");
    let given = work.options.iter().filter(|(name, _)| is_told(name));
    let head = Head {
        test: work.name.to_owned(),
        kind: work.kind,
        compat: header::number(settings.compat).to_owned(),
        rate_per_s: settings.rate_per_s,
        options: given.map(|(name, value)| (name.to_owned(), told_value(value))).collect(),
    };
    Record::create(path, head, form, Arc::clone(tallies))
        .map(Some)
        .map_err(|error| Refusal::fatal(error.to_string()))
}

fn told_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Double(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        Value::List(values) => values.join(",").into(),
    }
}

/// Executes a command in all sessions. Returns the exit code.
///
/// # Errors
/// The sessions cannot begin.
pub fn command(work: &Work<'_>) -> Result<i32, Refusal> {
    console::say(Level::Notice, "Initializing worker threads...\n");
    let ended = drive::run(&drive_of(work), &mut Failures)
        .map_err(|error| Refusal::fatal(error.to_string()))?;
    Ok(if ended.how == Ending::Done { DONE } else { FAILED })
}

fn drive_of(work: &Work<'_>) -> Drive {
    let settings = &work.call.settings;
    let rate = settings.rate_per_s.map(|per_s| Rate { per_s, seed: settings.random.seed });
    let grace = GRACE_MIN.max(settings.time.unwrap_or_default());
    Drive {
        program: work.program.clone(),
        sessions: settings.threads,
        shares_threads: work.shares_threads,
        threads: work.threads,
        servers: Arc::clone(&work.servers),
        tallies: Arc::new(Tallies::new(settings.threads as usize, work.threads)),
        pace: Arc::new(Pace::new(work.events, rate, settings.warmup.as_secs_f64())),
        make: match console::admits(Level::Debug) {
            true => told(Arc::clone(&work.make)),
            false => Arc::clone(&work.make),
        },
        times: Times {
            warmup: settings.warmup,
            length: settings.time,
            grace: settings.forced.unwrap_or(grace),
            ask_after: settings.forced.map_or(ASK_AFTER, |_| Duration::MAX),
            start_max: settings.start_max,
        },
        cpus: Vec::new(),
    }
}

fn reports(settings: &Settings, kind: Kind) -> Reports {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Reports {
        form: Form {
            compat: settings.compat,
            kind,
            percentiles: settings.percentiles.clone(),
            histogram: settings.histogram,
            rated: settings.rate_per_s.is_some(),
        },
        interval_ns: settings.interval.map_or(0, nanos),
        checkpoints_ns: settings.checkpoints.iter().copied().map(nanos).collect(),
        keeps: settings.json.is_some(),
    }
}

fn not_started(ended: &Ended, settings: &Settings) -> i32 {
    let text = match ended.how {
        Ending::NotStarted { missing } => format!(
            "Worker threads failed to initialize within {} seconds! ({missing} of {} did not)",
            settings.start_max.as_secs(),
            settings.threads
        ),
        _ => "Thread initialization failed!".to_owned(),
    };
    console::say(Level::Fatal, &text);
    FAILED
}

/// Reports which limit has ended the run: once, whereas sysbench does so for each thread.
fn tell_limit(ended: &Ended, work: &Work<'_>) {
    let (begin_ns, end_ns) = ended.measured;
    let passed = Duration::from_nanos(end_ns.saturating_sub(begin_ns));
    if work.call.settings.time.is_some_and(|time| passed >= time) {
        console::say(Level::Info, "Time limit exceeded, exiting...");
    } else if work.events > 0 && ended.how == Ending::Done {
        console::say(Level::Info, "Event limit exceeded, exiting...");
    }
    console::say(Level::Info, "Done.\n");
}

/// Reports how the run ended, before its report; returns the exit code.
fn tell_end(ended: &Ended) -> i32 {
    match ended.how {
        Ending::Done => DONE,
        Ending::Forced { unfinished } => {
            console::say(Level::Fatal, "The --max-time limit has expired, forcing shutdown...\n");
            let text =
                format!("Number of unfinished transactions on forced shutdown: {unfinished}\n");
            console::say(Level::Notice, &text);
            FORCED
        }
        Ending::NotStarted { .. } | Ending::Failed => FAILED,
    }
}

/// Prints the reports, and the messages around them.
struct Told<'a> {
    watch: Watch<'a>,
    record: Option<Record>,
    warmup: Duration,
    has_started: bool,
    failure: Option<String>,
}

impl Observer for Told<'_> {
    fn started(&mut self, at: &Progress) {
        self.has_started = true;
        console::say(Level::Notice, "Threads started!\n");
        if !self.warmup.is_zero() {
            let text = format!("Warming up for {} seconds...\n", self.warmup.as_secs());
            console::say(Level::Notice, &text);
        }
        self.watch.started(at);
    }

    fn measuring(&mut self, at: &Progress) -> u64 {
        let record_ns = self.record.as_mut().map_or(u64::MAX, |record| record.measuring(at));
        self.watch.measuring(at).min(record_ns)
    }

    fn tick(&mut self, at: &Progress) -> u64 {
        let record_ns = self.record.as_mut().map_or(u64::MAX, |record| record.tick(at));
        self.watch.tick(at).min(record_ns)
    }

    fn failed(&mut self, number: u32, message: &str) {
        self.failure.get_or_insert_with(|| message.to_owned());
        self.watch.failed(number, message);
    }
}

/// Wraps scripts so that sessions log when they begin and when they have begun.
fn told(make: Arc<MakeScripts>) -> Arc<MakeScripts> {
    Arc::new(move |thread| Ok(Box::new(Beginnings(make(thread)?))))
}

struct Beginnings(Box<dyn Scripts>);

impl Scripts for Beginnings {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        let say = |number: u32, word: &str| {
            console::say(Level::Debug, &format!("Worker thread (#{number}) {word}"));
        };
        if matches!(outcome, Outcome::Begin) {
            say(session.number, "started");
        }
        let step = self.0.resume(session, outcome);
        if matches!(step, Step::Wait(Wait::Start)) {
            say(session.number, "initialized");
        }
        step
    }
}

/// Reports failures only.
struct Failures;

impl Observer for Failures {
    fn failed(&mut self, _number: u32, message: &str) {
        console::say(Level::Fatal, message);
    }
}
