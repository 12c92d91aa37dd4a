//! Tests of rules on programs that a command copies, links or prints to another name, and then runs.

use super::*;
use Verdict::{Allow, Ask, Deny};

/// They run `zap` under another name, or may.
const RUNNING: &[&str] = &[
    "cp $(which zap) y; ./y",
    "cp /usr/bin/zap ./y && ./y",
    "cp `which zap` y && ./y go",
    "cp \"$(command -v zap)\" y; ./y go",
    "cp \"$(type -P zap)\" y; ./y go",
    "ln -s /usr/bin/zap y; ./y",
    "ln -sf zap y; ./y",
    "ln /usr/bin/zap y; ./y",
    "link /usr/bin/zap y; ./y",
    "install -m755 /usr/bin/zap y; ./y",
    "install /usr/bin/zap -T y; ./y",
    "cp -t . /usr/bin/zap; ./zap",
    "cat /usr/bin/zap > y; chmod +x y; ./y",
    "cat < /usr/bin/zap > y; chmod +x y; ./y",
    "cat /usr/bin/zap | tee y; chmod +x y; ./y",
    "dd if=/usr/bin/zap of=y; chmod +x y; ./y",
    "tee y < /usr/bin/zap; chmod +x y; ./y",
    "head -c 1000000 /usr/bin/zap > y; chmod +x y; ./y",
    "base64 /usr/bin/zap | base64 -d > y; chmod +x y; ./y",
    "rsync /usr/bin/zap y; ./y",
    "scp /usr/bin/zap y; ./y",
    "objcopy /usr/bin/zap y; ./y",
    "strip -o y /usr/bin/zap; ./y",
    "curl file:///usr/bin/zap -o y; chmod +x y; ./y",
    "sed '' /usr/bin/zap > y; chmod +x y; ./y",
    "perl -pe1 /usr/bin/zap >y; chmod +x y; ./y",
    "hash -p /usr/bin/zap y; y go",
    "BASH_CMDS[y]=/usr/bin/zap; y go",
    "alias y=zap; y go",
    "y() { zap \"$@\"; }; y go",
    "function y { command zap \"$@\"; }; y",
    "mkdir b; cp /usr/bin/zap b/y; PATH=b:$PATH y go",
    "cp /usr/bin/zap y; sudo ./y",
    "cp /usr/bin/zap y; strace ./y go",
    "cp /usr/bin/zap y; timeout 5 ./y go",
    "cp /usr/bin/zap y; sh -c ./y",
    "cp /usr/bin/zap y; echo ./y go | sh",
    "cp /usr/bin/zap y; find . -name y -exec {} \\;",
    "cp /usr/bin/zap y; find . -name y -exec ./y go \\;",
    "cp /usr/bin/zap y; xargs ./y < a.txt",
    "cp /usr/bin/z?p y; ./y",
    "cp /usr/bin/z* y; ./y",
    "p=zap; cp /usr/bin/$p y; ./y",
    "x=$(which zap); cp $x y; ./y",
    "x=/usr/bin/zap; cp $x y; ./y",
    "cp /usr/bin/zap a; mv a b; ./b",
    "cp /usr/bin/zap a; ln a b; cp b c; ./c",
    "cd src; cp /usr/bin/zap y; cd ..; src/y",
    "cp /usr/bin/zap src; src/zap",
    "cp /usr/bin/* src/; src/zap",
    "tar c -C /usr/bin zap | tar x; ./zap",
    "tar cO /usr/bin/zap > y.tar; tar xf y.tar; ./zap",
    "zip y.zip /usr/bin/zap; unzip y.zip; ./usr/bin/zap",
    "mount --bind /usr/bin/zap y; ./y",
    "cp /proc/self/root/usr/bin/zap y; ./y",
    "cp /usr/bin/zap y; . ./y",
    "cp /usr/bin/zap y; source y go",
    "cp /usr/bin/zap y; bash y go",
    "bash < /usr/bin/zap",
    "cat /usr/bin/zap | bash",
    "cat /usr/bin/zap | bash -s go",
    "source /usr/bin/zap",
    ". $(which zap)",
    "source <(cat /usr/bin/zap)",
    "bash -c \"$(cat /usr/bin/zap)\"",
    "bash -c \"$(< /usr/bin/zap)\"",
    "eval \"$(cat /usr/bin/zap)\"",
    "$(which zap) go",
    "$(ls /usr/bin/z*) go",
    "/usr/bin/z?p go",
    "\"$(command -v za''p)\" go",
    "find /usr/bin -name 'z?p' -exec {} go \\;",
    "find /usr/bin -name 'za*' | xargs -I{} {} go",
    "ls /usr/bin/z* | sh",
    "ls /usr/bin/za* | head -1 | xargs -I{} {} go",
    "find /usr/bin -name 'z?p' -execdir {} go +",
    "for f in /usr/bin/*; do $f go; done",
    "cd /usr/bin; ./z?p",
    "printf -v q '%s' zap; $q go",
    "zz=$'\\x7aap'; $zz go",
    "$'\\x7aap' go",
    "za\"\"p go",
    "\"zap\" go",
    "{zap,go}",
    "printf 'za%s go' p | sh",
    "echo pa z | rev | tr -d ' ' | sh",
    "sed 's/a/a/' < /usr/bin/zap > y && chmod 755 y && ./y go",
    "awk 1 /usr/bin/zap > y && chmod 755 y && ./y go",
    "xxd /usr/bin/zap | xxd -r > y; chmod +x y; ./y",
    "python3 -c \"import shutil; shutil.copy('/usr/bin/zap','y')\"; ./y go",
    "cp /usr/bin/zap y & wait; ./y",
    "{ cp /usr/bin/zap y; ./y; }",
    "if true; then cp /usr/bin/zap y; fi; ./y",
    "cp /usr/bin/zap 'a b'; './a b' go",
    "cp /usr/bin/zap y\\ z; ./y\\ z",
    "cp /usr/bin/zap y.sh; chmod +x y.sh && exec ./y.sh go",
    "cp /usr/bin/zap \"$PWD/y\"; \"$PWD/y\" go",
    "cp /usr/bin/zap \"$PWD/y\"; $PWD/y go",
    "d=$(mktemp -d); cp /usr/bin/zap $d/y; $d/y go",
    "d=$(mktemp); cp /usr/bin/zap $d; $d go",
    "cp /usr/bin/zap $X; $X go",
    "for i in y; do cp /usr/bin/zap $i; ./$i go; done",
];

