//! What clients ask. Source: MySQL source documentation, "Command Phase"; names as in servers' logs.

use super::values;
use crate::event::Kind;
use dyno_protocol::bytes::Bytes;

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    None,
    /// One packet.
    Simple,
    /// OK, an error, a file's request, or rows; perhaps several.
    Result,
    /// What is known of a statement.
    Prepare,
    /// Rows without a head.
    Rows,
    /// Descriptions of columns.
    Columns,
    /// Questions and answers until the client is let in.
    Login,
    /// Packets without end.
    Stream,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Its first byte.
    pub code: u8,
    /// As servers' logs call it.
    pub name: &'static [u8],
    /// What it is.
    pub kind: Kind,
    /// What follows.
    pub reply: Reply,
}

pub const QUIT: u8 = 1;
pub const INIT_DB: u8 = 2;
pub const QUERY: u8 = 3;
pub const CHANGE_USER: u8 = 17;
pub const PREPARE: u8 = 22;
pub const EXECUTE: u8 = 23;
pub const LONG_DATA: u8 = 24;
pub const CLOSE: u8 = 25;
pub const RESET: u8 = 26;
pub const RESET_CONNECTION: u8 = 31;
pub const BULK_EXECUTE: u8 = 250;

const fn command(code: u8, name: &'static [u8], kind: Kind, reply: Reply) -> Command {
    Command { code, name, kind, reply }
}

const COMMANDS: &[Command] = &[
    command(0, b"Sleep", Kind::Command, Reply::Simple),
    command(QUIT, b"Quit", Kind::Command, Reply::None),
    command(INIT_DB, b"Init DB", Kind::Command, Reply::Simple),
    command(QUERY, b"Query", Kind::Statement, Reply::Result),
    command(4, b"Field List", Kind::Command, Reply::Columns),
    command(5, b"Create DB", Kind::Command, Reply::Simple),
    command(6, b"Drop DB", Kind::Command, Reply::Simple),
    command(7, b"Refresh", Kind::Command, Reply::Simple),
    command(8, b"Shutdown", Kind::Command, Reply::Simple),
    command(9, b"Statistics", Kind::Command, Reply::Simple),
    command(10, b"Processlist", Kind::Command, Reply::Result),
    command(11, b"Connect", Kind::Command, Reply::Simple),
    command(12, b"Kill", Kind::Command, Reply::Simple),
    command(13, b"Debug", Kind::Command, Reply::Simple),
    command(14, b"Ping", Kind::Command, Reply::Simple),
    command(15, b"Time", Kind::Command, Reply::Simple),
    command(16, b"Delayed insert", Kind::Command, Reply::Simple),
    command(CHANGE_USER, b"Change user", Kind::Command, Reply::Login),
    command(18, b"Binlog Dump", Kind::Command, Reply::Stream),
    command(19, b"Table Dump", Kind::Command, Reply::Stream),
    command(20, b"Connect Out", Kind::Command, Reply::Simple),
    command(21, b"Register Slave", Kind::Command, Reply::Simple),
    command(PREPARE, b"Prepare", Kind::Prepare, Reply::Prepare),
    command(EXECUTE, b"Execute", Kind::Statement, Reply::Result),
    command(LONG_DATA, b"Long Data", Kind::Command, Reply::None),
    command(CLOSE, b"Close stmt", Kind::Command, Reply::None),
    command(RESET, b"Reset stmt", Kind::Command, Reply::Simple),
    command(27, b"Set option", Kind::Command, Reply::Simple),
    command(28, b"Fetch", Kind::Command, Reply::Rows),
    command(29, b"Daemon", Kind::Command, Reply::Simple),
    command(30, b"Binlog Dump GTID", Kind::Command, Reply::Stream),
    command(RESET_CONNECTION, b"Reset Connection", Kind::Command, Reply::Simple),
    command(32, b"Clone", Kind::Command, Reply::Stream),
    command(33, b"Subscribe Group Replication Stream", Kind::Command, Reply::Stream),
    command(BULK_EXECUTE, b"Bulk_execute", Kind::Statement, Reply::Result),
];

impl Command {
    /// By its code.
    pub fn of(code: u8) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.code == code)
    }
}

/// Whether a client's packets seem to begin here, and nothing else: for connections in their middle.
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

/// What stands behind the packet of a client that seems to begin here; `None`: none does.
fn behind_request(bytes: &[u8]) -> Option<&[u8]> {
    let (&[a, b, c, 0, code], body) = bytes.split_first_chunk::<5>()? else { return None };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    let body_length = length.checked_sub(1)?;
    let command = Command::of(code)?;
    let here = &body[..body.len().min(body_length)];
    let is_text = || {
        let text = attributed(here, None).unwrap_or(here).trim_ascii_start();
        text.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || b"(/#-".contains(&byte))
    };
    let fits = match command.code {
        QUERY | PREPARE => is_text(),
        EXECUTE => body_length >= 9,
        BULK_EXECUTE | LONG_DATA => body_length >= 6,
        CLOSE | RESET => body_length == 4,
        28 => body_length == 8,
        27 => body_length == 2,
        QUIT | 9 | 10 | 13 | 14 | RESET_CONNECTION => body_length == 0,
        INIT_DB | 4..=6 => body_length > 0 && body_length <= 512,
        CHANGE_USER => body_length > 2 && body_length <= 4096,
        7 | 8 => body_length <= 1,
        12 => body_length == 4,
        18 | 21 | 30 => (8..=65_536).contains(&body_length),
        _ => false,
    };
    // More than one packet of TCP: only statements are so long.
    let is_long = matches!(command.code, QUERY | PREPARE | EXECUTE | LONG_DATA | BULK_EXECUTE);
    let behind = body.get(body_length..).or(is_long.then_some(b""));
    behind.filter(|_| fits)
}

/// The statement behind its attributes, where it has some. `has`: whether the capability is set; none:
/// not known, then bytes that no statement begins with are taken for them.
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
