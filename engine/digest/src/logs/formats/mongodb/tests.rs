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
    assert_eq!((kept.events[0].text.as_str(), kept.events[5].text.as_str()), ("connect", "quit"));
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
