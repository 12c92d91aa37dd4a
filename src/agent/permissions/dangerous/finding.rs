//! Determines whether `find` removes or prints only some of what is in a folder.

use std::borrow::Cow;

use crate::permissions::path_text::{self, PathText};
use crate::permissions::shell::Word;
use crate::permissions::subcommands::has;

/// Tests by name or place.
const NAMES: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname";
/// Tests that few files pass.
const OTHERS: &str = "-empty -inum -samefile -xtype -size";
/// Actions that remove, run or print the files that were found.
const ACTIONS: &str = "-delete -exec -execdir -ok -okdir -print -print0 -printf -fprint -fprint0 -ls";

/// Whether everything that a `find` with these words does is for some files only, and never for `.git`.
pub(super) fn is_narrowed(arguments: &[Word]) -> bool {
    let words: Vec<Cow<'_, str>> = arguments.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let mut actions =
        (0..words.len()).filter(|at| words.get(*at).is_some_and(|word| has(ACTIONS, word))).peekable();
    // Without an action it prints what it finds.
    if actions.peek().is_none() {
        return narrows(&words);
    }
    actions.all(|at| narrows(alternative(words.get(..at).unwrap_or_default())))
}

/// The tests that have to pass before an action: those behind the last `-o` that is not in other parentheses.
fn alternative<'a>(before: &'a [Cow<'a, str>]) -> &'a [Cow<'a, str>] {
    let mut open = 0_usize;
    for (at, word) in before.iter().enumerate().rev() {
        match word.as_ref() {
            ")" => open += 1,
            "(" if open > 0 => open -= 1,
            "(" | "-o" | "-or" | "," if open == 0 => return before.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    before
}

/// Whether some test in every alternative chooses.
fn narrows(tests: &[Cow<'_, str>]) -> bool {
    let (mut is_narrow, mut is_negated, mut at) = (false, false, 0);
    while let Some(word) = tests.get(at) {
        at += 1;
        let value = tests.get(at).map(Cow::as_ref).unwrap_or_default();
        match word.as_ref() {
            "!" | "-not" => {
                is_negated = !is_negated;
                continue;
            }
            "-o" | "-or" | "," => return is_narrow && narrows(tests.get(at..).unwrap_or_default()),
            "(" => {
                let length = closing(tests.get(at..).unwrap_or_default());
                is_narrow |= !is_negated && narrows(tests.get(at..at + length).unwrap_or_default());
                at += length + 1;
            }
            word if has(NAMES, word) => is_narrow |= !is_negated && chooses(word, value),
            word if has(OTHERS, word) => {
                let is_wide =
                    word == "-size" && value.starts_with(['+', '-']) || word == "-xtype" && value != "l";
                is_narrow |= !(is_negated || is_wide);
            }
            _ => {}
        }
        is_negated = false;
    }
    is_narrow
}

/// The number of words up to the parenthesis that closes.
fn closing(words: &[Cow<'_, str>]) -> usize {
    let mut open = 0_usize;
    let closes = |word: &Cow<'_, str>| match word.as_ref() {
        "(" => {
            open += 1;
            false
        }
        ")" if open > 0 => {
            open -= 1;
            false
        }
        word => word == ")",
    };
    words.iter().position(closes).unwrap_or(words.len())
}

/// Whether a pattern says what it matches, and cannot match `.git`.
fn chooses(test: &str, pattern: &str) -> bool {
    let says = pattern.chars().any(|c| c.is_alphanumeric() || "_-~#".contains(c));
    let git = PathText::literal(".git");
    let is_name = has("-name -iname", test);
    says && !(is_name && path_text::of_glob(&pattern.to_lowercase()).iter().any(|text| text.meets(&git)))
}
