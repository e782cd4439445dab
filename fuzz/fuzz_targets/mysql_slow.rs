//! Any bytes as a slow query log of MySQL.
#![no_main]

mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reading::read("mysql-slow", data));
