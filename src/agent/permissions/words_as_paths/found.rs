//! The names that a `find` or `fd` gives to what it runs, or removes.

use std::borrow::Cow;

use super::{Naming, PathMention, Scene};
use crate::permissions::folders;
use crate::permissions::path_text::{self, Mark, PathText};
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;

/// Options of `fd` with a value: as letters, and long ones.
const FD_VALUED: &str = "eEtdSocj";
const FD_LONG_VALUED: &str = "--extension --exclude --type --max-depth --min-depth --exact-depth --size --owner --color \
                              --threads --search-path --base-directory --changed-within --changed-before --max-results \
                              --path-separator --batch-size --format --and --ignore-file";

/// A search by `fd`, before the command that it runs on what it finds.
#[derive(Default)]
struct Search<'a> {
    operands: Vec<&'a Word>,
    folders: Vec<Word>,
    extensions: Vec<String>,
    sees_hidden: bool,
}

impl<'a> Search<'a> {
    /// The search of an `fd` with these words; `None` if it runs nothing.
    fn of(words: &'a [Word]) -> Option<Self> {
        let mut search = Search::default();
        let mut words = words.iter().skip(1);
        while let Some(word) = words.next() {
            let text = word.literal().unwrap_or_default();
            if !text.starts_with('-') || text.len() == 1 {
                search.operands.push(word);
            } else if text.starts_with("--") {
                let (option, value) =
                    text.split_once('=').map_or((&*text, None), |(option, value)| (option, Some(value)));
                if has("--exec --exec-batch", option) {
                    return Some(search);
                }
                search.sees_hidden |= has("--hidden --unrestricted", option);
                let next = if value.is_none() && has(FD_LONG_VALUED, option) { words.next() } else { None };
                let value = || value.map(str::to_owned).or_else(|| Some(next?.literal()?.into_owned()));
                match option {
                    "--extension" => search.extensions.extend(value()),
                    "--search-path" | "--base-directory" => {
                        search.folders.extend(value().map(|text| Word::of_text(&text)));
                    }
                    _ => {}
                }
            } else {
                let letters = text.trim_start_matches('-');
                let end = letters.find(|c| FD_VALUED.contains(c)).unwrap_or(letters.len());
                let (flags, valued) = letters.split_at(end);
                if flags.contains(['x', 'X']) {
                    return Some(search);
                }
                search.sees_hidden |= flags.contains(['H', 'u']);
                let mut valued = valued.chars();
                let Some(option) = valued.next() else { continue };
                let glued = valued.as_str().trim_start_matches('=');
                let next =
                    if glued.is_empty() { words.next().and_then(Word::literal) } else { Some(glued.into()) };
                search.extensions.extend(next.filter(|_| option == 'e').map(Cow::into_owned));
            }
        }
        None
    }

    /// The names that it finds.
    fn names(&self) -> Vec<PathText> {
        let pattern = self.operands.first().and_then(|word| word.literal());
        let of_pattern =
            pattern.as_deref().and_then(|pattern| pattern.strip_prefix("\\.")?.strip_suffix('$'));
        let of_pattern = of_pattern.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric()));
        let mut name = PathText::default();
        if !self.sees_hidden {
            name.push(Mark::Visible);
        }
        name.push(Mark::Name);
        let extensions: Vec<&str> = self.extensions.iter().map(String::as_str).chain(of_pattern).collect();
        if extensions.is_empty() {
            return vec![name];
        }
        // It ignores case.
        let forms = |text: &str| [text.to_owned(), text.to_lowercase(), text.to_uppercase()];
        let mut names: Vec<PathText> = Vec::new();
        for extension in extensions.into_iter().flat_map(forms) {
            let mut whole = name.clone();
            whole.extend(&PathText::literal(&format!(".{}", extension.trim_start_matches('.'))));
            names.push(whole);
        }
        names.sort();
        names.dedup();
        names
    }
}

