//! Finds the test and executes its command.

use crate::command::call::Call;
use crate::command::exit_code::DONE;
use crate::command::help;
use crate::command::options::resolve;
use crate::command::options::resolve::Unknown;
use crate::command::options::settings;
use crate::command::refusal::Refusal;
use crate::command::running;
use crate::command::running::Work;
use crate::command::script;
use crate::console;
use crate::lua::Source;
use crate::native::{self, Crew, NATIVE, Native};
use crate::options::{Declared, Options};
use crate::report::watch::NoHooks;
use crate::scripts::SCRIPTS;
use crate::session::Program;
use std::sync::Arc;

/// Finds the test and executes its command. Returns the exit code.
///
/// # Errors
/// An unknown test or command; an option that the test does not have.
pub fn carry_out(call: &Call) -> Result<i32, Refusal> {
    let fatal = |error: dyno_core::error::Error| Refusal::fatal(error.to_string());
    match call.line.testname.as_deref() {
        None | Some("-") => script::from_stdin(call, Source::stdin(SCRIPTS).map_err(fatal)?),
        Some(name) => match NATIVE.iter().find(|test| test.name() == name) {
            Some(test) => native(call, *test),
            None => named_script(call, name),
        },
    }
}

fn named_script(call: &Call, name: &str) -> Result<i32, Refusal> {
    match Source::find(name, SCRIPTS).map_err(|error| Refusal::fatal(error.to_string()))? {
        Some(source) => script::carry_out(call, source),
        None => Err(Refusal::fatal(format!(
            "Cannot find benchmark '{name}': no such built-in test, file or module"
        ))),
    }
}

fn native(call: &Call, test: &dyn Native) -> Result<i32, Refusal> {
    let name = test.name();
    let Some(command) = call.line.command.as_deref() else {
        return Err(Refusal::plain(format!(
            "The '{name}' test requires a command argument. See 'sysbench {name} help'"
        )));
    };
    let declared: Vec<Declared> = call.declared.iter().cloned().chain(test.options()).collect();
    let mut options = resolve::resolve(&declared, &call.line.options, Unknown::Refused)?;
    settings::take_over(&mut options);
    match command {
        "run" => run(call, test, &options),
        "help" => {
            console::print(&help::test(name, &test.options()));
            Ok(DONE)
        }
        _ => match test.command(command, &options) {
            Some(done) => done.map(|()| DONE).map_err(Refusal::fatal),
            None if ["prepare", "cleanup"].contains(&command) => {
                Err(Refusal::plain(native::no_command(name, command)))
            }
            None => Err(Refusal::plain(format!("Unknown command: {command}"))),
        },
    }
}

fn run(call: &Call, test: &dyn Native, options: &Options) -> Result<i32, Refusal> {
    let settings = &call.settings;
    let crew = Crew { sessions: settings.threads, seed: settings.random.seed };
    let made = test.run(options, crew).map_err(Refusal::fatal)?;
    let work = Work {
        call,
        name: test.name(),
        options,
        program: Program::Run,
        make: made.make,
        kind: made.kind,
        heading: made.heading,
        events: if made.limits_events { 0 } else { settings.events },
        shares_threads: false,
        threads: settings.threads as usize,
        servers: Arc::new([]),
    };
    running::run(&work, &mut NoHooks)
}
