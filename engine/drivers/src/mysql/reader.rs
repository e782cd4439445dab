//! Replies on their way in, packet by packet, split at any byte. Who wants what is in them is a
//! [`Content`]: it has rows in pieces as they come, and everything else whole.
//!
//! Sources: MySQL protocol, "Text Resultset", "Binary Protocol Resultset", "OK_Packet",
//! "EOF_Packet", "COM_STMT_PREPARE Response", "LOCAL INFILE Request"; MariaDB knowledge base,
//! "Result Set Packets" (metadata caching).

use super::control::{self, Done, Prepared};
use super::errors;
use super::flags::{capability, status};
use super::login::handshake::Agreed;
use super::packet::{CONTROL_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX, broken, header};
use dyno_core::driver::ServerError;
use dyno_core::error::Result;

/// What [`Reader::feed`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing complete.
    More,
    /// The whole reply.
    Done,
    /// The server asks for the file that was offered.
    Infile,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    /// OK, ERR, LOCAL INFILE or a column count.
    #[default]
    First,
    /// Definitions still to come, then, unless they are deprecated, an EOF packet.
    Definitions(u64, Of),
    /// Rows, ended by OK, EOF or ERR.
    Rows,
}

/// What is being defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The columns of a result.
    Result,
    /// A prepared statement's parameters; so many columns come behind them.
    Params(u64),
    /// A prepared statement's columns.
    Columns,
}

/// What is to be had of a reply.
pub trait Content {
    /// What a request may be answered with.
    type Expect;

    /// A request went out; its reply comes next, and the last one is forgotten.
    fn begin(&mut self, expect: Self::Expect);

    /// Whether the request in flight prepares a statement.
    fn prepares(&self) -> bool;

    /// Whether this file is offered to the server, which asks for it.
    fn offers(&mut self, _name: &[u8]) -> bool {
        false
    }

    /// A statement is prepared.
    fn prepared(&mut self);

    /// Rows of so many columns come; whether their definitions come before them.
    fn columns(&mut self, columns: u64, follow: bool);

    /// A definition.
    fn definition(&mut self, of: Of, payload: &[u8]) -> Result<()>;

    /// A row begins; [`take`](Self::take) has its bytes.
    fn row(&mut self, length: usize) -> Result<()>;

    /// The row goes on in another packet.
    fn go_on(&mut self, length: usize) -> Result<()>;

    /// Takes as much of `input` as belongs to the row under way; returns how much.
    fn take(&mut self, input: &[u8]) -> Result<usize>;

    /// Whether a part of the row under way is still to come.
    fn is_amid_row(&self) -> bool;

    /// One result is whole.
    fn end(&mut self, affected: u64) -> Result<()>;

    /// The server refuses, which ends the reply.
    fn refuse(&mut self, refused: ServerError) -> Result<()>;
}

/// Reads the replies of one connection, one after the other.
#[derive(Debug, Default)]
pub struct Reader<C> {
    deprecate_eof: bool,
    /// Definitions may be left out of replies to a prepared statement.
    pub caches_metadata: bool,
    /// The compressed protocol is around packets. Servers then set the packets' own numbers anew
    /// wherever they send what they have: they are not checked.
    is_compressed: bool,
    step: Step,
    /// Sequence number that the next packet must carry; none where the request may have taken
    /// several packets, since the reply counts on from the last of them.
    seq: Option<u8>,
    /// The last row's packet was full: the row goes on in the next one.
    continued: bool,
    /// The last status flags seen, on this connection.
    pub status: u16,
    /// A statement has had the session no longer read-only.
    pub lifts_guard: bool,
    /// The statement just prepared.
    pub prepared: Prepared,
    /// The last reply.
    pub reply: C,
}

impl<C: Content + Default> Reader<C> {
    /// For a connection that has just agreed on its capabilities.
    pub fn new(agreed: &Agreed) -> Self {
        Self {
            deprecate_eof: agreed.has(capability::DEPRECATE_EOF),
            caches_metadata: agreed.caches_metadata(),
            is_compressed: agreed.has(capability::COMPRESS),
            ..Self::default()
        }
    }
}

impl<C: Content> Reader<C> {
    /// A request went out; its reply comes next.
    #[inline]
    pub fn begin(&mut self, expect: C::Expect) {
        self.step = Step::First;
        self.seq = None;
        self.continued = false;
        self.reply.begin(expect);
    }

    /// The same, and the packet that comes next carries `seq`.
    pub fn resume(&mut self, expect: C::Expect, seq: u8) {
        self.begin(expect);
        self.seq = Some(seq);
    }

    /// Sequence number of the packet that follows.
    pub fn next_seq(&self) -> u8 {
        self.seq.unwrap_or(1)
    }

