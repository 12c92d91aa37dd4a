//! Keeps commands from inheriting signals that tau was started with as ignored.
//!
//! A shell starts background jobs with SIGINT and SIGQUIT ignored, `nohup` ignores SIGHUP, and `exec`
//! preserves that: Ctrl+C would do nothing in a command. A caught signal, in contrast, is reset to its
//! default by `exec`. Ignored signals are therefore caught by a handler that does nothing, which makes no
//! difference for this process. SIGPIPE is reset by the standard library; SIGTTIN and SIGTTOU stay ignored,
//! since ignoring them differs from catching them.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use rustix::process::Signal;

const RESET: [Signal; 12] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::TERM,
    Signal::TSTP,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::VTALARM,
    Signal::PROF,
];

/// Catches and drops ignored signals from now on. Does nothing after the first call, nor where the ignored
/// signals are unknown (without /proc).
pub(super) fn stop_ignoring() {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored_signals(&status);
        for signal in RESET.map(Signal::as_raw).into_iter().filter(|number| ignored >> (number - 1) & 1 == 1)
        {
            // A signal that cannot be caught stays ignored, as before.
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).ok();
        }
    });
}

/// The set of ignored signals in the text of /proc/PID/status, with signal 1 in the lowest bit.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_proc() {
        assert_eq!(ignored_signals("Name:\tx\nSigIgn:\t0000000000001007\nSigCgt:\t0\n"), 0x1007);
        assert_eq!(ignored_signals("no such line"), 0);
    }
}
