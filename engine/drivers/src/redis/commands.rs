//! Requests as commands; the parts common to all calls are encoded once.
//!
//! A write may be followed by `WAIT`, and a write that carries an identity goes between `MULTI` and
//! `EXEC` with an `RPUSH` of it: all in one flight. Source: Redis documentation, "Transactions", and
//! the page of `WAIT`.

use super::login::{Login, Wait};
use super::slots::{Prefix, Tags};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::request::{KeyValue, Store, Verb};
use dyno_core::workload::{self, Op, Request, Transaction, Value, put_decimal};
use dyno_protocol::resp::{self, put_command, put_word};
use std::sync::Arc;

/// What the names of the lists of identities begin with, after the keys' prefix.
const IDENTITIES: &str = "dbdyno_audit:";
/// Values of an identity: session, number, attempt.
const IDENTITY: usize = 3;
/// Before and after what is done in one step.
const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// How a reply counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// As a row, if the record exists.
    Row,
    /// As a written record.
    Write,
}

/// The replies to an operation, in order: those to `MULTI` and to what is queued, that which counts,
/// and that to `WAIT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replies {
    /// How the one counts that does.
    pub counts: Counts,
    /// Number of replies that have not come.
    pub left: u8,
    /// The value of `left` when the one comes that counts.
    pub counted: u8,
}

/// Where identities are stored.
#[derive(Debug)]
struct Identities {
    /// The lists' names up to the hash tag.
    head: Vec<u8>,
    /// Of a cluster: what puts a list into the slot of the record.
    tags: Option<Arc<Tags>>,
}

/// One type of command.
#[derive(Debug)]
pub(super) struct Command {
    pub replies: Replies,
    /// Its statement class, for messages.
    pub class: String,
    /// Whether the value that it reads is kept.
    pub keeps: bool,
    /// Prefix of the key.
    prefix: Vec<u8>,
    /// The same, hashed; of nodes of a cluster only.
    slots: Option<Prefix>,
    identities: Option<Identities>,
    /// The command up to the key.
    head: Vec<u8>,
    /// Index of the key's parameter.
    key: usize,
    /// For each value, the bytes before it and the index of its parameter.
    values: Vec<(Vec<u8>, usize)>,
    tail: Vec<u8>,
    /// `WAIT`, of writes that wait for replicas.
    wait: Vec<u8>,
}

/// The prefix of the names of a store's keys.
pub(super) fn key_prefix(prefix: &str, store: &str) -> String {
    format!("{prefix}{store}:")
}

impl Command {
    /// The commands for all requests of a group. `routed`: they go to nodes of a cluster.
    ///
    /// # Errors
    /// [`Kind::Plan`] for a request that is not an operation on a record, and for a prefix that
    /// would decide the slots of all keys.
    pub fn all(requests: &[Request], login: &Login, routed: bool) -> Result<Arc<[Self]>> {
        let tags = requests.iter().any(|request| request.identified && routed);
        let tags = tags.then(|| Arc::new(Tags::new()));
        let command = |request: &Request| {
            let mut command = Self::of(request, &login.prefix)?;
            if routed {
                let slots = Prefix::new(&command.prefix).ok_or_else(|| {
                    let what =
                        format!("option `prefix` of driver redis cannot be {}", login.prefix);
                    Error::new(Kind::Plan, what).hint("in a cluster a brace decides a key's slot")
                })?;
                command.slots = Some(slots);
            }
            if request.identified {
                let head = format!("{}{IDENTITIES}", login.prefix).into_bytes();
                command.identities = Some(Identities { head, tags: tags.clone() });
                // Those to MULTI, to both commands as they are queued, and to EXEC.
                command.replies.left = 4;
            }
            if let (Counts::Write, Some(wait)) = (command.replies.counts, &login.wait) {
                command.wait_for(wait);
            }
            Ok(command)
        };
        requests.iter().map(command).collect()
    }

    /// Has each call wait for replicas.
    fn wait_for(&mut self, wait: &Wait) {
        let mut buffers = [itoa::Buffer::new(), itoa::Buffer::new()];
        let [replicas, timeout] = &mut buffers;
        let words = [
            b"WAIT".as_slice(),
            replicas.format(wait.replicas).as_bytes(),
            timeout.format(wait.timeout_ms).as_bytes(),
        ];
        resp::command(&words, &mut self.wait);
        self.replies.left += 1;
        self.replies.counted += 1;
    }

    /// The command for a request.
    ///
    /// # Errors
    /// [`Kind::Plan`] for a request that is not an operation on a record.
    fn of(request: &Request, prefix: &str) -> Result<Self> {
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
        Self {
            replies: Replies { counts, left: 1, counted: 1 },
            class: String::new(),
            keeps: false,
            prefix: prefix.into_bytes(),
            slots: None,
            identities: None,
            head,
            key,
            values,
            tail: Vec::new(),
            wait: Vec::new(),
        }
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

    /// The slot of the record of operation `op` of `tx`, in a cluster.
    #[inline]
    pub fn slot(&self, op: &Op, tx: &Transaction) -> u16 {
        self.slots.as_ref().map_or(0, |prefix| match &tx.values_of(op)[self.key] {
            Value::Text(range) => prefix.slot(tx.text_of(range)),
            other => {
                let mut text = Vec::new();
                put_value(other, tx, &mut text);
                prefix.slot(&text)
            }
        })
    }

    /// Appends operation `op` of `tx`.
    #[inline]
    pub fn request(&self, op: &Op, tx: &Transaction, digits: &mut Digits, out: &mut Vec<u8>) {
        match &self.identities {
            None => self.operation(tx.values_of(op), tx, digits, out),
            Some(identities) => self.identified(identities, op, tx, digits, out),
        }
        out.extend_from_slice(&self.wait);
    }

    /// Appends a write together with its identity, the operation's last values.
    fn identified(
        &self,
        identities: &Identities,
        op: &Op,
        tx: &Transaction,
        digits: &mut Digits,
        out: &mut Vec<u8>,
    ) {
        let values = tx.values_of(op);
        let (own, identity) = values.split_at(values.len().saturating_sub(IDENTITY));
        out.extend_from_slice(MULTI);
        self.operation(own, tx, digits, out);
        let tag = identities.tags.as_ref().map_or(0, |tags| tags.of(self.slot(op, tx)));
        let text = &mut digits.text;
        text.clear();
        text.push(b'{');
        text.extend_from_slice(itoa::Buffer::new().format(tag).as_bytes());
        text.push(b'}');
        let end = text.len();
        for (place, value) in identity.iter().enumerate() {
            if place > 0 {
                text.push(b':');
            }
            put_value(value, tx, text);
        }
        put_command(3, out);
        put_word(b"RPUSH", b"", out);
        put_word(&identities.head, &text[..end], out);
        put_word(&text[end..], b"", out);
        out.extend_from_slice(EXEC);
    }

    /// Appends the command with these values.
    #[inline]
    fn operation(
        &self,
        values: &[Value],
        tx: &Transaction,
        digits: &mut Digits,
        out: &mut Vec<u8>,
    ) {
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
