//! A session's Lua state: its coroutine, its pending wait, the places of its connections.

use crate::connection::Connection;
use crate::lua::sessions::blocking_watch::Conduct;
use crate::lua::setup::{During, Setup};
use crate::rand::Rand;
use crate::session::{Session, Wait};
use dyno_core::driver::ServerError;
use dyno_core::driver::client::Answers;
use mlua::ffi::lua_State;

/// Maximum number of connections of a session: handles count the uses of a place above it.
const PLACES: u32 = 1 << 12;
/// What the number of a prepared statement has room for: the rest tells connections apart.
const STATEMENTS: f64 = 4_294_967_296.0;

/// The delay before another attempt to connect to an unreachable server.
const RETRY_NS: u64 = 100_000_000;

/// One session of a state.
pub struct Slot {
    /// The coroutine; null: the program has not begun, or has ended.
    pub thread: *mut lua_State,
    /// The session's number; none: the main session, which has no number in Lua.
    pub tid: Option<u32>,
    /// The pending wait.
    pub pending: Pending,
    /// Connections by place, as in [`Session::connections`].
    pub places: Vec<Place>,
    /// The session's random numbers.
    pub rand: Rand,
    /// The last text drawn, and a buffer for other texts.
    pub text: Vec<u8>,
    /// The start of the time slice; 0: not measured since the resume.
    pub slice_ns: u64,
    /// Whether the session blocks its thread.
    pub conduct: Conduct,
    /// The number of connections made, so that they use the servers in turn.
    pub made: u32,
}

/// A pending wait, and the value that the script receives after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// Nothing: it runs, or has not begun.
    Nothing,
    /// A wait without a value: the start, a time.
    Plain(Wait),
    /// Opening the connection at this place; the value is its number.
    Connect(usize),
    /// A reconnect that the script requested; the value is true.
    Reconnect(usize),
    /// A reconnect after a loss; the value is this refusal.
    Recover(usize, Box<ServerError>),
    /// A delay before another reconnect after a loss; the value is this refusal.
    Retry(usize, Box<ServerError>),
    /// Results of a request.
    Results(usize),
    /// Preparing a statement; the value is the statement and the number of its parameters.
    Prepared(usize),
    /// Closing a statement; without a value.
    Closed(usize),
}

impl Pending {
    /// The wait condition for the load thread.
    #[inline]
    pub fn wait(&self) -> Option<Wait> {
        match self {
            Self::Nothing => None,
            Self::Plain(wait) => Some(*wait),
            Self::Connect(place) | Self::Reconnect(place) | Self::Recover(place, _) => {
                Some(Wait::Connect(*place))
            }
            Self::Retry(..) => Some(Wait::Until(super::now_ns() + RETRY_NS)),
            Self::Results(place) | Self::Prepared(place) | Self::Closed(place) => {
                Some(Wait::Answer(*place))
            }
        }
    }
}

/// A place for a connection.
#[derive(Debug, Default, Clone)]
pub struct Place {
    /// The number of times that the place was used.
    pub uses: u32,
    /// Whether the script may use it.
    pub is_open: bool,
    /// Index of its driver in [`Setup::drivers`].
    pub driver: usize,
    /// Index of its server in [`Setup::servers`].
    pub server: usize,
    /// Index of the current result among those of the request.
    pub result: usize,
    /// Login number, which distinguishes statements of different logins.
    pub logins: u32,
    /// Whether `result` refers to a result.
    pub has_results: bool,
}

impl Slot {
    /// Creates a session that has not begun.
    pub fn new(tid: Option<u32>, rand: Rand) -> Self {
        Self {
            thread: std::ptr::null_mut(),
            tid,
            pending: Pending::Nothing,
            places: Vec::new(),
            rand,
            text: Vec::new(),
            slice_ns: 0,
            conduct: Conduct::default(),
            made: 0,
        }
    }

    /// The number of a connection in scripts.
    pub fn handle(&self, place: usize) -> f64 {
        f64::from(self.places[place].uses) * f64::from(PLACES) + place as f64
    }

    /// Looks up an open connection by its number in scripts.
    #[inline]
    pub fn place(&self, handle: f64) -> Option<usize> {
        let handle = handle as u64;
        let place = (handle % u64::from(PLACES)) as usize;
        let known = self.places.get(place)?;
        (known.is_open && u64::from(known.uses) == handle / u64::from(PLACES)).then_some(place)
    }

    /// Returns a free place; none: there are too many connections.
    pub fn free_place(&mut self, session: &mut Session<'_>) -> Option<usize> {
        let taken = self.places.iter().position(|place| !place.is_open);
        let place = taken.unwrap_or(self.places.len());
        if place >= PLACES as usize {
            return None;
        }
        if place == self.places.len() {
            self.places.push(Place::default());
        }
        while session.connections.len() <= place {
            session.connections.push(None);
        }
        Some(place)
    }

    /// The number of a statement in scripts.
    pub fn statement(&self, place: usize, statement: u32) -> f64 {
        f64::from(self.places[place].logins) * STATEMENTS + f64::from(statement)
    }

    /// Looks up a statement by its number in scripts, if it belongs to the current login.
    #[inline]
    pub fn statement_of(&self, place: usize, handle: f64) -> Option<u32> {
        let login = (handle / STATEMENTS).floor();
        (login == f64::from(self.places[place].logins))
            .then_some((handle - login * STATEMENTS) as u32)
    }

    /// Whether the options of the driver at `place` ignore this refusal.
    pub fn is_ignorable(&self, place: usize, refused: &ServerError, setup: &Setup) -> bool {
        setup.drivers[self.places[place].driver].ignore.has(refused)
    }

    /// The error of a lost connection: the server's last message, if it sent any.
    pub fn lost(
        &self,
        session: &Session<'_>,
        place: usize,
        during: During,
        error: &dyno_core::error::Error,
        setup: &Setup,
    ) -> ServerError {
        let mut during = during;
        if let Some(Connection::Wire(wired)) = &session.connections[place] {
            if let Some(said) = wired.client.parting() {
                return said.clone();
            }
            if during == During::Request && wired.is_unsent() {
                during = During::Idle;
            }
        }
        setup.drivers[self.places[place].driver].lost(during, error)
    }
}

/// The answers of a connection, over a transport or from a library.
#[inline]
pub fn answers(connection: &Connection) -> &dyn Answers {
    match connection {
        Connection::Wire(wired) => &*wired.client,
        Connection::Blocking(library) => &**library,
    }
}
