//! Bounds the memory of a state: a script that allocates without end gets Lua's error "not enough
//! memory" before the machine runs out of memory.

use mlua::ffi::{self, lua_Alloc, lua_State};
use std::ffi::c_void;

/// Counts the bytes that LuaJIT's own allocator serves, and refuses those beyond the bound.
pub struct Memory {
    inner: lua_Alloc,
    inner_data: *mut c_void,
    used_bytes: usize,
    max_bytes: usize,
}

impl Memory {
    /// Bounds the memory of `lua` from now on. The box must live until [`lift`](Self::lift).
    ///
    /// # Safety
    /// `lua` is a valid state.
    pub unsafe fn bound(lua: *mut lua_State, max_bytes: usize) -> Box<Self> {
        let mut inner_data = std::ptr::null_mut();
        // SAFETY: the state is valid; its own allocator serves all its memory, and continues to serve
        // it through `allocate`.
        unsafe {
            let inner = ffi::lua_getallocf(lua, &raw mut inner_data);
            let mut memory = Box::new(Self { inner, inner_data, used_bytes: 0, max_bytes });
            ffi::lua_setallocf(lua, allocate, (&raw mut *memory).cast());
            memory
        }
    }

    /// Restores the state's own allocator, which can free a whole state at once.
    ///
    /// # Safety
    /// `lua` is the state that was bound.
    pub unsafe fn lift(&self, lua: *mut lua_State) {
        // SAFETY: as promised by the caller.
        unsafe { ffi::lua_setallocf(lua, self.inner, self.inner_data) };
    }
}

unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old_bytes: usize,
    new_bytes: usize,
) -> *mut c_void {
    // SAFETY: `data` is the box that `bound` made, which lives until `lift`; a state belongs to one
    // thread.
    let memory = unsafe { &mut *data.cast::<Memory>() };
    let grown = new_bytes.saturating_sub(old_bytes);
    if grown > 0 && memory.used_bytes.saturating_add(grown) > memory.max_bytes {
        return std::ptr::null_mut();
    }
    // SAFETY: the arguments are Lua's, for the allocator that serves the state.
    let block = unsafe { (memory.inner)(memory.inner_data, block, old_bytes, new_bytes) };
    if new_bytes == 0 || !block.is_null() {
        // Memory allocated before the bound may be freed after it: the count stays at 0 or above.
        memory.used_bytes = (memory.used_bytes + new_bytes).saturating_sub(old_bytes);
    }
    block
}
