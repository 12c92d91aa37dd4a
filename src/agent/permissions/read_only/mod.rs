//! Commands known to be read-only, without the options that write or run something.
//!
//! A command that is not listed here is not considered harmful; it needs approval. An option is excluded in
//! every form that its program accepts: in a cluster of short ones, abbreviated, or with its value attached.

mod builtins;
mod forms;
mod git;
mod git_config;
mod programs;
mod repository;
mod scripts;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::path_pattern::JudgedPath;
use super::shell::{Part, Piece, Word};
use tau_tools::words;

pub(super) use builtins::{evaluates, only_sets};
pub(super) use repository::{NotKnown, find_tracked_file, objection_when_hardened};
pub(super) use scripts::{sed_edits_only, sed_runs_input};

/// The environment that a command runs in.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// The folders that it may run in; `None` if unknown.
    pub directories: Option<&'a [PathBuf]>,
    pub workspace: &'a JudgedPath,
    pub home: Option<&'a Path>,
}

/// A command with excluded options.
struct Reader {
    name: &'static str,
    /// Short options, as letters.
    short: &'static str,
    /// Long options, without dashes.
    long: &'static [&'static str],
    /// The maximum number of operands; the next one would be written to.
    operands: usize,
}

const fn without(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Reader {
    Reader { name, short, long, operands: usize::MAX }
}

/// Programs without such options.
const PLAIN_READERS: &[&str] = words!(
    "ls cat head tail wc nl tac rev cut tr paste join comm column fold fmt expand unexpand pr od \
     hexdump strings stat du df basename dirname realpath readlink which whoami id groups uname \
     uptime nproc ps free printenv seq expr sleep md5sum sha1sum sha224sum sha256sum sha384sum \
     sha512sum b2sum cksum sum cmp grep egrep fgrep lscpu lsblk logname tsort dir vdir eza factor \
     numfmt zipinfo cal locale tty who last whereis pgrep yes bc readelf jq"
);

const READERS: [Reader; 18] = [
    without("nm", "", &["plugin"]),
    without("size", "", &["plugin"]),
    without("objdump", "", &["plugin"]),
    without("shuf", "o", &["output"]),
    without("diff3", "", &["diff-program"]),
    // A suffix changes the name of a file.
    without("zcat", "S", &["suffix"]),
    without("base64", "o", &["output"]),
    without("diff", "l", &["paginate"]),
    without("getconf", "v", &[]),
    without("file", "CzZ", &["compile", "uncompress", "uncompress-noreport"]),
    without("sort", "oT", &["output", "compress-program", "temporary-directory"]),
    without("rg", "z", &["pre", "pre-glob", "hostname-bin", "search-zip"]),
    without("fd", "xXl", &["exec", "exec-batch", "list-details"]),
    without("fdfind", "xXl", &["exec", "exec-batch", "list-details"]),
    without("tree", "oR", &["output"]),
    // With operands it runs them on some systems.
    Reader { operands: 0, ..without("arch", "", &[]) },
    Reader { operands: 1, ..without("uniq", "", &[]) },
    Reader { operands: 1, ..without("xxd", "r", &["revert"]) },
];

/// Variables that only change the output of later commands.
const HARMLESS: &[&str] = tau_tools::words!(
    "LANG LANGUAGE TZ NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS LINES TERM RUST_BACKTRACE \
     RUST_LOG CARGO_TERM_COLOR DEBUG CI"
);

/// Whether it affects nothing about programs except their output.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    let proxies = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];
    let is_own = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.contains(|c: char| c.is_ascii_uppercase())
        && !name.starts_with("npm_config");
    is_own && !proxies.contains(&name) || HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// The reason a simple command may not be read-only; `None` if it is. Redirections are not checked.
pub(super) fn objection(part: &Part, surroundings: &Surroundings<'_>) -> Option<String> {
    let is_of_shell = part.words.is_empty() && part.shell.is_empty();
    let is_plain = |name: &&String| {
        is_harmless_variable(name)
            || forms::shows_at_once(name, part)
            // It splits what is read, and nothing else.
            || *name == "IFS" && part.outer.is_empty() && part.words.first().is_some_and(|word| word.literal().as_deref() == Some("read"))
            || is_of_shell && builtins::stays_in_shell(name)
    };
    if let Some(name) = part.assigned.iter().find(|name| !is_plain(name)) {
        return Some(format!("it sets {name}, which may change what programs do"));
    }
    let is_inner = !part.outer.is_empty();
    objection_to_words(&part.words, part.more_arguments, is_inner, is_of_find(part), surroundings)
}

/// The objection to a command without its variables. `is_inner` says whether another one runs it, `is_of_find` whether
/// that is find, which gives it names that begin with the folder that it searches: they are no options.
fn objection_to_words(
    words: &[Word],
    more_arguments: bool,
    is_inner: bool,
    is_of_find: bool,
    surroundings: &Surroundings<'_>,
) -> Option<String> {
    let first = words.first()?;
    let Some(name) = first.literal() else {
        return Some("the name of the command is only known when it runs".to_owned());
    };
    // A path may lead to anything; only the usual directories are trusted.
    let plain = ["/bin/", "/usr/bin/"].iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(&name);
    let arguments = words.get(1..).unwrap_or_default();
    let is_reader = || PLAIN_READERS.contains(&plain) || READERS.iter().any(|reader| reader.name == plain);
    if more_arguments
        && !is_reader()
        && !builtins::is_known(plain)
        && !["git", "sed", "awk", "gawk", "mawk", "find", "date"].contains(&plain)
    {
        return Some(format!("{} gets arguments that are only known when it runs", display_name(&name)));
    }
    // Under `find -exec` and similar commands a builtin is a program.
    if (!builtins::is_known(plain) || is_inner)
        && !plain.contains('/')
        && plain == name
        && programs::is_of_workspace(plain, surroundings)
    {
        return Some(format!("{} is a program of the workspace", display_name(&name)));
    }
    let literals = || arguments.iter().map(Word::literal).collect::<Option<Vec<Cow<'_, str>>>>();
    if !more_arguments
        && forms::is_listed(plain)
        && let Some(words) = literals().filter(|words| forms::reads(plain, words))
    {
        let chosen_by: &[&str] = if plain == "cargo" { &programs::CARGO_FILES } else { &[] };
        if let Some(judged) =
            programs::version(plain, words.first().map_or("", |word| word.as_ref()), surroundings)
        {
            return judged.err().map(String::from);
        }
        return programs::is_the_user_s(plain, chosen_by, surroundings).err().map(String::from);
    }
    match plain {
        "git" => git::objection(arguments, more_arguments, surroundings),
        "sed" => scripts::sed(&given_arguments(arguments, is_of_find), more_arguments && !is_of_find),
        "awk" | "gawk" | "mawk" => {
            scripts::awk(&given_arguments(arguments, is_of_find), more_arguments && !is_of_find)
        }
        "find" => find(arguments, more_arguments),
        "tar" | "unzip" => archive(plain, arguments),
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" => {
            compression_objection(plain, arguments)
        }
        "date" => date(arguments, more_arguments),
        "hostname" | "env" | "xargs" => bare(plain, arguments),
        _ if builtins::is_known(plain) => builtins::objection(plain, arguments, more_arguments),
        _ if PLAIN_READERS.contains(&plain) => None,
        _ => {
            if let Some(reader) = READERS.iter().find(|reader| reader.name == plain) {
                return reader.objection(arguments, more_arguments);
            }
            let only = match arguments {
                [only] if !more_arguments => only.literal(),
                _ => None,
            };
            let literals = literals().filter(|_| plain == "cargo" && !more_arguments);
            if let Some(judged) = literals.and_then(|words| programs::cargo_metadata(&words, surroundings)) {
                return judged.err().map(String::from);
            }
            if let Some(judged) = only.and_then(|only| programs::version(plain, &only, surroundings)) {
                return judged.err().map(String::from);
            }
            Some(format!("{} may change something", display_name(&name)))
        }
    }
}

