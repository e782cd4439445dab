//! The command line of sysbench: from arguments to an exit code.
//!
//! `sysbench [options]... [testname] [command]`. Names, messages and exit codes are those observed in
//! sysbench 1.0.20, where it has them; docs/reference/sysbench.md lists the additions.
//!
//! | module | what |
//! |---|---|
//! | [`options`] | command words, option files, tables of options, values, settings |
//! | [`call`], [`refusal`], [`exit_code`] | one call, reasons to end early, exit codes |
//! | [`help`] | help texts |
//! | [`database`] | database options -> drivers and servers |
//! | [`dry_run`] | `--mysql-dry-run` |
//! | [`header`] | output before a run |
//! | [`test_choice`] | choice of the test |
//! | [`script`] | the commands of a script |
//! | [`running`] | a run |

pub mod call;
pub mod database;
pub mod dry_run;
pub mod exit_code;
pub mod header;
pub mod help;
pub mod options;
pub mod refusal;
pub mod running;
pub mod script;
pub mod test_choice;

use crate::console::{self, Level, Stdout};
use crate::options::{Options, Value};
use crate::report::Compat;
use call::{Call, Kinds};
use exit_code::DONE;
use options::line::Line;
use options::resolve::Unknown;
use options::settings::Settings;
use options::{resolve, settings, table};
use refusal::Refusal;
use std::io::Write as _;
use std::path::Path;

/// The engine alone creates no run directories.
const NOT_HERE: &str = "--dyno-out: this program makes no run directory; call it as 'dyno sysbench \
                        --dyno-out=DIR ...' (on the command line, not in a configuration file)";

/// Executes a call; `args` begins with the program's name. Also writes the course of a run to the
/// file `record`. Returns the exit code.
pub fn main(args: &[String], kinds: Kinds, record: Option<&Path>) -> i32 {
    Stdout::by_lines();
    let code = begin(args, kinds, record).unwrap_or_else(|refusal| refusal.tell());
    // If output cannot be written, neither can an error message.
    let _ = Stdout.flush();
    code
}

fn begin(args: &[String], kinds: Kinds, record: Option<&Path>) -> Result<i32, Refusal> {
    let mut line = Line::parse(args.get(1..).unwrap_or_default())?.with_files()?;
    if line.take_old_testname()? {
        eprintln!(
            "WARNING: the --test option is deprecated. You can pass a script name or path on the \
             command line without any options."
        );
    }
    let compat = compat(&line)?;
    let declared = table::all(compat);
    let mut options = resolve::resolve(&declared, &line.options, Unknown::Waits)?;
    if let Some(text) = asked(&options, compat) {
        console::print(&text);
        return Ok(DONE);
    }
    if options.is_given("dyno-out") {
        return Err(Refusal::plain(NOT_HERE));
    }
    let verbosity = settings::verbosity(&options)?;
    settings::warn_of_old_names(&options);
    settings::take_over(&mut options);
    let settings = Settings::of(&options, compat)?;
    console::set_verbosity(verbosity);
    console::say(Level::Notice, &format!("{}\n", header::version_line(compat)));
    let record = record.map(Path::to_owned);
    test_choice::carry_out(&Call {
        args: args.to_vec(),
        line,
        declared,
        options,
        settings,
        kinds,
        record,
    })
}

/// Calls that only print: help, version, drivers.
fn asked(options: &Options, compat: Compat) -> Option<String> {
    if options.bool("help") {
        Some(help::general(compat))
    } else if options.bool("version") {
        Some(format!("{}\n", header::version(compat)))
    } else if options.text("db-driver") == "help" {
        Some(help::DRIVERS.to_owned())
    } else {
        None
    }
}

/// Parses `--compat`, on which all other options depend.
fn compat(line: &Line) -> Result<Compat, Refusal> {
    let given: Vec<_> = line.last("compat").cloned().into_iter().collect();
    let options = resolve::resolve(&[table::compat()], &given, Unknown::Refused)?;
    match options.get("compat") {
        Some(Value::Text(text)) if text == "1.0" => Ok(Compat::V1_0),
        Some(Value::Text(text)) if text == "1.1" => Ok(Compat::V1_1),
        _ => Err(Refusal::plain(format!(
            "Invalid value for the 'compat' option: '{}': it is 1.0 or 1.1",
            options.text("compat")
        ))),
    }
}

#[cfg(test)]
mod tests;
