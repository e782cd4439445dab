//! Tests of every driver that is a wire, for any protocol: it survives any input, and the
//! boundaries of network reads do not matter.

use dyno_core::driver::{DriverKind, Progress, Session, Wire};
use dyno_core::plan::{Address, Secret, Target, Tls};
use dyno_core::request::capability::Capability;
use dyno_drivers::DRIVERS;
use proptest::prelude::*;

const PASSWORD: &str = "correct-horse-battery";

fn target(kind: &DriverKind) -> Target {
    let speaks_sql = kind.capabilities.contains(&Capability::Sql);
    Target {
        driver: kind.name.into(),
        address: Address::Tcp { host: "127.0.0.1".into(), port: 4000 },
        user: "ann".into(),
        password: Secret(PASSWORD.into()),
        database: if speaks_sql { "dyno" } else { "1" }.into(),
        protocol: Default::default(),
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: if speaks_sql { vec!["SET x = 1".into()] } else { vec![] },
        read_only: false,
        options: Default::default(),
    }
}

/// A new session of each driver with a network transport.
fn wires() -> Vec<(&'static str, Box<dyn Wire>)> {
    let wires: Vec<_> = DRIVERS
        .iter()
        .filter_map(|kind| {
            let driver = (kind.build)(&target(kind), [].into()).ok()?;
            match driver.session(0).ok()? {
                Session::Wire(wire) => Some((kind.name, wire)),
                _ => None,
            }
        })
        .collect();
    let names: Vec<_> = wires.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["mysql", "postgres", "redis"]);
    wires
}

/// All events of a wire that receives `bytes` in pieces of the cycled `sizes`, then whether it
/// failed.
fn outcome(
    name: &str,
    wire: &mut dyn Wire,
    bytes: &[u8],
    sizes: &[usize],
) -> (Vec<Progress>, bool) {
    let (mut inbox, mut out, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    wire.connected(false, &mut out);
    loop {
        match wire.receive(&inbox, &mut out) {
            Err(error) => {
                assert!(!error.what.is_empty(), "{name}");
                assert!(!format!("{error:?}").contains(PASSWORD), "{name} shows the password");
                return (events, true);
            }
            Ok((used, progress)) => {
                assert!(used <= inbox.len(), "{name} consumed what it was not given");
                inbox.drain(..used);
                match progress {
                    Progress::More if rest.is_empty() => return (events, false),
                    Progress::More => {
                        let size = sizes.next().copied().unwrap_or(1).clamp(1, rest.len());
                        inbox.extend_from_slice(&rest[..size]);
                        rest = &rest[size..];
                    }
                    event => events.push(event),
                }
            }
        }
        assert!(events.len() <= bytes.len() + 1, "{name} makes events out of nothing");
    }
}

#[test]
fn an_unknown_option_is_refused_by_its_name() {
    let addresses = [
        Address::Tcp { host: "127.0.0.1".into(), port: 4000 },
        Address::File("no-such-directory/dyno.db".into()),
        Address::None,
    ];
    for kind in DRIVERS {
        let named = addresses.iter().any(|address| {
            let mut target = Target { address: address.clone(), ..target(kind) };
            target.options.insert("no_such_option".into(), 1.into());
            match (kind.build)(&target, [].into()) {
                Ok(_) => panic!("{} ignores an option", kind.name),
                Err(error) => error.to_string().contains("no_such_option"),
            }
        });
        assert!(named, "{} does not say which option it refuses", kind.name);
    }
}

/// A call into a library blocks until it is answered, so no such driver can pipeline.
#[test]
fn only_wires_and_formulas_pipeline() {
    let pipelining: Vec<_> = DRIVERS
        .iter()
        .filter(|kind| kind.capabilities.contains(&Capability::Pipelining))
        .inspect(|kind| {
            let mut target = target(kind);
            if kind.name == "null" {
                target.address = Address::None;
            }
            let session = (kind.build)(&target, [].into()).unwrap().session(0).unwrap();
            assert!(!matches!(session, Session::Blocking(_)), "{}", kind.name);
        })
        .map(|kind| kind.name)
        .collect();
    assert_eq!(pipelining, ["null", "redis"]);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces(
        bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0_u8..12], 0..300),
        sizes in proptest::collection::vec(1_usize..40, 1..20),
    ) {
        let whole = [usize::MAX];
        for ((name, mut one), (_, mut two)) in wires().into_iter().zip(wires()) {
            let at_once = outcome(name, &mut *one, &bytes, &whole);
            let in_pieces = outcome(name, &mut *two, &bytes, &sizes);
            prop_assert_eq!(at_once, in_pieces, "{}", name);
        }
    }
}
