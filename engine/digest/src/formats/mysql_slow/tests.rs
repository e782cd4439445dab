//! The reader on small logs, some as real servers wrote them.

use super::*;
use crate::event::Measure;
use crate::format::{Kept, read_in_parts};

fn format() -> Box<dyn Format> {
    open(&Settings::default(), b"").unwrap()
}

fn read(log: &str) -> Kept {
    read_in_parts(&*format(), log.as_bytes(), &[])
}

const MYSQL_9: &str = "\
/usr/sbin/mysqld, Version: 9.7.4-2 ((Debian)). started with:
Tcp port: 24350  Unix socket: /tmp/sock
Time                 Id Command    Argument
# Time: 2026-11-22T05:40:24.453120Z
# User@Host: root[root] @ localhost []  Id:    10
# Query_time: 0.000180  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1795326024;
# administrator command: Init DB;
# Time: 2026-11-22T05:40:26.051095Z
# User@Host: app[app] @  [10.0.0.7]  Id:    11
# Query_time: 1.503539  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=1795326024;
select sleep(1.5);
# Time: 2026-11-22T05:40:28.248846Z
# User@Host: root[root] @ localhost []  Id:    15
# Query_time: 0.000374  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0 Thread_id: 15 Errno: 1054 Killed: 0 Bytes_received: 25 Bytes_sent: 52 Read_first: 0 Sort_merge_passes: 2 Created_tmp_disk_tables: 0 Created_tmp_tables: 1 Count_hit_tmp_table_size: 0  Start: 2026-11-22T05:40:28.248472Z End: 2026-11-22T05:40:28.248846Z
SET timestamp=1795326028;
select '
# Time: 2025-11-22T04:42:15.123456Z
# User@Host: x[x] @ localhost []  Id:     5
;
' from t;
";

#[test]
fn events_of_mysql_end_when_their_time_line_says() {
    let kept = read(MYSQL_9);
    assert_eq!(kept.not_understood, []);
    let [init, sleep, last] = &kept.events[..] else { panic!("{:?}", kept.events) };
    assert_eq!((init.event.kind, &*init.text), (Kind::Command, "Init DB"));
    assert_eq!((&*sleep.user, &*sleep.host, &*sleep.database), ("app", "10.0.0.7", "shop"));
    assert_eq!(sleep.event.end_ns, Some(1_795_326_026_051_095_000));
    assert_eq!(sleep.event.duration_ns, Some(1_503_539_000));
    assert_eq!((sleep.event.session, &*sleep.text), (Some(11), "select sleep(1.5)"));
    assert_eq!(last.error, "1054");
    assert_eq!(last.event.numbers.get(Measure::BytesReceived), Some(25));
    assert_eq!(last.event.numbers.get(Measure::MergePasses), Some(2));
    assert!(last.text.starts_with("select '\n# Time: 2025") && last.text.ends_with("' from t"));
}
