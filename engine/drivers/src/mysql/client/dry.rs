//! No server at all: whatever is asked succeeds at once and returns nothing, as
//! `--mysql-dry-run` wants it, to see what the generator alone costs.

use dyno_core::client::{Answer, Answers, Bind, Library};
use dyno_core::error::{Error, Kind, Result};
use std::time::Duration;

/// A connection to nowhere.
#[derive(Debug, Default)]
pub struct Dry {
    answers: [Answer; 1],
    prepared: (u32, u16),
}

impl Answers for Dry {
    fn answers(&self) -> &[Answer] {
        &self.answers
    }

    fn fetch(&self, answer: usize, row: u64, _put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        Err(Error::new(Kind::Plan, format!("a dry run has no row {row} in result {answer}"))
            .hint("nothing is asked of a server, so that nothing is returned"))
    }

    fn prepared(&self) -> (u32, u16) {
        self.prepared
    }
}

impl Library for Dry {
    fn query(&mut self, _sql: &[u8], _remaining: Duration) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<()> {
        let (number, _) = self.prepared;
        let params = super::statements::split(sql).len() - 1;
        self.prepared = (number.wrapping_add(1), params.min(usize::from(u16::MAX)) as u16);
        Ok(())
    }

    fn execute(
        &mut self,
        _statement: u32,
        _values: &[Bind<'_>],
        _remaining: Duration,
    ) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, _statement: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_succeeds_and_returns_nothing() {
        let mut dry = Dry::default();
        dry.query(b"SELECT 1", Duration::ZERO).unwrap();
        assert_eq!(dry.answers(), [Answer::default()]);
        dry.prepare(b"SELECT ?, '?'").unwrap();
        let (statement, params) = dry.prepared();
        assert_eq!(params, 1);
        dry.execute(statement, &[Bind::Int(1)], Duration::ZERO).unwrap();
        assert!(dry.fetch(0, 0, &mut |_| {}).is_err());
    }
}
