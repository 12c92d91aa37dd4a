//! Determines how long to wait for more small pieces of an answer: [`ReadPace`].

use std::time::Duration;

/// The number of small reads at the beginning without a pause, so that short answers are not delayed.
const UNPACED: u32 = 8;
/// The size in bytes from which a read is not small: the answer arrives faster than it is read.
const LARGE: usize = 16 * 1024;
/// The first pause.
const FIRST: Duration = Duration::from_millis(4);
/// The longest pause for a screen: the time between its frames while an answer streams.
pub(super) const FRAME: Duration = Duration::from_millis(48);

/// A pause that grows from none to the longest one while reads are small. Without a longest pause there are
/// no pauses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadPace {
    small: u32,
    pause: Duration,
    longest: Duration,
}

impl ReadPace {
    /// Pauses of at most `longest`.
    pub(super) fn up_to(longest: Duration) -> Self {
        ReadPace { longest, ..ReadPace::default() }
    }

    /// The time to wait when there is nothing to read; `None` for no wait.
    pub(super) fn pause(&self) -> Option<Duration> {
        (!self.pause.is_zero()).then_some(self.pause)
    }

    /// Records the number of bytes that were read.
    pub(super) fn on_read(&mut self, bytes: usize) {
        if bytes >= LARGE {
            *self = ReadPace::up_to(self.longest);
            return;
        }
        self.small = self.small.saturating_add(1);
        if self.small > UNPACED {
            self.pause = (self.pause * 2).max(FIRST).min(self.longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(mut pace: ReadPace) -> Vec<u64> {
        let pause = |_| {
            pace.on_read(200);
            pace.pause().map_or(0, |pause| pause.as_millis() as u64)
        };
        (0..14).map(pause).collect()
    }

    #[test]
    fn pauses_grow_while_reads_are_small() {
        assert_eq!(pauses(ReadPace::up_to(FRAME)), [0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 16, 32, 48, 48]);
        let short = ReadPace::up_to(Duration::from_millis(16));
        assert_eq!(pauses(short), [0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 16, 16, 16, 16]);
        assert_eq!(pauses(ReadPace::default()), [0; 14]);
    }

    #[test]
    fn a_large_read_ends_them() {
        let mut pace = ReadPace::up_to(FRAME);
        (0..20).for_each(|_| pace.on_read(200));
        pace.on_read(LARGE);
        assert_eq!(pace.pause(), None);
    }
}
