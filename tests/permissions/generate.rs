//! Compound commands of every kind, made from programs that only record their arguments.

use crate::support::dice::Dice;

/// The programs.
pub const PROGRAMS: [&str; 6] = ["aa", "bb", "cc", "dd", "ee", "ff"];

/// Words in every kind of quoting.
const WORDS: [&str; 24] = [
    "x", "--all", "-n", "'q q'", "\"d d\"", "a\\ b", "\"$v\"", "$v", "${v:-z}", "\"${#v}\"", "é",
    "\"日本 語\"", "a#b", "\\#", "\"\"", "''", "$'t\\tt'", "$'q\\'; bb'", "o=1", "\\\n", "a\\\nb",
    "$((1 + 2))", "'; bb'", "\"| cc\"",
];
/// Words that expand to others, or to several.
const WILD: [&str; 6] = ["a{1,2}", "*", "~", "[a-c]*", "$w", "?"];

fn program(dice: &mut Dice) -> String {
    let name = *dice.pick(&PROGRAMS);
    match dice.below(24) {
        0 => format!("'{name}'"),
        1 => format!("\"{name}\""),
        2 => format!("\\{name}"),
        3 => format!("{}\\\n{}", &name[..1], &name[1..]),
        4 => format!("$'{name}'"),
        5 => format!("{}''{}", &name[..1], &name[1..]),
        _ => name.to_owned(),
    }
}

fn word(dice: &mut Dice, depth: usize) -> String {
    match dice.below(40) {
        0..3 if depth > 0 => format!("$({})", list(dice, depth - 1)),
        3..5 if depth > 0 => format!("\"a $({}) b\"", list(dice, depth - 1)),
        5 => format!("`{}`", plain(dice)),
        6 if depth > 0 => format!("<({})", list(dice, depth - 1)),
        7 => (*dice.pick(&WILD)).to_owned(),
        8 if depth > 0 => format!("\"${{v:-$({})}}\"", plain(dice)),
        _ => (*dice.pick(&WORDS)).to_owned(),
    }
}

fn words(dice: &mut Dice, depth: usize) -> String {
    (0..dice.below(4)).map(|_| format!(" {}", word(dice, depth))).collect()
}

/// A program with plain arguments.
fn plain(dice: &mut Dice) -> String {
    format!("{} x{}", dice.pick(&PROGRAMS), dice.below(9))
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    format!("{}{}", program(dice), words(dice, depth))
}

const REDIRECTIONS: [&str; 10] = [
    " > out", " 2>&1", " >> out", " 2>/dev/null", " &> out", " < /dev/null", " 3> out", " >| out",
    " <<< \"$v\"", " 2>&1 > out",
];

/// A command that runs another.
fn wrapped(dice: &mut Dice, depth: usize) -> String {
    let inner = simple(dice, depth.saturating_sub(1));
    match dice.below(20) {
        0 => format!("env {inner}"),
        1 => format!("env -i A=1 PATH=\"$PATH\" {inner}"),
        2 => format!("nice -n 5 {inner}"),
        3 => format!("timeout 20 {inner}"),
        4 => format!("nohup {inner}"),
        5 => format!("time {inner}"),
        6 => format!("! {inner}"),
        7 => format!("command {inner}"),
        8 => format!("(exec {inner})"),
        9 => format!("printf 'p q' | xargs {inner}"),
        10 => format!("printf 'p\\nq' | xargs -I% {} % y", dice.pick(&PROGRAMS)),
        11 => format!("find . -maxdepth 0 -exec {inner} {{}} \\;"),
        12 => format!("find . -maxdepth 0 -exec {inner} {{}} +"),
        13 => format!("sh -c '{}; {}'", plain(dice), plain(dice)),
        14 => format!("bash -c \"{} && {}\"", plain(dice), plain(dice)),
        15 => format!("A=1 B='x y' {inner}"),
        16 => format!("sudo -u me {inner}"),
        17 => format!("timeout -s KILL 20 nice env B=2 {inner}"),
        18 => format!("v={}; $v y", dice.pick(&PROGRAMS)),
        _ => format!("eval '{}'", plain(dice)),
    }
}

fn compound(dice: &mut Dice, depth: usize) -> String {
    let (one, two) = (list(dice, depth - 1), list(dice, depth - 1));
    match dice.below(16) {
        0 => format!("({one})"),
        1 => format!("{{ {one}\n}}"),
        2 => format!("if {one}\nthen {two}\nfi"),
        3 => format!("if {one}\nthen {two}\nelse {}\nfi", simple(dice, 0)),
        4 => format!("for i in 1 {}; do {one}\ndone", word(dice, 0)),
        5 => format!("while {one}\nfalse; do {two}\ndone"),
        6 => format!("until {one}\ntrue; do :; done"),
        7 => format!("case x in y) {one};; x|z) {two};; esac"),
        8 => format!("case \"$v\" in (*) {one}\n;& q) {two}\nesac"),
        9 => format!("f() {{ {one}\n}}; f"),
        10 => format!("function g {{ {one}\n}}\ng a"),
        11 => format!("cat <<'E'\n$({})\nE\n{one}", plain(dice)),
        12 => format!("cat <<E\n$v\nE\n{one}"),
        13 => format!("cat <<-E | {}\n\t$({})\n\tE\n{two}", simple(dice, 0), plain(dice)),
        14 => format!("[[ -n $v && x != y ]] && {one}"),
        _ => format!("coproc {{ {one}\n}}; wait"),
    }
}

fn item(dice: &mut Dice, depth: usize) -> String {
    let mut text = match dice.below(10) {
        0..5 => simple(dice, depth),
        5..7 => wrapped(dice, depth),
        _ if depth > 0 => compound(dice, depth),
        _ => simple(dice, 0),
    };
    if dice.below(4) == 0 && !text.contains("<<") && !text.contains("; ") && !text.contains('\n') {
        let redirection: &&str = dice.pick(&REDIRECTIONS);
        text.push_str(redirection);
    }
    text
}

/// Commands with operators between them.
pub fn list(dice: &mut Dice, depth: usize) -> String {
    let mut text = item(dice, depth);
    for _ in 0..dice.below(3) {
        let ends_open = text.ends_with("\nE") || text.contains("<<");
        let operators: &[&str] = if ends_open {
            &["\n"]
        } else {
            &["; ", "\n", " && ", " || ", " | ", " |& ", " & ", " ;# bb x\n", "&&", ";\n\n", " ||\\\n"]
        };
        let operator: &&str = dice.pick(operators);
        text.push_str(operator);
        text.push_str(&item(dice, depth));
    }
    text
}
