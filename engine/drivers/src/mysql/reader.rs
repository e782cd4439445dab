//! Parses replies packet by packet, split at any byte. A [`Content`] receives their contents: rows
//! in pieces as they arrive, everything else whole.
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

/// The result of [`Reader::feed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No complete item.
    More,
    /// The whole reply.
    Done,
    /// The server requests the offered file.
    Infile,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    /// OK, ERR, LOCAL INFILE or a column count.
    #[default]
    First,
    /// Remaining definitions, followed by an EOF packet unless EOF packets are deprecated.
    Definitions(u64, Of),
    /// Rows, ended by OK, EOF or ERR.
    Rows,
}

/// The kind of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The columns of a result.
    Result,
    /// A prepared statement's parameters; this many columns follow them.
    Params(u64),
    /// A prepared statement's columns.
    Columns,
}

/// The consumer of a reply's contents.
pub trait Content {
    /// The replies that a request may have.
    type Expect;

    /// A request was sent; its reply comes next, and the last one is discarded.
    fn begin(&mut self, expect: Self::Expect);

    /// Whether the request in flight prepares a statement.
    fn prepares(&self) -> bool;

    /// Whether the client offers the file that the server requests.
    fn offers(&mut self, _name: &[u8]) -> bool {
        false
    }

    /// The server prepared a statement.
    fn prepared(&mut self);

    /// Rows with this many columns follow; `true` if their definitions come first.
    fn columns(&mut self, columns: u64, follow: bool);

    /// A column definition.
    fn definition(&mut self, of: Of, payload: &[u8]) -> Result<()>;

    /// A row begins; [`take`](Self::take) receives its bytes.
    fn row(&mut self, length: usize) -> Result<()>;

    /// The row continues in another packet.
    fn go_on(&mut self, length: usize) -> Result<()>;

    /// Consumes the bytes of `input` that belong to the current row; returns their number.
    fn take(&mut self, input: &[u8]) -> Result<usize>;

    /// Whether the current row is incomplete.
    fn is_amid_row(&self) -> bool;

    /// One result is complete.
    fn end(&mut self, affected: u64) -> Result<()>;

    /// The server refuses the request, which ends the reply.
    fn refuse(&mut self, refused: ServerError) -> Result<()>;
}

/// Parses the replies of one connection, in order.
#[derive(Debug, Default)]
pub struct Reader<C> {
    deprecate_eof: bool,
    /// Replies to a prepared statement may omit definitions.
    pub caches_metadata: bool,
    /// The compressed protocol wraps the packets. Servers then renumber the packets at each flush,
    /// so the numbers are not checked.
    is_compressed: bool,
    step: Step,
    /// Sequence number that the next packet must have; none where the request may have taken
    /// several packets, since the reply continues their count.
    seq: Option<u8>,
    /// The last packet of the row was full: the row continues in the next one.
    continued: bool,
    /// The last status flags of this connection.
    pub status: u16,
    /// A statement ended the session's read-only mode.
    pub lifts_guard: bool,
    /// The statement just prepared.
    pub prepared: Prepared,
    /// The last reply.
    pub reply: C,
}

impl<C: Content + Default> Reader<C> {
    /// For a connection that has just negotiated its capabilities.
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
    /// A request was sent; its reply comes next.
    #[inline]
    pub fn begin(&mut self, expect: C::Expect) {
        self.step = Step::First;
        self.seq = None;
        self.continued = false;
        self.reply.begin(expect);
    }

    /// A request was sent; the first packet of its reply has number `seq`.
    pub fn resume(&mut self, expect: C::Expect, seq: u8) {
        self.begin(expect);
        self.seq = Some(seq);
    }

    /// Sequence number of the next packet.
    pub fn next_seq(&self) -> u8 {
        self.seq.unwrap_or(1)
    }

    /// Whether a row is partly consumed.
    pub fn is_amid_packet(&self) -> bool {
        self.continued || self.reply.is_amid_row()
    }

    /// Whether string literals have backslash escapes.
    pub fn backslash(&self) -> bool {
        self.status & status::NO_BACKSLASH_ESCAPES == 0
    }

    /// Whether the session is in autocommit mode without an open transaction.
    pub fn autocommits(&self) -> bool {
        self.status & (status::AUTOCOMMIT | status::IN_TRANSACTION) == status::AUTOCOMMIT
    }

    /// Parses the front of `input`; returns the bytes consumed and the item found.
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

    /// Whether the packet with the first byte `first` is a row. A row may begin with 0xfe too, but
    /// then its packet is full (or, where rows end with an EOF packet, at least nine bytes long).
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

    /// Handles a whole packet that is not a row.
    #[inline]
    fn control(&mut self, first: u8, payload: &[u8], seq: u8) -> Result<Found> {
        if first == 0xff {
            // Its number is not checked: servers that shut down send 0 here.
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
                // Where EOF packets are deprecated, no packet ends the definitions.
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

    /// Continues after definitions.
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

    /// One result is complete; another may follow.
    #[inline]
    fn result_end(&mut self, done: Done) -> Result<Found> {
        self.reply.end(done.affected)?;
        self.status = done.status;
        self.lifts_guard |= done.lifts_guard;
        self.step = Step::First;
        Ok(if done.status & status::MORE_RESULTS != 0 { Found::More } else { Found::Done })
    }
}
