//! Effects of commands on whole folders: reading, removing, replacing and filling them.

mod unpacking;

use std::borrow::Cow;
use std::cell::Cell;
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};

use super::path_pattern::JudgedPath;
use super::programs::{self, Program};
use super::shell::{Part, Piece, Word};
use super::subcommands::has;
use tau_tools::ignore_files;
pub(super) use unpacking::unpacks_here;
use unpacking::{extracts_module, takes_names};

/// The maximum number of files and folders that are checked in a search.
const MAX_ENTRIES: usize = 20_000;
/// The maximum number of entries of a small folder.
const MAX_SMALL: usize = 200;

/// Commands that read no file, and of a folder only names and sizes.
const NAMES_ONLY: [&str; 45] = [
    ":", "[", "[[", "arch", "basename", "cd", "chdir", "command", "date", "declare", "df", "dirname", "dirs",
    "du", "echo", "export", "exit", "expr", "false", "hash", "jobs", "kill", "local", "ls", "mkdir", "popd",
    "printf", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rmdir", "seq", "set",
    "shift", "sleep", "stat", "test", "touch", "true", "type", "typeset",
];
/// More such commands, which are other programs of the machine.
const NAMES_ONLY_TOO: [&str; 8] = ["tree", "find", "unset", "wait", "which", "whoami", "id", "uname"];
/// Programs that build and check a folder, and print no file that they find there.
const BUILDERS: &[&str] = tau_tools::words!(
    "bazel black bun bundle cargo clippy-driver cmake composer ctest deno dotnet eslint flake8 gofmt go gradle \
     gradlew jest make meson mvn mvnw mypy ninja npm npx pip pip3 pnpm poetry prettier pyright pytest rake ruff rustc \
     rustfmt tsc vitest yarn"
);
/// Those of them and others that rewrite the files of a folder, with the words with which they do (`!` before those with
/// which they do not), and the ends of the names of these files.
const FORMATTERS: [(&str, &str, &str); 15] = [
    ("isort", "!--check !--check-only !-c !--diff", "py pyi pyx"),
    ("black", "!--check !--diff", "py pyi ipynb"),
    ("ruff", "format --fix !--check !--diff", "py pyi ipynb"),
    ("autopep8", "-i --in-place -ir -ri", "py"),
    ("yapf", "-i --in-place -ir -ri", "py"),
    ("cargo", "fmt !--check", "rs"),
    ("go", "fmt fix", "go"),
    ("gofmt", "-w", "go"),
    ("goimports", "-w", "go"),
    ("prettier", "--write -w", ""),
    ("eslint", "--fix", ""),
    ("biome", "--write --fix --apply", ""),
    ("deno", "fmt !--check", ""),
    ("rubocop", "-a -A -x --auto-correct --autocorrect --autocorrect-all", "rb rake"),
    ("terraform", "fmt !-check", "tf tfvars"),
];
/// Words that may be before the program that one of [`programs::LAUNCHERS`] runs.
const LAUNCHING: &str = "run exec dlx x --";
/// Subcommands of git that read files only if they are tracked, or only name them.
const GIT_NAMES: &[&str] = tau_tools::words!(
    "add branch check-ignore commit describe diff fetch log ls-files merge pull push rebase remote \
     rev-parse show stash status switch tag"
);
/// Subcommands of git that print no contents of tracked files.
const GIT_SILENT: &[&str] = tau_tools::words!(
    "add bisect branch check-attr check-ignore check-mailmap checkout cherry-pick clean clone commit \
     config count-objects describe fetch gc init ls-files ls-remote ls-tree merge merge-base mv pull \
     push rebase remote reset rev-parse rm show-ref switch tag worktree"
);
/// Subcommands of git that print such contents with some options.
const GIT_LOGS: [&str; 4] = ["log", "reflog", "rev-list", "shortlog"];
/// Options of those subcommands that print none.
const GIT_LOG_OPTIONS: &[&str] = tau_tools::words!(
    "--abbrev --after --all --author --before --branches --cherry --committer --count --date --decorate \
     --diff-filter --dirstat --first-parent --follow --format --graph --grep --left-right --max-count \
     --merges --name- --no-color --no-decorate --no-merges --no-patch --no-renames --numstat --oneline \
     --pretty --raw --relative-date --remotes --reverse --shortstat --simplify --since --skip --stat \
     --summary --tags --topo-order --until -n -s"
);
/// Programs that search a folder, the working directory by default, and whether they skip hidden and ignored
/// files.
const SEARCHERS: [(&str, bool); 10] = [
    ("rg", true),
    ("ag", true),
    ("ack", false),
    ("ugrep", false),
    ("grep", false),
    ("egrep", false),
    ("fgrep", false),
    ("rgrep", false),
    ("zgrep", false),
    ("pcregrep", false),
];
/// Programs that remove, move or replace their operands, including whole folders.
const REPLACING: &[&str] = tau_tools::words!(
    "chmod chown chgrp gio ln mv rename rm rmdir rsync shred srm trash trash-put truncate unlink"
);
/// Programs that put many files into a folder.
const FILLING: [&str; 20] = [
    "7z", "ar", "bsdtar", "cp", "cpio", "docker", "dpkg", "dpkg-deb", "git", "install", "kubectl", "patch",
    "podman", "rar", "rsync", "scp", "stow", "tar", "unzip", "zip",
];