/// Whether find runs a part where it searches.
fn is_of_find(part: &Part) -> bool {
    let is_find =
        |(words, _): &(Vec<Word>, usize)| words.first().and_then(Word::literal).as_deref() == Some("find");
    !part.elsewhere && part.outer.last().is_some_and(is_find)
}

/// Arguments of which `{}` is a word of its own that is no option, if find replaces it.
fn given_arguments(arguments: &[Word], is_of_find: bool) -> Cow<'_, [Word]> {
    if !is_of_find {
        return Cow::Borrowed(arguments);
    }
    let is_found =
        |word: &Word| matches!(word.pieces.as_slice(), [Piece::Text(text), Piece::Unknown] if text == "{}");
    let mut words = arguments.to_vec();
    words.iter_mut().filter(|word| is_found(word)).for_each(|word| word.splits = false);
    Cow::Owned(words)
}

/// Surroundings in which nothing is.
static NOWHERE: LazyLock<JudgedPath> = LazyLock::new(|| JudgedPath::new(Path::new("/dev/null")));

fn nowhere() -> Surroundings<'static> {
    Surroundings { directories: Some(&[]), workspace: &NOWHERE, home: None }
}

/// Whether a part is read-only by its words alone, wherever it runs.
pub(super) fn only_reads(part: &Part) -> bool {
    objection(part, &nowhere()).is_none()
}

