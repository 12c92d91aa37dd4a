//! How long to wait for more of an answer that comes in small pieces: [`ReadPace`].

use std::time::Duration;

/// Small pieces at the beginning that are taken as they come: short answers are not delayed.
const UNPACED: u32 = 8;
/// Bytes from which on a piece is not small: the answer comes as fast as it is read.
const LARGE: usize = 4 * 1024;
/// The first pause, and the longest: that of the screen's frames while an answer streams.
const FIRST: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(48);

/// Grows from no pause to the longest while pieces are small.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPace {
    small: u32,
    pause: Duration,
    longest: Duration,
}

impl Default for ReadPace {
    fn default() -> Self {
        ReadPace::up_to(LONGEST)
    }
}

impl ReadPace {
    /// Pauses of at most `longest`.
    pub(super) fn up_to(longest: Duration) -> Self {
        ReadPace { small: 0, pause: Duration::ZERO, longest: longest.min(LONGEST) }
    }

    /// How long to wait before the next read; `None` for not at all.
    pub(super) fn pause(&self) -> Option<Duration> {
        (!self.pause.is_zero()).then_some(self.pause)
    }

    /// Notes the size of a piece.
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
    fn pauses_grow_while_pieces_are_small() {
        assert_eq!(pauses(ReadPace::default()), [0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 16, 32, 48, 48]);
        let short = ReadPace::up_to(Duration::from_millis(16));
        assert_eq!(pauses(short), [0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 16, 16, 16, 16]);
    }

    #[test]
    fn a_large_piece_ends_them() {
        let mut pace = ReadPace::default();
        (0..20).for_each(|_| pace.took(200));
        pace.took(LARGE);
        assert_eq!(pace.pause(), None);
    }
}
