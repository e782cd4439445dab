//! One call of the program: what is known of it before its test is.

use super::options::line::Line;
use super::options::settings::Settings;
use crate::options::{Declared, Options};
use dyno_core::client::ClientKind;
use std::path::PathBuf;

/// The systems that scripts can talk to.
pub type Kinds = &'static [&'static ClientKind];

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
