//! Reads and validates nested options. Each value carries its path, which error messages contain
//! (`option params.uid.theta of workload mix: ...`). [`Reader`](crate::options::Reader) reads flat
//! options.

use dyno_core::error::{Error, Kind, Result};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A JSON value and its path in the options.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    workload: &'static str,
    path: String,
    /// The value.
    pub value: &'a Value,
}

impl<'a> Node<'a> {
    /// Creates a node for `value` at `path` in the options of `workload`.
    pub fn new(workload: &'static str, path: impl Into<String>, value: &'a Value) -> Self {
        Self { workload, path: path.into(), value }
    }

    /// A plan error about this value.
    pub fn wrong(&self, why: impl Display) -> Error {
        let (path, workload) = (&self.path, self.workload);
        Error::new(Kind::Plan, format!("option {path} of workload {workload}: {why}"))
    }

    /// The error "VALUE is not WHAT", with the value truncated to 60 characters.
    fn is_not(&self, what: impl Display) -> Error {
        let shown = self.value.to_string();
        let cut: String = shown.chars().take(60).collect();
        let dots = if cut.len() < shown.len() { "..." } else { "" };
        self.wrong(format!("{cut}{dots} is not {what}"))
    }

    /// The node of a member or element.
    fn part(&self, name: impl Display, value: &'a Value) -> Self {
        Self { workload: self.workload, path: format!("{}.{name}", self.path), value }
    }

    /// The names and values of a mapping. Fails for other types.
    pub fn members(&self) -> Result<Vec<(&'a str, Node<'a>)>> {
        let map = self.value.as_object().ok_or_else(|| self.is_not("a mapping"))?;
        Ok(map.iter().map(|(name, value)| (name.as_str(), self.part(name, value))).collect())
    }

