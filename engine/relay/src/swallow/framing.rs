//! A stream cut into frames, most of which pass without being looked at.

/// What becomes of the bytes at the front of the stream.
pub enum Verdict {
    /// More of the frame must be seen: so many bytes from its begin.
    Need(usize),
    /// The frame, of so many bytes, passes; those of it that are still to come too.
    Pass(usize),
    /// These bytes take the place of the frame, which has been seen whole.
    Replace(Vec<u8>),
    /// Everything passes from now on.
    PassAll,
}

/// Cuts a stream. A frame is judged by its first bytes.
#[derive(Debug, Default)]
pub struct Framing {
    held: Vec<u8>,
    needed: usize,
    passing: usize,
    passes_all: bool,
}

impl Framing {
    /// Appends to `out` what becomes of `bytes`. `judge` sees a frame's first bytes, at least one.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        mut judge: impl FnMut(&[u8]) -> Verdict,
    ) {
        while !bytes.is_empty() {
            let most = match (self.passes_all, self.passing) {
                (true, _) => bytes.len(),
                (false, 0) => self.needed.max(1) - self.held.len(),
                (false, passing) => passing,
            };
            let (now, later) = bytes.split_at(most.min(bytes.len()));
            bytes = later;
            if self.passes_all || self.passing > 0 {
                out.extend_from_slice(now);
                self.passing = self.passing.saturating_sub(now.len());
                continue;
            }
            self.held.extend_from_slice(now);
            if self.held.len() >= self.needed {
                self.decide(out, &mut judge);
            }
        }
    }

    fn decide(&mut self, out: &mut Vec<u8>, judge: &mut impl FnMut(&[u8]) -> Verdict) {
        match judge(&self.held) {
            Verdict::Need(count) => {
                self.needed = count.max(self.held.len() + 1);
                return;
            }
            Verdict::Pass(total) => {
                out.extend_from_slice(&self.held);
                self.passing = total.saturating_sub(self.held.len());
            }
            Verdict::Replace(frame) => out.extend_from_slice(&frame),
            Verdict::PassAll => {
                out.extend_from_slice(&self.held);
                self.passes_all = true;
            }
        }
        self.held.clear();
        self.needed = 0;
    }
}
