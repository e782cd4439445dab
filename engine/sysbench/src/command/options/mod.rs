//! From arguments and option files to typed settings.

pub mod config_file;
pub mod given;
pub mod line;
pub mod resolve;
pub mod settings;
pub mod table;
