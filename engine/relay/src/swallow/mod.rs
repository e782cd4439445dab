//! Planted defects: commits that the client believes and the server never made.
//!
//! One in so many `COMMIT`s of a session, sent as a text of its own, reaches the server as `ROLLBACK`, and its
//! answer reads as that of the commit. An audit that deserves its name finds each of them. Which ones: by the
//! seed, the number of the connection and that of the commit in it. Sessions with TLS or compression pass
//! unchanged, as do statements that only contain a commit.
//!
//! Sources: MySQL client/server protocol, "COM_QUERY"; PostgreSQL documentation, "Message Formats".

mod framing;
mod mysql;
mod postgres;

use dyno_core::random::rng::Rng;
use serde::Deserialize;
use std::cell::Cell;
use std::fmt::Debug;
use std::rc::Rc;

/// Longest frame that may be a commit or its answer, in bytes.
const FRAME_BYTES_MAX: usize = 40;

/// What a session speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// MySQL's and MariaDB's.
    Mysql,
    /// PostgreSQL's.
    Postgres,
}

/// Which commits are swallowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swallow {
    /// What sessions speak.
    pub protocol: Protocol,
    /// One in so many commits; 0: none.
    pub every: u32,
    /// Decides which ones.
    #[serde(default)]
    pub seed: u64,
}

/// Changes the bytes of one direction of a connection.
pub trait Rewrite: Debug {
    /// Appends to `out` what `bytes` become; the end of them may be held back until more is known.
    fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>);
}

/// Decides about each commit of a session, and counts.
#[derive(Debug)]
struct Draws {
    rng: Rng,
    every: u32,
    swallowed: Rc<Cell<u64>>,
}

impl Draws {
    fn swallows(&mut self) -> bool {
        let is_drawn = self.rng.below(u64::from(self.every.max(1))) == 0;
        self.swallowed.set(self.swallowed.get() + u64::from(is_drawn));
        is_drawn
    }
}

/// The rewriters of a new connection, by direction. `number`: that of the connection; `swallowed`: the count
/// of all connections together.
pub fn rewriters(
    swallow: Option<Swallow>,
    number: u64,
    swallowed: &Rc<Cell<u64>>,
) -> [Option<Box<dyn Rewrite>>; 2] {
    let Some(swallow) = swallow.filter(|one| one.every > 0) else { return [None, None] };
    let draws = Draws {
        rng: Rng::for_transaction(swallow.seed, number as u32, 0),
        every: swallow.every,
        swallowed: Rc::clone(swallowed),
    };
    match swallow.protocol {
        // The answers to both statements are the same.
        Protocol::Mysql => [Some(Box::new(mysql::Commands::new(draws))), None],
        Protocol::Postgres => {
            let (messages, answers) = postgres::pair(draws);
            [Some(Box::new(messages)), Some(Box::new(answers))]
        }
    }
}

/// Whether a statement is a commit.
fn is_commit(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii();
    sql.strip_suffix(b";").unwrap_or(sql).trim_ascii().eq_ignore_ascii_case(b"COMMIT")
}

#[cfg(test)]
mod tests;
