//! A test that is a script: its commands.

use crate::command::call::Call;
use crate::command::database;
use crate::command::database::Databases;
use crate::command::exit_code::DONE;
use crate::command::options::resolve;
use crate::command::options::resolve::Unknown;
use crate::command::refusal::Refusal;
use crate::command::running;
use crate::command::running::Work;
use crate::command::{header, help};
use crate::console;
use crate::drive::{Drive, Server};
use crate::lua::{Driver, Script, Setup, Source};
use crate::options::{Declared, Options};
use crate::rand::Uniques;
use crate::report::{Compat, Kind};
use crate::session::Program;
use std::path::Path;
use std::sync::Arc;

/// Runs a script from standard input once, whatever the command.
///
/// # Errors
/// The script's own errors.
pub fn from_stdin(call: &Call, source: Source) -> Result<i32, Refusal> {
    let reach = Reach::of(call, &call.options)?;
    Script::load(source, reach.setup(call, &call.options)).map_err(Refusal::fatal)?;
    Ok(DONE)
}

/// Executes the command. Without one, runs the script once, as sysbench does.
///
/// # Errors
/// The script's own errors; an unknown option or command.
pub fn carry_out(call: &Call, source: Source) -> Result<i32, Refusal> {
    let reach = Reach::of(call, &call.options)?;
    let mut script =
        Script::load(source, reach.setup(call, &call.options)).map_err(Refusal::fatal)?;
    let Some(command) = call.line.command.as_deref() else { return Ok(DONE) };
    let own = script.options().map_err(wrong_options)?;
    let options = resolve(call, &own)?;
    script.configure(reach.setup(call, &options)).map_err(Refusal::fatal)?;
    let test = Test { call, name: name(call), own, options, reach };
    test.obey(script, command)
}

/// In the words that sysbench has for it; what is wrong stands where it has a line's number.
fn wrong_options(what: String) -> Refusal {
    Refusal::fatal(format!(
        "`sysbench.cmdline.read_cmdline_options' function failed: [string \"sysbench.cmdline.lua\"]:\
         {what}: wrong table structure in sysbench.cmdline.options"
    ))
}

/// Merges the general options with the script's own. A script that declares none gets the given
/// options as text, as scripts for sysbench 0.5 expect; sysbench 1.1 does not do that.
fn resolve(call: &Call, own: &[Declared]) -> Result<Options, Refusal> {
    let unknown = match own.is_empty() && call.settings.compat == Compat::V1_0 {
        true => Unknown::Kept,
        false => Unknown::Refused,
    };
    let declared: Vec<Declared> = call.declared.iter().chain(own).cloned().collect();
    let mut options = resolve::resolve(&declared, &call.line.options, unknown)?;
    crate::command::options::settings::take_over(&mut options);
    Ok(options)
}

/// The test's name in messages: without its directory.
fn name(call: &Call) -> &str {
    let name = call.line.testname.as_deref().unwrap_or_default();
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name)
}

/// A script whose options are known.
struct Test<'a> {
    call: &'a Call,
    /// The name in messages.
    name: &'a str,
    own: Vec<Declared>,
    options: Options,
    reach: Reach,
}

impl Test<'_> {
    fn obey(&self, mut script: Script, command: &str) -> Result<i32, Refusal> {
        let commands = script.commands().map_err(Refusal::fatal)?;
        if let Some(own) = commands.iter().find(|own| own.name == command) {
            // A single session needs no load threads.
            let is_parallel = own.is_parallel && self.call.settings.threads > 1;
            return if is_parallel {
                self.in_parallel(&script, command)
            } else {
                once(script, command)
            };
        }
        match command {
            "run" => match script.obstacle() {
                Some(obstacle) => Err(Refusal::fatal(obstacle)),
                None => self.run(script),
            },
            "help" if !script.has("help") && !self.own.is_empty() => {
                console::print(&help::test(self.name, &self.own));
                Ok(DONE)
            }
            "help" | "prepare" | "cleanup" if script.has(command) => once(script, command),
            "help" | "prepare" | "cleanup" => Err(Refusal::plain(format!(
                "'{}' test does not implement the '{command}' command.",
                self.name
            ))),
            _ => Err(Refusal::plain(format!("Unknown command: {command}"))),
        }
    }

    fn in_parallel(&self, script: &Script, command: &str) -> Result<i32, Refusal> {
        running::command(&self.work(script, Program::Command(command.to_owned())))
    }

    fn run(&self, mut script: Script) -> Result<i32, Refusal> {
        script.call("init").map_err(Refusal::fatal)?;
        let work = self.work(&script, Program::Run);
        let code = running::run(&work, &mut script)?;
        script.call("done").map_err(Refusal::fatal)?;
        Ok(code)
    }

    fn work(&self, script: &Script, program: Program) -> Work<'_> {
        // A library call blocks its caller.
        let options = &self.options;
        let shares_threads =
            options.text("db-driver") != "sqlite" && !options.bool("mysql-dry-run");
        let settings = &self.call.settings;
        let servers = &self.reach.servers;
        let asked = (settings.load_threads, [].as_slice());
        let threads =
            Drive::threads_for(&program, settings.threads, shares_threads, asked, servers);
        Work {
            call: self.call,
            name: self.name,
            options,
            make: script.workers(&program, threads),
            program,
            kind: Kind::Script,
            heading: String::new(),
            events: settings.events,
            shares_threads,
            threads,
            servers: Arc::clone(servers),
        }
    }
}

fn once(mut script: Script, command: &str) -> Result<i32, Refusal> {
    script.command(command).map_err(Refusal::fatal)?;
    Ok(DONE)
}

/// The databases that a script may use.
struct Reach {
    drivers: Vec<Driver>,
    servers: Arc<[Server]>,
    uniques: Arc<Uniques>,
}

impl Reach {
    /// Reads the database options. Errors in them matter only if a command is executed.
    fn of(call: &Call, options: &Options) -> Result<Self, Refusal> {
        let found = database::databases(options, call.settings.compat, call.kinds);
        let found = match call.line.command.as_deref() {
            None | Some("help") => {
                found.unwrap_or(Databases { drivers: Vec::new(), servers: Vec::new() })
            }
            Some(_) => found?,
        };
        Ok(Self {
            drivers: found.drivers,
            servers: found.servers.into(),
            uniques: Arc::new(Uniques::new(call.settings.random.seed)),
        })
    }

    fn setup(&self, call: &Call, options: &Options) -> Setup {
        let compat = call.settings.compat;
        let number = header::number(compat);
        Setup {
            options: options.clone(),
            drivers: self.drivers.clone(),
            servers: Arc::clone(&self.servers),
            rand: call.settings.random,
            uniques: Arc::clone(&self.uniques),
            version: [number.to_owned(), header::version(compat)],
            script_path: call.line.testname.clone().filter(|name| name != "-"),
            command: call.line.command.clone(),
            arguments: call.args.clone(),
            compat: match compat {
                Compat::V1_0 => "1.0",
                Compat::V1_1 => "1.1",
            },
        }
    }
}
