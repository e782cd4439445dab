//! Flows under simulated time, between sockets made of memory.

use super::flow::{Around, End, Flow, WINDOW_BYTES};
use super::line::Line;
use crate::conditions::Way;
use dyno_core::clock::{Clock, SimulatedClock};
use std::collections::VecDeque;
use std::io::{self, Error, ErrorKind, Read, Write};

const MS: u64 = 1_000_000;

/// A sender: each element is what one read finds.
#[derive(Default)]
struct Sender(VecDeque<io::Result<Vec<u8>>>);

impl Read for Sender {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = self.0.pop_front() else { return Err(ErrorKind::WouldBlock.into()) };
        let mut bytes = first?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        let rest = bytes.split_off(count);
        if !rest.is_empty() {
            self.0.push_front(Ok(rest));
        }
        Ok(count)
    }
}

/// A receiver that has room for so many bytes.
struct Receiver {
    got: Vec<u8>,
    room: usize,
    is_broken: bool,
}

impl Write for Receiver {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(self.room);
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.room -= count;
        self.got.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Bench {
    clock: SimulatedClock,
    way: Way,
    line: Line,
    flow: Flow,
    sender: Sender,
    receiver: Receiver,
}

impl Bench {
    fn new(way: Way) -> Self {
        let mut flow = Flow::new(1, None);
        flow.is_writable = true;
        let mut line = Line::default();
        line.set(way.bytes_per_s, 0);
        Self {
            clock: SimulatedClock::default(),
            way,
            line,
            flow,
            sender: Sender::default(),
            receiver: Receiver { got: vec![], room: usize::MAX, is_broken: false },
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sender.0.push_back(Ok(bytes.to_vec()));
        self.flow.is_readable = true;
    }

    fn close(&mut self) {
        self.send(b"");
        self.flow.is_closing = true;
    }

    fn step_at(&mut self, now_ns: u64) -> Option<End> {
        self.clock.set_ns(now_ns);
        let mut scratch = [0; 4096];
        let mut around = Around {
            clock: &self.clock,
            way: &self.way,
            line: &mut self.line,
            scratch: &mut scratch,
        };
        self.flow.step(&mut self.sender, &mut self.receiver, &mut around, 8)
    }

    /// Steps whenever the flow asks for it, at most `most` times; how it ended.
    fn run(&mut self, most: usize) -> Option<End> {
        for _ in 0..most {
            let now_ns = self.clock.now_ns();
            let line_ns = self.flow.wants_bytes(now_ns).then(|| self.line.admits_from_ns());
            let next = self.flow.next_ns().into_iter().chain(line_ns).min()?;
            if let Some(end) = self.step_at(next.max(now_ns)) {
                return Some(end);
            }
        }
        None
    }
}

fn delayed(delay_ns: u64) -> Way {
    Way { delay_ns, ..Way::default() }
}

#[test]
fn without_delay_bytes_pass_in_the_same_step() {
    let mut bench = Bench::new(Way::default());
    bench.send(b"select 1");
    assert_eq!(bench.step_at(5), None);
    assert_eq!(bench.receiver.got, b"select 1");
    assert_eq!((bench.flow.under_way_bytes(), bench.flow.next_ns()), (0, None));
    assert_eq!(bench.flow.read_bytes, 8);
}

#[test]
fn bytes_arrive_after_their_delay_and_not_before() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"one");
    bench.step_at(0);
    bench.send(b"two");
    bench.step_at(4 * MS);
    assert_eq!(bench.flow.next_ns(), Some(10 * MS));
    bench.step_at(10 * MS - 1);
    assert_eq!(bench.receiver.got, b"");
    bench.step_at(10 * MS);
    assert_eq!(bench.receiver.got, b"one");
    assert_eq!(bench.flow.next_ns(), Some(14 * MS));
    bench.step_at(14 * MS);
    assert_eq!(bench.receiver.got, b"onetwo");
}

#[test]
fn a_shorter_delay_does_not_let_bytes_overtake() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"slow");
    bench.step_at(0);
    bench.way.delay_ns = 0;
    bench.send(b"fast");
    bench.step_at(MS);
    assert_eq!(bench.receiver.got, b"");
    bench.step_at(10 * MS);
    assert_eq!(bench.receiver.got, b"slowfast");
}