/// Like [`only_reads`], for the words of a command.
pub(super) fn only_read(words: &[Word], more_arguments: bool) -> bool {
    objection_to_words(words, more_arguments, false, false, &nowhere()).is_none()
}

/// Whether a part without an objection cannot run another program, whatever its arguments, its files or the
/// settings of the folder are: a builtin, or a program of the system that starts no other. For kernels that
/// cannot confine commands.
pub(super) fn runs_nothing_else(part: &Part) -> bool {
    const ALONE: &[&str] = tau_tools::words!(
        ": [ arch b2sum basename break cat cd cksum cmp comm continue cut date df dirname du echo exit \
         expand expr false fmt fold grep groups head id join logname ls md5sum nl nproc od paste pr \
         printenv printf pwd readlink realpath return seq sha1sum sha224sum sha256sum sha384sum \
         sha512sum sleep stat sum tac tail test tr true tsort type uname uniq wc"
    );
    let Some(first) = part.words.first() else { return part.outer.is_empty() };
    let name = first.literal().unwrap_or_default();
    let plain = ["/bin/", "/usr/bin/"].iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(&name);
    part.outer.is_empty() && !part.more_arguments && ALONE.contains(&plain)
}

/// A name for a sentence.
fn display_name(name: &str) -> String {
    name.chars().take(60).filter(|c| !c.is_control()).collect()
}

impl Reader {
    fn objection(&self, arguments: &[Word], more_arguments: bool) -> Option<String> {
        if more_arguments {
            return Some(format!("{} gets arguments that are only known when it runs", self.name));
        }
        if let Some(option) = excluded_option(arguments, self.short, self.long) {
            return Some(format!("{} may write or run something with {option}", self.name));
        }
        // Not every program supports options after operands, or `--`.
        let is_option = |word: &&Word| {
            word.literal().is_some_and(|text| text.len() > 1 && text.starts_with('-') && text != "--")
        };
        let mut operands = arguments.iter().skip_while(is_option).peekable();
        operands.next_if(|word| word.literal().as_deref() == Some("--"));
        let many = |word: &Word| word.splits || word.has_glob();
        let count = operands.map(|word| if many(word) { 2 } else { 1 }).fold(0_usize, usize::saturating_add);
        (count > self.operands).then(|| format!("{} may write to its second file", self.name))
    }
}

/// The first argument that is, or may be, an excluded option. Arguments after `--` are not options, unless it
/// is itself the value of an option.
fn excluded_option(arguments: &[Word], short: &str, long: &[&str]) -> Option<String> {
    let mut may_be_value = false;
    for word in arguments {
        let is_value =
            std::mem::replace(&mut may_be_value, word.literal().is_none_or(|text| text.starts_with('-')));
        let Some(text) = word.literal() else {
            if word.may_be_option() {
                return Some("an argument that is only known when it runs".to_owned());
            }
            continue;
        };
        if text == "--" {
            if is_value {
                continue;
            }
            return None;
        }
        if let Some(name) = text.strip_prefix("--") {
            let name = name.split('=').next().unwrap_or_default();
            if long.iter().any(|long| long.starts_with(name)) {
                return Some(display_name(&text));
            }
        } else if let Some(letters) =
            text.strip_prefix('-').filter(|letters| letters.contains(|c| short.contains(c)))
        {
            return Some(format!("-{}", display_name(letters)));
        }
    }
    None
}

fn unknown_arguments_objection(name: &str, arguments: &[Word], more_arguments: bool) -> Option<String> {
    let unknown = more_arguments || arguments.iter().any(Word::may_be_option_unknown);
    unknown.then(|| format!("{name} gets arguments that are only known when it runs"))
}

impl Word {
    /// Whether it is an unknown word that may be an option.
    pub(super) fn may_be_option_unknown(&self) -> bool {
        self.literal().is_none() && self.may_be_option()
    }
}

