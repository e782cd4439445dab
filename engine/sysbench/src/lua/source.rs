//! A script's text, and the search path of the modules that it requires.

use dyno_core::error::{Error, Kind, Result};
use std::io::Read;
use std::path::Path;

/// A built-in script: its name and its text.
pub type Builtin = (&'static str, &'static str);

/// A script before it runs. Shared by all threads.
#[derive(Debug, Clone)]
pub struct Source {
    /// The chunk name in Lua's messages: `@path`, `=stdin`.
    pub chunk: String,
    /// The text.
    pub text: Vec<u8>,
    /// Searched first by `require`: `?` is the module's name, `;` separates patterns.
    pub path: String,
    /// Whether built-in modules precede files: true if the script itself is built in.
    pub is_builtin: bool,
    /// Built-in modules.
    pub builtins: &'static [Builtin],
}

impl Source {
    /// The script that the command line calls `name`: a file; else a file of that name, with or
    /// without `.lua`, where modules are looked for; else a built-in one. None: there is no such
    /// script.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn find(name: &str, builtins: &'static [Builtin]) -> Result<Option<Self>> {
        if Path::new(name).is_file() {
            return Self::file(name, builtins).map(Some);
        }
        let bare = name.strip_suffix(".lua").unwrap_or(name);
        for pattern in module_path().split(';').filter(|pattern| !pattern.is_empty()) {
            let path = pattern.replace('?', bare);
            if Path::new(&path).is_file() {
                return Self::file(&path, builtins).map(Some);
            }
        }
        Ok(Self::builtin(bare, builtins))
    }

    /// Reads a file; its directory is searched for modules first.
    fn file(path: &str, builtins: &'static [Builtin]) -> Result<Self> {
        let text = std::fs::read(path)
            .map_err(|error| Error::new(Kind::Plan, format!("cannot read {path}: {error}")))?;
        let folder = match Path::new(path).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.display().to_string(),
            _ => ".".into(),
        };
        Ok(Self {
            chunk: format!("@{path}"),
            text,
            path: format!("{folder}/?.lua;{}", module_path()),
            is_builtin: false,
            builtins,
        })
    }

    /// Creates a script from text; `folder` is searched for modules first.
    pub fn kept(name: &str, text: &str, folder: &str, builtins: &'static [Builtin]) -> Self {
        Self {
            chunk: format!("@{name}"),
            text: text.as_bytes().to_vec(),
            path: format!("{folder}/?.lua;{}", module_path()),
            is_builtin: false,
            builtins,
        }
    }

    /// Returns a built-in script; none: unknown name.
    pub fn builtin(name: &str, builtins: &'static [Builtin]) -> Option<Self> {
        builtins.iter().find(|builtin| builtin.0 == name).map(|(name, text)| Self {
            chunk: format!("@{name}.lua"),
            text: text.as_bytes().to_vec(),
            path: module_path(),
            is_builtin: true,
            builtins,
        })
    }

    /// Reads standard input to its end.
    ///
    /// # Errors
    /// Standard input cannot be read.
    pub fn stdin(builtins: &'static [Builtin]) -> Result<Self> {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map_err(|error| {
            Error::new(Kind::Plan, format!("cannot read the script from standard input: {error}"))
        })?;
        Ok(Self { chunk: "=stdin".into(), text, path: module_path(), is_builtin: false, builtins })
    }

    /// For a call without a script: nothing runs, but the options and `sysbench` exist.
    pub fn empty(builtins: &'static [Builtin]) -> Self {
        Self {
            chunk: "=none".into(),
            text: Vec::new(),
            path: module_path(),
            is_builtin: true,
            builtins,
        }
    }
}

/// `LUA_PATH` where it is set, `;;` in it for the usual places, which are the working directory's.
fn module_path() -> String {
    const USUAL: &str = "./?.lua;./?/init.lua";
    match std::env::var("LUA_PATH") {
        Ok(path) => path.replace(";;", &format!(";{USUAL};")),
        Err(_) => USUAL.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_before_a_built_in_script_and_nothing_is_nothing() {
        static BUILTINS: &[Builtin] = &[("mine", "return 1")];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.lua");
        std::fs::write(&path, "x = 1").unwrap();
        let path = path.to_str().unwrap();
        let found = Source::find(path, BUILTINS).unwrap().unwrap();
        assert_eq!((found.chunk, found.is_builtin), (format!("@{path}"), false));
        assert!(found.path.starts_with(folder.path().to_str().unwrap()));
        for name in ["mine", "mine.lua"] {
            let found = Source::find(name, BUILTINS).unwrap().unwrap();
            assert_eq!((found.chunk.as_str(), found.is_builtin), ("@mine.lua", true));
        }
        assert!(Source::find("none-of-these", BUILTINS).unwrap().is_none());
    }
}
