//! The clipboard of this machine: set and read by the desktop's program for it. Reading ([`paste`]) falls
//! back to the terminal where there is no such program.
//!
//! A program rather than a library: on Wayland and X11 the setter of the clipboard must stay to serve it;
//! these programs do that in the background, even after tau has ended.

mod content;
mod paste;
mod terminal;

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use paste::Reading;
pub(crate) use paste::paste;
use tau_tools::process::ChildEnv;
use tau_tools::user_error::UserError;

/// Time limit for a program to read the text and end.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A program that sets a clipboard from its standard input, and its way to read one.
struct ClipboardProgram {
    /// The variable that indicates its clipboard; empty for always.
    needs: &'static str,
    command: &'static [&'static str],
    /// The clipboard's name for the user.
    name: &'static str,
    /// Whether it is useful to a remote user.
    remote: bool,
    reading: Reading,
}

const DESKTOP: &str = "clipboard";

/// In the order in which they are tried. tmux ignores clipboard sequences of programs unless it is configured
/// otherwise, but accepts text from its own command and passes it on to its terminal.
const PROGRAMS: &[ClipboardProgram] = &[
    #[cfg(target_os = "macos")]
    ClipboardProgram {
        needs: "",
        command: &["pbcopy"],
        name: DESKTOP,
        remote: false,
        reading: Reading {
            types: &["osascript", "-e", "clipboard info"],
            picture: &["osascript", "-e", "the clipboard as «class PNGf»"],
            text: &["pbpaste"],
        },
    },
    ClipboardProgram {
        needs: "WAYLAND_DISPLAY",
        command: &["wl-copy"],
        name: DESKTOP,
        remote: false,
        reading: Reading {
            types: &["wl-paste", "--list-types"],
            picture: &["wl-paste", "--type"],
            text: &["wl-paste", "--no-newline"],
        },
    },
    ClipboardProgram {
        needs: "DISPLAY",
        command: &["xclip", "-selection", "clipboard"],
        name: DESKTOP,
        remote: false,
        reading: Reading {
            types: &["xclip", "-selection", "clipboard", "-o", "-t", "TARGETS"],
            picture: &["xclip", "-selection", "clipboard", "-o", "-t"],
            text: &["xclip", "-selection", "clipboard", "-o"],
        },
    },
    ClipboardProgram {
        needs: "DISPLAY",
        command: &["xsel", "--clipboard", "--input"],
        name: DESKTOP,
        remote: false,
        reading: Reading { types: &[], picture: &[], text: &["xsel", "--clipboard", "--output"] },
    },
    ClipboardProgram {
        needs: "TMUX",
        command: &["tmux", "load-buffer", "-w", "-"],
        name: "tmux and its terminal",
        remote: true,
        reading: Reading { types: &[], picture: &[], text: &["tmux", "save-buffer", "-"] },
    },
];

