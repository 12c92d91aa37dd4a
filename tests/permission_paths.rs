//! A file denied by a rule cannot be read by any spelling: generated commands with every kind of reader and
//! spelling, run by bash, must not print the file unless they needed approval.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tau::agent::permissions::{CallFacts, Options, Permissions, RuleInForce, RuleSource, Verdict};
use tau::agent::protocol::approval::PermissionMode;
use tau::tools::access::Access;

use crate::support::dice::{Dice, on_threads};
use crate::tidy::report;
use crate::time_limit::EndInTime;

/// The content of the denied file.
const SECRET: &str = "a-canary-that-nobody-may-read";

/// A folder with denied files, links to them, and harmless ones.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Stage { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "work/sub/deep", "work/plain"] {
            std::fs::create_dir_all(stage.at(folder)).unwrap();
        }
        for file in ["work/.env", "work/sub/.env", "work/sub/deep/.env"] {
            std::fs::write(stage.at(file), SECRET).unwrap();
        }
        for file in ["work/a.txt", "work/plain/b.txt", "work/sub/c.rs"] {
            std::fs::write(stage.at(file), "harmless\n").unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, stage.at("work").join(at)).unwrap();
        link(".env", "linked");
        link("sub", "folder");
        link("..", "plain/up");
        // An unknown program: it prints every file that its arguments name, in whatever way.
        let program = stage.at("bin/prog");
        let text = "#!/bin/sh\nfor a; do for f in \"$a\" \"${a#*=}\" \"${a#*@}\" \"${a#-?}\" \"${a#*:}\"; do\n\
                    [ -f \"$f\" ] && cat \"$f\"; [ -d \"$f\" ] && cat \"$f\"/.env; done; done 2>/dev/null\n";
        std::fs::write(&program, text).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        stage
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The output of a command.
    fn run(&self, command: &str) -> String {
        let mut bash = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", command])
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .env("HOME", self.at("work"))
            .env("inherited", ".env")
            .current_dir(self.at("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = String::new();
        let mut stdout = bash.stdout.take().unwrap();
        let (done, read) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stdout, &mut bytes);
            let _ = done.send(bytes);
        });
        bash.wait_in_time("the end of bash");
        output.push_str(&String::from_utf8_lossy(
            &read.recv_timeout(std::time::Duration::from_secs(20)).unwrap(),
        ));
        output
    }

    fn judge(&self, command: &str) -> Verdict {
        let rule = RuleInForce {
            rule: "read(**/.env)".parse().unwrap(),
            list: Verdict::Deny,
            source: RuleSource::Session,
        };
        let permissions = Permissions::new(vec![rule], Options::default());
        let access = Access::command(command);
        let cwd = self.at("work");
        let (mode, tool, home) = (PermissionMode::Auto, "bash", Some(cwd.as_path()));
        permissions
            .judge(&CallFacts { mode, tool, access: &access, read_only: false, cwd: &cwd, home })
            .verdict
    }
}

/// A spelling of the file, and the commands that must precede it.
fn spelling(dice: &mut Dice, work: &Path) -> (String, String) {
    const WHOLE: [&str; 44] = [
        ".env", "'.env'", "\".env\"", ".e\"\"nv", ".\\env", "$'\\x2eenv'", "$'.\\145nv'", ".e*", ".e?v",
        ".[e]nv", ".[!x]nv", ".[a-z]nv", "{.env,}", "{a.txt,.env}", ".{e,x}nv", ".e{n..n}v", "./.env",
        ".//.env", "sub/.env", "sub/../.env", "sub/./deep/.env", "*/.env", "s*/.e*", "linked", "l*d",
        "folder/.env", "f*/.env", "plain/up/.env", "plain/*/.env", "plain/up/sub/.env", "~/.env", "~+/.env",
        "$PWD/.env", "\"$PWD\"/.env", "${PWD}/.env", "$HOME/.env", "\"$HOME/sub/.env\"",
        "/proc/self/cwd/.env", "/proc/$$/cwd/.env", "$inherited", "\"$inherited\"", "\"${inherited}\"",
        "sub/deep/../.env", "{~,x}/.env",
    ];
    let work = work.display();
    match dice.below(12) {
        0 => (format!("x{}=.env; ", dice.below(3)), "\"$x0$x1$x2\"".to_owned()),
        1 => ("x=.e; y=nv; ".to_owned(), "$x$y".to_owned()),
        2 => ("x=sub; ".to_owned(), "\"${x}\"/.env".to_owned()),
        3 => ("export x='.e*'; ".to_owned(), "$x".to_owned()),
        4 => ("cd sub; ".to_owned(), ".env".to_owned()),
        5 => ("pushd sub >/dev/null; ".to_owned(), ".e*".to_owned()),
        6 => (String::new(), format!("{work}/.env")),
        7 => (String::new(), format!("/proc/self/root{work}/sub/.env")),
        8 => (String::new(), "$(echo .env)".to_owned()),
        9 => ("cd plain; ".to_owned(), "../.e?v".to_owned()),
        _ => (String::new(), (*dice.pick(&WHOLE)).to_owned()),
    }
}

