//! Parses the command line: options in their order, the test's name, its command.

use super::config_file;
use super::given::Given;
use crate::command::refusal::Refusal;

/// A parsed command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Options in the order in which they were given.
    pub options: Vec<Given>,
    /// The first word that is no option: the test's name.
    pub testname: Option<String>,
    /// The second such word: the command.
    pub command: Option<String>,
}

impl Line {
    /// Parses the arguments after the program's name. Options may be anywhere.
    pub fn parse(args: &[String]) -> Result<Self, Refusal> {
        let mut line = Self::default();
        for arg in args {
            if let Some(given) = Given::parse(arg) {
                line.options.push(given);
            } else if line.testname.is_none() {
                line.testname = Some(arg.clone());
            } else if line.command.is_none() {
                line.command = Some(arg.clone());
            } else {
                return Err(Refusal::plain(format!("Unrecognized command line argument: {arg}")));
            }
        }
        Ok(line)
    }

    /// Inserts the options of each configuration file where the file is named: later options override
    /// earlier ones, as in sysbench.
    pub fn with_files(self) -> Result<Self, Refusal> {
        let mut options = Vec::with_capacity(self.options.len());
        for given in self.options {
            let file = given.value.as_deref().filter(|path| !path.is_empty());
            if let Some(path) = file.filter(|_| given.name == "config-file") {
                let read = config_file::read(path)?;
                options.extend(read.into_iter().filter(|given| given.name != "config-file"));
            }
            options.push(given);
        }
        Ok(Self { options, ..self })
    }

    /// Handles the deprecated `--test=NAME`; the first word is then the command. Returns whether it was
    /// used.
    pub fn take_old_testname(&mut self) -> Result<bool, Refusal> {
        let Some(at) = self.options.iter().rposition(|given| given.name == "test") else {
            return Ok(false);
        };
        let name = self.options.remove(at).value.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Refusal::plain("--test: no name is given"))?;
        self.options.retain(|given| given.name != "test");
        if let Some(surplus) = self.command.take() {
            return Err(Refusal::plain(format!("Unrecognized command line argument: {surplus}")));
        }
        self.command = self.testname.replace(name);
        Ok(true)
    }

    /// The last value given for an option.
    pub fn last(&self, name: &str) -> Option<&Given> {
        self.options.iter().rfind(|given| given.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(args: &[&str]) -> Result<Line, Refusal> {
        Line::parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_anywhere_and_two_words_do_not() {
        for args in [["--a_b=1", "test", "run", "--c"], ["test", "--a-b=1", "run", "--c"]] {
            let line = parse(&args).unwrap();
            assert_eq!(line.testname.as_deref(), Some("test"));
            assert_eq!(line.command.as_deref(), Some("run"));
            assert_eq!(line.last("a-b").unwrap().value.as_deref(), Some("1"));
            assert_eq!(line.last("c").unwrap().value, None);
        }
        assert_eq!(parse(&["-"]).unwrap().testname.as_deref(), Some("-"));
        let surplus = parse(&["--threads", "2", "cpu", "help"]).unwrap_err();
        assert_eq!(surplus.text(), "Unrecognized command line argument: help");
    }

    #[test]
    fn the_old_way_of_naming_a_test_leaves_the_first_word_to_the_command() {
        let mut line = parse(&["--test=cpu", "--events=1", "run"]).unwrap();
        assert!(line.take_old_testname().unwrap());
        assert_eq!((line.testname.as_deref(), line.command.as_deref()), (Some("cpu"), Some("run")));
        assert!(line.last("test").is_none());
        assert!(!line.take_old_testname().unwrap());
    }

    #[test]
    fn a_file_stands_for_its_options_and_what_comes_later_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        std::fs::write(&path, "threads=3\nconfig-file=/nonexistent\n").unwrap();
        let file = format!("--config-file={}", path.display());
        for (args, wanted) in
            [([file.as_str(), "--threads=2"], "2"), (["--threads=2", file.as_str()], "3")]
        {
            let line = parse(&args).unwrap().with_files().unwrap();
            assert_eq!(line.last("threads").unwrap().value.as_deref(), Some(wanted));
        }
    }

    proptest! {
        #[test]
        fn no_words_break_it(args in proptest::collection::vec(".{0,20}", 0..6)) {
            if let Ok(mut line) = Line::parse(&args) {
                let _ = line.take_old_testname();
            }
        }
    }
}
