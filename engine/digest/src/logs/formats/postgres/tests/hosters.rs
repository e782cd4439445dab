//! Tests on logs in the forms of hosters and operators.

use super::*;

/// After CloudNativePG's documentation: csvlog's columns within its own object.
const CNPG: &str = concat!(
    r#"{"level":"info","ts":"2026-11-22T05:40:00.100Z","logger":"instance-manager","msg":"Starting","build":{"version":"1.27"}}"#,
    "\n",
    r#"{"level":"info","ts":"2026-11-22T05:40:01.390Z","logger":"postgres","msg":"record","logging_pod":"shop-1","record":{"log_time":"2026-11-22 05:40:01.389 UTC","process_id":"9","session_id":"6b028031.9","error_severity":"LOG","sql_state_code":"00000","message":"starting PostgreSQL 17.2 on x86_64","backend_type":"postmaster","query_id":"0"}}"#,
    "\n",
    r#"{"level":"info","ts":"2026-11-22T05:40:01.622Z","logger":"postgres","msg":"record","logging_pod":"shop-1","record":{"log_time":"2026-11-22 05:40:01.621 UTC","user_name":"app","database_name":"shop","process_id":"7","connection_from":"10.0.0.7:50472","session_id":"6b028031.7","error_severity":"LOG","sql_state_code":"00000","message":"duration: 2.500 ms  execute S_1: select \"a\"\n\tfrom t where b = $1","detail":"parameters: $1 = 'x'","query_pos":"1","application_name":"app","backend_type":"client backend","query_id":"7"}}"#,
    "\n",
    r#"{"level":"info","ts":1795326002.5,"logger":"postgres","msg":"record","record":{"log_time":"2026-11-22 05:40:02.500 UTC","user_name":"app","database_name":"shop","process_id":"7","connection_from":"[local]","session_id":"6b028031.7","error_severity":"ERROR","sql_state_code":"22012","message":"division by zero","context":"","query":"select 1/0"}}"#,
    "\n",
);

#[test]
fn records_of_cloudnativepg_are_messages() {
    assert!((kind("postgres-json").detect)(CNPG.as_bytes()));
    let kept = read("postgres-json", CNPG);
    assert_eq!(kept.not_understood, []);
    assert_eq!(
        briefs(&kept),
        [
            "Statement 2500 app@shop select \"a\"\n\tfrom t where b = $1",
            "Statement - app@shop select 1/0 22012",
        ]
    );
    let (first, second) = (&kept.events[0], &kept.events[1]);
    assert_eq!((&*first.host, &*second.host), ("10.0.0.7", "[local]"));
    assert_eq!(first.parameters, "$1 = 'x'");
    assert_eq!(first.event.end_ns, Some(1_795_326_001_621_000_000));
}

#[test]
fn lines_that_are_no_records_are_counted() {
    let cut = &CNPG.as_bytes()[..CNPG.len() - 20];
    let log = [cut, b"\n{\"a\":1}\n"].concat();
    let log = String::from_utf8(log).unwrap();
    let kept = read("postgres-json", &log);
    assert_eq!(kept.events.len(), 1);
    let at = CNPG.trim_end().rfind('\n').unwrap() + 1;
    let bytes = (log.len() - at) as u64;
    assert_eq!(kept.not_understood, [(at as u64, bytes, "no line of jsonlog")]);
}

/// With the `log_line_prefix` of Amazon's RDS and Aurora.
const RDS: &str = "\
2026-11-22 05:40:00 UTC::@:[392]:LOG:  checkpoint starting: time
2026-11-22 05:40:00 UTC:10.0.0.7(50472):[unknown]@[unknown]:[12]:LOG:  connection received: host=10.0.0.7 port=50472
2026-11-22 05:40:00 UTC:10.0.0.7(50472):app@shop:[12]:LOG:  connection authorized: user=app database=shop
2026-11-22 05:40:01 UTC:10.0.0.7(50472):app@shop:[12]:LOG:  duration: 2.500 ms  execute <unnamed>: select *
\tfrom t
2026-11-22 05:40:01 UTC:10.0.0.7(50472):app@shop:[12]:DETAIL:  parameters: $1 = 'x'
2026-11-22 05:40:02 UTC:ip-10-0-0-8.ec2.internal(5):me@shop:[13]:ERROR:  division by zero
2026-11-22 05:40:02 UTC:ip-10-0-0-8.ec2.internal(5):me@shop:[13]:STATEMENT:  select 1/0
2026-11-22 05:40:02 UTC:2001:db8::7(50473):app@shop:[14]:LOG:  duration: 1.000 ms  statement: select ':'
2026-11-22 05:40:03 UTC:[local]:rdsadmin@rdsadmin:[15]:LOG:  duration: 0.250 ms  statement: select 2
";

#[test]
fn lines_of_rds_are_read_by_the_prefix_that_it_has() {
    let log = RDS;
    assert!((kind("postgres-stderr").detect)(log.as_bytes()));
    let format = open("postgres-stderr", log);
    let facts = format.facts(&crate::logs::format::Context::default());
    assert_eq!(facts.line_prefix.as_deref(), Some("%t:%r:%u@%d:[%p]:"));
    let kept = read("postgres-stderr", log);
    assert_eq!(kept.not_understood, []);
    assert_eq!(
        briefs(&kept),
        [
            "Command - app@shop connect",
            "Statement 2500 app@shop select *\nfrom t",
            "Statement - me@shop select 1/0 ERROR",
            "Statement 1000 app@shop select ':'",
            "Statement 250 rdsadmin@rdsadmin select 2",
        ]
    );
    let hosts: Vec<_> = kept.events.iter().map(|event| &*event.host).collect();
    let named = "ip-10-0-0-8.ec2.internal";
    assert_eq!(hosts, ["10.0.0.7", "10.0.0.7", named, "2001:db8::7", "[local]"]);
    let sessions: Vec<_> = kept.events.iter().filter_map(|event| event.event.session).collect();
    assert_eq!(sessions, [12, 12, 13, 14, 15]);
}
