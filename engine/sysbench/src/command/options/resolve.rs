//! Resolves options as given into options with their values.

use crate::command::options::given::Given;
use crate::command::refusal::Refusal;
use crate::options::value;
use crate::options::{Declared, Kind, Options, Value};

/// The treatment of undeclared options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Skip them: the test has not declared its options yet.
    Waits,
    /// Refuse them. In a configuration file, which may serve several tests, ignore them.
    Refused,
    /// Pass their text to the script.
    Kept,
}

/// Returns the values of all declared options, and of other given ones as `unknown` specifies.
///
/// # Errors
/// An unknown option that is refused; a value that is not of its option's type.
pub fn resolve(
    declared: &[Declared],
    given: &[Given],
    unknown: Unknown,
) -> Result<Options, Refusal> {
    let mut options = Options::default();
    for option in declared {
        let value = option.default.clone().unwrap_or_else(|| value::empty(option.kind));
        options.set(&option.name, value, false);
    }
    // The last declaration is the test's own.
    let find = |name: &str| declared.iter().rfind(|option| is_named(option, name));
    for given in given {
        match (find(&given.name), unknown) {
            (Some(option), _) => options.set(&given.name, parse(option, given)?, true),
            (None, Unknown::Kept) => {
                let text = given.value.clone().unwrap_or_default();
                options.set(&given.name, Value::Text(text), true);
            }
            (None, Unknown::Refused) if given.place.is_none() => return Err(invalid(given)),
            (None, Unknown::Refused | Unknown::Waits) => {}
        }
    }
    Ok(options)
}

fn is_named(option: &Declared, name: &str) -> bool {
    // `name` has dashes only.
    option.name.len() == name.len()
        && option.name.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'_' && b == b'-'))
}

fn parse(option: &Declared, given: &Given) -> Result<Value, Refusal> {
    let text = given.value.as_deref();
    let is_empty = text.is_none_or(str::is_empty);
    let value = match option.kind {
        Kind::Bool => value::parse(Kind::Bool, text),
        // A name alone, or an empty text after `=`, as an unset variable of a wrapper results in.
        kind if is_empty => Some(value::empty(kind)),
        kind => value::parse(kind, text),
    };
    value.ok_or_else(|| match option.kind {
        Kind::Bool => invalid(given),
        _ => wrong(given),
    })
}

fn invalid(given: &Given) -> Refusal {
    Refusal::plain(format!("invalid option: {}", given.text))
}

fn wrong(given: &Given) -> Refusal {
    let name = given.name.replace('-', "_");
    let value = given.value.as_deref().unwrap_or_default();
    let place = given.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
    Refusal::plain(format!("Invalid value for the '{name}' option: '{value}'{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, kind: Kind, default: Option<Value>) -> Declared {
        Declared { name: name.into(), help: String::new(), kind, default }
    }

    fn resolved(arg: &str, unknown: Unknown) -> Result<Options, String> {
        let table = [
            declared("table_size", Kind::Int, Some(Value::Int(5))),
            declared("sw", Kind::Bool, Some(Value::Bool(false))),
            declared("none", Kind::Bool, None),
            declared("ls", Kind::List, Some(Value::List(vec!["a".into()]))),
        ];
        let given: Vec<Given> = Given::parse(arg).into_iter().collect();
        resolve(&table, &given, unknown).map_err(|refusal| refusal.text().to_owned())
    }

    #[test]
    fn values_by_default_and_as_given() {
        let options = resolved("--table-size=7", Unknown::Refused).unwrap();
        assert_eq!((options.int("table_size"), options.is_given("table-size")), (7, true));
        assert!(!options.bool("sw") && options.bool("none") && !options.is_given("sw"));
        assert_eq!(options.list("ls"), ["a"]);
        assert_eq!(resolved("--table-size=", Unknown::Refused).unwrap().int("table-size"), 0);
        assert!(resolved("--ls", Unknown::Refused).unwrap().list("ls").is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_in_sysbenchs_words() {
        let refused = |arg| resolved(arg, Unknown::Refused).unwrap_err();
        assert_eq!(refused("--table_size=x"), "Invalid value for the 'table_size' option: 'x'");
        assert_eq!(refused("--sw=maybe"), "invalid option: --sw=maybe");
        assert_eq!(refused("--other=3"), "invalid option: --other=3");
        assert_eq!(refused("--"), "invalid option: --");
    }

    #[test]
    fn unknown_options_are_kept_as_text_where_the_script_declares_none() {
        let options = resolved("--foo_bar=5", Unknown::Kept).unwrap();
        assert_eq!(options.text("foo-bar"), "5");
        assert_eq!(resolved("--foo=5", Unknown::Waits).unwrap().get("foo"), None);
        let in_file = Given::named("foo=5", "--foo=5").in_file("c, line 1");
        assert!(resolve(&[], &[in_file], Unknown::Refused).unwrap().get("foo").is_none());
    }
}
