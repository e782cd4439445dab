//! Errors after which an event begins again, counted by code.

use super::*;

#[test]
fn errors_that_are_ignored_are_counted_by_code() {
    let ran = run(
        "function thread_init() con = dyno.connect('mysql') end
         function event()
           dyno.query(con, 'refuse 1213')
           dyno.query(con, 'refuse 1213')
           dyno.query(con, 'lose')
         end",
        1,
        1,
    );
    ran.assert_ended();
    let reading = ran.tallies.read();
    let codes: Vec<_> = reading.codes.iter().map(|(code, &n)| (code.as_str(), n)).collect();
    assert_eq!(codes, [("1213", 2), ("lost", 1)]);
    assert_eq!(reading.errors, 3);
}
