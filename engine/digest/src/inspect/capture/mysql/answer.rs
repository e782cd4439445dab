//! Tracks a server's answer to its last packet, and collects its results. Source: MySQL source
//! documentation, "Text Resultset", "OK_Packet", "EOF_Packet", "ERR_Packet".

use super::command::Reply;
use dyno_protocol::bytes::Bytes;
use dyno_protocol::mysql::control::{self, Prepared};
use dyno_protocol::mysql::flags::status;
use dyno_protocol::mysql::packet::PAYLOAD_BYTES_MAX;

/// Results of an answer so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Said {
    /// Rows sent to the client.
    pub rows: u64,
    /// Affected rows; `None` until the first OK packet.
    pub affected: Option<u64>,
    /// The server's error code; 0: none.
    pub error: u16,
    /// Of a prepared statement: its ID and its number of parameters.
    pub prepared: Option<(u32, usize)>,
}

/// State machine of an answer in progress.
#[derive(Debug)]
pub struct Answer {
    phase: Phase,
    /// Results so far.
    pub said: Said,
}

/// The packets expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first packet of a reply of this kind.
    Begin(Reply),
    /// So many column definitions, then rows.
    Columns(u64),
    /// The end of the column definitions, or rows.
    BehindColumns,
    Rows,
    /// Definitions of parameters and columns.
    Parts {
        left: u64,
        then: u64,
    },
    /// The client sends a file (LOAD DATA LOCAL).
    File,
}

/// Effect of a packet on the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// More packets follow.
    More,
    /// The answer is complete.
    End,
    /// The packet is invalid in this answer.
    Wrong,
}

/// A packet that begins with 0xFE ends the rows only if it is shorter than this: rows that begin with
/// that byte are longer.
const END_BELOW: usize = PAYLOAD_BYTES_MAX;

impl Answer {
    /// Starts the answer to a command with this kind of reply.
    pub fn new(reply: Reply) -> Self {
        let phase = if reply == Reply::Rows { Phase::Rows } else { Phase::Begin(reply) };
        Self { phase, said: Said::default() }
    }

    /// Whether the client is sending a file.
    pub fn is_taking_file(&self) -> bool {
        self.phase == Phase::File
    }

    /// Records the end of the client's file.
    pub fn file_ended(&mut self) {
        self.phase = Phase::Begin(Reply::Simple);
    }

    /// Processes a packet of `length` bytes, of which `body` holds the first ones. `without_eof`: whether
    /// the server omits the EOF packet after definitions; `None`: unknown so far.
    pub fn packet(&mut self, body: &[u8], length: usize, without_eof: &mut Option<bool>) -> Step {
        let Some(&first) = body.first() else {
            return match self.phase {
                _ if length > 0 => Step::Wrong,
                // A row has at least one column, but COM_STATISTICS may answer with an empty text.
                Phase::Begin(Reply::Simple) => Step::End,
                _ => Step::Wrong,
            };
        };
        let is_error = first == 0xFF;
        if is_error {
            let error = Bytes(&body[1..]).u16().unwrap_or(0);
            // MariaDB sends progress reports as error packets with code 0xFFFF.
            if error == 0xFFFF {
                return Step::More;
            }
            self.said.error = error.max(1);
            return Step::End;
        }
        let is_end = first == 0xFE && length < END_BELOW;
        let is_eof = is_end && length == 5;
        match self.phase {
            Phase::Begin(reply) => self.begin(reply, body, length),
            Phase::Columns(left) => {
                self.phase = if left > 1 { Phase::Columns(left - 1) } else { Phase::BehindColumns };
                Step::More
            }
            Phase::BehindColumns => {
                *without_eof = Some(!is_eof);
                if is_eof && status_of(body, true) & status::CURSOR == 0 {
                    self.phase = Phase::Rows;
                    return Step::More;
                }
                self.row(body, is_end, is_eof)
            }
            Phase::Rows => self.row(body, is_end, is_eof),
            Phase::Parts { left, then } => self.part(left, then, is_eof, without_eof),
            Phase::File => Step::Wrong,
        }
    }

    /// Processes a definition of a parameter or column, or the EOF packet after them.
    fn part(&mut self, left: u64, then: u64, is_eof: bool, without_eof: &mut Option<bool>) -> Step {
        if is_eof {
            *without_eof = Some(false);
            self.phase = Phase::Parts { left: then, then: 0 };
            return if then == 0 { Step::End } else { Step::More };
        }
        let (left, then) = if left == 0 { (then, 0) } else { (left, then) };
        let Some(left) = left.checked_sub(1) else { return Step::Wrong };
        self.phase = Phase::Parts { left, then };
        // If it is unknown whether an EOF packet follows, the answer ends here; the decoder skips a later
        // EOF packet.
        let waits = left + then > 0 || *without_eof == Some(false);
        if waits { Step::More } else { Step::End }
    }

    fn begin(&mut self, reply: Reply, body: &[u8], length: usize) -> Step {
        match (reply, body[0]) {
            (Reply::Simple | Reply::Login, _) => {
                if body[0] == 0 {
                    self.ok(body);
                }
                Step::End
            }
            (Reply::Columns, 0xFE) if length < END_BELOW => Step::End,
            (Reply::Columns, _) => Step::More,
            (Reply::Prepare, 0) => self.prepared(body),
            (Reply::Result, 0) => self.ok(body),
            (Reply::Result, 0xFB) => {
                self.phase = Phase::File;
                Step::More
            }
            (Reply::Result, _) => self.columns(body),
            _ => Step::Wrong,
        }
    }

    /// Reads the number of columns, and the optional flag whether their definitions follow.
    fn columns(&mut self, body: &[u8]) -> Step {
        let mut bytes = Bytes(body);
        let Some(count) = bytes.lenenc().filter(|&count| count > 0 && count <= 0xFFFF) else {
            return Step::Wrong;
        };
        self.phase = match bytes.0 {
            [] | [1] => Phase::Columns(count),
            [0] => Phase::BehindColumns,
            _ => return Step::Wrong,
        };
        Step::More
    }

    fn row(&mut self, body: &[u8], is_end: bool, is_eof: bool) -> Step {
        if !is_end {
            self.phase = Phase::Rows;
            self.said.rows += 1;
            return Step::More;
        }
        self.next_result(status_of(body, is_eof))
    }

    fn ok(&mut self, body: &[u8]) -> Step {
        let Ok(done) = control::ok(body) else { return Step::End };
        self.said.affected = Some(self.said.affected.unwrap_or(0).saturating_add(done.affected));
        self.next_result(done.status)
    }

    fn next_result(&mut self, status: u16) -> Step {
        if status & status::MORE_RESULTS == 0 {
            return Step::End;
        }
        self.phase = Phase::Begin(Reply::Result);
        Step::More
    }

    fn prepared(&mut self, body: &[u8]) -> Step {
        let Ok(Prepared { id, columns, params }) = control::prepared(body) else {
            return Step::End;
        };
        let (columns, parameters) = (u64::from(columns), u64::from(params));
        self.said.prepared = Some((id, params.into()));
        // Byte 12, if present, is the flag whether definitions follow.
        let is_described = body.get(12) != Some(&0);
        if columns + parameters == 0 || !is_described {
            return Step::End;
        }
        let (left, then) = if parameters > 0 { (parameters, columns) } else { (columns, 0) };
        self.phase = Phase::Parts { left, then };
        Step::More
    }
}

/// The status flags at the end of rows or definitions; 0 if the packet has none.
fn status_of(body: &[u8], is_eof: bool) -> u16 {
    control::rows_end(body, !is_eof).map_or(0, |done| done.status)
}
