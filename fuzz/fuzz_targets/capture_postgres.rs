//! Any bytes as a capture of PostgreSQL's protocol.
#![no_main]

mod capturing;
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(log) = capturing::log(data, 5432) {
        reading::read("postgres-capture", &log);
    }
});
