//! MongoDB's log (4.4 and later): a JSON object a line, statements as `Slow query`.
//!
//! The log reports an `update`, `delete` or `bulkWrite` command twice: one line of the component WRITE
//! for each operation, with documents examined, and one line of COMMAND for the command, whose time
//! includes the operations. So that no time counts twice, the command's event has the remaining time,
//! and is not a statement if its operations were logged. This requires the lines in order.
//!
//! A `getMore` is logged with the command that opened its cursor, and counts as another call of it.
//!
//! Source: MongoDB's manual, "Log Messages" (structured logging, slow operations). Not tested on logs of
//! a live server.

use super::json::{Members, Value, unescape};
use super::postgres::timestamp::rfc3339;
use crate::event::{Event, Kind, Measure, Numbers};
use crate::facts::Facts;
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use crate::sql::mongo::GET_MORE;
use dyno_core::Result;
use std::collections::HashMap;

/// MongoDB's JSON log.
pub(super) const MONGODB: FormatKind = FormatKind {
    name: "mongodb",
    about: "MongoDB's JSON log (4.4 and later), its slow queries",
    is_seen_live: false,
    detect,
    open: |_settings: &Settings, _head: &[u8]| -> Result<Box<dyn Format>> { Ok(Box::new(MongoDb)) },
};

/// Id of the message `Slow query`.
const SLOW_QUERY: u64 = 51803;
/// Maximum number of sessions whose write times are stored for the command that follows.
const SESSIONS_MAX: usize = 1 << 16;

fn detect(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').take(20).any(|line| {
        line.starts_with(b"{\"t\":{\"$date\":") && memchr::memmem::find(line, b"\"msg\":").is_some()
    })
}

struct MongoDb;

/// Time of the writes that each session has logged since its last command, nanoseconds.
#[derive(Default)]
struct Writes(HashMap<u64, u64>);

/// A line's members.
#[derive(Default)]
struct Line<'a> {
    time: &'a [u8],
    component: &'a [u8],
    id: Option<u64>,
    /// The thread, such as `conn7`.
    context: &'a [u8],
    message: &'a [u8],
    attributes: Option<Value<'a>>,
}

impl Format for MongoDb {
    fn language(&self) -> Language {
        Language::Mongo
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let kept = context.state.take().and_then(|state| state.downcast::<Writes>().ok());
        let mut writes = kept.unwrap_or_default();
        let mut done = 0;
        while done < part.bytes.len() {
            let rest = &part.bytes[done..];
            let length = match memchr::memchr(b'\n', rest) {
                Some(end) => end + 1,
                None if part.is_last => rest.len(),
                None => break,
            };
            let (offset, bytes) = (part.offset + done as u64, length as u64);
            if let Err(why) = tell(&rest[..length], offset, &mut writes, context, sink) {
                sink.not_understood(offset, bytes, why);
            }
            done += length;
        }
        context.state = Some(writes);
        done
    }
}

fn tell(
    line: &[u8],
    offset: u64,
    writes: &mut Writes,
    context: &mut Context,
    sink: &mut dyn Sink,
) -> std::result::Result<(), &'static str> {
    let bytes = line.len() as u64;
    let line = read_line(line.trim_ascii()).ok_or("no line of MongoDB's JSON log")?;
    let time = rfc3339(line.time).ok_or("a line whose time cannot be parsed")?;
    context.time_ns = Some(time);
    let digits = line.context.strip_prefix(b"conn").unwrap_or_default();
    let session = Value::Word(digits).number();
    let event = Event { offset, bytes, end_ns: Some(time), session, ..Event::default() };
    let Some(attributes) = line.attributes else { return Ok(()) };
    if line.id == Some(SLOW_QUERY) || line.message == b"Slow query" {
        return slow_query(&line, attributes, event, writes, sink);
    }
    let connection = |text| -> Option<Event<'_>> {
        let host = host(attributes.member(b"remote")?.string()?);
        let session = attributes.member(b"connectionId").and_then(Value::number).or(session);
        Some(Event { kind: Kind::Command, text, host, session, ..event.clone() })
    };
    match line.message {
        b"Connection accepted" => connection(b"connect").iter().for_each(|event| sink.event(event)),
        b"Connection ended" => connection(b"quit").iter().for_each(|event| sink.event(event)),
        b"Build Info" => version(attributes, &mut context.facts),
        b"Options set by command line" => thresholds(attributes, &mut context.facts),
        _ => {}
    }
    Ok(())
}

