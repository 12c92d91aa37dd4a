//! Tests that a command is judged by the words that bash makes of it: of braces, values, printed texts and arguments that
//! another command gives.

use super::*;
use Verdict::{Allow, Ask};

/// Commands that lose something.
const DANGERS: &[&str] = &[
    "git push -f origin main", "git reset --hard", "git clean -fdx", "git stash drop",
    "git push origin +main", "terraform destroy -auto-approve", "chmod u+s q", "chmod 4755 q", "kill -9 -1",
    "docker volume rm y", "rails db:drop", "php artisan migrate:fresh", "dd if=x of=/dev/sda",
    "mkfs.ext4 /dev/sdb", "gh repo delete x", "kubectl delete ns x", "reboot -f",
    "sudo git push -f origin main",
];

/// Commands that write or print what is protected.
const PROTECTED: &[&str] = &[
    "git config core.fsmonitor ./x", "git remote add x y", "gh auth token", "systemctl --user enable x",
    "pass show p", "npm config set script-shell ./x",
];

/// Commands that do no harm.
const HARMLESS: &[&str] = &[
    "git status -s", "git push origin main", "git checkout main", "docker run img", "rm -rf build",
    "cargo test --all", "kill -9 1234", "psql -c 'select'",
];

/// A command in every form that bash makes it of: `PROG`, `ARGS`, `LAST` and `REST` stand for its program, its other words,
/// the last of them, and those before; `LIST` for the others in braces.
const FORMS: &[&str] = &[
    "PROG LIST",
    "{PROG,COMMAS}",
    "PROG REST {LAST,}",
    "x=LAST; PROG REST $x",
    "x=LAST; PROG REST \"${x}\"",
    "x='ARGS'; PROG $x",
    "x=(ARGS); PROG \"${x[@]}\"",
    "x=(ARGS); PROG ${x[*]}",
    "x='PROG ARGS'; $x",
    "x=PROG; $x ARGS",
    "read x <<< LAST; PROG REST $x",
    "read -r p x <<< 'ARGS'; PROG $p $x",
    "read m <<< PROG; $m ARGS",
    "printf -v x %s LAST; PROG REST $x",
    "printf -v x LAST; PROG REST \"$x\"",
    "for x in LAST; do PROG REST $x; done",
    "for x in a LAST b; do PROG REST \"$x\"; done",
    "for p in PROG; do $p ARGS; done",
    "PROG $(echo ARGS)",
    "PROG REST $(echo LAST)",
    "PROG REST \"$(printf %s LAST)\"",
    "PROG $(printf '%s ' ARGS)",
    "PROG $(cat <<< 'ARGS')",
    "$(echo PROG) ARGS",
    "x=$(echo LAST); PROG REST $x",
    "xargs PROG <<< 'ARGS'",
    "echo ARGS | xargs PROG",
    "echo LAST | xargs PROG REST",
    "printf '%s\\n' ARGS | xargs -r PROG",
    "xargs -I{} PROG REST {} <<< LAST",
    "echo LAST | while read x; do PROG REST $x; done",
    "while read -r x; do PROG $x; done <<< 'ARGS'",
    "read <<< LAST; PROG REST $REPLY",
    "mapfile -t <<< LAST; PROG REST \"${MAPFILE[@]}\"",
    "mapfile -t a <<< LAST; PROG REST ${a[0]}",
    "x[3]=LAST; PROG REST ${x[3]}",
    "declare -A x; x[k]=LAST; PROG REST \"${x[k]}\"",
    "declare -A x=([k]=LAST); PROG REST \"${x[k]}\"",
    "x=LAST; declare -n r=x; PROG REST $r",
    "declare -n r=x; x=LAST; PROG REST $r",
    "declare -n r=x; r=LAST; PROG REST $x",
    "x=LAST; n=x; PROG REST ${!n}",
    "set -- ARGS; PROG \"$@\"",
    "set ARGS; PROG $*",
    "set -- LAST; PROG REST \"$1\"",
    "f() { PROG \"$@\"; }; f ARGS",
    "f() { PROG REST $1; }; f LAST",
    "export x=LAST; PROG REST $x",
    "declare x=LAST; PROG REST $x",
    "f() { local x=LAST; PROG REST $x; }; f",
    "PROG REST ${x:-LAST}",
    "PROG REST ${x:=LAST}",
    "x=LAST; y=$x; PROG REST $y",
    "if ((1)); then x=LAST; PROG REST $x; fi",
    "if ((1)); then PROG LIST; fi",
    "bash -c 'x=LAST; PROG REST $x'",
    "x=LAST && { PROG REST $x; }",
    "x=LAST; (PROG REST $x)",
    "x=LAST; echo \"$(PROG REST $x)\"",
];

