//! Reassembles messages from lines that another program relays one by one: syslog, or a cloud's log
//! service. Lines of other processes may be between those of a message.
//!
//! Nothing marks the end of a message: it is emitted when its process begins another, or some lines later.

use crate::logs::format::Context;
use crate::logs::formats::postgres::lines::Strays;
use crate::logs::formats::postgres::message::{Message, verbose};
use crate::logs::formats::postgres::prefix::{Line, Prefix};
use crate::logs::formats::postgres::state::State;
use crate::logs::formats::postgres::timestamp::Timestamp;
use crate::logs::formats::postgres::words::Word;
use crate::sink::{Part, Sink};

/// A line without its wrapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Offset in the log, including the wrapping.
    pub(super) offset: u64,
    /// Length in the log, including the wrapping, bytes.
    pub(super) bytes: u64,
    /// Process id, if the wrapping has it.
    pub(super) pid: Option<u64>,
    /// Number of the message within its process, and of the line within the message, from 1.
    pub(super) number: Option<(u64, u64)>,
    /// Timestamp of the wrapping, nanoseconds since 1970 (UTC), if the prefix has none.
    pub(super) time_ns: Option<i64>,
    pub(super) text: &'a [u8],
    /// Whether PostgreSQL certainly wrote the line: selects the reason if it is not understood.
    pub(super) is_ours: bool,
}

/// Maximum number of open messages, one a process.
const OPEN_MAX: usize = 64;
/// A message ends so many lines after its last one.
const LINES_MAX: u64 = 256;
/// Limit of the memory of open messages, bytes.
const BYTES_MAX: usize = 64 << 20;
/// A closed message with larger buffers is freed, not reused.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// The state carried from part to part.
#[derive(Default)]
pub(super) struct Wrapped {
    /// Ordered by offset.
    open: Vec<Open>,
    spare: Vec<Open>,
    /// Number of lines read.
    lines: u64,
    /// Memory of the messages in `open`, bytes.
    held: usize,
}

/// A message whose lines are being read.
#[derive(Default)]
struct Open {
    /// Ranges (offset, bytes) of its lines, adjacent ones joined.
    places: Vec<(u64, u64)>,
    /// Number of the last line that it has.
    last_line: u64,
    pid: Option<u64>,
    /// Number within its process.
    number: Option<u64>,
    session: Option<u64>,
    moment: Option<Timestamp>,
    word: Option<Word>,
    /// The part to which further lines belong.
    last: Option<Word>,
    is_nested: bool,
    user: Vec<u8>,
    database: Vec<u8>,
    host: Vec<u8>,
    sqlstate: Vec<u8>,
    text: Vec<u8>,
    detail: Vec<u8>,
    statement: Vec<u8>,
}

/// A reader of one part of a log.
pub(super) struct Reading<'a> {
    pub(super) prefix: &'a Prefix,
    pub(super) context: &'a mut Context,
    pub(super) sink: &'a mut dyn Sink,
    state: Box<(State, Wrapped)>,
    strays: Strays,
}

impl<'a> Reading<'a> {
    /// Continues with the state in `context`.
    pub(super) fn new(
        prefix: &'a Prefix,
        utc_offset_s: i32,
        context: &'a mut Context,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let kept = context.state.take().and_then(|state| state.downcast().ok());
        let state =
            kept.unwrap_or_else(|| Box::new((State::new(utc_offset_s), Wrapped::default())));
        Self { prefix, context, sink, state, strays: Strays::default() }
    }

    /// Reads a line.
    pub(super) fn take(&mut self, piece: Piece<'_>) {
        let (state, wrapped) = &mut *self.state;
        wrapped.lines += 1;
        let read = self.prefix.read(piece.text, &mut state.clock);
        let begins = piece.number.is_none_or(|(_, line)| line == 1);
        let why = match read {
            Some(read) if read.word.is_severity() && begins => {
                self.begin(piece, &read);
                None
            }
            Some(read) if !read.word.is_severity() => {
                let open = wrapped.of(piece.pid.or(read.said.pid), piece.number);
                if let Some(open) = open {
                    wrapped.change(open, |open, line| open.part(piece, &read, line));
                }
                open.is_none().then_some("a part of a message that does not stand before it")
            }
            _ if begins && piece.number.is_some() => Some(UNKNOWN),
            _ => {
                let open = wrapped.of(piece.pid, piece.number);
                if let Some(open) = open {
                    wrapped.change(open, |open, line| open.extend(piece, line));
                }
                open.is_none().then_some(if piece.is_ours { NO_MESSAGE } else { FOREIGN })
            }
        };
        if let Some(why) = why {
            self.stray(piece.offset, piece.bytes, why);
        }
        self.close_old();
    }

