//! Names that a program makes of its words: targets of links, seen from the folders of the links, and names without an
//! extension, with a suffix or after a prefix.

use std::path::Path;

use super::candidates::{self, candidates, in_text};
use super::{NamedPath, Scene, usual};
use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::shell::{Part, Piece};
use crate::permissions::subcommands::has;
use crate::permissions::{folders, operands};

/// The maximum number of names in a part of which pairs are made.
const MAX_PAIRED: usize = 16;
/// The maximum number of patterns in a part.
const MAX_PATTERNS: usize = 64;
/// The maximum number of the last names of a path that count below another folder.
pub(super) const MAX_ENDS: usize = 4;
/// Programs that do nothing but make links.
const LINKING_ANY: [&str; 2] = ["ln", "gln"];
/// Parts of the names of functions that make symbolic links, in any language.
const LINKING: [&str; 3] = ["ymlink", "ln_s", "mklink"];
/// Programs that write a file named like another without its extension.
const UNPACKING: &str = "gunzip gzip unpigz pigz unxz xz unlzma lzma bunzip2 bzip2 pbzip2 lbunzip2 lbzip2 zstd unzstd pzstd \
                         lz4 unlz4 lzop lzip plzip uncompress brotli gpg gpg2 ccrypt ccdecrypt rename prename \
                         perl-rename file-rename";
/// Programs that write files whose names begin with a word.
const SPLITTING: &str = "split csplit gsplit gcsplit";
/// Programs that write a file named like another with a suffix, and the short and the long option with it.
const SUFFIXING: [(&str, char, &str); 5] = [
    ("sed gsed", 'i', "--in-place"),
    ("perl ruby", 'i', ""),
    ("cp mv ln install gcp gmv gln ginstall rsync", 'S', "--suffix"),
    ("patch gpatch", 'z', "--suffix"),
    ("gzip gunzip pigz unpigz xz unxz", 'S', "--suffix"),
];

/// Whether a part may make symbolic links.
pub(super) fn makes_links(part: &Part) -> bool {
    let words = || part.words.iter().skip(1).filter_map(|word| word.pieces.first().and_then(Piece::text));
    let links = |text: &str| LINKING.iter().any(|name| text.contains(name));
    match &*folders::program(part) {
        name if LINKING_ANY.contains(&name) => true,
        "cp" | "gcp" => words().any(|text| text.starts_with('-') && text.contains('s')),
        _ => words().any(|text| text == "ln" || links(text)) || part.texts.iter().any(|text| links(text)),
    }
}

