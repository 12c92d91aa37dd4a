//! The quiet time of a question: keys that are typed as it appears were meant for the composer.

use crate::approval::QUIET;
use crate::msg::Millis;

/// The times of a question on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quiet {
    /// The time at which it appeared.
    pub(crate) since: Millis,
    /// The time since which nothing was typed.
    quiet_since: Millis,
}

impl Quiet {
    /// The times of a question that appears now.
    pub(crate) fn new(now: Millis) -> Self {
        Quiet { since: now, quiet_since: now }
    }

    /// Whether current typing was meant for the composer. That delays the next key.
    pub(crate) fn is_early(&mut self, now: Millis) -> bool {
        let is_early = now - self.quiet_since < QUIET;
        if is_early {
            self.quiet_since = now;
        }
        is_early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_as_it_appears_is_early() {
        let mut quiet = Quiet::new(0);
        assert!(quiet.is_early(100) && quiet.is_early(450));
        assert!(!quiet.is_early(850));
    }
}