/// The program of a part, without its folder.
pub(super) fn program(part: &Part) -> Cow<'_, str> {
    programs::name(&part.words).unwrap_or_default()
}

/// Whether a part runs the commands of a file in the shell.
pub(super) fn sources(part: &Part) -> bool {
    part.words.first().and_then(Word::literal).is_some_and(|name| has("source .", &name))
}

/// Whether a part only puts files into the index of git.
pub(super) fn stages(part: &Part) -> bool {
    program(part) == "git" && git_subcommand(part).is_some_and(|word| has("add stage", &word))
}

/// The literal arguments of a part.
fn arguments(part: &Part) -> impl Iterator<Item = Cow<'_, str>> {
    part.words.iter().skip(1).filter_map(Word::literal)
}

fn git_subcommand(part: &Part) -> Option<Cow<'_, str>> {
    let (places, _) = Program::find_by_name("git")?.subcommand(&part.words);
    part.words.get(places.start).and_then(Word::literal)
}

/// Whether a part may print git's contents of tracked files that it does not name.
pub(super) fn shows_tracked_files(part: &Part) -> bool {
    if program(part) != "git" {
        return false;
    }
    let Some(subcommand) = git_subcommand(part) else { return true };
    let mut options = arguments(part).take_while(|word| word != "--").filter(|word| word.starts_with('-'));
    let is_silent = |option: Cow<'_, str>| {
        let known = GIT_LOG_OPTIONS.iter().any(|silent| option.starts_with(silent));
        known || option.get(1..).is_some_and(|count| count.parse::<u32>().is_ok())
    };
    match subcommand.as_ref() {
        "status" => options.any(|option| option.starts_with("-v") || option.starts_with("--v")),
        logs if GIT_LOGS.contains(&logs) => part.more_arguments || !options.all(is_silent),
        // It runs `git log` with these options.
        "bisect" if arguments(part).any(|word| has("view visualize", &word)) => !options.all(is_silent),
        "add" | "checkout" | "commit" | "reset" => options.any(|option| {
            let is = |long: &str, least: usize| option.len() >= least && long.starts_with(&*option);
            let mut flags = option.chars().skip(1).take_while(|c| !"-mFCctbBSu".contains(*c));
            is("--patch", 5)
                || is("--interactive", 4)
                || flags.any(|c| c == 'p' || c == 'i' && subcommand == "add")
        }),
        other => !GIT_SILENT.contains(&other),
    }
}

/// Whether a part reads no file that its words name, or that is in a folder they name.
pub(super) fn reads_names_only(part: &Part) -> bool {
    let name = program(part);
    part.words.is_empty()
        || NAMES_ONLY.contains(&name.as_ref())
        || NAMES_ONLY_TOO.contains(&name.as_ref())
        || name == "rm"
}

/// Whether a part, which only reads, prints nothing of the files that it reads but names, figures or lines that match.
pub(super) fn prints_no_contents(part: &Part) -> bool {
    let name = program(part);
    reads_names_only(part) || has("git wc file", &name) || SEARCHERS.iter().any(|(it, _)| *it == name)
}

/// Whether a part tells facts of files by its exit code, and prints nothing.
pub(super) fn asks_about_files(part: &Part) -> bool {
    has("test [", &program(part))
}

/// The ends of the names of the files of a folder that a part changes without printing them; empty if of any.
pub(super) fn rewritten_files(part: &Part) -> Option<&'static str> {
    let name = builder(part);
    let (_, words, ends) = FORMATTERS.iter().find(|(formatter, ..)| *formatter == name)?;
    let is_given = |word: &str| arguments(part).any(|text| text == word);
    let mut needed = words.split(' ').filter(|word| !word.starts_with('!')).peekable();
    let is_needed = needed.peek().is_none() || needed.any(is_given);
    let is_refused = words.split(' ').filter_map(|word| word.strip_prefix('!')).any(is_given);
    (is_needed && !is_refused).then_some(*ends)
}

