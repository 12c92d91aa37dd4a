//! Random numbers that are the same in every run, and work spread over threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `each` for every number below `count`, on three threads with a stage for each.
pub fn on_threads<S>(count: usize, stage: impl Fn() -> S + Sync, each: impl Fn(&S, usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let stage = stage();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    each(&stage, index);
                }
            });
        }
    });
}

/// A deterministic random number generator (xorshift64*).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound.max(1)
    }

    /// The line, often cut short, replaced or changed in one byte, but still one line.
    pub fn mangle(&mut self, mut line: Vec<u8>) -> Vec<u8> {
        match self.below(6) {
            0 => line.truncate(self.below(line.len())),
            1 => {
                let random = (0..self.below(60)).map(|_| self.below(256) as u8);
                line = random.filter(|byte| *byte != b'\n').collect();
            }
            2 => {
                let at = self.below(line.len());
                line[at] = (self.below(255) as u8).max(11);
            }
            3 => {
                let depth = self.below(500);
                line = format!("{}{}", "[".repeat(depth), "]".repeat(self.below(500))).into_bytes();
            }
            _ => {}
        }
        line
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
