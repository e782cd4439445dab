//! Limits on the size and the pace of an answer, for answers without a deadline of their own, such as
//! those of populating, where building an index may take hours.
//!
//! A working server is silent, then answers message by message. The limits reject a peer that sends
//! without end, or that delays the rest of a message for half a minute.

use dyno_core::error::{Error, Kind, Result};

/// Maximum bytes between a request and the end of its answer: a quarter more than a script may
/// buffer of one, so that the script's own error comes first. As rows without content, 67 million.
const ANSWER_BYTES_MAX: u64 = 320 << 20;
/// Window in which a message in progress must advance ...
const WINDOW_NS: u64 = 30_000_000_000;
/// ... by this many bytes: a hundredth of what a slow line carries.
const WINDOW_BYTES_MIN: u64 = 2048;

/// Counts of what was received since the last request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    answer_bytes: u64,
    /// Start of the window and bytes received in it; `None` when no message is incomplete.
    window: Option<(u64, u64)>,
}

impl Patience {
    /// A request was sent: the counts begin again.
    #[inline]
    pub fn sent(&mut self) {
        *self = Self::default();
    }

    /// Counts `bytes` that were received and parsed. `is_amid`: the last of them belong to an incomplete
    /// message.
    ///
    /// # Errors
    /// [`Kind::Protocol`]: the answer exceeds the limits.
    #[inline]
    pub fn heard(&mut self, now_ns: u64, bytes: u64, is_amid: bool) -> Result<()> {
        self.answer_bytes += bytes;
        if self.answer_bytes > ANSWER_BYTES_MAX {
            return Err(endless());
        }
        if !is_amid {
            self.window = None;
            return Ok(());
        }
        let (since_ns, so_far) = self.window.unwrap_or((now_ns, 0));
        self.window = Some((since_ns, so_far + bytes));
        if now_ns.saturating_sub(since_ns) < WINDOW_NS {
            return Ok(());
        }
        if so_far + bytes < WINDOW_BYTES_MIN {
            return Err(dripping(so_far + bytes));
        }
        self.window = Some((now_ns, 0));
        Ok(())
    }
}

#[cold]
fn endless() -> Error {
    let what = format!(
        "the server has sent {} MiB in answer to one request, and no end of it",
        ANSWER_BYTES_MAX >> 20
    );
    Error::new(Kind::Protocol, what).hint(HINT)
}

#[cold]
fn dripping(bytes: u64) -> Error {
    let seconds = WINDOW_NS / 1_000_000_000;
    let what =
        format!("the server has sent {bytes} bytes of a message in {seconds} s, and not the rest");
    Error::new(Kind::Protocol, what).hint(HINT)
}

const HINT: &str = "it hangs, or something between here and it does, or it is no database server: look into its log and process list";

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// After how many seconds of `bytes` each the limits reject a server.
    fn given_up(bytes: u64, is_amid: bool, most_s: u64) -> Option<(u64, Error)> {
        let mut patience = Patience::default();
        (0..most_s).find_map(|at_s| Some((at_s, patience.heard(at_s * S, bytes, is_amid).err()?)))
    }

    #[test]
    fn an_answer_without_end_is_not_read_on_and_on() {
        let (at_s, error) = given_up(1 << 20, false, 10_000).unwrap();
        assert_eq!((at_s, error.kind), (320, Kind::Protocol));
        assert!(error.what.contains("320 MiB") && !error.hint.is_empty(), "{error}");
        let mut patience = Patience::default();
        for _ in 0..10 {
            patience.sent();
            assert_eq!(patience.heard(0, 320 << 20, false), Ok(()), "each request begins anew");
        }
    }

    #[test]
    fn a_message_that_comes_byte_by_byte_is_given_up() {
        let (at_s, error) = given_up(1, true, 1000).unwrap();
        assert_eq!((at_s, error.kind), (30, Kind::Protocol));
        assert!(error.what.contains("31 bytes") && error.what.contains("30 s"), "{error}");
        assert_eq!(given_up(70, true, 100_000), None, "a slow line");
    }

    #[test]
    fn what_comes_whole_may_take_its_time() {
        assert_eq!(given_up(1, false, 100_000), None, "notices");
        let mut patience = Patience::default();
        assert_eq!(patience.heard(0, 1, true), Ok(()));
        assert_eq!(patience.heard(3600 * S, 1, false), Ok(()), "the rest has come, if late");
        assert_eq!(patience.heard(3601 * S, 1, true), Ok(()), "and another begins");
    }
}
