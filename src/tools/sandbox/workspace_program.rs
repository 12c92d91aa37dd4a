//! Detects programs started for the user that a sandboxed command could have rewritten.
//!
//! These are hooks, MCP servers and status lines from the workspace, which then run in the sandbox of the
//! commands. A program counts if a word of its command may be a file that commands can change: the program
//! itself, the script of an interpreter, a configuration. An installed program counts, too, unless it is known to obey
//! no file of the directory that it starts in. Anything uncertain counts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{SandboxPolicy, protected};
use crate::paths;

/// The maximum number of links followed for a name.
const MAX_LINKS: usize = 40;
/// Programs that run nothing that the present directory says. Words after them may be other programs.
const HEEDLESS: &[&str] = crate::words!(
    "[ afplay alias aplay awk base32 base64 basename bash beep bg busctl busybox cal canberra-gtk-play cat cd chgrp chmod \
     chown chrt cksum clear cmp column comm command cp csplit curl cut dash date dbus-send dd df diff dig dir dircolors \
     dirname doas du dunstify echo egrep env espeak expand expr factor false fg fgrep file find fish flock fmt fold \
     free gawk gdbus getconf getent getopts grep gunzip gzip hash head host hostid hostname iconv id install ionice \
     ip jobs join journalctl jq kdialog kill killall ksh link ln logger loginctl logname ls lsof mail mailx mawk md5sum \
     mkdir mkfifo mknod mktemp more mv nc ncat netcat nice nl nohup notify-send nproc nslookup numfmt od osascript paplay \
     paste pathchk pbcopy pbpaste pgrep pidof ping pkill play pr printenv printf ps ptx pw-play pwd qdbus read readlink \
     realpath renice rev rm rmdir rsync say scp sed sendmail seq setsid sftp sh sha1sum sha256sum sha512sum shred shuf \
     sleep sort spd-say split sqlite3 ssh ssh-add stat stdbuf stty sudo sum sync systemctl systemd-cat tac tail taskset \
     tee terminal-notifier test time timeout tmux touch tput tr true truncate tsort tty type ulimit umask unalias uname \
     unexpand uniq unlink uptime users vdir wait wall wc wget which who whoami wl-copy wl-paste write xargs xclip \
     xmessage xsel xxd xz yes zcat zenity zsh zstd"
);
/// Such programs that run the commands in their arguments.
const LAUNCHERS: &[&str] = crate::words!(
    "bash busybox chrt command dash doas env find fish flock ionice ksh nice nohup setsid sh ssh stdbuf sudo taskset \
     time timeout tmux xargs zsh"
);
/// Interpreters that load modules from the current directory for code given as an argument.
const INTERPRETERS: [&str; 6] = ["lua", "node", "perl", "php", "python", "ruby"];
/// Letters of their options that give code or name modules.
const CODE: [char; 8] = ['M', 'R', 'c', 'e', 'l', 'm', 'p', 'r'];
/// Parts of their long options that do so.
const LONG_CODE: [&str; 6] = ["eval", "import", "loader", "print", "require", "test"];
/// Characters that a shell expands, so that the words are unknown.
const EXPANSIONS: [char; 6] = ['$', '`', '*', '?', '[', '\\'];
/// Characters that separate the words of a shell text.
const SEPARATORS: [char; 14] = [' ', '\t', '\r', '\n', '\'', '"', ';', '|', '&', '(', ')', '<', '>', '\0'];

/// A program that tau is about to start.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The directory it starts in.
    pub cwd: &'a Path,
    /// The search path for programs: `PATH`.
    pub path: Option<&'a OsStr>,
}

impl SandboxPolicy {
    /// True if commands can change the code that runs when this program is started with these arguments.
    pub fn can_change_program<'a>(
        &self,
        start: Start<'_>,
        program: &str,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> bool {
        let roots = self.roots();
        let place = Place { policy: self, roots: &roots, start };
        let arguments: Vec<&str> = arguments.into_iter().collect();
        let launches = || LAUNCHERS.contains(&name_of(program));
        !roots.is_empty()
            && (place.runs(program, &arguments)
                || launches() && self.can_change_script(start, &arguments.join(" ")))
    }

