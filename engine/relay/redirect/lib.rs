//! A library for `LD_PRELOAD` that leads a server's connections to relays: `connect()` to a port of 127.0.0.0/8
//! that stands in the file of `DYNO_REDIRECT` goes to the port beside it. Everything else is as it was.
//!
//! Nodes of a topology tell each other their addresses, so that a node cannot be given other ones for its peers;
//! and only the process that connects knows which node it is. The children of a server (rsync) inherit it.
//!
//! It needs no library but the server's own libc, be it glibc or musl, and calls nothing that allocates or
//! locks. `build.rs` compiles it; `dyno-engine relay --redirect FILE` writes it.
//!
//! Sources: ld.so(8) `LD_PRELOAD`, connect(2), ip(7) `sockaddr_in`, syscall(2).

#![no_std]

mod table;

use core::ffi::{c_char, c_int, c_long, c_void};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(descriptor: c_int, buffer: *mut c_void, count: usize) -> isize;
    fn close(descriptor: c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
const CONNECT: c_long = 42;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const CONNECT: c_long = 203;

const CLOEXEC: c_int = 0o2_000_000;
const TABLE_BYTES_MAX: usize = 4096;
const ADDRESS_BYTES: usize = 16;
const AF_INET: [u8; 2] = 2_u16.to_ne_bytes();
const LOOPBACK: u8 = 127;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// connect(2), which sets `errno` as the original does.
///
/// # Safety
/// That of connect(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(descriptor: c_int, address: *const c_void, bytes: u32) -> c_int {
    let led;
    let mut used = address;
    if !address.is_null() && bytes as usize >= ADDRESS_BYTES {
        // SAFETY: so many bytes are at the address, says the caller; of any alignment.
        let given = unsafe { address.cast::<[u8; ADDRESS_BYTES]>().read_unaligned() };
        if let Some(other) = led_to(given) {
            led = other;
            used = led.as_ptr().cast();
        }
    }
    // SAFETY: the arguments are those of the caller, or an address of the same length that lives until then.
    unsafe { syscall(CONNECT, c_long::from(descriptor), used, c_long::from(bytes)) as c_int }
}

/// The address of a relay instead of a server's.
fn led_to(mut address: [u8; ADDRESS_BYTES]) -> Option<[u8; ADDRESS_BYTES]> {
    let [family_0, family_1, high, low, network, ..] = address;
    if [family_0, family_1] != AF_INET || network != LOOPBACK {
        return None;
    }
    let mut buffer = [0_u8; TABLE_BYTES_MAX];
    let count = table(&mut buffer)?;
    let port = table::relay(buffer.get(..count)?, u16::from_be_bytes([high, low]))?;
    [address[2], address[3]] = port.to_be_bytes();
    Some(address)
}

/// Reads the file; the number of its bytes.
fn table(buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the name ends with a NUL; so does the path, which nobody changes in a server that runs.
    let descriptor = unsafe {
        let path = getenv(c"DYNO_REDIRECT".as_ptr());
        if path.is_null() {
            return None;
        }
        open(path, CLOEXEC)
    };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the buffer is that long, and the descriptor is ours.
    let count = unsafe {
        let count = read(descriptor, buffer.as_mut_ptr().cast(), buffer.len());
        close(descriptor);
        count
    };
    usize::try_from(count).ok()
}
