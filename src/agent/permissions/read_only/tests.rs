//! Tests commands that run without approval and without a rule.

mod forms;
mod projects;

use std::path::Path;

use super::runs_nothing_else;
use crate::permissions::shell::analyse;
use crate::permissions::{CallFacts, Permissions, Verdict};
use tau_protocol::approval::PermissionMode;
use tau_tools::access::Access;

fn is_free(command: &str, cwd: &Path) -> bool {
    let (access, home) = (Access::command(command), Some(Path::new("/home/me")));
    let call =
        CallFacts { mode: PermissionMode::Ask, tool: "bash", access: &access, read_only: false, cwd, home };
    Permissions::default().judge(&call).verdict == Verdict::Allow
}

#[track_caller]
fn all(commands: &[&str], free: bool) {
    let wrong: Vec<&&str> =
        commands.iter().filter(|command| is_free(command, Path::new("/work")) != free).collect();
    assert!(wrong.is_empty(), "not {}: {wrong:#?}", if free { "free" } else { "asked" });
}

#[test]
fn a_redirection_may_be_a_connection() {
    let targets = [
        "/dev/tcp/localhost/80", "/dev/udp/1.1.1.1/53", "'/dev/tcp/h/1'", "\"/dev/tcp/$h/1\"",
        "/dev/tc\\p/h/1", "$'/dev/\\x74cp/h/1'", "/d''ev/tcp/h/1", "/dev/$x/h/1", "$x", "\"$x\"",
        "$x/tcp/h/1", "/de$x", "/dev/tcp/h/\"$(echo 1)\"", "`echo /dev/tcp/h/1`",
    ];
    for target in targets {
        for form in [
            "cat <T", "cat < T", "exec 3<T", "exec 3<>T", "echo >T", "echo >>T", "echo >|T", "echo &>T",
            "echo &>>T", "{ cat; } <T", "while read -r l; do :; done <T", "bash -c 'cat' <T",
        ] {
            let command = form.replace('T', target);
            assert!(!is_free(&command, Path::new("/work")), "{command}");
        }
    }
    all(
        &[
            "cat < /dev/null", "cat < ./$x", "cat < src/$x", "cat < ~/x", "cat < \"$PWD/$x\"", "cat < tcpx",
            "cat dev/tcp/h/1",
        ],
        true,
    );
}

#[test]
fn a_sink_is_where_it_seems_to_be() {
    all(
        &[
            "ls > /dev/null", "ls 2>/dev/null", "ls > /dev/stderr", "ls >&2 2>&1", "ls 2>&-",
            "cat < in > /dev/stdout",
        ],
        true,
    );
    all(
        &[
            "echo x > link/../dev/fd/y",
            "echo x > /link/../dev/null",
            "cd /dev; echo x > null",
            "echo x > /dev/fd/y",
            // These open the file behind the descriptor again, for writing.
            "exec 3< in; echo x > /dev/fd/3",
            "{ echo x > /dev/stdin; } < in",
            "cat < in > /dev/stdin",
            "echo x 2< in > /dev/stderr",
            "echo x 1< in > /dev/stdout",
            "cat < in 1<&0 > /dev/stdout",
            "exec 3< in; echo 1>&3 > /dev/stdout",
            "exec 3< in; x=3; echo 1>&$x > /dev/stdout",
        ],
        false,
    );
}

#[test]
fn what_cannot_be_seen_is_asked() {
    for c in [
        '\u{200B}', '\u{AD}', '\u{FEFF}', '\u{2060}', '\u{180E}', '\u{200D}', '\u{1160}', '\u{34F}',
        '\u{17B4}', '\u{FE0F}', '\u{2800}', '\u{E0061}', '\u{202E}', '\u{3164}', '\u{1161}', '\u{11FF}',
        '\u{D7B0}', '\u{D7FB}',
    ] {
        for form in ["catX", "cat bX", "cat 'bX'", "cat \"X\"", "ls # X", "cat <<'E'\nX\nE", "ls\nXls"] {
            let command = form.replace('X', &c.to_string());
            assert!(!is_free(&command, Path::new("/work")), "{command:?}");
            let shown = format!("U+{:04X}", u32::from(c));
            assert!(analyse(&command).doubts.iter().any(|doubt| doubt.text.contains(&shown)), "{command:?}");
        }
    }
}

