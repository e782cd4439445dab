//! Database operations of primitives. This module does not touch Lua's state.

use crate::connection::{Connection, Wired};
use crate::lua::primitives::reply::{Failure, Reply};
use crate::lua::sessions::current::Running;
use crate::lua::sessions::debug_log::Trace;
use crate::lua::sessions::now_ns;
use crate::lua::sessions::slot::{Pending, Slot, answers};
use crate::lua::setup::{During, Setup};
use crate::session::Session;
use dyno_core::driver::ServerError;
use dyno_core::driver::client::{Bind, Nature};
use dyno_core::error::{Error, Kind, Result};
use std::time::Duration;

/// Timeout of library calls: the watchdog ends them at the end of the run.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

const ROLLBACK: &[u8] = b"ROLLBACK";

/// Connects through the driver of this name; the first driver if the name is empty.
pub fn connect(running: &mut Running, name: &[u8]) -> Reply {
    let (session, slot, setup) = running.parts();
    let found = setup.drivers.iter().position(|driver| driver.name.as_bytes() == name);
    let Some(driver) =
        found.or_else(|| (name.is_empty() && !setup.drivers.is_empty()).then_some(0))
    else {
        let name = String::from_utf8_lossy(name);
        return Reply::misuse(format!("invalid database driver name: '{name}'"));
    };
    let Some(place) = slot.free_place(session) else {
        return Reply::misuse("too many connections in one thread");
    };
    let servers = &setup.drivers[driver].servers;
    if servers.is_empty() {
        return Reply::misuse("the driver has no server to connect to");
    }
    let known = &mut slot.places[place];
    known.driver = driver;
    known.server = servers[(slot.tid.unwrap_or(0) as usize + slot.made as usize) % servers.len()];
    known.uses += 1;
    known.is_open = true;
    slot.made = slot.made.wrapping_add(1);
    match open(session, slot, setup, place) {
        Ok(true) => Reply::Number(slot.handle(place)),
        Ok(false) => {
            slot.pending = Pending::Connect(place);
            Reply::Yield
        }
        Err(error) => {
            slot.places[place].is_open = false;
            not_connected(session, slot, setup, place, &error)
        }
    }
}

/// Opens the connection at `place`; returns false if the load thread must still open it.
fn open(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, place: usize) -> Result<bool> {
    let known = &mut slot.places[place];
    let server = known.server;
    known.logins = known.logins.wrapping_add(1);
    known.has_results = false;
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.connect();
    }
    session.connections[place] = None;
    let connection = match (setup.servers[server].clients)()? {
        Nature::Blocking(library) => Connection::Blocking(library),
        Nature::Wire(client) => Connection::Wire(Box::new(Wired::new(client, server))),
    };
    let is_ready = matches!(connection, Connection::Blocking(_));
    session.connections[place] = Some(connection);
    Ok(is_ready)
}

/// Sends the protocol's goodbye and closes.
pub fn disconnect(running: &mut Running, handle: f64) {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.word("disconnect");
    }
    slot.places[place].is_open = false;
    farewell(session.connections[place].take());
}

fn farewell(connection: Option<Connection>) {
    if let Some(Connection::Wire(mut wired)) = connection {
        wired.quit();
    }
}

/// Closes a connection and reopens it.
pub fn reconnect(running: &mut Running, handle: f64) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return closed() };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.word("disconnect");
    }
    farewell(session.connections[place].take());
    match open(session, slot, setup, place) {
        Ok(true) => {
            session.tally.reconnects.add(1);
            Reply::True
        }
        Ok(false) => {
            slot.pending = Pending::Reconnect(place);
            Reply::Yield
        }
        Err(error) => not_connected(session, slot, setup, place, &error),
    }
}

/// Sends statements.
pub fn query(running: &mut Running, handle: f64, sql: &[u8]) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return closed() };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.statement("query", sql);
    }
    match &mut session.connections[place] {
        Some(Connection::Wire(wired)) => {
            wired.client.query(sql, &mut wired.channel.output);
            slot.pending = Pending::Results(place);
            Reply::Yield
        }
        Some(Connection::Blocking(library)) => {
            let done = library.query(sql, FOREVER);
            came(session, slot, setup, place, done, results)
        }
        None => gone(session, slot, setup, place),
    }
}

/// Ends the transaction that a refusal has left open, so that the event may restart. It is not
/// counted, and the server's answer is ignored.
pub fn rollback(running: &mut Running, handle: f64) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return Reply::Nothing };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.statement("query", ROLLBACK);
    }
    slot.places[place].has_results = false;
    match &mut session.connections[place] {
        Some(Connection::Wire(wired)) => {
            wired.client.query(ROLLBACK, &mut wired.channel.output);
            slot.pending = Pending::Closed(place);
            Reply::Yield
        }
        Some(Connection::Blocking(library)) => {
            // If the database has failed, the next statement reports it.
            let _ = library.query(ROLLBACK, FOREVER);
            Reply::Nothing
        }
        None => Reply::Nothing,
    }
}

