//! Commands that are known to only read, with the options that make them write or run something
//! excluded.
//!
//! A command that is not here is not judged harmful; it is asked. An option is excluded in every form in
//! which its program takes it: in a cluster of short ones, shortened, or with its value attached.

mod git;
mod scripts;

use super::shell::{Part, Piece, Word};

/// A command with options that are excluded.
struct Reader {
    name: &'static str,
    /// Short options, as letters.
    short: &'static str,
    /// Long options, without dashes.
    long: &'static [&'static str],
    /// Most operands; the one behind them would be written to.
    operands: usize,
}

const fn any(name: &'static str) -> Reader {
    Reader { name, short: "", long: &[], operands: usize::MAX }
}

const fn without(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Reader {
    Reader { name, short, long, operands: usize::MAX }
}

const READERS: [Reader; 87] = [
    any("ls"),
    any("cat"),
    any("head"),
    any("tail"),
    any("wc"),
    any("nl"),
    any("tac"),
    any("rev"),
    any("cut"),
    any("tr"),
    any("paste"),
    any("join"),
    any("comm"),
    any("column"),
    any("fold"),
    any("fmt"),
    any("expand"),
    any("unexpand"),
    any("pr"),
    any("od"),
    any("hexdump"),
    any("strings"),
    any("stat"),
    any("du"),
    any("df"),
    any("pwd"),
    any("echo"),
    any("true"),
    any("false"),
    any(":"),
    any("basename"),
    any("dirname"),
    any("realpath"),
    any("readlink"),
    any("which"),
    any("type"),
    any("whoami"),
    any("id"),
    any("groups"),
    any("uname"),
    any("uptime"),
    any("nproc"),
    any("arch"),
    any("ps"),
    any("free"),
    any("printenv"),
    any("getconf"),
    any("seq"),
    any("expr"),
    any("sleep"),
    any("md5sum"),
    any("sha1sum"),
    any("sha224sum"),
    any("sha256sum"),
    any("sha384sum"),
    any("sha512sum"),
    any("b2sum"),
    any("cksum"),
    any("sum"),
    any("cmp"),
    any("diff"),
    any("grep"),
    any("egrep"),
    any("fgrep"),
    any("lscpu"),
    any("lsblk"),
    any("shift"),
    any("return"),
    any("exit"),
    any("break"),
    any("continue"),
    any("wait"),
    any("jobs"),
    any("logname"),
    any("tsort"),
    any("zcat"),
    without("base64", "", &[]),
    without("jq", "", &[]),
    without("printf", "v", &[]),
    without("file", "C", &["compile"]),
    without("sort", "oT", &["output", "compress-program", "temporary-directory"]),
    without("rg", "z", &["pre", "pre-glob", "hostname-bin", "search-zip"]),
    without("fd", "xXl", &["exec", "exec-batch", "list-details"]),
    without("fdfind", "xXl", &["exec", "exec-batch", "list-details"]),
    without("tree", "oR", &["output"]),
    Reader { operands: 1, ..without("uniq", "", &[]) },
    Reader { operands: 1, ..without("xxd", "r", &["revert"]) },
];

/// Programs whose `--version` and the like only print.
const VERSIONED: [&str; 30] = [
    "cargo",
    "rustc",
    "rustup",
    "rustfmt",
    "clippy-driver",
    "git",
    "node",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "deno",
    "bun",
    "python",
    "python3",
    "pip",
    "pip3",
    "go",
    "java",
    "javac",
    "gcc",
    "g++",
    "clang",
    "make",
    "cmake",
    "ruby",
    "perl",
    "php",
    "docker",
    "kubectl",
];

/// Variables that change what later commands print, and nothing else.
const HARMLESS: [&str; 16] = [
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "DEBUG",
    "CI",
    "OPTIND",
];

/// Whether it changes nothing of what programs do, apart from how they print.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    let proxies = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];
    let is_own = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.contains(|c: char| c.is_ascii_uppercase());
    is_own && !proxies.contains(&name) || HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Why a simple command may do more than read; `None` if it only reads. Redirections are not looked at.
pub(super) fn objection(part: &Part) -> Option<String> {
    if let Some(name) = part.assigned.iter().find(|name| !is_harmless_variable(name)) {
        return Some(format!("it sets {name}, which may change what programs do"));
    }
    let first = part.words.first()?;
    let Some(name) = first.literal() else {
        return Some("the name of the command is not known beforehand".to_owned());
    };
    // A path may lead to anything; only the usual directories are trusted.
    let plain = ["/bin/", "/usr/bin/"].iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(&name);
    let arguments = part.words.get(1..).unwrap_or_default();
    let is_reader = || READERS.iter().any(|reader| reader.name == plain);
    if part.more_arguments
        && !is_reader()
        && !["git", "sed", "awk", "gawk", "mawk", "find", "date"].contains(&plain)
    {
        return Some(format!("{} gets arguments that are not known beforehand", shown(&name)));
    }
    match plain {
        "git" => git::objection(arguments, part.more_arguments),
        "sed" => scripts::sed(arguments, part.more_arguments),
        "awk" | "gawk" | "mawk" => scripts::awk(arguments, part.more_arguments),
        "find" => find(arguments, part.more_arguments),
        "tar" | "unzip" => archive(plain, arguments),
        "date" => date(arguments, part.more_arguments),
        "hostname" | "env" | "exec" | "dirs" | "set" | "xargs" => bare(plain, arguments),
        "command" | "cd" => None,
        "test" | "[" => test(plain, arguments),
        "export" | "local" | "declare" | "readonly" | "typeset" | "read" | "unset" => {
            variables(plain, arguments)
        }
        _ => {
            if let Some(reader) = READERS.iter().find(|reader| reader.name == plain) {
                return reader.objection(arguments, part.more_arguments);
            }
            let is_version = |word: &Word| {
                word.literal()
                    .is_some_and(|text| ["--version", "-V", "-v", "version"].contains(&text.as_str()))
            };
            if VERSIONED.contains(&plain)
                && !part.more_arguments
                && matches!(arguments, [only] if is_version(only))
            {
                return None;
            }
            Some(format!("{} may change something", shown(&name)))
        }
    }
}

/// Whether a part that may do more than read may run any command within the shell: builtins that evaluate
/// what they are given, and variables that the shell or every program obeys.
pub(super) fn evaluates(part: &Part) -> bool {
    const BUILTINS: [&str; 14] = [
        "test", "[", "printf", "unset", "read", "declare", "typeset", "local", "export", "readonly", "let",
        "getopts", "set", "hash",
    ];
    const OBEYED: [&str; 12] = [
        "PATH",
        "IFS",
        "PS0",
        "PS4",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PAGER",
        "EDITOR",
        "VISUAL",
    ];
    let name = part.words.first().and_then(Word::literal).unwrap_or_default();
    let obeyed = |name: &String| {
        OBEYED.contains(&name.as_str())
            || ["LD_", "DYLD_", "GIT_", "BASH_FUNC"].iter().any(|start| name.starts_with(start))
    };
    BUILTINS.contains(&name.as_str()) || part.assigned.iter().any(obeyed)
}

/// A name for a sentence.
fn shown(name: &str) -> String {
    name.chars().take(60).filter(|c| !c.is_control()).collect()
}

impl Reader {
    fn objection(&self, arguments: &[Word], more_arguments: bool) -> Option<String> {
        if self.operands == usize::MAX && self.short.is_empty() && self.long.is_empty() {
            return None;
        }
        if more_arguments {
            return Some(format!("{} gets arguments that are not known beforehand", self.name));
        }
        if let Some(option) = excluded(arguments, self.short, self.long) {
            return Some(format!("{} may write or run something with {option}", self.name));
        }
        let operands = arguments
            .iter()
            .filter(|word| !word.literal().is_some_and(|text| text.len() > 1 && text.starts_with('-')));
        let many =
            |word: &Word| word.splits || word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)));
        let count =
            operands.clone().map(|word| if many(word) { 2 } else { 1 }).fold(0_usize, usize::saturating_add);
        (count > self.operands).then(|| format!("{} may write to its second file", self.name))
    }
}