#[test]
fn another_encoding_is_asked() {
    all(&["LC_ALL=C sort é", "LC_ALL=C; sort x", "echo é"], true);
    all(
        &[
            "LC_ALL=zh_CN.GBK; echo 'é\\'", "export LANG=x\necho é", "for LC_CTYPE in x; do echo é; done",
            "read LANG; ls é",
        ],
        false,
    );
}

#[test]
fn the_short_list_runs_nothing_else() {
    let short = |command: &str| {
        let analysis = analyse(command);
        is_free(command, Path::new("/work")) && analysis.parts.iter().all(runs_nothing_else)
    };
    for command in [
        "ls -la", "cat x | head -5", "x=1; echo $x", "cd a && pwd", "for f in *; do wc -l \"$f\"; done",
        "ls > /dev/null",
    ] {
        assert!(short(command), "{command}");
    }
    for command in [
        "git status", "rg x", "find .", "sed -n 1p x", "awk 1 x", "python3 --version", "env ls", "xargs ls",
        "timeout 5 ls", "zcat x", "file x", "sort x", "jq . x", "ls $(git log)", "command -v ls",
    ] {
        assert!(!short(command), "{command}");
    }
}

const FREE_BUILTINS: &[&str] = &[
    "jobs -l",
    "jobs %1",
    "wait",
    "wait -n",
    "wait 1 %2",
    "export x=1 y",
    "declare -r x=a",
    "local -a x",
    "readonly x='a b'",
    "read -r line",
    "read -r -n 1 -d '' x y",
    "read -rd '' x",
    "unset x",
    "unset -f f",
    "printf '%s %d%%\\n' a 1",
    "printf -- '%s' x",
    "cd -P src; dirs; times; umask",
    "set -euo pipefail",
    "command -v ls",
    "exit 1",
    "x=1; for i in a; do echo $i; done",
    "a=(1 2); echo ${a[@]}",
    "FILE=src/main.rs; cat $FILE",
    "COUNT=$(ls | wc -l); echo $COUNT",
    "for F in *.rs; do wc -l $F; done",
    "read -r FIRST _ < list; echo $FIRST",
    "ls | while read -r F; do wc -l \"$F\"; done",
    "ALL=(1 2); echo ${ALL[@]}; unset ALL",
];

const ASKED_BUILTINS: &[&str] = &[
    "x=(['a[$(id >f)]']=1)",
    "x=([\"$y\"]=1)",
    "x=([a[$(id)]]=1)",
    "((export x='$(id >f)'; readonly x='$(id >f)'))",
    "((ls))",
    "f()((ls))",
    "jobs -x id",
    "jobs -lx id",
    "jobs $x",
    "jobs -l -x id",
    "wait -n -p 'a[$(id >f)]'",
    "wait -np 'a[$(id >f)]'",
    "wait -p x",
    "wait $x",
    "compgen -W '$(id >f)'",
    "compgen -C id x",
    "compgen -F f",
    "complete -C id x",
    "fc -s",
    "fc -e id",
    "history -w f",
    "history -p '$(id)'",
    "hash -p /tmp/x ls",
    "enable -f x y",
    "bind -x '\"x\": id'",
    "declare -i x=1",
    "declare -n x=y",
    "read -p x 'a[$(id >f)]'",
    "read -a 'a[$(id)]'",
    "read -t $x y",
    "unset 'a[$(id >f)]'",
    "unset -n x",
    "unset \"$x\"",
    "printf \"$x\" y",
    "printf x\"$x\" y",
    "printf -v x y",
    "test -v 'a[$(id)]'",
    "[ -R 'a[$(id)]' ]",
    "[ $x ]",
    "cd -e x",
    "cd -LP x",
    "dirs -c",
    "dirs +1",
    "umask 0",
    "exec -a x",
    "set -- x",
    "set -o posix",
    "set -k",
    "ulimit -f 0",
    "kill 1",
    "suspend",
    "disown",
    "bg",
    "fg",
    "trap",
    "logout",
    "caller 'a[$(id)]'",
    "getopts a x",
    "let x",
    "shopt -s extglob",
    "export -f ls",
    "npm_config_prefix=x ls",
    "FILE=x ls",
    "FILE=x nice ls",
    "FILE=x command ls",
    "FILE=x bash -c ls",
    "FILE=x; export FILE; ls",
    "export FILE=x; ls",
    "set -a; FILE=x; ls",
    "bash -ac 'FILE=x; ls'",
    "declare -x FILE; for FILE in x; do ls; done",
    "LD_PRELOAD=x; ls",
    "HOME=x; ls",
    "EDITOR=x; ls",
];

