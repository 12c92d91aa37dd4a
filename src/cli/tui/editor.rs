//! Opens text and files in the user's editor. The terminal must be left first.

use std::ffi::OsString;
use std::path::Path;

use tau_app::request::EditorSource;
use tau_tools::encoding;
use tau_tools::paths;
use tau_tools::process::ChildEnv;
use tau_tools::user_error::UserError;

/// Editors that take the first line as a separate argument, `+12`.
const PLUS: [&str; 17] =
    *tau_tools::words!("vi vim nvim view ex nano pico emacs emacsclient micro kak joe jed mg ne less more");
/// Editors that take it after the name of the file, `file:12`.
const COLON: [&str; 5] = ["hx", "helix", "subl", "zed", "zeditor"];
/// Editors that do so behind a flag.
const GOTO: [&str; 5] = ["code", "codium", "code-insiders", "cursor", "windsurf"];

/// Opens `text` in `$VISUAL` or `$EDITOR`, as a file with this name ending; returns the new text, `None` when
/// nothing changed.
pub async fn edit(text: &str, ending: &str, env: &ChildEnv) -> Result<Option<String>, UserError> {
    let file = text_file(text, ending)?;
    run(&[file.path().as_os_str().to_owned()], env)
        .await
        .map_err(|error| format!("{error}; your text is unchanged"))?;
    let edited = std::fs::read(file.path()).map_err(|error| {
        let why = paths::reason(&error);
        format!("cannot read what the editor saved: {why}; your text is unchanged")
    })?;
    Ok(Some(encoding::text(&edited)).filter(|edited| edited.trim_end() != text.trim_end()))
}

/// Opens a file, or text, in `$VISUAL` or `$EDITOR`. Relative paths start at `dir`.
pub async fn open(source: &EditorSource, dir: &Path, env: &ChildEnv) -> Result<String, UserError> {
    match source {
        EditorSource::File { path, line } => {
            let file = paths::resolve(dir, path);
            if !file.is_file() {
                return Err(format!("{}: no such file", file.display()).into());
            }
            run(&arguments(&editor()?.1, &file, *line), env).await?;
        }
        EditorSource::Text { text, ending } => {
            let file = text_file(text, ending)?;
            run(&[file.path().as_os_str().to_owned()], env).await?;
        }
    }
    Ok(String::new())
}

fn text_file(text: &str, ending: &str) -> Result<tempfile::NamedTempFile, UserError> {
    let named = |error: std::io::Error| format!("no file for the editor: {error}");
    let file = tempfile::Builder::new().prefix("tau-").suffix(ending).tempfile().map_err(named)?;
    std::fs::write(file.path(), text).map_err(named)?;
    Ok(file)
}

/// The variable that names the editor, and its command line.
fn editor() -> Result<(&'static str, String), UserError> {
    let set = |name: &'static str| {
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    };
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(set);
    editor.ok_or_else(|| "no editor is set; set VISUAL or EDITOR".to_owned().into())
}

/// The arguments that open a file at a line, if the editor's syntax is known.
fn arguments(editor: &str, file: &Path, line: Option<u32>) -> Vec<OsString> {
    let program = editor.split_whitespace().next().and_then(|program| program.rsplit('/').next());
    let is_one_of = |names: &[&str]| program.is_some_and(|program| names.contains(&program));
    let name = file.as_os_str().to_owned();
    let Some(line) = line else { return vec![name] };
    let at_line = || {
        let mut name = name.clone();
        name.push(format!(":{line}"));
        name
    };
    if is_one_of(&PLUS) {
        vec![format!("+{line}").into(), name]
    } else if is_one_of(&COLON) {
        vec![at_line()]
    } else if is_one_of(&GOTO) {
        vec!["--goto".into(), at_line()]
    } else {
        vec![name]
    }
}

/// Runs the editor. The variable is a command line by convention: `code --wait`. Signals of the terminal are the
/// editor's: without the traps, the shell would end with an error after an editor that takes them.
async fn run(arguments: &[OsString], env: &ChildEnv) -> Result<(), UserError> {
    let (variable, editor) = editor()?;
    let mut shell = tokio::process::Command::new("sh");
    env.apply(shell.as_std_mut());
    let status = shell
        .args(["-c", &format!("trap : INT QUIT; {editor} \"$@\""), "sh"])
        .args(arguments)
        .status()
        .await
        .map_err(|error| format!("{editor}: {error}"))?;
    match status.code() {
        Some(0) => Ok(()),
        // The shell's own codes.
        Some(127) => {
            Err(format!("${variable} is `{editor}`, which was not found; set it to your editor").into())
        }
        Some(126) => {
            Err(format!("${variable} is `{editor}`, which cannot be run; set it to your editor").into())
        }
        _ => Err(format!("{editor} failed ({status})").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_are_told_the_line_as_they_take_it() {
        let check = |editor: &str, line: Option<u32>, expected: &[&str]| {
            assert_eq!(arguments(editor, Path::new("/a b"), line), expected, "{editor}");
        };
        check("/usr/bin/vim -u NONE", Some(7), &["+7", "/a b"]);
        check("hx", Some(7), &["/a b:7"]);
        check("code --wait", Some(7), &["--goto", "/a b:7"]);
        check("ed", Some(7), &["/a b"]);
        check("vim", None, &["/a b"]);
    }
}
