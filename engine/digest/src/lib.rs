//! From what a server saw to a profile: logs of several formats become events, events become
//! classes by the fingerprint of their statement, classes become a document.
//!
//! | where | what |
//! |---|---|
//! | `event` | one thing that a server did: the schema that all formats share |
//! | `format` | what a log format must be able to do; `formats/` has one file or folder a format |
//! | `token`, `fingerprint` | SQL as tokens, and statements without their literals |
//! | `servertext` | texts of statements as servers keep them, as logs would have them |
//! | `source` | files, compressed files, standard input, a file that grows |
//! | `classes` | classes and their sums while reading |
//! | `document` | what comes out |
//! | `digest` | the whole: reads sources by chunks on several threads |
//!
//! Nothing is skipped silently: what a format does not understand is told to the sink with its
//! position, and stands in the document.

mod administrator_command;
pub mod binlog;
pub mod buffer;
mod bytes;
pub mod capture;
pub mod censoring;
pub mod classes;
pub mod collector;
pub mod concurrency;
pub mod details;
pub mod digest;
pub mod distill;
pub mod document;
pub mod event;
mod fetch;
pub mod filter;
pub mod fingerprint;
pub mod format;
pub mod formats;
pub mod gather;
pub mod grouping;
pub mod held;
pub mod id;
pub mod in_turn;
pub mod lines;
pub mod moment;
mod mongo;
pub mod names;
pub mod order_by;
pub mod parallel;
pub mod parts;
pub mod relay;
pub mod request;
pub mod servertext;
pub mod shape;
pub mod sketch;
pub mod source;
pub mod summary;
pub mod sums;
pub mod table;
pub mod tally;
pub mod thread_totals;
pub mod timeline;
pub mod token;
pub mod tracing;
