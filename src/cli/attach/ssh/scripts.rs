//! The scripts for the other machine. A login shell of any kind passes them to `sh`, so they have no single
//! quotes and no backslashes; and nothing of the user's is in them.

use crate::attach::wire::protocol_version;
use crate::attach::wire::relay::{MARK, PROTOCOL, WORD};

/// The beginning of the line that says that no tau was found.
pub(super) const NONE: &str = "tau-none: ";
/// The beginning of the line that says that the copy is in its place.
pub(super) const COPIED: &str = "tau-copied: ";
/// Sets `d` to the folder of copies. A value that is not absolute counts as none, as the XDG Base Directory
/// Specification wants.
const FOLDER: &str =
    "case \"$XDG_CACHE_HOME\" in /*) d=$XDG_CACHE_HOME;; *) d=$HOME/.cache;; esac; d=\"$d/tau/bin\"; ";
/// The folder of copies, for people.
pub(super) const FOLDER_IN_WORDS: &str = "~/.cache/tau/bin";

/// The marks of what a relay, or the search for one, says first.
pub(super) const ANSWERS: [&str; 2] = [MARK, NONE];

/// The name of this tau in the folder of copies: copies of other versions and builds stay beside it.
fn name() -> String {
    let number: String = protocol_version().chars().rev().take_while(char::is_ascii_digit).collect();
    format!("tau-{}-{}", env!("CARGO_PKG_VERSION"), number.chars().rev().collect::<String>())
}

/// Starts the relay of a tau that speaks as this one does, wherever it is, to do this; else says what there is.
pub(super) fn find(what: &str) -> String {
    let (spoken, name) = (protocol_version(), name());
    in_sh(&format!(
        "{FOLDER}f=\"\"; for t in tau \"$HOME/.local/bin/tau\" \"$d/{name}\"; do \
         p=$(command -v \"$t\") || continue; \
         v=$(\"$p\" {WORD} {PROTOCOL} </dev/null 2>/dev/null); \
         if [ \"$v\" = \"{spoken}\" ]; then exec \"$p\" {WORD} {what}; fi; \
         f=\"$f $p\"; done; echo \"{NONE}$(uname -s) $(uname -m)$f\"; exit 127"
    ))
}

/// Puts the program of this size on standard input into the folder of copies, if it runs there.
pub(super) fn copy(size: u64) -> String {
    let (spoken, name) = (protocol_version(), name());
    in_sh(&format!(
        "set -e; umask 077; {FOLDER}mkdir -p \"$d\"; t=\"$d/.{name}.$$\"; \
         gone() {{ rm -f \"$t\"; }}; trap gone EXIT; trap \"exit 1\" HUP INT PIPE TERM; cat >\"$t\"; \
         if [ $(wc -c <\"$t\") -ne {size} ]; then echo \"the copy is not complete\" >&2; exit 1; fi; \
         chmod 700 \"$t\"; v=$(\"$t\" {WORD} {PROTOCOL} </dev/null); \
         [ \"$v\" = \"{spoken}\" ] || {{ echo \"it answers as another program\" >&2; exit 1; }}; \
         mv -f \"$t\" \"$d/{name}\"; echo \"{COPIED}$d/{name}\""
    ))
}

fn in_sh(script: &str) -> String {
    format!("exec sh -c '{script}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::wire::relay::SERVE;

    #[test]
    fn a_cache_folder_that_is_not_absolute_counts_as_none() {
        for (set, folder) in [("rel", "/h/.cache/tau/bin"), ("", "/h/.cache/tau/bin"), ("/c", "/c/tau/bin")] {
            let mut sh = std::process::Command::new("/bin/sh");
            sh.arg("-c").arg(format!("{FOLDER}echo \"$d\"")).env("XDG_CACHE_HOME", set).env("HOME", "/h");
            assert_eq!(String::from_utf8(sh.output().unwrap().stdout).unwrap().trim(), folder, "{set:?}");
        }
    }

    #[test]
    fn scripts_pass_any_login_shell() {
        for script in [find(SERVE), copy(1)] {
            let inner = script.strip_prefix("exec sh -c '").and_then(|rest| rest.strip_suffix('\'')).unwrap();
            assert!(!inner.contains(['\'', '\\', '!', '\n', '`']), "{inner}");
        }
    }
}