impl Scene<'_> {
    /// The names that a part writes without naming them as one.
    pub(super) fn derived_names(&self, part: &Part) -> Vec<PathText> {
        let mut found = self.link_targets(part);
        found.extend(usual::places_in_programs(part));
        let program = folders::program(part);
        let operands = || self.names_in(part).into_iter();
        if has(UNPACKING, &program) {
            found.extend(operands().filter_map(|name| {
                let end = name.marks().iter().rposition(|mark| *mark == Mark::Char('.'))?;
                let shorter = name.marks().get(..end)?;
                let has_name = matches!(shorter.last(), Some(Mark::Char(c)) if *c != '/' && *c != '.');
                has_name.then(|| PathText::of(shorter))
            }));
        }
        if has(SPLITTING, &program) {
            found.extend(operands().map(|mut name| {
                name.push(Mark::Name);
                name
            }));
        }
        let Some((_, short, long)) = SUFFIXING.iter().find(|(programs, ..)| has(programs, &program)) else {
            return found;
        };
        for suffix in suffixes(part, *short, long) {
            // Perl and ruby put the name in place of a `*`.
            let (before, behind) = suffix.split_once('*').unwrap_or(("", &suffix));
            for name in operands() {
                let marks = name.marks();
                let end = marks.iter().rposition(|mark| *mark == Mark::Char('/')).map_or(0, |at| at + 1);
                let (folder, last) = marks.split_at_checked(end).unwrap_or_default();
                let mut whole = PathText::of(folder);
                whole.extend(&PathText::literal(before));
                whole.extend(&PathText::of(last));
                whole.extend(&PathText::literal(behind));
                found.push(whole);
                let shorter =
                    name.text().and_then(|name| Some(PathText::literal(name.strip_suffix(behind)?)));
                found.extend(shorter);
            }
        }
        found
    }

    /// The targets of the links that a part may make: each name in it, seen from the folder of each other; of more than
    /// a few, from any.
    pub(super) fn link_targets(&self, part: &Part) -> Vec<PathText> {
        if !makes_links(part) {
            return Vec::new();
        }
        let names = self.names_in(part);
        let (only_links, is_many) =
            (LINKING_ANY.contains(&&*folders::program(part)), names.len() > MAX_PAIRED);
        let is_relative = |name: &PathText| !name.is_absolute() && !name.starts_with("~") && !name.is_open();
        let is_target =
            |name: &&PathText| name.starts_with("..") || only_links && !is_many && is_relative(name);
        let mut found = Vec::new();
        for target in names.iter().filter(is_target) {
            if is_many {
                let names =
                    target.names().skip_while(|name| name.iter().all(|mark| *mark == Mark::Char('.')));
                found.push(names.fold(PathText::any(), |folder, name| PathText::of(name).within(&folder)));
                continue;
            }
            for link in names.iter().filter(|link| *link != target) {
                let end = link.marks().iter().rposition(|mark| *mark == Mark::Char('/'));
                let folder = end.and_then(|end| link.marks().get(..end)).filter(|folder| !folder.is_empty());
                found.push(target.within(link));
                found.extend(folder.map(|folder| target.within(&PathText::of(folder))));
            }
        }
        found
    }

    /// The names in the arguments and the input of a part.
    fn names_in(&self, part: &Part) -> Vec<PathText> {
        let words = part.words.iter().skip(1).flat_map(|word| self.texts(word));
        let texts = words.chain(part.texts.iter().map(|text| PathText::literal(text)));
        let names = texts.flat_map(|text| {
            let inner = in_text(&text, false);
            if inner.is_empty() { candidates(&text, false) } else { inner }
        });
        names.collect()
    }

    /// The quoted patterns of a part, which its program may expand, as absolute paths. One without a folder may be about
    /// any folder below. The second list are those in texts.
    pub(in crate::permissions) fn quoted_patterns(&self, part: &Part) -> (Vec<PathText>, Vec<PathText>) {
        let program = folders::program(part);
        if program == "sed" || program == "git" && folders::leaves_folders(part) {
            return Default::default();
        }
        let words = part.words.iter().enumerate().skip(1);
        let may_have = |text: &str| text.contains(['*', '?', '[', '{']) || text.starts_with(':');
        let words = words.filter(|(index, word)| {
            word.pieces.iter().filter_map(Piece::text).any(may_have) && !operands::is_text(part, *index)
        });
        let (texts, words): (Vec<PathText>, Vec<PathText>) =
            words.flat_map(|(_, word)| self.texts(word)).partition(candidates::is_text);
        let inputs = part.texts.iter().filter(|_| crate::permissions::programs::runs_texts(&program));
        let texts = texts.into_iter().chain(inputs.map(|text| PathText::literal(text)));
        let is_git = program == "git";
        let found = |texts: &mut dyn Iterator<Item = PathText>| {
            let globs = texts.flat_map(|text| candidates::quoted_patterns(&text, is_git));
            let seen = globs.take(MAX_PATTERNS).flat_map(|glob| {
                let directories =
                    if part.elsewhere { vec![PathText::any()] } else { self.directories.clone() };
                directories.into_iter().map(move |directory| glob.within(&directory).normalise())
            });
            let mut seen: Vec<PathText> = seen.collect();
            seen.sort();
            seen.dedup();
            seen
        };
        (found(&mut words.into_iter()), found(&mut texts.into_iter()))
    }
}

/// The values of the option with a suffix, and of the variable with the one of backups.
fn suffixes(part: &Part, short: char, long: &str) -> Vec<String> {
    let words: Vec<String> =
        part.words.iter().skip(1).map(|word| word.literal().unwrap_or_default().into_owned()).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
            found.extend((option.len() > 2 && long.starts_with(option)).then(|| value.to_owned()));
        } else if word.len() > 3 && long.starts_with(word.as_str()) {
            found.extend(words.get(at + 1).cloned());
        } else if let Some((_, value)) = word.strip_prefix('-').and_then(|word| word.split_once(short)) {
            let next = words.get(at + 1).filter(|_| value.is_empty() && short != 'i');
            found.push(next.map_or(value, String::as_str).to_owned());
        }
    }
    let of_variable = part.values.iter().filter(|(name, _)| name == "SIMPLE_BACKUP_SUFFIX");
    found.extend(of_variable.filter_map(|(_, word)| word.literal()).map(std::borrow::Cow::into_owned));
    found.retain(|suffix| !suffix.is_empty() && !suffix.contains('/'));
    found
}

/// The last parts of a path, relative to a folder.
pub(super) fn ends_in(text: &PathText, folder: &Path) -> Vec<NamedPath> {
    let parts = text.split(|c| c == '/');
    let mut end = PathText::default();
    let mut found = Vec::new();
    for part in parts.iter().rev().take(MAX_ENDS) {
        if part.is_empty() || matches!(part.text().as_deref(), Some("." | ".." | "~")) {
            break;
        }
        if part.is_open() && part.literal_char_count() == 0 {
            break;
        }
        let mut longer = part.clone();
        if !end.is_empty() {
            longer.push(Mark::Char('/'));
            longer.extend(&end);
        }
        end = longer;
        let whole = end.within(&PathText::from(folder));
        found.push(match whole.path() {
            Some(path) => NamedPath::from_path(path, false),
            None => NamedPath::Partly(whole.normalise()),
        });
    }
    found
}
