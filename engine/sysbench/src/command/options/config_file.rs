//! `--config-file`: one option per line, as `name=value` or a name alone, with or without the dashes
//! of the command line. Lines that begin with `#` or `;` are comments; `[section]` lines are ignored.
//! Blanks around names and values are ignored.

use crate::command::options::given::Given;
use crate::command::refusal::Refusal;
use std::path::Path;

/// Reads the options of a file, in its order.
pub fn read(path: &str) -> Result<Vec<Given>, Refusal> {
    let bytes = std::fs::read(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "No such file or directory".to_owned(),
            _ => error.to_string(),
        };
        Refusal::plain(format!("{path}: {what}"))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Refusal::plain(format!("{path}: it is no text in UTF-8")))?;
    parse(path, &text)
}

fn parse(path: &str, text: &str) -> Result<Vec<Given>, Refusal> {
    let mut options = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
            None => (line, None),
        };
        let name = name.trim_start_matches('-');
        let place = format!("{}, line {}", short(path), number + 1);
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(Refusal::plain(format!("{place}: {line}: write name=value")));
        }
        let typed = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
        options.push(Given::named(&typed, &format!("--{typed} ({place})")).in_file(&place));
    }
    Ok(options)
}

fn short(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, Option<String>)> {
        let options = parse("dir/c.cnf", text).unwrap_or_default();
        options.into_iter().map(|given| (given.name, given.value)).collect()
    }

    #[test]
    fn names_and_values_with_comments_sections_and_blanks() {
        let text =
            "# comment\n; comment\n[client]\n\nthreads=3\n  table_size = 10 \n--debug\nst=a=b\nx=";
        let wanted = [
            ("threads", Some("3")),
            ("table-size", Some("10")),
            ("debug", None),
            ("st", Some("a=b")),
            ("x", Some("")),
        ];
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect();
        assert_eq!(pairs(text), wanted);
    }

    #[test]
    fn a_line_that_is_neither_is_named_with_its_place() {
        let refused = parse("dir/c.cnf", "a=1\nthreads 4\n").unwrap_err();
        assert!(refused.text().contains("c.cnf, line 2: threads 4"), "{}", refused.text());
        assert!(read("/nonexistent").unwrap_err().text().contains("No such file"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(?s).{0,200}") {
            let _ = parse("c", &text);
        }
    }
}
