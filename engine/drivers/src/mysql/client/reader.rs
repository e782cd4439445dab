//! Replies on their way in: rows are kept as they come, in pieces, by one copy each, and taken apart
//! only if somebody fetches them.
//!
//! Sources: MySQL protocol, "Text Resultset", "Binary Protocol Resultset", "COM_STMT_PREPARE
//! Response"; MariaDB knowledge base, "Result Set Packets" (metadata caching).

use crate::mysql::column::{Column, binary_row, text_row};
use crate::mysql::control::{self, Done, Prepared};
use crate::mysql::errors;
use crate::mysql::flags::{capability, status};
use crate::mysql::login::handshake::Agreed;
use crate::mysql::packet::{CONTROL_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX, broken, header};
use crate::results::{Results, give_back};
use dyno_core::client::Answer;
use dyno_core::driver::ServerError;
use dyno_core::error::Result;
use std::cell::Cell;

/// What the request in flight may be answered with.
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    /// OK, ERR or a column count.
    #[default]
    First,
    /// Definitions still to come, then, unless they are deprecated, an EOF packet.
    Definitions(u64, Of),
    /// Rows, ended by OK, EOF or ERR.
    Rows,
}

/// What is being defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The columns of a result.
    Result,
    /// A prepared statement's parameters; so many columns come behind them.
    Params(u64),
    /// A prepared statement's columns.
    Columns,
}

/// Reads the replies of one connection, one after the other, and keeps the last one.
#[derive(Default)]
pub struct Reader {
    deprecate_eof: bool,
    /// Definitions may be left out of replies to a prepared statement.
    pub caches_metadata: bool,
    /// The compressed protocol is around packets. Servers then set the packets' own numbers anew
    /// wherever they send what they have: they are not checked.
    is_compressed: bool,
    expect: Expect,
    step: Step,
    /// Sequence number that the next packet must carry; none where the request may have taken
    /// several packets, since the reply counts on from the last of them.
    seq: Option<u8>,
    /// The last row's packet was full: the row goes on in the next one.
    continued: bool,
    /// A statement has had the session no longer read-only.
    pub lifts_guard: bool,
    /// The last reply.
    results: Results,
    /// Columns of all its results whose rows are binary, one behind the other.
    columns: Vec<Column>,
    /// Which of `columns` are those of each result.
    defined: Vec<(usize, usize)>,
    /// The statement just prepared.
    pub prepared: Prepared,
    /// For text that is made of binary values.
    scratch: Cell<Vec<u8>>,
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

    /// A request went out; its reply comes next, and the last one is forgotten.
    #[inline]
    pub fn begin(&mut self, expect: Expect) {
        self.expect = expect;
        self.step = Step::First;
        self.seq = None;
        self.continued = false;
        self.results.clear();
        give_back(&mut self.columns);
        give_back(&mut self.defined);
        self.columns.clear();
        self.defined.clear();
    }

    /// The refusal that ended the last reply.
    #[inline]
    pub fn error(&self) -> Option<&ServerError> {
        self.results.answers().last().and_then(|answer| answer.error.as_deref())
    }

    /// The columns that were defined last.
    pub fn last_columns(&self) -> &[Column] {
        let last = self.defined.iter().rev().find(|(from, to)| from < to);
        last.map_or(&[], |&(from, to)| &self.columns[from..to])
    }