    /// Whether a part of a row is still to come of which the first is consumed.
    pub fn is_amid_packet(&self) -> bool {
        self.continued || self.reply.is_amid_row()
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
            at += self.reply.take(&input[at..])?;
            let rest = &input[at..];
            let Some((length, seq)) = header(rest) else { return Ok((at, Found::More)) };
            if self.continued {
                self.check_seq(seq)?;
                self.continued = length == PAYLOAD_BYTES_MAX;
                self.reply.go_on(length)?;
                at += HEADER_BYTES;
                continue;
            }
            if length == 0 {
                return Err(broken("an empty packet"));
            }
            let Some(&first) = rest.get(HEADER_BYTES) else { return Ok((at, Found::More)) };
            if self.begins_row(first, length) {
                self.check_seq(seq)?;
                self.continued = length == PAYLOAD_BYTES_MAX;
                self.reply.row(length)?;
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
            let found = self.control(first, payload, seq)?;
            if found != Found::More {
                return Ok((at, found));
            }
        }
    }

    /// Whether the packet that begins with `first` is a row. One may begin with 0xfe too, but then it
    /// is a full packet (or, where rows end with an EOF packet, at least nine bytes long).
    #[inline]
    fn begins_row(&self, first: u8, length: usize) -> bool {
        let end_bytes = if self.deprecate_eof { PAYLOAD_BYTES_MAX } else { 9 };
        self.step == Step::Rows && first != 0xff && (first != 0xfe || length >= end_bytes)
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

    /// Takes a whole packet that is no row.
    #[inline]
    fn control(&mut self, first: u8, payload: &[u8], seq: u8) -> Result<Found> {
        if first == 0xff {
            // Its number is not checked: servers on their way out send 0 here.
            self.reply.refuse(errors::parse(payload)?)?;
            return Ok(Found::Done);
        }
        self.check_seq(seq)?;
        match self.step {
            Step::Rows => {
                let done = control::rows_end(payload, self.deprecate_eof)?;
                self.result_end(Done { affected: 0, ..done })
            }
            Step::First => self.first(first, payload),
            Step::Definitions(0, of) if first == 0xfe && payload.len() < 9 => {
                self.definitions_end(of)
            }
            Step::Definitions(0, _) => {
                Err(broken(format_args!("packet 0x{first:02x} amid column definitions")))
            }
            Step::Definitions(left, of) => {
                self.step = Step::Definitions(left - 1, of);
                self.reply.definition(of, payload)?;
                // Where EOF packets are deprecated nothing else ends them.
                match left == 1 && self.deprecate_eof {
                    true => self.definitions_end(of),
                    false => Ok(Found::More),
                }
            }
        }
    }

    fn first(&mut self, first: u8, payload: &[u8]) -> Result<Found> {
        match first {
            0x00 if self.reply.prepares() => self.prepared(payload),
            0x00 => self.result_end(control::ok(payload)?),
            0xfb if self.reply.offers(&payload[1..]) => Ok(Found::Infile),
            0xfb => Err(broken("it asks for a file that we did not offer")),
            0xfe => Err(broken("an end of rows without rows")),
            _ if self.reply.prepares() => Err(broken("rows where a prepared statement was due")),
            _ => {
                let (columns, follow) = control::column_count(payload, self.caches_metadata)?;
                self.reply.columns(columns, follow);
                self.step = match follow {
                    true => Step::Definitions(columns, Of::Result),
                    false => Step::Rows,
                };
                Ok(Found::More)
            }
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<Found> {
        self.prepared = control::prepared(payload)?;
        self.reply.prepared();
        let (params, columns) = (self.prepared.params.into(), self.prepared.columns.into());
        match params {
            0 => self.definitions_end(Of::Params(columns)),
            _ => {
                self.step = Step::Definitions(params, Of::Params(columns));
                Ok(Found::More)
            }
        }
    }

    /// Moves on behind definitions.
    fn definitions_end(&mut self, of: Of) -> Result<Found> {
        self.step = match of {
            Of::Result => Step::Rows,
            Of::Params(columns) if columns > 0 => Step::Definitions(columns, Of::Columns),
            Of::Params(_) | Of::Columns => {
                self.reply.end(0)?;
                return Ok(Found::Done);
            }
        };
        Ok(Found::More)
    }

    /// One result is over; perhaps another follows.
    #[inline]
    fn result_end(&mut self, done: Done) -> Result<Found> {
        self.reply.end(done.affected)?;
        self.status = done.status;
        self.lifts_guard |= done.lifts_guard;
        self.step = Step::First;
        Ok(if done.status & status::MORE_RESULTS != 0 { Found::More } else { Found::Done })
    }
}