    /// A mapping, to be read field by field. Fails for other types.
    pub fn fields(&self) -> Result<Fields<'a>> {
        let map = self.value.as_object().ok_or_else(|| self.is_not("a mapping"))?;
        Ok(Fields { node: self.clone(), map, known: Vec::new() })
    }

    /// The elements of a list. Fails for other types.
    pub fn items(&self) -> Result<Vec<Node<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.is_not("a list"))?;
        Ok(items.iter().enumerate().map(|(n, value)| self.part(n, value)).collect())
    }

    /// The elements of a list of two. Fails for other values; `of` names the elements' type in the error.
    pub fn pair(&self, of: &str) -> Result<[Node<'a>; 2]> {
        let wrong = || self.is_not(format_args!("a list of two {of}: [lowest, highest]"));
        let items = self.items().map_err(|_| wrong())?;
        <[Node<'a>; 2]>::try_from(items).map_err(|_| wrong())
    }

    /// Reads an integer. Accepts floats without a fraction (`1e6`, `1000000.0`), as YAML writes them.
    pub fn whole(&self, allowed: RangeInclusive<i64>) -> Result<i64> {
        let float = || {
            let x = self.value.as_f64()?;
            (x.fract() == 0.0 && x.abs() < 1e15).then_some(x as i64)
        };
        let number = self.value.as_i64().or_else(float);
        number.filter(|n| allowed.contains(n)).ok_or_else(|| {
            let (low, high) = (allowed.start(), allowed.end());
            self.is_not(format_args!("a whole number from {low} to {high}"))
        })
    }

    /// Reads a finite number that satisfies `allowed`; `range` describes the condition in error messages.
    pub fn number(&self, allowed: impl Fn(f64) -> bool, range: &str) -> Result<f64> {
        let number = self.value.as_f64().filter(|&x| x.is_finite() && allowed(x));
        number.ok_or_else(|| self.is_not(format_args!("a number {range}")))
    }

    /// Reads a fraction from 0 to 1.
    pub fn share(&self) -> Result<f64> {
        self.number(|x| (0.0..=1.0).contains(&x), "from 0 to 1")
    }

    /// Reads a relative weight from 0 to 1e15.
    pub fn weight(&self) -> Result<f64> {
        self.number(|x| (0.0..=1e15).contains(&x), "from 0 to 1e15")
    }

    /// Reads `true` or `false`.
    pub fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.is_not("true or false"))
    }

    /// Reads a string.
    pub fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.is_not("text"))
    }

    /// Reads one of the `allowed` words.
    pub fn word(&self, allowed: &[&'static str]) -> Result<&'static str> {
        let found = allowed.iter().find(|word| self.value.as_str() == Some(word)).copied();
        found.ok_or_else(|| self.is_not(format_args!("one of {}", allowed.join(", "))))
    }
}

/// The fields of a mapping. Records the names that are read, so that unknown fields can be rejected.
#[derive(Debug)]
pub struct Fields<'a> {
    /// The mapping.
    pub node: Node<'a>,
    map: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// A field, if it is present and not `null`.
    pub fn get(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.given(name).filter(|node| !node.value.is_null())
    }

    /// A field, if it is present; it may be `null`.
    pub fn given(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.known.push(name);
        self.map.get(name).map(|value| self.node.part(name, value))
    }

    /// A required field; fails if it is absent or `null`.
    pub fn need(&mut self, name: &'static str) -> Result<Node<'a>> {
        self.get(name).ok_or_else(|| self.node.wrong(format_args!("it has no {name}")))
    }

    /// Fails if a field is present that was never read.
    pub fn finish(&self) -> Result<()> {
        match self.map.keys().find(|name| !self.known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(self
                .node
                .wrong(format_args!("it has no field {name}"))
                .hint(format!("its fields are {}", self.known.join(", ")))),
        }
    }
}

/// Fails unless `name` is an ASCII identifier of at most 63 bytes, which needs no quotes in any SQL
/// dialect or histogram name. `what` is the kind of the named object, for the error message.
pub fn check_name(node: &Node, name: &str, what: &str) -> Result<()> {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && name.len() <= 63 {
        return Ok(());
    }
    Err(node.wrong(format_args!(
        "{name:?} is no name for a {what}: a letter or _, then letters, digits and _, 63 at most"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_name_the_whole_path() {
        let value = json!({"a": {"b": [1, 2.5, "x", 1e6]}, "c": null});
        let root = Node::new("mix", "params", &value);
        let mut fields = root.fields().expect("a mapping");
        let list = fields.need("a").expect("is there").fields().expect("a mapping").need("b");
        let items = list.expect("is there").items().expect("a list");
        assert_eq!(items[0].whole(0..=9), Ok(1));
        assert_eq!(items[3].whole(0..=1_000_000), Ok(1_000_000));
        let said = |result: Result<i64>| result.expect_err("wrong").to_string();
        assert_eq!(
            said(items[1].whole(0..=9)),
            "option params.a.b.1 of workload mix: 2.5 is not a whole number from 0 to 9"
        );
        assert!(said(items[0].whole(2..=9)).ends_with("1 is not a whole number from 2 to 9"));
        let flag = items[2].flag().expect_err("wrong").to_string();
        assert!(
            flag.ends_with("params.a.b.2 of workload mix: \"x\" is not true or false"),
            "{flag}"
        );
        assert!(fields.get("c").is_none() && fields.given("c").is_some());
        assert!(fields.finish().is_ok());
        let unknown = root.fields().expect("a mapping").finish().expect_err("unknown").to_string();
        assert!(unknown.contains("params of workload mix: it has no field a"), "{unknown}");
    }

    #[test]
    fn names_are_plain() {
        let value = json!(1);
        let node = Node::new("mix", "x", &value);
        for good in ["a", "_1", "Find_User2"] {
            assert_eq!(check_name(&node, good, "class"), Ok(()));
        }
        for bad in ["", "1a", "a b", "a-b", "é", &"x".repeat(64)] {
            assert!(check_name(&node, bad, "class").is_err(), "{bad}");
        }
    }
}
