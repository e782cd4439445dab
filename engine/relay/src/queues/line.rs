//! The bandwidth that all connections of a listener share in one direction.
//!
//! Bytes leave one after the other. Those that do not fit yet stay in the kernel's buffers, so that TCP slows
//! their sender down, and connections take turns: one that sends much delays the others by `QUEUE_NS` and a
//! piece of each.

/// Time that bytes may wait for the line inside the relay.
const QUEUE_NS: u64 = 5_000_000;
/// Smallest piece: what an Ethernet frame carries.
const PIECE_BYTES_MIN: usize = 1448;
/// Pieces last a thousandth of a second on a fast line.
const PIECES_PER_S: u64 = 1000;

/// A line of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Line {
    bytes_per_s: u64,
    free_ns: u64,
}

impl Line {
    /// Changes the bandwidth from `now_ns` on; 0: no limit. What has left keeps its time.
    pub fn set(&mut self, bytes_per_s: u64, now_ns: u64) {
        if bytes_per_s != self.bytes_per_s {
            *self = Self { bytes_per_s, free_ns: now_ns };
        }
    }

    /// Whether the bandwidth is limited.
    pub fn is_limited(&self) -> bool {
        self.bytes_per_s > 0
    }

    /// When the line takes the next piece; in the past if at once.
    pub fn admits_from_ns(&self) -> u64 {
        if self.is_limited() { self.free_ns.saturating_sub(QUEUE_NS) } else { 0 }
    }

    /// Whether the line takes a piece now.
    pub fn admits(&self, now_ns: u64) -> bool {
        self.admits_from_ns() <= now_ns
    }

    /// Maximum bytes of a piece.
    pub fn piece_bytes(&self) -> usize {
        if !self.is_limited() {
            return usize::MAX;
        }
        usize::try_from(self.bytes_per_s / PIECES_PER_S)
            .map_or(usize::MAX, |n| n.max(PIECE_BYTES_MIN))
    }

    /// Sends so many bytes; when the last one has left.
    pub fn send(&mut self, now_ns: u64, bytes: usize) -> u64 {
        if !self.is_limited() {
            return now_ns;
        }
        let lasts_ns = u128::from(bytes as u64) * 1_000_000_000 / u128::from(self.bytes_per_s);
        let lasts_ns = u64::try_from(lasts_ns).unwrap_or(u64::MAX / 4);
        self.free_ns = self.free_ns.max(now_ns).saturating_add(lasts_ns);
        self.free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_line_without_limit_takes_everything_at_once() {
        let mut line = Line::default();
        assert_eq!((line.send(7, 1 << 30), line.piece_bytes()), (7, usize::MAX));
        assert!(line.admits(7));
    }

    #[test]
    fn bytes_leave_one_after_the_other() {
        let mut line = Line::default();
        line.set(1_000_000, 0);
        assert_eq!(line.piece_bytes(), 1448);
        assert_eq!(line.send(0, 2000), 2 * MS);
        assert_eq!(line.send(MS, 2000), 4 * MS);
        assert!(line.admits(0));
        assert_eq!(line.send(MS, 3000), 7 * MS);
        assert!(!line.admits(MS) && line.admits(2 * MS) && line.admits_from_ns() == 2 * MS);
        // An idle line keeps no credit.
        assert_eq!(line.send(100 * MS, 1000), 101 * MS);
    }

    #[test]
    fn a_new_bandwidth_holds_from_now_on() {
        let mut line = Line::default();
        line.set(10, 0);
        assert_eq!(line.send(0, 100), 10_000 * MS);
        line.set(10, 5 * MS);
        assert_eq!(line.admits_from_ns(), 9_995 * MS);
        line.set(1_000_000_000, 5 * MS);
        assert!(line.admits(5 * MS));
        assert_eq!((line.send(5 * MS, 1000), line.piece_bytes()), (5 * MS + 1000, 1_000_000));
        line.set(0, 6 * MS);
        assert_eq!(line.send(6 * MS, 1 << 40), 6 * MS);
    }
}
