//! Replies on their way in, without building rows: packets of a result set are counted and
//! skipped as they come, split at any byte. Only statements that keep their rows have them taken
//! apart.
//!
//! Sources: MySQL protocol, "Text Resultset", "Binary Protocol Resultset", "OK_Packet",
//! "EOF_Packet", "COM_STMT_PREPARE Response", "LOCAL INFILE Request"; MariaDB knowledge base,
//! "Result Set Packets" (metadata caching).

use super::column::{self, Column};
use super::control;
use super::errors;
use super::flags::{capability, status};
use super::login::handshake::Agreed;
use super::packet::{CONTROL_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX, broken, header};
use dyno_core::driver::ServerError;
use dyno_core::error::Result;
use dyno_core::rows::Rows;
use dyno_protocol::bytes::Bytes;

/// What the request in flight may be answered with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expect {
    /// A result or result sets.
    #[default]
    Result,
    /// The same, and the first row as text is wanted.
    FirstRow,
    /// The same, and all rows are wanted: of a statement that keeps them.
    Rows(Kept),
    /// The numbers of a prepared statement.
    Prepared,
    /// The same, and its columns: of a statement that keeps its rows.
    PreparedColumns(Kept),
    /// A request for the data of LOAD DATA LOCAL.
    Infile,
}

/// A statement that keeps its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its number in the group's list.
    pub statement: u16,
    /// How its rows travel.
    pub is_binary: bool,
}

/// What is to be done with a payload that is otherwise skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keep {
    #[default]
    Nothing,
    FirstRow,
    Row,
    Column,
}

/// What [`Reader::feed`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing complete.
    More,
    /// The whole reply: see the reader's fields.
    Done,
    /// The server asks for the file; only where expected.
    Infile,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    /// OK, ERR, LOCAL INFILE or a column count.
    #[default]
    First,
    /// Definitions still to come, then the end of them.
    Definitions(u64),
    /// Rows, ended by OK, EOF or ERR.
    Rows,
    /// A prepared statement's parameter definitions (left), columns behind them.
    PreparedParams(u64, u64),
    /// A prepared statement's column definitions.
    PreparedColumns(u64),
}

/// Reads the replies of one connection, one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    deprecate_eof: bool,
    caches_metadata: bool,
    /// The compressed protocol is around packets. Servers then set the packets' own numbers anew
    /// wherever they send what they have: they are not checked.
    is_compressed: bool,
    expect: Expect,
    step: Step,
    /// Sequence number that the next packet must carry; none where the request may have taken
    /// several packets, since the reply counts on from the last of them.
    seq: Option<u8>,
    /// Bytes of the current packet that are still to be skipped.
    skip: usize,
    /// The packet being skipped is full: its payload goes on in the next one.
    continued: bool,
    /// Amid a payload that is skipped.
    inside: bool,
    /// What is being skipped is wanted.
    keep: Keep,
    row: Vec<u8>,
    /// Where binary values become text.
    scratch: Vec<u8>,
    columns: u64,
    /// Columns of each statement that keeps its rows, as this connection last heard of them: a
    /// server may leave them out where they are the same.
    known: Vec<Vec<Column>>,
    /// Rows so far.
    pub rows: u64,
    /// Rows changed so far.
    pub affected: u64,
    /// The server's refusal, if it refused.
    pub refusal: Option<Box<ServerError>>,
    /// Number of the statement just prepared.
    pub statement_id: u32,
    /// Its number of parameters.
    pub params: u16,
    /// The last status flags seen, on this connection.
    pub status: u16,
    /// A statement has had the session no longer read-only.
    pub lifts_guard: bool,
    /// First row of the last `FirstRow`.
    pub first_row: Vec<Option<String>>,
    /// All rows of the last `Rows`.
    pub kept: Rows,
}

impl Reader {
    /// For a connection that has just agreed on its capabilities.
    pub fn new(agreed: &Agreed) -> Self {
        Self {
            deprecate_eof: agreed.has(capability::DEPRECATE_EOF),
            caches_metadata: agreed.caches_metadata(),
            is_compressed: agreed.has(capability::COMPRESS),
            ..Self::default()
        }
    }

    /// A request went out; its reply comes next.
    #[inline]
    pub fn begin(&mut self, expect: Expect) {
        self.expect = expect;
        self.step = Step::First;
        self.seq = None;
        self.rows = 0;
        self.affected = 0;
        debug_assert!(!self.inside && self.refusal.is_none());
        match expect {
            Expect::FirstRow => self.first_row.clear(),
            Expect::Rows(_) => self.kept = Rows::default(),
            _ => {}
        }
    }

    /// The file's data went out; the packet after it carries `seq`.
    pub fn resume(&mut self, seq: u8) {
        self.expect = Expect::Result;
        self.step = Step::First;
        self.seq = Some(seq);
    }

    /// Sequence number of the packet that follows.
    pub fn next_seq(&self) -> u8 {
        self.seq.unwrap_or(1)
    }

