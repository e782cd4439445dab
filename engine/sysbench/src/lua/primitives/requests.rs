//! Databases: drivers, connections, statements and their results.

use super::about::push_list;
use super::bind::bind;
use super::reply::Reply;
use super::{database, give, no_session, waiting};
use crate::lua::sessions::current::Running;
use crate::lua::stack::{number, push_text, text};
use dyno_core::driver::client::Bind;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;

/// Maximum number of a statement's parameters without a heap allocation.
const VALUES_QUICK: usize = 32;

// Lua calls these functions with arguments on `lua`'s stack: hence their blocks are sound as long as they
// read arguments and push at most 20 values.

pub(super) unsafe extern "C-unwind" fn drivers(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    let drivers = running.iter_mut().flat_map(|running| running.setup().drivers.iter());
    // SAFETY: see above.
    unsafe { push_list(lua, drivers.map(|driver| driver.name), 1) };
    1
}

pub(super) unsafe extern "C-unwind" fn driver(lua: *mut lua_State) -> c_int {
    let mut running = Running::take();
    // SAFETY: see above.
    unsafe {
        let name = text(lua, 1);
        let found = running.as_mut().and_then(|running| running.setup().driver(name));
        if let Some(name) = found.map(|driver| driver.name) {
            push_text(lua, name);
            if let Some(running) = &mut running {
                running.session().tally.uses_database();
            }
            return 1;
        }
        ffi::lua_pushnil(lua);
        push_text(
            lua,
            format!("invalid database driver name: '{}'", String::from_utf8_lossy(name)),
        );
        2
    }
}

pub(super) unsafe extern "C-unwind" fn connect(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::connect(running, text(lua, 1))) }
}

pub(super) unsafe extern "C-unwind" fn disconnect(lua: *mut lua_State) -> c_int {
    if let Some(mut running) = Running::take() {
        // SAFETY: see above.
        database::disconnect(&mut running, unsafe { number(lua, 1) });
    }
    0
}

pub(super) unsafe extern "C-unwind" fn reconnect(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::reconnect(running, number(lua, 1))) }
}

pub(super) unsafe extern "C-unwind" fn query(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::query(running, number(lua, 1), text(lua, 2))) }
}

pub(super) unsafe extern "C-unwind" fn rollback(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::rollback(running, number(lua, 1))) }
}

pub(super) unsafe extern "C-unwind" fn prepare(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::prepare(running, number(lua, 1), text(lua, 2))) }
}

pub(super) unsafe extern "C-unwind" fn execute(lua: *mut lua_State) -> c_int {
    // SAFETY: see above; arguments beyond those given read as nil.
    unsafe {
        waiting(lua, |running| {
            let (con, statement) = (number(lua, 1), number(lua, 2));
            let count = number(lua, 3).clamp(0.0, f64::from(u16::MAX)) as usize;
            let mut quick = [Bind::Null; VALUES_QUICK];
            let mut many = Vec::new();
            let values = match quick.get_mut(..count) {
                Some(values) => values,
                None => {
                    many.resize(count, Bind::Null);
                    &mut many
                }
            };
            for (index, value) in values.iter_mut().enumerate() {
                match bind(lua, 4 + index as c_int) {
                    Some(bound) => *value = bound,
                    None => return Reply::misuse("a value that is neither number nor text"),
                }
            }
            database::execute(running, con, statement, values)
        })
    }
}

pub(super) unsafe extern "C-unwind" fn close(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe { waiting(lua, |running| database::close(running, number(lua, 1), number(lua, 2))) }
}

pub(super) unsafe extern "C-unwind" fn more_results(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let con = number(lua, 1);
        let more = Running::take().is_some_and(|mut running| database::has_more(&mut running, con));
        ffi::lua_pushboolean(lua, c_int::from(more));
    }
    1
}

pub(super) unsafe extern "C-unwind" fn next_result(lua: *mut lua_State) -> c_int {
    // SAFETY: see above.
    unsafe {
        let con = number(lua, 1);
        let reply = Running::take()
            .map_or_else(no_session, |mut running| database::next_result(&mut running, con));
        give(lua, &reply)
    }
}

pub(super) unsafe extern "C-unwind" fn fetch(lua: *mut lua_State) -> c_int {
    let Some(mut running) = Running::take() else { return 0 };
    // SAFETY: see above; `room` is called before anything is pushed.
    unsafe {
        let (con, row) = (number(lua, 1), number(lua, 2));
        let mut room = |fields: u32| ffi::lua_checkstack(lua, fields as c_int) != 0;
        let mut put = |field: Option<&[u8]>| match field {
            Some(bytes) => push_text(lua, bytes),
            None => ffi::lua_pushnil(lua),
        };
        database::fetch(&mut running, con, row, &mut room, &mut put) as c_int
    }
}
