//! Text from outside (servers, files, names) on its way to a terminal: control sequences are
//! escaped.
//!
//! Sources: ECMA-48 (C0, C1); Unicode Annex 9 (bidirectional formatting characters).

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters (except line ends and tabs) and overrides of the writing
/// direction as `\u001b`: JSON stays JSON of the same meaning.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(commands) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if commands(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn commands(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_shown() {
        for plain in ["", "a\n\tb", "größer", "日本", "\\u001b"] {
            assert!(matches!(shown(plain), Cow::Borrowed(same) if same == plain));
        }
        let evil = "\x1b[2J\r\x07\x7f\u{9b}31m\u{85}\u{202e}x\u{2066}\0";
        let safe = r"\u001b[2J\u000d\u0007\u007f\u009b31m\u0085\u202ex\u2066\u0000";
        assert_eq!(shown(evil), safe);
        assert_eq!(shown(&shown(evil)), safe);
    }

    #[test]
    fn json_keeps_its_meaning() {
        let said = serde_json::json!({"what": "a\u{9b}b\x7f\u{202e}\x1b"});
        let line = said.to_string();
        let safe = shown(&line);
        assert!(
            safe.is_ascii() && serde_json::from_str::<serde_json::Value>(&safe).unwrap() == said
        );
    }
}
