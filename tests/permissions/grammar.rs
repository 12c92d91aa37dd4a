//! Programs for bash in which something may run or change unnoticed: every builtin with its options,
//! evaluated variables, arrays, redirections, readers with their options, wrappers, and tokens in any order.
//!
//! The program that runs, if any does, is `aa`.

use crate::support::dice::Dice;

/// The builtins of bash 5.2 with their options.
const BUILTINS: &str = "\
    .= := [= alias=p bg= bind=lpsvPSVXmfqurx break= builtin= caller= cd=LPe@ command=pVv \
    compgen=abcdefgjksuvoAGWFCXPS complete=abcdefgjksuvprDEIoAGWFCXPS compopt=oDEI continue= \
    declare=aAfFgiIlnrtuxp dirs=clpv disown=har echo=neE enable=adnpsf eval= exec=cla exit= export=fnp \
    false= fc=elnrs fg= getopts= hash=lrpdt help=dms history=cdanrwps jobs=lnprsx kill=l let= \
    local=aAfFgiIlnrtuxp logout= mapfile=dnOstuCc popd=n printf=v pushd=n pwd=LP read=rsadinNptu \
    readarray=dnOstuCc readonly=aAfp return= set=abefhkmnptuvxBCEHPTo shift= shopt=pqsuo source= test= \
    times= trap=lp true= type=afptP typeset=aAfFgiIlnrtuxp ulimit=SHacdefilmnpqrstuvx umask=pS unalias=a \
    unset=fvn wait=fnp";

/// Variables: the shell's own, evaluated ones, and plain ones.
const VARIABLES: &str = "\
    x y a b line x a OPTIND OPTARG OPTERR RANDOM SRANDOM HISTCMD SECONDS LINENO BASH_ARGV0 EPOCHSECONDS \
    BASHPID UID PPID DIRSTACK GROUPS FUNCNAME BASH_ALIASES BASH_CMDS PATH IFS PS4 PS0 BASH_ENV ENV \
    PROMPT_COMMAND SHELLOPTS BASHOPTS BASH_XTRACEFD TMOUT HISTFILE REPLY LANG LC_ALL COLUMNS TZ";

/// Texts that run `aa` when they are evaluated.
const TRAPS: [&str; 8] = [
    "'a[$(aa x)]'", "'$(aa x)'", "'($(aa x))'", "'`aa x`'", "\"(\\$(aa x))\"", "'aa x'", "'[$(aa x)]=1'",
    "aa",
];

const WORDS: [&str; 22] = [
    "x", "1", "0", "''", "%1", "--", "-", "file", "sub", "..", "\"$x\"", "$x", "${x:-1}", "*", "a=1", "x=y",
    "'a b'", "$#", "out", "-out", "+1", "'%s %d\\n'",
];

fn pick<'a>(dice: &mut Dice, from: &[&'a str]) -> &'a str {
    from[dice.below(from.len())]
}

fn variable(dice: &mut Dice) -> &'static str {
    let names: Vec<&str> = VARIABLES.split_whitespace().collect();
    pick(dice, &names)
}

fn word(dice: &mut Dice) -> String {
    match dice.below(9) {
        0 | 1 => pick(dice, &TRAPS).to_owned(),
        2 => variable(dice).to_owned(),
        3 => format!("{}={}", variable(dice), value(dice)),
        4 => parameter(dice),
        _ => pick(dice, &WORDS).to_owned(),
    }
}

fn words(dice: &mut Dice) -> String {
    (0..dice.below(4)).map(|_| format!(" {}", word(dice))).collect()
}

fn value(dice: &mut Dice) -> String {
    let value = match dice.below(6) {
        0..3 => pick(dice, &TRAPS),
        3 => "1",
        4 => "$y",
        _ => "text",
    };
    value.to_owned()
}

/// Options of a builtin: in clusters, one by one, with values, after others.
fn options(dice: &mut Dice, letters: &str) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let mut text = String::new();
    while !letters.is_empty() && dice.below(5) < 3 {
        let cluster: String = (0..1 + dice.below(2)).map(|_| *dice.pick(&letters)).collect();
        text.push_str(&format!(" {}{cluster}", if dice.below(12) == 0 { '+' } else { '-' }));
        if dice.below(4) == 0 {
            text.push_str(&format!(" {}", word(dice)));
        }
    }
    text
}

