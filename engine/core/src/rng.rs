//! Lands next.