fn command(dice: &mut Dice, work: &Path) -> String {
    const READERS: [&str; 40] = [
        "cat F",
        "head F",
        "tail -n 5 F",
        "tac F",
        "nl F",
        "sort F",
        "grep -h a F",
        "sed -n p F",
        "awk 1 F",
        "cat < F",
        "while read -r l || [ -n \"$l\" ]; do echo \"$l\"; done < F",
        "cat a.txt F",
        "cat -- F",
        "dd if=F status=none",
        "perl -pe1 F",
        "cut -c1- F",
        "fold F",
        "prog F",
        "prog --file=F",
        "prog -fF",
        "prog @F",
        "prog x=@F",
        "prog a:F",
        "env cat F",
        "timeout 5 cat F",
        "bash -c 'cat \"$0\"' F",
        "nice prog F",
        "cp F /dev/stdout",
        "for f in F; do cat \"$f\"; done",
        "for f in a.txt F; do prog \"$f\"; done",
        "paste F",
        "echo F | xargs cat",
        "printf '%s\\n' F | xargs prog",
        "cat $(ls F)",
        "(cat F)",
        "{ prog F; } 2>&1",
        "if [ -f F ]; then cat F; fi",
        "cat F | tac",
        "comm F /dev/null",
        "expand F",
    ];
    const FOLDERS: [&str; 22] = [
        "cat *",
        "cat .*",
        "cat */.*",
        "cat .[a-z]*",
        "grep -rh a .",
        "grep -rh a",
        "grep -Rh a sub",
        "tar c .",
        "tar c sub",
        "tar c s*",
        "find . -type f -exec cat {} +",
        "find . -name '.e*' -exec cat {} \\;",
        "find sub | xargs cat",
        "prog .",
        "prog sub",
        "prog s*",
        "cp -r sub x && cat x/.env; rm -r x",
        "ls -a | while read -r f; do cat \"$f\"; done",
        "mv plain/b.txt plain/d.txt; cat *.txt; mv plain/d.txt plain/b.txt",
        "diff -r sub plain",
        "cd sub && cat .e*",
        "ln -s sub y; cat y/.e*; rm y",
    ];
    if dice.below(5) == 0 {
        return (*dice.pick(&FOLDERS)).to_owned();
    }
    let (before, name) = spelling(dice, work);
    let reader: &&str = dice.pick(&READERS);
    let after = *dice.pick(&["", "", "; true", " 2>/dev/null", " || prog F", "\ncat a.txt"]);
    format!("{before}{reader}{after}").replace('F', &name)
}

#[test]
fn no_spelling_of_a_denied_file_is_allowed() {
    let count = std::env::var("TAU_COMMANDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let (read, free) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let faults = Mutex::new(Vec::new());
    on_threads(count, Stage::new, |stage, index| {
        let command = command(&mut Dice::new(index as u64 + 1), &stage.at("work"));
        let verdict = stage.judge(&command);
        let has_read = stage.run(&command).contains(SECRET);
        read.fetch_add(usize::from(has_read), Ordering::Relaxed);
        free.fetch_add(usize::from(verdict == Verdict::Allow), Ordering::Relaxed);
        if has_read && verdict == Verdict::Allow {
            faults.lock().unwrap().push(format!("allowed: {command}"));
        }
    });
    report(&faults.into_inner().unwrap());
    let (read, free) = (read.into_inner(), free.into_inner());
    // The property would also hold if nothing were read, or if everything needed approval.
    assert!(read * 3 > count, "only {read} of {count} commands read the file");
    let harmless = [
        "cat a.txt",
        "cat plain/*",
        "grep -r a plain",
        "cat a*",
        "x=a.txt; cat \"$x\"",
        "for f in plain/*.txt; do cat \"$f\"; done",
    ];
    let stage = Stage::new();
    for command in harmless {
        assert_eq!(stage.judge(command), Verdict::Allow, "{command}");
    }
    eprintln!("{read} of {count} commands read the file, {free} were allowed");
}
