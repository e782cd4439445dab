//! Any bytes as a general query log of MySQL.
#![no_main]

mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reading::read("mysql-general", data));