#[test]
fn jitter_only_adds_and_repeats_with_its_seed() {
    let arrivals = |seed| {
        let mut bench = Bench::new(Way { jitter_ns: 5 * MS, ..delayed(10 * MS) });
        bench.flow = Flow::new(seed, None);
        bench.flow.is_writable = true;
        (0..50)
            .map(|number| {
                let sent_ns = number * 100 * MS;
                bench.send(b"x");
                bench.step_at(sent_ns);
                let arrives_ns = bench.flow.next_ns().unwrap();
                bench.step_at(arrives_ns);
                arrives_ns - sent_ns
            })
            .collect::<Vec<_>>()
    };
    let delays = arrivals(7);
    assert!(delays.iter().all(|ns| (10 * MS..=15 * MS).contains(ns)));
    assert!(delays.iter().max().unwrap() - delays.iter().min().unwrap() > 3 * MS);
    assert_eq!(delays, arrivals(7));
    assert_ne!(delays, arrivals(8));
}

#[test]
fn a_limited_line_takes_the_time_that_the_bytes_need() {
    let mut bench = Bench::new(Way { bytes_per_s: 1_000_000, ..delayed(3 * MS) });
    bench.send(&[7; 50_000]);
    bench.close();
    assert_eq!(bench.run(1000), Some(End::Finished));
    assert_eq!(bench.receiver.got, [7; 50_000]);
    assert_eq!(bench.clock.now_ns(), 53 * MS);
}

#[test]
fn the_end_follows_the_bytes() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"last words");
    bench.close();
    assert_eq!(bench.step_at(0), None);
    assert!(!bench.flow.is_over());
    bench.receiver.room = 4;
    assert_eq!(bench.step_at(10 * MS), None);
    assert_eq!((bench.receiver.got.as_slice(), bench.flow.is_writable), (&b"last"[..], false));
    assert_eq!(bench.flow.next_ns(), None, "the socket says when it is writable");
    bench.receiver.room = 100;
    bench.flow.is_writable = true;
    assert_eq!(bench.step_at(12 * MS), Some(End::Finished));
    assert_eq!(bench.receiver.got, b"last words");
    assert!(bench.flow.is_over());
    assert_eq!(bench.step_at(13 * MS), None, "once");
}

#[test]
fn a_broken_sender_is_a_reset_at_the_receiver_after_the_delay() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.sender.0.push_back(Err(Error::from(ErrorKind::ConnectionReset)));
    bench.flow.is_readable = true;
    assert_eq!(bench.step_at(0), None);
    assert_eq!(bench.step_at(10 * MS), Some(End::Reset));
}

#[test]
fn a_broken_receiver_ends_the_flow_and_frees_its_bytes() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"unread");
    bench.step_at(0);
    bench.receiver.is_broken = true;
    assert_eq!(bench.step_at(10 * MS), Some(End::Undeliverable));
    assert_eq!(bench.flow.under_way_bytes(), 0);
    assert!(!bench.flow.break_source(), "nothing can follow");
}

#[test]
fn what_a_broken_sender_had_sent_arrives_before_the_reset() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"said before");
    bench.step_at(0);
    bench.send(b", and unread");
    bench.sender.0.push_back(Ok(vec![]));
    assert!(bench.flow.break_source());
    assert_eq!(bench.step_at(MS), None);
    assert_eq!(bench.run(10), Some(End::Reset));
    assert_eq!(bench.receiver.got, b"said before, and unread");
    assert_eq!(bench.clock.now_ns(), 11 * MS);
}

#[test]
fn an_end_under_way_becomes_a_reset_if_the_sender_breaks() {
    let mut bench = Bench::new(delayed(10 * MS));
    bench.send(b"bye");
    bench.close();
    bench.step_at(0);
    assert!(bench.flow.break_source());
    assert_eq!(bench.run(10), Some(End::Reset));
    assert_eq!(bench.receiver.got, b"bye");
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender() {
    let mut bench = Bench::new(Way::default());
    bench.receiver.room = 1000;
    for _ in 0..100 {
        bench.send(&[1; 4096]);
    }
    bench.step_at(0);
    assert!(bench.flow.under_way_bytes() <= 4096);
    assert_eq!(bench.sender.0.len(), 99);
    bench.step_at(MS);
    assert_eq!(bench.sender.0.len(), 99, "nothing more is read");
}

#[test]
fn a_window_of_bytes_is_under_way_at_most() {
    let mut bench = Bench::new(delayed(1000 * MS));
    for _ in 0..1000 {
        bench.send(&[1; 4096]);
    }
    for now_ns in 0..1000 {
        bench.step_at(now_ns);
    }
    let under_way = bench.flow.under_way_bytes();
    assert!((WINDOW_BYTES..WINDOW_BYTES + 4096).contains(&under_way), "{under_way}");
    bench.step_at(1100 * MS);
    assert!(bench.receiver.got.len() >= WINDOW_BYTES, "what has arrived is delivered");
}