/// The program of a part, or the module that Python runs, or what a package manager starts.
fn builder(part: &Part) -> Cow<'_, str> {
    let name = program(part);
    let mut words = arguments(part);
    if programs::is_same(&name, "python") {
        return words.next().filter(|word| word == "-m").and_then(|_| words.next()).unwrap_or(name);
    }
    let is_launched = |word: &Cow<'_, str>| !has(LAUNCHING, word) && !word.starts_with('-');
    let launched = words.find(is_launched).filter(|_| has(programs::LAUNCHERS, &name));
    launched.filter(|word| FORMATTERS.iter().any(|(formatter, ..)| *formatter == *word)).unwrap_or(name)
}

/// Whether a part does nothing with the content of a folder that it names.
pub(super) fn leaves_folders(part: &Part) -> bool {
    let name = program(part);
    let flags = || arguments(part).filter(|word| word.starts_with('-'));
    let has = |letters: &str, long: &str| {
        flags().any(|word| {
            if let Some(name) = word.strip_prefix("--") {
                // Options may be abbreviated.
                let name = name.split_once('=').map_or(name, |(name, _)| name);
                !long.is_empty()
                    && !name.is_empty()
                    && (word.starts_with(long) || long.trim_start_matches('-').starts_with(name))
            } else {
                word.contains(|c| letters.contains(c))
            }
        })
    };
    match name.as_ref() {
        "git" => {
            let subcommand = git_subcommand(part).unwrap_or_default();
            let compares = subcommand == "diff";
            let unstages = subcommand == "restore" && has("S", "--staged") && !has("W", "--worktree");
            let starts = || part.words.iter().filter_map(|word| word.pieces.first().and_then(Piece::text));
            let is_of_other_tree = || starts().any(|text| text.starts_with("--work-tree"));
            let adds_ignored = ["add", "stage"].contains(&subcommand.as_ref())
                && (has("f", "--force") || is_of_other_tree());
            (unstages || GIT_NAMES.contains(&subcommand.as_ref()))
                && !adds_ignored
                && !has("", "--no-index")
                && !(compares && part.words.iter().skip(1).any(may_lead_out))
        }
        "cat" | "head" | "tail" | "wc" | "nl" | "sed" | "awk" | "less" | "file" | "sort" | "cut" | "jq" => {
            true
        }
        "grep" | "egrep" | "fgrep" | "zgrep" => !has("rRd", "--recursive") && !has("", "--d"),
        "cp" | "scp" => !has("aRrd", "--recursive") && !has("", "--archive"),
        _ => {
            reads_names_only(part) && name != "rm"
                || BUILDERS.contains(&builder(part).as_ref())
                    && rewritten_files(part).is_none()
                    && !publishes(part)
        }
    }
}

/// Whether a part puts all of a folder into a package.
fn publishes(part: &Part) -> bool {
    has("npm pnpm yarn", &program(part)) && arguments(part).any(|word| has("pack publish", &word))
}

/// Whether a word may name something outside of the working directory. Git compares files that it does not track
/// when one of them is.
fn may_lead_out(word: &Word) -> bool {
    let Some(text) = word.literal() else { return true };
    text.starts_with(['/', '~']) || text.split('/').any(|name| name == "..")
}

/// Whether a part removes, moves or replaces the folders that it names, or folders below the working
/// directory.
pub(super) fn replaces_folders(part: &Part) -> bool {
    let name = program(part);
    match name.as_ref() {
        "find" => removes_found_files(part),
        "git" => git_subcommand(part).is_some_and(|word| ["clean", "rm", "mv"].contains(&word.as_ref())),
        _ => REPLACING.contains(&name.as_ref()),
    }
}

/// Whether a part removes what it finds in the folders that it names.
pub(super) fn removes_found_files(part: &Part) -> bool {
    program(part) == "find" && arguments(part).any(|word| word == "-delete")
}

/// Whether a part may put files that it does not name into the folders that it names.
pub(super) fn fills_folders(part: &Part) -> bool {
    FILLING.contains(&program(part).as_ref()) && !leaves_folders(part)
        || extracts_module(part)
        || takes_names(part)
}

