//! Parses arbitrary bytes as a network capture of PostgreSQL's protocol.
#![no_main]

mod capturing;
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| capturing::read("postgres-capture", 5432, data));
