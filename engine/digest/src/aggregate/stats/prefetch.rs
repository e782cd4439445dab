//! Prefetches memory before a lookup needs it.

/// Fetches what is there, up to a line of it, into the processor's cache, without waiting. Nothing is read or
/// changed.
#[inline]
pub fn fetch<T>(value: &T) {
    fetch_line(std::ptr::from_ref(value).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint: it reads nothing, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch_line(_at: *const u8) {}
