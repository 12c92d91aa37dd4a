//! Clients of services and other programs whose subcommands are named like programs, such as `aws s3 rm`.

use super::{Program, plain};
use tau_tools::words;

/// The programs with the words that make them run others, sorted.
pub(super) const CLIENTS: &[Program] = &[
    plain("aws", words!("execute-command start-session alias configure")),
    plain("az", words!("ssh exec run-command invoke")),
    plain("consul", words!("exec lock watch")),
    plain("docker-compose", words!("run exec")),
    plain("doctl", words!("ssh console exec")),
    plain("dvc", words!("run stage exp repro config")),
    plain("flatpak", words!("run build enter")),
    plain("fly", words!("ssh console machine exec run -C --command deploy")),
    plain("flyctl", words!("ssh console machine exec run -C --command deploy")),
    plain("gcloud", words!("ssh start-iap-tunnel")),
    plain("gopass", words!("git edit")),
    plain("gsutil", words!("")),
    plain("hcloud", words!("ssh")),
    plain("helm", words!("--post-renderer plugin")),
    plain("heroku", words!("run run:detached run:inside ps:exec local")),
    plain("hg", words!("--config --tool -t --editor bisect extdiff debugshell")),
    plain("incus", words!("exec console shell alias")),
    plain("ipfs", words!("daemon")),
    plain("jj", words!("util git fix run config --config --config-file --config-toml --tool")),
    plain("linode-cli", words!("ssh")),
    plain("lxc", words!("exec console shell alias")),
    plain("mc", words!("")),
    plain("multipass", words!("exec shell alias launch")),
    plain("nerdctl", words!("run exec compose")),
    plain("nomad", words!("exec alloc")),
    plain("op", words!("run plugin")),
    plain("pass", words!("git edit")),
    plain("podman-compose", words!("run exec")),
    plain("pulumi", words!("up update preview destroy watch exec env new refresh import plugin")),
    plain("rclone", words!("--password-command --metadata-mapper rcd mount serve config")),
    plain("s3cmd", words!("")),
    plain("s5cmd", words!("run")),
    plain("snap", words!("run")),
    plain("svn", words!("--editor-cmd --diff-cmd --diff3-cmd --config-option --config-dir")),
    plain("terraform", words!("apply plan destroy init test console refresh import")),
    plain("tofu", words!("apply plan destroy init test console refresh import")),
    plain("uv", words!("run tool")),
    plain("vagrant", words!("ssh ssh-config winrm powershell up provision reload cap")),
    plain("vercel", words!("dev build run exec")),
];

#[cfg(test)]
mod tests {
    use super::CLIENTS;

    #[test]
    fn clients_are_sorted() {
        assert!(CLIENTS.is_sorted_by_key(|program| program.name));
    }
}
