//! The pace at which the agent's events are drawn: [`FramePacer`].
//!
//! Keys are drawn immediately and are not handled here. A stream of small events is taken in windows: one
//! wake-up and one frame for all events in a window. The window starts short, so that the first words of an
//! answer, or a flood, do not wait, and grows while few events arrive. A flood has no windows, as the agent
//! waits while the channel is full.

use std::time::{Duration, Instant};

/// Minimum time between two frames not caused by a key.
const FRAME: Duration = Duration::from_millis(16);
/// Like [`FRAME`], while the user types into a command, whose echo is awaited.
const ECHO: Duration = Duration::from_millis(2);
/// The first window after a pause.
const FIRST: Duration = Duration::from_millis(4);
/// The longest window: 20 frames a second are enough for reading along. Every frame wakes three threads,
/// which costs more than drawing it.
const MAX_WAIT: Duration = Duration::from_millis(48);
/// Time without events after which they are taken immediately again.
const PAUSE: Duration = Duration::from_millis(250);
/// Minimum number of events in a window that count as a flood; well below the channel's capacity.
const FLOOD: usize = 64;

/// Decides when the agent's events are taken and drawn.
#[derive(Debug)]
pub(super) struct FramePacer {
    /// The last frame, for any reason.
    frame: Instant,
    /// The last frame with events of the agent.
    news: Instant,
    window: Duration,
    /// Minimum time to the next frame not caused by a key.
    gap: Duration,
    /// Events taken since then.
    taken: usize,
}

impl FramePacer {
    /// Starts with a frame at `now`.
    pub(super) fn new(now: Instant) -> Self {
        FramePacer { frame: now, news: now, window: Duration::ZERO, gap: FRAME, taken: 0 }
    }

    /// Records that events of the agent were taken.
    pub(super) fn count_events(&mut self, events: usize) {
        self.taken += events;
    }

    /// Records that taking events took so long that more may be pending: they do not wait for a window.
    pub(super) fn skip_window(&mut self) {
        self.taken = self.taken.max(FLOOD);
    }

    /// Records a drawn frame. If `interactive`, the user types into a command and awaits its output, so
    /// windows are not used.
    pub(super) fn note_frame(&mut self, now: Instant, interactive: bool) {
        self.frame = now;
        if self.taken == 0 {
            return;
        }
        self.gap = if interactive && self.taken < FLOOD { ECHO } else { FRAME };
        self.window = if interactive || self.taken >= FLOOD {
            Duration::ZERO
        } else if now.duration_since(self.news) > PAUSE {
            FIRST
        } else {
            (self.window * 2).clamp(FIRST, MAX_WAIT)
        };
        self.news = now;
        self.taken = 0;
    }

    /// Time at which events of the agent are taken.
    pub(super) fn listen_at(&self) -> Instant {
        self.news + self.window
    }

    /// Earliest time of a frame not caused by a key.
    pub(super) fn frame_at(&self) -> Instant {
        (self.frame + self.gap).max(self.listen_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a frame whenever possible, each with `events_per_ms` for each millisecond since the last one;
    /// returns the times of the frames.
    fn frames(start: Instant, pacer: &mut FramePacer, events_per_ms: usize, count: usize) -> Vec<u128> {
        let mut at = start;
        let mut times = Vec::new();
        for _ in 0..count {
            let next = pacer.frame_at();
            pacer.count_events(events_per_ms * next.duration_since(at).as_millis() as usize);
            pacer.note_frame(next, false);
            times.push(next.duration_since(at).as_millis());
            at = next;
        }
        times
    }

    #[test]
    fn a_calm_stream_gets_20_frames_a_second_after_a_quick_start() {
        let start = Instant::now();
        let mut pacer = FramePacer::new(start);
        assert_eq!(frames(start, &mut pacer, 1, 6), [16, 16, 16, 16, 32, 48]);
    }

    #[test]
    fn a_flood_is_taken_without_windows() {
        let start = Instant::now();
        let mut pacer = FramePacer::new(start);
        assert_eq!(frames(start, &mut pacer, 100, 4), [16; 4]);
        assert_eq!(pacer.listen_at(), pacer.news);
    }

    #[test]
    fn keys_do_not_delay_news() {
        let start = Instant::now();
        let mut pacer = FramePacer::new(start);
        frames(start, &mut pacer, 1, 8);
        let listen = pacer.listen_at();
        pacer.note_frame(listen - Duration::from_millis(20), false);
        assert_eq!(pacer.listen_at(), listen);
    }

    #[test]
    fn typing_into_a_command_and_a_pause_end_the_windows() {
        let start = Instant::now();
        let mut pacer = FramePacer::new(start);
        frames(start, &mut pacer, 1, 8);
        pacer.count_events(1);
        pacer.note_frame(pacer.frame_at(), true);
        assert_eq!(pacer.listen_at(), pacer.news);
        assert_eq!(pacer.frame_at(), pacer.frame + ECHO);
        frames(start, &mut pacer, 1, 8);
        pacer.count_events(1);
        let later = pacer.news + Duration::from_secs(1);
        pacer.note_frame(later, false);
        assert_eq!(pacer.listen_at(), later + FIRST);
    }
}
