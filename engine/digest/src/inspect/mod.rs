//! Files that servers and networks leave behind, read directly.

pub mod binlog;
pub mod capture;
