//! Tests protected files of the project that a search finds for what changes them, and names that are put together of
//! values, outputs and defaults.

use super::*;

/// They change what is in `.git`, `.vscode` or their like.
const FOUND: &[&str] = &[
    "find . -type f -exec sed -i s/a/b/ {} +",
    "find . -type d -name hooks -exec cp a.txt {}/post-checkout \\;",
    "find . -path '*/hooks' -exec cp a.txt {}/pre-commit \\;",
    "find . -name config -exec sed -i s/a/b/ {} +",
    "find . -name 'conf*' | xargs sed -i s/a/b/",
    "find . -name tasks.json -exec sed -i s/a/b/ {} +",
    "find . -type d -name hooks | xargs -I% cp a.txt %/post-checkout",
    "find . -name '*.sample' -exec sh -c 'cp a.txt ${1%.sample}' _ {} \\;",
    "find . -name HEAD -delete",
    "find . -not -name x -type f -exec cp a.txt {} \\;",
    "find . -path ./.git -prune -exec cp -r plain {}/hooks \\;",
    "find . -not -path './.git/*' -o -type f -exec sed -i s/a/b/ {} +",
    "for f in $(find . -name config); do sed -i s/a/b/ $f; done",
    "sed -i s/a/b/ $(find . -name config)",
    "grep -rl 'bare = false' . | xargs sed -i s/a/b/",
    "for f in $(grep -rl 'bare = false' .); do sed -i s/a/b/ $f; done",
    "rg -l --hidden --no-ignore 'bare = false' | xargs sed -i s/a/b/",
    "fd -H -I config -x cp a.txt",
];

/// They leave it out, or find other files.
const FOUND_ELSEWHERE: &[&str] = &[
    "find . -type f -not -path './.git/*' -not -path './.vscode/*' -exec sed -i s/a/b/ {} +",
    "find . \\( -path ./.git -o -name .vscode \\) -prune -o -type f -print | xargs sed -i s/a/b/",
    "find . -path '*/src/*' -type f -exec sed -i s/a/b/ {} +",
    "find src -type f -exec sed -i s/a/b/ {} +",
    "find . -name '*.rs' -exec sed -i s/a/b/ {} +",
    "find . -maxdepth 1 -type f -name '*.txt' -exec sed -i s/a/b/ {} +",
    "find . -type d -empty -delete",
    "find . -name '*.pyc' -delete",
    "find . -type f -exec wc -l {} +",
    "grep -rl zebra . | xargs sed -i s/zebra/b/g",
    "grep -rl 'bare = false' . --exclude-dir=.git --exclude-dir .vscode | xargs sed -i s/a/b/g",
    "rg -l 'bare = false' | xargs sed -i s/a/b/",
    "rg -l --hidden 'bare = false' -g '!.git' | xargs sed -i s/a/b/",
];

/// They name what they leave out, or have such a name in a script.
const LEFT_OUT: &[&str] = &[
    "tar czf o.tgz --exclude=.git .",
    "tar --exclude=.git -cf o.tar src",
    "zip -r out.zip . -x '*.git*'",
    "zip -r out.zip . -x '.git/*' '.vscode/*'",
    "7z a x.7z . '-xr!.git'",
    "tokei -e .git",
    "scc --exclude-dir .git",
    "cloc --exclude-dir=.git . --out=x",
    "prettier --write '**/*.md' '!.git/**'",
    "cp -r $(ls -A | grep -v '^.git$') /tmp/x",
    "sed -i 's/.git//' README.md",
    "git add .vscode/settings.json",
];