/// The first argument that is an excluded option, or may be one. Arguments behind `--` are not options.
fn excluded(arguments: &[Word], short: &str, long: &[&str]) -> Option<String> {
    for word in arguments {
        let Some(text) = word.literal() else {
            if word.may_be_option() {
                return Some("an argument that is not known beforehand".to_owned());
            }
            continue;
        };
        if text == "--" {
            return None;
        }
        if let Some(name) = text.strip_prefix("--") {
            let name = name.split('=').next().unwrap_or_default();
            if long.iter().any(|long| long.starts_with(name)) {
                return Some(shown(&text));
            }
        } else if let Some(letters) =
            text.strip_prefix('-').filter(|letters| letters.contains(|c| short.contains(c)))
        {
            return Some(format!("-{}", shown(letters)));
        }
    }
    None
}

fn unknown_arguments(name: &str, arguments: &[Word], more_arguments: bool) -> Option<String> {
    let unknown = more_arguments || arguments.iter().any(Word::may_be_option_unknown);
    unknown.then(|| format!("{name} gets arguments that are not known beforehand"))
}

impl Word {
    /// Whether it is not known beforehand and may be an option.
    pub(super) fn may_be_option_unknown(&self) -> bool {
        self.literal().is_none() && self.may_be_option()
    }
}