    /// Reports bytes that are not a line of PostgreSQL.
    pub(super) fn stray(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.strays.add(offset, bytes, why, self.sink);
    }

    /// Begins a message, and emits the one before it of the same process.
    fn begin(&mut self, piece: Piece<'_>, read: &Line<'_>) {
        let pid = piece.pid.or(read.said.pid);
        if let Some(before) = self.state.1.open.iter().position(|open| open.pid == pid) {
            self.tell(before);
        }
        if self.state.1.open.len() == OPEN_MAX {
            self.tell(0);
        }
        let wrapped = &mut self.state.1;
        let mut open = wrapped.spare.pop().unwrap_or_default();
        open.begin(piece, read, pid, wrapped.lines);
        wrapped.held += open.held();
        wrapped.open.push(open);
    }

    /// Emits messages that have ended, and the oldest ones above the memory limit.
    fn close_old(&mut self) {
        loop {
            let wrapped = &self.state.1;
            let is_over = |open: &Open| open.last_line + LINES_MAX < wrapped.lines;
            if !wrapped.open.first().is_some_and(|open| is_over(open) || wrapped.held > BYTES_MAX) {
                return;
            }
            self.tell(0);
        }
    }

    fn tell(&mut self, at: usize) {
        let (state, wrapped) = &mut *self.state;
        let mut open = wrapped.open.remove(at);
        wrapped.held -= open.held();
        if let Some((message, moment)) = open.message() {
            state.take(message, moment, self.context, self.sink);
        }
        if open.held() <= SPARE_BYTES_MAX {
            open.clear();
            wrapped.spare.push(open);
        }
    }

    /// Ends `part`; emits all open messages if it is the last one.
    pub(super) fn end(mut self, part: Part<'_>) {
        self.strays.tell(self.sink);
        if part.is_last {
            while !self.state.1.open.is_empty() {
                self.tell(0);
            }
            self.state.0.sessions.finish(self.sink);
        }
        self.context.state = Some(self.state);
    }
}

const UNKNOWN: &str = "a line that does not begin as log_line_prefix says";
const NO_MESSAGE: &str = "a line of a message whose begin is not there";
const FOREIGN: &str = "a line of another program";

impl Wrapped {
    /// The message to which a further line belongs: that of its process, or the last one without a `pid`.
    fn of(&self, pid: Option<u64>, number: Option<(u64, u64)>) -> Option<usize> {
        let is_of = |open: &Open| match (number, open.number) {
            (Some((number, _)), Some(known)) => number == known,
            _ => true,
        };
        let found = match pid {
            Some(_) => self.open.iter().position(|open| open.pid == pid),
            None => (0..self.open.len()).max_by_key(|&at| self.open[at].last_line),
        };
        found.filter(|&at| is_of(&self.open[at]))
    }

    /// Changes a message by the current line, and updates the memory in use.
    fn change(&mut self, at: usize, change: impl FnOnce(&mut Open, u64)) {
        let open = &mut self.open[at];
        let before = open.held();
        change(open, self.lines);
        self.held = self.held - before + open.held();
    }
}

impl Open {
    fn begin(&mut self, piece: Piece<'_>, read: &Line<'_>, pid: Option<u64>, line: u64) {
        let said = &read.said;
        self.stands(piece, line);
        self.pid = pid;
        self.number = piece.number.map(|(number, _)| number);
        self.session = said.session.or(said.pid).or(pid);
        self.moment = said.moment.or(piece.time_ns.map(Timestamp::At));
        (self.word, self.last) = (Some(read.word), Some(read.word));
        self.user.extend_from_slice(said.user);
        self.database.extend_from_slice(said.database);
        self.host.extend_from_slice(said.host);
        self.sqlstate.extend_from_slice(said.sqlstate);
        self.text.extend_from_slice(read.text);
    }

    /// Adds the range of a line.
    fn stands(&mut self, piece: Piece<'_>, line: u64) {
        self.last_line = line;
        match self.places.last_mut() {
            Some((begin, bytes)) if *begin + *bytes == piece.offset => *bytes += piece.bytes,
            _ => self.places.push((piece.offset, piece.bytes)),
        }
    }

