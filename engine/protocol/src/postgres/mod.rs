//! PostgreSQL's protocol 3.0.
//!
//! | where | what |
//! |---|---|
//! | `frames` | messages of a server: lengths, fields, tags |
//! | `messages` | messages of a client |

pub mod frames;
pub mod messages;
