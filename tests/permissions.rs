//! Everything that bash runs was judged: generated commands, run with programs that only record their
//! arguments.
//!
//! For every program that bash has run, a rule that denies exactly those words must have stopped the
//! command. Programs and files are in the test's own folder.

mod canary;
mod generate;
mod grammar;

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tau::agent::permissions::{CallFacts, Options, Permissions, RuleInForce, RuleSource, Verdict};
use tau::agent::protocol::approval::PermissionMode;
use tau::tools::access::Access;

use crate::support::dice::{Dice, on_threads};
use crate::tidy::report;
use crate::time_limit::EndInTime;
use generate::PROGRAMS;

/// The time limit of a generated command. Programs run until then count.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Programs of the machine that run others, or print.
const REAL: [&str; 12] =
    ["env", "xargs", "find", "timeout", "nice", "nohup", "sh", "bash", "cat", "printf", "true", "false"];

/// A folder with programs that record their calls.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["bin", "notes", "work"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        // A file for each process; a separator byte after every word.
        let note = format!("printf '%s\\037' \"${{0##*/}}\" \"$@\" > '{}'/$$\n", at("notes").display());
        let write = |name: &str, text: String| {
            let path = at("bin").join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in PROGRAMS {
            write(name, format!("#!/bin/sh\n{note}"));
        }
        write("sudo", "#!/bin/sh\nshift 2\nexec \"$@\"\n".to_owned());
        for name in REAL {
            let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
            let Some(real) = found.iter().find(|path| path.exists()) else { continue };
            symlink(real.canonicalize().unwrap(), at("bin").join(name)).unwrap();
        }
        Stage { folder }
    }

    /// Runs a command; returns the words of every program that ran.
    fn run(&self, command: &str) -> BTreeSet<Vec<String>> {
        let at = |name: &str| self.folder.path().join(name);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut bash = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", command])
            .env_clear()
            .env("PATH", at("bin"))
            .env("HOME", at("work"))
            .env("v", "va lue")
            .current_dir(at("work"))
            .stdin(Stdio::null())
            .stdout(writer.try_clone().unwrap())
            .stderr(writer)
            .process_group(0)
            .spawn()
            .unwrap();
        let group = rustix::process::Pid::from_child(&bash);
        // Background processes keep the pipe open.
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut reader.by_ref(), &mut std::io::sink());
            let _ = done.send(());
        });
        let _ = ended.recv_timeout(TIMEOUT);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        bash.wait_in_time("the end of bash");
        let notes = std::fs::read_dir(at("notes")).unwrap();
        let paths: Vec<PathBuf> = notes.map(|entry| entry.unwrap().path()).collect();
        let calls = paths.iter().map(|path| {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            std::fs::remove_file(path).unwrap();
            text.split_terminator('\u{1f}').map(str::to_owned).collect()
        });
        // A program that was ended before it had recorded anything does not count.
        calls.filter(|words: &Vec<String>| !words.is_empty()).collect()
    }

    fn judge(&self, permissions: &Permissions, mode: PermissionMode, command: &str) -> Verdict {
        let cwd = self.folder.path().join("work");
        let access = Access::command(command);
        let (tool, home) = ("bash", Some(cwd.as_path()));
        let facts = CallFacts { mode, tool, access: &access, read_only: false, cwd: &cwd, home };
        permissions.judge(&facts).verdict
    }

    /// The number of programs that ran, and of those that a rule would have named exactly.
    ///
    /// # Errors
    /// The programs that ran without having been judged.
    fn check(&self, command: &str) -> Result<(usize, usize), String> {
        let ran = self.run(command);
        let free = self.judge(&Permissions::default(), PermissionMode::Ask, command);
        if !ran.is_empty() && free == Verdict::Allow {
            return Err(format!("allowed without a rule: {command}\nran: {ran:?}"));
        }
        let mut denied = 0;
        for words in &ran {
            let rule =
                format!("bash({})", words.iter().map(|word| escaped(word)).collect::<Vec<_>>().join(" "));
            let Ok(rule) = rule.parse() else { continue };
            let rule = RuleInForce { rule, list: Verdict::Deny, source: RuleSource::Session };
            let permissions = Permissions::new(vec![rule.clone()], Options::default());
            let verdict = self.judge(&permissions, PermissionMode::Auto, command);
            if verdict == Verdict::Allow {
                return Err(format!("not stopped by {}: {words:?} of\n{command}\n", rule.rule));
            }
            denied += usize::from(verdict == Verdict::Deny);
        }
        Ok((ran.len(), denied))
    }
}