/// Values that may be the whole home directory, with `@` for a use of them.
const ANY_FOLDER: &[&str] = &[
    "for v in HOME; do @\"${!v}\"; done",
    "printf -v v HOME; @${!v}",
    "read v <<< HOME; @${!v}",
    "a=(HOME); @${!a}",
    "set -- HOME; @${!1}",
    "f() { @${!1}; }; f HOME",
    "for v in \"${!HOM*}\"; do @\"${!v}\"; done",
    "v='\\H'; @${v@P}",
    "v='\\x2f'; @${v@E}",
    "v=out; v=HOME; @${!v}",
    "read <<< ~; @$REPLY",
    "read; @\"$REPLY\"",
    "mapfile -t <<< ~; @\"${MAPFILE[@]}\"",
    "declare -A a; a[x]=~; @\"${a[x]}\"",
    "a[3]=~; @${a[3]}",
    "declare -A a=([x]=~); @\"${a[x]}\"",
    "declare -n r=v; v=~; @$r",
    "printf -v 'a[0]' %s ~; @${a[0]}",
    "select x in a; do @$REPLY; done",
];

const USES: &[&str] =
    &["rm -rf @", "mv @ /tmp/x", "chmod -R 000 @", "find @ -type f -delete", "echo @ | xargs rm -rf"];

/// Uses that fill or read a folder.
const FILLING: &[&str] = &["cp -r x/. @", "tar xf x -C @", "tar cf x.tar @"];

/// Everyday commands with values.
const EVERYDAY: &[&str] = &[
    "git push origin \"$branch\"",
    "git push -u origin \"$(git branch --show-current)\"",
    "git checkout \"$x\"",
    "d=build; rm -rf \"$d\"",
    "for d in build dist; do rm -rf \"$d\"; done",
    "rm -rf {build,dist}/*.o",
    "for f in *.rs; do wc -l \"$f\"; done",
    "docker run $IMAGE",
    "x=out; docker run -v \"$PWD/$x:/out\" img",
    "b=feature; git checkout -b $b && git push -u origin $b",
    "git add {src,tests}",
    "mkdir -p src/{a,b}/{c,d}",
    "args=(--release --all); cargo build \"${args[@]}\"",
    "msg='drop table x'; git commit -m \"$msg\"",
    "git commit -m \"$(cat <<< 'reset --hard is gone')\"",
    "read -r v < VERSION; git tag \"v$v\"",
    "v=$(cat VERSION); git tag \"v$v\" && git push origin \"v$v\"",
    "for t in a b; do psql -c \"select count(*) from $t\"; done",
    "git ls-files | xargs wc -l",
    "pid=$(pgrep x); kill -9 $pid",
    "kill -9 $PID",
    "for i in 1 2 3; do curl -s localhost:$i; done",
    "echo main | xargs git checkout",
    "git diff {a,b}.txt",
    "terraform plan -out=$P",
    "for e in dev prod; do terraform workspace select $e; done",
    "kubectl get pods -n \"$NS\"",
    "for s in a b; do kubectl rollout restart deploy/$s; done",
    "set -- a b; cargo test \"$@\"",
    "f() { git commit -m \"$1\"; }; f 'push -f origin main'",
    "f() { cargo \"$@\"; }; f build; f test",
    "v=out; out=build; rm -rf \"${!v}\"",
    "for v in A B; do echo \"$v=${!v}\"; done",
    "read -p 'Sure? '; if [ \"$REPLY\" = y ]; then rm -rf build; fi",
    "declare -A m=([a]=build); rm -rf \"${m[a]}\"",
    "declare -A m=([a]=1); for k in \"${!m[@]}\"; do echo \"$k ${m[$k]}\"; done",
    "mapfile -t f < list; git add \"${f[@]}\"",
    "read -r a b <<< 'x y'; echo $a $b",
    "u=https://x.test/y; git clone --depth 1 $u /tmp/y",
    "chmod $MODE x",
    "m=644; chmod $m x",
    "dd if=$x of=$y",
    "q='select 1'; sqlite3 d.db \"$q\"",
];

/// A command in one of [`FORMS`]; `None` if it has too few words for it.
fn put(form: &str, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split(' ').collect();
    let (program, rest) = words.split_first()?;
    let (last, before) = rest.split_last()?;
    let is_quoted = command.contains('\'');
    let needs_blank = (form.contains("LIST") || form.contains("COMMAS")) && rest.len() < 2;
    if needs_blank || is_quoted {
        return None;
    }
    let values = [
        ("PROG", (*program).to_owned()),
        ("ARGS", rest.join(" ")),
        ("COMMAS", rest.join(",")),
        ("LAST", (*last).to_owned()),
        ("REST", before.join(" ")),
        ("LIST", format!("{{{}}}", rest.join(","))),
    ];
    Some(values.iter().fold(form.to_owned(), |text, (name, value)| text.replace(name, value)))
}

