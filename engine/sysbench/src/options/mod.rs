//! Options of a run: what may be given, and what was.
//!
//! Names are kept with `-`; `_` means the same wherever a name is read.

pub mod value;

use std::collections::BTreeMap;

/// What an option's text must look like, and how scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `on`, `off`, `true`, `false`, `1`, `0`; a name alone means on.
    Bool,
    /// Whole number, with an optional suffix `K`, `M`, `G`, `T` (powers of 1024).
    Int,
    /// The same, of bytes: the help shows it with a suffix.
    Size,
    /// Number of a script, whole or not: Lua knows one kind.
    Number,
    /// Floating-point number.
    Double,
    /// One number, or several separated by commas.
    Numbers,
    /// Text.
    Text,
    /// The name of a file.
    File,
    /// Texts, separated by commas.
    List,
}

/// An option that may be given.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// As the help spells it; `-` and `_` are the same.
    pub name: String,
    /// Its line in the help.
    pub help: String,
    /// What its text must look like.
    pub kind: Kind,
    /// Its value if it is not given; `None`: the empty one of its kind, which the help does not show.
    pub default: Option<Value>,
}

/// An option's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// Of [`Kind::Int`] and [`Kind::Size`], and of [`Kind::Number`] where it is whole.
    Int(i64),
    /// Of [`Kind::Double`].
    Double(f64),
    /// Of [`Kind::Text`] and [`Kind::File`], and of [`Kind::Numbers`] where there are several.
    Text(String),
    /// Of [`Kind::List`].
    List(Vec<String>),
}

/// All options of a call with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    values: BTreeMap<String, Value>,
    given: std::collections::BTreeSet<String>,
}

impl Options {
    /// Sets an option; `given`: by the user, not by default.
    pub fn set(&mut self, name: &str, value: Value, given: bool) {
        let name = canonical(name);
        if given {
            self.given.insert(name.clone());
        }
        self.values.insert(name, value);
    }

    /// An option's value.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(&canonical(name))
    }

    /// Whether the user gave it, on the command line or in the configuration file.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&canonical(name))
    }

    /// Names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A switch; off if it is not declared.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    /// A whole number; 0 if it is not declared.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(value)) => *value,
            Some(Value::Double(value)) => *value as i64,
            _ => 0,
        }
    }

    /// A number; 0 if it is not declared.
    pub fn double(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Double(value)) => *value,
            Some(Value::Int(value)) => *value as f64,
            _ => 0.0,
        }
    }

    /// A text; empty if it is not declared.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(value)) => value,
            _ => "",
        }
    }

    /// A list; empty if it is not declared.
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }
}

/// The name with `-`.
pub fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_and_dashes_name_the_same_option() {
        let mut options = Options::default();
        options.set("table_size", Value::Int(10), true);
        assert_eq!((options.int("table-size"), options.is_given("table_size")), (10, true));
        assert_eq!(options.get("tables"), None);
    }
}
