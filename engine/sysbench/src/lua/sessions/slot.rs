//! A session's side in Lua: its coroutine, what it waits for, its connections' places.

use crate::connection::Connection;
use crate::lua::sessions::blocking_watch::Conduct;
use crate::lua::setup::{During, Setup};
use crate::rand::Rand;
use crate::session::{Session, Wait};
use dyno_core::client::Answers;
use dyno_core::driver::ServerError;
use mlua::ffi::lua_State;

/// Room for connections of one session: their numbers carry how often the place was used above it.
const PLACES: u32 = 1 << 12;
/// What the number of a prepared statement has room for: the rest tells connections apart.
const STATEMENTS: f64 = 4_294_967_296.0;

/// How long a server that cannot be reached is left alone.
const RETRY_NS: u64 = 100_000_000;

/// One session of a state.
pub struct Slot {
    /// Its coroutine; null: its program has not begun, or has ended.
    pub thread: *mut lua_State,
    /// None: the main session, which has no number in Lua.
    pub tid: Option<u32>,
    /// What it waits for.
    pub pending: Pending,
    /// By place, as in [`Session::connections`].
    pub places: Vec<Place>,
    /// Its random numbers.
    pub rand: Rand,
    /// The text drawn last, and other texts on their way.
    pub text: Vec<u8>,
    /// Where the time slice began; 0: since the resume nobody has looked.
    pub slice_ns: u64,
    /// Whether it blocks its thread.
    pub conduct: Conduct,
    /// How many connections it has made, so that they go round the servers.
    pub made: u32,
}

/// What a session waits for, and what its script gets then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// Nothing: it runs, or has not begun.
    Nothing,
    /// A wait that gives nothing: the start, a time.
    Plain(Wait),
    /// The connection at this place: its number.
    Connect(usize),
    /// A connection made anew because the script asked: true.
    Reconnect(usize),
    /// A connection made anew because it was lost: this refusal.
    Recover(usize, Box<ServerError>),
    /// A time, to connect again then: as above.
    Retry(usize, Box<ServerError>),
    /// Results of the request.
    Results(usize),
    /// A statement and the number of its parameters.
    Prepared(usize),
    /// That the server has ended a statement: nothing.
    Closed(usize),
}

impl Pending {
    /// What the load thread waits for.
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
    /// How often it was used.
    pub uses: u32,
    /// Whether the script may use it.
    pub is_open: bool,
    /// Index of its driver in [`Setup::drivers`].
    pub driver: usize,
    /// Index of its server in [`Setup::servers`].
    pub server: usize,
    /// Which of the request's results is the current one.
    pub result: usize,
    /// Login number, so that statements of an earlier one are not taken for those of this one.
    pub logins: u32,
    /// Whether `result` belongs to something.
    pub has_results: bool,
}

impl Slot {
    /// A session that has not begun.
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

    /// The number that scripts know a connection by.
    pub fn handle(&self, place: usize) -> f64 {
        f64::from(self.places[place].uses) * f64::from(PLACES) + place as f64
    }

    /// The open connection that a script means by a number.
    #[inline]
    pub fn place(&self, handle: f64) -> Option<usize> {
        let handle = handle as u64;
        let place = (handle % u64::from(PLACES)) as usize;
        let known = self.places.get(place)?;
        (known.is_open && u64::from(known.uses) == handle / u64::from(PLACES)).then_some(place)
    }

    /// A free place; none: there are too many.
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

    /// The number that scripts know a statement by.
    pub fn statement(&self, place: usize, statement: u32) -> f64 {
        f64::from(self.places[place].logins) * STATEMENTS + f64::from(statement)
    }

    /// The statement that a script means, if it is one of this login.
    #[inline]
    pub fn statement_of(&self, place: usize, handle: f64) -> Option<u32> {
        let login = (handle / STATEMENTS).floor();
        (login == f64::from(self.places[place].logins))
            .then_some((handle - login * STATEMENTS) as u32)
    }

    /// A refusal of the connection at `place`, counted if it is ignorable.
    pub fn is_ignorable(&self, place: usize, refused: &ServerError, setup: &Setup) -> bool {
        setup.drivers[self.places[place].driver].ignore.has(refused)
    }

    /// How the loss of a connection is called: by what the server said at the end, if it said
    /// anything.
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

/// A connection's answers, whichever its nature.
#[inline]
pub fn answers(connection: &Connection) -> &dyn Answers {
    match connection {
        Connection::Wire(wired) => &*wired.client,
        Connection::Blocking(library) => &**library,
    }
}
