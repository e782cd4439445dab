use super::*;
use proptest::prelude::*;

fn statement(sql: &str, params: &[ParamType]) -> Request {
    Request::new("test", workload::Effect::Read, sql, params.to_vec())
}

fn encode(sql: &str, params: &[ParamType], protocol: Protocol, tx: &Transaction) -> Vec<u8> {
    let statements = Statements::new(&[statement(sql, params)], protocol).unwrap();
    let mut out = b"before".to_vec();
    statements.request(&tx.ops[0], tx, false, &mut out);
    out.split_off(6)
}

fn one(fill: impl FnOnce(&mut Transaction)) -> Transaction {
    let mut tx = Transaction::default();
    fill(&mut tx);
    tx.op(0);
    tx
}

#[test]
fn what_is_verbatim_is_one_query_in_any_protocol() {
    let tx = one(|tx| tx.text(|text| text.extend_from_slice(b"select '$1?'")));
    for protocol in [Protocol::Text, Protocol::Prepared] {
        let verbatim = Request::new("c", workload::Effect::Verbatim, "", vec![]);
        let statements = Statements::new(&[verbatim], protocol).unwrap();
        assert!(statements.prepare().is_empty());
        let mut out = Vec::new();
        statements.request(&tx.ops[0], &tx, false, &mut out);
        assert_eq!(out, b"Q\0\0\0\x11select '$1?'\0");
    }
}

#[test]
fn a_point_select_is_bind_execute_sync() {
    let tx = one(|tx| tx.int(258));
    let sql = "SELECT c FROM t WHERE id=?";
    let bytes = encode(sql, &[ParamType::Int], Protocol::Prepared, &tx);
    let bind = b"B\0\0\0\x18\0s0\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\x01\x02\0\0";
    let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(bytes, [&bind[..], &rest[..]].concat());
}

#[test]
fn parse_messages_carry_types_and_numbered_parameters() {
    let statements = Statements::new(
        &[statement(
            "UPDATE t SET c=? WHERE id=? AND k=?",
            &[ParamType::Text, ParamType::Int, ParamType::BigInt],
        )],
        Protocol::Prepared,
    )
    .unwrap();
    let body = b"s0\0UPDATE t SET c=$1 WHERE id=$2 AND k=$3\0\0\x03\0\0\0\x19\0\0\0\x17\0\0\0\x14";
    let mut expected = vec![b'P', 0, 0, 0, body.len() as u8 + 4];
    expected.extend_from_slice(body);
    expected.extend_from_slice(b"S\0\0\0\x04");
    assert_eq!(statements.prepare(), expected);
    assert!(Statements::new(&[], Protocol::Prepared).unwrap().prepare().is_empty());
}

