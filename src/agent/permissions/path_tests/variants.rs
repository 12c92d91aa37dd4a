//! Tests further ways to reach a file: classes in patterns, options, variables, links, texts.

use super::*;

/// Commands that print `.env` here.
const READS_DENIED: &[&str] = &[
    "cat .[[:alpha:]]nv",
    "cat .[[=e=]]nv",
    "cat .[[.e.]]nv",
    "cat .[![:digit:]]nv",
    "cat .[x[:alpha:]]nv",
    "xargs -a .env echo",
    "xargs -a.env echo",
    "xargs --arg-file=.env echo",
    "xargs --arg .env echo",
    "xargs -ra .env echo",
    "grep --recursiv secret .",
    "grep --rec secret .",
    "diff -N plain .",
    "git diff ../empty .",
    "git diff ~/work /tmp/x",
    "find . -name '.[a-f]*' -execdir cat {} \\;",
    "find . -name '.env' -execdir cat {} +",
    "HISTFILE=.env; history -r; history",
    "cat <> .env",
    "exec 3<>.env; cat <&3",
    "while read -r l; do echo \"$l\"; done <> .env",
];

/// Commands that write protected files.
const WRITES_KEPT: &[&str] = &[
    "cp a.txt ~/.[[:alpha:]]ashrc",
    "cat a.txt > ~/.[[=b=]]ashrc",
    "tee ~/.[[.b.]]ashrc",
    "cp a.txt .gi[[:alpha:]]/config",
    "HISTFILE=~/.bashrc; history -s evil; history -a",
    "env GIT_TRACE=$HOME/.bashrc git status",
    "env GIT_TRACE=../.bashrc git status",
    "ex -s a.txt <<< 'w! ~/.bashrc'",
];

#[test]
fn variants_of_names_are_names() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    for mode in [PermissionMode::Auto, PermissionMode::Ask] {
        stage.check(&rules, mode, &[Ask, Deny], READS_DENIED);
    }
    stage.check(&rules, PermissionMode::Auto, &[Allow], &["cat a[[:punct:]]txt/x", "diff a.txt plain/b.txt"]);
    let none = stage.permissions(&[]);
    stage.check(&none, PermissionMode::Auto, &[Ask], WRITES_KEPT);
    let others =
        ["cp a.txt b[[:alpha:]]", "env A=/x make", "xargs -a a.txt echo", "sed -n 1p <<< '~/.bashrc'"];
    stage.check(&none, PermissionMode::Auto, &[Allow], &others);
}

#[test]
fn a_rule_with_a_class_covers_what_the_class_does() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(.[[:alpha:]]nv)", Deny)]);
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &["cat .e*", "cat .?nv"]);
}

#[test]
fn a_variable_that_the_shell_evaluates_may_run_what_a_rule_denies() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("bash(zap *)", Deny)]);
    for name in ["OPTIND", "RANDOM", "SRANDOM", "HISTCMD", "SECONDS", "BASH_ARGV0", "LINENO", "COMP_CWORD"] {
        let command = format!("{name}='a[$(zap y)]'");
        stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &[&command]);
    }
    let push = stage.permissions(&[("bash(docker push *)", Deny)]);
    stage.check(&push, PermissionMode::Auto, &[Ask, Deny], &["docker image push a", "docker push a"]);
    let git = stage.permissions(&[("bash(git *)", Allow), ("bash(gcc *)", Allow)]);
    stage.check(&git, PermissionMode::Ask, &[Ask], &["git merge-index -o ./zap -a", "gcc -E @options a.txt"]);
}

#[test]
fn a_link_to_a_file_that_does_not_exist_is_that_file() {
    let stage = Stage::new();
    let (cwd, home) = (stage.work(), stage.root().join("home"));
    for (name, to) in [
        ("profile", "../.profile"),
        ("outside", "../../outside"),
        ("chain", "chained"),
        ("chained", "../.zshenv"),
        ("loop", "loop"),
        ("sql", "migrations/2.sql"),
        ("here", "new.txt"),
    ] {
        std::os::unix::fs::symlink(to, cwd.join(name)).unwrap();
    }
    let rules = stage.permissions(&[("edit(migrations/**)", Deny)]);
    let judged = |path: &str, mode: PermissionMode| {
        let access = Access::change(cwd.join(path));
        let facts = CallFacts {
            mode,
            tool: "write",
            access: &access,
            read_only: false,
            cwd: &cwd,
            home: Some(&home),
        };
        rules.judge(&facts).verdict
    };
    for name in ["profile", "outside", "chain"] {
        assert_eq!(judged(name, PermissionMode::Edits), Ask, "{name}");
    }
    for name in ["profile", "chain"] {
        assert_eq!(judged(name, PermissionMode::Auto), Ask, "{name}");
        let command = format!("echo evil > {name}");
        stage.check(&rules, PermissionMode::Auto, &[Ask], &[&command]);
    }
    assert_eq!(judged("sql", PermissionMode::Auto), Deny);
    assert_eq!(judged("here", PermissionMode::Edits), Allow);
    assert_eq!(judged("loop", PermissionMode::Edits), Allow, "nothing can be written through it");
}
