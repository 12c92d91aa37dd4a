//! Commands that write files whose names their words do not tell: archives and downloads.

use super::{arguments, builder, git_subcommand, program};
use crate::permissions::shell::Part;
use crate::permissions::subcommands::has;

/// Whether a short option of a part has one of these letters.
fn has_letter(part: &Part, letters: &[char]) -> bool {
    arguments(part).any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
}

/// Whether an argument of a part is one of these words, which may have a value behind `=`.
fn has_word(part: &Part, words: &str) -> bool {
    arguments(part).any(|word| has(words, word.split('=').next().unwrap_or_default()))
}

/// Whether a download puts files with the names that the other machine gives them.
pub(super) fn takes_names(part: &Part) -> bool {
    const OF_WGET: &str = "--content-disposition --trust-server-names --recursive --mirror --input-file";
    match program(part).as_ref() {
        "curl" => has_letter(part, &['J']) || has_word(part, "--remote-header-name"),
        "wget" => has_letter(part, &['r', 'm', 'i']) || has_word(part, OF_WGET),
        _ => false,
    }
}

/// Whether a module of Python unpacks an archive.
pub(super) fn extracts_module(part: &Part) -> bool {
    has("tarfile zipfile", &builder(part)) && has_word(part, "-e --extract")
}

/// Whether a part writes files whose names it does not tell into the working directory, as it names no other folder.
pub(in crate::permissions) fn unpacks_here(part: &Part) -> bool {
    let name = program(part);
    // The first words of some begin with no dash: `tar xf`, `ar x`.
    let first = arguments(part).next().unwrap_or_default().into_owned();
    let is = |words: &str| has_word(part, words);
    let letter = |letters: &[char]| has_letter(part, letters);
    match name.as_ref() {
        "tar" | "bsdtar" | "gtar" => {
            let extracts =
                letter(&['x']) || is("--extract --get") || !first.starts_with('-') && first.contains('x');
            extracts && !letter(&['C', 'O']) && !is("--directory --cd --to-stdout")
        }
        "unzip" => !letter(&['d', 'p', 'c', 'l', 't', 'v', 'z', 'Z']),
        "cpio" => (letter(&['i']) || is("--extract")) && !letter(&['D', 't']) && !is("--directory --list"),
        "pax" => letter(&['r']) && !letter(&['w']),
        "7z" | "7za" | "7zr" | "7zz" => ["x", "e"].contains(&first.as_str()) && !letter(&['o']),
        "ar" if is("--output") => false,
        "unrar" | "rar" | "ar" | "jar" => first.trim_start_matches('-').starts_with(['x', 'e']),
        "unar" | "dtrx" | "uudecode" => !letter(&['o']),
        "stow" => !letter(&['t']) && !is("--target --dir"),
        "patch" => !letter(&['d', 'o']) && !is("--directory --output --dry-run"),
        "git" => first != "-C" && git_subcommand(part).is_some_and(|word| has("am apply", &word)),
        "curl" => takes_names(part) && !is("--output-dir"),
        "wget" => takes_names(part) && !letter(&['P', 'O']) && !is("--directory-prefix --output-document"),
        // The folder is behind the module, the option and the archive.
        _ => extracts_module(part) && part.words.len() < 6,
    }
}
