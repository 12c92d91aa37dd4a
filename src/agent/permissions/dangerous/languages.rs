//! Removals by programs in other languages: `shutil.rmtree(Path.home())`, `fs.rmSync(dir, { recursive: true })`.
//!
//! The text of such a program is not parsed: the arguments of functions that remove are read as names in quotes,
//! behind a home directory, a working directory, an argument of the program or a variable that it sets.

use std::collections::BTreeSet;

use super::downloads::ADDRESSES;
use super::printing::word_of;
use super::targets::{Loss, Targets};
use super::{CommandLoss, processes, programs};
use crate::permissions::escapes;
use crate::permissions::shell::{Part, Piece, Word};
use crate::permissions::subcommands::has;

/// Functions that remove a folder with everything in it.
const REMOVING: &str = "rmtree rmtree_p remove_tree rm_rf rm_r rimraf removeSync remove_dir remove_dir_all RemoveAll \
                        emptyDir emptyDirSync deltree removeDirectoryRecursive remove_entry_secure move_to_trash send2trash";
/// Functions that do so with a `recursive` argument, or when called on every file that is found.
const PERHAPS: &str =
    "rm rmSync rmdir rmdirSync remove removeSync unlink unlinkSync rm_f delete Delete deleteSync";
/// Parts of the names of functions that remove, in languages whose calls are not read.
const VERBS: [&str; 6] = ["delete", "remove", "rmdir", "del_dir", "deltree", "trash"];
/// Languages whose calls are read, and clients of databases.
const READ: &str = "python pypy node nodejs deno bun ruby irb perl php lua luajit guile Rscript R julia elixir racket \
                    sqlite3 psql awk gawk mawk nawk";
/// Programs that run code in their own language, besides interpreters and editors.
const OTHERS: &str = "emacs emacsclient swift";
/// Functions that find everything in a folder.
const FINDING: &str = "walk rglob glob iglob globSync iterdir listdir scandir readdir readdirSync find finddepth \
                       opendir children each_child entries Walk WalkDir";
/// Parts of these names. A text without any of them is skipped.
const SIGNS: [&str; 9] =
    ["rm", "emove", "unlink", "elete", "deltree", "del_dir", "rimraf", "emptyDir", "trash"];
/// Identifiers that only join names, and do not make the folder unknown.
const JOINING: &str = "os path join Path pathlib Pathname new fs require File FileUtils Find expand_path expanduser \
                       resolve abspath realpath str String toString f r b sub my const let var Dir filepath Join io \
                       absolute file catfile catdir File Spec glob await import process env environ ENV getenv node \
                       promises getcwd cwd pwd argv ARGV sys get fetch shutil";
/// The maximum depth to which variables are followed.
const MAX_VARIABLES: usize = 4;

/// The loss if a text among the words or the input of a part removes it.
pub(super) fn find_loss(part: &Part, targets: &Targets<'_>) -> Option<CommandLoss> {
    let decoded = |text: String| [escapes::decode(&text), Some(text)].into_iter().flatten();
    let mut texts = texts(part, &SIGNS).filter(|text| may_remove(text)).flat_map(decoded).peekable();
    texts.peek()?;
    if !programs::may_run_texts(part) {
        return None;
    }
    texts.find_map(|text| {
        let program = Program { text: &text, part, targets };
        let other = || program.other_language_loss().filter(|_| runs_other_language(part));
        let loss = program.removal_loss().or_else(|| program.found_files_loss()).or_else(other)?;
        Some((format!("it removes {}", loss.what()), None))
    })
}

/// The loss if a text ends every process of a user: `os.kill(-1, 9)`, `kill 9, -1`, or those listed in `/proc`.
pub(super) fn find_ended_processes(part: &Part) -> Option<CommandLoss> {
    let ends_all = |text: &String| {
        identifiers(text).filter(|(_, name)| *name == "kill").any(|(start, name)| {
            let given = text.get(start + name.len()..).map(argument).unwrap_or_default();
            given.split([',', ' ']).any(|word| word == "-1") || processes::names_every_process(text)
        })
    };
    let mut texts = texts(part, &["kill"]).filter(ends_all);
    texts.next().filter(|_| programs::may_run_texts(part))?;
    Some((processes::EVERY_PROCESS.to_owned(), None))
}

/// The commands that a text among the words or the input of a part gives another function word by word:
/// `subprocess.run(["rm", "-rf", x])`.
pub(super) fn commands(part: &Part, targets: &Targets<'_>) -> Vec<Vec<Word>> {
    let texts: Vec<String> = texts(part, &["'", "\"", "`"]).collect();
    if texts.is_empty() || !programs::may_run_texts(part) {
        return Vec::new();
    }
    texts.iter().flat_map(|text| Program { text, part, targets }.commands()).collect()
}