    /// Like [`Self::can_change_program`], for a text that a shell runs.
    pub fn can_change_script(&self, start: Start<'_>, text: &str) -> bool {
        let roots = self.roots();
        if roots.is_empty() {
            return false;
        }
        let text = text.replace("${HOME}/", "~/").replace("$HOME/", "~/");
        if text.contains(EXPANSIONS) {
            return true;
        }
        let words = words(&text);
        let place = Place { policy: self, roots: &roots, start };
        // Any word may be the program of a command.
        let mut rest = words.as_slice();
        while let Some((program, arguments)) = rest.split_first() {
            if place.runs(program, arguments) {
                return true;
            }
            rest = arguments;
        }
        false
    }
}

/// The words of a shell text, without the targets of output redirections.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = text.split('>');
    let first = pieces.next().unwrap_or_default();
    let rest = pieces.flat_map(|piece| words_of(piece).skip(1));
    words_of(first).chain(rest).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(SEPARATORS).filter(|word| !word.is_empty())
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program is an interpreter, with or without its version.
fn is_version(name: &str, interpreter: &str) -> bool {
    let version = name.strip_prefix(interpreter);
    version.is_some_and(|rest| rest == "js" || rest.chars().all(|c| c.is_ascii_digit() || "-.".contains(c)))
}

struct Place<'a> {
    policy: &'a SandboxPolicy,
    roots: &'a [PathBuf],
    start: Start<'a>,
}

