//! Reads logs of database servers into events.
//!
//! | where | what |
//! |---|---|
//! | `source`, `buffer` | files, compressed files, standard input, a file that grows |
//! | `chunks`, `chunk_context` | division of a log into chunks for several threads, and the context between them |
//! | `format` | the traits and types that a log format implements |
//! | `formats/` | one file or folder a format |
//! | `detection`, `unsupported` | detection of a log's format, and errors for unsupported formats |
//! | `line_numbers` | line numbers of bytes that were not understood |

pub mod buffer;
pub mod chunk_context;
pub mod chunks;
pub(crate) mod detection;
pub mod format;
pub mod formats;
pub mod line_numbers;
pub mod source;
mod unsupported;
