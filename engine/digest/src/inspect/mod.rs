//! Files that servers and networks leave behind, read directly.

pub mod binlog;
mod bytes;
pub mod capture;