    /// Whether a part of a packet is still to come of which the first is consumed.
    pub fn is_amid_packet(&self) -> bool {
        self.inside
    }

    /// Name of the file that the server asks for.
    pub fn infile_name(&self) -> &[u8] {
        &self.row
    }

    /// Whether backslashes in string literals escape.
    pub fn backslash(&self) -> bool {
        self.status & status::NO_BACKSLASH_ESCAPES == 0
    }

    /// Whether each statement is a transaction of its own.
    pub fn autocommits(&self) -> bool {
        self.status & (status::AUTOCOMMIT | status::IN_TRANSACTION) == status::AUTOCOMMIT
    }

    /// Reads from the front of `input`; returns the bytes consumed and what they meant.
    #[inline]
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Found)> {
        let mut at = 0;
        loop {
            if self.inside {
                at += self.skip_some(&input[at..])?;
                if self.inside {
                    return Ok((at, Found::More));
                }
                if self.payload_end()? {
                    return Ok((at, Found::Done));
                }
            }
            let rest = &input[at..];
            let Some((length, seq)) = header(rest) else { return Ok((at, Found::More)) };
            if length == 0 {
                return Err(broken("an empty packet"));
            }
            let Some(first) = rest.get(HEADER_BYTES).copied() else {
                return Ok((at, Found::More));
            };
            if self.skips(first, length) {
                self.check_seq(seq)?;
                self.inside = true;
                self.skip = length;
                self.continued = length == PAYLOAD_BYTES_MAX;
                at += HEADER_BYTES;
                continue;
            }
            if length > CONTROL_BYTES_MAX {
                return Err(broken(format_args!("a control packet of {length} bytes")));
            }
            let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else {
                return Ok((at, Found::More));
            };
            at += HEADER_BYTES + length;
            let found = self.control(first, seq, payload)?;
            if found != Found::More {
                return Ok((at, found));
            }
        }
    }

    #[inline]
    fn check_seq(&mut self, seq: u8) -> Result<()> {
        if let Some(due) = self.seq
            && seq != due
            && !self.is_compressed
        {
            return Err(broken(format_args!("packet number {seq} came where {due} was due")));
        }
        self.seq = Some(seq.wrapping_add(1));
        Ok(())
    }

    /// Whether the packet that begins with `first` is a definition or a row, whose contents do not
    /// matter; counts it if so.
    #[inline]
    fn skips(&mut self, first: u8, length: usize) -> bool {
        match &mut self.step {
            Step::Rows => {
                // A row's first byte may be 0xfe too, but then its packet is a full one (or, where
                // rows end with an EOF packet, at least nine bytes long).
                let end_bytes = if self.deprecate_eof { PAYLOAD_BYTES_MAX } else { 9 };
                if first == 0xff || (first == 0xfe && length < end_bytes) {
                    return false;
                }
                self.rows += 1;
                if self.expect != Expect::Result {
                    self.keep_row();
                }
                true
            }
            Step::Definitions(left)
            | Step::PreparedParams(left, _)
            | Step::PreparedColumns(left)
                if *left > 0 && first != 0xff =>
            {
                *left -= 1;
                if self.expect != Expect::Result {
                    self.keep_column();
                }
                true
            }
            _ => false,
        }
    }

    /// Skips what is there of a payload, over packet borders; `inside` says whether more is due.
    #[inline]
    fn skip_some(&mut self, input: &[u8]) -> Result<usize> {
        let mut at = 0;
        loop {
            let count = self.skip.min(input.len() - at);
            if self.keep != Keep::Nothing {
                self.keep_bytes(&input[at..at + count])?;
            }
            self.skip -= count;
            at += count;
            if self.skip == 0 && !self.continued {
                self.inside = false;
                return Ok(at);
            }
            let Some((length, seq)) = header(&input[at..]).filter(|_| self.skip == 0) else {
                return Ok(at);
            };
            self.check_seq(seq)?;
            self.skip = length;
            self.continued = length == PAYLOAD_BYTES_MAX;
            at += HEADER_BYTES;
        }
    }

    #[cold]
    fn keep_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.row.len() + bytes.len() <= CONTROL_BYTES_MAX {
            self.row.extend_from_slice(bytes);
        } else if self.keep == Keep::FirstRow {
            // One of unreasonable size is counted, not kept.
            self.keep = Keep::Nothing;
        } else {
            return Err(broken("a row or a column definition of more than 1 MB that is kept"));
        }
        Ok(())
    }

    /// A skipped payload is over. True: and with it the reply, since where EOF packets are
    /// deprecated nothing else ends the definitions of a prepared statement.
    #[inline]
    fn payload_end(&mut self) -> Result<bool> {
        if self.keep != Keep::Nothing {
            self.keep_payload()?;
        }
        Ok(self.deprecate_eof && !matches!(self.step, Step::Rows) && self.definitions_end())
    }

    /// Moves on if all definitions of their kind are in. True: the reply is over.
    fn definitions_end(&mut self) -> bool {
        match self.step {
            Step::Definitions(0) => self.step = Step::Rows,
            Step::PreparedParams(0, 0) | Step::PreparedColumns(0) => return true,
            Step::PreparedParams(0, columns) => self.step = Step::PreparedColumns(columns),
            _ => {}
        }
        false
    }

    /// A row begins, which somebody may want.
    fn keep_row(&mut self) {
        self.keep = match self.expect {
            Expect::FirstRow if self.rows == 1 => Keep::FirstRow,
            Expect::Rows(_) => Keep::Row,
            _ => return,
        };
        self.row.clear();
    }

    /// A definition begins, which somebody may want.
    fn keep_column(&mut self) {
        let is_wanted = match self.expect {
            Expect::Rows(kept) => kept.is_binary,
            Expect::PreparedColumns(_) => matches!(self.step, Step::PreparedColumns(_)),
            _ => false,
        };
        if is_wanted {
            self.keep = Keep::Column;
            self.row.clear();
        }
    }

    /// What was to be kept is whole.
    fn keep_payload(&mut self) -> Result<()> {
        let keep = std::mem::replace(&mut self.keep, Keep::Nothing);
        match (keep, self.expect) {
            (Keep::FirstRow, _) => self.keep_first_row(),
            (Keep::Column, Expect::Rows(kept) | Expect::PreparedColumns(kept)) => {
                let column = Column::parse(&self.row)?;
                self.known_of(kept).push(column);
            }
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
            (Keep::Nothing | Keep::Column, _) => {}
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

    /// Takes the first row apart.
    #[cold]
    fn keep_first_row(&mut self) {
        let mut fields = Bytes(&self.row);
        for _ in 0..self.columns {
            let Some(value) = fields.nullable() else { break };
            self.first_row.push(value.map(|text| String::from_utf8_lossy(text).into_owned()));
        }
    }

    fn prepares(&self) -> bool {
        matches!(self.expect, Expect::Prepared | Expect::PreparedColumns(_))
    }

    /// A packet that is neither definition nor row.
    fn control(&mut self, first: u8, seq: u8, payload: &[u8]) -> Result<Found> {
        if first == 0xff {
            // Its number is not checked: servers on their way out send 0 here.
            self.refusal = Some(Box::new(errors::parse(payload)?));
            return Ok(Found::Done);
        }
        self.check_seq(seq)?;
        match (self.step, first) {
            (Step::First, 0x00) if self.prepares() => self.prepared(payload),
            (Step::First, 0x00) => self.ok(payload),
            (Step::First, 0xfb) if self.expect == Expect::Infile => {
                self.row.clear();
                self.row.extend_from_slice(&payload[1..]);
                Ok(Found::Infile)
            }
            (Step::First, 0xfb) => Err(broken("it asks for a file that we did not offer")),
            (Step::First, 0xfe) => Err(broken("an end of rows without rows")),
            (Step::First, _) if self.prepares() => {
                Err(broken("rows where a prepared statement was due"))
            }
            (Step::First, _) => self.column_count(payload),
            (Step::Rows, _) => {
                let done = control::rows_end(payload, self.deprecate_eof)?;
                Ok(self.result_end(done))
            }
            (_, 0xfe) if payload.len() < 9 => match self.definitions_end() {
                true => Ok(Found::Done),
                false => Ok(Found::More),
            },
            _ => Err(broken(format_args!("packet 0x{first:02x} amid column definitions"))),
        }
    }

    fn ok(&mut self, payload: &[u8]) -> Result<Found> {
        let done = control::ok(payload)?;
        self.affected = self.affected.saturating_add(done.affected);
        Ok(self.result_end(done))
    }

    /// One result is over; perhaps another follows.
    #[inline]
    fn result_end(&mut self, done: control::Done) -> Found {
        self.status = done.status;
        self.lifts_guard |= done.lifts_guard;
        self.step = Step::First;
        if done.status & status::MORE_RESULTS != 0 { Found::More } else { Found::Done }
    }

    fn column_count(&mut self, payload: &[u8]) -> Result<Found> {
        let (columns, definitions) = control::column_count(payload, self.caches_metadata)?;
        self.columns = columns;
        if let (Expect::Rows(kept), true) = (self.expect, definitions) {
            self.known_of(kept).clear();
        }
        self.step = if definitions { Step::Definitions(columns) } else { Step::Rows };
        Ok(Found::More)
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<Found> {
        let prepared = control::prepared(payload)?;
        self.statement_id = prepared.id;
        self.params = prepared.params;
        let (params, columns) = (self.params, u64::from(prepared.columns));
        if let Expect::PreparedColumns(kept) = self.expect {
            self.known_of(kept).clear();
        }
        self.step = match params {
            0 => Step::PreparedColumns(columns),
            _ => Step::PreparedParams(u64::from(params), columns),
        };
        Ok(if params == 0 && columns == 0 { Found::Done } else { Found::More })
    }
}