fn builtin(dice: &mut Dice) -> String {
    let builtins: Vec<&str> = BUILTINS.split_whitespace().collect();
    let (name, letters) = pick(dice, &builtins).split_once('=').unwrap();
    let words = format!("{name}{}{}", options(dice, letters), words(dice));
    if name == "[" { format!("{words} ]") } else { words }
}

fn parameter(dice: &mut Dice) -> String {
    let name = variable(dice);
    let forms = [
        "${N}", "${#N}", "${N@P}", "${N@Q}", "${N@A}", "${!N}", "${!N@}", "${N:-T}", "${N:=T}", "${N:V}",
        "${N:0:V}", "${N/a/T}", "${N[V]}", "${N[@]}", "${N[a]}", "${N^^}", "${N##*/}", "$((N))", "$((N+1))",
        "$((1+2))", "$[N]", "$N", "\"${N}\"", "${N%T}",
    ];
    let trap = pick(dice, &["$(aa x)", "`aa x`", "x", "\"$(aa x)\""]);
    pick(dice, &forms)
        .replace('N', name)
        .replace('T', trap)
        .replace('V', pick(dice, &["y", "1", "$(aa x)", "x"]))
}

/// Statements that assign a variable, and that use one as a number.
fn assignment(dice: &mut Dice) -> String {
    let (name, value, other) = (variable(dice), value(dice), builtin(dice));
    match dice.below(22) {
        0 => format!("{name}={value}"),
        1 => format!("{name}+={value}"),
        2 => format!("{name}=({value} 1)"),
        3 => format!("{name}=([{value}]=1)"),
        4 => format!("{name}[{value}]=1"),
        5 => format!("{name}={value} {other}"),
        6 => format!("for {name} in {value} 1; do {other}; done"),
        7 => format!("read {name} <<< {value}"),
        8 => format!("read -a {name} <<< {value}"),
        9 => format!("declare -a {name}={value}"),
        10 => format!("declare -A {name}; {name}={value}; declare {name}={value}"),
        11 => format!("declare -i {name}; {name}={value}"),
        12 => format!("declare -n {name}={value}; {name}=1"),
        13 => format!("export {name}={value}; readonly {name}={value}"),
        14 => format!("printf -v {name} %s {value}; printf '%d %n' {name}"),
        15 => format!("{name}={value}; (({name})); [[ {name} -eq 1 ]]"),
        16 => format!("{name}={value}; [[ -v {value} ]]; test -v {value}; [ {value} -eq 1 ]"),
        17 => format!("getopts {value} {name} {value}"),
        18 => format!("mapfile {name} <<< {value}; readarray -C {value} -c 1 {name} <<< y"),
        19 => format!("f() {{ local {name}={value}; local -a {name}={value}; }}; f"),
        20 => format!("select {name} in {value}; do break; done"),
        _ => format!("for (({name}={value};0;)); do :; done"),
    }
}

/// Programs that read, with possible options.
const READERS: [(&str, &[&str]); 22] = [
    ("cat", &["-n", "-A"]),
    ("ls", &["-la", "-R", "--color"]),
    ("head", &["-n", "-c", "-q"]),
    ("tail", &["-n", "-c", "-q"]),
    ("wc", &["-l", "-c", "--files0-from"]),
    ("sort", tau::tools::words!("-o -u -k -T -S --output --compress-program=aa --files0-from --out -uoout")),
    ("uniq", &["-c", "-d", "-f", "-s"]),
    ("xxd", &["-r", "-c", "-p", "-ps", "-r"]),
    ("cut", &["-f", "-d", "-c"]),
    ("tr", &["-d", "-s"]),
    ("od", &["-c", "-An"]),
    ("diff", &["-u", "-l", "-q", "--to-file=sub"]),
    ("cmp", &["-s", "-l"]),
    ("grep", &["-r", "-f", "-n", "-e", "--include=*"]),
    ("base64", &["-d", "-w", "-i", "-o"]),
    ("file", &["-C", "-m", "-z", "--compile", "-b", "-f"]),
    ("date", &["-d", "-f", "-r", "+%s", "--set"]),
    ("tac", &["-s", "-r"]),
    ("rg", &["--pre", "--pre=aa", "-z", "--hostname-bin=aa", "-n", "--pre-glob"]),
    ("tree", &["-o", "-L", "-R"]),
    ("jq", &["-n", "-f", "--arg"]),
    ("tar", &["tf", "xf", "-I", "cf", "--to-command=aa", "tvf"]),
];

