//! The names that a `find` gives to what it runs.

use std::borrow::Cow;

use super::Scene;
use crate::permissions::path_text::{self, Mark, PathText};
use crate::permissions::shell::Word;
use crate::permissions::subcommands::has;

impl Scene<'_> {
    /// The results of a `find` with these words, if a single `-name` determines them.
    pub(super) fn found(&self, words: &[Word]) -> Vec<PathText> {
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
        let excludes = ["-o", "-or", ",", "-follow", "-L", "(", "!", "-not"];
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
        let runs = |word: &Option<Cow<'_, str>>| {
            word.as_deref().is_some_and(|word| has("-exec -execdir -ok -okdir", word))
        };
        let mut before = tests.iter().take_while(|word| !runs(word));
        let name = before.find(|word| word.as_deref() == Some("-name")).and(before.next());
        let name = name.and_then(Option::as_ref);
        let names = match name.filter(|_| is_plain) {
            Some(name) => path_text::of_glob(name),
            None => vec![PathText::any()],
        };
        let mut roots: Vec<PathText> = roots.iter().flat_map(|word| self.texts(word)).collect();
        if roots.is_empty() {
            roots.push(PathText::literal("."));
        }
        let joined = |root: PathText| {
            let joined = names.iter().map(move |name| {
                let mut text = root.clone();
                text.push(Mark::Char('/'));
                text.push(Mark::Folders);
                text.extend(name);
                text
            });
            joined.collect::<Vec<_>>()
        };
        roots.into_iter().flat_map(joined).collect()
    }
}
