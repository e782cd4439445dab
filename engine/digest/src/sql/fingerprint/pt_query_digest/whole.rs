//! Statements that pt-query-digest matches as a whole, not word by word.

/// `use ?`; `None` if this is not USE with one plain name.
pub(super) fn use_of(statement: &[u8]) -> Option<String> {
    let name = behind(statement, b"use ")?.trim_ascii_start();
    let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
    (!name.is_empty() && name.iter().all(|&byte| is_of_name(byte))).then(|| "use ?".to_owned())
}

/// `call shop.p`; `None` if this is not CALL, or pt-query-digest would split its brackets.
pub(super) fn call(statement: &[u8]) -> Option<String> {
    let called = behind(statement, b"call ")?;
    let open = called.iter().position(|&byte| byte == b'(').unwrap_or(called.len());
    let (name, values) = called.split_at(open);
    let is_name = !name.is_empty()
        && name.iter().all(|&byte| is_of_name(byte) || matches!(byte, b'.' | b'`'));
    let is_flat = match values {
        [] => true,
        [b'(', inside @ .., b')'] => !inside.iter().any(|b| matches!(b, b'(' | b')' | b'\n')),
        _ => false,
    };
    let name = std::str::from_utf8(name).ok().filter(|_| is_name && is_flat)?;
    Some(format!("call {}", name.to_ascii_lowercase()))
}

fn behind<'a>(statement: &'a [u8], verb: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = statement.split_at_checked(verb.len())?;
    head.eq_ignore_ascii_case(verb).then_some(rest)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Whether pt-query-digest removes words after ORDER BY that begin with ASC.
pub(super) fn loses_words(text: &str) -> bool {
    text.split_once("order by ").is_some_and(|(_, list)| list.contains(" asc"))
}

/// Whether pt-query-digest may take selects of a union for repetitions and keep only the first; `unions`
/// is the number of UNIONs. True as well for selects within brackets, to be safe.
pub(super) fn repeats_selects(text: &str, unions: usize) -> bool {
    if unions == 0 {
        return false;
    }
    let parts: Vec<&str> = text.split(" union ").map(bare).collect();
    let are_plain = parts.len() == unions + 1 && text.matches("select ").count() == parts.len();
    !are_plain || parts.windows(2).any(|two| two[1].starts_with(two[0]))
}

/// A select of a union without ALL, DISTINCT and brackets.
fn bare(part: &str) -> &str {
    let part = part.strip_prefix("all ").or_else(|| part.strip_prefix("distinct ")).unwrap_or(part);
    part.strip_prefix('(').and_then(|part| part.strip_suffix(')')).unwrap_or(part)
}
