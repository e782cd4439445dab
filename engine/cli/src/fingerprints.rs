//! `dyno-engine fingerprints`: prints the statement classes of texts from a server's statement counters,
//! for the samplers of these counters.

use crate::{REFUSED, output};
use dyno_core::shown::shown;
use dyno_digest::aggregate::class_id::id;
use dyno_digest::sql::distill::distill;
use dyno_digest::sql::fingerprint::Fingerprinter;
use dyno_digest::sql::language::Language;
use dyno_digest::sql::server_text::plain;
use serde_json::json;
use std::io::Read;

/// Maximum size of the input, bytes. Servers keep some thousand statements of some thousand bytes.
const BYTES_MAX: u64 = 1 << 30;

/// Runs the command; returns the exit code.
pub fn main(language: &str) -> i32 {
    let language = match language {
        "mysql" => Language::Mysql,
        "postgres" => Language::Postgres,
        other => {
            let other = shown(other);
            eprintln!("error: there are no fingerprints of {other}: give mysql or postgres");
            return REFUSED;
        }
    };
    let mut texts = Vec::new();
    let read = std::io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut texts);
    if let Err(error) = read {
        eprintln!("error: standard input cannot be read: {error}");
        return REFUSED;
    }
    if texts.len() as u64 > BYTES_MAX {
        eprintln!("error: more than {BYTES_MAX} bytes on standard input: give fewer statements");
        return REFUSED;
    }
    output::text(&lines(&texts, language))
}

/// One line of JSON per statement; `texts` separates statements by zero bytes.
fn lines(texts: &[u8], language: Language) -> String {
    let mut fingerprinter = Fingerprinter::new(language);
    let texts = texts.strip_suffix(b"\0").unwrap_or(texts);
    let mut out = String::new();
    for text in texts.split(|&byte| byte == 0) {
        let text = plain(text, language);
        let distilled = distill(&text, language);
        let class = json!({
            "id": id(fingerprinter.key(&text)),
            "fingerprint": fingerprinter.fingerprint(&text),
            "distill": distilled.to_string(),
            "tables": distilled.tables,
        });
        out += &format!("{class}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_has_its_line() {
        let texts = b"SELECT `a` FROM `t` . `u` WHERE `b` = ?\0\0DELETE FROM `t`\0";
        let lines = lines(texts, Language::Mysql);
        let classes: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(classes.len(), 3);
        assert_eq!(classes[0]["fingerprint"], "select a from t.u where b = ?");
        assert_eq!(classes[0]["distill"], "SELECT t.u");
        assert_eq!(classes[0]["tables"], json!(["t.u"]));
        assert_eq!(classes[1]["fingerprint"], "");
        assert_eq!(classes[0]["id"].as_str().map(str::len), Some(32));
    }
}
