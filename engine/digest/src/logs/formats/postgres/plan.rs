//! Statement text, rows and blocks read from auto_explain's plans. Reads text and JSON; other forms (XML,
//! YAML) are not understood.

use crate::event::{Measure, Numbers};
use crate::logs::formats::json::{Members, Value, unescape};

/// Reads a plan, the text after `plan:`. Returns the statement's text, in `buffer` if it has escapes;
/// `None` if the plan is not understood.
pub(super) fn read<'a>(
    plan: &'a [u8],
    numbers: &mut Numbers,
    buffer: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    if plan.starts_with(b"{") {
        return json(plan, numbers, buffer);
    }
    let text = plan.strip_prefix(b"Query Text: ")?;
    // The statement may have several lines; the plan's first line has the costs.
    let cost = memchr::memmem::find(text, b"  (cost=")?;
    let mut end = memchr::memrchr(b'\n', &text[..cost])?;
    if let Some(at) = memchr::memmem::rfind(&text[..end], b"\nQuery Parameters: ") {
        end = at;
    }
    let node = &text[cost..];
    let line = &node[..memchr::memchr(b'\n', node).unwrap_or(node.len())];
    if let Some(at) = memchr::memmem::find(line, b"(actual ") {
        set(numbers, Measure::RowsSent, after(&line[at..], b" rows="));
    }
    // The top node's line comes first and includes all nodes below.
    if let Some(at) = memchr::memmem::find(node, b"\n  Buffers: ") {
        let line = &node[at + 1..];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        if let Some(at) = memchr::memmem::find(line, b"shared") {
            let shared = line[at..].split(|byte| *byte == b',').next().unwrap_or_default();
            set(numbers, Measure::PagesRead, after(shared, b" read=").or(Some(0)));
        }
    }
    Some(text[..end].trim_ascii_end())
}

fn json<'a>(plan: &'a [u8], numbers: &mut Numbers, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let mut text = None;
    let mut members = Members::new(plan)?;
    for (key, value) in members.by_ref() {
        match key {
            b"Query Text" => text = value.string(),
            b"Plan" => {
                for (key, value) in value.members()? {
                    match key {
                        b"Actual Rows" => set(numbers, Measure::RowsSent, value.number()),
                        b"Shared Read Blocks" => set(numbers, Measure::PagesRead, value.number()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    members.is_whole().then_some(unescape(text?, buffer))
}

fn set(numbers: &mut Numbers, measure: Measure, value: Option<u64>) {
    if let Some(value) = value {
        numbers.set(measure, value);
    }
}

/// The number after `key`.
fn after(line: &[u8], key: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, key)? + key.len();
    let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Value::Word(&line[at..at + digits]).number()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(plan: &str) -> Option<(String, Vec<(Measure, u64)>)> {
        let (mut numbers, mut buffer) = (Numbers::default(), Vec::new());
        let text = read(plan.as_bytes(), &mut numbers, &mut buffer)?;
        Some((String::from_utf8_lossy(text).into_owned(), numbers.iter().collect()))
    }

    #[test]
    fn text_plans_give_the_statement_and_what_was_measured() {
        let plan = "Query Text: select *\n  from t;\nSeq Scan on t  (cost=0.00..1.0 rows=9 width=4) \
                    (actual time=0.1..0.2 rows=3 loops=1)\n  Filter: (a < 4)\n  Buffers: shared \
                    hit=54 read=7, temp read=9";
        let (text, numbers) = seen(plan).expect("a plan");
        assert_eq!(text, "select *\n  from t;");
        assert_eq!(numbers, [(Measure::RowsSent, 3), (Measure::PagesRead, 7)]);
        let (text, numbers) = seen(
            "Query Text: q\nQuery Parameters: $1 = '5'\nResult  (cost=0.00..0.01 rows=1 width=4)",
        )
        .expect("a plan");
        assert_eq!((text.as_str(), numbers.len()), ("q", 0));
    }

    #[test]
    fn json_plans_too() {
        let plan = "{\n  \"Query Text\": \"select \\\"a\\\";\",\n  \"Plan\": {\"Node Type\": \"Sort\", \
                    \"Actual Rows\": 3, \"Shared Read Blocks\": 7, \"Plans\": [{\"Actual Rows\": 9}]}\n}";
        let (text, numbers) = seen(plan).expect("a plan");
        assert_eq!(text, "select \"a\";");
        assert_eq!(numbers, [(Measure::RowsSent, 3), (Measure::PagesRead, 7)]);
    }

    #[test]
    fn other_forms_are_not_understood() {
        for plan in ["<explain>", "Query Text: \"q\"\nPlan:\n  Node Type: \"x\"", "{\"Query", ""] {
            assert_eq!(seen(plan), None, "{plan}");
        }
    }
}
