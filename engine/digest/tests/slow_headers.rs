//! The document has the offset of an unknown header line of a slow log, for `--strict`.

mod reading;

use reading::read;

fn event(user_line: &str, seconds: &str) -> String {
    format!(
        "# Time: 2025-11-22T04:42:15.000000Z\n{user_line}\n\
         # Query_time: {seconds}  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 9\n\
         SET timestamp=1763786531;\nselect * from t where id = 7;\n"
    )
}

#[test]
fn no_time_is_lost_with_a_header_and_its_strange_line_has_a_place() {
    let usual = "# User@Host: app[app] @ web1 [10.0.0.1]  Id:     5";
    let strange = "# User@Host: app at home";
    let more = format!("{usual}  Tenant: 7");
    let log = [usual, &more, strange].map(|line| event(line, "1349.0")).concat();
    let document = read(&log);
    let time = document.overall.query_time.as_ref().unwrap();
    assert_eq!((document.overall.count, time.sum), (3, 3.0 * 1349.0));
    let input = &document.inputs[0];
    assert_eq!((input.events, input.pieces_not_understood), (3, 1));
    assert_eq!(input.bytes_not_understood, strange.len() as u64 + 1);
    let place = &input.not_understood[0];
    assert_eq!((place.offset, place.line), (log.find(strange).unwrap() as u64, Some(12)));
}
