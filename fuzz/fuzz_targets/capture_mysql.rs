//! Parses arbitrary bytes as a network capture of MySQL's protocol.
#![no_main]

mod capturing;
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| capturing::read("mysql-capture", 3306, data));
