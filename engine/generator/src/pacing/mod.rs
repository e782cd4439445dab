//! When transactions begin: schedules, arrivals, pauses, and the times of recorded sessions.

pub mod arrival_source;
pub mod arrivals;
pub mod due_count;
pub mod replay;
pub mod schedule;
pub mod think_time;
