//! A sysbench-compatible command line, script interface and reports, run on dbdyno's load threads.
//!
//! Written from documented behaviour; no line of sysbench is used. Option names, help lines and
//! report labels are interface: they equal sysbench's exactly where wrappers parse them.
//!
//! A call goes through these modules, in this order:
//!
//! | module | what |
//! |---|---|
//! | [`command`] | parses arguments and the configuration file into a call and its [`options`]; help |
//! | `lua` | scripts: Lua states, sessions, and the `sysbench` table |
//! | [`scripts`] | built-in scripts |
//! | [`session`] | the interface between scripts and load threads |
//! | [`connection`] | a session's connections |
//! | [`console`] | output, in the order in which scripts and the engine print it |
//! | [`drive`] | load threads: sockets, waiting, the start, the end, the watchdog |
//! | [`native`] | tests without a script: fileio, cpu, memory, threads, mutex |
//! | [`pace`] | the time of a session's next event: rate, number of events, run time |
//! | [`tally`] | counters of running sessions, with one writer each |
//! | [`trial`] | a script as the workload of an experiment |
//! | [`rand`](mod@rand) | random numbers of scripts |
//! | [`report`] | intervals, checkpoints, the final text, CSV, JSON |

pub mod command;
pub mod connection;
pub mod console;
pub mod drive;
pub mod lua;
pub mod native;
pub mod options;
pub mod pace;
pub mod rand;
pub mod report;
pub mod scripts;
pub mod session;
pub mod tally;
pub mod trial;

pub use command::main;
