//! Parses the options that a script declares, from base.lua's list of them.

use crate::options::value;
use crate::options::{Declared, Kind};

/// Parses base.lua's list `declared`, five words per option: name, help, type, whether there is a
/// default, default.
///
/// # Errors
/// A default that does not have the option's type.
pub fn options(words: &[String]) -> Result<Vec<Declared>, String> {
    words.chunks_exact(5).map(option).collect()
}

fn option(words: &[String]) -> Result<Declared, String> {
    let [name, help, kind, has_default, default] = words else {
        return Err("an option is not listed as it should be".into());
    };
    let kind = kind_of(kind);
    let default = match has_default.is_empty() {
        true => None,
        false => Some(value::parse(kind, Some(default)).ok_or_else(|| {
            format!("wrong default of the option '{name}': '{default}' is not of its type")
        })?),
    };
    Ok(Declared { name: name.clone(), help: help.clone(), kind, default })
}

fn kind_of(name: &str) -> Kind {
    match name {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "number" => Kind::Number,
        "size" => Kind::Size,
        "double" => Kind::Double,
        "list" => Kind::List,
        "file" => Kind::File,
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Value;

    #[test]
    fn words_become_options_and_wrong_defaults_errors() {
        let words = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let one = &options(&words("tables|how many|int|=|10")).unwrap()[0];
        assert_eq!(
            (one.name.as_str(), one.kind, &one.default),
            ("tables", Kind::Int, &Some(Value::Int(10)))
        );
        let none = &options(&words("name|x|text||")).unwrap()[0];
        assert_eq!((none.kind, &none.default), (Kind::Text, &None));
        assert!(options(&words("tables|how many|int|=|x")).unwrap_err().contains("'tables'"));
    }
}
