//! MySQL's and MariaDB's protocol.
//!
//! | where | what |
//! |---|---|
//! | `packet` | framing, length-encoded integers |
//! | `flags` | capabilities, status flags, commands, field types |
//! | `handshake` | greeting of the server, login of the client as we write it |
//! | `login` | the same as any client writes it |
//! | `control` | packets that are neither definition nor row |
//! | `column` | column definitions, rows and their values |
//! | `compressed` | the zlib protocol around packets |

pub mod column;
pub mod compressed;
pub mod control;
pub mod flags;
pub mod handshake;
pub mod login;
pub mod packet;
