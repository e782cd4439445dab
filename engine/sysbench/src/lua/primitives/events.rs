//! Functions that Lua calls through its FFI, so that compiled traces continue: events, time, random
//! numbers. None accesses Lua's state.

use crate::lua::sessions::blocking_watch::Conduct;
use crate::lua::sessions::current::Running;
use crate::lua::sessions::now_ns;
use crate::lua::sessions::slot::Pending;
use crate::pace::Next;
use crate::rand::Kind;
use crate::session::Wait;
use std::ffi::{c_char, c_int, c_void};

/// An event may begin.
const GO: c_int = 1;
/// No further event.
const STOP: c_int = 0;
/// Call `dyno.wait()`, then ask again.
const WAIT: c_int = 2;

/// Maximum time for which a session runs events without waiting, before other sessions continue.
const SLICE_NS: u64 = 5_000_000;

/// A function's address.
pub struct Address(pub *const c_void);

// SAFETY: the address of a function is the same, and valid, on every thread.
unsafe impl Sync for Address {}

/// All functions of this file, by their names in base.lua and program.lua.
pub static EXPORTED: &[(&str, Address)] = &[
    ("first", Address(first as *const c_void)),
    ("more", Address(more as *const c_void)),
    ("start", Address(start as *const c_void)),
    ("stop", Address(stop as *const c_void)),
    ("stop_next", Address(stop_next as *const c_void)),
    ("now", Address(now as *const c_void)),
    ("count", Address(count as *const c_void)),
    ("rand_draw", Address(rand_draw as *const c_void)),
    ("rand_default", Address(rand_default as *const c_void)),
    ("rand_unique", Address(rand_unique as *const c_void)),
    ("rand_uint64", Address(rand_uint64 as *const c_void)),
    ("rand_double", Address(rand_double as *const c_void)),
    ("rand_string", Address(rand_string as *const c_void)),
    ("rand_varstring", Address(rand_varstring as *const c_void)),
    ("rand_text", Address(rand_text as *const c_void)),
];

/// Whether an event may begin at `now_ns`.
#[inline]
fn ask(running: &mut Running, now_ns: u64) -> c_int {
    let (session, slot, _) = running.parts();
    match slot.conduct {
        Conduct::Unknown => slot.conduct = Conduct::Good,
        Conduct::Leaves => return STOP,
        _ => {}
    }
    if slot.slice_ns == 0 {
        slot.slice_ns = now_ns;
    } else if now_ns - slot.slice_ns > SLICE_NS {
        slot.pending = Pending::Plain(Wait::Until(0));
        return WAIT;
    }
    match session.next_event(now_ns) {
        Next::Go { .. } if slot.conduct == Conduct::Blocks && session.can_move() => {
            session.hold();
            slot.conduct = Conduct::Leaves;
            STOP
        }
        Next::Go { .. } => GO,
        Next::Wait { until_ns } => {
            slot.pending = Pending::Plain(Wait::Until(until_ns));
            WAIT
        }
        Next::Stop => STOP,
    }
}

extern "C" fn more() -> c_int {
    let Some(mut running) = Running::take() else { return STOP };
    ask(&mut running, now_ns())
}

extern "C" fn first() -> c_int {
    let Some(mut running) = Running::take() else { return STOP };
    let now_ns = now_ns();
    let answer = ask(&mut running, now_ns);
    if answer == GO {
        running.session().begin_event(now_ns);
    }
    answer
}

extern "C" fn start() {
    let Some(mut running) = Running::take() else { return };
    running.session().begin_event(now_ns());
}

extern "C" fn stop() {
    let Some(mut running) = Running::take() else { return };
    running.session().end_event(now_ns());
}

extern "C" fn stop_next() -> c_int {
    let Some(mut running) = Running::take() else { return STOP };
    let now_ns = now_ns();
    running.session().end_event(now_ns);
    let answer = ask(&mut running, now_ns);
    if answer == GO {
        running.session().begin_event(now_ns);
    }
    answer
}

extern "C" fn now() -> f64 {
    now_ns() as f64 / 1e9
}

/// Increments a counter of the running session, by its position in base.lua's `sb_counter_type`.
extern "C" fn count(counter: c_int) {
    let Some(mut running) = Running::take() else { return };
    let tally = running.session().tally;
    match counter {
        0 => tally.reads.add(1),
        1 => tally.writes.add(1),
        2 => tally.others.add(1),
        3 => tally.errors.add(1),
        4 => tally.reconnects.add(1),
        _ => {}
    }
}

/// The kinds, indexed by base.lua's numbers.
const KINDS: [Kind; 5] =
    [Kind::Uniform, Kind::Gaussian, Kind::Special, Kind::Pareto, Kind::Zipfian];

extern "C" fn rand_draw(kind: c_int, a: f64, b: f64) -> f64 {
    let Some(mut running) = Running::take() else { return 0.0 };
    let kind = KINDS[kind.clamp(0, 4) as usize];
    running.slot().rand.draw(kind, a as i64, b as i64) as f64
}

extern "C" fn rand_default(a: f64, b: f64) -> f64 {
    let Some(mut running) = Running::take() else { return 0.0 };
    running.slot().rand.default(a as i64, b as i64) as f64
}

extern "C" fn rand_unique(a: f64, b: f64) -> f64 {
    let Some(mut running) = Running::take() else { return 0.0 };
    running.slot().rand.unique(a as i64, b as i64) as f64
}

extern "C" fn rand_uint64() -> u64 {
    Running::take().map_or(0, |mut running| running.slot().rand.uniform_uint64())
}

extern "C" fn rand_double() -> f64 {
    Running::take().map_or(0.0, |mut running| running.slot().rand.uniform_double())
}

/// Draws a string by a template and returns its length. The string is at [`rand_text`] until the next
/// draw.
///
/// # Safety
/// `template` must have `length` bytes: a Lua string's.
unsafe extern "C" fn rand_string(template: *const c_char, length: usize) -> usize {
    let Some(mut running) = Running::take() else { return 0 };
    // SAFETY: as promised by the caller.
    let template = unsafe { std::slice::from_raw_parts(template.cast::<u8>(), length) };
    let slot = running.slot();
    slot.text.clear();
    slot.rand.string(template, &mut slot.text);
    slot.text.len()
}

extern "C" fn rand_varstring(min: f64, max: f64) -> usize {
    let Some(mut running) = Running::take() else { return 0 };
    let slot = running.slot();
    slot.text.clear();
    slot.rand.varstring(min as u32, max as u32, &mut slot.text);
    slot.text.len()
}

extern "C" fn rand_text() -> *const u8 {
    Running::take().map_or(c"".as_ptr().cast(), |mut running| running.slot().text.as_ptr())
}