/// Gives `text` to the first clipboard of this machine that accepts it; returns its display name. `None` if
/// there is no clipboard: no desktop, no program for it, or the user is connected over ssh. The error is a
/// sentence for the user: there is a clipboard, but its program failed.
pub async fn copy(text: &str) -> Result<Option<String>, UserError> {
    let mut failed = None;
    for program in usable(is_set) {
        match hand_over(program.command, text).await {
            Ok(true) => return Ok(Some(program.name.to_owned())),
            Ok(false) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// The path of copied text besides the terminal itself.
pub(crate) struct CopyRoute {
    /// The program that accepts it; `None` without one.
    pub program: Option<&'static str>,
    /// The reason for this program, or for having none.
    pub reason: &'static str,
    /// The program to install, on a desktop without one.
    pub missing: Option<&'static str>,
}

/// The path that [`copy`] would use now. Nothing is run.
pub(crate) fn route() -> CopyRoute {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    route_of(is_set, is_installed)
}

fn route_of(is_set: impl Fn(&str) -> bool, is_installed: impl Fn(&str) -> bool) -> CopyRoute {
    let remote = is_remote(&is_set);
    let candidates: Vec<&ClipboardProgram> = usable(&is_set).collect();
    let name = |program: &ClipboardProgram| program.command.first().copied().unwrap_or_default();
    let chosen = candidates.iter().find(|program| is_installed(name(program)));
    let desktop = candidates.iter().find(|program| !program.remote);
    let reason = match (chosen, desktop) {
        (Some(program), _) if program.remote && remote => "you are connected over SSH, inside tmux",
        (Some(program), _) if program.remote => "you are inside tmux",
        (Some(_), _) => "it is the clipboard program of this desktop",
        (None, Some(_)) => "no clipboard program of this desktop is installed",
        (None, None) if remote => "you are connected over SSH, so the clipboard of this machine is not yours",
        (None, None) => "there is no desktop (neither WAYLAND_DISPLAY nor DISPLAY is set)",
    };
    let missing = desktop.filter(|_| chosen.is_none()).map(|program| name(program));
    CopyRoute { program: chosen.map(|program| name(program)), reason, missing }
}

/// Whether the variable is set and not empty.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_remote(is_set: impl Fn(&str) -> bool) -> bool {
    ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].into_iter().any(is_set)
}

fn usable(is_set: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static ClipboardProgram> {
    let remote = is_remote(&is_set);
    PROGRAMS.iter().filter(move |program| {
        (program.needs.is_empty() || is_set(program.needs)) && (program.remote || !remote)
    })
}

/// The end of a program for the clipboard.
struct ProgramOutput {
    /// `None` if it was ended because of too much output.
    status: Option<ExitStatus>,
    /// Its output; empty for a program with an input.
    output: Vec<u8>,
}

/// Runs a program: with `input`, or else for its output, of which at most one byte more than
/// [`content::MAX_SIZE`] is read. `None` when it is not installed.
async fn run(
    command: &[&str],
    input: Option<&str>,
    patience: Duration,
) -> Result<Option<ProgramOutput>, UserError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let (stdin, stdout) = match input {
        // A process that stays in the background keeps its output open.
        Some(_) => (Stdio::piped(), Stdio::null()),
        None => (Stdio::null(), Stdio::piped()),
    };
    let mut program_to_run = Command::new(program);
    ChildEnv::of_helpers().apply(program_to_run.as_std_mut());
    let spawned = program_to_run
        .args(arguments)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{program}: {error}").into()),
    };
    let finished = async {
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
            // A program that ends early reports it by its status.
            let _ = pipe.write_all(text.as_bytes()).await;
        }
        let mut output = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            pipe.take(content::MAX_SIZE as u64 + 1).read_to_end(&mut output).await?;
        }
        let status = if output.len() > content::MAX_SIZE { None } else { Some(child.wait().await?) };
        std::io::Result::Ok(ProgramOutput { status, output })
    };
    match tokio::time::timeout(patience, finished).await {
        Ok(Ok(finished)) => Ok(Some(finished)),
        Ok(Err(error)) => Err(format!("{program}: {error}").into()),
        Err(_) => Err(format!("{program} did not end within {} s", patience.as_secs()).into()),
    }
}

/// Runs a program with `text` as its input. False when it is not installed.
async fn hand_over(command: &[&str], text: &str) -> Result<bool, UserError> {
    match run(command, Some(text), TIMEOUT).await? {
        Some(ProgramOutput { status: Some(status), .. }) if !status.success() => {
            Err(format!("{} failed ({status})", command.first().unwrap_or(&"")).into())
        }
        finished => Ok(finished.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(set: &[&str]) -> Vec<&'static str> {
        let found = usable(|name| set.contains(&name));
        found.map(|program| program.command[0]).filter(|program| *program != "pbcopy").collect()
    }

    #[test]
    fn the_desktop_is_used_unless_the_user_sits_elsewhere() {
        assert_eq!(programs(&[]), [""; 0]);
        assert_eq!(programs(&["WAYLAND_DISPLAY", "DISPLAY"]), ["wl-copy", "xclip", "xsel"]);
        assert_eq!(programs(&["DISPLAY", "SSH_TTY"]), [""; 0]);
        assert_eq!(programs(&["DISPLAY", "SSH_CONNECTION", "TMUX"]), ["tmux"]);
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn the_route_is_the_one_that_copying_takes() {
        let route = |set: &[&str], installed: &[&str]| {
            let route = route_of(|name| set.contains(&name), |program| installed.contains(&program));
            (route.program, route.missing)
        };
        assert_eq!(route(&["DISPLAY"], &["xsel"]), (Some("xsel"), None));
        assert_eq!(route(&["WAYLAND_DISPLAY"], &[]), (None, Some("wl-copy")));
        assert_eq!(route(&["DISPLAY", "SSH_TTY"], &["xsel"]), (None, None));
        assert_eq!(route(&["SSH_TTY", "TMUX"], &["tmux"]), (Some("tmux"), None));
        assert_eq!(route(&[], &["xsel"]), (None, None));
    }

    #[tokio::test]
    async fn a_program_gets_the_text_and_cannot_hold_anything_up() {
        assert_eq!(hand_over(&["sh", "-c", "test \"$(cat)\" = words"], "words").await, Ok(true));
        assert_eq!(hand_over(&["no-such-program-for-the-clipboard"], "words").await, Ok(false));
        let failed = hand_over(&["sh", "-c", "exit 3"], &"words".repeat(100_000)).await;
        assert!(failed.as_ref().is_err_and(|why| why.contains("sh failed")), "{failed:?}");
        let slow = hand_over(&["sh", "-c", "sleep 60"], "words").await;
        assert!(slow.as_ref().is_err_and(|why| why.contains("did not end")), "{slow:?}");
    }
}
