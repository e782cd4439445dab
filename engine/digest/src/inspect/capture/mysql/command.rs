//! Client commands. Source: MySQL source documentation, "Command Phase"; names as in server logs.

use super::values;
use crate::event::Kind;
use dyno_protocol::bytes::Bytes;
use dyno_protocol::mysql::flags::command;
use dyno_protocol::mysql::handshake::Greeting;
use dyno_protocol::mysql::packet;

/// Kind of the server's reply to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// No reply.
    None,
    /// One packet.
    Simple,
    /// OK, an error, a file request, or rows; possibly several results.
    Result,
    /// Metadata of a prepared statement.
    Prepare,
    /// Rows without column definitions.
    Rows,
    /// Column definitions.
    Columns,
    /// The authentication exchange.
    Login,
    /// An endless stream of packets.
    Stream,
}

/// A command of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Its first byte.
    pub code: u8,
    /// Its name in server logs.
    pub name: &'static [u8],
    /// Kind of its event.
    pub kind: Kind,
    /// Kind of the server's reply.
    pub reply: Reply,
}

const fn entry(code: u8, name: &'static [u8], kind: Kind, reply: Reply) -> Command {
    Command { code, name, kind, reply }
}

const COMMANDS: &[Command] = &[
    entry(0, b"Sleep", Kind::Command, Reply::Simple),
    entry(command::QUIT, b"Quit", Kind::Command, Reply::None),
    entry(command::INIT_DB, b"Init DB", Kind::Command, Reply::Simple),
    entry(command::QUERY, b"Query", Kind::Statement, Reply::Result),
    entry(command::FIELD_LIST, b"Field List", Kind::Command, Reply::Columns),
    entry(5, b"Create DB", Kind::Command, Reply::Simple),
    entry(6, b"Drop DB", Kind::Command, Reply::Simple),
    entry(7, b"Refresh", Kind::Command, Reply::Simple),
    entry(8, b"Shutdown", Kind::Command, Reply::Simple),
    entry(command::STATISTICS, b"Statistics", Kind::Command, Reply::Simple),
    entry(10, b"Processlist", Kind::Command, Reply::Result),
    entry(11, b"Connect", Kind::Command, Reply::Simple),
    entry(12, b"Kill", Kind::Command, Reply::Simple),
    entry(13, b"Debug", Kind::Command, Reply::Simple),
    entry(command::PING, b"Ping", Kind::Command, Reply::Simple),
    entry(15, b"Time", Kind::Command, Reply::Simple),
    entry(16, b"Delayed insert", Kind::Command, Reply::Simple),
    entry(command::CHANGE_USER, b"Change user", Kind::Command, Reply::Login),
    entry(18, b"Binlog Dump", Kind::Command, Reply::Stream),
    entry(19, b"Table Dump", Kind::Command, Reply::Stream),
    entry(20, b"Connect Out", Kind::Command, Reply::Simple),
    entry(21, b"Register Slave", Kind::Command, Reply::Simple),
    entry(command::STMT_PREPARE, b"Prepare", Kind::Prepare, Reply::Prepare),
    entry(command::STMT_EXECUTE, b"Execute", Kind::Statement, Reply::Result),
    entry(command::STMT_SEND_LONG_DATA, b"Long Data", Kind::Command, Reply::None),
    entry(command::STMT_CLOSE, b"Close stmt", Kind::Command, Reply::None),
    entry(command::STMT_RESET, b"Reset stmt", Kind::Command, Reply::Simple),
    entry(command::SET_OPTION, b"Set option", Kind::Command, Reply::Simple),
    entry(command::STMT_FETCH, b"Fetch", Kind::Command, Reply::Rows),
    entry(29, b"Daemon", Kind::Command, Reply::Simple),
    entry(30, b"Binlog Dump GTID", Kind::Command, Reply::Stream),
    entry(command::RESET_CONNECTION, b"Reset Connection", Kind::Command, Reply::Simple),
    entry(32, b"Clone", Kind::Command, Reply::Stream),
    entry(33, b"Subscribe Group Replication Stream", Kind::Command, Reply::Stream),
    entry(command::STMT_BULK_EXECUTE, b"Bulk_execute", Kind::Statement, Reply::Result),
];

