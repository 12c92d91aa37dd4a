//! `tau theme check`: reports faults in a theme file.

use crate::args::theme::{ThemeAction, ThemeArgs};
use crate::process::exit::{Exit, fail, say};
use crate::process::plain;
use tau_agent::settings::MAX_BYTES;
use tau_tools::paths::reason;
use tau_tools::regular_files::read_text;
use tau_view::theme::Theme;

/// Runs the command; returns the program's end.
pub fn run(args: &ThemeArgs) -> Exit {
    let ThemeAction::Check { file } = &args.action;
    let source = match read_text(file, MAX_BYTES) {
        Ok(source) => source,
        Err(error) => {
            let (file, why) = (file.display(), reason(&error));
            return fail(Exit::Config, &format!("cannot read the theme {file}: {why}; check the path"));
        }
    };
    let name = plain::line(&file.display().to_string());
    let faults = Theme::faults(&source);
    if faults.is_empty() {
        return say(&format!("{name}: no problems found\n"));
    }
    let line = |fault: &tau_view::theme::ThemeError| {
        format!("{name}:{}: {}\n", fault.line, plain::line(&fault.text))
    };
    match say(&faults.iter().map(line).collect::<String>()) {
        Exit::Ok => Exit::Config,
        failed => failed,
    }
}
