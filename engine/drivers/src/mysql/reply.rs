//! Replies to a workload's requests: rows are counted as they arrive, without decoding. Only
//! statements that store their rows have them decoded.

use super::column::{self, Column};
use super::packet::{CONTROL_BYTES_MAX, broken};
use super::reader::{Content, Of};
use dyno_core::driver::ServerError;
use dyno_core::error::Result;
use dyno_core::workload::rows::Rows;
use dyno_protocol::bytes::Bytes;

/// The expected reply to the request in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expect {
    /// A result or result sets.
    #[default]
    Result,
    /// The same; the first row is returned as text.
    FirstRow,
    /// The same; all rows are stored.
    Rows(Kept),
    /// The numbers of a prepared statement.
    Prepared,
    /// The same, with the columns, for a statement that stores its rows.
    PreparedColumns(Kept),
    /// A request for the data of LOAD DATA LOCAL.
    Infile,
}

/// A statement that stores its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its number in the group's list.
    pub statement: u16,
    /// Whether its rows are binary.
    pub is_binary: bool,
}

/// The treatment of a row's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keep {
    #[default]
    Nothing,
    FirstRow,
    Row,
}

/// A reply whose rows are counted.
#[derive(Debug, Default)]
pub struct Counted {
    expect: Expect,
    /// Bytes of the current row that have not arrived.
    missing: usize,
    /// The treatment of the current row.
    keep: Keep,
    /// The bytes so far of a stored row, else the name of the file that the server requests.
    row: Vec<u8>,
    /// Buffer for the conversion of binary values to text.
    scratch: Vec<u8>,
    columns: u64,
    /// Columns of each statement that stores its rows, as last defined on this connection: a server
    /// may omit unchanged definitions.
    known: Vec<Vec<Column>>,
    /// Rows so far.
    pub rows: u64,
    /// Rows changed so far.
    pub affected: u64,
    /// The server's error, if it refused the request.
    pub refusal: Option<Box<ServerError>>,
    /// First row of the last `FirstRow`.
    pub first_row: Vec<Option<String>>,
    /// All rows of the last `Rows`.
    pub kept: Rows,
}

impl Counted {
    /// Name of the file that the server requests.
    pub fn infile_name(&self) -> &[u8] {
        &self.row
    }

    #[cold]
    fn keep_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.row.len() + bytes.len() <= CONTROL_BYTES_MAX {
            self.row.extend_from_slice(bytes);
        } else if self.keep == Keep::FirstRow {
            // An oversized row is counted, not stored.
            self.keep = Keep::Nothing;
        } else {
            return Err(broken("a row of more than 1 MB that is kept"));
        }
        Ok(())
    }

    /// Begins a row that may be stored.
    fn keep_row(&mut self) -> Result<()> {
        self.row_end()?;
        self.keep = match self.expect {
            Expect::FirstRow if self.rows == 1 => Keep::FirstRow,
            Expect::Rows(_) => Keep::Row,
            _ => return Ok(()),
        };
        self.row.clear();
        Ok(())
    }

    /// Ends the current row; its stored bytes are complete.
    fn row_end(&mut self) -> Result<()> {
        let keep = std::mem::take(&mut self.keep);
        match (keep, self.expect) {
            (Keep::FirstRow, _) => self.keep_first_row(),
            (Keep::Row, Expect::Rows(kept)) if kept.is_binary => {
                let known = self.known.get(usize::from(kept.statement)).map_or(&[][..], |k| k);
                if known.len() as u64 != self.columns {
                    return Err(broken("rows whose columns it has not defined"));
                }
                self.kept.row();
                column::binary_row(&self.row, known, &mut self.scratch, &mut |value| {
                    self.kept.value(value);
                })?;
            }
            (Keep::Row, _) => {
                self.kept.row();
                column::text_row(&self.row, self.columns, &mut |value| self.kept.value(value))?;
            }
            (Keep::Nothing, _) => return Ok(()),
        }
        if self.kept.is_too_long() {
            return Err(broken("more rows than the workload may keep (1 MB)"));
        }
        Ok(())
    }

    fn known_of(&mut self, kept: Kept) -> &mut Vec<Column> {
        let place = usize::from(kept.statement);
        if self.known.len() <= place {
            self.known.resize(place + 1, vec![]);
        }
        &mut self.known[place]
    }

    /// Decodes the first row.
    #[cold]
    fn keep_first_row(&mut self) {
        let mut fields = Bytes(&self.row);
        for _ in 0..self.columns {
            let Some(value) = fields.nullable() else { break };
            self.first_row.push(value.map(|text| String::from_utf8_lossy(text).into_owned()));
        }
    }
}

impl Content for Counted {
    type Expect = Expect;

    #[inline]
    fn begin(&mut self, expect: Expect) {
        debug_assert!(self.keep == Keep::Nothing && self.refusal.is_none());
        self.expect = expect;
        self.missing = 0;
        self.rows = 0;
        self.affected = 0;
        match expect {
            Expect::FirstRow => self.first_row.clear(),
            Expect::Rows(_) => self.kept = Rows::default(),
            _ => {}
        }
    }

    fn prepares(&self) -> bool {
        matches!(self.expect, Expect::Prepared | Expect::PreparedColumns(_))
    }

    fn offers(&mut self, name: &[u8]) -> bool {
        self.row.clear();
        self.row.extend_from_slice(name);
        self.expect == Expect::Infile
    }

    fn prepared(&mut self) {
        if let Expect::PreparedColumns(kept) = self.expect {
            self.known_of(kept).clear();
        }
    }

    #[inline]
    fn columns(&mut self, columns: u64, follow: bool) {
        self.columns = columns;
        if let (Expect::Rows(kept), true) = (self.expect, follow) {
            self.known_of(kept).clear();
        }
    }

    #[inline]
    fn definition(&mut self, of: Of, payload: &[u8]) -> Result<()> {
        match (self.expect, of) {
            (Expect::Rows(kept @ Kept { is_binary: true, .. }), _)
            | (Expect::PreparedColumns(kept), Of::Columns) => {
                self.known_of(kept).push(Column::parse(payload)?);
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, length: usize) -> Result<()> {
        self.rows += 1;
        self.missing = length;
        if self.expect == Expect::Result { Ok(()) } else { self.keep_row() }
    }

    fn go_on(&mut self, length: usize) -> Result<()> {
        self.missing = length;
        Ok(())
    }

    #[inline]
    fn take(&mut self, input: &[u8]) -> Result<usize> {
        let here = self.missing.min(input.len());
        if self.keep != Keep::Nothing {
            self.keep_bytes(&input[..here])?;
        }
        self.missing -= here;
        Ok(here)
    }

    fn is_amid_row(&self) -> bool {
        self.missing > 0
    }

    #[inline]
    fn end(&mut self, affected: u64) -> Result<()> {
        self.affected = self.affected.saturating_add(affected);
        if self.keep == Keep::Nothing { Ok(()) } else { self.row_end() }
    }

    fn refuse(&mut self, refused: ServerError) -> Result<()> {
        self.refusal = Some(Box::new(refused));
        self.row_end()
    }
}
