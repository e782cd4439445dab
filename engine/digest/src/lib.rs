//! From what a server saw to a profile: logs of several formats become events, events become
//! classes by the fingerprint of their statement, classes become a document.
//!
//! | where | what |
//! |---|---|
//! | `event` | one thing that a server did: the schema that all formats share |
//! | `format` | what a log format must be able to do; `formats/` has one file or folder a format |
//! | `token`, `fingerprint` | SQL as tokens, and statements without their literals |
//! | `source` | files (memory-mapped), compressed files, standard input, a file that grows |
//! | `classes` | classes and their sums while reading |
//! | `document` | what comes out |
//! | `digest` | the whole: reads sources by chunks on several threads |
//!
//! Nothing is skipped silently: what a format does not understand is told to the sink with its
//! position, and stands in the document.

pub mod binlog;
pub mod distill;
pub mod document;
pub mod event;
pub mod fingerprint;
pub mod format;
pub mod formats;
pub mod id;
mod mongo;
pub mod parallel;
pub mod token;
