//! Strings and numbers on Lua's stack: reads arguments of C functions, pushes values.

use mlua::ffi::{self, lua_State};
use std::ffi::{c_char, c_int};

/// A number among the arguments; 0 if the argument is not a number.
#[inline]
pub(crate) unsafe fn number(lua: *mut lua_State, index: c_int) -> f64 {
    // SAFETY: reads an argument of a running C function.
    unsafe { ffi::lua_tonumber(lua, index) }
}

/// A string among the arguments; empty if the argument is not a string. Valid while it is on the stack.
#[inline]
pub(crate) unsafe fn text<'a>(lua: *mut lua_State, index: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: reads an argument of a running C function, which stays on its stack.
    unsafe {
        let bytes = ffi::lua_tolstring(lua, index, &raw mut length);
        if bytes.is_null() { &[] } else { std::slice::from_raw_parts(bytes.cast(), length) }
    }
}

/// Pushes a string.
///
/// # Safety
/// In a protected call, with room for a value.
pub(crate) unsafe fn push_text(lua: *mut lua_State, text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    // SAFETY: as promised by the caller.
    unsafe { ffi::lua_pushlstring_(lua, text.as_ptr().cast::<c_char>(), text.len()) };
}

/// Sets a field of the table on top of the stack to a string.
///
/// # Safety
/// In a protected call, with room for two values, a table on top.
pub(crate) unsafe fn set_text(lua: *mut lua_State, name: &str, text: impl AsRef<[u8]>) {
    // SAFETY: as promised by the caller.
    unsafe {
        push_text(lua, name);
        push_text(lua, text);
        ffi::lua_rawset(lua, -3);
    }
}

/// Pushes a new table with string fields.
pub(crate) unsafe fn push_texts(lua: *mut lua_State, texts: &[(&str, &str)]) {
    // SAFETY: called by `build` alone, in a protected call.
    unsafe {
        ffi::lua_createtable(lua, 0, texts.len() as c_int);
        for (name, text) in texts {
            set_text(lua, name, text);
        }
    }
}

/// Appends the strings of a list.
///
/// # Safety
/// `index` is a list of strings, and there is room for a value.
pub(crate) unsafe fn read_texts(lua: *mut lua_State, index: c_int, texts: &mut Vec<String>) {
    // SAFETY: as promised by the caller; each text is copied before it is popped.
    unsafe {
        ffi::lua_pushvalue(lua, index);
        for place in 1..=ffi::lua_objlen(lua, -1) {
            ffi::lua_rawgeti_(lua, -1, place as c_int);
            let mut length = 0;
            let text = ffi::lua_tolstring(lua, -1, &raw mut length);
            let bytes: &[u8] = match text.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(text.cast(), length),
            };
            texts.push(String::from_utf8_lossy(bytes).into_owned());
            ffi::lua_settop(lua, -2);
        }
        ffi::lua_settop(lua, -2);
    }
}
