//! What this machine can enforce, and what it therefore makes of a policy.

use std::fmt;
use std::sync::OnceLock;

use super::{SandboxLevel, SandboxPolicy};

/// The version of Landlock's interface from which on nothing that changes a file is left out:
/// before it, files can be emptied everywhere.
const WHOLE: u8 = 3;
/// The version from which on signals and abstract sockets can be confined.
const SCOPES: u8 = 6;

/// What the kernel offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface; 0 without Landlock.
    pub landlock: u8,
    /// Whether system calls can be filtered on this kind of machine.
    pub filters: bool,
    /// Whether the sandbox is that of macOS.
    pub seatbelt: bool,
}

impl Support {
    /// What this machine offers. Asked once.
    pub fn here() -> Self {
        static HERE: OnceLock<Support> = OnceLock::new();
        *HERE.get_or_init(Support::probe)
    }

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

    /// Whether signals and abstract sockets are kept in.
    pub(super) fn scopes(self) -> bool {
        self.landlock >= SCOPES
    }

    /// Whether a command that nobody was asked about can be kept from changing anything.
    pub fn confines_unasked(self) -> bool {
        self.filters && self.landlock >= WHOLE
    }

    /// What is enforced of `policy`.
    pub fn enforced(self, policy: &SandboxPolicy) -> Enforced {
        let files = self.seatbelt || self.landlock > 0;
        let level = if files { policy.level } else { SandboxLevel::Off };
        Enforced {
            level,
            whole: self.seatbelt || self.landlock >= WHOLE,
            no_network: !policy.network && (self.seatbelt || self.filters),
            scopes: self.scopes(),
        }
    }

    /// Whether anything of what the policy asks for is enforced here.
    pub fn enforces_some(self, policy: &SandboxPolicy) -> bool {
        let enforced = self.enforced(policy);
        enforced.level != SandboxLevel::Off || enforced.no_network
    }

    /// Whether the policy asks for something of which nothing is enforced here.
    pub fn is_missing(self, policy: &SandboxPolicy) -> bool {
        let enforced = self.enforced(policy);
        policy.level != enforced.level || policy.network == enforced.no_network
    }

    /// Why a policy is not, or not wholly, enforced, and what is: a sentence for the user.
    pub fn shortfall(self, policy: &SandboxPolicy) -> Option<String> {
        let enforced = self.enforced(policy);
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

/// What of a policy is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enforced {
    /// How much is kept from being changed.
    pub level: SandboxLevel,
    /// Whether files outside cannot even be emptied.
    pub whole: bool,
    /// Whether the network is out of reach.
    pub no_network: bool,
    /// Whether signals to other processes are kept in.
    pub scopes: bool,
}

impl fmt::Display for Enforced {
    /// A few words for the footer: `workspace-write`, `read-only, no network`, `no sandbox`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            SandboxLevel::Off => "no sandbox",
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
            assert_eq!(kernel(landlock).enforced(&policy).to_string(), words);
            let shortfall = kernel(landlock).shortfall(&policy);
            assert_eq!(shortfall.is_some(), lacks, "{shortfall:?}");
            assert_eq!(kernel(landlock).is_missing(&policy), landlock == 0, "{words}");
            assert!(shortfall.is_none_or(|text| text.contains(words)), "{words}");
        }
        let nothing = Support::default();
        let policy = policy(SandboxLevel::ReadOnly, false);
        assert_eq!(nothing.enforced(&policy).to_string(), "no sandbox");
        assert!(nothing.shortfall(&policy).unwrap().contains("cannot keep commands off the network"));
        assert!(nothing.is_missing(&SandboxPolicy { level: SandboxLevel::Off, ..policy }));
        assert!(!nothing.is_missing(&SandboxPolicy::off()));
    }
}