/// Whether a part may make a folder with files in it of one that it names.
pub(super) fn makes_folders(part: &Part, is_there: bool) -> bool {
    let name = program(part);
    let is_git = name == "git";
    let moves = ["mv", "ln", "rename", "rsync"].contains(&name.as_ref());
    let fills = FILLING.contains(&name.as_ref()) && !is_git && !(is_there && leaves_folders(part));
    moves || fills || is_git && git_subcommand(part).is_some_and(|word| word == "mv")
}

/// The files that a part reads although they are hidden or ignored, as patterns of rg; `None` if it reads all of them.
fn hidden_files(part: &Part) -> Option<Vec<String>> {
    let name = program(part);
    let configures = |name: &String| name == "RIPGREP_CONFIG_PATH";
    let is_configured = name == "rg"
        && (part.assigned.iter().any(configures) || std::env::var_os("RIPGREP_CONFIG_PATH").is_some())
        && !arguments(part).any(|word| word == "--no-config");
    if !SEARCHERS.contains(&(name.as_ref(), true)) || part.more_arguments || is_configured {
        return None;
    }
    const WIDE: [&str; 6] = ["hid", "no-ig", "unr", "all", "type-add", "ignore-file"];
    let valued = if name == "rg" { "ABCEMTdefgjmrt" } else { "ABCGWgmp" };
    let mut globs = Vec::new();
    let mut words = part.words.iter().skip(1);
    while let Some(word) = words.next() {
        // An unknown end is the value of an option, or a part of it.
        let start = || word.pieces.first().and_then(Piece::text).unwrap_or_default();
        let text = word.literal().unwrap_or_else(|| start().into());
        if text == "--" {
            break;
        }
        let value = if let Some(long) = text.strip_prefix("--") {
            let (long, value) =
                long.split_once('=').map_or((long, None), |(long, value)| (long, Some(value)));
            if WIDE.iter().any(|wide| long.starts_with(wide)) && long != "ignore-file-case-insensitive" {
                return None;
            }
            has("glob iglob", long).then_some(value)
        } else if let Some(letters) = text.strip_prefix('-') {
            let at = letters.find(|c| valued.contains(c)).unwrap_or(letters.len());
            let (flags, option) = letters.split_at_checked(at)?;
            if flags.contains(['u', '.', 'a', 'U']) || name == "ag" && option.starts_with('G') {
                return None;
            }
            let value = option.strip_prefix('g').filter(|_| name == "rg");
            value.map(|value| Some(value.trim_start_matches('=')).filter(|value| !value.is_empty()))
        } else {
            None
        };
        let Some(value) = value else { continue };
        if value.is_some() && word.literal().is_none() {
            return None;
        }
        let value = value.map(str::to_owned).or_else(|| words.next()?.literal().map(Cow::into_owned))?;
        globs.extend(Some(value).filter(|value| !value.starts_with('!')));
    }
    Some(globs)
}

/// Whether a part searches the working directory because it names nothing else.
pub(super) fn searches_here(part: &Part, is_there: impl Fn(&Word) -> bool) -> bool {
    let name = program(part);
    if name == "git" {
        return git_subcommand(part).is_some_and(|word| word == "grep")
            && arguments(part).any(|word| word.starts_with("--no-in") || word.starts_with("--unt"));
    }
    if rewritten_files(part).is_some() {
        let (builder, format) = (builder(part), |word: &str| has("fmt format fix check", word));
        let is_operand = |word: &str| !word.starts_with('-') && word != builder && !format(word);
        return !arguments(part).any(|word| is_operand(&word) && !has(LAUNCHING, &word) && word != "-m");
    }
    if !SEARCHERS.iter().any(|(searcher, _)| *searcher == name) || leaves_folders(part) || part.more_arguments
    {
        return false;
    }
    let valued = if name.ends_with("grep") { "ABCmefdD" } else { "ABCmgtTefdEjrM" };
    let (mut operands, mut is_value, mut pattern) = (Vec::new(), false, true);
    for word in part.words.iter().skip(1) {
        let text = word.literal().unwrap_or_default();
        if std::mem::take(&mut is_value) {
            continue;
        }
        if text.starts_with("--") {
            is_value = !text.contains('=')
                && ["--glob", "--iglob", "--type", "--ignore-file", "--regexp", "--file", "--max"]
                    .iter()
                    .any(|long| text.starts_with(long));
            pattern &= !(text.starts_with("--regexp") || text.starts_with("--file"));
        } else if text.starts_with('-') && text.len() > 1 {
            is_value = text.ends_with(|c| valued.contains(c));
            pattern &= !text.contains(['e', 'f']);
        } else {
            operands.push(word);
        }
    }
    // An unquoted substitution or variable may be empty, and name nothing.
    let may_vanish =
        |word: &Word| word.splits && word.pieces.iter().all(|it| it.text().is_none_or(str::is_empty));
    !operands.into_iter().skip(usize::from(pattern)).any(|word| !may_vanish(word) && is_there(word))
}

