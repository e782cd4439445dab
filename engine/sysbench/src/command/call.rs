//! One call of the program, before its test is known.

use super::options::line::Line;
use super::options::settings::Settings;
use crate::options::{Declared, Options};
use dyno_core::driver::DriverKind;
use std::path::PathBuf;

/// The drivers; scripts can use those with clients.
pub type Kinds = &'static [&'static DriverKind];

/// One call, before its test is known.
pub struct Call {
    /// All arguments, the program's name first.
    pub args: Vec<String>,
    /// The parsed command line.
    pub line: Line,
    /// The declarations of the general options.
    pub declared: Vec<Declared>,
    /// Their values.
    pub options: Options,
    /// The general options, typed and checked.
    pub settings: Settings,
    /// The drivers of this build.
    pub kinds: Kinds,
    /// The file that records a run, second by second; none: no record.
    pub record: Option<PathBuf>,
}
