//! Finds out what this machine can enforce, and how much of a policy is therefore in force.

use std::fmt;
use std::sync::OnceLock;

use super::{SandboxLevel, SandboxPolicy};

/// The first Landlock version that covers every change of a file; before it, files can be truncated
/// everywhere.
const WHOLE: u8 = 3;
/// The first Landlock version that can confine signals and abstract sockets.
const SCOPES: u8 = 6;

/// The capabilities of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// The Landlock version; 0 without Landlock.
    pub landlock: u8,
    /// True if system calls can be filtered on this kind of machine.
    pub filters: bool,
    /// True if the sandbox is that of macOS.
    pub seatbelt: bool,
}

/// The capabilities of this machine, once they are known.
static HERE: OnceLock<Support> = OnceLock::new();

impl Support {
    /// The capabilities of this machine. Determined once.
    pub fn here() -> Self {
        *HERE.get_or_init(|| {
            let asked = std::thread::Builder::new().spawn(Support::probe);
            asked.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
        })
    }

    /// Begins to determine the capabilities of this machine, for [`Support::here`] not to wait for a thread.
    pub fn prefetch() {
        if HERE.get().is_none() {
            // Where no thread can be created, it is done when it is needed.
            let _ = std::thread::Builder::new().spawn(|| HERE.get_or_init(Support::probe));
        }
    }

    /// Asks the kernel. The thread is restricted afterwards.
    #[cfg(target_os = "linux")]
    fn probe() -> Self {
        Support {
            landlock: super::file_rules::version(),
            filters: super::system_calls::are_filtered(),
            seatbelt: false,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn probe() -> Self {
        let seatbelt = cfg!(target_os = "macos") && std::path::Path::new(super::seatbelt::PROGRAM).exists();
        Support { seatbelt, ..Support::default() }
    }

    /// True if signals and abstract sockets are confined.
    pub(super) fn scopes(self) -> bool {
        self.landlock >= SCOPES
    }

    /// True if a command without approval can be kept from changing anything.
    pub fn confines_unasked_commands(self) -> bool {
        self.filters && self.landlock >= WHOLE
    }

    /// The enforced part of `policy`.
    pub fn enforcement(self, policy: &SandboxPolicy) -> Enforcement {
        let files = self.seatbelt || self.landlock > 0;
        let level = if files { policy.level } else { SandboxLevel::Off };
        Enforcement {
            level,
            whole: self.seatbelt || self.landlock >= WHOLE,
            no_network: !policy.network && (self.seatbelt || self.filters),
            scopes: self.scopes(),
        }
    }

    /// True if any part of the policy is enforced here.
    pub fn enforces_some(self, policy: &SandboxPolicy) -> bool {
        let enforced = self.enforcement(policy);
        enforced.level != SandboxLevel::Off || enforced.no_network
    }

    /// True if the policy restricts something and none of it is enforced here.
    pub fn is_missing(self, policy: &SandboxPolicy) -> bool {
        let enforced = self.enforcement(policy);
        policy.level != enforced.level || policy.network == enforced.no_network
    }

    /// Explains why a policy is not fully enforced and which part is, in a sentence for the user.
    pub fn shortfall(self, policy: &SandboxPolicy) -> Option<String> {
        let enforced = self.enforcement(policy);
        let mut lacks = Vec::new();
        if policy.level != enforced.level {
            lacks.push(format!(
                "this kernel has no Landlock, so commands can change any file (`sandbox.level = {}` has no effect)",
                policy.level.name()
            ));
        } else if policy.level != SandboxLevel::Off && !enforced.whole {
            lacks.push("this kernel's Landlock is old: commands can still empty files anywhere".to_owned());
        }
        if !policy.network && !enforced.no_network {
            lacks.push("this machine cannot keep commands off the network".to_owned());
        }
        if lacks.is_empty() {
            return None;
        }
        Some(format!("{}; in force: {enforced}", lacks.join("; ")))
    }
}

/// The beginning of the words for the sandbox in force if nothing is protected.
pub const NO_SANDBOX: &str = "no sandbox";

/// The part of a policy in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enforcement {
    /// How much is protected from changes.
    pub level: SandboxLevel,
    /// True if files outside cannot be truncated either.
    pub whole: bool,
    /// True if the network is unreachable.
    pub no_network: bool,
    /// True if signals to other processes are blocked.
    pub scopes: bool,
}

impl fmt::Display for Enforcement {
    /// A few words for the footer: `workspace-write`, `read-only, no network`, `no sandbox`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            SandboxLevel::Off => NO_SANDBOX,
            level => level.name(),
        };
        let partly = if self.level != SandboxLevel::Off && !self.whole { " (partly)" } else { "" };
        let network = if self.no_network { ", no network" } else { "" };
        write!(f, "{level}{partly}{network}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(level: SandboxLevel, network: bool) -> SandboxPolicy {
        SandboxPolicy { level, network, ..SandboxPolicy::off() }
    }

    #[test]
    fn words_say_what_is_enforced_and_no_more() {
        let kernel = |landlock| Support { landlock, filters: true, seatbelt: false };
        let cases = [
            (7, SandboxLevel::WorkspaceWrite, true, "workspace-write", false),
            (7, SandboxLevel::ReadOnly, false, "read-only, no network", false),
            (7, SandboxLevel::Off, true, "no sandbox", false),
            (7, SandboxLevel::Off, false, "no sandbox, no network", false),
            (1, SandboxLevel::WorkspaceWrite, true, "workspace-write (partly)", true),
            (0, SandboxLevel::WorkspaceWrite, true, "no sandbox", true),
            (0, SandboxLevel::ReadOnly, false, "no sandbox, no network", true),
        ];
        for (landlock, level, network, words, lacks) in cases {
            let policy = policy(level, network);
            assert_eq!(kernel(landlock).enforcement(&policy).to_string(), words);
            let shortfall = kernel(landlock).shortfall(&policy);
            assert_eq!(shortfall.is_some(), lacks, "{shortfall:?}");
            assert_eq!(kernel(landlock).is_missing(&policy), landlock == 0, "{words}");
            assert!(shortfall.is_none_or(|text| text.contains(words)), "{words}");
        }
        let nothing = Support::default();
        let policy = policy(SandboxLevel::ReadOnly, false);
        assert_eq!(nothing.enforcement(&policy).to_string(), "no sandbox");
        assert!(nothing.shortfall(&policy).unwrap().contains("cannot keep commands off the network"));
        assert!(nothing.is_missing(&SandboxPolicy { level: SandboxLevel::Off, ..policy }));
        assert!(!nothing.is_missing(&SandboxPolicy::off()));
    }
}
