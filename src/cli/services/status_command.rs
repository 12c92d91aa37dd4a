//! Runs the user's command for the status line, within limits of time and size. It runs in the sandbox if the
//! model's commands can change the program.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use tau_tools::paths;
use tau_tools::process::ChildEnv;
use tau_tools::sandbox::confinement::{Confinement, Surroundings};
use tau_tools::sandbox::{SandboxPolicy, Start};
use tau_tools::user_error::UserError;

const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Maximum size of its output, in bytes.
const SIZE_LIMIT: u64 = 4 * 1024;

/// Kills the processes of a command, unless it has ended in time.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// The command's output for the text on its standard input. The error is a few words to show instead.
pub(super) async fn run(
    command: &str,
    input: &str,
    cwd: &Path,
    env: &ChildEnv,
    policy: &SandboxPolicy,
) -> Result<String, UserError> {
    let failed = |error: std::io::Error| format!("status_command: {error}");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(paths::nearest_folder(cwd));
    env.apply(shell.as_std_mut());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    shell.kill_on_drop(true).process_group(0);
    if policy.can_change_script(Start { cwd, path: env.get("PATH") }, command) {
        let around = Surroundings { cwd, terminal: None, scratch: None, private: None, denied: &[] };
        Confinement::prepare(policy, around).map_err(failed)?.apply(shell.as_std_mut());
    }
    let mut child = shell.spawn().map_err(failed)?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group(id.and_then(Pid::from_raw));
    let printed = tokio::time::timeout(TIME_LIMIT, collect_output(&mut child, input)).await;
    if child.id().is_none() {
        // It has ended; its process id may have been reused by now.
        group.0 = None;
    }
    match printed {
        Ok(Ok(Some(text))) => Ok(text),
        Ok(Ok(None)) => Err("status_command failed".into()),
        Ok(Err(error)) => Err(failed(error).into()),
        Err(_) => Err(format!("status_command took over {} s", TIME_LIMIT.as_secs()).into()),
    }
}

/// Its output; `None` when it failed. Once enough has been read it is not awaited.
async fn collect_output(child: &mut Child, input: &str) -> std::io::Result<Option<String>> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command need not read its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let read = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(SIZE_LIMIT).read_to_end(&mut output).await?;
        }
        std::io::Result::Ok(output)
    };
    let ((), output) = tokio::join!(write, read);
    let output = output?;
    let is_cut = output.len() as u64 >= SIZE_LIMIT;
    let succeeded = !is_cut && child.wait().await?.success();
    let text = String::from_utf8_lossy(&output).into_owned();
    Ok(Some(text).filter(|_| succeeded || is_cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    async fn a_script_that_commands_can_change_is_sandboxed() {
        use tau_tools::sandbox::SandboxLevel;

        if tau_tools::sandbox::support::Support::here().landlock == 0 {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [work, outside] = ["work", "outside"].map(|name| folder.path().join(name));
        let script = format!("touch {}/made && echo ran", outside.display());
        for folder in [&work, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("line.sh"), &script).unwrap();
        }
        let policy = SandboxPolicy {
            level: SandboxLevel::WorkspaceWrite,
            workspace: work.clone(),
            ..SandboxPolicy::off()
        };
        let variables = [("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
        let env = ChildEnv::from_variables(variables, &[], &[], "s1");
        let of_workspace = run("sh ./line.sh", "", &work, &env, &policy).await;
        assert_eq!(of_workspace, Err("status_command failed".into()));
        assert!(!outside.join("made").exists());
        let command = format!("sh {}/line.sh", outside.display());
        assert_eq!(run(&command, "", &work, &env, &policy).await.as_deref(), Ok("ran\n"));
    }

    async fn output_of(command: &str) -> Result<String, UserError> {
        let variables = [("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
        let env = ChildEnv::from_variables(variables, &[], &[], "s1");
        run(command, "{\"x\":1}\n", Path::new("/"), &env, &SandboxPolicy::off()).await
    }

    #[tokio::test]
    async fn a_command_is_given_its_input_and_limits() {
        assert_eq!(output_of("cat; pwd; echo $TAU_SESSION_ID").await.as_deref(), Ok("{\"x\":1}\n/\ns1\n"));
        assert_eq!(output_of("exit 3").await, Err("status_command failed".into()));
        let long = output_of("yes").await.unwrap();
        assert_eq!(long.len() as u64, SIZE_LIMIT);
        let started = Instant::now();
        let slow = output_of("sleep 60 & wait").await;
        assert_eq!(slow, Err("status_command took over 2 s".into()));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
