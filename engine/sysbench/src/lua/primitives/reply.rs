//! Results of primitives, immediate or after a wait, and their form in Lua.

use crate::lua::stack::set_text;
use dyno_core::driver::ServerError;
use dyno_core::driver::client::Answer;
use dyno_core::plan::Address;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;

/// The result of a primitive.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// No result yet: the session waits.
    Yield,
    /// No value.
    Nothing,
    /// Success.
    True,
    /// A connection.
    Number(f64),
    /// A statement and its number of parameters.
    Pair(f64, f64),
    /// Columns, rows, rows changed.
    Results(u32, u64, u64),
    /// Failure.
    Failed(Box<Failure>),
}

/// The reason of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The server's error, or an equivalent.
    pub refused: ServerError,
    /// Whether the event may restart.
    pub is_ignorable: bool,
    /// Whether the connection is lost.
    pub is_lost: bool,
    /// The address, if the connection could not be opened.
    pub at: Option<Address>,
}

impl Reply {
    /// Incorrect use: of a closed connection or statement.
    pub fn misuse(message: impl Into<String>) -> Self {
        let refused = ServerError { message: message.into(), ..ServerError::default() };
        Self::Failed(Box::new(Failure { refused, is_ignorable: false, is_lost: false, at: None }))
    }

    /// Describes one result.
    #[inline]
    pub fn of(answer: &Answer) -> Self {
        Self::Results(answer.fields, answer.rows, answer.affected)
    }

    /// Pushes the Lua values of this reply and returns their number. Failures allocate: only in protected
    /// calls.
    ///
    /// # Safety
    /// `lua` is a valid thread with room for three values.
    #[inline]
    pub unsafe fn push(&self, lua: *mut lua_State) -> c_int {
        // SAFETY: as promised by the caller; numbers and booleans cannot fail.
        unsafe {
            match self {
                Self::Yield | Self::Nothing => 0,
                Self::True => {
                    ffi::lua_pushboolean(lua, 1);
                    1
                }
                Self::Number(number) => {
                    ffi::lua_pushnumber(lua, *number);
                    1
                }
                Self::Pair(a, b) => {
                    ffi::lua_pushnumber(lua, *a);
                    ffi::lua_pushnumber(lua, *b);
                    2
                }
                Self::Results(fields, rows, affected) => {
                    ffi::lua_pushnumber(lua, f64::from(*fields));
                    ffi::lua_pushnumber(lua, *rows as f64);
                    ffi::lua_pushnumber(lua, *affected as f64);
                    3
                }
                Self::Failed(failure) => {
                    ffi::lua_pushnil(lua);
                    failure.push(lua);
                    2
                }
            }
        }
    }
}

impl Failure {
    /// Pushes the table `err` of the contract (primitives/mod.rs).
    ///
    /// # Safety
    /// `lua` is a valid thread in a protected call, with room for three values.
    pub unsafe fn push(&self, lua: *mut lua_State) {
        let kind = if self.is_ignorable { "ignorable" } else { "fatal" };
        // SAFETY: as promised by the caller; each string is pushed with its length.
        unsafe {
            ffi::lua_createtable(lua, 0, 7);
            ffi::lua_pushnumber(lua, f64::from(self.refused.number));
            ffi::lua_setfield(lua, -2, c"number".as_ptr());
            set_text(lua, "state", &self.refused.state);
            set_text(lua, "message", &self.refused.message);
            set_text(lua, "kind", kind);
            ffi::lua_pushboolean(lua, c_int::from(self.is_lost));
            ffi::lua_setfield(lua, -2, c"lost".as_ptr());
            match &self.at {
                Some(Address::Tcp { host, port }) => {
                    set_text(lua, "host", host);
                    ffi::lua_pushnumber(lua, f64::from(*port));
                    ffi::lua_setfield(lua, -2, c"port".as_ptr());
                }
                Some(Address::Unix(path)) => {
                    set_text(lua, "socket", path.as_os_str().as_bytes());
                }
                Some(Address::File(_) | Address::None) | None => {}
            }
        }
    }
}