impl Place<'_> {
    fn runs(&self, program: &str, arguments: &[&str]) -> bool {
        let name = name_of(program);
        let may_obey_directory = || match INTERPRETERS.iter().any(|interpreter| is_version(name, interpreter))
        {
            true => self.has_no_script(arguments),
            false => !HEEDLESS.contains(&name) && self.is_installed(program),
        };
        self.is_program(program)
            || arguments.iter().any(|word| self.names_changeable(word))
            || self.is_changeable(&self.start.cwd.join(name)) && may_obey_directory()
    }

    /// True if it is a program in a folder of `PATH`. What lies elsewhere is the user's own.
    fn is_installed(&self, program: &str) -> bool {
        let mut folders = std::env::split_paths(self.start.path.unwrap_or_default());
        let is_program = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
        match program.contains('/') {
            true => {
                let path = paths::resolve(self.start.cwd, program);
                is_program(&path) && folders.any(|folder| path.parent() == Some(&*folder))
            }
            false => folders.any(|folder| is_program(&self.start.cwd.join(folder).join(program))),
        }
    }

    /// True if an interpreter with these arguments may run something else than a script that they name.
    fn has_no_script(&self, arguments: &[&str]) -> bool {
        for word in arguments {
            let is_code = match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(long), _) => LONG_CODE.iter().any(|option| long.contains(option)),
                (None, Some("")) => true,
                // The rest of a cluster may be the value of an option.
                (None, Some(letters)) => {
                    letters.chars().take_while(|c| !"WX".contains(*c)).any(|c| CODE.contains(&c))
                }
                (None, None) => false,
            };
            let is_script = || word.contains('/') || self.start.cwd.join(word).symlink_metadata().is_ok();
            if is_code || !word.starts_with('-') && is_script() {
                return is_code;
            }
        }
        true
    }

    /// True if commands can change the program of this name, or shadow it.
    fn is_program(&self, name: &str) -> bool {
        if name.contains('/') {
            return self.names_changeable(name);
        }
        for folder in std::env::split_paths(self.start.path.unwrap_or_default()) {
            let file = self.start.cwd.join(folder).join(name);
            if self.is_changeable(&file) {
                return true;
            }
            if file.is_file() {
                return false;
            }
        }
        false
    }

    /// True if a word may name a file that commands can change: as a whole, or after `=`, `:` or `,`.
    fn names_changeable(&self, word: &str) -> bool {
        word.split(['=', ':', ',']).chain([word]).filter(|part| !part.is_empty()).any(|part| {
            let path = paths::resolve(self.start.cwd, part);
            let is_address = part.contains("://");
            let is_name = part.contains('/') && !is_address || path.symlink_metadata().is_ok();
            is_name && self.is_changeable(&path)
        })
    }

    /// True if commands can change a file, or a link that leads to it.
    fn is_changeable(&self, path: &Path) -> bool {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            let place = match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => paths::identity(parent).join(name),
                _ => paths::identity(&path),
            };
            if protected::within(&place, self.roots) && self.policy.check_entry(&place).is_ok() {
                return true;
            }
            match (place.read_link(), place.parent()) {
                (Ok(target), Some(parent)) => path = parent.join(target),
                _ => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::SandboxLevel;
    use super::*;

    /// Scripts that run something of the workspace.
    const OF_WORKSPACE: [&str; 37] = [
        "./hook.sh", "sh hook.sh", "sh ./hook.sh >/dev/null", "WORK/hook.sh --quick", "python3 tools/x.py",
        "python3 tools/not-there-yet.py", "python3 -m tools.x", "node -e 'require(1)'",
        "python3 -mchecks.lint", "python3 -Bm checks.lint", "python3 -Wignore -Bc1",
        "node --import=x OTHER/x.py", "node server", "true | python3 -", "env A=1 sh tools/x.py",
        "true && sh 'hook.sh'", "true >log; sh hook.sh", "true >log && sh >log hook.sh", "cd tools; ls",
        "OTHER/link", "./out", "sh TMP/t", "OTHER/hook --config=tools/x.py",
        "\"$CLAUDE_PROJECT_DIR\"/hook.sh", "sh `echo x`", "sh h*", "make lint", "npm run lint",
        "OTHER/hook && cargo fmt", "pytest -q", "OTHER/pytest -q", "env A=1 pytest", "nox-3", "phpunit",
        "date; timeout 5 pytest", "sh -c pytest", "jq . | xargs npm",
    ];

    #[test]
    fn a_program_with_a_file_of_the_workspace_is_one_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let [work, other, temporary] = ["work", "other", "temporary"].map(|name| root.join(name));
        for folder in [work.join("tools"), work.join(".git/hooks"), other.clone(), temporary.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        for file in ["work/tools/x.py", "work/hook.sh", "other/x.py", "other/hook", "temporary/t"] {
            fs::write(root.join(file), "").unwrap();
        }
        for program in ["pytest", "npm", "make", "cargo", "phpunit", "nox-3", "date", "jq", "notify-send"] {
            fs::write(other.join(program), "").unwrap();
            fs::set_permissions(other.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(work.join("hook.sh"), other.join("link")).unwrap();
        symlink(other.join("hook"), work.join("out")).unwrap();
        let policy = |level| SandboxPolicy {
            level,
            workspace: work.clone(),
            temporary: vec![temporary.clone()],
            ..SandboxPolicy::off()
        };
        let path = std::ffi::OsString::from(format!("{}:/usr/bin:/bin", other.display()));
        let start = Start { cwd: &work, path: Some(&path) };
        let script = |level, text: &str| {
            let text = text.replace("WORK", work.to_str().unwrap()).replace("OTHER", other.to_str().unwrap());
            policy(level).can_change_script(start, &text.replace("TMP", temporary.to_str().unwrap()))
        };
        for text in OF_WORKSPACE {
            assert!(script(SandboxLevel::WorkspaceWrite, text), "{text}");
            assert!(!script(SandboxLevel::ReadOnly, text), "commands can change nothing: {text}");
            assert!(!script(SandboxLevel::Off, text), "{text}");
        }
        let elsewhere = [
            "true",
            // Not in PATH, so it does not run.
            "hook.sh",
            "jq -r .tool_input.command",
            "notify-send done",
            "date +%s >>OTHER/log; curl -s https://x | jq .a; logger -t tau done",
            "printf x | cat; echo hook finished",
            "OTHER/hook",
            "hook",
            "python3 OTHER/x.py",
            "python3 -IB -W error OTHER/x.py -c",
            "OTHER/hook <OTHER/x.py >>OTHER/log",
            "OTHER/hook >>log 2>&1; echo x >WORK/log",
            "$HOME/bin/hook --now",
        ];
        for text in elsewhere {
            assert!(!script(SandboxLevel::WorkspaceWrite, text), "{text}");
        }
        let policy = policy(SandboxLevel::WorkspaceWrite);
        assert!(policy.can_change_program(start, "python3", ["server with spaces/x.py"]));
        assert!(policy.can_change_program(start, "./hook.sh", []));
        assert!(policy.can_change_program(start, "sh", ["-c", "cd /; pytest -q"]));
        assert!(policy.can_change_program(start, "env", ["pytest"]));
        assert!(!policy.can_change_program(start, "jq", ["pytest"]));
        assert!(!policy.can_change_program(start, "python3", [other.join("x.py").to_str().unwrap()]));
        // A file in the workspace that commands cannot change.
        fs::write(work.join(".git/HEAD"), "").unwrap();
        fs::create_dir(work.join(".git/objects")).unwrap();
        fs::write(work.join(".git/hooks/x"), "").unwrap();
        assert!(!policy.can_change_program(start, work.join(".git/hooks/x").to_str().unwrap(), []));
    }
}
