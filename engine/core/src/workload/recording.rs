//! Replay of recorded sessions: the interface of a workload that sends recorded statements at their
//! recorded times instead of composing transactions.

use crate::request::Transaction;
use crate::trace::Place;

/// When and in which database to send a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cue {
    /// Nanoseconds since the first statement, at the speed of the replay; 0 without pacing.
    pub due_ns: u64,
    /// Index into [`Recording::databases`].
    pub database: u32,
}

/// Recorded sessions. Shared by all workers; the caller keeps each session's position.
pub trait Recording: Send + Sync {
    /// Number of sessions that send something. They are numbered from 0 in the order of their
    /// begins.
    fn sessions(&self) -> u32;

    /// Whether statements have due times; otherwise each follows the answer before it.
    fn is_paced(&self) -> bool;

    /// Databases by number; an empty name: the target's own.
    fn databases(&self) -> &[String];

    /// Whether the replay must only read.
    fn only_reads(&self) -> bool;

    /// The statement that makes `database` a connection's default; none if the system cannot change
    /// it.
    fn switch(&self, database: &str) -> Option<String>;

    /// When a session begins, and in which database.
    fn opens(&self, session: u32) -> Cue;

    /// Where a session begins.
    fn begin(&self, session: u32) -> Place;

    /// Warnings for reports, such as statements that are not sent, and why.
    fn remarks(&self) -> Vec<String> {
        vec![]
    }

    /// Appends the session's statement at `place` to `tx` as its one operation and advances
    /// `place`. None: the session has ended.
    fn next(&self, session: u32, place: &mut Place, tx: Option<&mut Transaction>) -> Option<Cue>;
}
