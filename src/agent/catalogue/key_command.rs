//! Runs the command that prints a key: `api_key = "!command"`.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::provider::{Failure, FailureKind};
use crate::secrets::Secret;
use tau_tools::user_error::UserError;

pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The maximum output in bytes. No key is nearly as long.
const SIZE_LIMIT: u64 = 64 * 1024;

/// The output of the command, which does not see the variables in `hidden`: they hold other keys.
pub(super) async fn run(command: &str, hidden: &[String]) -> Result<Secret, Failure> {
    run_within(command, hidden, &[], TIME_LIMIT).await
}

/// Like [`run`], with further variables and another time limit.
pub(super) async fn run_within(
    command: &str,
    hidden: &[String],
    env: &[(&str, &str)],
    limit: Duration,
) -> Result<Secret, Failure> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    shell.kill_on_drop(true).process_group(0);
    for name in hidden {
        shell.env_remove(name);
    }
    shell.envs(env.iter().copied());
    let mut child = shell.spawn().map_err(|error| command_failure(format!("did not start: {error}")))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let printed = match tokio::time::timeout(limit, read_output(&mut child)).await {
        Ok(printed) => printed,
        Err(_) => Err(format!("took longer than {} seconds", limit.as_secs()).into()),
    };
    let (status, output) = printed.map_err(|reason| {
        // No child process may keep running.
        let _ = group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
        command_failure(reason.into())
    })?;
    if !status.success() {
        return Err(command_failure(format!("failed ({status})")));
    }
    let key = Secret::new(String::from_utf8_lossy(&output));
    if key.is_empty() { Err(command_failure("printed nothing".to_owned())) } else { Ok(key) }
}

async fn read_output(child: &mut Child) -> Result<(ExitStatus, Vec<u8>), UserError> {
    let failed = |error: std::io::Error| format!("could not be read: {error}");
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(SIZE_LIMIT.saturating_add(1)).read_to_end(&mut output).await.map_err(failed)?;
    }
    if output.len() as u64 > SIZE_LIMIT {
        return Err(format!("printed more than {} KB", SIZE_LIMIT / 1024).into());
    }
    Ok((child.wait().await.map_err(failed)?, output))
}

fn command_failure(reason: String) -> Failure {
    // The command itself may hold a secret, so it is not shown.
    Failure::new(FailureKind::Config, format!("the command for the key {reason}"))
        .hint("try the command after `!` in api_key in a shell")
}
