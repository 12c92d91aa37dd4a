//! Tests of files that are run without being called: what is in the table, and what is not.

use super::*;
use Verdict::{Allow, Ask};

const STARTED: &[&str] = &[
    "~/.emacs.el",
    "~/.R/Makevars",
    "~/.config/sqlite3/sqliterc",
    "~/.config/Cursor/User/settings.json",
    "~/.cargo/env.fish",
    "~/.fzf.bash",
    "~/.p10k.zsh",
    "~/.zprezto/init.zsh",
    "~/.Xresources",
    "~/.config/xfce4/xinitrc",
    "~/.config/lxsession/LXDE/autostart",
    "~/.config/autorandr/postswitch",
    "~/.gnomerc",
    "~/.skhdrc",
    "~/.config/yabai/yabairc",
    "~/Library/Scripts/x",
    "~/Library/Input Methods/x",
    "~/.config/Thunar/uca.xml",
    "~/.local/share/plasma/plasmoids/x",
    "~/.mix/archives/x",
    "~/.sbclrc",
    "~/.tclshrc",
    "~/.psysh/config.php",
    "~/.dotnet/tools/x",
    "~/.vagrant.d/Vagrantfile",
    "~/.offlineimaprc",
    "~/.weechat/python/autoload/x.py",
    "~/.config/curlrc",
    "~/.ripgreprc",
    "~/.taskrc",
    "~/.config/obs-studio/scripts/x",
    "~/.config/code-flags.conf",
    "~/.config/BraveSoftware/Brave-Browser/NativeMessagingHosts/x",
    "~/.bazelrc",
    "~/.pylintrc",
    "~/.rvm/hooks/x",
    "~/.sdkman/bin/x",
    "~/.ghcup/env",
    "/root/.bashrc",
    "/home/other/.config/systemd/user/x.service",
    "/Users/other/.zshrc",
    "/etc/passwd",
    "/etc/default/x",
    "/etc/docker/daemon.json",
    "/etc/pacman.d/hooks/x",
    "/usr/local/lib/systemd/system/x",
    "lefthook.yaml",
    "lefthook-local.json",
    ".lefthook/pre-push/x",
    ".overcommit.yml",
    ".jj/repo/config.toml",
    "~/.config/hg/hgrc",
    "~/.config/sapling/sapling.conf",
    ".sl/config",
    "~/.local/share/nushell/x/autoload/x.nu",
    "~/.radare2rc",
    "~/.config/radare2/rc",
    "~/.duckdbrc",
    "~/.ammonite/predef.sc",
    "~/.config/broot/launcher/bash/br",
    "~/.antigen/x",
    "~/.config/amp/settings.json",
    "~/.vibe/config.toml",
    "~/.config/mise/config.toml",
    ".config/mise/config.toml",
    ".config/mise/conf.d/x.toml",
    "mise/config.toml",
    "mise.toml",
    ".mise/config.toml",
    ".idea/startup.xml",
    ".vimrc",
    ".gdbinit",
    ".irbrc",
    "sub/.Rprofile",
    ".octaverc",
    ".iex.exs",
    ".ghci",
    ".pdbrc",
    ".kilocode/mcp.json",
    ".junie/mcp/mcp.json",
];

const ORDINARY: &[&str] = tau_tools::words!(
    ".vscode/launch.json .gitignore .gitattributes .github/workflows/x.yml .npmrc .tool-versions .env \
     conftest.py Makefile root/.bashrc home/x/bin/y src/mise/x.rs lefthook/x.go /tmp/bin/x /srv/x \
     ~/notes.txt ~/Documents/x.txt ~/.cache/x ~/.config/x.conf"
);

