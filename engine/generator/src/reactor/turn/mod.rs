//! The parts of a turn of the event loop, as traits on top of [`LoadThread`](super::load_thread::LoadThread).
//!
//! | module | contents |
//! |---|---|
//! | [`connecting`], [`closing`] | connections made, and lost; `connect_queue`: those that are requested |
//! | `receiving` | answers; [`receive_buffer`]: the limits of a turn; `unread`: how long answers waited unread |
//! | [`sending`] | requests |

pub mod closing;
pub(super) mod connect_queue;
pub mod connecting;
pub mod receive_buffer;
pub(super) mod receiving;
pub mod sending;
pub(super) mod unread;