fn reader(dice: &mut Dice) -> String {
    let (name, options) = *dice.pick(&READERS);
    let mut text = name.to_owned();
    for _ in 0..dice.below(5) {
        let word = match dice.below(4) {
            0 => pick(dice, options).to_owned(),
            1 => "--".to_owned(),
            2 => pick(dice, &["file", "out", "-out", "./out", "-", "other", "sub", "list", "1", "-o", "x"])
                .to_owned(),
            _ if dice.below(3) == 0 => word(dice),
            _ => "file".to_owned(),
        };
        text.push_str(&format!(" {word}"));
    }
    text
}

const SED: [&str; 44] = [
    "p", "d", "w out", "e aa x", "e", "r file", "R file", "W out", "s/a/b/", "s/a/b/g", "s/a/b/w out",
    "s/x/aa x/e", "s/[]/]/", "s/[^]/]/", "s/[[:x:]/]/", "s/[/", "s|a|", "y/ab/cd/", "y/a[/b]/", "/a/",
    "/[]/]/", "\\,a,", "1", "$", ",", "!", "{", "}", ";", ";", "\n", " ", "/w out", "/", "]", "[", "\\",
    "e aa x\n", "w out\n", "+1", "~2", "g", "I", "=",
];
const AWK: [&str; 30] = [
    "{ print }", "BEGIN { ", " }", "system(\"aa x\")", "print > \"out\"", "print | \"aa x\"",
    "\"aa x\" | getline", "getline < \"file\"", "printf \"%s\", $1", "NR", " == ", "1", "x = \"aa x\"",
    "@include \"file\"", "@x()", ";", " ", "close(x)", "ARGV[1]=\"/inet/tcp/0/127.0.0.1/PORT\"", "ARGC=2",
    "function f(a) { ", "f(1)", "/a/", "$0", "length", "sub(/a/, \"b\")", "ENVIRON[\"x\"]",
    "print >> \"out\"", "print \"x\"", "\n",
];
const FIND: &str = "\
    . -name '*' -type f -print -print0 -delete -exec aa cat {} \\; + -execdir -ok -fprint out -fls \
    -printf '%p' -newer file -o ! \\( \\) -maxdepth 1 -fprintf -files0-from list -quit -prune";

fn tokens(dice: &mut Dice, from: &[&str], most: usize, between: &str) -> String {
    let count = 1 + dice.below(most);
    (0..count).map(|_| pick(dice, from)).collect::<Vec<_>>().join(between)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn script(dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => {
            let options =
                pick(dice, &["", " -n", " -ne", " -i", " -s", " -nE", " -E -e", " --", " -n -e p -e", " -f"]);
            let script = quoted(&tokens(dice, &SED, 5, ""));
            format!(
                "sed{options} {script}{}",
                pick(dice, &[" file", " file -i", "", " -- -i file", " -e p file"])
            )
        }
        1 => {
            let options =
                pick(dice, &["", " -F:", " -v x=1", " -f", " --", " -i inplace", " -l aa", " -E", " -v"]);
            let program = quoted(&tokens(dice, &AWK, 6, ""));
            format!(
                "{}{options} {program}{}",
                pick(dice, &["awk", "gawk", "mawk"]),
                pick(dice, &[" file", " /inet/tcp/0/127.0.0.1/PORT", " x=1 file", ""])
            )
        }
        _ => {
            let words: Vec<&str> = FIND.split_whitespace().collect();
            format!("find {}", tokens(dice, &words, 8, " "))
        }
    }
}

/// A redirection of any kind to anything.
fn redirection(dice: &mut Dice) -> String {
    let operators = [
        "<", ">", "<>", ">>", ">|", "&>", "&>>", "2>", "3<", "1<", "2<", "3<>", "0<", ">&", "<&", "<<<",
        "1<&", "2>&", "{v}<",
    ];
    let targets = [
        "/dev/null", "/dev/null", "file", "out", "/dev/tcp/127.0.0.1/PORT", "'/dev/tcp/127.0.0.1/PORT'",
        "/dev/tc\\p/127.0.0.1/PORT", "/dev/udp/127.0.0.1/PORT", "\"/dev/$t/127.0.0.1/PORT\"", "$d", "\"$d\"",
        "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/3", "/dev/fd/0", "link/../dev/fd/y", "1", "2",
        "3", "-", "0", "$x", "./$x", "~/.bashrc", "f*", "/proc/self/fd/3", "$(echo out)",
    ];
    format!(" {}{}", pick(dice, &operators), pick(dice, &targets))
}