/// The danger of a program in another language that evaluates what it downloads.
pub(super) fn find_evaluated_download(part: &Part) -> Option<CommandLoss> {
    let mut texts = texts(part, &ADDRESSES).filter(|text| evaluates(text));
    texts.next().filter(|_| programs::may_run_texts(part))?;
    Some(("it runs a program that it downloads, which nobody has read".to_owned(), None))
}

/// Whether a text names a function that runs a text, and is no method of another value, or gives one that runs commands
/// what it downloads.
fn evaluates(text: &str) -> bool {
    const RUNNING: &str = "system popen Popen run call check_output exec execSync shell_exec passthru qx";
    const FETCHING: [&str; 5] = ["urlopen", "urlretrieve", "requests.get", "fetch(", "file_get_contents"];
    const INCLUDING: &str = "include include_once require require_once import importScripts dofile";
    let given =
        |(start, name): (usize, &str)| text.get(start + name.len()..).map(argument).unwrap_or_default();
    let saves = identifiers(text).filter(|(_, name)| has("urlretrieve wget", name));
    let quoted = saves.flat_map(|call| given(call).split(['"', '\'']).skip(1).step_by(2));
    let saved: Vec<&str> = quoted.map(programs::base).filter(|name| !name.is_empty()).collect();
    let gives = |call: (usize, &str)| {
        let argument = given(call);
        let mut words = argument.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c));
        has(RUNNING, call.1)
            && (FETCHING.iter().any(|sign| argument.contains(sign))
                || words.any(|word| saved.contains(&word)))
            || has(INCLUDING, call.1) && argument.contains("://")
    };
    if identifiers(text).any(gives) {
        return true;
    }
    let is_plain = |start: usize| !text.get(..start).is_some_and(|before| before.ends_with('.'));
    identifiers(text).any(|(start, name)| has("eval exec instance_eval loadstring", name) && is_plain(start))
}

/// The words and the input of a part in which one of these signs occurs.
fn texts(part: &Part, signs: &'static [&str]) -> impl Iterator<Item = String> {
    let has_sign = move |text: &str| signs.iter().any(|sign| text.contains(sign));
    let is_one = move |word: &&Word| word.pieces.iter().filter_map(Piece::text).any(has_sign);
    let words = part.words.iter().skip(1).filter(is_one).map(Word::display);
    words.chain(part.texts.iter().filter(move |text| has_sign(text)).cloned())
}

/// Whether a text names a function that removes. Most do not.
pub(super) fn may_remove(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
        && identifiers(text).any(|(_, name)| has(REMOVING, name) || has(PERHAPS, name) || is_verb(name))
}

/// Whether a name says that something is removed.
fn is_verb(name: &str) -> bool {
    let lower = name.to_lowercase();
    VERBS.iter().any(|verb| lower.contains(verb))
}

/// Whether a part runs code in a language whose calls are not read.
fn runs_other_language(part: &Part) -> bool {
    programs::name(&part.words).is_some_and(|name| {
        let stem = programs::without_version(&name);
        let is_one = programs::runs_texts(&name) || programs::is_editor(&name) || has(OTHERS, stem);
        is_one && (!stem.ends_with("sh") || has("tclsh wish pwsh", stem)) && !has(READ, stem)
    })
}

/// A text that may be a program.
struct Program<'a> {
    text: &'a str,
    part: &'a Part,
    targets: &'a Targets<'a>,
}

