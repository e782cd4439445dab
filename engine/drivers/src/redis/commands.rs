//! Requests as commands; the parts common to all calls are encoded once.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::request::{KeyValue, Store, Verb};
use dyno_core::workload::{self, Op, Request, Transaction, Value, put_decimal};
use dyno_protocol::resp::{put_command, put_word};

/// How a reply counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// As a row, if the record exists.
    Row,
    /// As a written record.
    Write,
}

/// One type of command.
#[derive(Debug)]
pub(super) struct Command {
    pub counts: Counts,
    /// Its statement class, for messages.
    pub class: String,
    /// Whether the value that it reads is kept.
    pub keeps: bool,
    /// Prefix of the key.
    prefix: Vec<u8>,
    /// The command up to the key.
    head: Vec<u8>,
    /// Index of the key's parameter.
    key: usize,
    /// For each value, the bytes before it and the index of its parameter.
    values: Vec<(Vec<u8>, usize)>,
    tail: Vec<u8>,
}

/// The prefix of the names of a store's keys.
pub(super) fn key_prefix(prefix: &str, store: &str) -> String {
    format!("{prefix}{store}:")
}

impl Command {
    /// The command for a request.
    ///
    /// # Errors
    /// [`Kind::Plan`] for a request that is not an operation on a record.
    pub fn of(request: &Request, prefix: &str) -> Result<Self> {
        let workload::Command::KeyValue(KeyValue { store, verb }) = &request.command else {
            return Err(cannot(request, "it is no operation on a record"));
        };
        let fields = store.fields.len();
        if request.keeps && (*verb != Verb::Read || fields > 1) {
            return Err(cannot(request, "this driver keeps only rows of one field"));
        }
        let (counts, key, values) = match verb {
            Verb::Read => (Counts::Row, 0, vec![]),
            Verb::Update(field) => (Counts::Write, 1, vec![(usize::from(*field), 0)]),
            Verb::Insert => (Counts::Write, 0, (0..fields).map(|n| (n, n + 1)).collect()),
            Verb::Scan => return Err(cannot(request, "keys have no order")),
        };
        let prefix = key_prefix(prefix, &store.name);
        let (class, keeps) = (request.class.clone(), request.keeps);
        Ok(Self { class, keeps, ..Self::new(store, prefix, counts, key, &values) })
    }

    /// A command that adds a record, with key and values in order. A string is only written if the
    /// key does not exist.
    pub fn insert(store: &Store, prefix: String) -> Self {
        let values: Vec<_> = (0..store.fields.len()).map(|n| (n, n + 1)).collect();
        let mut command = Self::new(store, prefix, Counts::Write, 0, &values);
        if store.fields.len() == 1 {
            command.head.clear();
            put_command(4, &mut command.head);
            put_word(b"SET", b"", &mut command.head);
            put_word(b"NX", b"", &mut command.tail);
        }
        command
    }

    fn new(
        store: &Store,
        prefix: String,
        counts: Counts,
        key: usize,
        values: &[(usize, usize)],
    ) -> Self {
        let is_string = store.fields.len() == 1;
        let word: &[u8] = match (counts, is_string) {
            (Counts::Row, true) => b"GET",
            (Counts::Row, false) => b"HGETALL",
            (Counts::Write, true) => b"SET",
            (Counts::Write, false) => b"HSET",
        };
        let mut head = Vec::new();
        put_command(2 + values.len() * if is_string { 1 } else { 2 }, &mut head);
        put_word(word, b"", &mut head);
        let name = |field: usize| {
            let mut name = Vec::new();
            if !is_string {
                put_word(store.fields[field].as_bytes(), b"", &mut name);
            }
            name
        };
        let values = values.iter().map(|&(field, param)| (name(field), param)).collect();
        let prefix = prefix.into_bytes();
        let class = String::new();
        Self { counts, class, keeps: false, prefix, head, key, values, tail: Vec::new() }
    }

    /// Appends the command. `param` returns the text of a parameter by its number.
    #[inline]
    pub fn put<'a>(&self, param: impl Fn(usize) -> &'a [u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        put_word(&self.prefix, param(self.key), out);
        for (name, number) in &self.values {
            out.extend_from_slice(name);
            put_word(param(*number), b"", out);
        }
        out.extend_from_slice(&self.tail);
    }

    /// Appends operation `op` of `tx`.
    #[inline]
    pub fn request(&self, op: &Op, tx: &Transaction, digits: &mut Digits, out: &mut Vec<u8>) {
        let values = tx.values_of(op);
        if values.iter().all(|value| matches!(value, Value::Text(_))) {
            let text = |number: usize| match &values[number] {
                Value::Text(range) => tx.text_of(range),
                _ => &[],
            };
            return self.put(text, out);
        }
        digits.text.clear();
        digits.ends.clear();
        for value in values {
            put_value(value, tx, &mut digits.text);
            digits.ends.push(digits.text.len());
        }
        let Digits { text, ends } = &*digits;
        let begin = |number: usize| number.checked_sub(1).map_or(0, |before| ends[before]);
        self.put(|number| &text[begin(number)..ends[number]], out);
    }
}

/// Parameters as text, concatenated in a reused buffer.
#[derive(Debug, Default)]
pub(super) struct Digits {
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// Appends a value as text; nothing for NULL.
fn put_value(value: &Value, tx: &Transaction, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(number) => {
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
        }
        Value::Decimal { unscaled, scale } => put_decimal(*unscaled, *scale, out),
        Value::Double(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Bool(truth) => out.push(if *truth { b'1' } else { b'0' }),
        Value::Text(range) => out.extend_from_slice(tx.text_of(range)),
    }
}

fn cannot(request: &Request, why: &str) -> Error {
    let what = format!("driver redis cannot send `{}`: {why}", request.class);
    Error::new(Kind::Plan, what).hint("it reads, updates and inserts records by their keys")
}
