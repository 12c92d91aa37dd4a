//! Tests names that a program in another language, an option or a pipe makes a path of.

use super::*;

/// Commands that write or read protected files.
const TOUCHES_KEPT: &[&str] = &[
    "python3 -c 'from pathlib import Path; (Path.home()/\".bashrc\").write_text(\"x\")'",
    "python3 -c 'import os; os.chdir(os.environ[\"HOME\"]); open(\".bashrc\",\"a\")'",
    "python3 -c 'import os; open(os.path.join(os.path.expanduser(\"~\"), \".bashrc\"), \"a\")'",
    "python3 -c 'from pathlib import Path; (Path.home() / \".config\" / \"autostart\" / \"x\").touch()'",
    "python3 -c 'from pathlib import Path; Path.home().joinpath(\".ssh\", \"config\").touch()'",
    "python3 - <<'E'\nimport pathlib\np = pathlib.Path.home() / \".zshrc\"\np.write_text(\"x\")\nE",
    "node -e 'fs.appendFileSync(path.join(os.homedir(), \".bashrc\"), \"x\")'",
    "perl -e 'open F, \">>\", join(\"/\", $ENV{HOME}, \".bashrc\")'",
    "perl -e 'chdir; open F, \">>.bashrc\"'",
    "ruby -e 'File.write(File.join(Dir.home, \".bashrc\"), \"x\")'",
    "printf 'open(\"%s/.bashrc\",\"a\")' $HOME | python3",
    "echo 'open(\"../.bashrc\",\"a\")' | python3",
    "echo 'w ../.bashrc' | sed -f - a.txt",
    "awk -f <(echo '{print > \"../.bashrc\"}') a.txt",
    "make -f <(printf 'x:\\n\\tcp a.txt ../.bashrc\\n')",
    "echo ~/.bashrc | xargs -I{} cp a.txt {}",
    "cat <<< ../.bashrc | xargs tee",
    "while read f; do cp a.txt \"$f\"; done <<< ../.bashrc",
    "f=(~/.bashrc); cp a.txt \"${f[@]}\"",
    "a=(cp a.txt ~/.bashrc); \"${a[@]}\"",
    "declare -n r=HOME; cp a.txt \"$r/.bashrc\"",
    "cp a.txt \"$(git rev-parse --git-dir)/hooks/pre-commit\"",
    "cp --target-directory=$HOME dot/.bashrc",
    "cp -vt$HOME dot/.bashrc",
    "install -Dt ~ dot/.bashrc",
    "unzip -d$HOME x.zip .bashrc",
    "curl --output-dir=$HOME -o .bashrc http://localhost/x",
    "sort -o../.bashrc a.txt",
    "zip x y -TT'cp a.txt ../.bashrc; :'",
    "ssh -oProxyCommand='cp a.txt ../.bashrc' x",
    "zip -r x.zip ~",
];

#[test]
fn a_path_that_is_put_together_is_a_path() {
    let stage = Stage::new();
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Ask], TOUCHES_KEPT);
    let others = [
        "python3 -c 'skip = {\".git\", \".venv\"}'",
        "python3 -c 'open(\".pre-commit-config.yaml\")'",
        "python3 -c 'import os; print(os.path.join(os.getcwd(), \"src\", \"main.rs\"))'",
        "a=(x.rs); wc -l \"${a[@]}\"",
        "cp --target-directory=build a.txt",
    ];
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &others);
}

#[test]
fn what_is_written_into_a_program_may_be_a_command_that_a_rule_denies() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("bash(zap *)", Deny)]);
    let denied = [
        "sed -f - a.txt <<< 'ezap y'", "echo 'ezap y' | sed -f - a.txt", "make -f <(printf 'x:;zap y')",
        "printf 'x:\\n\\tzap y\\n' | make -f -", "zip x y -TTzap", "echo .shell zap y | sqlite3 x",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &denied);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &["echo zap y | cat", "echo zap y | grep x"]);
}
