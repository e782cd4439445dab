//! PostgreSQL's protocol 3.0.
//!
//! | where | what |
//! |---|---|
//! | `frames` | messages of a server: lengths, fields, tags |
//! | `messages` | messages of a client, written; its first one read |
//! | `oid` | types by their numbers |

pub mod frames;
pub mod messages;
pub mod oid;
