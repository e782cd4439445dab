//! Replies to a script's requests: rows are buffered in pieces as they arrive, with one copy each,
//! and decoded only when the script fetches them.

use crate::mysql::column::{Column, binary_row, text_row};
use crate::mysql::packet::broken;
use crate::mysql::reader::{Content, Of};
use crate::results::{Results, give_back};
use dyno_core::driver::ServerError;
use dyno_core::driver::client::Answer;
use dyno_core::error::Result;
use std::cell::Cell;

/// The expected reply to the request in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expect {
    /// Results whose rows are text.
    #[default]
    Text,
    /// Results whose rows are binary.
    Binary,
    /// The numbers of a prepared statement.
    Prepared,
}

/// A buffered reply.
#[derive(Default)]
pub struct Whole {
    expect: Expect,
    results: Results,
    /// Columns of all results with binary rows, concatenated.
    columns: Vec<Column>,
    /// Each result's range in `columns`.
    defined: Vec<(usize, usize)>,
    /// Buffer for the conversion of binary values to text.
    scratch: Cell<Vec<u8>>,
}

impl Whole {
    /// The next result's columns begin here.
    fn define(&mut self) {
        self.defined.push((self.columns.len(), self.columns.len()));
    }

    /// The error that ended the last reply.
    #[inline]
    pub fn error(&self) -> Option<&ServerError> {
        self.results.answers().last().and_then(|answer| answer.error.as_deref())
    }

    /// The columns that were defined last.
    pub fn last_columns(&self) -> &[Column] {
        let last = self.defined.iter().rev().find(|(from, to)| from < to);
        last.map_or(&[], |&(from, to)| &self.columns[from..to])
    }

    /// All results of the last reply.
    #[inline]
    pub fn answers(&self) -> &[Answer] {
        self.results.answers()
    }

    /// Passes one row's fields as text. `known`: the columns of a result without definitions.
    pub fn fetch(
        &self,
        answer: usize,
        row: u64,
        known: &[Column],
        put: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let payload = self.results.bytes_of(answer, row)?;
        let fields = self.answers()[answer].fields;
        if self.expect == Expect::Text {
            return text_row(payload, fields.into(), put);
        }
        let (from, to) = self.defined[answer];
        let columns = if from < to { &self.columns[from..to] } else { known };
        if columns.len() != fields as usize {
            return Err(broken("rows whose columns it has not defined"));
        }
        let mut scratch = self.scratch.take();
        let taken = binary_row(payload, columns, &mut scratch, put);
        self.scratch.set(scratch);
        taken
    }
}

impl Content for Whole {
    type Expect = Expect;

    #[inline]
    fn begin(&mut self, expect: Expect) {
        self.expect = expect;
        self.results.clear();
        give_back(&mut self.columns);
        give_back(&mut self.defined);
        self.columns.clear();
        self.defined.clear();
    }

    fn prepares(&self) -> bool {
        self.expect == Expect::Prepared
    }

    fn prepared(&mut self) {
        self.define();
    }

    #[inline]
    fn columns(&mut self, columns: u64, _follow: bool) {
        self.results.describe(columns as u32);
        self.define();
    }

    #[inline]
    fn definition(&mut self, of: Of, payload: &[u8]) -> Result<()> {
        // Text rows need none: every field arrives in printable form.
        if self.expect != Expect::Text && !matches!(of, Of::Params(_)) {
            self.results.count(size_of::<Column>())?;
            self.columns.push(Column::parse(payload)?);
            if let Some(defined) = self.defined.last_mut() {
                defined.1 = self.columns.len();
            }
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, length: usize) -> Result<()> {
        self.results.row(length)
    }

    fn go_on(&mut self, length: usize) -> Result<()> {
        self.results.go_on(length)
    }

    #[inline]
    fn take(&mut self, input: &[u8]) -> Result<usize> {
        self.results.take(input)
    }

    fn is_amid_row(&self) -> bool {
        self.results.is_amid_row()
    }

    #[inline]
    fn end(&mut self, affected: u64) -> Result<()> {
        // A result without rows has no definitions.
        self.defined.resize(self.answers().len() + 1, (0, 0));
        self.results.end(affected)
    }

    fn refuse(&mut self, refused: ServerError) -> Result<()> {
        self.results.refuse(refused);
        Ok(())
    }
}
