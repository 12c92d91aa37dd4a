//! The timer of the screen's loop: [`Alarm`].
//!
//! Most of the cost of a stream's frame is waking up. A timer of tokio wakes its thread twice for most waits
//! of some ten milliseconds, the first time only to be sorted again, and also wakes the thread that sets it.
//! A kernel timer (timerfd) does neither. On systems without one, tokio is used.

use std::time::Instant;

#[cfg(target_os = "linux")]
use self::kernel::KernelTimer;

/// A timer that is set repeatedly.
#[derive(Debug)]
pub(super) struct Alarm {
    #[cfg(target_os = "linux")]
    timer: Option<KernelTimer>,
}

impl Alarm {
    /// Must be called in the runtime that waits for it.
    pub(super) fn new() -> Self {
        Alarm {
            #[cfg(target_os = "linux")]
            timer: KernelTimer::new().ok(),
        }
    }

    /// Waits until the instant. Cancel safe.
    pub(super) async fn until(&mut self, at: Instant) {
        #[cfg(target_os = "linux")]
        if let Some(timer) = &mut self.timer
            && timer.until(at).await.is_ok()
        {
            return;
        }
        tokio::time::sleep_until(at.into()).await;
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use tau_tools::process::pty::watch_descriptor;

    #[derive(Debug)]
    pub(super) struct KernelTimer {
        timer: AsyncFd<OwnedFd>,
        /// The pending time, until it is reported.
        at: Option<Instant>,
    }

    impl KernelTimer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(KernelTimer { timer: watch_descriptor(timer, Interest::READABLE)?, at: None })
        }

        pub(super) async fn until(&mut self, at: Instant) -> io::Result<()> {
            loop {
                let left = at.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(());
                }
                if self.at != Some(at) {
                    self.at = None;
                    self.set(left)?;
                    self.at = Some(at);
                }
                // This may concern an earlier setting of the timer.
                self.timer.readable().await?.clear_ready();
                self.at = None;
            }
        }

        fn set(&self, left: Duration) -> io::Result<()> {
            let it_value = left.try_into().map_err(io::Error::other)?;
            let once = Itimerspec { it_interval: Timespec::default(), it_value };
            rustix::time::timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn it_says_when_it_is_time_and_may_be_set_again() {
        let mut alarm = Alarm::new();
        let begun = Instant::now();
        let after = |milliseconds| begun + Duration::from_millis(milliseconds);
        alarm.until(begun).await;
        // Cancelled before its time, twice, and then set to an earlier one.
        for late in [600_000, 500_000] {
            assert!(tokio::time::timeout(Duration::from_millis(1), alarm.until(after(late))).await.is_err());
        }
        for soon in [20, 40] {
            alarm.until(after(soon)).await;
            assert!(Instant::now() >= after(soon));
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the earlier time counts");
    }
}
