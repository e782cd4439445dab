//! A request and its reply allocate nothing once buffers have grown.

use dyno_core::driver::{Progress, Session};
use dyno_core::plan::{Address, Protocol, Secret, Target};
use dyno_core::workload::{Kind, ParamType, Statement, Transaction};
use dyno_drivers::mysql::packet;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });

// SAFETY: every call goes to the system's allocator unchanged; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn framed(packets: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![];
    packets.iter().fold(1, |seq, payload| packet::write(&mut out, seq, payload));
    out
}

const GREETING: &[u8] = b"\x0a9.0\0\x01\0\0\x0001234567\0\xff\xf7\x2d\x02\0\xff\xdf\x15\
    \0\0\0\0\0\0\0\0\0\x00012345678901\0mysql_native_password\0";

#[test]
fn requests_and_replies_allocate_nothing() {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let target = Target {
            driver: "mysql".into(),
            address: Address::Unix("/nowhere".into()),
            user: "u".into(),
            password: Secret("p".into()),
            database: String::new(),
            protocol,
            tls: Default::default(),
            session_sql: vec![],
            options: Default::default(),
        };
        let statement = Statement::new(
            "c",
            Kind::Read,
            "SELECT c FROM t WHERE id=? AND c=?",
            vec![ParamType::Int, ParamType::Text],
        );
        let driver = (dyno_drivers::mysql::KIND.build)(&target, [statement].into()).unwrap();
        let Session::Wire(mut wire) = driver.session(0).unwrap() else { panic!("not a wire") };
        let mut out = Vec::with_capacity(4096);
        wire.connected(true, &mut out);
        let mut greeting = vec![];
        packet::write(&mut greeting, 0, GREETING);
        assert_eq!(wire.receive(&greeting, &mut out).unwrap().1, Progress::More);
        let mut ok = vec![];
        packet::write(&mut ok, 2, &[0, 0, 0, 2, 0, 0, 0]);
        let mut progress = wire.receive(&ok, &mut out).unwrap().1;
        if protocol == Protocol::Prepared {
            let prepared: &[u8] = &[0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
            let reply = framed(&[prepared, b"def", b"def", b"def"]);
            progress = wire.receive(&reply, &mut out).unwrap().1;
        }
        assert_eq!(progress, Progress::Ready);

        let mut tx = Transaction::default();
        tx.int(i64::MIN);
        tx.text(|arena| arena.extend_from_slice(b"it's"));
        tx.op(0);
        let row = [b'x'; 121];
        let reply = framed(&[&[1], b"def", &row, &row, &[0xfe, 0, 0, 2, 0, 0, 0]]);
        let before = COUNT.with(Cell::get);
        for round in 0..1000 {
            out.clear();
            wire.request(&tx.ops[0], &tx, &mut out);
            let cut = round % reply.len();
            let (first, _) = wire.receive(&reply[..cut], &mut out).unwrap();
            let (second, progress) = wire.receive(&reply[first..], &mut out).unwrap();
            assert_eq!(first + second, reply.len());
            assert!(matches!(progress, Progress::Reply(reply) if reply.rows == 2));
        }
        assert_eq!(COUNT.with(Cell::get) - before, 0, "{protocol:?}");
    }
}
