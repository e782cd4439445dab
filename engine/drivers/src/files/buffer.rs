//! Memory for blocks, aligned to pages for `O_DIRECT`.

use dyno_core::random::rng::Rng;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// A buffer of bytes, initially zero.
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the buffer owns its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    /// # Errors
    /// The allocation fails.
    pub fn new(bytes: u64) -> Result<Self, String> {
        let failed = || format!("Failed to allocate a memory buffer of {bytes} bytes");
        let size = usize::try_from(bytes.max(1)).map_err(|_| failed())?;
        let layout = Layout::from_size_align(size, PAGE_BYTES).map_err(|_| failed())?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(failed)?;
        Ok(Self { start, layout })
    }

    /// Random bytes, which compressing file systems and drives cannot shrink.
    pub fn random(bytes: u64, rng: &mut Rng) -> Result<Self, String> {
        let mut buffer = Self::new(bytes)?;
        fill(&mut buffer, rng);
        Ok(buffer)
    }

    /// Start address for the kernel, which may be writing to it.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.layout.size() as u64
    }
}

/// Fills `bytes` with random bytes.
pub fn fill(bytes: &mut [u8], rng: &mut Rng) {
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&rng.u64().to_le_bytes()[..word.len()]);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the buffer owns this many initialised bytes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
