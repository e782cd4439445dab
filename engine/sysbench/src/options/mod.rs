//! Options of a run: declarations and values.
//!
//! Names are stored with `-`; lookups treat `_` as `-`.

pub mod value;

use std::collections::BTreeMap;

/// The type of an option: the text that it accepts and the type that scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `on`, `off`, `true`, `false`, `1`, `0`; the name alone means on.
    Bool,
    /// An integer, with an optional suffix `K`, `M`, `G`, `T` (powers of 1024).
    Int,
    /// An integer number of bytes; like [`Kind::Int`], but the help shows it with a suffix.
    Size,
    /// A number of a script, integer or not: Lua has one number type.
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

/// The declaration of an option.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The name as the help spells it; `-` and `_` are equivalent.
    pub name: String,
    /// The description in the help.
    pub help: String,
    /// The type.
    pub kind: Kind,
    /// The default; `None`: the empty value of the type, which the help does not show.
    pub default: Option<Value>,
}

/// An option's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// Of [`Kind::Int`] and [`Kind::Size`], and of [`Kind::Number`] if it is an integer.
    Int(i64),
    /// Of [`Kind::Double`].
    Double(f64),
    /// Of [`Kind::Text`] and [`Kind::File`], and of [`Kind::Numbers`] if there are several.
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
    /// Sets an option. `given`: the user set it; it is not a default.
    pub fn set(&mut self, name: &str, value: Value, given: bool) {
        let name = canonical(name);
        if given {
            self.given.insert(name.clone());
        }
        self.values.insert(name, value);
    }

    /// Returns an option's value.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(&canonical(name))
    }

    /// Whether the user set it, on the command line or in the configuration file.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&canonical(name))
    }

    /// Iterates over names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns a switch; off if it is not declared.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    /// Returns an integer; 0 if it is not declared.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(value)) => *value,
            Some(Value::Double(value)) => *value as i64,
            _ => 0,
        }
    }

    /// Returns a number; 0 if it is not declared.
    pub fn double(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Double(value)) => *value,
            Some(Value::Int(value)) => *value as f64,
            _ => 0.0,
        }
    }

    /// Returns a text; empty if it is not declared.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(value)) => value,
            _ => "",
        }
    }

    /// Returns a list; empty if it is not declared.
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }
}

/// Returns the name with `-` for `_`.
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
