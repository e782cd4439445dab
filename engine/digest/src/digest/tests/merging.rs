//! Classes whose names differ in numbers.

use super::*;
use crate::document::Mergeable;

#[test]
fn classes_that_differ_in_numbers_of_names_are_counted_and_merged_if_that_is_asked_for() {
    let event = |n: u32| {
        format!(
            "# Time: 2024-01-01T10:00:{:02}.000000Z\n# User@Host: a[a] @  [1.2.3.4]  Id: 7\n\
             # Query_time: 0.100000  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
             select a from wp_{n}_posts where b = {n};\n",
            n % 60
        )
    };
    let log: String = (0..50).map(event).collect::<String>() + &event(7).replace("_7_", "_");
    let file = file(log.as_bytes());
    let mut request = request(path(&file), 1);
    let apart = read(&request).unwrap();
    assert_eq!(apart.classes_total, 51);
    assert_eq!(apart.mergeable, Some(Mergeable { classes: 51, merged: 2 }));
    request.asked.merges_names = true;
    for threads in [1, 2] {
        request.threads = threads;
        let merged = read(&request).unwrap();
        assert_eq!((merged.classes_total, merged.mergeable), (2, None));
        assert_eq!(merged.classes[0].fingerprint, "select a from wp_?_posts where b = ?");
        assert_eq!(merged.classes[0].tables, ["wp_?_posts"]);
        assert_eq!(
            merged.classes[1].id,
            apart.classes[..].iter().find(|one| one.tables == ["wp_posts"]).unwrap().id
        );
    }
}