/// They make files that are not `zap`, or run none of them.
const OTHERS: &[&str] = &[
    "cp target/debug/app y; ./y",
    "cp zap.conf y; ./y",
    "cp build/app dist/app && dist/app --version",
    "install -m755 build/app bin/app; bin/app",
    "cp a.txt b.txt; rm b.txt",
    "mv x y; ls y",
    "ln -s ../x y; cat y",
    "echo zap > a.txt",
    "cat zap.log > y; cat y",
    "cargo build && cp target/debug/x /tmp/x && /tmp/x --help",
    "make && ./a.out",
    "cc -o y a.c && ./y",
    "cp /bin/ls y; ./y",
    "cp README.zap.md y; ./y",
    "tee log.txt < a.txt; ./run",
    "mv zap.c y.c; cc y.c",
    "cp a y; rm y",
];

#[test]
fn a_copy_of_a_denied_program_is_that_program() {
    let rules = permissions(&[("bash(zap *)", Deny)]);
    let allowed: Vec<&&str> =
        RUNNING.iter().filter(|text| command(&rules, PermissionMode::Auto, text).verdict == Allow).collect();
    assert!(allowed.is_empty(), "allowed: {allowed:#?}");
    check(&rules, PermissionMode::Auto, Allow, OTHERS);
    let certain = [
        "cp /usr/bin/zap y; ./y",
        "cp $(which zap) y && ./y go",
        "x=$(command -v zap); ln -s $x y; ./y",
        "p=zap; cp /usr/bin/$p y; ./y",
        "cat /usr/bin/zap > y; chmod +x y; ./y",
        "base64 /usr/bin/zap | base64 -d > y; chmod +x y; ./y",
        "cp /usr/bin/zap a; mv a b; ./b",
        "cp /usr/bin/zap y; strace ./y go",
    ];
    check(&rules, PermissionMode::Auto, Deny, &certain);
    let rules = permissions(&[("bash(git push *)", Deny)]);
    check(
        &rules,
        PermissionMode::Auto,
        Deny,
        &["cp /usr/bin/git y; ./y push", "ln -s $(which git) y; ./y -C x push"],
    );
    check(&rules, PermissionMode::Auto, Allow, &["cp /usr/bin/git y; ./y status"]);
}

#[test]
fn a_copy_of_a_program_removes_what_that_program_does() {
    let rules = permissions(&[]);
    let removing =
        ["cp /bin/rm y; ./y -rf ~", "ln -s $(which rm) y; ./y -rf /", "cat /bin/dd > y; ./y of=/dev/sda"];
    check(&rules, PermissionMode::Auto, Ask, &removing);
    check(&rules, PermissionMode::Auto, Allow, &["cp -r ~ y; rm -rf y", "cp /bin/ls y; ./y -r ~"]);
}
