//! Prepared statements of a connection, and the text of their executions.

use super::values;
use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer};
use dyno_protocol::bytes::Bytes;
use std::collections::HashMap;

/// Maximum number of prepared statements per connection.
const STATEMENTS: usize = 4096;
/// Maximum size of their texts and long values per connection, bytes.
const BYTES: usize = 16 << 20;
/// ID that stands for the last prepared statement (MariaDB's connectors).
const LAST: u32 = u32::MAX;

/// The prepared statements of a connection.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Slots by the server's statement ID.
    slots: HashMap<u32, u64>,
    statements: HashMap<u64, Statement>,
    last: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Statement {
    text: Vec<u8>,
    /// Byte offsets of its parameter markers.
    places: Vec<usize>,
    /// Number of parameters that the server reported.
    count: Option<usize>,
    types: Vec<u16>,
    /// Long values by parameter number, sent before the execution.
    long: HashMap<u16, Vec<u8>>,
}

impl Statement {
    fn size(&self) -> usize {
        self.text.len() + self.long.values().map(Vec::len).sum::<usize>()
    }
}

impl Prepared {
    /// Number of buffered bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes all statements.
    pub fn clear(&mut self) {
        (self.slots, self.statements, self.bytes) = Default::default();
    }

    /// Adds a statement that the client prepares, if the limits allow; returns its slot.
    pub fn begin(&mut self, text: &[u8]) -> u64 {
        self.last += 1;
        if self.statements.len() < STATEMENTS && self.bytes + text.len() <= BYTES {
            let mut lexer = Lexer::new(text, Language::Mysql);
            let mut places = vec![];
            loop {
                let token = lexer.next_token();
                match token.kind {
                    Kind::End => break,
                    Kind::Question => places.push(token.begin),
                    _ => {}
                }
            }
            self.bytes += text.len();
            let statement = Statement { text: text.to_vec(), places, ..Statement::default() };
            self.statements.insert(self.last, statement);
        }
        self.last
    }

    /// Records the server's answer: the statement's ID and its number of parameters.
    pub fn prepared(&mut self, slot: u64, id: u32, count: usize) {
        if let Some(statement) = self.statements.get_mut(&slot) {
            statement.count = Some(count);
            if let Some(before) = self.slots.insert(id, slot).filter(|&before| before != slot) {
                self.drop_slot(before);
            }
        }
    }

    /// Removes a statement, such as one that the server rejected.
    pub fn drop_slot(&mut self, slot: u64) {
        if let Some(statement) = self.statements.remove(&slot) {
            self.bytes -= statement.size();
        }
    }

    /// Closes the statement named in `body`, the command without its first byte.
    pub fn close(&mut self, body: &[u8]) {
        if let Some(id) = Bytes(body).little(4)
            && let Some(slot) = self.slot(id as u32)
        {
            self.slots.remove(&(id as u32));
            self.drop_slot(slot);
        }
    }

    /// Discards the long values of the statement named in `body`.
    pub fn reset(&mut self, body: &[u8]) {
        if let Some(id) = Bytes(body).little(4)
            && let Some(slot) = self.slot(id as u32)
            && let Some(statement) = self.statements.get_mut(&slot)
        {
            self.bytes -= statement.long.values().map(Vec::len).sum::<usize>();
            statement.long.clear();
        }
    }

    /// Appends a part of a long value, as far as the limit allows.
    pub fn long_data(&mut self, body: &[u8]) {
        let mut bytes = Bytes(body);
        if let Some(id) = bytes.little(4)
            && let Some(number) = bytes.little(2)
            && let Some(slot) = self.slot(id as u32)
            && let Some(statement) = self.statements.get_mut(&slot)
        {
            let room = BYTES.saturating_sub(self.bytes).min(bytes.0.len());
            statement.long.entry(number as u16).or_default().extend_from_slice(&bytes.0[..room]);
            self.bytes += room;
        }
    }

    fn slot(&self, id: u32) -> Option<u64> {
        if id == LAST { Some(self.last) } else { self.slots.get(&id).copied() }
    }

    /// The text of an executed statement, with its values in place of parameters if these are readable;
    /// `None` if the statement is unknown. `has_attributes`: as in
    /// [`attributed`](super::command::attributed).
    pub fn execute(&mut self, body: &[u8], has_attributes: Option<bool>) -> Option<Vec<u8>> {
        let mut bytes = Bytes(body);
        let slot = self.slot(bytes.little(4)? as u32)?;
        let statement = self.statements.get_mut(&slot)?;
        let text = statement.with_values(bytes, has_attributes);
        self.bytes -= statement.long.values().map(Vec::len).sum::<usize>();
        statement.long.clear();
        Some(text.unwrap_or_else(|| statement.text.clone()))
    }

    /// The text of a statement executed for many rows, without values; `None` if it is unknown.
    pub fn bulk_execute(&self, body: &[u8]) -> Option<Vec<u8>> {
        let slot = self.slot(Bytes(body).little(4)? as u32)?;
        Some(self.statements.get(&slot)?.text.clone())
    }
}

impl Statement {
    /// Replaces the parameters with values; `bytes` follow the statement's ID. `None` if the values are
    /// unreadable.
    fn with_values(
        &mut self,
        mut bytes: Bytes<'_>,
        has_attributes: Option<bool>,
    ) -> Option<Vec<u8>> {
        const HAS_COUNT: u8 = 8;
        let flags = bytes.byte()?;
        bytes.take(4)?;
        let given = self.count.unwrap_or(self.places.len());
        if given != self.places.len() {
            return None;
        }
        let has_attributes = has_attributes.unwrap_or(flags & HAS_COUNT != 0);
        let mut count = given;
        if has_attributes && (given > 0 || flags & HAS_COUNT != 0) {
            count = usize::try_from(bytes.lenenc()?).ok()?;
        }
        if count < given || count > usize::from(u16::MAX) {
            return None;
        }
        let nulls = bytes.take(count.div_ceil(8))?;
        if count > 0 && bytes.byte()? == 1 {
            self.types.clear();
            for _ in 0..count {
                self.types.push(bytes.little(2)? as u16);
                if has_attributes {
                    bytes.lenenc_string()?;
                }
            }
        }
        let mut text = Vec::with_capacity(self.text.len() + bytes.0.len());
        let mut copied = 0;
        for (number, &place) in self.places.iter().enumerate() {
            text.extend_from_slice(&self.text[copied..place]);
            copied = place + 1;
            if nulls[number / 8] >> (number % 8) & 1 == 1 {
                text.extend_from_slice(b"NULL");
            } else if let Some(long) = self.long.get(&(number as u16)) {
                values::text(long, &mut text);
            } else {
                values::write(*self.types.get(number)?, &mut bytes, &mut text)?;
            }
        }
        text.extend_from_slice(&self.text[copied..]);
        Some(text)
    }
}
