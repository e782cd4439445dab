//! Recorded sessions, played again: what a workload has that does not compose transactions but knows
//! what each session sent, and when.

use crate::request::Transaction;
use crate::trace::Place;

/// When and where a statement is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cue {
    /// Nanoseconds since the first of all, at the speed of the play; 0 where there is no pace.
    pub due_ns: u64,
    /// Index into [`Recording::databases`].
    pub database: u32,
}

/// Sessions that were recorded. Shared by all workers; whoever plays a session keeps its place.
pub trait Recording: Send + Sync {
    /// Sessions that send something, in the order in which they begin; their numbers lie below.
    fn sessions(&self) -> u32;

    /// Whether statements have due times; otherwise each follows the answer before it.
    fn is_paced(&self) -> bool;

    /// Databases by number; an empty name: the target's own.
    fn databases(&self) -> &[String];

    /// Whether nothing that is played may write.
    fn only_reads(&self) -> bool;

    /// The words that make `database` a connection's default; none where a connection keeps its own.
    fn switch(&self, database: &str) -> Option<String>;

    /// When a session begins, and in which database.
    fn opens(&self, session: u32) -> Cue;

    /// Where a session begins.
    fn begin(&self, session: u32) -> Place;

    /// What a reader of the results must know: what is not sent, and why.
    fn remarks(&self) -> Vec<String> {
        vec![]
    }

    /// The session's statement there, appended to `tx` as its one operation; none: the session has
    /// ended. `place` moves behind it.
    fn next(&self, session: u32, place: &mut Place, tx: Option<&mut Transaction>) -> Option<Cue>;
}
