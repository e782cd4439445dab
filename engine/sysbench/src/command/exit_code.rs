//! Exit codes of the program.

/// All is well.
pub const DONE: i32 = 0;
/// The user must change something, or a script has failed.
pub const FAILED: i32 = 1;
/// The time was over and events were not.
pub const FORCED: i32 = 2;
