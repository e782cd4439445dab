//! The command line of sysbench: from arguments to an exit code.
//!
//! `sysbench [options]... [testname] [command]`. Names, messages and exit codes are those that the
//! program of that name was seen to use (1.0.20), where it has some; docs/reference/sysbench.md says
//! what is ours.
//!
//! | module | what |
//! |---|---|
//! | [`line`](mod@line) | the words: options, the test's name, its command |
//! | [`config`] | options in a file |
//! | [`table`] | every option that does not belong to a test |
//! | [`value`], [`resolve`] | texts -> values |
//! | [`settings`] | the general options as a run uses them |
//! | [`help`] | help texts |
//! | [`database`] | database options -> drivers and servers |
//! | [`dry`] | `--mysql-dry-run` |
//! | [`header`] | what is printed before a run |
//! | [`test`](mod@test) | which test is meant |
//! | [`script`] | the commands of a script |
//! | [`running`] | a run |

pub mod config;
pub mod database;
pub mod dry;
pub mod header;
pub mod help;
pub mod line;
pub mod resolve;
pub mod running;
pub mod script;
pub mod settings;
pub mod table;
pub mod test;
pub mod value;

use crate::console::{self, Level, Stdout};
use crate::options::{Declared, Options, Value};
use crate::report::Compat;
use dyno_core::client::ClientKind;
use dyno_core::shown::shown;
use line::Line;
use resolve::Unknown;
use settings::Settings;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// All is well.
pub const DONE: i32 = 0;
/// The user must change something, or a script has failed.
pub const FAILED: i32 = 1;
/// The time was over and events were not.
pub const FORCED: i32 = 2;

/// The systems that scripts can talk to.
pub type Kinds = &'static [&'static ClientKind];

/// The engine alone makes no run directories.
const NOT_HERE: &str = "--dyno-out: this program makes no run directory; call it as 'dyno sysbench \
                        --dyno-out=DIR ...' (on the command line, not in a configuration file)";

/// Why a call ends: what to say. Its exit code is [`FAILED`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// On standard error, as it is: about the call.
    Plain(String),
    /// On standard output, with the prefix of a fatal error: about what it asks for.
    Fatal(String),
}

impl Refusal {
    /// About the call.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// About what it asks for.
    pub fn fatal(text: impl Into<String>) -> Self {
        Self::Fatal(text.into())
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Fatal(text) => text,
        }
    }

    fn tell(&self) -> i32 {
        match self {
            Self::Plain(text) => eprintln!("{}", shown(text)),
            Self::Fatal(text) => console::say(Level::Fatal, text),
        }
        FAILED
    }
}

/// One call, as far as it is known before its test is.
pub struct Call {
    /// All arguments, the program's name first.
    pub args: Vec<String>,
    /// The words.
    pub line: Line,
    /// What the general options are.
    pub declared: Vec<Declared>,
    /// Their values.
    pub options: Options,
    /// As a run uses them.
    pub settings: Settings,
    /// What scripts can talk to.
    pub kinds: Kinds,
    /// Where a run is recorded, second by second; none: nowhere.
    pub record: Option<PathBuf>,
}

/// Carries out a call; `args` begins with the program's name. What a run does goes into the file
/// `record` too. Gives the exit code.
pub fn main(args: &[String], kinds: Kinds, record: Option<&Path>) -> i32 {
    Stdout::by_lines();
    let code = begin(args, kinds, record).unwrap_or_else(|refusal| refusal.tell());
    // What cannot be printed cannot be told either.
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
    test::carry_out(&Call { args: args.to_vec(), line, declared, options, settings, kinds, record })
}

/// What is only printed: help, version, drivers.
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

/// `--compat`, which decides what all other options are.
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
