//! Waits that are no requests.

use super::reply::Reply;
use super::waiting;
use crate::lua::sessions::current::Running;
use crate::lua::sessions::slot::Pending;
use crate::lua::stack::number;
use crate::session::Wait;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;

// Lua calls these functions with arguments on `lua`'s stack: hence their blocks are sound as long as they
// read arguments and push at most 20 values.

pub(super) unsafe extern "C-unwind" fn sleep(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let wait_ns = (number(lua, 1) * 1e9).clamp(0.0, 1e18) as u64;
        waiting(lua, |running| {
            let until_ns = crate::lua::sessions::now_ns() + wait_ns;
            running.slot().pending = Pending::Plain(Wait::Until(until_ns));
            Reply::Yield
        })
    }
}

pub(super) unsafe extern "C-unwind" fn barrier(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        waiting(lua, |running| {
            running.slot().pending = Pending::Plain(Wait::Start);
            Reply::Yield
        })
    }
}

/// Yields for the wait that another primitive has set for the session.
pub(super) unsafe extern "C-unwind" fn wait(lua: *mut lua_State) -> c_int {
    // SAFETY: see above; Lua raises an error if the coroutine may not yield.
    unsafe { ffi::lua_yield(lua, 0) }
}

/// Whether the session waits: then a coroutine of the script has yielded for the wait, not for the
/// script.
pub(super) unsafe extern "C-unwind" fn is_waiting(lua: *mut lua_State) -> c_int {
    let waits = Running::take().is_some_and(|mut running| running.slot().pending.wait().is_some());
    // SAFETY: see above.
    unsafe { ffi::lua_pushboolean(lua, c_int::from(waits)) };
    1
}
