//! Decodes PostgreSQL's protocol, version 3, from captured traffic. Source: PostgreSQL's manual,
//! "Frontend/Backend Protocol".
//!
//! | where | what |
//! |---|---|
//! | `message` | recognition of messages, SQLSTATE of errors |
//! | `values` | parameters in the format of PostgreSQL's logs |
//! | `prepared` | prepared statements and portals |
//! | `request` | unanswered requests |
//! | `decoder` | the state machine of a connection |

mod decoder;
mod message;
mod prepared;
mod request;
mod values;

pub use decoder::Postgres;
pub use message::{is_request, is_startup};