#[test]
fn builtins_are_free_with_options_that_are_known_only() {
    all(FREE_BUILTINS, true);
    all(ASKED_BUILTINS, false);
    let names = std::env::vars().map(|(name, _)| name).filter(|name| name.len() > 1);
    let exported = names.filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let known = exported.filter(|name| !crate::permissions::read_only::is_harmless_variable(name));
    known.for_each(|name| all(&[&format!("{name}=x; ls")], false));
}

#[test]
fn no_builtin_evaluates_what_it_is_given() {
    let evil = "'a[$(id >f)]'";
    for builtin in ["declare", "typeset", "local", "readonly", "export"] {
        for option in ["", "-a", "-A", "-x", "-i", "-n", "-gA", "-ia", "-- -a", "-l", "+a", "-u"] {
            for value in
                ["'($(id >f))'", "\"(\\$(id >f))\"", "\"$y\"", "$y", "$(echo '($(id >f))')", "\\($y\\)"]
            {
                all(&[&format!("y='($(id >f))'; {builtin} {option} x={value}")], false);
                all(&[&format!("declare -a x; {builtin} {option} x={value}")], false);
            }
        }
        all(
            &[&format!("{builtin} {evil}"), &format!("{builtin} {evil}=1"), &format!("{builtin} -a x=(1)")],
            false,
        );
    }
    for name in
        ["OPTIND", "RANDOM", "SRANDOM", "HISTCMD", "SECONDS", "BASH_ARGV0", "LINENO", "PATH", "IFS", "PS4"]
    {
        let forms = [
            format!("{name}={evil}"),
            format!("for {name} in {evil}; do :; done"),
            format!("read {name} <<< {evil}"),
            format!("export {name}={evil}"),
            format!("printf -v {name} %s {evil}"),
            format!("printf '%n' {name}"),
            format!("printf 'x%5ln' {name}"),
            format!("mapfile {name} <<< {evil}"),
            format!("getopts {evil} {name}"),
            format!("unset {name}"),
            format!("{name}={evil} ls"),
            format!("read -a {name} <<< {evil}"),
            format!("declare {name}={evil}"),
        ];
        forms.iter().for_each(|form| all(&[form], false));
    }
}

#[test]
fn readers_do_not_write_behind_two_dashes() {
    all(
        &[
            "uniq in",
            "uniq -c -- in",
            "xxd in",
            "sort -u -- in",
            "rg -- --pre src",
            "diff a b",
            "find . -newer x -name '*.rs' -exec grep -l main {} + -print",
            "date -d '1 day ago' +%s",
            "sed -n -e 1p -e 2p x",
        ],
        true,
    );
    all(
        &[
            "uniq -- -in -out",
            "uniq -- in out",
            "xxd in --",
            "xxd in -out",
            "xxd -p in -out",
            "xxd -- -- in",
            "uniq in -- out",
            "uniq -c -- in -out",
            "xxd -- in -out",
            "xxd -- -in -out",
            "sort --files0-from -- -o out",
            "sort -k -- -o out in",
            "fd -E -- -x id",
            "rg -e -- --pre ./x y",
            "tree -I -- -o out",
            "git diff -S -- --output=x",
            "date -d -d 010100002020",
            "find . -name x -unknown",
            "find . -name -delete",
            "find . -fprintf x y",
            "find . -exec grep x {} ';' -delete",
            "tar tf host:x",
            "file -z x",
            "diff -l a b",
            "arch ls",
            "base64 -o out in",
            "getconf -v ../../x y",
            "sed -e 's/a/b\\' -e 'w file'",
            "sed -n '$!N' -i x",
            "sed -nEi 1p x",
            "sed --expression='w x' y",
            "sed 's/[]/]/;w file/p' x",
            "awk 'BEGIN { ARGV[1] = \"/inet/tcp/0/h/1\"; ARGC = 2 } 1'",
            "gawk 1 /inet/tcp/0/localhost/80",
            "awk -f x",
            "gawk -E x",
            "gawk -l x 1",
            "mawk -We x",
            "awk -v x=1 '{ print | \"id\" }'",
            "awk \"$x\" y",
        ],
        false,
    );
}
