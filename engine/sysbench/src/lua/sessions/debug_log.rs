//! Logs requests to drivers and their answers, one line each, at `--verbosity=5`: the options
//! `db-debug` and `mysql-debug`. A connection is named by its driver, session and place.

use crate::console::{self, Level};
use crate::lua::sessions::slot::Slot;
use crate::lua::setup::{Driver, Setup};
use dyno_core::driver::ServerError;
use dyno_core::driver::client::{Answer, Bind};
use dyno_core::plan::Address;
use std::fmt::{Display, Formatter, Result};

/// The connection at a place, if it is logged.
pub struct Trace<'a> {
    driver: &'a Driver,
    tid: Option<u32>,
    place: usize,
    server: usize,
}

impl<'a> Trace<'a> {
    /// Creates the log of the connection at `place`; none: it is not logged.
    #[inline]
    pub fn of(slot: &Slot, setup: &'a Setup, place: usize) -> Option<Self> {
        let known = &slot.places[place];
        let driver = &setup.drivers[known.driver];
        let (tid, server) = (slot.tid, known.server);
        driver.is_traced.then_some(Self { driver, tid, place, server })
    }

    fn say(&self, text: impl Display) {
        let Self { driver, place, .. } = self;
        let who = self.tid.map_or_else(|| "main".to_owned(), |tid| tid.to_string());
        console::say(Level::Debug, &format!("{} #{who}.{place} {text}", driver.name));
    }

    /// A connection is being opened.
    pub fn connect(&self) {
        match self.driver.address(self.server) {
            Some(address) => self.say(format_args!("connect {}", said(address))),
            None => self.say("connect"),
        }
    }

    /// An operation without an operand: `connected`, `disconnect`.
    pub fn word(&self, word: &str) {
        self.say(word);
    }

    /// A statement is sent, to be executed or prepared.
    pub fn statement(&self, what: &str, sql: &[u8]) {
        self.say(format_args!("{what} {:?}", String::from_utf8_lossy(sql)));
    }

    /// A prepared statement is executed.
    pub fn execute(&self, statement: u32, values: &[Bind<'_>]) {
        let values: Vec<_> = values.iter().map(|value| Value(value).to_string()).collect();
        self.say(format_args!("execute {statement} ({})", values.join(", ")));
    }

    /// A prepared statement is closed.
    pub fn close(&self, statement: u32) {
        self.say(format_args!("close {statement}"));
    }

    /// A statement was prepared.
    pub fn prepared(&self, statement: u32, parameters: u16) {
        self.say(format_args!("= statement {statement}, parameters {parameters}"));
    }

    /// A result has arrived.
    pub fn answer(&self, answer: &Answer) {
        match &answer.error {
            Some(refused) => self.refused("=", refused),
            None if answer.fields > 0 => {
                self.say(format_args!("= fields {}, rows {}", answer.fields, answer.rows));
            }
            None => self.say(format_args!("= changed {}", answer.affected)),
        }
    }

    /// An error; `how`: `=` from the server, `lost` with the connection.
    pub fn refused(&self, how: &str, refused: &ServerError) {
        let ServerError { number, state, message, .. } = refused;
        self.say(format_args!("{how} error {number} ({state}) {message}"));
    }
}

/// Formats an address as in messages.
fn said(address: &Address) -> String {
    match address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix(path) | Address::File(path) => path.display().to_string(),
        Address::None => "nothing".to_owned(),
    }
}

/// Formats a value as in SQL.
struct Value<'a>(&'a Bind<'a>);

impl Display for Value<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        match self.0 {
            Bind::Null => to.write_str("NULL"),
            Bind::Int(number) => write!(to, "{number}"),
            Bind::Double(number) => write!(to, "{number}"),
            Bind::Text(text) => write!(to, "{:?}", String::from_utf8_lossy(text)),
        }
    }
}
