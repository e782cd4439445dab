//! Literal values of an experiment, and the common form in which they are sent.

use crate::node::Node;
use dyno_core::error::Result;
use dyno_core::workload::{Form, SCALE_MAX, Value, put_decimal};

/// Maximum length of a text, bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A literal value.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// NULL, or a value other than text.
    Plain(Value),
    /// Text.
    Text(Box<[u8]>),
}

impl Constant {
    /// Reads a string, a number, true, false or null. Fails for other types and for too long texts.
    pub fn read(node: &Node) -> Result<Self> {
        use serde_json::Value as Json;
        Ok(match node.value {
            Json::Null => Self::Plain(Value::Null),
            Json::Bool(value) => Self::Plain(Value::Bool(*value)),
            Json::Number(number) => Self::Plain(match decimal(number) {
                Some((unscaled, 0)) => Value::Int(unscaled),
                Some((unscaled, scale)) => Value::Decimal { unscaled, scale },
                None => Value::Double(node.number(|_| true, "of at most 1.8e308")?),
            }),
            Json::String(text) if text.len() > TEXT_BYTES_MAX => {
                return Err(node.wrong(format_args!("it is longer than {TEXT_BYTES_MAX} bytes")));
            }
            Json::String(text) => Self::Text(text.as_bytes().into()),
            Json::Array(_) | Json::Object(_) => {
                return Err(node.wrong("it is neither text nor number, true, false or null"));
            }
        })
    }

    fn form(&self) -> Option<Form> {
        match self {
            Self::Text(_) | Self::Plain(Value::Text(_)) => Some(Form::Text),
            Self::Plain(Value::Null) => None,
            Self::Plain(Value::Int(_)) => Some(Form::Int),
            Self::Plain(Value::Decimal { .. }) => Some(Form::Decimal),
            Self::Plain(Value::Double(_)) => Some(Form::Double),
            Self::Plain(Value::Bool(_)) => Some(Form::Bool),
        }
    }

    /// Converts the value to `form`, which [`common`] has chosen.
    fn into_form(self, form: Form) -> Self {
        if self.form().is_none_or(|own| own == form) {
            return self;
        }
        let Self::Plain(value) = self else { return self };
        match (form, value) {
            (Form::Decimal, Value::Int(unscaled)) => {
                Self::Plain(Value::Decimal { unscaled, scale: 0 })
            }
            (Form::Double, Value::Int(number)) => Self::Plain(Value::Double(number as f64)),
            (Form::Double, Value::Decimal { unscaled, scale }) => {
                Self::Plain(Value::Double(unscaled as f64 / 10f64.powi(i32::from(scale))))
            }
            (_, value) => Self::Text(words(&value).into()),
        }
    }
}

/// The form that can represent all values: the most exact numeric one, else text. Text if all values
/// are NULL.
fn common(forms: impl Iterator<Item = Form>) -> Form {
    use Form::{Decimal, Double, Int};
    forms
        .reduce(|a, b| match (a, b) {
            (a, b) if a == b => a,
            (Int, Decimal) | (Decimal, Int) => Decimal,
            (Double, Int | Decimal) | (Int | Decimal, Double) => Double,
            _ => Form::Text,
        })
        .unwrap_or(Form::Text)
}

/// Converts values to their common form, since a prepared parameter has one type.
pub fn unify(constants: Vec<Constant>) -> (Vec<Constant>, Form) {
    let form = common(constants.iter().filter_map(Constant::form));
    (constants.into_iter().map(|constant| constant.into_form(form)).collect(), form)
}

fn words(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Decimal { unscaled, scale } => put_decimal(*unscaled, *scale, &mut out),
        Value::Int(number) => put_decimal(*number, 0, &mut out),
        Value::Double(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Null | Value::Text(_) => {}
    }
    out
}

/// A number as (unscaled, scale), the value being `unscaled / 10^scale`. `None` if it has too many digits.
pub fn decimal(number: &serde_json::Number) -> Option<(i64, u8)> {
    if let Some(whole) = number.as_i64() {
        return Some((whole, 0));
    }
    // The shortest digits that parse to this number, without an exponent.
    let text = format!("{}", number.as_f64()?);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let scale = u8::try_from(fraction.len()).ok().filter(|&scale| scale <= SCALE_MAX)?;
    let unscaled = format!("{whole}{fraction}").parse().ok()?;
    Some((unscaled, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn unified(value: serde_json::Value) -> (Vec<Constant>, Form) {
        let node = Node::new("mix", "values", &value);
        let all = node.items().expect("a list");
        unify(all.iter().map(|node| Constant::read(node).expect("a value")).collect())
    }

    #[test]
    fn all_values_of_a_parameter_have_one_form() {
        let int = |n| Constant::Plain(Value::Int(n));
        let decimal = |unscaled, scale| Constant::Plain(Value::Decimal { unscaled, scale });
        let text = |text: &str| Constant::Text(text.as_bytes().into());
        let null = || Constant::Plain(Value::Null);
        for (given, form, constants) in [
            (json!([1, null, 2]), Form::Int, vec![int(1), null(), int(2)]),
            (json!([1, 2.50]), Form::Decimal, vec![decimal(1, 0), decimal(25, 1)]),
            (json!([1e6]), Form::Int, vec![int(1_000_000)]),
            (
                json!(["a", 1, 2.5, true]),
                Form::Text,
                vec![text("a"), text("1"), text("2.5"), text("true")],
            ),
            (json!([null]), Form::Text, vec![null()]),
            (
                json!([true, false]),
                Form::Bool,
                vec![Constant::Plain(Value::Bool(true)), Constant::Plain(Value::Bool(false))],
            ),
            (
                json!([1e300, 2]),
                Form::Double,
                vec![Constant::Plain(Value::Double(1e300)), Constant::Plain(Value::Double(2.0))],
            ),
        ] {
            assert_eq!(unified(given.clone()), (constants, form), "{given}");
        }
    }

    #[test]
    fn numbers_keep_the_digits_they_were_written_with() {
        let read = |value: serde_json::Value| decimal(value.as_number().expect("a number"));
        assert_eq!(read(json!(0.01)), Some((1, 2)));
        assert_eq!(read(json!(-999.99)), Some((-99_999, 2)));
        assert_eq!(read(json!(1e-7)), Some((1, 7)));
        assert_eq!(read(json!(i64::MAX)), Some((i64::MAX, 0)));
        assert_eq!(read(json!(1e-19)), None);
        assert_eq!(read(json!(1e19)), None);
        assert_eq!(read(json!(u64::MAX)), None);
    }
}
