//! A script as the command line uses it: its declarations, its functions that run once, and the
//! creation of the scripts of load threads.

use crate::lua::declared;
use crate::lua::main_session;
use crate::lua::setup::Setup;
use crate::lua::source::Source;
use crate::lua::worker::{Task, Worker};
use crate::options::Declared;
use crate::pace::Pace;
use crate::report::hooks::Row;
use crate::report::watch::Hooks;
use crate::session::{MakeScripts, Outcome, Program, Scripts, Session, Step};
use crate::tally::Tallies;
use std::ffi::CStr;
use std::sync::Arc;

/// Minimum memory limit of a state.
const MEMORY_MIN_BYTES: usize = 256 << 20;
/// Maximum memory limit of a state: the most that LuaJIT could once address.
const MEMORY_MAX_BYTES: usize = 2 << 30;

/// A custom command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The command's name.
    pub name: String,
    /// Whether all sessions run the command.
    pub is_parallel: bool,
}

/// A script whose chunk has run once, in the main session. That session continues for `init`, `done`,
/// commands that run once, and the report's hooks, and keeps its connections.
pub struct Script {
    source: Arc<Source>,
    setup: Arc<Setup>,
    worker: Worker,
    session: Session<'static>,
}

/// An error's text, to print after `FATAL: `.
pub type Message = String;

impl Script {
    /// Runs the chunk. `setup` has the options that are known before the script declares its own.
    ///
    /// # Errors
    /// An error of the script.
    pub fn load(source: Source, setup: Setup) -> Result<Self, Message> {
        let (source, setup) = (Arc::new(source), Arc::new(setup));
        let worker = Worker::new(&source, &setup, task(c"load", ""), true, memory_max_bytes(1))
            .map_err(|error| error.to_string())?;
        // There is one script per process: the tallies of the main session live as long as the process.
        let tallies: &'static Tallies = Box::leak(Box::new(Tallies::new(1, 1)));
        let pace: &'static Pace = Box::leak(Box::new(Pace::new(0, None, 0.0)));
        let session = Session::new(0, 0, tallies, pace);
        let mut script = Self { source, setup, worker, session };
        script.go(task(c"load", ""))?;
        Ok(script)
    }

    /// Returns the options that the script declares, by name.
    ///
    /// # Errors
    /// An invalid `sysbench.cmdline.options`.
    pub fn options(&mut self) -> Result<Vec<Declared>, Message> {
        declared::options(&self.worker.ask(c"options", "")?)
    }

    /// Returns the script's custom commands, by name.
    ///
    /// # Errors
    /// An invalid `sysbench.cmdline.commands`.
    pub fn commands(&mut self) -> Result<Vec<Command>, Message> {
        let words = self.worker.ask(c"commands", "")?;
        let command =
            |pair: &[String]| Command { name: pair[0].clone(), is_parallel: pair[1] == "parallel" };
        Ok(words.chunks_exact(2).map(command).collect())
    }

    /// Whether the script has a global function of this name.
    pub fn has(&mut self, name: &str) -> bool {
        self.worker.ask(c"has", name).is_ok_and(|words| !words.is_empty())
    }

    /// Returns the obstacle to a run, if any.
    pub fn obstacle(&mut self) -> Option<Message> {
        let runs = self.has("event") || self.has("thread_run");
        let path = self.source.chunk.trim_start_matches(['@', '=']);
        (!runs).then(|| format!("cannot find the event() function in {path}"))
    }

    /// Sets the final setup, with all options.
    ///
    /// # Errors
    /// An error of the script.
    pub fn configure(&mut self, setup: Setup) -> Result<(), Message> {
        self.setup = Arc::new(setup);
        self.worker.set_setup(&self.setup);
        self.go(task(c"configure", ""))
    }

    /// Calls the global function `name`, if it exists: `init`, `done`.
    ///
    /// # Errors
    /// An error of the function.
    pub fn call(&mut self, name: &str) -> Result<(), Message> {
        self.go(task(c"call", name))
    }

    /// Runs a command once: a custom one, else the global function of that name.
    ///
    /// # Errors
    /// An error of the command; an unknown command.
    pub fn command(&mut self, name: &str) -> Result<(), Message> {
        self.go(task(c"command", name))
    }

    /// Returns the constructor of the scripts of `threads` load threads.
    pub fn workers(&self, program: &Program, threads: usize) -> Arc<MakeScripts> {
        let (source, setup) = (Arc::clone(&self.source), Arc::clone(&self.setup));
        let task = Task::from(program);
        let memory_max_bytes = memory_max_bytes(threads);
        Arc::new(move |_thread| {
            let worker = Worker::new(&source, &setup, task.clone(), false, memory_max_bytes)?;
            Ok(Box::new(worker) as Box<dyn Scripts>)
        })
    }

    fn go(&mut self, task: Task) -> Result<(), Message> {
        self.worker.set_task(task);
        let mut outcome = Outcome::Begin;
        loop {
            match self.worker.resume(&mut self.session, outcome) {
                Step::Wait(wait) => {
                    outcome = main_session::wait(&mut self.session, &self.setup.servers, wait);
                }
                Step::Ended | Step::Moves => return Ok(()),
                Step::Failed(message) => return Err(message),
            }
        }
    }

    /// Calls a hook of the report, if it exists; a failure is reported, and the report continues.
    fn hook(&mut self, name: &str, row: &Row) -> bool {
        let is_there = self.worker.ask(c"has_hook", name).is_ok_and(|words| !words.is_empty());
        if is_there {
            let task = Task { argument: row.fields().collect(), ..task(c"hook", name) };
            if let Err(message) = self.go(task) {
                crate::console::say(crate::console::Level::Fatal, &message);
            }
        }
        is_there
    }
}

impl Hooks for Script {
    fn intermediate(&mut self, row: &Row) -> bool {
        self.hook("report_intermediate", row)
    }

    fn cumulative(&mut self, row: &Row) -> bool {
        self.hook("report_cumulative", row)
    }
}

fn task(what: &'static CStr, name: &str) -> Task {
    Task { what, name: name.into(), argument: Vec::new() }
}

/// The memory limit of a state, one of `threads`: its share of half of the machine's memory.
fn memory_max_bytes(threads: usize) -> usize {
    // SAFETY: asks the system for two numbers; -1 where it does not know them.
    let (pages, page_bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let all = usize::try_from(pages).unwrap_or(0) * usize::try_from(page_bytes).unwrap_or(0);
    (all / 2 / threads.max(1)).clamp(MEMORY_MIN_BYTES, MEMORY_MAX_BYTES)
}
