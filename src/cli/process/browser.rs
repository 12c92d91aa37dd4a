//! Opens an address in the user's browser.
//!
//! The browser of `BROWSER`, else the desktop's opener for addresses. The crates for this pass the whole
//! environment on; a browser gets none of its keys, like every program that tau starts.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tau_tools::process::ChildEnv;

/// Programs that open an address on desktops.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Starts a browser with `address` without waiting for it. Returns whether one could be started; its result
/// is unknown.
pub fn open(address: &str, env: &ChildEnv) -> bool {
    let named = std::env::var("BROWSER").unwrap_or_default();
    let named = named.split(':').map(str::to_owned).filter(|command| !command.trim().is_empty());
    named.chain(OPENERS.map(str::to_owned)).any(|command| start(&command, address, env))
}

/// `command` is words; `%s` among them stands for the address, which otherwise comes last.
fn start(command: &str, address: &str, env: &ChildEnv) -> bool {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut arguments: Vec<String> = words.map(|word| word.replace("%s", address)).collect();
    if !command.contains("%s") {
        arguments.push(address.to_owned());
    }
    let mut browser = Command::new(program);
    env.apply(&mut browser);
    let started = browser
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl+C is meant for tau.
        .process_group(0)
        .spawn();
    let Ok(mut child) = started else { return false };
    // It is awaited so that no zombie remains after its end.
    std::thread::spawn(move || child.wait());
    true
}
