//! Whole calls that need no script: messages and exit codes are those of sysbench 1.0.20.

use super::*;

fn called(args: &[&str]) -> Result<i32, String> {
    let args: Vec<String> = ["sysbench"].iter().chain(args).map(|&arg| arg.to_owned()).collect();
    begin(&args, &[], None).map_err(|refusal| refusal.text().to_owned())
}

#[test]
fn what_is_wrong_with_a_call_is_said_in_sysbenchs_words() {
    for (args, wanted) in [
        (&["foo", "bar", "baz"][..], "Unrecognized command line argument: baz"),
        (&["--threads", "2", "cpu", "run"], "Unrecognized command line argument: run"),
        (&["--threads=abc", "cpu", "run"], "Invalid value for the 'threads' option: 'abc'"),
        (&["--verbosity=9", "cpu", "run"], "Invalid value for verbosity: 9"),
        (&["--config-file=/nonexistent", "cpu"], "/nonexistent: No such file or directory"),
        (
            &["cpu", "--verbosity=0"],
            "The 'cpu' test requires a command argument. See 'sysbench cpu help'",
        ),
        (
            &["help", "--verbosity=0"],
            "Cannot find benchmark 'help': no such built-in test, file or module",
        ),
    ] {
        assert_eq!(called(args), Err(wanted.to_owned()), "{args:?}");
    }
    console::set_verbosity(Level::Notice as u8);
}

#[test]
fn help_and_version_need_no_test() {
    for (arg, wanted) in [
        ("--help", "Usage:\n"),
        ("--version", "sysbench 1.0.20\n"),
        ("--db-driver=help", "Compiled-in database drivers:\n"),
    ] {
        let given: Vec<_> = options::given::Given::parse(arg).into_iter().collect();
        let options = resolve::resolve(&table::all(Compat::V1_0), &given, Unknown::Waits).unwrap();
        assert!(asked(&options, Compat::V1_0).unwrap().starts_with(wanted), "{arg}");
    }
}

#[test]
fn compat_changes_version_options_and_defaults() {
    assert_eq!(header::version(Compat::V1_0), "sysbench 1.0.20");
    assert_eq!(header::version(Compat::V1_1), "sysbench 1.1.0");
    assert!(called(&["--compat=2", "cpu"]).unwrap_err().contains("1.0 or 1.1"));
    let help = help::general(Compat::V1_1);
    let new = "  --thread-init-timeout=N         wait time in seconds for worker threads to initialize [30]\n";
    assert!(help.contains(new) && !help.contains("tx-rate"));
    assert!(help::general(Compat::V1_0).contains("--tx-rate=N                     "));
}

/// Wrappers cut drivers and tests out of the help by these headings and empty lines.
#[test]
fn the_help_lists_what_wrappers_look_for() {
    let help = help::general(Compat::V1_0);
    let part = |heading: &str| {
        let lines = help.lines().skip_while(|line| *line != heading).skip(1);
        lines.take_while(|line| !line.is_empty()).map(str::trim_start).collect::<Vec<_>>()
    };
    let first = |line: &&str| line.split(' ').next().map(str::to_owned);
    let names = |heading| part(heading).iter().filter_map(first).collect::<Vec<_>>();
    assert_eq!(names("Compiled-in database drivers:"), ["mysql", "pgsql"]);
    assert_eq!(
        names("Compiled-in tests:"),
        crate::native::NATIVE.iter().map(|test| test.name()).collect::<Vec<_>>()
    );
    assert_eq!(part("pgsql options:").len(), 5);
    assert_eq!(
        part("mysql options:")[0],
        "--mysql-host=[LIST,...]          MySQL server host [localhost]"
    );
}

#[test]
fn the_lines_before_a_run_are_in_sysbenchs_order() {
    let args = [
        "--threads=2",
        "--rate=5",
        "--report-interval=1",
        "--report-checkpoints=2,1",
        "--debug",
        "--validate",
        "--rand-seed=7",
        "--forced-shutdown=10%",
        "--warmup-time=3",
    ];
    let given: Vec<_> = args.iter().filter_map(|arg| options::given::Given::parse(arg)).collect();
    let options = resolve::resolve(&table::all(Compat::V1_0), &given, Unknown::Refused).unwrap();
    let settings = Settings::of(&options, Compat::V1_0).unwrap();
    assert_eq!(
        header::options(&settings, &options),
        "Running the test with following options:\n\
         Number of threads: 2\n\
         Warmup time: 3s\n\
         Target transaction rate: 5/sec\n\
         Report intermediate results every 1 second(s)\n\
         Report checkpoint(s) at 1, 2 seconds\n\
         Debug mode enabled.\n\n\
         Validation checks: on.\n\n\
         Initializing random number generator from seed (7).\n\n\
         Forcing shutdown in 11 seconds\n"
    );
}
