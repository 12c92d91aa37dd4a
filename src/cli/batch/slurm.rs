//! A batch as array jobs of Slurm. Each element runs one task by its number in a list; when its node dies, Slurm
//! queues it again, and a result that is there already is not made twice. Where only tau is killed, the element itself
//! asks for that.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::results::BatchFolder;
use super::tasks::{BatchTask, TaskList};
use crate::args::batch::BatchArgs;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use tau_agent::settings::private_files::write_private;
use tau_tools::shell_word;

/// Elements of an array: the usual MaxArraySize of Slurm, less one.
const MOST: usize = 1_000;

/// The end of the script: it waits for tau, and queues the element again if tau was killed, as for lack of memory. By
/// itself Slurm queues only elements again whose node has died.
const QUEUED_AGAIN: &str = "pid=$!\n\
     trap 'kill -TERM \"$pid\" 2>/dev/null' TERM INT\n\
     wait \"$pid\"; code=$?\n\
     while kill -0 \"$pid\" 2>/dev/null; do wait \"$pid\"; code=$?; done\n\
     [ \"$code\" -eq 137 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 4 ] && scontrol requeue \"$SLURM_JOB_ID\"\n\
     exit \"$code\"\n";

/// Refuses options and folders that sbatch does not take.
pub(super) fn check(options: &[String], results: &Path) -> Result<(), Refusal> {
    directives(options)?;
    let results = std::path::absolute(results).map_err(Refusal::config)?.display().to_string();
    match results.contains(char::is_whitespace) {
        true => Err(Refusal::usage(format!(
            "sbatch takes no blanks in paths: use another --results than {results}"
        ))),
        false => Ok(()),
    }
}

/// The lines of a script with these options of sbatch, each with its value if that is a word of its own. Fails with a
/// word that is neither.
fn directives(options: &[String]) -> Result<String, Refusal> {
    let mut lines = String::new();
    let mut takes_value = false;
    for word in options {
        let is_option = word.starts_with('-');
        if !(is_option || takes_value) || word.contains(['\n', '\r']) {
            let how = "write options as --partition=cpu or -p cpu";
            return Err(Refusal::usage(format!("{word:?} is not an option of sbatch: {how}")));
        }
        lines += if is_option { "\n#SBATCH " } else { " " };
        lines += &directive_word(word);
        let is_short = !word.starts_with("--") && word.chars().count() == 2;
        takes_value = is_option && (is_short || word.starts_with("--") && !word.contains('='));
    }
    Ok(lines)
}

/// A word as sbatch reads it in a script: it splits lines at blanks, and knows quotes and comments.
fn directive_word(word: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !"\"'\\#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes the script and the list of tasks, and submits it with `--apply`.
pub(super) fn hand_over(
    args: &BatchArgs,
    tasks: &TaskList,
    missing: &[&BatchTask],
    folder: &BatchFolder,
) -> Result<Exit, Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::config(format!("cannot write to {}: {error}", folder.path().display()))
    };
    let list: String = missing.iter().map(|task| format!("{}\n", task.id)).collect();
    // Earlier arrays, which may still run, keep their own list.
    let stamp = jiff::Timestamp::now().as_millisecond();
    let list_file = folder.path().join(format!("slurm-{stamp}.list"));
    let script_file = folder.path().join(format!("slurm-{stamp}.sh"));
    write_private(&list_file, list.as_bytes()).map_err(cannot)?;
    let program = std::env::current_exe().map_err(Refusal::config)?;
    let text = script(&program, tasks, folder, &list_file, &args.options)?;
    write_private(&script_file, text.as_bytes()).map_err(cannot)?;
    let mut said = String::new();
    for (from, count) in arrays(missing.len()) {
        let array = format!("--array=1-{count}%{}", args.at_once);
        let script = script_file.display().to_string();
        let arguments = [array, script, from.to_string()];
        if args.apply {
            said += &submit(&arguments)?;
        } else {
            said += &format!("sbatch {} {} {}\n", arguments[0], quote(&arguments[1])?, arguments[2]);
        }
    }
    let path = |path: &Path| quote(&path.display().to_string());
    let results = args.results.as_deref().map(path).transpose()?;
    let results = results.map(|results| format!(" --results {results}")).unwrap_or_default();
    let report = format!("tau batch {}{results} --report", path(&args.tasks)?);
    let what = if args.apply {
        "the report, at any time"
    } else {
        "to submit it, run the above; the report, at any time"
    };
    Ok(say(&format!("{said}{what}: {report}\n")))
}

/// The arrays for so many tasks: what comes before each, and its elements.
fn arrays(tasks: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..tasks).step_by(MOST).map(move |from| (from, MOST.min(tasks - from)))
}

/// The script of an element: its only argument is the number of tasks before the array.
fn script(
    program: &Path,
    tasks: &TaskList,
    folder: &BatchFolder,
    list: &Path,
    options: &[String],
) -> Result<String, Refusal> {
    let path = |path: &Path| quote(&path.display().to_string());
    let logs: PathBuf = folder.path().join("runs/slurm-%A-%a.log");
    let logs = logs.display();
    let options = directives(options)?;
    Ok(format!(
        "#!/bin/sh\n#SBATCH --job-name=tau-batch\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\
         #SBATCH --output={logs}{options}\n\
         id=$(sed -n \"$(( ${{1:-0}} + SLURM_ARRAY_TASK_ID ))p\" {}) || exit 1\n\
         [ -n \"$id\" ] || exit 1\n\
         {} batch {} --results {} --only \"$id\" --part &\n{QUEUED_AGAIN}",
        path(list)?,
        path(program)?,
        path(&tasks.file)?,
        path(folder.path())?,
    ))
}

fn submit(arguments: &[String]) -> Result<String, Refusal> {
    let output = Command::new("sbatch").args(arguments).output();
    let output = output.map_err(|error| Refusal::config(format!("cannot run sbatch: {error}")))?;
    if output.status.success() {
        return Ok(plain::text(&String::from_utf8_lossy(&output.stdout)));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Refusal::config(format!("sbatch failed: {}", plain::text(said.trim()))))
}

/// A word for a shell.
pub(super) fn quote(text: &str) -> Result<String, Refusal> {
    if text.chars().any(char::is_control) {
        return Err(Refusal::usage(format!("{text:?} has a control character")));
    }
    Ok(shell_word::quote(text))
}