/// Executes a prepared statement.
pub fn execute(running: &mut Running, handle: f64, statement: f64, values: &[Bind<'_>]) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return closed() };
    let Some(statement) = slot.statement_of(place, statement) else {
        return Reply::misuse("the prepared statement is gone with its connection");
    };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.execute(statement, values);
    }
    match &mut session.connections[place] {
        Some(Connection::Wire(wired)) => {
            wired.client.execute(statement, values, &mut wired.channel.output);
            slot.pending = Pending::Results(place);
            Reply::Yield
        }
        Some(Connection::Blocking(library)) => {
            let done = library.execute(statement, values, FOREVER);
            came(session, slot, setup, place, done, results)
        }
        None => gone(session, slot, setup, place),
    }
}

/// Prepares a statement.
pub fn prepare(running: &mut Running, handle: f64, sql: &[u8]) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return closed() };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.statement("prepare", sql);
    }
    match &mut session.connections[place] {
        Some(Connection::Wire(wired)) => {
            wired.client.prepare(sql, &mut wired.channel.output);
            slot.pending = Pending::Prepared(place);
            Reply::Yield
        }
        Some(Connection::Blocking(library)) => {
            let done = library.prepare(sql);
            came(session, slot, setup, place, done, prepared)
        }
        None => gone(session, slot, setup, place),
    }
}

/// Closes a prepared statement; an unknown one is no error.
pub fn close(running: &mut Running, handle: f64, statement: f64) -> Reply {
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return Reply::Nothing };
    let Some(statement) = slot.statement_of(place, statement) else { return Reply::Nothing };
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.close(statement);
    }
    let is_answered = match &mut session.connections[place] {
        Some(Connection::Wire(wired)) => wired.client.close(statement, &mut wired.channel.output),
        Some(Connection::Blocking(library)) => {
            library.close(statement);
            false
        }
        None => false,
    };
    if is_answered {
        slot.pending = Pending::Closed(place);
        return Reply::Yield;
    }
    Reply::Nothing
}

