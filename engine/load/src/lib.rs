//! Drives load: transports, workers, pacing, recording, reporting, loading.

pub mod endpoint;
pub mod tls;
pub mod transport;
