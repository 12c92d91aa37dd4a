//! The policy as a profile for macOS's sandbox-exec. Untested: written from the documents of that language
//! and the profiles that macOS ships, and never run.

use std::fmt::Write;
use std::path::Path;

use super::{SandboxLevel, SandboxPolicy, protected};

/// The program that confines another one. By its full path: one in `PATH` could be anything.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The profile. Later rules win.
pub fn profile(policy: &SandboxPolicy, terminal: Option<&Path>) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n");
    // Writing to a string does not fail.
    if policy.level != SandboxLevel::Off {
        text.push_str("(deny file-write*)\n");
        text.push_str(
            "(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n",
        );
        if let Some(terminal) = terminal {
            let _ = writeln!(text, "(allow file-write* (literal {}))", quote(terminal));
        }
        let roots = policy.roots();
        for root in &roots {
            let _ = writeln!(text, "(allow file-write* (subpath {}))", quote(root));
        }
        for path in protected::protected_paths(policy, &roots) {
            let _ = writeln!(text, "(deny file-write* (subpath {}))", quote(&path));
        }
        for root in &roots {
            for name in ["hooks", "config"] {
                let path = root.join(".git").join(name);
                let _ = writeln!(text, "(deny file-write* (subpath {}))", quote(&path));
            }
        }
        text.push_str(
            "(deny signal)\n(allow signal (target same-sandbox))\n(deny process-info* (target others))\n",
        );
        text.push_str("(deny appleevent-send)\n(deny job-creation)\n");
    }
    if !policy.network {
        text.push_str("(deny network*)\n");
    }
    text
}

/// A path as a string literal of the profile language.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_denies_then_allows_then_protects() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("a \"b\"");
        std::fs::create_dir_all(workspace.join(".git/objects")).unwrap();
        std::fs::write(workspace.join(".git/HEAD"), "").unwrap();
        std::fs::write(workspace.join(".git/config"), "").unwrap();
        let level = SandboxLevel::WorkspaceWrite;
        let policy =
            SandboxPolicy { level, network: false, workspace: workspace.clone(), ..SandboxPolicy::off() };
        let text = profile(&policy, Some(Path::new("/dev/ttys003")));
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in:\n{text}"));
        let quoted = workspace.display().to_string().replace('"', "\\\"");
        let deny = place("(deny file-write*)");
        let allow = place(&format!("(allow file-write* (subpath \"{quoted}\"))"));
        let protect = place(&format!("(deny file-write* (subpath \"{quoted}/.git/config\"))"));
        assert!(deny < allow && allow < protect);
        place("(deny network*)");
        place("(literal \"/dev/ttys003\")");
        let read_only = SandboxPolicy { level: SandboxLevel::ReadOnly, network: true, ..policy };
        let text = profile(&read_only, None);
        assert!(!text.contains("subpath") && !text.contains("network"), "{text}");
    }
}