type Taken = fn(&mut Session<'_>, &mut Slot, &Setup, usize) -> Reply;

/// Completes a library's call.
fn came(
    session: &mut Session<'_>,
    slot: &mut Slot,
    setup: &Setup,
    place: usize,
    done: Result<()>,
    take: Taken,
) -> Reply {
    match done {
        Ok(()) => take(session, slot, setup, place),
        Err(error) => loss(session, slot, setup, place, &error),
    }
}

/// The first result of an answered request; all of them are counted.
#[inline]
pub fn results(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, place: usize) -> Reply {
    let Some(connection) = &session.connections[place] else { return closed() };
    let all = answers(connection).answers();
    for answer in all.iter().filter(|answer| answer.error.is_none()) {
        session.statement(answer);
    }
    if let Some(trace) = Trace::of(slot, setup, place) {
        all.iter().for_each(|answer| trace.answer(answer));
    }
    let known = &mut slot.places[place];
    known.result = 0;
    known.has_results = true;
    result(session, slot, setup, place)
}

/// The current result.
#[inline]
fn result(session: &Session<'_>, slot: &Slot, setup: &Setup, place: usize) -> Reply {
    let Some(connection) = &session.connections[place] else { return closed() };
    let known = &slot.places[place];
    match answers(connection).answers().get(known.result) {
        None => Reply::Nothing,
        Some(answer) => match &answer.error {
            None => Reply::of(answer),
            Some(refused) => refusal(session, slot, setup, place, refused),
        },
    }
}

/// A statement that was just prepared.
pub fn prepared(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, place: usize) -> Reply {
    let Some(connection) = &session.connections[place] else { return closed() };
    slot.places[place].has_results = false;
    let answers = answers(connection);
    let trace = Trace::of(slot, setup, place);
    if let Some(refused) = answers.answers().first().and_then(|answer| answer.error.as_ref()) {
        if let Some(trace) = trace {
            trace.refused("=", refused);
        }
        return refusal(session, slot, setup, place, refused);
    }
    let (statement, parameters) = answers.prepared();
    if let Some(trace) = trace {
        trace.prepared(statement, parameters);
    }
    Reply::Pair(slot.statement(place, statement), f64::from(parameters))
}

/// The error code of a lost connection, as in other workloads.
const LOST: &str = "lost";

/// The code of a server's error, as in other workloads.
fn code(refused: &ServerError) -> String {
    if refused.number > 0 { refused.number.to_string() } else { refused.state.clone() }
}

/// Reports a server's error; counts it if the event may restart.
fn refusal(
    session: &Session<'_>,
    slot: &Slot,
    setup: &Setup,
    place: usize,
    refused: &ServerError,
) -> Reply {
    let is_ignorable = slot.is_ignorable(place, refused, setup);
    if is_ignorable {
        session.error(&code(refused), &refused.message);
    }
    Reply::Failed(Box::new(Failure {
        refused: refused.clone(),
        is_ignorable,
        is_lost: false,
        at: None,
    }))
}

/// Whether the last request has results after the current one.
pub fn has_more(running: &mut Running, handle: f64) -> bool {
    let (session, slot, _) = running.parts();
    let Some(place) = slot.place(handle) else { return false };
    let known = &slot.places[place];
    let Some(connection) = &session.connections[place] else { return false };
    known.has_results && answers(connection).answers().len() > known.result + 1
}

/// The next result of the last request.
pub fn next_result(running: &mut Running, handle: f64) -> Reply {
    if !has_more(running, handle) {
        return Reply::Nothing;
    }
    let (session, slot, setup) = running.parts();
    let Some(place) = slot.place(handle) else { return closed() };
    slot.places[place].result += 1;
    result(session, slot, setup, place)
}

/// Passes a row of the current result to `put`. Returns its number of fields; 0 if there is no such row.
pub fn fetch(
    running: &mut Running,
    handle: f64,
    row: f64,
    room: &mut dyn FnMut(u32) -> bool,
    put: &mut dyn FnMut(Option<&[u8]>),
) -> u32 {
    let (session, slot, _) = running.parts();
    let Some(place) = slot.place(handle) else { return 0 };
    let known = &slot.places[place];
    let Some(connection) = &session.connections[place] else { return 0 };
    let answers = answers(connection);
    let Some(answer) = answers.answers().get(known.result) else { return 0 };
    let exists = known.has_results && row >= 0.0 && row < answer.rows as f64;
    if !exists || !room(answer.fields) {
        return 0;
    }
    let mut fields = 0;
    let fetched = answers.fetch(known.result, row as u64, &mut |field| {
        if fields < answer.fields {
            put(field);
            fields += 1;
        }
    });
    // A row that cannot be decoded ends at the last field that could.
    let _ = fetched;
    fields
}

/// The connection at `place` is lost. If the event may restart, the connection is reopened first.
pub fn loss(
    session: &mut Session<'_>,
    slot: &mut Slot,
    setup: &Setup,
    place: usize,
    error: &Error,
) -> Reply {
    let refused = slot.lost(session, place, During::Request, error, setup);
    recover(session, slot, setup, place, refused)
}

/// A request on a connection that was lost earlier.
fn gone(session: &mut Session<'_>, slot: &mut Slot, setup: &Setup, place: usize) -> Reply {
    let refused = setup.drivers[slot.places[place].driver].gone();
    recover(session, slot, setup, place, refused)
}

fn recover(
    session: &mut Session<'_>,
    slot: &mut Slot,
    setup: &Setup,
    place: usize,
    refused: ServerError,
) -> Reply {
    session.connections[place] = None;
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.refused("lost", &refused);
    }
    let is_ignorable = slot.is_ignorable(place, &refused, setup);
    if !is_ignorable {
        return Reply::Failed(Box::new(Failure { refused, is_ignorable, is_lost: true, at: None }));
    }
    session.error(LOST, &refused.message);
    match open(session, slot, setup, place) {
        Ok(true) => recovered(session, refused),
        Ok(false) => {
            slot.pending = Pending::Recover(place, Box::new(refused));
            Reply::Yield
        }
        Err(error) => not_connected(session, slot, setup, place, &error),
    }
}

/// A reconnect failed: schedules another attempt until the run's time has ended.
pub fn retry(
    session: &mut Session<'_>,
    slot: &mut Slot,
    setup: &Setup,
    place: usize,
    refused: Box<ServerError>,
    error: &Error,
) -> Reply {
    let is_hopeless = error.kind == Kind::Authentication || session.is_over(now_ns());
    if is_hopeless || slot.tid.is_none() {
        return not_connected(session, slot, setup, place, error);
    }
    session.connections[place] = None;
    match open(session, slot, setup, place) {
        Ok(_) => {
            slot.pending = Pending::Retry(place, refused);
            Reply::Yield
        }
        Err(error) => not_connected(session, slot, setup, place, &error),
    }
}

/// A lost connection was reopened.
pub fn recovered(session: &Session<'_>, refused: ServerError) -> Reply {
    session.tally.reconnects.add(1);
    Reply::Failed(Box::new(Failure { refused, is_ignorable: true, is_lost: true, at: None }))
}

/// The connection at `place` could not be opened.
pub fn not_connected(
    session: &mut Session<'_>,
    slot: &Slot,
    setup: &Setup,
    place: usize,
    error: &Error,
) -> Reply {
    let refused = slot.lost(session, place, During::Connect, error, setup);
    session.connections[place] = None;
    if let Some(trace) = Trace::of(slot, setup, place) {
        trace.refused("lost", &refused);
    }
    let known = &slot.places[place];
    let at = setup.drivers[known.driver].address(known.server).cloned();
    Reply::Failed(Box::new(Failure { refused, is_ignorable: false, is_lost: true, at }))
}

fn closed() -> Reply {
    Reply::misuse("attempt to use an already closed connection")
}