#[test]
fn what_a_search_finds_in_the_project_may_be_protected() {
    let stage = Stage::new();
    for (path, text) in [
        (".git/config", "bare = false"),
        (".git/HEAD", "x"),
        (".git/hooks/pre-commit.sample", ""),
        (".vscode/tasks.json", ""),
    ] {
        std::fs::create_dir_all(stage.work().join(path).parent().unwrap()).unwrap();
        std::fs::write(stage.work().join(path), text).unwrap();
    }
    std::fs::remove_file(stage.work().join("keys")).unwrap();
    let none = stage.permissions(&[]);
    stage.check(&none, PermissionMode::Auto, &[Ask], FOUND);
    stage.check(&none, PermissionMode::Auto, &[Allow], FOUND_ELSEWHERE);
    stage.check(&none, PermissionMode::Auto, &[Allow], LEFT_OUT);
    let others =
        ["tar czf o.tgz -x .git/config", "sed -i 's/a/b/w .git/config' a.txt", "cp '!x' .git/config"];
    stage.check(&none, PermissionMode::Auto, &[Ask], &others);
}

/// Names below the home directory that the shell puts together.
const JOINED: &[&str] = &[
    "cp a.txt \"${XDG_CONFIG_HOME:-$HOME/.config}/autostart/\"",
    "cat \"${XDG_CONFIG_HOME:-$HOME/.config}/gh/hosts.yml\"",
    "cat ${CARGO_HOME-~/.cargo}/credentials.toml",
    "echo x >> ${CARGO_HOME:=$HOME/.cargo}/config.toml",
    "C=\"${XDG_CONFIG_HOME:-$HOME/.config}\"; cp a.txt \"$C/autostart/\"",
    "cut -c1-60 \"${XDG_CONFIG_HOME:-$HOME/.config}/tau/auth.json\"",
    "p=~/.bash; p+=rc; echo x >> $p",
    "export p=~/.bash; export p+=rc; echo x >> $p",
    "p=~/.bashrcx; echo x >> ${p%x}",
    "p=~/x.bashrc; echo x >> ${p/x./.}",
    "printf -v p %s ~/.bash; echo x >> ${p}rc",
    "printf -v p '%s/.%s' ~ bashrc; echo x >> $p",
    "read p <<< ~/.bash; echo x >> ${p}rc",
    "a=(~/.bash rc); echo x >> ${a[0]}${a[1]}",
    "set -- ~/.bash rc; echo x >> $1$2",
    "f() { echo x >> $1$2; }; f ~/.bash rc",
    "p=~/.s; p+=sh/id_rsa; cat $p",
    "p=~/.ssh/id_rsax; rev ${p%x}",
    "xargs -I{} cp a.txt ~/{} < list",
    "cat list | xargs -I{} cp a.txt ~/{}",
    "d=~; cp a.txt $d/$(cat list)",
    "cp -r plain/. $(printenv HOME)",
    "tar xf x.tar -C \"$(printenv HOME)\"",
    "grep -r KEY $(python3 -c 'import os; print(os.path.expanduser(\"~\"))')",
    "H=$(getent passwd me | cut -d: -f6); scp -r \"$H\" h:",
    "for f in $(printenv HOME)/.s*/*; do cat $f; done",
    "python3 -c \"import shutil, os; shutil.unpack_archive('x.zip', os.path.expanduser('~'))\"",
];

/// Other names.
const JOINED_ELSEWHERE: &[&str] = &[
    "cp a.txt \"${OUT:-build}/x\"",
    "cp a.txt \"${XDG_CACHE_HOME:-$HOME/.cache}/x/a.txt\"",
    "p=src; p+=/main.rs; sed -i s/a/b/ $p",
    "f=a.txt; cp $f ${f%.txt}.md",
    "for f in src/*.rs; do cp $f ${f%.rs}.bak; done",
    "a=(a.txt b.txt); cp ${a[0]} ${a[1]}",
    "f() { cp \"$1\" \"$2\"; }; f a.txt b.txt",
    "xargs -I{} cp a.txt plain/{} < list",
    "cp $(which ls) .",
    "cat $(git ls-files '*.rs')",
    "kill $(pgrep x)",
];

#[test]
fn a_name_that_is_put_together_may_be_in_the_home_directory() {
    let stage = Stage::new();
    std::fs::remove_file(stage.work().join("keys")).unwrap();
    let none = stage.permissions(&[]);
    stage.check(&none, PermissionMode::Auto, &[Ask], JOINED);
    stage.check(&none, PermissionMode::Auto, &[Allow], JOINED_ELSEWHERE);
}