impl Program<'_> {
    /// The loss caused by a function that removes a folder.
    fn removal_loss(&self) -> Option<Loss> {
        self.calls(|name, argument| {
            has(REMOVING, name)
                || self.is_other_name(name)
                || has(PERHAPS, name) && ["recursive", "true"].iter().any(|word| argument.contains(word))
        })
        .into_iter()
        .find_map(|expression| self.loss(expression))
    }

    /// Whether a name is that of an imported function that removes: `rmtree as r`, `require("rimraf").sync`.
    fn is_other_name(&self, name: &str) -> bool {
        let of_rimraf = || name == "sync" && self.text.contains("rimraf");
        let is_imported = || {
            let (before, _) = self.text.split_once(&format!(" as {name}")).unwrap_or_default();
            identifiers(before).last().is_some_and(|(_, imported)| has(REMOVING, imported))
        };
        of_rimraf() || is_imported()
    }

    /// The loss caused by removing every file that a function finds.
    fn found_files_loss(&self) -> Option<Loss> {
        self.calls(|name, _| has(FINDING, name))
            .into_iter()
            .find_map(|expression| self.loss(expression).filter(Loss::is_outside))
    }

    /// The loss in a language that is not read: the home directory, `/` or a folder at the top behind a word that says
    /// that something is removed.
    fn other_language_loss(&self) -> Option<Loss> {
        let of_expression = |expression: &str| {
            let bare = expression.split(|c: char| c.is_whitespace() || "()[]{},;\"'".contains(c));
            let bare = bare.filter(|text| text.starts_with(['/', '~', '$']));
            let mut words = self.words(expression, 0).into_iter().chain(bare.map(word_of));
            words.find_map(|word| self.targets.loss(&word, self.part.elsewhere).filter(Loss::is_outside))
        };
        // Between slashes it is a pattern of an editor.
        let is_pattern = |end: usize| self.text.get(end..).is_some_and(|behind| behind.starts_with('/'));
        let calls =
            identifiers(self.text).filter(|(start, name)| is_verb(name) && !is_pattern(start + name.len()));
        calls.filter_map(|(start, name)| self.parts_of_call(start, name)).flatten().find_map(of_expression)
    }

    /// The arguments of a call, and the value that it is a method of.
    fn parts_of_call(&self, start: usize, name: &str) -> Option<[&str; 2]> {
        let argument = argument(self.text.get(start + name.len()..)?);
        let receiver = self.text.get(..start)?.strip_suffix('.').map(receiver).unwrap_or_default();
        Some([argument, receiver])
    }

    /// The arguments of functions, and the values that methods are called on.
    fn calls(&self, is_sought: impl Fn(&str, &str) -> bool) -> BTreeSet<&str> {
        let calls = identifiers(self.text).filter_map(move |(start, name)| {
            let parts @ [argument, _] = self.parts_of_call(start, name)?;
            is_sought(name, argument).then_some(parts)
        });
        calls.flatten().collect()
    }

    /// The arguments of calls and the items of lists that begin with the name of a dangerous program in quotes.
    fn commands(&self) -> Vec<Vec<Word>> {
        let starts = identifiers(self.text).filter_map(|(start, name)| {
            let before = self.text.get(..start).filter(|_| super::is_dangerous(name))?;
            let quote = before.rfind(['"', '\'', '`'])?;
            let folder = before.get(quote + 1..)?;
            (folder.is_empty() || folder.starts_with('/') && folder.ends_with('/')).then_some(quote)
        });
        let command = |start: usize| {
            let rest = self.text.get(start..)?;
            let end = ends(rest, |c, depth| depth == 0 && matches!(c, ')' | ']' | '}' | ';')).next();
            let words = self.words(rest.get(..end.unwrap_or(rest.len()))?, 0);
            (words.len() > 1).then_some(words)
        };
        starts.filter_map(command).collect()
    }

    fn loss(&self, expression: &str) -> Option<Loss> {
        self.words(expression, 0).iter().find_map(|word| self.targets.loss(word, self.part.elsewhere))
    }

    /// The words that an argument may stand for.
    fn words(&self, expression: &str, depth: usize) -> Vec<Word> {
        let list = expression.trim().trim_start_matches('[').trim_end_matches(']');
        let of_argument = |argument: &str| match argument.trim().strip_prefix('[') {
            Some(inner) if depth < MAX_VARIABLES => self.words(inner, depth + 1),
            Some(_) | None => self.words_of(argument, depth),
        };
        arguments(list).into_iter().flat_map(of_argument).collect()
    }

    fn words_of(&self, argument: &str, depth: usize) -> Vec<Word> {
        let (mut names, mut bases, mut is_unknown) = (String::new(), Vec::new(), false);
        for (at, piece) in argument.split(['"', '\'', '`']).enumerate() {
            let is_quoted = at % 2 == 1;
            if is_quoted {
                if has("HOME USERPROFILE user.home", piece) {
                    bases = vec!["~".to_owned()];
                } else if let Some((head, rest)) = split_interpolation(piece) {
                    (bases, is_unknown) = self.bases(head, depth);
                    names = rest.to_owned();
                } else if !piece.is_empty() {
                    let joint = if names.is_empty() || piece.starts_with('/') { "" } else { "/" };
                    names = format!("{names}{joint}{piece}");
                }
                continue;
            }
            let (found, has_unknown) = self.bases(piece, depth);
            is_unknown |= has_unknown && names.is_empty();
            if !found.is_empty() {
                // The folder is not below what was named before it: `require("os").homedir()`.
                (bases, names) = (found, String::new());
            }
        }
        if bases.is_empty() {
            let is_whole = names.starts_with(['/', '~']);
            return if names.is_empty() || is_unknown && !is_whole {
                Vec::new()
            } else {
                vec![word_of(&names)]
            };
        }
        let joint = if names.is_empty() || names.starts_with('/') { "" } else { "/" };
        bases.into_iter().map(|base| word_of(&format!("{base}{joint}{names}"))).collect()
    }

    /// The folders that code outside quotes stands for, and whether a part of it is unknown.
    fn bases(&self, code: &str, depth: usize) -> (Vec<String>, bool) {
        let (mut found, mut is_unknown) = (Vec::new(), false);
        for (_, name) in identifiers(code) {
            let assigned = if depth < MAX_VARIABLES { assigned_value(self.text, name) } else { None };
            let lower = name.to_lowercase();
            if let Some(value) = assigned {
                found = self.words(value, depth + 1).iter().map(Word::display).collect();
                is_unknown |= found.is_empty();
            } else if lower.contains("home") || lower == "userprofile" {
                found = vec!["~".to_owned()];
            } else if has("getcwd cwd pwd curdir", &lower) {
                found = vec![".".to_owned()];
            } else if lower == "argv" || lower == "shift" {
                let operands = self.part.words.iter().skip(1).filter(|word| word.display() != self.text);
                found = operands.map(Word::display).filter(|text| !text.starts_with('-')).collect();
            } else if !is_joining(name) && !name.chars().all(|c| c.is_ascii_digit()) {
                is_unknown = true;
            }
        }
        (found, is_unknown)
    }
}