/// A word as a pattern that matches nothing else.
fn escaped(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=".contains(c);
    let escape = |c: char| if plain(c) { c.to_string() } else { format!("\\{c}") };
    if word.is_empty() { "''".to_owned() } else { word.chars().map(escape).collect() }
}

#[test]
fn what_bash_runs_is_among_what_was_judged() {
    let (ran, denied) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let commands = std::env::var("TAU_COMMANDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let faults = Mutex::new(Vec::new());
    on_threads(commands, Stage::new, |stage, index| {
        let mut dice = Dice::new(index as u64 + 1);
        // Everything runs here, so nothing may end processes it does not own.
        let builtins = Some(grammar::program(&mut dice, 9))
            .filter(|program| index.is_multiple_of(3) && !program.contains("kill"));
        let command = builtins.unwrap_or_else(|| generate::list(&mut dice, 2));
        match stage.check(&command) {
            Ok(counts) => {
                ran.fetch_add(counts.0, Ordering::Relaxed);
                denied.fetch_add(counts.1, Ordering::Relaxed);
            }
            Err(fault) => faults.lock().unwrap().push(fault),
        }
    });
    report(&faults.into_inner().unwrap());
    // The property would also hold if everything needed approval, or if nothing ran.
    let (ran, denied) = (ran.into_inner(), denied.into_inner());
    assert!(ran > commands, "only {ran} programs ran");
    assert!(denied * 3 > ran, "only {denied} of {ran} programs were found exactly");
    eprintln!("{ran} programs ran, {denied} of them were found exactly");
}

#[test]
fn what_bash_runs_is_among_what_was_judged_in_commands_of_an_attacker() {
    let stage = Stage::new();
    let (mut ran, mut faults) = (0, Vec::new());
    for command in ATTACKS {
        match stage.check(command) {
            Ok(counts) => ran += counts.0,
            Err(fault) => faults.push(fault),
        }
    }
    report(&faults);
    assert!(ran > ATTACKS.len() / 2, "only {ran} programs ran: the attacks do not attack");
}

/// Texts in which something runs that a reader could miss.
const ATTACKS: &[&str] = &[
    "true\naa x",
    "true\\\naa x; aa y",
    "true;aa x",
    "true&aa x",
    "true|aa x",
    "true|&aa x",
    "true&&aa x||bb y",
    "echo 'a\naa x'\nbb y",
    "echo $'a\\'; aa x; echo \\''; bb y",
    "echo $'a\\\\'; aa x; echo ''",
    "echo \"a\\\"; aa x; echo \\\"\"; bb y",
    "echo \"`aa x`\"",
    "echo `echo \\`aa x\\``",
    "echo $(echo $(aa x))",
    "echo \"$(echo \"$(aa x)\")\"",
    "echo ${none:-$(aa x)}",
    "echo ${none:=`aa x`}",
    "echo \"${none:-\"$(aa x)\"}\"",
    "echo $(( $(aa x) + 1 ))",
    "echo $[ $(aa x) + 1 ]",
    "(( $(aa x) + 1 )); true",
    "((aa x); bb y)",
    "( (aa x); bb y)",
    "echo $((aa x); bb y)",
    "[[ $(aa x) ]]; true",
    "[[ a == b || -n $(aa x) ]]; true",
    "[[ a < b ]] && aa x",
    "v='w[$(aa x)]'; (( v ))",
    "v='w[$(aa x)]'; echo $((v))",
    "v='w[$(aa x)]'; [[ $v -eq 1 ]]",
    "v='w[$(aa x)]'; test -v \"$v\"",
    "v='w[$(aa x)]'; printf -v \"$v\" y",
    "v='$(aa x)'; echo \"${v@P}\"",
    "v='w[$(aa x)]'; unset \"$v\"",
    "w[$(aa x)]=1",
    "w=([$(aa x)]=1)",
    "declare w[$(aa x)]=1",
    "let 'v=w[$(aa x)]'",
    "for ((i=$(aa x)0;i<1;i++)); do bb y; done",
    "cat <<E\n$(aa x)\nE",
    "cat <<'E'\n$(aa x)\nE\nbb y",
    "cat <<\\E\n$(aa x)\nE\nbb y",
    "cat <<\"E\"F\n$(aa x)\nEF\nbb y",
    "cat <<-E\n\t`aa x`\n\tE\nbb y",
    "cat <<E; aa x\ntext\nE\nbb y",
    "cat <<E <<F\none\nE\n$(aa x)\nF\nbb y",
    "cat <<E\nE \nE\naa x",
    "cat <<E\nfoo\\\nE\naa x\nE",
    "cat <<'E '\nE\naa x\nE \nbb y",
    "cat <<E | aa x\nE\nbb y",
    "cat <<< $(aa x)",
    "cat <<< \"`aa x`\"",
    "cat <(aa x) >/dev/null",
    "true > >(aa x); true",
    "true 2> >(aa x) | bb y",
    "coproc aa x; wait",
    "coproc N { aa x; }; wait",
    "case x in x) aa x;; esac",
    "case x in (x) aa x;& y) bb y;;& *) cc z; esac",
    "case $(aa x) in *) ;; esac",
    "case x in $(aa x)) ;; *) bb y; esac",
    "echo $(case x in x) aa x;; esac)",
    "echo $(case x in (x) aa x;; esac)",
    "f() { aa \"$@\"; }; f x",
    "f() (aa x) > /dev/null; f",
    "function f { aa x; }; f",
    "function f() for i in 1; do aa x; done; f",
    "aa() { bb x; }; aa; command cc y",
    "if ! true; then :; elif aa x; then bb y; else cc z; fi",
    "while aa x; false; do :; done",
    "until aa x; do break; done",
    "for i in $(aa x); do bb y; done; for i; do cc z; done",
    "select i in a; do aa x; break; done < /dev/null",
    "time aa x",
    "time -p aa x; time",
    "! aa x",
    "! ! aa x",
    "{ aa x; }; { bb y; } 2>&1",
    "{aa,x}",
    "a{a,b} x",
    "{a..c}; aa{,} y",
    "a\\a x",
    "'a'\"a\" x",
    "a\\\na x",
    "$'a\\x61' x",
    "$'\\141a' x",
    "$\"aa\" x",
    "v=aa; $v x",
    "v='aa x'; $v y",
    "v=aa; \"$v\"$none x",
    "v=a; ${v}a x",
    "IFS=_; v=aa_x; $v",
    "IFS=a; v=1; echo $v; bb y",
    "set -- aa x; \"$@\"",
    "$(echo aa) x",
    "`echo aa` x",
    "[a]a x; aa y",
    "~/../bin/aa x",
    "eval aa x",
    "eval 'aa x;' bb y",
    "eval \"$(echo aa x)\"",
    "echo 'aa x' > s; . ./s",
    "echo 'aa x' > s; source ./s",
    "echo 'aa x' > s; bash s",
    "echo 'aa x' | bash",
    "bash <<< 'aa x'",
    "bash -c 'aa x'",
    "bash -c 'aa \"$@\"' _ x",
    "bash -c '\"$@\"' _ aa x",
    "sh -c \"echo \\$'\\\\'; aa x; echo '\"",
    "sh -c 'aa x &> s'",
    "bash -c \"bash -c 'aa x'\"",
    "bash -ec 'aa x'; bash -o errexit -c 'bb y'; bash +x -c 'cc z'",
    "env aa x; env -u Q aa y; env Q=1 aa z",
    "env -S 'aa x'",
    "env -S'aa x'",
    "env -iS 'PATH=/nowhere aa x'; bb y",
    "env $none aa x",
    "Q='1 aa x'; env A=$Q",
    "T='9 aa x'; timeout $T bb y",
    "timeout -k 1 9 aa x; timeout --signal=KILL 9 bb y; timeout -sKILL 9 cc z",
    "nice aa x; nice -5 bb y; nice -n5 cc z; nice --adjustment=5 dd q",
    "nohup aa x",
    "printf x | xargs aa",
    "printf x | xargs -n1 aa y",
    "printf 'aa x' | xargs env",
    "printf aa | xargs -I{} {} x",
    "printf 'aa x' | xargs -I{} sh -c '{}'",
    "printf x | xargs -i aa {}",
    "printf 'aa x' | xargs -0 sh -c",
    "find . -maxdepth 0 -exec aa {} \\;",
    "find . -maxdepth 0 -exec sh -c 'aa x' \\;",
    "find . -maxdepth 0 -exec aa {} \\; -exec bb {} +",
    "find . -maxdepth 0 -execdir aa x ';'",
    "find . -maxdepth 0 -name '*' -e\"xec\" aa x \\;",
    "E=-exec; find . -maxdepth 0 $E aa x \\;",
    "command aa x; command -p true; builtin echo; builtin eval aa y",
    "exec aa x",
    "(exec -a name aa x)",
    "trap 'aa x' EXIT",
    "trap -- 'aa x' 0",
    "alias q='aa x'\nshopt -s expand_aliases\nq",
    "shopt -s expand_aliases\nalias q='aa x'\nq",
    "shopt -s extglob\necho !(aa x)",
    "echo !(aa x)",
    "!(aa x)",
    "A=1 B=$(aa x) bb y",
    "A=$(aa x)",
    "A=(1 $(aa x)); A+=($(bb y))",
    "A=`aa x` true",
    "export A=$(aa x); readonly B=`bb y`",
    "PATH=$PATH:. aa x",
    "hash -p bin/aa q; q x",
    "enable -n echo; aa x",
    "mapfile -C 'aa x' -c 1 q < /dev/stdin <<< y",
    "PROMPT_COMMAND='aa x'; PS4='$(aa x)'; set -x; true",
    "BASH_ENV=s bash -c true; aa x",
    "echo a # $(aa x)\nbb y",
    "echo a#$(aa x)",
    "echo a;#aa x\nbb y",
    "echo $(echo a # )\naa x\n)",
    "# comment \\\naa x",
    "true # it's a quote\naa x # don't",
    ": 'unclosed\n'; aa x",
    "aa x 2>&1 >out <in; bb y",
    ">out aa x; 2>&1 bb y",
    "aa >out x; bb y {fd}>out",
    "aa x>out; aa 2>out",
    "echo é; aa é",
    "echo \u{a0}; aa\u{a0}x; bb y",
    "aa\tx;\tbb\ty",
    "aa x;; bb y",
    "aa x\r\nbb y\r",
    "echo \u{2028}aa x\u{2029}; bb y",
    "true &&\n\n  aa x ||\n bb y",
    "aa x &\nbb y & wait",
    "{ aa x\n} | { bb y\n}",
    "(aa x)|(bb y)",
    "if true\nthen\naa x\nfi;if false;then :;else bb y;fi",
    "echo fi; if true; then aa x; fi",
    "echo done } ) 2>/dev/null; aa x",
    "echo \"$(cat <<'E'\n\"; aa x; \"\nE\n)\"; bb y",
    "echo \"$(cat <<E\n$(aa x)\nE\n)\"",
    "echo $(cat <<E\n$v\nE\n\\aa x;\n\nbb y)",
    "echo $(cat <<'E'; aa x\nE\nbb y\n)",
    "echo $(echo ')'; aa x)",
    "echo \"$(echo \")\"; aa x)\"",
    "echo ${v/x/$(aa x)}",
    "echo ${v:$(aa x)0}",
    "echo ${w[$(aa x)0]}",
    "echo \"${v#\"$(aa x)\"}\"",
    "echo \"${v/'}\"; aa x; echo \"'/}\"",
    "test \"$(aa x)\"; [ -n \"`bb y`\" ]",
    "cd . && aa x; pushd . && bb y",
    "printf '%s' \"$(aa x)\" | cat",
    "read -r q <<< \"$(aa x)\"; bb y",
    "wait $(aa x); return 2>/dev/null; bb y",
    "aa x 3<&0 <&3 3<&-; bb y",
    "sudo -u me aa x",
    "nice env timeout 9 nohup aa x",
];
