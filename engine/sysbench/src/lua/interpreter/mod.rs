//! LuaJIT states: the code loaded into each, and the bound on its memory.

pub(crate) mod memory;
pub(crate) mod prelude;
pub(crate) mod state;
