//! Logs -> events.
//!
//! | where | what |
//! |---|---|
//! | `source`, `buffer` | files, compressed files, standard input, a file that grows |
//! | `chunks`, `chunk_context` | a log cut into chunks for several threads, and what each must know of those before it |
//! | `format` | what a log format must be able to do |
//! | `formats/` | one file or folder a format |
//! | `detection`, `unsupported` | which format a log is in, or why it is in none of them |
//! | `line_numbers` | lines of what was not understood |

pub mod buffer;
pub mod chunk_context;
pub mod chunks;
pub(crate) mod detection;
pub mod format;
pub mod formats;
pub mod line_numbers;
pub mod source;
mod unsupported;
