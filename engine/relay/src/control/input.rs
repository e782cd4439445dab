//! Lines of standard input for a loop that must not block on it.
//!
//! A thread copies the input to a socket pair, which can be polled whatever the input is: a pipe, a terminal
//! or a file.

use super::LINE_BYTES_MAX;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// The input, line by line.
#[derive(Debug)]
pub struct Input {
    ours: UnixStream,
    buffer: Vec<u8>,
    has_ended: bool,
}

impl Input {
    /// Starts to copy `source`.
    ///
    /// # Errors
    /// The system's: out of descriptors or threads.
    pub fn new(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let (ours, mut theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // The thread ends with the input, or with the process.
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            let _ = io::copy(&mut source, &mut theirs);
        })?;
        Ok(Self { ours, buffer: vec![], has_ended: false })
    }

    /// The descriptor, for polling.
    pub fn fd(&self) -> RawFd {
        self.ours.as_raw_fd()
    }

    /// Whether all lines have been taken and none will follow.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Complete lines that are there now.
    pub fn lines(&mut self) -> Vec<Vec<u8>> {
        let mut chunk = [0; 4096];
        loop {
            match self.ours.read(&mut chunk) {
                Ok(0) => self.has_ended = true,
                Ok(count) => {
                    self.buffer.extend_from_slice(&chunk[..count]);
                    continue;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.has_ended = true,
            }
            break;
        }
        let Some(last) = self.buffer.iter().rposition(|&byte| byte == b'\n') else {
            // Whoever sends endless lines is nobody that the relay serves.
            self.has_ended |= self.buffer.len() > LINE_BYTES_MAX;
            return vec![];
        };
        let rest = self.buffer.split_off(last + 1);
        let complete = std::mem::replace(&mut self.buffer, rest);
        let lines =
            complete.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines.map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// All lines of an input, which must end.
    fn all(source: impl Read + Send + 'static) -> Vec<Vec<u8>> {
        let mut input = Input::new(source).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut lines = vec![];
        while !input.has_ended() {
            assert!(Instant::now() < deadline, "the input has not ended");
            lines.extend(input.lines());
            std::thread::sleep(Duration::from_millis(1));
        }
        lines
    }

    #[test]
    fn lines_are_split_and_an_incomplete_one_is_dropped() {
        let lines = all(&b"{\"a\":1}\n\n  \n{\"b\":2}\nrest"[..]);
        assert_eq!(lines, [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()]);
    }

    #[test]
    fn an_endless_line_ends_the_input() {
        assert!(all(io::repeat(b'x')).is_empty());
    }
}