/// Names and words that ask for a version.
fn version(dice: &mut Dice) -> String {
    let name = pick(
        dice,
        &["python3", "perl", "git", "cargo", "rustc", "make", "gcc", "ruby", "node", "aa", "env", "bash"],
    );
    let option = pick(
        dice,
        &[
            "--version", "-V", "-v", "version", "-version", "--version aa", "-c 'aa x'", "-- --version",
            "-e aa", "--help",
        ],
    );
    format!("{name} {option}{}", pick(dice, &["", "", " <<< 'import os; os.system(\"aa x\")'", " < file"]))
}

fn git(dice: &mut Dice) -> String {
    let place = pick(
        dice,
        &[
            "git", "git -C evil", "git -C bare", "cd evil && git", "cd bare && git", "git -C sub",
            "git -C evil/deep", "git --git-dir=bare", "git -C $x",
        ],
    );
    let command = pick(
        dice,
        &[
            "status", "log", "diff", "ls-files", "-c core.fsmonitor=aa status", "grep x", "config --list",
            "version", "diff --no-index file other", "rev-parse HEAD", "diff --output=out",
            "show --ext-diff",
        ],
    );
    format!("{place} {command}")
}

fn wrapped(dice: &mut Dice, depth: usize) -> String {
    let inner = statement(dice, depth);
    let form = pick(
        dice,
        &[
            "env I", "env x=1 I", "env -i I", "nice I", "nice -n 5 I", "timeout 5 I", "nohup I", "setsid I",
            "stdbuf -oL I", "command I", "builtin I", "exec I", "time I", "! I", "xargs I < file",
            "xargs -n 1 I < list", "xargs -I{} I < list", "find . -maxdepth 0 -exec I ';'", "command -v I",
            "(I)", "{ I\n}", "if I\nthen :; fi", "while I\nfalse; do break; done", "echo \"$(I)\"", "x=$(I)",
            "cat <(I)", "f() { I\n}; f", "case x in x) I\nesac", "eval I", "coproc I", "trap I EXIT",
            "env -S Q", "bash -c Q", "sh -c Q", "eval Q", "trap Q EXIT", "ionice I", "taskset 1 I",
            "chrt -b 0 I", "I & wait", "sudo I", "doas I",
        ],
    );
    form.replace('Q', &quoted(&inner)).replace('I', &inner)
}

const TOKENS: &str = "\
    aa echo cat file $( ) ( { } ; & | || && ' \" ` \\ $ $x ${x} ${ < > << E # = x= a[ ] [[ (( )) if then \
    fi for do done case esac ! *";

fn statement(dice: &mut Dice, depth: usize) -> String {
    let mut text = match dice.below(if depth > 0 { 16 } else { 12 }) {
        0..3 => builtin(dice),
        3..5 => assignment(dice),
        5 | 6 => reader(dice),
        7 | 8 => script(dice),
        9 => format!("echo {} {}", parameter(dice), word(dice)),
        10 => version(dice),
        11 if dice.below(2) == 0 => git(dice),
        11 => {
            let all: Vec<&str> = TOKENS.split_whitespace().chain(["\n", "\nE\n", " "]).collect();
            tokens(dice, &all, 12, " ")
        }
        _ => wrapped(dice, depth - 1),
    };
    while dice.below(6) == 0 {
        text.push_str(&redirection(dice));
    }
    text
}

/// A program: a few statements, with variables for them. `port` is that of a listener on 127.0.0.1.
pub fn program(dice: &mut Dice, port: u16) -> String {
    let start = pick(
        dice,
        &[
            "", "", "", "t=tcp; ", "d=/dev/tcp/127.0.0.1/PORT; ", "y='($(aa x))'; ", "x='a[$(aa x)]'; ",
            "declare -a x; ", "x=(1); ",
        ],
    );
    let mut text = format!("{start}{}", statement(dice, 2));
    for _ in 0..dice.below(3) {
        if dice.below(2) == 0 {
            text.push_str(pick(
                dice,
                &["; cat file", "; echo $x", "; ls", " | cat", "; cd sub", "; wc -l < file"],
            ));
            continue;
        }
        text.push_str(pick(dice, &["; ", "\n", " && ", " || ", " | "]));
        text.push_str(&statement(dice, 1));
    }
    text.replace("PORT", &port.to_string())
}
