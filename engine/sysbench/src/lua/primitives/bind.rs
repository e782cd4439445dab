//! Reads from Lua's stack the values that scripts bind to the parameters of a statement.

use crate::lua::stack::text;
use dyno_core::driver::client::Bind;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;

/// Numbers from 2^63 on do not fit in an `i64`.
const INT_END: f64 = 9_223_372_036_854_775_808.0;

/// Reads a value to bind; `None` if its type cannot be bound.
///
/// # Safety
/// As for [`text`].
#[inline]
pub(crate) unsafe fn bind<'a>(lua: *mut lua_State, index: c_int) -> Option<Bind<'a>> {
    // SAFETY: as promised by the caller.
    unsafe {
        Some(match ffi::lua_type(lua, index) {
            ffi::LUA_TNUMBER => match ffi::lua_tonumber(lua, index) {
                whole if whole.trunc() == whole && whole.abs() < INT_END => Bind::Int(whole as i64),
                number => Bind::Double(number),
            },
            ffi::LUA_TSTRING => Bind::Text(text(lua, index)),
            ffi::LUA_TBOOLEAN => Bind::Int(i64::from(ffi::lua_toboolean(lua, index))),
            ffi::LUA_TNIL | ffi::LUA_TNONE => Bind::Null,
            ffi::LUA_TCDATA => Bind::Int(int64(lua, index)?),
            _ => return None,
        })
    }
}

/// LuaJIT's type numbers of `int64_t` and `uint64_t` (lj_ctype.h; checked by a test).
const INT64_TYPES: [u16; 2] = [11, 12];

/// The number in a boxed 64-bit integer.
///
/// # Safety
/// The value is cdata. LuaJIT stores the number of its type in the two bytes before the last four of
/// its header (lj_obj.h, `GCcdata`: a link of 8 bytes, mark, type, then this), and its payload after
/// the header of 16 bytes, which is where `lua_topointer` points.
unsafe fn int64(lua: *mut lua_State, index: c_int) -> Option<i64> {
    // SAFETY: as promised by the caller; the payload of these types has 8 bytes.
    unsafe {
        let payload = ffi::lua_topointer(lua, index);
        let kind = payload.cast::<u8>().sub(6).cast::<u16>().read_unaligned();
        INT64_TYPES.contains(&kind).then(|| payload.cast::<i64>().read_unaligned())
    }
}