#[test]
fn a_number_too_large_for_its_parameter_is_not_cut() {
    let tx = one(|tx| tx.int(1 << 40));
    let bytes = encode("SELECT ?", &[ParamType::Int], Protocol::Prepared, &tx);
    assert_eq!(bytes[15..27], [0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn literals_are_safe() {
    let tx = one(|tx| {
        tx.int(-5);
        tx.int(i64::MIN);
        tx.int(7);
        tx.text(|text| text.extend_from_slice(br"it's \ ok"));
        tx.text(|text| text.extend_from_slice(b"a\0b"));
    });
    let params =
        [ParamType::Int, ParamType::BigInt, ParamType::Int, ParamType::Text, ParamType::Text];
    let bytes = encode("SELECT 1-?, ?, ?, ?, ?", &params, Protocol::Text, &tx);
    let sql = br"SELECT 1-(-5), '-9223372036854775808', 7, 'it''s \ ok', E'\000'";
    assert_eq!(&bytes[5..bytes.len() - 1], sql);
    let mut out = Vec::new();
    quoted(br"\'", true, &mut out);
    assert_eq!(out, br"'\\'''");
}

/// Every form, with an unknown column.
fn all_forms() -> (Vec<ParamType>, Transaction) {
    use dyno_core::workload::Form;
    let forms = [Form::Int, Form::Decimal, Form::Double, Form::Bool, Form::Text, Form::Text];
    let tx = one(|tx| {
        tx.int(-5);
        tx.value(Value::Decimal { unscaled: -105, scale: 2 });
        tx.value(Value::Double(1.5e300));
        tx.value(Value::Bool(true));
        tx.text(|text| text.extend_from_slice(b"2024-02-29"));
        tx.value(Value::Null);
    });
    (forms.map(ParamType::Inferred).to_vec(), tx)
}

#[test]
fn parameters_of_unknown_columns_have_no_type_in_both_protocols() {
    let (params, tx) = all_forms();
    let sql = "SELECT 1-?, ?, ?, ?, ?, ?";
    let bytes = encode(sql, &params, Protocol::Text, &tx);
    let expected = "SELECT 1-'-5', '-1.05', '1.5e300', 't', '2024-02-29', NULL";
    assert_eq!(&bytes[5..bytes.len() - 1], expected.as_bytes());
    let bytes = encode(sql, &params, Protocol::Prepared, &tx);
    let mut expected = b"\0s0\0\0\0\0\x06".to_vec();
    for text in ["-5", "-1.05", "1.5e300", "t", "2024-02-29"] {
        expected.extend_from_slice(&(text.len() as u32).to_be_bytes());
        expected.extend_from_slice(text.as_bytes());
    }
    expected.extend_from_slice(&[0xff; 4]);
    assert_eq!(&bytes[5..5 + expected.len()], expected);
    let statements = Statements::new(&[statement(sql, &params)], Protocol::Prepared).unwrap();
    let types = [&[0, 6][..], &[0; 24], b"S\0\0\0\x04"].concat();
    assert!(statements.prepare().ends_with(&types), "no types: the server infers them");
}

#[test]
fn typed_and_untyped_parameters_have_a_format_each() {
    use dyno_core::workload::Form;
    let tx = one(|tx| {
        tx.int(1);
        tx.int(2);
    });
    let params = [ParamType::Int, ParamType::Inferred(Form::Int)];
    let bytes = encode("SELECT ?, ?", &params, Protocol::Prepared, &tx);
    let expected = b"\0s0\0\0\x02\0\x01\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x012\0\0";
    assert_eq!(&bytes[5..5 + expected.len()], expected);
}

#[test]
fn question_marks_of_the_server_s_own_stay() {
    let tx = one(|tx| tx.int(7));
    let sql = workload::Sql::new(vec!["SELECT d ? 'k' AND id = ".into(), String::new()]);
    let params = vec![ParamType::BigInt];
    let statement = Request::new("s", workload::Effect::Read, sql, params);
    let text = Statements::new(std::slice::from_ref(&statement), Protocol::Text).unwrap();
    let mut out = Vec::new();
    text.request(&tx.ops[0], &tx, false, &mut out);
    assert_eq!(&out[5..], b"SELECT d ? 'k' AND id = 7\0");
    let prepared = Statements::new(&[statement], Protocol::Prepared).unwrap();
    let sql = b"SELECT d ? 'k' AND id = $1\0";
    assert!(prepared.prepare().windows(sql.len()).any(|window| window == sql));
}

#[test]
fn an_error_names_the_parameter() {
    let mut named = statement("SELECT ?, ?", &[ParamType::Int, ParamType::Text]);
    named.names = vec!["id".into(), "city".into()];
    let statements = Statements::new(&[named], Protocol::Prepared).unwrap();
    assert_eq!(statements.name(0, Some(2)), "statement test, parameter 2 (:city)");
    assert_eq!(statements.name(0, Some(3)), "statement test");
    assert_eq!(statements.name(0, None), "statement test");
    assert_eq!(
        statements.describe_prepared(0, Some(1)),
        "to prepare statement `test` (SELECT $1, $2), parameter 1 (:id)"
    );
}

#[test]
fn a_statement_must_fit_its_parameters() {
    let wrong = Statements::new(&[statement("SELECT ?, ?", &[ParamType::Int])], Protocol::Text);
    assert!(wrong.err().unwrap().what.contains("2 places for 1 parameters"));
}

/// Decodes a literal as PostgreSQL's lexer does.
fn unquoted(literal: &[u8], backslashes: bool) -> Option<Vec<u8>> {
    let mut inner = literal.strip_prefix(b"'")?.strip_suffix(b"'")?.iter().peekable();
    let mut out = Vec::new();
    while let Some(&byte) = inner.next() {
        match byte {
            b'\'' if inner.next() != Some(&b'\'') => return None,
            b'\\' if backslashes => out.push(*inner.next()?),
            _ => out.push(byte),
        }
    }
    Some(out)
}

proptest! {
    #[test]
    fn quoting_round_trips(
        text in proptest::collection::vec(
            prop_oneof![Just(b'\''), Just(b'\\'), 1_u8..=255], 0..40),
        backslashes: bool,
    ) {
        let mut out = Vec::new();
        quoted(&text, backslashes, &mut out);
        prop_assert_eq!(unquoted(&out, backslashes), Some(text));
    }
}
