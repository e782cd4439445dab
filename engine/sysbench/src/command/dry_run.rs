//! `--mysql-dry-run`: every call succeeds at once, nothing is sent, no statement returns rows.

use dyno_core::driver::client::{Answer, Answers, Bind, Library, Nature};
use dyno_core::error::{Error, Kind, Result};
use std::time::Duration;

/// A connection without a server.
pub fn client() -> Result<Nature> {
    Ok(Nature::Blocking(Box::new(Connection::default())))
}

#[derive(Default)]
struct Connection {
    answers: [Answer; 1],
    parameters: u16,
}

impl Answers for Connection {
    fn answers(&self) -> &[Answer] {
        &self.answers
    }

    fn fetch(&self, _: usize, row: u64, _: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        Err(Error::new(Kind::Protocol, format!("a dry run has no row {row}")))
    }

    fn prepared(&self) -> (u32, u16) {
        (1, self.parameters)
    }
}

impl Library for Connection {
    fn query(&mut self, _: &[u8], _: Duration) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<()> {
        let marks = sql.iter().filter(|byte| **byte == b'?').count();
        self.parameters = marks.min(usize::from(u16::MAX)) as u16;
        Ok(())
    }

    fn execute(&mut self, _: u32, _: &[Bind<'_>], _: Duration) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, _: u32) {}
}
