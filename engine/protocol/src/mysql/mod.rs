//! The protocol of MySQL and MariaDB.
//!
//! | module | contents |
//! |---|---|
//! | `packet` | framing, length-encoded integers |
//! | `flags` | capabilities, status flags, commands, field types |
//! | `handshake` | the server's greeting, and the login that the drivers send |
//! | `login` | the logins that any client sends |
//! | `control` | packets that are neither definition nor row |
//! | `column` | column definitions, rows and their values |
//! | `compressed` | the zlib protocol that wraps packets |

pub mod column;
pub mod compressed;
pub mod control;
pub mod flags;
pub mod handshake;
pub mod login;
pub mod packet;