/// Whether a part serves files to others; then whether it names the folder with them.
pub(super) fn serves(part: &Part, is_there: impl Fn(&Word) -> bool) -> Option<bool> {
    const SERVERS: &str = "serve http-server live-server servor httpd file-server miniserve simple-http-server dufs webfsd \
                           darkhttpd http.server SimpleHTTPServer RangeHTTPServer uploadserver updog twistd sirv \
                           browser-sync static-web-server local-web-server";
    const LAUNCHERS: &str = "npx bunx pnpx npm pnpm yarn bun deno uvx pipx uv ruby caddy";
    let name = program(part);
    let is_server = |text: &str| {
        let package = text.get(1..).and_then(|rest| rest.find('@')).and_then(|at| text.get(..=at));
        has(SERVERS, package.unwrap_or(text))
    };
    let is_launcher = || has(LAUNCHERS, &name) || programs::is_same(&name, "python");
    let serves = has(SERVERS, &name)
        || is_launcher() && arguments(part).any(|word| is_server(&word))
        || name == "php" && arguments(part).any(|word| word.starts_with("-S"));
    let names = |word: &Word| {
        !word.literal().is_some_and(|text| is_server(&text) || has(". ./", &text)) && is_there(word)
    };
    serves.then(|| part.words.iter().skip(1).any(names))
}

/// How a part takes all files of the working directory: it serves them, packs what its input names, or puts ignored
/// ones into the repository. `None` if it does not, or names other folders.
pub(super) fn takes_here(part: &Part, is_there: impl Fn(&Word) -> bool) -> Option<Search> {
    let name = program(part);
    let is = |words: &str| arguments(part).any(|word| has(words, &word));
    let letter = |letters: &[char]| {
        arguments(part).any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
    };
    if let Some(names) = serves(part, is_there) {
        return (!names).then(Search::default);
    }
    let takes = match name.as_ref() {
        "cpio" => letter(&['o', 'p']) || is("--create --pass-through"),
        "pax" => letter(&['w']),
        "zip" => is("-@ --names-stdin"),
        "tar" | "bsdtar" => {
            let pairs = arguments(part).zip(arguments(part).skip(1));
            pairs
                .into_iter()
                .any(|(option, value)| value == "-" && (option.ends_with('T') || option == "--files-from"))
                || is("--files-from=- -T-")
        }
        "rsync" => is("--files-from=-"),
        "git" => match git_subcommand(part).as_deref() {
            Some("add" | "stage") => {
                let long =
                    |name: &str| arguments(part).any(|word| word.len() > 2 && name.starts_with(&*word));
                // Patterns of git are about files in all folders below.
                let is_wide = |word: Cow<'_, str>| word.starts_with(':') || word.contains(['*', '?', '[']);
                (letter(&['f']) || long("--force"))
                    && (is(". ./") || letter(&['A']) || long("--all") || arguments(part).any(is_wide))
            }
            Some("stash") => letter(&['a']) || is("--all"),
            _ => false,
        },
        _ => false,
    };
    takes.then(Search::default)
}

/// A folder has too many entries to check all of them.
#[derive(Debug)]
pub(super) struct TooMuch;

/// The number of entries that were looked at, in all folders of a call together.
#[derive(Debug, Default)]
pub(super) struct EntriesSeen(Cell<usize>);

impl EntriesSeen {
    /// Counts one; whether it may be looked at.
    pub(super) fn count(&self) -> bool {
        self.0.set(self.0.get().saturating_add(1));
        self.0.get() <= 2 * MAX_ENTRIES
    }
}

/// How a folder is searched.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Whether hidden and ignored files are skipped, except those that the patterns choose.
    skips_hidden: bool,
    /// The files that are read, hidden or not, if there are any patterns.
    chosen: Option<Override>,
    /// Whether links are not followed.
    skips_links: bool,
    /// The ends of the names of the files that count, if not of all.
    ends: &'static str,
}