impl Scene<'_> {
    /// Adds the files that a part finds, and removes or runs a command on.
    pub(super) fn add_search_results(&self, part: &Part, named: &mut Vec<PathMention>) {
        let (found, how) = if folders::removes_found_files(part) {
            (self.results_of_find(&part.words), Naming::Word)
        } else if has("fd fdfind", &folders::program(part))
            && let Some(search) = Search::of(&part.words)
        {
            // It skips what git ignores, so it only may find these.
            (self.results_of_fd(&search), Naming::InText)
        } else {
            return;
        };
        for path in found.iter().flat_map(|text| self.paths_from(text, part).to_vec()) {
            named.push(PathMention { path, how, counts: how == Naming::Word, is_copied: false });
        }
    }

    fn results_of_fd(&self, search: &Search<'_>) -> Vec<PathText> {
        let roots = search.folders.iter().chain(search.operands.iter().skip(1).copied());
        let mut roots: Vec<PathText> = roots.flat_map(|word| self.texts(word)).collect();
        if roots.is_empty() {
            roots.push(PathText::literal("."));
        }
        let names = search.names();
        roots.iter().flat_map(|root| names.iter().map(move |name| below(root, name))).collect()
    }

    /// The results of a `find` with these words, if a single `-name` determines them.
    pub(in crate::permissions) fn results_of_find(&self, words: &[Word]) -> Vec<PathText> {
        let literals: Vec<Cow<'_, str>> =
            words.iter().map(|word| word.literal().unwrap_or_default()).collect();
        let is_find = literals.first().is_some_and(|name| name == "find" || name.ends_with("/find"));
        if !is_find {
            return vec![PathText::any()];
        }
        let is_expression = |word: &Cow<'_, str>| word.starts_with(['-', '(', '!']);
        let operands = literals.get(1..).unwrap_or_default();
        let count = operands.iter().position(is_expression).unwrap_or(operands.len());
        let (roots, tests) =
            (words.get(1..=count).unwrap_or_default(), words.get(count + 1..).unwrap_or_default());
        let excludes = [",", "-follow", "-L", "!", "-not"];
        // A negated test leaves out more.
        let mut tests: Vec<_> = tests.iter().map(Word::literal).collect();
        let is_negated = |pair: &[Option<Cow<'_, str>>]| match pair {
            [Some(not), Some(test)] => {
                has("! -not", not) && has("-name -iname -path -ipath -wholename -regex -type", test)
            }
            _ => false,
        };
        while let Some(at) = tests.windows(2).position(is_negated) {
            tests.drain(at..(at + 3).min(tests.len()));
        }
        let is_plain =
            tests.iter().all(|text| text.as_ref().is_some_and(|text| !excludes.contains(&&**text)));
        // A test behind an action chooses nothing for it.
        let is =
            |word: &Option<Cow<'_, str>>, list: &str| word.as_deref().is_some_and(|word| has(list, word));
        let runs = |word: &Option<Cow<'_, str>>| is(word, "-exec -execdir -ok -okdir -delete");
        let end = tests.iter().position(runs).unwrap_or(tests.len());
        // Each alternative has to name what it finds.
        let before = tests.get(..end).unwrap_or_default();
        // Later alternatives never see what `-prune` skips.
        let is_pruned =
            |alternative: &&[Option<Cow<'_, str>>]| alternative.last().is_some_and(|word| is(word, "-prune"));
        let acts = end < tests.len() || before.iter().any(|word| is(word, "-print -print0"));
        let count = before.split(|word| is(word, "-o -or")).count();
        let alternatives = before.split(|word| is(word, "-o -or")).enumerate();
        let alternatives = alternatives.filter(|(at, it)| at + 1 == count || !(acts && is_pruned(it)));
        let alternatives = alternatives.map(|(_, alternative)| alternative);
        let name = |alternative: &[Option<Cow<'_, str>>]| {
            let at = alternative.iter().position(|word| is(word, "-name"))?;
            alternative.get(at + 1)?.as_deref().map(path_text::of_glob)
        };
        let names = alternatives.map(name).collect::<Option<Vec<_>>>().filter(|_| is_plain);
        let names = names.map_or_else(|| vec![PathText::any()], |names| names.concat());
        let mut roots: Vec<PathText> = roots.iter().flat_map(|word| self.texts(word)).collect();
        if roots.is_empty() {
            roots.push(PathText::literal("."));
        }
        let joined = |root: PathText| names.iter().map(|name| below(&root, name)).collect::<Vec<_>>();
        roots.into_iter().flat_map(joined).collect()
    }
}

/// A name anywhere below a folder.
fn below(root: &PathText, name: &PathText) -> PathText {
    let mut text = root.clone();
    text.push(Mark::Char('/'));
    text.push(Mark::Folders);
    text.extend(name);
    text
}