impl Command {
    /// Looks up a command by its code.
    pub fn of(code: u8) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.code == code)
    }
}

/// Parses a server's greeting; `None` if the body is invalid or its version is implausible.
pub fn greeting(body: &[u8]) -> Option<Greeting> {
    Greeting::read(body).filter(|Greeting { version, .. }| {
        version.starts_with(|first: char| first.is_ascii_digit())
            && version.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// Whether a server's greeting begins here.
pub fn is_greeting(bytes: &[u8]) -> bool {
    let Some((length @ 30..=1024, 0)) = packet::header(bytes) else { return false };
    let body = &bytes[packet::HEADER_BYTES..];
    body.len() <= length && greeting(body).is_some()
}

/// Whether these bytes look like client packets only, for connections captured in the middle.
pub fn is_request(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        match behind_request(rest) {
            None => return false,
            Some(b"") => return true,
            Some(behind) => rest = behind,
        }
    }
}

/// The bytes after the client packet that seems to begin here; `None` if none does.
fn behind_request(bytes: &[u8]) -> Option<&[u8]> {
    let (length, 0) = packet::header(bytes)? else { return None };
    let (&code, body) = bytes[packet::HEADER_BYTES..].split_first()?;
    let body_length = length.checked_sub(1)?;
    let command = Command::of(code)?;
    let here = &body[..body.len().min(body_length)];
    let is_text = || {
        let text = attributed(here, None).unwrap_or(here).trim_ascii_start();
        text.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || b"(/#-".contains(&byte))
    };
    let fits = match command.code {
        command::QUERY | command::STMT_PREPARE => is_text(),
        command::STMT_EXECUTE => body_length >= 9,
        command::STMT_BULK_EXECUTE | command::STMT_SEND_LONG_DATA => body_length >= 6,
        command::STMT_CLOSE | command::STMT_RESET => body_length == 4,
        command::STMT_FETCH => body_length == 8,
        command::SET_OPTION => body_length == 2,
        command::QUIT | 9 | 10 | 13 | 14 | command::RESET_CONNECTION => body_length == 0,
        command::INIT_DB | 4..=6 => body_length > 0 && body_length <= 512,
        command::CHANGE_USER => body_length > 2 && body_length <= 4096,
        7 | 8 => body_length <= 1,
        12 => body_length == 4,
        18 | 21 | 30 => (8..=65_536).contains(&body_length),
        _ => false,
    };
    // Only statements extend beyond one TCP segment.
    let is_long = matches!(
        command.code,
        command::QUERY
            | command::STMT_PREPARE
            | command::STMT_EXECUTE
            | command::STMT_SEND_LONG_DATA
            | command::STMT_BULK_EXECUTE
    );
    let behind = body.get(body_length..).or(is_long.then_some(b""));
    behind.filter(|_| fits)
}

/// The statement without its query attributes; `None` if the attributes are malformed. `has`: whether
/// the capability is set; `None`: unknown, then bytes that begin no statement count as attributes.
pub fn attributed(body: &[u8], has: Option<bool>) -> Option<&[u8]> {
    let is = has.unwrap_or_else(
        || matches!(*body, [count, 1, ..] if count < b' ' && !count.is_ascii_whitespace()),
    );
    if !is {
        return Some(body);
    }
    let mut bytes = Bytes(body);
    let count = usize::try_from(bytes.lenenc()?).ok()?;
    if bytes.lenenc()? != 1 {
        return None;
    }
    if count > 0 {
        let nulls = bytes.take(count.div_ceil(8))?;
        if bytes.byte()? != 1 {
            return None;
        }
        let mut types = Vec::new();
        for _ in 0..count {
            types.push(bytes.little(2)? as u16);
            bytes.lenenc_string()?;
        }
        let mut unused = Vec::new();
        for (number, &kind) in types.iter().enumerate() {
            if nulls[number / 8] >> (number % 8) & 1 == 0 {
                unused.clear();
                values::write(kind, &mut bytes, &mut unused)?;
            }
        }
    }
    Some(bytes.0)
}
