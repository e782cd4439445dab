//! From what a server saw to a profile: logs of several formats become events, events become
//! classes by the fingerprint of their statement, classes become a document.
//!
//! | where | what |
//! |---|---|
//! | `event`, `sink`, `facts` | one event in the schema that all formats share; what takes events; what a log says of its server |
//! | `sql/` | statements as text: tokens, fingerprints, verb and tables |
//! | `logs/` | logs -> events: sources, chunks for several threads, one file or folder a format |
//! | `inspect/` | files that servers or networks leave behind: binary logs, captures |
//! | `aggregate/` | events -> classes with sums and details -> the document |
//! | `workload_profile/` | events -> statements, their values and their order, to run a like workload |
//! | `replay_file/` | events -> a file from which they can be sent again |
//! | `parallelism/` | events and transactions -> what parallel replication could bring |
//! | `request`, `sequential`, `digest` | what is asked for; logs read in order on one thread; logs read by chunks on several threads |
//! | `document` | the JSON document |
//!
//! Nothing is skipped silently: what a format does not understand is told to the sink with its
//! position, and stands in the document.

pub mod aggregate;
pub mod digest;
pub mod document;
pub mod event;
pub mod facts;
pub mod filter;
pub mod inspect;
pub mod logs;
pub mod parallelism;
pub mod replay_file;
pub mod request;
pub mod sequential;
pub mod sink;
pub mod sql;
pub mod timestamp;
pub mod workload_profile;
