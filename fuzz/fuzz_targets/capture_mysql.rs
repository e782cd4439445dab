//! Any bytes as a capture of MySQL's protocol.
#![no_main]

mod capturing;
mod reading;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(log) = capturing::log(data, 3306) {
        reading::read("mysql-capture", &log);
    }
});
