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
mod tests {
    use super::*;
    use crate::logs::format::read_as_stream;
    use crate::sink::Kept;
    use proptest::prelude::*;

    /// Handwritten, in the form of MongoDB 7 and 8 as the manual describes it.
    pub(crate) const SAMPLE: &str = concat!(
        r#"{"t":{"$date":"2026-11-22T05:40:00.000+00:00"},"s":"I",  "c":"CONTROL",  "id":23403,   "ctx":"initandlisten","msg":"Build Info","attr":{"buildInfo":{"version":"7.0.14","gitVersion":"x"}}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:00.001+00:00"},"s":"I",  "c":"CONTROL",  "id":21951,   "ctx":"initandlisten","msg":"Options set by command line","attr":{"options":{"operationProfiling":{"slowOpThresholdMs":20,"slowOpSampleRate":0.25}}}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:00.500+00:00"},"s":"I",  "c":"NETWORK",  "id":22943,   "ctx":"listener","msg":"Connection accepted","attr":{"remote":"10.0.0.7:49636","connectionId":7,"connectionCount":1}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:01.389+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn7","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","appName":"till","command":{"find":"orders","filter":{"state":"open","note":"a \"b\" {"},"lsid":{"id":{"$uuid":"x"}},"$db":"shop"},"planSummary":"COLLSCAN","planningTimeMicros":1180,"keysExamined":0,"docsExamined":1000001,"hasSortStage":true,"numYields":1002,"nreturned":101,"reslen":17738,"locks":{"Global":{"acquireCount":{"r":1003},"timeAcquiringMicros":{"r":40,"w":2}},"Collection":{"timeAcquiringMicros":{"r":8}}},"storage":{"data":{"bytesRead":{"$numberLong":"4248700"},"timeReadingMicros":2}},"cpuNanos":384117600,"remote":"10.0.0.7:49636","protocol":"op_msg","queues":{"execution":{"admissions":3,"totalTimeQueuedMicros":500},"ingress":{"totalTimeQueuedMicros":7}},"workingMillis":20,"durationMillis":385}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T06:40:02.100+01:00"},"s":"I",  "c":"WRITE",    "id":51803,   "ctx":"conn7","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"_id":7},"u":{"$set":{"state":"sent"}},"multi":false,"upsert":false},"planSummary":"IDHACK","keysExamined":1,"docsExamined":1,"nMatched":1,"nModified":1,"nUpserted":0,"remote":"10.0.0.7:49636","durationMillis":100}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:02.101+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn7","msg":"Slow query","attr":{"type":"command","ns":"shop.$cmd","command":{"update":"orders","ordered":true,"$db":"shop"},"numYields":0,"reslen":60,"remote":"10.0.0.7:49636","protocol":"op_msg","durationMillis":102}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:02.200+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn8","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"aggregate":"orders","pipeline":[{"$match":{}}],"maxTimeMS":50,"$db":"shop"},"ok":0,"errMsg":"operation exceeded time limit","errName":"MaxTimeMSExpired","errCode":50,"remote":"[::1]:49637","durationMillis":51}}"#,
        "\n",
        r#"{"t":{"$date":"2026-11-22T05:40:03.000+00:00"},"s":"I",  "c":"NETWORK",  "id":22944,   "ctx":"conn7","msg":"Connection ended","attr":{"remote":"10.0.0.7:49636","connectionId":7,"connectionCount":0}}"#,
        "\n",
    );

    fn read(log: &[u8]) -> Kept {
        read_as_stream(&MongoDb, log, log.len().max(1))
    }