impl Search {
    /// How a part searches the folders that it names.
    pub(super) fn of(part: &Part) -> Self {
        let name = program(part);
        let follows = |word: Cow<'_, str>| {
            word.starts_with("--deref")
                || word.starts_with("--follow")
                || word.starts_with('-') && !word.starts_with("--") && word.contains(['R', 'L', 'S', 'f'])
        };
        let is_known = SEARCHERS.iter().any(|(searcher, _)| *searcher == name) && !part.more_arguments;
        let skips_links = is_known && name != "rgrep" && !arguments(part).any(follows);
        let globs = hidden_files(part);
        let chosen = globs.as_ref().filter(|globs| !globs.is_empty()).map(|globs| chosen_files(globs));
        let ends = rewritten_files(part).unwrap_or_default();
        Search { skips_hidden: globs.is_some(), chosen, skips_links, ends }
    }

    fn counts(&self, path: &Path) -> bool {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        self.ends.is_empty() || has(self.ends, end)
    }

    /// Whether the folders with keys in a home directory are skipped, which are hidden.
    pub(super) fn skips_keys(&self) -> bool {
        const HOLDING: [&str; 6] = [".ssh", ".aws", ".gnupg", ".config", ".kube", ".netrc"];
        let is_chosen =
            |chosen: &Override| HOLDING.iter().any(|name| chosen.matched(name, true).is_whitelist());
        self.skips_hidden && !self.chosen.as_ref().is_some_and(is_chosen)
    }
}

/// The files that patterns of rg choose, by the last name alone where it has a folder: where that begins is unknown.
fn chosen_files(globs: &[String]) -> Override {
    let mut builder = OverrideBuilder::new("/");
    builder.case_insensitive(true).ok();
    for glob in globs {
        let last = glob.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        // A list that began before.
        let is_list = last.matches('{').count() != last.matches('}').count();
        builder.add(if is_list || last == "**" { "*" } else { last }).ok();
    }
    builder.build().unwrap_or_else(|_| Override::empty())
}

/// Whether a small folder contains nothing that satisfies `is_sought`, including hidden and ignored files.
fn holds_none(folder: &Path, real: &Path, is_sought: &impl Fn(&JudgedPath) -> bool) -> bool {
    let (mut folders, mut count) = (vec![PathBuf::new()], 0_usize);
    let plain = super::path_pattern::normalise(folder);
    while let Some(below) = folders.pop() {
        let Ok(entries) = folder.join(&below).read_dir() else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let Ok(kind) = entry.file_type() else { return false };
            count += 1;
            if count > MAX_SMALL {
                return false;
            }
            let below = below.join(entry.file_name());
            let judged = JudgedPath { plain: plain.join(&below), real: real.join(&below) };
            if !kind.is_symlink() && is_sought(&judged) {
                return false;
            }
            if kind.is_dir() {
                folders.push(below);
            }
        }
    }
    true
}

/// The first file in a folder that satisfies `is_sought`. Fails when there are too many files to check.
pub(super) fn find(
    folder: &Path,
    search: &Search,
    seen: &EntriesSeen,
    is_sought: impl Fn(&JudgedPath) -> bool,
) -> Result<Option<PathBuf>, TooMuch> {
    let real = super::links::follow_links(folder);
    // Reading the ignore rules takes longer than checking a small folder.
    if search.skips_hidden && search.skips_links && holds_none(folder, &real, &is_sought) {
        return Ok(None);
    }
    let mut walk = match search.skips_hidden {
        true => ignore_files::walk(folder),
        false => ignore::WalkBuilder::new(folder),
    };
    if search.skips_hidden {
        walk.add_custom_ignore_filename(".rgignore");
        walk.overrides(search.chosen.clone().unwrap_or_else(Override::empty));
        walk.filter_entry(|entry| entry.depth() == 0 || ignore_files::enters(entry));
    } else {
        walk.standard_filters(false);
    }
    walk.follow_links(!search.skips_links);
    for (count, entry) in walk.build().filter_map(Result::ok).enumerate() {
        if count > MAX_ENTRIES || !seen.count() {
            // The user is asked, whatever is in others.
            seen.0.set(usize::MAX);
            return Err(TooMuch);
        }
        let path = entry.path();
        let judged = if entry.path_is_symlink() {
            if search.skips_links {
                continue;
            }
            JudgedPath::new(path)
        } else {
            let below = path.strip_prefix(folder).unwrap_or(path);
            JudgedPath { plain: super::path_pattern::normalise(path), real: real.join(below) }
        };
        if entry.depth() > 0 && search.counts(path) && is_sought(&judged) {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}