/// The value that a program gives a variable: `x = …`, `for x in …`.
pub(in crate::permissions) fn assigned_value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let of_name = |(start, found): (usize, &str)| {
        let rest = text.get(start + found.len()..).filter(|_| found == name)?.trim_start();
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        if let Some(value) = rest.strip_prefix('=').filter(|value| !value.starts_with(['=', '>', '~'])) {
            return Some(argument(value.trim_start().trim_start_matches('(')));
        }
        let value = rest.strip_prefix("in ").or_else(|| rest.strip_prefix("of "))?;
        Some(argument(value).split(':').next().unwrap_or_default())
    };
    identifiers(text).find_map(of_name)
}

/// Whether a name in a program only joins others, and is no variable.
pub(in crate::permissions) fn is_joining(name: &str) -> bool {
    has(JOINING, name)
}

/// The names in a text, with their places.
pub(in crate::permissions) fn identifiers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    text.split(move |c| !is_name(c)).filter_map(move |name| {
        let start = at;
        at += name.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        (!name.is_empty()).then_some((start, name))
    })
}

/// The arguments behind the name of a function: in parentheses, or up to the end of the statement.
pub(in crate::permissions) fn argument(behind: &str) -> &str {
    let behind = behind.trim_start_matches(['!', ' ']);
    let inner = behind.strip_prefix('(').unwrap_or(behind);
    let end = ends(inner, |c, depth| depth == 0 && matches!(c, ')' | ']' | '}' | ';' | '\n')).next();
    inner.get(..end.unwrap_or(inner.len())).unwrap_or_default()
}

pub(in crate::permissions) fn arguments(list: &str) -> Vec<&str> {
    let mut start = 0;
    let mut found: Vec<&str> = ends(list, |c, depth| depth == 0 && c == ',')
        .map(|end| list.get(std::mem::replace(&mut start, end + 1)..end).unwrap_or_default())
        .collect();
    found.push(list.get(start..).unwrap_or_default());
    found
}

/// The positions outside quotes at which `is_end` holds, given the character and the depth of parentheses.
fn ends(text: &str, is_end: impl Fn(char, usize) -> bool) -> impl Iterator<Item = usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    text.char_indices().filter_map(move |(at, c)| {
        if quote.is_some() {
            quote = quote.filter(|open| *open != c);
            return None;
        }
        if is_end(c, depth) {
            return Some(at);
        }
        match c {
            '"' | '\'' | '`' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        None
    })
}

/// The expression at the end of a text, on which a method is called.
pub(in crate::permissions) fn receiver(before: &str) -> &str {
    let mut depth = 0_usize;
    let start = before.char_indices().rev().find(|(_, c)| {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            '(' | '[' | '{' | ';' | '\n' | '=' | ',' | ' ' if depth == 0 => return true,
            _ => {}
        }
        false
    });
    before.get(start.map_or(0, |(at, c)| at + c.len_utf8())..).unwrap_or_default()
}

/// The interpolated code at the start of a quoted text, and the rest: `${home}/x`, `#{Dir.home}/x`.
fn split_interpolation(text: &str) -> Option<(&str, &str)> {
    let rest = ["#{", "${", "{", "$"].iter().find_map(|sign| text.strip_prefix(sign))?;
    let end = rest.find('/').unwrap_or(rest.len());
    rest.split_at_checked(end)
}
