//! The sysbench surface: its command line, its scripts, its reports, on our own load threads.
//!
//! Written from documented behaviour; no line of sysbench is used. Option names, help lines and
//! report labels are interface, and equal to the letter where wrappers read them.
//!
//! A call goes through these modules, in this order:
//!
//! | module | what |
//! |---|---|
//! | [`command`] | arguments and configuration file -> what to run, with which [`options`]; help |
//! | `lua` | a script: its states, sessions, and the `sysbench` table that it sees |
//! | [`scripts`] | scripts that are built in |
//! | [`session`] | where scripts and load threads meet |
//! | [`connection`] | what a session is connected by |
//! | [`console`] | what is printed, in the order in which scripts and we print it |
//! | [`drive`] | load threads: sockets, waiting, the start, the end, the watchdog |
//! | [`native`] | tests without a script: fileio, cpu, memory, threads, mutex |
//! | [`pace`] | when a session begins its next event: rate, number of events, time |
//! | [`tally`] | what sessions count while they run; one writer each |
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
