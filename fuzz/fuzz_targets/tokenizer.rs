//! Any bytes as a statement: tokens cover the text in order, keys and texts agree, nothing panics.
#![no_main]

use dyno_digest::event::Language;
use dyno_digest::fingerprint::Fingerprinter;
use dyno_digest::token::{Kind, Lexer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for language in [Language::Mysql, Language::Postgres, Language::Mongo] {
        let mut lexer = Lexer::new(data, language);
        let mut at = 0;
        loop {
            let token = lexer.next_token();
            assert!(at <= token.begin && token.begin <= token.end && token.end <= data.len());
            if token.kind == Kind::End {
                break;
            }
            assert!(token.begin < token.end || token.kind == Kind::HintEnd);
            at = token.end;
        }
        let mut fingerprinter = Fingerprinter::new(language);
        let key = fingerprinter.key(data);
        fingerprinter.fingerprint(data);
        fingerprinter.key(b"select * from t where a in (1, 2)");
        assert_eq!(key, fingerprinter.key(data));
        let _ = dyno_digest::distill::distill(data, language);
    }
});
