//! The library that leads connections of servers to relays, as a part of this program: see `redirect/lib.rs`.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An ELF shared object for `LD_PRELOAD`.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/redirect.so"));

/// Writes it, for any account to load.
///
/// # Errors
/// The system's: the directory is not there, or the disk is full.
pub fn write(path: &Path) -> io::Result<()> {
    fs::write(path, LIBRARY)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
#[path = "../redirect/table.rs"]
mod table;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_port_of_a_relay_for_each_that_is_led() {
        let led = b"3306 40001\n4567 65535\n";
        assert_eq!(table::relay(led, 3306), Some(40001));
        assert_eq!(table::relay(led, 4567), Some(65535));
        assert_eq!(table::relay(led, 40001), None);
        assert_eq!(table::relay(led, 0), None);
        assert_eq!(table::relay(b"", 3306), None);
        // The end of a table that was cut.
        assert_eq!(table::relay(b"3306 400", 3306), None);
    }

    #[test]
    fn the_library_is_a_shared_object() {
        assert_eq!(&LIBRARY[..4], b"\x7fELF");
        let name = format!("dyno-redirect-{}.so", std::process::id());
        let path = std::env::temp_dir().join(name);
        write(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        fs::remove_file(&path).unwrap();
    }
}