    #[test]
    fn slow_queries_have_what_the_log_measured() {
        let kept = read(SAMPLE.as_bytes());
        assert_eq!(kept.not_understood, []);
        assert_eq!(kept.events.len(), 6);
        let find = &kept.events[1];
        assert!(find.text.starts_with(r#"{"find":"orders""#) && find.text.ends_with('}'));
        assert_eq!((find.database.as_str(), find.host.as_str()), ("shop", "10.0.0.7"));
        assert_eq!(find.event.session, Some(7));
        assert_eq!(find.event.duration_ns, Some(385_000_000));
        assert_eq!(find.event.end_ns, Some(1_795_326_001_389_000_000));
        let get = |measure| find.event.numbers.get(measure);
        assert_eq!(get(Measure::RowsSent), Some(101));
        assert_eq!(get(Measure::RowsExamined), Some(1_000_001));
        assert_eq!(get(Measure::KeysExamined), Some(0));
        assert_eq!(get(Measure::CpuTime), Some(384_117_600));
        assert_eq!(get(Measure::PlanTime), Some(1_180_000));
        assert_eq!(get(Measure::Queued), Some(507_000));
        assert_eq!(get(Measure::LockTime), Some(50_000));
        assert_eq!(get(Measure::ReadBytes), Some(4_248_700));
        assert_eq!(get(Measure::FullScan), Some(1));
        assert_eq!(get(Measure::Filesort), Some(1));
    }

    #[test]
    fn writes_and_the_command_around_them_count_once() {
        let kept = read(SAMPLE.as_bytes());
        let (write, command) = (&kept.events[2], &kept.events[3]);
        assert_eq!(
            write.text,
            concat!(
                r#"{"update":"orders","q":{"_id":7},"#,
                r#""u":{"$set":{"state":"sent"}},"multi":false,"upsert":false}"#
            )
        );
        assert_eq!(write.event.kind, Kind::Statement);
        assert_eq!(write.event.end_ns, Some(1_795_326_002_100_000_000));
        assert_eq!(write.event.numbers.get(Measure::RowsAffected), Some(1));
        assert_eq!(command.event.kind, Kind::Command);
        assert_eq!(command.event.duration_ns, Some(2_000_000));
        // A batch of only fast writes has a line of its command alone.
        let alone = SAMPLE.lines().nth(5).expect("the command");
        assert_eq!(read(alone.as_bytes()).events[0].event.kind, Kind::Statement);
    }

    #[test]
    fn a_get_more_is_a_call_of_the_command_that_opened_its_cursor() {
        let find = r#"{"find":"orders","filter":{"state":"open"},"sort":{"at":-1},"$db":"shop"}"#;
        let line = |command: &str, rest: &str| {
            format!(
                "{{\"t\":{{\"$date\":\"2026-11-22T05:40:01.389+00:00\"}},\"c\":\"COMMAND\",\
                 \"id\":51803,\"ctx\":\"conn7\",\"msg\":\"Slow query\",\"attr\":{{\
                 \"ns\":\"shop.orders\",\"command\":{command},{rest}\"durationMillis\":100}}}}\n"
            )
        };
        let more = r#"{"getMore":77,"collection":"orders","$db":"shop"}"#;
        let plan = r#""planSummary":"IXSCAN { state: 1, \"at\": -1 }","#;
        let origin = format!("\"originatingCommand\":{find},{plan}");
        let log = [line(find, plan), line(more, &origin), line(more, "")].concat();
        let kept = read(log.as_bytes());
        assert_eq!(kept.not_understood, []);
        let texts: Vec<&[u8]> = kept.events.iter().map(|event| event.text.as_bytes()).collect();
        assert_eq!(texts, [find.as_bytes(), find.as_bytes(), more.as_bytes()]);
        let plans: Vec<&str> = kept.events.iter().map(|event| event.plan.as_str()).collect();
        let expected = r#"IXSCAN { state: 1, "at": -1 }"#;
        assert_eq!(plans, [expected, expected, ""]);
    }

    #[test]
    fn errors_connections_and_facts_are_told() {
        let mut context = Context::default();
        let mut kept = Kept::default();
        let part = Part { bytes: SAMPLE.as_bytes(), offset: 0, is_last: true };
        MongoDb.read(part, &mut context, &mut kept);
        assert_eq!(kept.events[4].error, "50");
        assert_eq!(kept.events[4].host, "[::1]");
        assert_eq!(
            (kept.events[0].text.as_str(), kept.events[5].text.as_str()),
            ("connect", "quit")
        );
        let facts = MongoDb.facts(&context);
        assert_eq!(facts.server.as_deref(), Some("MongoDB 7.0.14"));
        assert_eq!(facts.threshold_ns, Some(20_000_000));
        assert_eq!(facts.sampled_one_of, Some(4));
        assert!(detect(SAMPLE.as_bytes()));
    }

    #[test]
    fn sums_stay_within_their_bounds() {
        let most = u64::MAX;
        let line = |component: &str, command: &str| {
            format!(
                "{{\"t\":{{\"$date\":\"2026-11-22T05:40:01.389+00:00\"}},\"c\":\"{component}\",\
                 \"ctx\":\"conn7\",\"msg\":\"Slow query\",\"attr\":{{\"durationMillis\":{most},\
                 \"command\":{{\"{command}\":\"t\"}},\
                 \"locks\":{{\"Global\":{{\"timeAcquiringMicros\":{{\"r\":{most},\"w\":{most}}}}}}}}}}}\n"
            )
        };
        let log = [line("WRITE", "q"), line("WRITE", "q"), line("COMMAND", "update")].concat();
        let kept = read(log.as_bytes());
        assert_eq!(kept.not_understood, []);
        assert_eq!(kept.events[0].event.numbers.get(Measure::LockTime), Some(most));
        assert_eq!(kept.events[2].event.duration_ns, Some(0));
    }

    #[test]
    fn lines_that_are_cut_or_foreign_are_counted() {
        let log = "hello\n{\"t\":{\"$date\":\"yesterday\"},\"msg\":\"x\"}\n{\"t\":1}\n";
        let kept = read(log.as_bytes());
        assert_eq!(kept.events.len(), 0);
        assert_eq!(kept.not_understood.iter().map(|piece| piece.1).sum::<u64>(), log.len() as u64);
        let cut = &SAMPLE.as_bytes()[..SAMPLE.len() - 40];
        let kept = read(cut);
        assert_eq!((kept.events.len(), kept.not_understood.len()), (5, 1));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(piece in 1_usize..3000) {
            let (whole, pieces) = (read(SAMPLE.as_bytes()), read_as_stream(&MongoDb, SAMPLE.as_bytes(), piece));
            prop_assert_eq!(whole.events, pieces.events);
        }

        #[test]
        fn spoilt_logs_are_read_to_their_end(at in 0..SAMPLE.len(), bytes in any::<[u8; 3]>(), cut in 0..SAMPLE.len()) {
            let mut log = SAMPLE.as_bytes().to_vec();
            log.splice(at..(at + 2).min(log.len()), bytes);
            log.truncate(cut.max(1));
            let _ = read(&log);
        }
    }
}
