//! Primitives of reports and histograms, and the count of errors that a script's hook ignores.

use crate::lua::sessions::current::Running;
use crate::lua::stack::push_text;
use crate::report::histogram::Histogram;
use crate::report::hooks::{self, Format, Row};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, CString, c_int};

const METATABLE: &CStr = c"dyno.histogram";
const METHODS: [(&CStr, ffi::lua_CFunction); 3] =
    [(c"update", update), (c"percentile", percentile), (c"draw", draw)];

/// `dyno.count_error()`
pub(crate) unsafe extern "C-unwind" fn count_error(_: *mut lua_State) -> c_int {
    if let Some(mut running) = Running::take() {
        running.parts().0.error("hook", "an error that the script's own hook lets pass");
    }
    0
}

/// `dyno.report(form, stat)`
pub(crate) unsafe extern "C-unwind" fn report(lua: *mut lua_State) -> c_int {
    let rank = Running::take().map_or(0.0, |mut running| rank(&mut running));
    // SAFETY: called by Lua with its arguments on the stack: a string, and a table whose fields are
    // read without metamethods; two values are pushed at most.
    unsafe {
        ffi::luaL_checktype(lua, 2, ffi::LUA_TTABLE);
        let text = {
            let row = Row::read(|name| field(lua, name));
            let form = ffi::lua_tostring(lua, 1);
            let format = match form.is_null() {
                true => Format::Default,
                false => format_of(CStr::from_ptr(form)),
            };
            hooks::report(format, &row, rank)
        };
        push_text(lua, text);
    }
    1
}

fn format_of(form: &CStr) -> Format {
    match form.to_bytes() {
        b"csv" => Format::Csv,
        b"json" => Format::Json,
        _ => Format::Default,
    }
}

/// The percentile that report hooks get.
fn rank(running: &mut Running) -> f64 {
    use crate::options::Value;
    match running.setup().options.get("percentile") {
        Some(Value::Int(rank)) => *rank as f64,
        Some(Value::Double(rank)) => *rank,
        Some(Value::Text(ranks)) => {
            ranks.split(',').next().and_then(|rank| rank.trim().parse().ok()).unwrap_or(0.0)
        }
        _ => 0.0,
    }
}

/// A number in the table at index 2; 0 if the field is not a number.
unsafe fn field(lua: *mut lua_State, name: &str) -> f64 {
    let Ok(name) = CString::new(name) else { return 0.0 };
    // SAFETY: called by `report`.
    unsafe {
        ffi::lua_pushstring(lua, name.as_ptr());
        ffi::lua_rawget(lua, 2);
        let value = ffi::lua_tonumber(lua, -1);
        ffi::lua_settop(lua, -2);
        value
    }
}

/// `dyno.histogram(size, min, max)`
pub(crate) unsafe extern "C-unwind" fn histogram(lua: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; at most six values are pushed. The memory for the histogram is
    // allocated before the histogram, which is then written into it whole, and dropped by
    // `drop_histogram`.
    unsafe {
        let [size, min, max] = [1, 2, 3].map(|index| ffi::lua_tonumber(lua, index));
        let place = ffi::lua_newuserdata(lua, size_of::<Histogram>()).cast::<Histogram>();
        if ffi::luaL_newmetatable(lua, METATABLE.as_ptr()) != 0 {
            ffi::lua_pushcclosure(lua, drop_histogram, 0);
            ffi::lua_setfield(lua, -2, c"__gc".as_ptr());
            ffi::lua_createtable(lua, 0, METHODS.len() as c_int);
            for (name, method) in METHODS {
                ffi::lua_pushcclosure(lua, method, 0);
                ffi::lua_setfield(lua, -2, name.as_ptr());
            }
            ffi::lua_setfield(lua, -2, c"__index".as_ptr());
        }
        match Histogram::new(size as usize, min, max) {
            Ok(histogram) => {
                place.write(histogram);
                ffi::lua_setmetatable(lua, -2);
                1
            }
            Err(message) => {
                ffi::lua_pushnil(lua);
                push_text(lua, message);
                2
            }
        }
    }
}

unsafe fn this<'a>(lua: *mut lua_State) -> &'a Histogram {
    // SAFETY: a value with this metatable was written by `histogram`, and lives while it is an argument.
    unsafe { &*ffi::luaL_checkudata(lua, 1, METATABLE.as_ptr()).cast::<Histogram>() }
}

unsafe extern "C-unwind" fn drop_histogram(lua: *mut lua_State) -> c_int {
    // SAFETY: Lua's collector calls this once; the prelude passes the object to no script.
    unsafe { ffi::luaL_checkudata(lua, 1, METATABLE.as_ptr()).cast::<Histogram>().drop_in_place() };
    0
}

unsafe extern "C-unwind" fn update(lua: *mut lua_State) -> c_int {
    // SAFETY: see `this`.
    unsafe { this(lua).update(ffi::lua_tonumber(lua, 2)) };
    0
}

unsafe extern "C-unwind" fn percentile(lua: *mut lua_State) -> c_int {
    // SAFETY: see `this`.
    unsafe { ffi::lua_pushnumber(lua, this(lua).percentile(ffi::lua_tonumber(lua, 2))) };
    1
}

unsafe extern "C-unwind" fn draw(lua: *mut lua_State) -> c_int {
    // SAFETY: see `this`.
    unsafe { push_text(lua, this(lua).draw()) };
    1
}
