//! Digests logs: parses logs of several formats into events, groups events into classes by statement
//! fingerprint, and summarizes the classes in a document.
//!
//! | where | what |
//! |---|---|
//! | `event`, `sink`, `facts` | the event that all formats share; the receiver of events; facts about a log's server |
//! | `sql/` | statements as text: tokens, fingerprints, verb and tables |
//! | `logs/` | logs -> events: sources, chunks for several threads, one file or folder per format |
//! | `inspect/` | binary logs and network captures -> events |
//! | `aggregate/` | events -> classes with sums and details -> the document |
//! | `workload_profile/` | events -> a statistical model of statements, values and order |
//! | `replay_file/` | events -> a replay file |
//! | `parallelism/` | events and transactions -> the estimated speed-up of parallel replication |
//! | `filter`, `timestamp` | selection of events; times on the command line |
//! | `request`, `sequential`, `digest` | the request; reading in order on one thread; reading by chunks on several threads |
//! | `document` | the JSON document |
//!
//! No format skips bytes silently: it reports the position of bytes that it does not understand to the
//! sink. The document counts these bytes and lists the first pieces.

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
