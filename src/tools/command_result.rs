//! The result of a command in words: its output, how it ended, sandbox denials and running processes.

use super::process::{self, FinishedCommand};
use super::sandbox::SandboxRule;
use super::scratch::Scratch;
use super::{Details, OutputLimits, TerminalOutput, ToolError, ToolOutput, budget};
use crate::counted::pluralize;
use crate::secret_cuts::SecretFinder;

/// The largest weight of output in one answer. Output is less often worth reading in full than a file.
const MAX_BYTES: usize = 48 * 1024;
/// The maximum number of output lines in one answer.
const MAX_LINES: usize = 2_000;

/// The parts of a result that differ between tools.
#[derive(Clone, Copy, Debug)]
pub struct Wording<'a> {
    /// The time limit of the command, in seconds.
    pub timeout: Option<u64>,
    /// The text after the sentence about the timeout.
    pub on_timeout: &'static str,
    /// True if the result mentions the exit of a successful command.
    pub says_success: bool,
    /// The exit codes that count as success.
    pub success: &'a [i32],
}

/// True if a command succeeded.
pub fn is_fine(finished: &FinishedCommand, wording: &Wording<'_>) -> bool {
    let is_success = finished.output.exit_code.is_some_and(|code| wording.success.contains(&code));
    is_success && !finished.timed_out
}

/// The answer for a command that has ended. Fails if the command failed, timed out or was aborted; the error
/// includes its output.
pub async fn answer(
    mut finished: FinishedCommand,
    wording: Wording<'_>,
    limits: &OutputLimits,
    scratch: &Scratch,
) -> Result<ToolOutput, ToolError> {
    let mut message = output_text(&mut finished, limits, scratch).await;
    let fine = is_fine(&finished, &wording);
    let how = (!fine || wording.says_success).then(|| outcome(&finished, wording));
    let denials = std::mem::take(&mut finished.denials);
    for line in survivors(&finished).into_iter().chain(how).chain(denial_message(&finished)).chain(denials) {
        if !message.is_empty() && !message.ends_with('\n') {
            message.push('\n');
        }
        message.push_str(&line);
    }
    let cancelled = finished.cancelled;
    finished.output.duration = Some(finished.duration_ms);
    let details = Details::Terminal(finished.output);
    match () {
        () if cancelled => Err(ToolError::Aborted { message, details: Box::new(details) }),
        () if fine => Ok(ToolOutput::new(message, details)),
        () => Err(ToolError::Refused { message, details: Box::new(details) }),
    }
}

/// How a background job ended.
pub(crate) fn job_outcome(finished: &FinishedCommand) -> String {
    match finished.cancelled {
        true => format!("stopped after {:.1} s", finished.duration_ms as f64 / 1000.0),
        false => {
            outcome(finished, Wording { timeout: None, on_timeout: "", says_success: true, success: &[0] })
        }
    }
}

/// Processes that continue, and what the sandbox and rules refused.
pub(crate) fn remarks(finished: &FinishedCommand) -> Vec<String> {
    let denials = finished.denials.iter().cloned();
    survivors(finished).into_iter().chain(denial_message(finished)).chain(denials).collect()
}

/// A description of how the command ended.
fn outcome(finished: &FinishedCommand, wording: Wording<'_>) -> String {
    let time = seconds(finished.duration_ms);
    match (finished.output.exit_code, finished.output.signal) {
        _ if finished.cancelled => format!("aborted by the user after {time}"),
        _ if finished.timed_out => {
            format!("timed out after {} s and was killed{}", wording.timeout.unwrap_or(0), wording.on_timeout)
        }
        (Some(code), _) => describe_exit(code, finished.duration_ms),
        (None, Some(signal)) => format!("ended by signal {signal}{} ({time})", signal_name(signal)),
        (None, None) => format!("ended for an unknown reason ({time})"),
    }
}

fn describe_exit(code: i32, duration_ms: u64) -> String {
    format!("exit code {code} ({})", seconds(duration_ms))
}

fn seconds(duration_ms: u64) -> String {
    format!("{:.1} s", duration_ms as f64 / 1000.0)
}

