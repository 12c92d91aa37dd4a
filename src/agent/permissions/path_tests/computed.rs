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

#[test]
fn the_target_of_a_link_is_seen_from_the_folder_of_the_link() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("edit(migrations/**)", Deny)]);
    let linked = [
        "ln -s ../migrations/1.sql src/l && echo x >> src/l",
        "ln -s ../../.profile src/l; echo x >> src/l",
        "ln -s ../.. src/h && echo evil >> src/h/.profile",
        "ln -s ../migrations src/m && rm src/m/1.sql",
        "ln -s ../migrations src/ && rm src/migrations/1.sql",
        "ln -s .profile ~/l; echo x >> ~/l",
        "mkdir a; ln -s ../migrations a/; rm a/migrations/1.sql",
        "cp -s ../migrations/1.sql src/; echo x > src/1.sql",
        "ln -s ../migrations -t src; rm src/migrations/1.sql",
        "ln -s -tsrc ../migrations; rm src/migrations/1.sql",
        "ln -s ../migrations --target-directory=src; rm src/migrations/1.sql",
        "python3 -c \"import os; os.symlink('../migrations','src/m')\" && rm src/m/1.sql",
        "python3 - <<< \"Path('src/m').symlink_to('../migrations')\"; rm src/m/1.sql",
        "ruby -e \"File.symlink('../migrations', 'src/m')\"; rm src/m/1.sql",
        "ln -s a b c d e f g h i j k l m n o ../migrations src; rm src/migrations/1.sql",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &linked);
    let others = [
        "ln -s ../a.txt plain/d.txt",
        "ln -s ../plain src/p && rm src/p/b.txt",
        "cp ../a.txt src/",
        "python3 -c \"print(os.path.islink('src/m'), Path('..').is_symlink())\"",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
}

#[test]
fn a_name_that_a_program_makes_of_its_words_counts() {
    let stage = Stage::new();
    let kept = [
        "gunzip -f ~/.bashrc.gz",
        "gzip -df ~/.bashrc.gz",
        "xz -d ~/.profile.xz",
        "zstd -d ~/.profile.zst",
        "gpg ~/.bashrc.gpg",
        "rename .x '' ~/.bashrc.x",
        "prename 's/\\.x$//' ~/.bashrc.x",
        "cd ~; gunzip .bashrc.gz",
        "gunzip -S x ~/.bashrcx",
        "sed -irc p ~/.bash",
        "perl -pi'*rc' -e1 ~/.bash",
        "perl -pi'.*' -e1 ~/bashrc",
        "cp -b -S rc a.txt ~/.bash",
        "cp -bSrc a.txt ~/.bash",
        "cp -b --suffix=rc a.txt ~/.bash",
        "SIMPLE_BACKUP_SUFFIX=rc cp -b a.txt ~/.bash",
        "ln -S rc -b a.txt ~/.bash",
        "patch -z rc ~/.bash x",
        "gunzip .envrc.gz",
        "unxz .vscode/tasks.json.xz",
        "gunzip mise.toml.gz",
        "split -n 5 -a 1 a.txt ~/.profil",
        "csplit -f ~/.bash a.txt 1",
        "csplit --prefix=../.bash a.txt 1",
    ];
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Ask], &kept);
    let rules = stage.permissions(&[("edit(package.json)", Deny)]);
    let denied = [
        "gunzip -f package.json.gz", "sed -i.json p package", "rename .new '' package.json.new",
        "split a.txt package.js",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &denied);
    let others = [
        "gunzip data.gz", "gzip -k a.txt", "xz -d data.json.xz", "zstd -d x.tar.zst",
        "sed -i.bak s/a/b/ a.txt", "sed -i s/a/b/ a.txt", "perl -pi.orig -e s/a/b/ a.txt",
        "split -l 100 a.txt part-", "split big.log", "cp a.txt package.json.bak", "rename 's/a/b/' *.txt",
        "cp -b -S .bak a.txt b.txt", "patch -p1 < x", "gpg --verify x.asc", "unxz x.tar.xz",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
}
