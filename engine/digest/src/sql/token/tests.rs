//! Tests of the lexer.

use super::*;

/// The tokens of a statement, each as its text.
fn tokens(statement: &str, language: Language) -> Vec<(Kind, String)> {
    let mut lexer = Lexer::new(statement.as_bytes(), language);
    let mut all = Vec::new();
    loop {
        let token = lexer.next_token();
        if token.kind == Kind::End {
            return all;
        }
        all.push((token.kind, String::from_utf8_lossy(lexer.text(token)).into_owned()));
    }
}

fn is_one(text: &str, kind: Kind, language: Language) {
    assert_eq!(tokens(text, language), [(kind, text.to_owned())]);
}

#[test]
fn literals_are_one_token_each() {
    for text in [
        "1",
        "1.5",
        ".5",
        "1.",
        "1e5",
        "1.5E-3",
        "0xDEADBEEF",
        "0b01",
        "'a'",
        "'O''Brien'",
        "x'4D'",
        "B'01'",
        "N'a'",
        "'cut",
        "'cut''",
    ] {
        is_one(text, Kind::Literal, Language::Mysql);
        is_one(text, Kind::Literal, Language::Postgres);
    }
    for text in
        ["'it\\'s'", "\"a\"\"b\"", "_utf8mb4'a'", "_latin1 x'4D'", "_binary 0x41", "1e", "0x"]
    {
        is_one(text, Kind::Literal, Language::Mysql);
    }
    for text in
        ["'a\\'", "E'it\\'s'", "U&'d\\0061'", "$$it's$$", "$a$ $$ $b$ $a$", "$a$ cut", "1_000"]
    {
        is_one(text, Kind::Literal, Language::Postgres);
    }
}

#[test]
fn names_keep_their_digits_and_quotes() {
    for text in ["t1", "t1_2020", "2024_orders", "_x", "größe", "@x", "@@max_connections", "a$b"]
    {
        is_one(text, Kind::Word, Language::Mysql);
    }
    is_one("`order-items`", Kind::Name, Language::Mysql);
    is_one("`a``b`", Kind::Name, Language::Mysql);
    is_one("\"ANSI names\"", Kind::Name, Language::Postgres);
    is_one("U&\"a\"", Kind::Name, Language::Postgres);
    is_one("`cut", Kind::CutName, Language::Mysql);
}

#[test]
fn operators_are_those_of_the_dialect() {
    for text in ["->", "->>", "<=>", "<>", ":=", "||", "<<"] {
        is_one(text, Kind::Operator, Language::Mysql);
    }
    for text in ["->", "->>", "#>>", "@>", "?|", "?&", "::", "~*", "@-", "<->"] {
        is_one(text, Kind::Operator, Language::Postgres);
    }
    assert_eq!(tokens("a=-1", Language::Postgres).len(), 4);
    for text in ["$1", ":name"] {
        is_one(text, Kind::Parameter, Language::Mysql);
        is_one(text, Kind::Parameter, Language::Postgres);
    }
}

#[test]
fn comments_are_none_and_version_comments_are_code() {
    for text in ["-- it's", "# it's", "/* ' */", "/* cut", "/*"] {
        assert_eq!(tokens(text, Language::Mysql), [], "{text}");
    }
    for text in ["--it's", "/* a /* ' */ ' */", "/* a /* ' */ cut"] {
        assert_eq!(tokens(text, Language::Postgres), [], "{text}");
    }
    assert_eq!(tokens("a--1", Language::Mysql).len(), 4);
    let words =
        |text| tokens(text, Language::Mysql).into_iter().map(|(_, t)| t).collect::<Vec<_>>();
    assert_eq!(words("/*!40001 a */ b /*M!100100 c */"), ["a", "b", "c"]);
    assert_eq!(words("/*+ don't */ b"), ["/*+", "don", "'t ", "*/", "b"]);
    let kinds =
        |text| tokens(text, Language::Mysql).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(kinds("/*+ 16M")[1..2], [Kind::Literal]);
    assert_eq!(kinds("16M"), [Kind::Word]);
}