/// Allowed arguments of find besides its search criteria; those in the second list take a word. The commands
/// of `-exec` and `-execdir` are parts of their own.
const FIND_FLAGS: &[&str] = tau_tools::words!(
    "-a -and -o -or -not -true -false -empty -readable -writable -executable -daystart -depth -follow \
     -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -warn -nowarn -nogroup -nouser \
     -print -print0 -ls -prune -quit -help -version -H -L -P -E -O3"
);
const FIND_VALUED: &[&str] = tau_tools::words!(
    "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type \
     -xtype -size -perm -user -group -uid -gid -links -inum -samefile -mtime -atime -ctime -mmin -amin \
     -cmin -newer -maxdepth -mindepth -used -fstype -printf"
);

fn find(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments_objection("find", arguments, more_arguments) {
        return Some(why);
    }
    let mut words = arguments.iter().map(|word| word.literal().unwrap_or_default());
    while let Some(text) = words.next() {
        let writes = |text: &str| {
            ["-delete", "-fprint", "-fls", "-ok", "-files0-from"].iter().any(|start| text.starts_with(start))
        };
        if ["-exec", "-execdir"].contains(&text.as_ref()) {
            words.find(|text| text == ";" || text == "+");
        } else if FIND_VALUED.contains(&text.as_ref()) || text.starts_with("-newer") && text.len() == 8 {
            // A word that looks like an action needs approval even if it is a search term.
            if let Some(value) = words.next().filter(|value| writes(value)) {
                return Some(format!("find {} may change something", display_name(&value)));
            }
        } else if text.len() > 1 && text.starts_with('-') && !FIND_FLAGS.contains(&text.as_ref()) {
            return Some(format!("find {} may change something", display_name(&text)));
        }
    }
    None
}

/// Archive commands that only list, in the usual spellings.
fn archive(name: &str, arguments: &[Word]) -> Option<String> {
    let literals: Option<Vec<Cow<'_, str>>> = arguments.iter().map(Word::literal).collect();
    let is_list = literals.is_some_and(|words| match words.as_slice() {
        [options, file] => {
            let letters = options.trim_start_matches('-');
            let lists = if name == "tar" { 't' } else { 'l' };
            let known = |c: char| if name == "tar" { "tvfzjJ".contains(c) } else { c == 'l' };
            letters.contains(lists)
                && letters.chars().all(known)
                && !file.starts_with('-')
                && !file.contains(':')
        }
        _ => false,
    });
    (!is_list).then(|| format!("{name} may write files"))
}

/// The objection to a program that compresses, unless its options only print or list.
fn compression_objection(name: &str, arguments: &[Word]) -> Option<String> {
    let literals = arguments.iter().map(Word::literal);
    let options: Option<Vec<Cow<'_, str>>> =
        literals.filter(|text| text.as_ref().is_none_or(|text| text.starts_with('-'))).collect();
    let is_known = |text: &Cow<'_, str>| text.len() > 1 && text.chars().skip(1).all(|c| "cdltvq".contains(c));
    let prints = |text: &Cow<'_, str>| text.contains(['c', 'l', 't']);
    let only_prints =
        options.is_some_and(|options| options.iter().all(is_known) && options.iter().any(prints));
    (!only_prints).then(|| format!("{name} may write files"))
}

fn date(arguments: &[Word], more_arguments: bool) -> Option<String> {
    if let Some(why) = unknown_arguments_objection("date", arguments, more_arguments) {
        return Some(why);
    }
    if let Some(option) = excluded_option(arguments, "s", &["set"]) {
        return Some(format!("date {option} may set the clock"));
    }
    let mut takes_value = false;
    for text in arguments.iter().map(|word| word.literal().unwrap_or_default()) {
        let is_value = takes_value;
        takes_value =
            !is_value && ["-d", "-r", "-f", "--date", "--reference", "--file"].contains(&text.as_ref());
        if !is_value && !text.starts_with(['-', '+']) {
            return Some("date may set the clock".to_owned());
        }
    }
    None
}

/// Commands that only print if they have no arguments.
fn bare(name: &str, arguments: &[Word]) -> Option<String> {
    let harmless = |text: &str| match name {
        "hostname" => ["-f", "-s", "-i", "-I", "-d", "-A", "--fqdn", "--short"].contains(&text),
        "xargs" => ["-0", "-r", "-t", "-n1", "-n", "1"].contains(&text),
        _ => false,
    };
    let all = arguments.iter().all(|word| word.literal().is_some_and(|text| harmless(&text)));
    (!all).then(|| format!("{name} may change something with these arguments"))
}

#[cfg(test)]
mod tests;
