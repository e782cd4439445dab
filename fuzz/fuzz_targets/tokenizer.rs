//! Parses arbitrary bytes as a statement in each language. Tokens must be in order; fingerprints must be
//! equal exactly if their keys are, contain no literals and be stable. The first byte is the offset that
//! divides the input into two statements.
#![no_main]

use dyno_digest::sql::distill::distill;
use dyno_digest::sql::fingerprint::Fingerprinter;
use dyno_digest::sql::language::Language;
use dyno_digest::sql::token::{Kind, Lexer};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

/// Text of literals, which must not appear in fingerprints.
const MARK: &[u8] = b"7391";

thread_local!(static FINGERPRINTERS: RefCell<[Fingerprinter; 2]> =
    RefCell::new([Language::Mysql, Language::Postgres].map(Fingerprinter::new)));

fuzz_target!(|data: &[u8]| {
    let Some((&cut, data)) = data.split_first() else { return };
    let (one, two) = data.split_at(usize::from(cut).min(data.len()));
    if data.trim_ascii_start().starts_with(b"{") || cut & 15 == 0 {
        fingerprints(&mut Fingerprinter::new(Language::Mongo), one, two);
        distill(data, Language::Mongo);
    }
    FINGERPRINTERS.with_borrow_mut(|[mysql, postgres]| {
        for (fingerprinter, language) in [(mysql, Language::Mysql), (postgres, Language::Postgres)]
        {
            let shows_marks = tokens(data, language);
            let text = fingerprints(fingerprinter, one, two);
            distill(data, language);
            // Bytes that are not UTF-8 are shown as digits.
            if !shows_marks && two.is_empty() && std::str::from_utf8(data).is_ok() {
                assert!(!contains(text.as_bytes(), MARK), "a literal in {text}");
            }
        }
    });
});

/// Whether the mark occurs in a token that is not a literal.
fn tokens(statement: &[u8], language: Language) -> bool {
    let mut lexer = Lexer::new(statement, language);
    let (mut at, mut shows_marks) = (0, false);
    loop {
        let token = lexer.next_token();
        assert!(at <= token.begin && token.begin <= token.end && token.end <= statement.len());
        if token.kind == Kind::End {
            return shows_marks;
        }
        assert!(token.begin < token.end || token.kind == Kind::HintEnd);
        at = token.end;
        let is_literal = matches!(token.kind, Kind::Literal | Kind::Parameter | Kind::CutName);
        shows_marks |= !is_literal && contains(lexer.text(token), MARK);
    }
}

/// Checks the fingerprints of both statements against their keys; returns the first fingerprint.
fn fingerprints(fingerprinter: &mut Fingerprinter, one: &[u8], two: &[u8]) -> String {
    let keys = [one, two].map(|statement| fingerprinter.key(statement));
    let [first, second] = [one, two].map(|statement| fingerprinter.fingerprint(statement));
    assert_eq!(keys[0] == keys[1], first == second, "{first}\n{second}");
    // The key must not depend on earlier statements.
    assert_eq!(keys[0], fingerprinter.key(one));
    fingerprinter.pt_id(one);
    first
}

fn contains(text: &[u8], mark: &[u8]) -> bool {
    text.windows(mark.len()).any(|window| window == mark)
}