/// The uses of the target that a command of [`ANY_FOLDER`] makes.
fn uses<'a>(around: &'a str, all: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    let (before, target) = around.split_once('@').unwrap();
    let (target, behind) = target.split_at(target.find(';').unwrap_or(target.len()));
    all.iter().map(move |what| format!("{before}{}{behind}", what.replace('@', target)))
}

fn check_forms(commands: &[&str], expected: Verdict) {
    let all = FORMS.iter().flat_map(|form| commands.iter().filter_map(|command| put(form, command)));
    let all: Vec<String> = all.collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(all.len() > FORMS.len() * 3);
    check(&permissions(&[]), PermissionMode::Auto, expected, &all);
}

#[test]
fn dangers_are_found_in_what_bash_makes_of_words() {
    check_forms(DANGERS, Ask);
    let open = [
        "o=force; git push --$o origin main",
        "F=-f; git push $F origin main",
        "M=u+s; chmod $M q",
        "D=/dev/sda; dd if=x of=$D",
        "read m <<< mkfs; $m x",
        "p=-1; kill -9 $p",
        "for o in -f; do git push $o origin main; done",
        "git push $(echo -f) origin main",
        "chmod $(echo 4755) x",
        "echo -fdx | xargs git clean",
        "find ~ {-delete,}",
        "d=destroy; terraform $d -auto-approve",
        "if ((1)); then F=-f; git push $F origin main; fi",
        "o=f; git push -$o origin main",
        "find . -del{ete,}",
        "reb{oot,}",
        "psql -c \"drop table $t\"",
        "for t in a b; do psql -c \"drop table $t\"; done",
        "psql -c {'drop table x',}",
        "q='drop table t'; sqlite3 d.db \"$q\"",
        "x=drop; sqlite3 d.db \"$x table t\"",
        "git clean {-f,}",
        "psql -c \"$(cat <<< 'drop table x')\"",
        "for d in /dev/sd?; do dd if=/dev/zero of=$d; done",
        "rm {-rf,/home}",
        "m=psql; $m d <<< 'drop table x'",
        "g='sudo git'; $g reset --hard",
        "git push {--mirror,}",
        "rails db:{drop,create}",
        "php artisan migrate:{fresh,}",
        "dd if=x of={/dev/sda,}",
        "git checkout {-f,main}",
        "git reset {--hard,HEAD~1}",
        "a=(push -f \"$remote\" main); git \"${a[@]}\"",
        "x='volume rm'; docker $x y",
        "psql -c \"drop $X x\"",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Ask, &open);
}

#[test]
fn writers_of_protected_places_are_found_in_what_bash_makes_of_words() {
    check_forms(PROTECTED, Ask);
    let open = [
        "c=config; git $c core.fsmonitor ./x", "git {config,core.hooksPath,./hk}",
        "g=git; $g config alias.zz '!true'", "g='git config core.hooksPath x'; $g",
        "git confi{g,} core.hooksPath x", "git $(echo config) core.hooksPath x", "r=remote; git $r add x y",
        "s=enable; systemctl --user $s x", "p=show; pass $p x", "gh {auth,token}",
    ];
    check(&permissions(&[]), PermissionMode::Auto, Ask, &open);
}

#[test]
fn a_value_that_may_be_any_folder_is_asked() {
    let all: Vec<String> = ANY_FOLDER.iter().flat_map(|around| uses(around, USES)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check(&permissions(&[]), PermissionMode::Auto, Ask, &all);
}

#[test]
fn what_fills_a_folder_that_may_be_home_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    std::fs::create_dir_all(work.join("x")).unwrap();
    let free = permissions(&[]);
    let wrong: Vec<String> = ANY_FOLDER
        .iter()
        .flat_map(|around| uses(around, FILLING))
        .filter(|text| {
            let access = Access::command(text);
            let (mode, cwd, home) = (PermissionMode::Auto, work.as_path(), Some(home.path()));
            let call = CallFacts { mode, tool: "bash", access: &access, read_only: false, cwd, home };
            free.judge(&call).verdict != Ask
        })
        .collect();
    assert!(wrong.is_empty(), "not asked: {wrong:#?}");
}

#[test]
fn everyday_commands_with_values_are_not_asked() {
    check_forms(HARMLESS, Allow);
    check(&permissions(&[]), PermissionMode::Auto, Allow, EVERYDAY);
}
