//! PostgreSQL's protocol, version 3, as a listener hears it. Source: PostgreSQL's manual,
//! "Frontend/Backend Protocol".
//!
//! | where | what |
//! |---|---|
//! | `message` | messages by their types |
//! | `values` | parameters as PostgreSQL's logs write them |
//! | `prepared` | prepared statements and portals |
//! | `request` | what waits for its answer |
//! | `decoder` | the whole |

mod decoder;
mod message;
mod prepared;
mod request;
mod values;

pub use decoder::Postgres;
pub use message::{is_request, is_startup};
