//! How long to wait for more of an answer that comes in small pieces: [`ReadPace`].

use std::time::Duration;

/// Small reads at the beginning that are not paused after: short answers are not delayed.
const UNPACED: u32 = 8;
/// Bytes from which on a read is not small: the answer comes faster than it is read.
const LARGE: usize = 16 * 1024;
/// The first pause.
const FIRST: Duration = Duration::from_millis(4);
/// The longest pause for a screen: that of its frames while an answer streams.
pub(super) const FRAME: Duration = Duration::from_millis(48);

/// Grows from no pause to the longest one while reads are small. With no longest pause there are no pauses.
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

    /// How long to wait when nothing is there to be read; `None` for not at all.
    pub(super) fn pause(&self) -> Option<Duration> {
        (!self.pause.is_zero()).then_some(self.pause)
    }

    /// Notes how much was there to be read.
    pub(super) fn took(&mut self, bytes: usize) {
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
            pace.took(200);
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
        (0..20).for_each(|_| pace.took(200));
        pace.took(LARGE);
        assert_eq!(pace.pause(), None);
    }
}
