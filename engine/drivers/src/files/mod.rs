//! Plain files: blocks read, written and made durable. What does it stands here, for the driver and
//! for sysbench's test of files.
//!
//! | module | what |
//! |---|---|
//! | `open` | files made, opened, filled and made durable |
//! | `buffer` | memory for blocks |
//! | `mapped` | files as memory |
//! | `faults` | files that become shorter under their mapping |
//! | `queue` | requests under way, in the kernel's queue |
//! | `checksum` | blocks that can be checked |

pub mod buffer;
pub mod checksum;
mod faults;
pub mod mapped;
pub mod open;
pub mod queue;

/// Bytes of one of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the file.
    pub file: usize,
    /// Where they begin in it.
    pub offset: u64,
    /// How many they are.
    pub bytes: u64,
}