fn find(arguments: &[Word], more_arguments: bool) -> Option<String> {
    const WRITING: [&str; 8] =
        ["-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-ok", "-okdir", "-files0-from"];
    if let Some(why) = unknown_arguments("find", arguments, more_arguments) {
        return Some(why);
    }
    let found = arguments.iter().filter_map(Word::literal).find(|text| WRITING.contains(&text.as_str()));
    found.map(|option| format!("find {option} may change something"))
}

/// `test`: `-v` and `-R` evaluate the index of a variable.
fn test(name: &str, arguments: &[Word]) -> Option<String> {
    let inner = match (name, arguments.split_last()) {
        ("[", Some((last, rest))) if last.literal().as_deref() == Some("]") => rest,
        _ => arguments,
    };
    let literals: Vec<Option<String>> = inner.iter().map(Word::literal).collect();
    let literals: Vec<Option<&str>> = literals.iter().map(Option::as_deref).collect();
    let sound = !inner.iter().any(|word| word.splits)
        && match literals.as_slice() {
            [] | [_] => true,
            [Some("!"), Some(operator), _] | [Some(operator), _] => !["-v", "-R"].contains(operator),
            [_, Some(operator), _] => {
                ["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"]
                    .contains(operator)
            }
            all => all.iter().all(|word| word.is_some_and(|word| !["-v", "-R"].contains(&word))),
        };
    (!sound).then(|| format!("{name} may evaluate what is not known beforehand"))
}

/// Lists of archives, in the usual spellings.
fn archive(name: &str, arguments: &[Word]) -> Option<String> {
    let literals: Option<Vec<String>> = arguments.iter().map(Word::literal).collect();
    let is_list = literals.is_some_and(|words| match words.as_slice() {
        [options, file] => {
            let letters = options.trim_start_matches('-');
            let lists = if name == "tar" { 't' } else { 'l' };
            let known = |c: char| if name == "tar" { "tvfzjJ".contains(c) } else { c == 'l' };
            letters.contains(lists) && letters.chars().all(known) && !file.starts_with('-')
        }
        _ => false,
    });
    (!is_list).then(|| format!("{name} may write files"))
}

fn date(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments("date", arguments, more_arguments) {
        return Some(why);
    }
    if let Some(option) = excluded(arguments, "s", &["set"]) {
        return Some(format!("date {option} may set the clock"));
    }
    let mut takes_value = false;
    for text in arguments.iter().map(|word| word.literal().unwrap_or_default()) {
        let is_value = std::mem::replace(
            &mut takes_value,
            ["-d", "-r", "-f", "--date", "--reference", "--file"].contains(&text.as_str()),
        );
        if !is_value && !text.starts_with(['-', '+']) {
            return Some("date may set the clock".to_owned());
        }
    }
    None
}

/// Commands that only print without arguments.
fn bare(name: &str, arguments: &[Word]) -> Option<String> {
    let harmless = |text: &str| match name {
        "hostname" => ["-f", "-s", "-i", "-I", "-d", "-A", "--fqdn", "--short"].contains(&text),
        "set" => {
            text.starts_with(['-', '+']) && text.len() > 1 && text.chars().skip(1).all(|c| "eux".contains(c))
                || ["-o", "pipefail", "-euo", "errexit", "nounset"].contains(&text)
        }
        "xargs" => ["-0", "-r", "-t", "-n1", "-n", "1"].contains(&text),
        _ => false,
    };
    let all = arguments.iter().all(|word| word.literal().is_some_and(|text| harmless(&text)));
    (!all).then(|| format!("{name} may change something with these arguments"))
}

/// Builtins that set variables.
fn variables(name: &str, arguments: &[Word]) -> Option<String> {
    for word in arguments {
        let Some(Piece::Text(text)) = word.pieces.first() else {
            return Some(format!("{name} gets a name that is not known beforehand"));
        };
        let option = ["-r", "-x", "-g", "-a", "-A", "-s"].contains(&text.as_str()) && word.pieces.len() == 1;
        if option && !(name == "unset" || name == "read" && text == "-a") {
            continue;
        }
        let (variable, _) = text.split_once('=').unwrap_or((text, ""));
        let is_name = !variable.is_empty() && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_known = word.pieces.len() == 1 || text.contains('=') && !word.splits;
        if !is_name || !is_known || !is_harmless_variable(variable) {
            return Some(format!("{name} {} may change what programs do", shown(text)));
        }
    }
    None
}
