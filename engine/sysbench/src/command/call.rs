//! One call of the program: what is known of it before its test is.

use super::options::line::Line;
use super::options::settings::Settings;
use crate::options::{Declared, Options};
use dyno_core::driver::DriverKind;
use std::path::PathBuf;

/// Drivers; scripts can talk to those with clients.
pub type Kinds = &'static [&'static DriverKind];

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
    /// The drivers of this build.
    pub kinds: Kinds,
    /// Where a run is recorded, second by second; none: nowhere.
    pub record: Option<PathBuf>,
}
