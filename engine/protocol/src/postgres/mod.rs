//! PostgreSQL's protocol 3.0.
//!
//! | module | contents |
//! |---|---|
//! | `frames` | parses a server's messages: lengths, fields, tags |
//! | `messages` | writes a client's messages; parses its first one |
//! | `oid` | OIDs of types |

pub mod frames;
pub mod messages;
pub mod oid;