    /// Adds a part that begins with a word of its own.
    fn part(&mut self, piece: Piece<'_>, read: &Line<'_>, line: u64) {
        self.stands(piece, line);
        self.last = Some(read.word);
        self.is_nested |= read.word == Word::Context;
        if let Some(text) = self.last_text() {
            text.clear();
            text.extend_from_slice(read.text);
        }
    }

    /// Adds a further line, which begins with a tab, or the rest of a line that was split.
    fn extend(&mut self, piece: Piece<'_>, line: u64) {
        self.stands(piece, line);
        let Some(text) = self.last_text() else { return };
        match piece.text.strip_prefix(b"\t") {
            Some(rest) => {
                text.push(b'\n');
                text.extend_from_slice(rest);
            }
            None => text.extend_from_slice(piece.text),
        }
    }

    /// The text of the last part, if it is stored.
    fn last_text(&mut self) -> Option<&mut Vec<u8>> {
        match self.last? {
            Word::Detail => Some(&mut self.detail),
            Word::Statement => Some(&mut self.statement),
            Word::Context | Word::Other => None,
            _ => Some(&mut self.text),
        }
    }

    /// Capacity of the buffers that grow with lines, bytes.
    fn held(&self) -> usize {
        let texts = [&self.text, &self.detail, &self.statement].map(Vec::capacity);
        self.places.capacity() * size_of::<(u64, u64)>() + texts.iter().sum::<usize>()
    }

    fn message(&self) -> Option<(Message<'_>, Option<Timestamp>)> {
        let (sqlstate, text) = verbose(&self.text).unwrap_or((&self.sqlstate, &self.text));
        let message = Message {
            offset: self.places.first()?.0,
            bytes: self.places.iter().map(|(_, bytes)| bytes).sum(),
            places: &self.places,
            word: self.word?,
            end_ns: None,
            user: &self.user,
            database: &self.database,
            host: &self.host,
            sqlstate,
            pid: self.pid,
            session: self.session,
            text,
            detail: &self.detail,
            statement: &self.statement,
            is_nested: self.is_nested,
        };
        Some((message, self.moment))
    }

    /// Empties the message, and keeps the capacity of its buffers.
    fn clear(&mut self) {
        let Self { places, user, database, host, sqlstate, text, detail, statement, .. } =
            std::mem::take(self);
        let [user, database, host, sqlstate, text, detail, statement] =
            [user, database, host, sqlstate, text, detail, statement].map(emptied);
        let places = emptied(places);
        *self = Self {
            places,
            user,
            database,
            host,
            sqlstate,
            text,
            detail,
            statement,
            ..Self::default()
        };
    }
}

fn emptied<T>(mut held: Vec<T>) -> Vec<T> {
    held.clear();
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Kept;

    #[test]
    fn large_messages_leave_no_room_behind() {
        let prefix = Prefix::parse("").expect("a prefix");
        let (mut context, mut kept) = (Context::default(), Kept::default());
        let mut reading = Reading::new(&prefix, 0, &mut context, &mut kept);
        let long = [b"DETAIL:  ".as_slice(), &[b'x'; 1 << 20]].concat();
        let mut take = |pid: u64, text: &[u8]| {
            let (offset, bytes, pid) = (0, text.len() as u64, Some(pid));
            let (number, time_ns, is_ours) = (None, None, true);
            reading.take(Piece { offset, bytes, pid, number, time_ns, text, is_ours });
            let wrapped = &reading.state.1;
            let room = |open: &[Open]| open.iter().map(Open::held).sum::<usize>();
            assert_eq!(wrapped.held, room(&wrapped.open));
            assert!(wrapped.held <= BYTES_MAX);
            assert!(room(&wrapped.spare) <= OPEN_MAX * SPARE_BYTES_MAX);
            wrapped.open.len()
        };
        for pid in 0..OPEN_MAX as u64 {
            take(pid, b"LOG:  checkpoint starting: time");
        }
        let open: Vec<usize> = (0..OPEN_MAX as u64)
            .map(|pid| {
                take(pid, &long);
                // The text before is discarded, its buffer is not.
                take(pid, b"DETAIL:  x")
            })
            .collect();
        assert!(open[0] == OPEN_MAX && open[OPEN_MAX - 1] < OPEN_MAX, "{open:?}");
    }
}