#[test]
fn files_that_are_run_without_being_called_are_asked_about() {
    let rules = permissions(&[("bash", Allow), ("edit", Allow)]);
    for (paths, expected) in [(STARTED, Ask), (ORDINARY, Allow)] {
        let commands: Vec<String> =
            paths.iter().map(|path| format!("cp a.txt {}", path.replace(' ', "\\ "))).collect();
        check(
            &rules,
            PermissionMode::Auto,
            expected,
            &commands.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
}

#[test]
fn stored_passwords_are_not_read_unasked() {
    let reading = [
        "cat ~/.password-store/x.gpg",
        "cat ~/.config/rclone/rclone.conf",
        "cat ~/.vault-token",
        "cat ~/.gem/credentials",
        "cat ~/.config/git/credentials",
        "cat ~/Library/Keychains/login.keychain-db",
        "cat ~/.claude/.credentials.json",
        "cat ~/.mozilla/firefox/x/logins.json",
        "cat /home/other/.aws/credentials",
        "cat ~/.npmrc",
        "gh auth token",
        "GH_TOKEN=$(gh auth token) make",
        "gcloud auth print-access-token",
        "aws --profile x configure get aws_secret_access_key",
        "git credential fill < x",
        "security find-generic-password -w -s x",
        "secret-tool lookup a b",
        "pass show x",
        "pass x",
        "lpass show x",
        "gh auth status -t",
        "gh auth status --show-token",
        "vault print token",
        "gcloud auth application-default print-access-token",
        "az keyvault secret show --name x",
        "kubectl create token x",
        "npm config get //registry.npmjs.org/:_authToken",
        "doppler secrets",
        "chamber read a b",
        "cat ~/.cache/huggingface/token",
        "cat ~/.bitcoin/wallet.dat",
        "cat ~/.config/google-chrome/Default/Cookies",
        "op read op://x/y/z",
        "gpg --armor --export-secret-keys x",
        "env gh auth token | cat",
        "git credential-store get < x",
        "git-credential fill",
        "kubectl get secret x -o yaml",
        "kubectl get -n a secrets x -ojson",
        "kubectl config view --raw",
        "vault kv get x",
        "aws secretsmanager get-secret-value --secret-id x",
        "aws ssm get-parameter --name x --with-decryption",
        "gcloud secrets versions access latest --secret x",
        "sops -d x.yaml",
        "gpg -d x.gpg",
        "oc whoami -t",
        "unbuffer pass show x",
        "script -c 'gh auth token'",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Ask, &reading);
    let others = [
        "kubectl get pods -o yaml", "kubectl get secret", "kubectl config view",
        "aws ssm get-parameter --name x", "gh auth status", "pass ls", "npm config get registry",
        "aws configure list", "gpg --export x", "cat .npmrc", "git commit -m 'gh auth token'",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Allow, &others);
}

#[test]
fn what_writes_settings_is_asked_whatever_runs_it() {
    let writing = [
        "tau mcp add x -- sh -c id",
        "tau auth set openai",
        "tau add https://x.test/y.git",
        "tau import --write",
        "codex mcp add x -- y",
        "cursor --install-extension x",
        "flock x git config a b",
        "uv run pre-commit install",
        "bundle exec git config a b",
        "npx husky init",
        "npx simple-git-hooks",
        "overcommit --install",
        "npm config set a b",
        "busybox crontab x",
        "python3 -m pip config set a b",
        "script -c 'git config a b'",
        "gh repo clone x/y",
        "gh repo fork x --clone",
        "gh config set pager ./x",
        "gh config set editor ./x",
        "aws configure set credential_process ./x",
        "aws configure set profile.x.credential_process ./x",
        "kubectl config set-credentials x --exec-command=./x",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Ask, &writing);
    let others = [
        "npm pkg set scripts.x=y",
        "tau mcp list",
        "tau models",
        "gh config set git_protocol ssh",
        "aws configure set region x",
        "kubectl config set-context x",
        "uv run git config --get a",
        "git log -- config",
        "npx eslint config",
        "python3 -c 'print(1)'",
        "python3 -c \"open('notes.txt','w').write('run at 5pm')\"",
        "node -e 'console.log(`line ${n} at ${n}`)'",
        "python3 -c \"import subprocess; subprocess.run(['pytest','-k','batch'])\"",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Allow, &others);
}
