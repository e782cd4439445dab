//! Exit codes of the program.

/// Success.
pub const DONE: i32 = 0;
/// The user must change something, or a script has failed.
pub const FAILED: i32 = 1;
/// The run's time ended before its events did.
pub const FORCED: i32 = 2;