    /// Reads from the front of `input`; returns the bytes consumed and whether the reply is whole.
    #[inline]
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, bool)> {
        let mut at = 0;
        loop {
            at += self.results.take(&input[at..])?;
            let rest = &input[at..];
            let Some((length, seq)) = header(rest) else { return Ok((at, false)) };
            if self.continued {
                self.check_seq(seq)?;
                self.continued = length == PAYLOAD_BYTES_MAX;
                self.results.go_on(length)?;
                at += HEADER_BYTES;
                continue;
            }
            if length == 0 {
                return Err(broken("an empty packet"));
            }
            let Some(&first) = rest.get(HEADER_BYTES) else { return Ok((at, false)) };
            if self.begins_row(first, length) {
                self.check_seq(seq)?;
                self.continued = length == PAYLOAD_BYTES_MAX;
                self.results.row(length)?;
                at += HEADER_BYTES;
                continue;
            }
            if length > CONTROL_BYTES_MAX {
                return Err(broken(format_args!("a control packet of {length} bytes")));
            }
            let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else {
                return Ok((at, false));
            };
            at += HEADER_BYTES + length;
            if self.control(first, payload, seq)? {
                return Ok((at, true));
            }
        }
    }

    /// Whether a part of what the server is saying is still to come.
    pub fn is_amid_packet(&self) -> bool {
        self.continued || self.results.is_amid_row()
    }

    /// Whether the packet that begins with `first` is a row. One may begin with 0xfe too, but then it
    /// is a full packet (or, where rows end with an EOF packet, at least nine bytes long).
    #[inline]
    fn begins_row(&self, first: u8, length: usize) -> bool {
        let end_bytes = if self.deprecate_eof { PAYLOAD_BYTES_MAX } else { 9 };
        self.step == Step::Rows && first != 0xff && (first != 0xfe || length >= end_bytes)
    }

    /// Takes a whole packet that is no row. True: the reply is over.
    #[inline]
    fn control(&mut self, first: u8, payload: &[u8], seq: u8) -> Result<bool> {
        if first == 0xff {
            // Its number is not checked: servers on their way out send 0 here.
            self.defined.push((0, 0));
            self.results.refuse(errors::parse(payload)?);
            return Ok(true);
        }
        self.check_seq(seq)?;
        match self.step {
            Step::Rows => {
                let done = control::rows_end(payload, self.deprecate_eof)?;
                self.results.end(0)?;
                Ok(self.result_end(done))
            }
            Step::First => self.first(first, payload),
            Step::Definitions(0, of) if first == 0xfe && payload.len() < 9 => {
                self.definitions_end(of)
            }
            Step::Definitions(0, _) => {
                Err(broken(format_args!("packet 0x{first:02x} amid column definitions")))
            }
            Step::Definitions(left, of) => self.definition(left - 1, of, payload),
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

    fn first(&mut self, first: u8, payload: &[u8]) -> Result<bool> {
        match (first, self.expect) {
            (0x00, Expect::Prepared) => self.prepared(payload),
            (0x00, _) => {
                let done = control::ok(payload)?;
                self.defined.push((0, 0));
                self.results.end(done.affected)?;
                Ok(self.result_end(done))
            }
            (0xfb, _) => Err(broken("it asks for a file that we did not offer")),
            (0xfe, _) => Err(broken("an end of rows without rows")),
            (_, Expect::Prepared) => Err(broken("rows where a prepared statement was due")),
            _ => {
                let (columns, follow) = control::column_count(payload, self.caches_metadata)?;
                self.results.describe(columns as u32);
                self.defined.push((self.columns.len(), self.columns.len()));
                self.step = match follow {
                    true => Step::Definitions(columns, Of::Result),
                    false => Step::Rows,
                };
                Ok(false)
            }
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<bool> {
        self.prepared = control::prepared(payload)?;
        self.defined.push((0, 0));
        self.step = match (u64::from(self.prepared.params), u64::from(self.prepared.columns)) {
            (0, 0) => {
                self.results.end(0)?;
                return Ok(true);
            }
            (0, columns) => Step::Definitions(columns, Of::Columns),
            (params, columns) => Step::Definitions(params, Of::Params(columns)),
        };
        Ok(false)
    }

    #[inline]
    fn definition(&mut self, left: u64, of: Of, payload: &[u8]) -> Result<bool> {
        self.step = Step::Definitions(left, of);
        // Text needs none: every field comes as what is printed.
        if self.expect != Expect::Text && !matches!(of, Of::Params(_)) {
            self.results.count(size_of::<Column>())?;
            self.columns.push(Column::parse(payload)?);
        }
        // Where EOF packets are deprecated nothing else ends them.
        if left == 0 && self.deprecate_eof { self.definitions_end(of) } else { Ok(false) }
    }

    /// Moves on behind definitions. True: the reply is over.
    fn definitions_end(&mut self, of: Of) -> Result<bool> {
        if let Some(defined) = self.defined.last_mut() {
            defined.1 = self.columns.len();
        }
        match of {
            Of::Result => self.step = Step::Rows,
            Of::Params(columns) if columns > 0 => {
                self.step = Step::Definitions(columns, Of::Columns);
            }
            Of::Params(_) | Of::Columns => {
                self.results.end(0)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One result is over. True: and no other follows.
    #[inline]
    fn result_end(&mut self, done: Done) -> bool {
        self.lifts_guard |= done.lifts_guard;
        self.step = Step::First;
        done.status & status::MORE_RESULTS == 0
    }

    /// All results of the last reply.
    #[inline]
    pub fn answers(&self) -> &[Answer] {
        self.results.answers()
    }

    /// Hands over one row's fields as text. `known`: the columns of a result that defined none.
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