fn read_line(line: &[u8]) -> Option<Line<'_>> {
    let mut read = Line::default();
    let mut members = Members::new(line)?;
    for (key, value) in members.by_ref() {
        match key {
            b"t" => read.time = value.member(b"$date")?.string()?,
            b"c" => read.component = value.string()?,
            b"id" => read.id = value.number(),
            b"ctx" => read.context = value.string()?,
            b"msg" => read.message = value.string()?,
            b"attr" => read.attributes = Some(value),
            _ => {}
        }
    }
    members.is_whole().then_some(read)
}

/// The attributes of a slow query except its measures.
#[derive(Default)]
struct Query<'a> {
    kind: &'a [u8],
    namespace: &'a [u8],
    command: &'a [u8],
    /// The command that opened the cursor.
    origin: &'a [u8],
    plan: &'a [u8],
    remote: &'a [u8],
    error: &'a [u8],
    duration_ms: Option<u64>,
}

fn slow_query(
    line: &Line<'_>,
    attributes: Value<'_>,
    event: Event<'_>,
    writes: &mut Writes,
    sink: &mut dyn Sink,
) -> std::result::Result<(), &'static str> {
    let mut numbers = Numbers::default();
    let mut query = Query::default();
    let members = attributes.members().ok_or("a slow query without attributes")?;
    for (key, value) in members {
        query.take(key, value);
        measure(key, value, &mut numbers);
    }
    let duration_ns = query.duration_ms.map(|ms| ms.saturating_mul(1_000_000));
    let duration_ns = duration_ns.ok_or("a slow query without its time")?;
    if query.command.is_empty() {
        return Err("a slow query without its command");
    }
    let (database, collection) = names(query.namespace);
    let mut written = Vec::new();
    let (mut name, mut plan) = (Vec::new(), Vec::new());
    let is_write = line.component == b"WRITE";
    let text = if is_write {
        // The operation lacks its collection: inserted where the command of that name has it.
        written.extend_from_slice(b"{\"");
        written.extend_from_slice(query.kind);
        written.extend_from_slice(b"\":\"");
        written.extend_from_slice(collection);
        written.extend_from_slice(b"\",");
        written.extend_from_slice(query.command[1..].trim_ascii_start());
        written.as_slice()
    } else if !query.origin.is_empty() && verb(query.command) == Some(GET_MORE) {
        query.origin
    } else {
        query.command
    };
    let mut told = Event {
        duration_ns: Some(duration_ns),
        text,
        database: unescape(database, &mut name),
        host: host(query.remote),
        error: query.error,
        plan: unescape(query.plan, &mut plan),
        numbers,
        ..event
    };
    if let Some(session) = told.session {
        if is_write {
            writes.add(session, duration_ns);
        } else if let Some(within) = writes.0.remove(&session)
            && is_of_writes(query.command)
        {
            told.kind = Kind::Command;
            told.duration_ns = Some(duration_ns.saturating_sub(within));
        }
    }
    sink.event(&told);
    Ok(())
}

impl Writes {
    fn add(&mut self, session: u64, ns: u64) {
        if self.0.len() >= SESSIONS_MAX {
            self.0.clear();
        }
        let sum = self.0.entry(session).or_default();
        *sum = sum.saturating_add(ns);
    }
}

/// Whether a command's operations have log lines of their own.
fn is_of_writes(command: &[u8]) -> bool {
    matches!(verb(command), Some(b"update" | b"delete" | b"bulkWrite"))
}

/// The name of a command: its first key.
fn verb(command: &[u8]) -> Option<&[u8]> {
    Members::new(command)?.next().map(|(key, _)| key)
}

impl<'a> Query<'a> {
    fn take(&mut self, key: &[u8], value: Value<'a>) {
        let text = value.string().unwrap_or_default();
        match key {
            b"type" => self.kind = text,
            b"ns" => self.namespace = text,
            b"remote" => self.remote = text,
            b"planSummary" => self.plan = text,
            b"durationMillis" => self.duration_ms = value.number(),
            b"command" => {
                if let Value::Object(object) = value {
                    self.command = object;
                }
            }
            b"originatingCommand" => {
                if let Value::Object(object) = value {
                    self.origin = object;
                }
            }
            b"errCode" => {
                if let Value::Word(code) = value {
                    self.error = code;
                }
            }
            b"errName" if self.error.is_empty() => self.error = text,
            _ => {}
        }
    }
}