/// The text of an answer without its last line, if that only says that the command succeeded.
pub fn without_success<'a>(text: &'a str, terminal: &TerminalOutput) -> &'a str {
    let (Some(0), Some(duration_ms)) = (terminal.exit_code, terminal.duration) else { return text };
    match text.strip_suffix(&describe_exit(0, duration_ms)) {
        Some("") => "",
        Some(before) => before.strip_suffix('\n').unwrap_or(text),
        None => text,
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// The sandbox denial, worded for the model.
fn denial_message(finished: &FinishedCommand) -> Option<String> {
    let denial = finished.output.blocked.as_ref()?;
    let advice = match denial.rule {
        SandboxRule::Protected | SandboxRule::Planted => "leave that file as it is",
        SandboxRule::Outside
        | SandboxRule::Home
        | SandboxRule::ReadOnly
        | SandboxRule::NewEntries
        | SandboxRule::Network
        | SandboxRule::LocalServices
        | SandboxRule::OtherProcesses
        | SandboxRule::SystemCalls
        | SandboxRule::Hidden
        | SandboxRule::Device => "do without it, or ask the user to allow it",
    };
    Some(format!("sandbox: {}. Do not try to get around it; {advice}.", denial.sentence()))
}

fn survivors(finished: &FinishedCommand) -> Vec<String> {
    let later = match &finished.spilled.path {
        Some(path) => format!("its later output goes to {}", path.display()),
        None => "its later output is lost".into(),
    };
    let line = |member: &process::process_tree::TreeMember| {
        format!("process {} ({}) is still running in the background; {later}", member.pid, member.name)
    };
    finished.survivors.iter().map(line).collect()
}

/// Text for the model, cut in the middle to the limits; `whole` says where all of it is.
pub fn cut(text: &str, limits: &OutputLimits, whole: &str) -> String {
    let (weight, lines) = (limits.token_weight().min(MAX_BYTES), limits.max_lines.min(MAX_LINES));
    let count = text.lines().count();
    if budget::token_weight(text) <= weight && count <= lines {
        return text.to_owned();
    }
    let first = first_lines(text, weight / 5, lines / 5, &limits.secrets);
    let last = last_lines(text, weight - weight / 5, lines - lines / 5, &limits.secrets);
    let left = count.saturating_sub(first.lines().count() + last.lines().count());
    let amount = if left == 0 { "a part".to_owned() } else { pluralize(left as u64, "line") };
    let end = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    format!("{first}{end}[… {amount} omitted here; {whole} …]\n{last}")
}

/// The output for the model, cut to the limits. The full output is in a file, which is created now if it was
/// still in memory.
async fn output_text(finished: &mut FinishedCommand, limits: &OutputLimits, scratch: &Scratch) -> String {
    let (weight, lines) = (limits.token_weight().min(MAX_BYTES), limits.max_lines.min(MAX_LINES));
    let (head, tail) = finished.capture.plain();
    if finished.capture.total_bytes() == 0 {
        return "(no output)".into();
    }
    if finished.capture.whole().is_some() {
        if budget::token_weight(&head) <= weight && head.lines().count() <= lines {
            return head;
        }
        if finished.spilled.path.is_none() {
            let mut spill = process::spill::Spill::default();
            spill.begin(scratch, &finished.capture.whole().unwrap_or_default()).await;
            finished.spilled = spill.finish().await;
            finished.output.full_output_path =
                finished.spilled.path.as_ref().map(|path| path.display().to_string());
        }
    }
    let tail_source = if tail.is_empty() { &head } else { &tail };
    let first = first_lines(&head, weight / 5, lines / 5, &limits.secrets);
    let last = last_lines(tail_source, weight - weight / 5, lines - lines / 5, &limits.secrets);
    let shown = (first.lines().count() + last.lines().count()) as u64;
    let left_out = finished.capture.total_lines().saturating_sub(shown);
    let mark = omission_mark(left_out, finished);
    format!("{first}{}{mark}\n{last}", if first.is_empty() || first.ends_with('\n') { "" } else { "\n" })
}

fn omission_mark(lines: u64, finished: &FinishedCommand) -> String {
    let amount = match lines {
        0 => "a part".to_owned(),
        lines => pluralize(lines, "line"),
    };
    let total = size(finished.capture.total_bytes());
    let place = match (&finished.spilled.path, &finished.spilled.trouble) {
        (Some(path), None) => format!("the full output ({total}) is in {}", path.display()),
        (Some(path), Some(trouble)) => {
            format!("only the first part of the output ({total}) is in {}: {trouble}", path.display())
        }
        (None, trouble) => {
            let trouble = trouble.as_deref().unwrap_or("no space left");
            format!("the full output ({total}) could not be saved: {trouble}")
        }
    };
    format!("[… {amount} omitted here; {place} …]")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => pluralize(bytes, "byte"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// As many whole lines from the start as fit, or part of the first line if it alone is too long.
fn first_lines<'a>(text: &'a str, weight: usize, lines: usize, secrets: &SecretFinder) -> &'a str {
    let (mut end, mut weighs) = (0, 0);
    for line in text.split_inclusive('\n').take(lines) {
        weighs += budget::token_weight(line);
        if weighs > weight {
            break;
        }
        end += line.len();
    }
    let end = if end == 0 { budget::start_within(text, weight) } else { end };
    let end = secrets.end(text, end);
    text.split_at_checked(end).map_or(text, |(first, _)| first)
}

/// As many whole lines from the end as fit, or part of the last line if it alone is too long.
pub fn last_lines<'a>(text: &'a str, weight: usize, lines: usize, secrets: &SecretFinder) -> &'a str {
    let (mut start, mut weighs) = (text.len(), 0);
    for line in text.split_inclusive('\n').rev().take(lines) {
        weighs += budget::token_weight(line);
        if weighs > weight {
            break;
        }
        start -= line.len();
    }
    let start = if start == text.len() { budget::end_within(text, weight) } else { start };
    let start = secrets.start(text, start);
    text.split_at_checked(start).map_or(text, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_lines_and_characters() {
        let none = SecretFinder::default();
        let first_lines = |text, weight, lines| first_lines(text, weight, lines, &none);
        let last_lines = |text, weight, lines| last_lines(text, weight, lines, &none);
        assert_eq!(first_lines("a\nb\nc\n", 100, 2), "a\nb\n");
        assert_eq!(first_lines("aaa\nbbb\n", 5, 9), "aaa\n");
        assert_eq!(first_lines("ééé", 3, 9), "é");
        assert_eq!(last_lines("a\nb\nc\n", 100, 2), "b\nc\n");
        assert_eq!(last_lines("aaa\nbbb", 5, 9), "bbb");
        assert_eq!(last_lines("ééé", 3, 9), "é");
    }

    #[test]
    fn a_long_line_is_cut_beside_its_secrets() {
        let limits = OutputLimits { secrets: crate::secret_cuts::tests::finder(), ..OutputLimits::default() };
        let token = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
        let text = format!(" {token}").repeat(3_000);
        let shown = cut(&text, &limits, "more");
        let parts: Vec<&str> = shown.split_whitespace().filter(|word| !token.starts_with(word)).collect();
        assert_eq!(parts.join(" "), "[… a part omitted here; more …]");
        assert!(shown.split_whitespace().all(|word| word == token || !token.contains(word)), "{shown}");
    }
}
