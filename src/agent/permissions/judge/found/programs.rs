//! The searches of programs in another language that change what they find: `for p in Path('.').rglob('*'):
//! p.write_text(…)`. The text of such a program is not parsed.

use super::super::unnamed::{CHOOSING, Choice, literals};
use super::{NamePattern, Search};
use crate::permissions::dangerous::languages::{
    argument, arguments, assigned_value, identifiers, is_joining, receiver,
};
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::PathText;
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::Scene;

/// Functions that find files: those that search all folders below, others, and those that leave out hidden files.
const DEEP: &str = "walk rglob find finddepth";
const FINDING: &str = "walk rglob glob iglob globSync listdir scandir iterdir readdir readdirSync";
const VISIBLE: &str = "glob iglob globSync Dir";
/// Options that make them find hidden files anyway.
const HIDDEN: [&str; 4] = ["include_hidden", "DOTMATCH", "dot:", "dotfiles"];
/// Functions that change the file that they are given, or are a method of.
const CHANGING: &str = "write_text write_bytes writeFile writeFileSync writeTextFile appendFile appendFileSync outputFile \
                        outputFileSync file_put_contents rename renameSync unlink unlinkSync rmSync rmtree rm_rf rm_r rm_f \
                        truncate truncateSync move mv binwrite";
/// Those whose names are also those of functions on texts and lists, with what they are a method of.
const CHANGING_OF: [(&str, &str); 3] = [
    ("remove replace write delete", "os File FileUtils IO"),
    ("rm write remove", "fs Deno FileUtils fsp promises"),
    ("input", "fileinput"),
];
/// Functions that also change folders.
const CHANGING_FOLDERS: &str = "rmtree rm_rf rm_r rename renameSync rmSync move mv";
/// Functions that open a file.
const OPENING: &str = "open fopen fdopen openSync sysopen";
/// Modes in which files are opened for writing.
const MODES: &str = "a w x a+ w+ r+ ab wb at wt rb+ r+b wb+ w+b > >> +< a:utf-8 w:utf-8";
/// Modules and handles that functions are called on, which take no part in naming a file.
const MODULES: &str = "os fs fsp shutil path File FileUtils IO Deno promises Dir glob fileinput io codecs";
/// Names that are those of modules, methods and signs, or of variables.
const LOOPING: &str = "f r b file path dir";
/// Names of known places.
const PLACES: &str = "__dirname __file__";
/// The maximum number of variables that are followed one after another.
const MAX_VARIABLES: usize = 3;

/// The searches of the programs in a text whose results it changes.
pub(super) fn searches(text: &str, part: &Part, scene: &Scene<'_>) -> Vec<Search> {
    // Of `perl -MFile::Find`.
    let has_find =
        part.words.iter().chain([&Word::of_text(text)]).any(|word| word.display().contains("File::Find"));
    let finds = |(start, name): &(usize, &str)| finds(text, *start, name, has_find);
    if !identifiers(text).any(|call| finds(&call)) || !changes_found(text) {
        return Vec::new();
    }
    identifiers(text)
        .filter(finds)
        .filter_map(|(start, name)| search(text, start, name, part, scene))
        .collect()
}

/// Whether a name is that of a function that finds files; `has_find` is true if Perl's `find` is one.
fn finds(text: &str, start: usize, name: &str, has_find: bool) -> bool {
    let behind = text.get(start + name.len()..).unwrap_or_default();
    match name {
        "find" | "finddepth" => has_find || called_on(text, start) == "Find",
        "walk" => !matches!(called_on(text, start), "" | "ast") || text.contains("import walk"),
        "Dir" => behind.starts_with('['),
        _ => has(FINDING, name) && behind.trim_start().starts_with(['(', ' ']),
    }
}

/// The expression that a function is a method of.
fn called_on(text: &str, start: usize) -> &str {
    text.get(..start).and_then(|before| before.strip_suffix('.')).map(receiver).unwrap_or_default()
}