fn measure(key: &[u8], value: Value<'_>, numbers: &mut Numbers) {
    let mut set = |measure, value: Option<u64>| {
        if let Some(value) = value {
            numbers.set(measure, value);
        }
    };
    let micros = |value: Option<u64>| value.map(|us| us.saturating_mul(1000));
    let flag = Some(u64::from(value == Value::Word(b"true")));
    match key {
        b"nreturned" => set(Measure::RowsSent, value.number()),
        b"docsExamined" => set(Measure::RowsExamined, value.number()),
        b"keysExamined" => set(Measure::KeysExamined, value.number()),
        b"nModified" | b"ninserted" | b"ndeleted" | b"nUpserted" => {
            let before = numbers.get(Measure::RowsAffected).unwrap_or(0);
            if let Some(count) = value.number() {
                numbers.set(Measure::RowsAffected, before.saturating_add(count));
            }
        }
        b"reslen" => set(Measure::BytesSent, value.number()),
        b"cpuNanos" => set(Measure::CpuTime, value.number()),
        b"planningTimeMicros" => set(Measure::PlanTime, micros(value.number())),
        b"hasSortStage" => set(Measure::Filesort, flag),
        b"usedDisk" => set(Measure::TmpTableOnDisk, flag),
        b"planSummary" => {
            let summary = value.string().unwrap_or_default();
            let is_scan = memchr::memmem::find(summary, b"COLLSCAN").is_some();
            set(Measure::FullScan, Some(u64::from(is_scan)));
        }
        b"storage" => {
            let read = value.member(b"data").and_then(|data| data.member(b"bytesRead"));
            set(Measure::ReadBytes, read.and_then(Value::number));
        }
        b"queues" => set(Measure::Queued, micros(sum_of(value, b"totalTimeQueuedMicros"))),
        b"locks" => {
            let waited = value.members().into_iter().flatten().filter_map(|(_, lock)| {
                let modes = lock.member(b"timeAcquiringMicros")?.members()?;
                modes.filter_map(|(_, time)| time.number()).reduce(u64::saturating_add)
            });
            set(Measure::LockTime, micros(waited.reduce(u64::saturating_add)));
        }
        _ => {}
    }
}

/// The sum of `key` over the objects in an object; `None` if none has it.
fn sum_of(value: Value<'_>, key: &[u8]) -> Option<u64> {
    let numbers = value.members()?.filter_map(|(_, value)| value.member(key)?.number());
    numbers.reduce(u64::saturating_add)
}

/// Database and collection of `shop.orders.open`.
fn names(namespace: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'.', namespace) {
        Some(dot) => (&namespace[..dot], &namespace[dot + 1..]),
        None => (namespace, b""),
    }
}

/// The host of `10.0.0.7:5544`.
fn host(remote: &[u8]) -> &[u8] {
    memchr::memrchr(b':', remote).map_or(remote, |colon| &remote[..colon])
}

fn version(attributes: Value<'_>, facts: &mut Facts) {
    let build = attributes.member(b"buildInfo").and_then(|build| build.member(b"version"));
    if let Some(version) = build.and_then(Value::string) {
        facts.is_of(format!("MongoDB {}", String::from_utf8_lossy(version)));
    }
}

/// Threshold and sampling from the server's options.
fn thresholds(attributes: Value<'_>, facts: &mut Facts) {
    let options = attributes.member(b"options");
    let Some(profiling) = options.and_then(|options| options.member(b"operationProfiling")) else {
        return;
    };
    if let Some(ms) = profiling.member(b"slowOpThresholdMs").and_then(Value::number) {
        facts.threshold_ns = (ms > 0).then(|| ms.saturating_mul(1_000_000));
    }
    if let Some(Value::Word(rate)) = profiling.member(b"slowOpSampleRate") {
        let rate: Option<f64> = std::str::from_utf8(rate).ok().and_then(|rate| rate.parse().ok());
        let rate = rate.filter(|rate| *rate > 0.0 && *rate < 1.0);
        facts.sampled_one_of = rate.map(|rate| (1.0 / rate).round() as u32);
    }
}

#[cfg(test)]
mod tests;
