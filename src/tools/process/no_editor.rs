//! Stand-ins for editors in commands of the model: nobody could type into one, so they end at once and say what to
//! do instead. Calls that need nobody (`vim -es`, `emacs --batch`) reach the real editor. An editor that a command calls by
//! its path is ended when it waits for keys, with the same message.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::scratch::Scratch;

/// The folder of the stand-ins.
const FOLDER: &str = "editors";
/// The stand-in that all others are links to, for the variables that name an editor.
const PROGRAM: &str = "no-editor";
/// The mode of that file.
const MODE: u32 = 0o700;
/// The names of editors.
const NAMES: [&str; 22] = *crate::words!(
    "editor emacs emacsclient gvim helix hx jed joe kak mcedit mg micro nano nvim pico rnano rvim \
     sensible-editor vi view vim vimdiff"
);
/// The message of a stand-in.
macro_rules! message {
    () => {
        "tau: no editor opens for this command; change files with a tool, sed or a script, and pass texts: git commit -m \
         TEXT, git merge --no-edit, GIT_EDITOR=true git rebase --continue, GIT_SEQUENCE_EDITOR=COMMAND git rebase -i, \
         crontab FILE, or EDITOR=COMMAND"
    };
}
pub(super) const MESSAGE: &str = message!();
/// The stand-in. It looks for the real editor in the rest of `PATH`.
const SCRIPT: &str = concat!(
    r#"#!/bin/sh
name=${0##*/} here=${0%/*} alone= before=
for word in "$@"; do
    case $name:$word in
    no-editor:*) ;;
    *:--version | *:--help) alone=1 ;;
    emacs:--batch | emacs:-batch | emacs:--script* | emacs:-script) alone=1 ;;
    emacsclient:-e | emacsclient:--eval* | emacsclient:-n | emacsclient:--no-wait) alone=1 ;;
    *vi*:-es | *vi*:-Es | *vi*:-se | *vi*:--headless) alone=1 ;;
    *vi*:+*) before=-c word=${word#+} ;;
    esac
    # The commands that end vim.
    case $before:$word in
    -c:*q | -c:*q! | -c:*qa | -c:*qa! | -c:*qall | -c:x | -c:*[!a-z]x | -c:xa | -c:*[!a-z]xa | -c:*ZZ) alone=1 ;;
    esac
    before=$word
done
"#,
    "if [ ! \"$alone\" ]; then\n    echo '",
    message!(),
    r#"' >&2
    exit 1
fi
rest=
IFS=:
for folder in $PATH; do
    [ "$folder" = "$here" ] || rest=$rest:$folder
done
unset IFS
PATH=${rest#:}
export PATH
command -v "$name" >/dev/null || {
    echo "$name: command not found" >&2
    exit 127
}
exec "$name" "$@"
"#
);
/// A stand-in without a file. Programs pass it to a shell, followed by the file name.
pub(super) const COMMAND: &str = concat!("sh -c 'echo \"", message!(), "\" >&2; exit 1'");

/// The stand-ins: a folder for the beginning of `PATH`, and what variables may name.
pub(super) struct StandIns {
    pub(super) folder: PathBuf,
    pub(super) command: OsString,
}

impl StandIns {
    /// Those in tau's own folder, made on first use, and again where a command has changed them: what is first in
    /// `PATH` must not be a program of its choice. `None` if they cannot be made.
    pub(super) fn of(scratch: &Scratch) -> Option<Self> {
        let mut folder = scratch.programs(FOLDER, make).ok()?;
        if !is_intact(&folder) {
            fs::remove_dir_all(&folder).ok()?;
            folder = scratch.programs(FOLDER, make).ok()?;
        }
        let path = folder.join(PROGRAM);
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        // Programs pass it to a shell.
        let command = match path.to_str().filter(|text| text.as_bytes().iter().all(is_plain)) {
            Some(plain) => plain.into(),
            None => COMMAND.into(),
        };
        Some(StandIns { folder, command })
    }
}

fn make(folder: &Path) -> io::Result<()> {
    let program = folder.join(PROGRAM);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&program)?;
    file.write_all(SCRIPT.as_bytes())?;
    drop(file);
    NAMES.iter().try_for_each(|name| symlink(PROGRAM, folder.join(name)))
}

/// Whether a folder has what [`make`] puts there, and nothing else.
fn is_intact(folder: &Path) -> bool {
    let program = folder.join(PROGRAM);
    let is_file = fs::symlink_metadata(&program)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o7777 == MODE);
    let is_link = |name: &&str| fs::read_link(folder.join(name)).is_ok_and(|to| to == Path::new(PROGRAM));
    let count = fs::read_dir(folder).map(Iterator::count).unwrap_or_default();
    is_file
        && count == NAMES.len() + 1
        && NAMES.iter().all(is_link)
        && fs::read(&program).is_ok_and(|text| text == SCRIPT.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_that_were_changed_are_made_again() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::with_limit(base.path(), 1024);
        let folder = StandIns::of(&scratch).unwrap().folder;
        assert!(is_intact(&folder));
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(folder.join("git"), "#!/bin/sh\n").unwrap(),
            &|| fs::write(folder.join(PROGRAM), "#!/bin/sh\n").unwrap(),
            &|| {
                fs::remove_file(folder.join("vim")).unwrap();
                symlink("/bin/sh", folder.join("vim")).unwrap();
            },
            &|| fs::remove_file(folder.join(PROGRAM)).unwrap(),
        ];
        for change in changes {
            change();
            assert!(!is_intact(&folder));
            let again = StandIns::of(&scratch).unwrap().folder;
            assert!(again == folder && is_intact(&folder));
        }
    }
}