/// The search that a function makes; `None` if it begins in no folder that is there.
fn search(text: &str, start: usize, name: &str, part: &Part, scene: &Scene<'_>) -> Option<Search> {
    let behind = text.get(start + name.len()..)?;
    let given = behind
        .strip_prefix('[')
        .map_or_else(|| argument(behind), |list| list.split(']').next().unwrap_or(list));
    let (first, of) = (arguments(given).first().copied()?, called_on(text, start));
    let first = if has("find finddepth", name) { given } else { first };
    let mut texts = Vec::new();
    let of_value = if has(MODULES, of) { "" } else { of };
    let is_open =
        [first, of_value].map(|expression| resolve(text, expression, &mut texts, 0)).contains(&true);
    let (patterns, named): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(|text| is_pattern(text));
    let folders = |names: &[&str]| -> Vec<JudgedPath> {
        let names = names.iter().filter(|name| !name.is_empty());
        names
            .flat_map(|name| scene.paths_of(&PathText::literal(name)).to_vec())
            .filter_map(|it| it.folder())
            .collect()
    };
    let starts: Vec<&str> = named.into_iter().chain(patterns.iter().copied().filter_map(folder_of)).collect();
    let mut search = Search { starts: folders(&starts), ..Search::default() };
    let quoted = literals(text);
    let is_given = [first, of].iter().any(|expression| expression.to_lowercase().contains("argv"));
    if search.starts.is_empty() && (starts.is_empty() || is_open || is_given) {
        if is_given {
            let given = part.words.iter().skip(1).flat_map(|word| scene.folder(word));
            search.starts = given.map(|path| JudgedPath::new(&path)).collect();
        } else if is_open {
            search.starts = folders(&quoted.iter().map(|(literal, _)| *literal).collect::<Vec<_>>());
        }
        if search.starts.is_empty() {
            search.starts = scene.working_directories();
        }
    }
    let is_deep = has(DEEP, name)
        || is_open
        || given.contains("recursive")
        || patterns.iter().any(|pattern| pattern.contains("**"));
    search.depth = (!is_deep).then_some(1);
    let takes_folders = identifiers(text).any(|(_, name)| has(CHANGING_FOLDERS, name));
    search.kind = (!takes_folders).then_some('f');
    let names_hidden = patterns.iter().any(|pattern| pattern.contains("/.") || pattern.starts_with('.'));
    let finds_hidden = names_hidden || HIDDEN.iter().any(|sign| text.contains(sign));
    let is_visible = has(VISIBLE, name) && of_value.is_empty() && !finds_hidden;
    if is_visible || skips_hidden(text) {
        search.closed.extend(NamePattern::new(".*", false));
    }
    let last = patterns.last().and_then(|pattern| pattern.rsplit('/').next());
    let is_one = patterns.len() == 1 || first.contains("join");
    search.included.extend(last.filter(|_| is_one).and_then(|last| NamePattern::new(last, false)));
    let left_out = quoted.iter().map(|(literal, _)| literal.trim_matches('/')).filter(|name| {
        name.starts_with('.')
            && name.len() > 1
            && !starts.iter().any(|start| start.trim_matches('/') == *name)
    });
    search.closed.extend(left_out.filter_map(|name| NamePattern::new(name, false)));
    if identifiers(text).any(|(_, name)| has(CHOOSING, name)) || text.contains("\\.") {
        search.choice = Some(Choice::of(text, &quoted));
    }
    Some(search).filter(|search| !search.starts.is_empty())
}

/// The folder in which what a pattern matches is, if it names one.
fn folder_of(pattern: &str) -> Option<&str> {
    let known = pattern.split(['*', '?', '[']).next()?;
    known.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| !folder.is_empty())
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a program leaves out hidden files.
fn skips_hidden(text: &str) -> bool {
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().replace('"', "'");
    let tests = [
        "tartswith('.')", "tartsWith('.')", "tart_with?('.')", "[0]=='.'", "[0]!='.'", "[0]==='.'", "/^\\./",
    ];
    tests.iter().any(|test| packed.contains(test))
}

/// Whether a program changes files that it finds.
fn changes_found(text: &str) -> bool {
    identifiers(text).any(|(start, name)| {
        let of = called_on(text, start);
        let given = text.get(start + name.len()..).map(argument).unwrap_or_default();
        let last = of.rsplit(['.', ' ']).next().unwrap_or_default();
        let is_mode = |(literal, _): &(&str, &str)| has(MODES, literal) || literal.starts_with(['>', '+']);
        let opens = has(OPENING, name) && literals(given).iter().any(is_mode);
        let of_module = CHANGING_OF.iter().any(|(names, of)| has(names, name) && has(of, last));
        if !(opens || has(CHANGING, name) || of_module && (name != "input" || given.contains("inplace"))) {
            return false;
        }
        let (first, others) = given.split_once(',').unwrap_or((given, ""));
        // Perl gives the handle first.
        let is_handle = opens && (first.contains("my $") || first.chars().all(|c| c.is_ascii_uppercase()));
        let is_method = !(of.is_empty() || has(MODULES, last) || of.contains("require("));
        let first = arguments(given).first().copied().unwrap_or_default();
        let named = if is_method {
            of
        } else if is_handle {
            others
        } else {
            first
        };
        named.trim().is_empty() || resolve(text, named, &mut Vec::new(), 0)
    })
}

/// Adds the texts in quotes that an expression and the variables in it stand for; whether it has other variables, which
/// may be what was found.
fn resolve<'t>(text: &'t str, expression: &'t str, found: &mut Vec<&'t str>, depth: usize) -> bool {
    let (mut is_open, mut pieces) = (false, expression.split(['"', '\'', '`']).enumerate().peekable());
    while let Some((at, piece)) = pieces.next() {
        if at % 2 == 1 {
            let is_filled = !is_pattern(piece) && piece.contains(['$', '{']);
            is_open |= is_filled;
            found.extend((!is_filled).then_some(piece));
            continue;
        }
        for (start, name) in identifiers(piece).filter(|(_, name)| !name.chars().all(|c| c.is_ascii_digit()))
        {
            let behind = piece.get(start + name.len()..).unwrap_or_default();
            // A module, a method, or the letter before a text: `os.path`, `f"x"`.
            let is_part = behind.starts_with(['.', '(', '['])
                || piece.get(..start).is_some_and(|before| before.ends_with('.'))
                || behind.is_empty() && pieces.peek().is_some();
            let value =
                assigned_value(text, name).filter(|value| depth < MAX_VARIABLES && !value.contains(name));
            is_open |= match value {
                _ if has(FINDING, name) => true,
                Some(value) => resolve(text, value, found, depth + 1),
                None if has(PLACES, name) => false,
                None => !is_joining(name) || has(LOOPING, name) && !is_part,
            };
        }
    }
    is_open
}
