//! Judges files that a command reads without naming them: those of a folder, those that git tracks, and those whose names
//! a program in another language puts together or finds.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use unicode_normalization::UnicodeNormalization;

use super::Judge;
use super::files::reads;
use super::{Finding, of_rule};
use crate::permissions::dangerous::services::CLIENTS;
use crate::permissions::escapes;
use crate::permissions::folders::{self, Search};
use crate::permissions::path_pattern::{JudgedPath, PathPattern};
use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::protected::Use;
use crate::permissions::read_only::{NotKnown, find_tracked_file};
use crate::permissions::rule::{Pattern, Rule};
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::{NamedPath, Naming, Scene};
use crate::permissions::{Verdict, programs};

/// The maximum number of names that are put together from one text.
const MAX_NAMES: usize = 64;
/// The maximum length of a name.
const MAX_NAME: usize = 255;
/// The characters of a name with unknown parts that have to be known.
const EVIDENCE: usize = 2;
/// Functions that list a folder, or take all of it.
pub(super) const FINDING: &str = "listdir scandir walk rglob glob iglob iterdir readdir readdirSync opendir globSync each_child children \
                       entries Dir find finddepth copytree make_archive cpSync cp_r copySync tarfile zipfile";
/// Those of them that take hidden files, too, whatever the pattern.
pub(super) const HIDDEN: &str =
    "listdir scandir walk rglob iterdir Path readdir readdirSync opendir each_child children find finddepth";
/// Functions that read or copy files.
pub(super) const READING: &str = "open read read_text read_bytes readFile readFileSync readlines file_get_contents slurp File \
                       copytree make_archive cpSync cp_r copySync copy copy2 copyfile add cat createReadStream fopen IO";
/// Signs that a program chooses among the files it finds by their names.
pub(super) const CHOOSING: &str = "endswith endsWith end_with suffix extname splitext fnmatch match test endsWithAny startswith \
                        startsWith start_with includes";

impl Judge<'_> {
    /// Applies the rules on reading to files that a part reads without naming them.
    pub(super) fn judge_unnamed_files(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        if !self.strict().iter().any(|(rules, _, _)| rules.iter().any(|rule| reads(rule).is_some())) {
            return;
        }
        self.judge_tracked_files(part, scene, findings);
        if let Some(search) = folders::takes_here(part, |word| scene.is_there(word)) {
            for folder in scene.working_directories() {
                self.inside(&folder, Use::Read, &search, false, None, findings);
            }
        }
        let texts = programs_in(part);
        let decoded = texts.iter().filter_map(|text| escapes::decode(text)).collect::<Vec<_>>();
        for text in decoded.iter().map(String::as_str).chain(texts.iter().map(AsRef::as_ref)) {
            for name in assembled_names(text) {
                // Of names with unknown parts, those count that are there.
                let is_it = |path: &&NamedPath| name.text().is_some() || matches!(path, NamedPath::Known(_));
                for path in scene.paths_of(&name).iter().filter(is_it) {
                    self.check_path_rules(path, Use::Read, None, Naming::InText, findings);
                }
            }
            self.judge_listed_files(text, scene, findings);
        }
    }

    /// Applies the rules to bare names in the text of a program: `shutil.rmtree('migrations')`.
    pub(super) fn judge_bare_names(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        let program = folders::program(part);
        let is_plain = has("make gmake ninja just", &program);
        if !is_plain && (!programs::runs_texts(&program) || has("sqlite3 psql", &program)) {
            return;
        }
        let words = part.words.iter().skip(1).filter(|_| !is_plain).filter_map(Word::literal);
        let texts: Vec<String> = words
            .filter(|text| text.contains(['"', '\'', '`', '(']))
            .chain(part.texts.iter().map(|text| Cow::Borrowed(text.as_str())))
            .map(|text| text.nfc().collect())
            .collect();
        if texts.is_empty() {
            return;
        }
        let is_named = |name: &str| texts.iter().any(|text| names_bare(text, name, is_plain));
        for (rules, _, what) in self.strict() {
            for rule in rules {
                let Pattern::Path(pattern) = rule.pattern() else { continue };
                let names = pattern.names();
                let Some(last) = names.last().filter(|name| !name.contains('.') && is_named(name)) else {
                    continue;
                };
                let joined = names.join("/");
                let is_whole = names.len() > 1 && names.iter().all(|name| is_named(name));
                let concerns = |path: &NamedPath| match path {
                    NamedPath::Known(path) => {
                        pattern.concerns(path, &self.places)
                            || pattern.reaches_into(&PathText::from(path.plain.as_path()), &self.places)
                    }
                    NamedPath::Partly(text) => pattern.reaches_into(text, &self.places),
                };
                let found = [*last].into_iter().chain(is_whole.then_some(joined.as_str()));
                let found =
                    found.flat_map(|name| scene.paths_of(&PathText::literal(name)).to_vec()).find(concerns);
                findings.extend(found.map(|path| {
                    let shown = self.display_path(&Self::path_of(&path));
                    of_rule(Verdict::Ask, &format!("it may touch what a rule {what}: {shown}"), rule)
                }));
            }
        }
    }

    /// Applies rules about tracked files whose contents git may print although the command does not name
    /// them.
    fn judge_tracked_files(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        if !folders::shows_tracked_files(part) {
            return;
        }
        let mut starts = scene.working_directories();
        starts.extend(scene.path_mentions(part, false).into_iter().filter_map(|it| it.path.folder()));
        for (rules, _, what) in self.strict() {
            let reading: Vec<_> = rules.iter().filter_map(|rule| Some((*rule, reads(rule)?))).collect();
            let Some((first, _)) = reading.first() else { continue };
            let of = |path: &Path| {
                let judged = JudgedPath { plain: path.to_owned(), real: path.to_owned() };
                reading.iter().find(|(_, pattern)| pattern.concerns(&judged, &self.places)).map(|it| it.0)
            };
            let sought = reading.iter().map(|(rule, _)| format!("{rule}\n")).collect::<String>();
            let found = starts.iter().find_map(|start| {
                let found = find_tracked_file(&start.real, &sought, |path| of(path).is_some());
                found.map_err(|NotKnown| start).transpose()
            });
            findings.extend(found.map(|found| match found {
                Ok(path) => {
                    let text = format!("it may print what a rule {what}: {}", self.display_path(&path));
                    of_rule(Verdict::Ask, &text, of(&path).unwrap_or(first))
                }
                Err(start) => {
                    let text =
                        format!("it may print what a rule {what} in {}", self.display_path(&start.plain));
                    of_rule(Verdict::Ask, &text, first)
                }
            }));
        }
    }

    /// Applies the rules to the files that a program lists and reads.
    fn judge_listed_files(&self, text: &str, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        let names: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let has_one = |of: &str| names.iter().any(|name| !name.is_empty() && has(of, name));
        if !has_one(FINDING) || !has_one(READING) {
            return;
        }
        let literals = literals(text);
        let folder = |literal: &&str| {
            let start = literal.split('*').next().unwrap_or_default();
            let start = if literal.contains('*') {
                start.rsplit_once('/').map_or("", |(folder, _)| folder)
            } else {
                start
            };
            (!start.is_empty()).then(|| PathText::literal(start))
        };
        let named = literals.iter().map(|(literal, _)| *literal);
        let mut roots: Vec<JudgedPath> = named
            .clone()
            .filter_map(|literal| folder(&literal))
            .flat_map(|text| scene.paths_of(&text).iter().filter_map(NamedPath::folder).collect::<Vec<_>>())
            .collect();
        if roots.is_empty() {
            roots = scene.working_directories();
        }
        let patterns: Vec<&str> = named.clone().filter(|literal| literal.contains('*')).collect();
        let choice = has_one(CHOOSING).then(|| Choice::of(text, &literals));
        let takes_hidden = has_one(HIDDEN);
        let is_chosen = |path: &JudgedPath| {
            let name = path.plain.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_like = |pattern: &&str| {
                let last = pattern.rsplit('/').next().unwrap_or_default();
                (takes_hidden || last.starts_with('.') || !name.starts_with('.')) && matches(last, name)
            };
            (patterns.is_empty() || patterns.iter().any(is_like))
                && choice.as_ref().is_none_or(|choice| choice.takes(name))
        };
        for (rules, _, what) in self.strict() {
            let reading: Vec<(&Rule, &PathPattern)> =
                rules.iter().filter_map(|rule| Some((*rule, reads(rule)?))).collect();
            let Some((first, _)) = reading.first() else { continue };
            let is_it = |path: &JudgedPath| {
                reading.iter().any(|(_, pattern)| pattern.concerns(path, &self.places)) && is_chosen(path)
            };
            let found = roots.iter().find_map(|root| {
                folders::find(&root.plain, &Search::default(), &self.entries_seen, is_it).transpose()
            });
            findings.extend(found.map(|found| {
                let path: PathBuf = found.unwrap_or_default();
                let shown = if path.as_os_str().is_empty() {
                    String::new()
                } else {
                    format!(": {}", self.display_path(&path))
                };
                of_rule(Verdict::Ask, &format!("it may touch what a rule {what}{shown}"), first)
            }));
        }
    }
}

/// How a program chooses among the files it finds: by texts in their names, or by regular expressions.
pub(super) struct Choice {
    texts: Vec<String>,
    expressions: Vec<RegexMatcher>,
}

impl Choice {
    /// The choice of a program with these texts in quotes.
    pub(super) fn of(text: &str, literals: &[(&str, &str)]) -> Self {
        let texts = literals.iter().map(|(literal, _)| (*literal).to_owned()).filter(|text| text.len() > 1);
        Choice { texts: texts.collect(), expressions: expressions(text, literals) }
    }

    /// Whether the program may take a file of this name.
    pub(super) fn takes(&self, name: &str) -> bool {
        let is_matched = |it: &RegexMatcher| it.is_match(name.as_bytes()).unwrap_or(true);
        self.texts.iter().any(|text| name.contains(text)) || self.expressions.iter().any(is_matched)
    }
}

/// The texts of a part that are programs in another language.
pub(super) fn programs_in(part: &Part) -> Vec<Cow<'_, str>> {
    let program = folders::program(part);
    // The expressions of yq read files, too: `load_str(".e" + "nv")`.
    let is_other = programs::is_editor(&program) && program != "sed" || has(CLIENTS, &program);
    if !programs::runs_texts(&program) && !is_other && !has("yq emacs", &program) {
        return Vec::new();
    }
    let words = part.words.iter().skip(1).filter_map(Word::literal);
    let is_program = |text: &Cow<'_, str>| text.contains(['"', '\'', '`', '(', '<']);
    words.chain(part.texts.iter().map(|text| Cow::Borrowed(text.as_str()))).filter(is_program).collect()
}

/// Whether a name stands alone in a text: in quotes, unless it is `plain` and has none.
fn names_bare(text: &str, name: &str, is_plain: bool) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let is_alone = |before: &str, behind: &str| !before.ends_with(is_part) && !behind.starts_with(is_part);
    let is_quoted = |before: &str, behind: &str| {
        let opens = before.ends_with(['"', '\'', '`'])
            || ["q(", "w(", "q{", "w[", "w{"].iter().any(|q| before.ends_with(q));
        opens && behind.starts_with(['"', '\'', '`', ')', '}', ']'])
    };
    let has = |text: &str, is_it: &dyn Fn(&str, &str) -> bool| {
        text.match_indices(name).any(|(at, _)| {
            let behind = text.get(at + name.len()..).unwrap_or_default();
            text.get(..at).is_some_and(|before| is_it(before, behind))
        })
    };
    if is_plain {
        return has(text, &is_alone);
    }
    has(text, &is_quoted)
        || has(text, &is_alone) && literals(text).iter().any(|(quoted, _)| has(quoted, &is_alone))
}

/// The regular expressions in a program, in quotes or between slashes.
fn expressions(text: &str, literals: &[(&str, &str)]) -> Vec<RegexMatcher> {
    let is_one = |text: &&str| text.len() > 1 && text.contains(['\\', '[', '{', '(', '^', '$', '+', '|']);
    let quoted = literals.iter().map(|(literal, _)| *literal).chain(text.split('/').skip(1));
    quoted.filter(is_one).take(MAX_NAMES).filter_map(|text| RegexMatcher::new(text).ok()).collect()
}

/// Whether a name is like a pattern with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| matches(behind.trim_start_matches('*'), rest)))
}

/// The texts in quotes in a program, each with the code before it.
pub(super) fn literals(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find(['"', '\'', '`']) {
        let (before, quoted) = rest.split_at(start);
        let Some(quote) = quoted.chars().next() else { break };
        let inner = quoted.get(quote.len_utf8()..).unwrap_or_default();
        let Some(end) = inner.find(quote) else { break };
        found.push((inner.get(..end).unwrap_or_default(), before));
        rest = inner.get(end + quote.len_utf8()..).unwrap_or_default();
    }
    found
}

/// The names that a program puts together of several texts, or of texts with unknown parts: `'.e' + 'nv'`,
/// `f'{x}.pem'`, `'vne.'[::-1]`.
fn assembled_names(text: &str) -> Vec<PathText> {
    let lists = ["join", "concat", "format", "implode"].iter().any(|word| text.contains(word));
    let reverses = ["[::-1]", "everse", "strrev"].iter().any(|word| text.contains(word));
    let mut found: Vec<(PathText, usize)> = Vec::new();
    let (mut whole, mut parts) = (PathText::default(), 0_usize);
    for (literal, before) in literals(text) {
        let code: String = before.chars().filter(|c| !c.is_whitespace()).collect();
        let is_operator = |code: &str| ["+", ".", "..", "||", "<<", ".concat(", "&"].contains(&code);
        let ends = |code: &str| code.ends_with(['+', '&']) || code.ends_with("..") || code.ends_with(").");
        let begins = |code: &str| code.starts_with(['+', '&']) || code.starts_with("..");
        if !(parts > 0
            && (code.is_empty() || is_operator(&code) || lists && [",", "],["].contains(&code.as_str())))
        {
            let is_bridged = parts > 0 && begins(&code) && ends(&code);
            if parts > 0 && begins(&code) {
                whole.push(Mark::Name);
                parts += 1;
            }
            if !is_bridged {
                found.push((std::mem::take(&mut whole), std::mem::take(&mut parts)));
                if ends(&code) {
                    whole.push(Mark::Name);
                    parts += 1;
                }
            }
        }
        parts += 1 + push_literal(&mut whole, literal);
        if reverses {
            found.push((PathText::literal(&literal.chars().rev().collect::<String>()), 2));
        }
    }
    found.push((whole, parts));
    if text.contains("dotenv") {
        found.push((PathText::literal(".env"), 2));
    }
    let is_path =
        |mark: &Mark| !matches!(mark, Mark::Char(c) if !(c.is_alphanumeric() || "/._-~+@".contains(*c)));
    let known = |name: &PathText| name.marks().iter().filter(|mark| matches!(mark, Mark::Char(_))).count();
    found.retain(|(name, parts)| {
        let length = name.marks().len();
        *parts > 1 && length <= MAX_NAME && known(name) >= EVIDENCE && name.marks().iter().all(is_path)
    });
    let mut names: Vec<PathText> = found.into_iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    names.truncate(MAX_NAMES);
    names
}

/// Adds a text in quotes; returns the number of its parts that are filled in or escaped: `%s`, `{x}`, `\x2e`.
fn push_literal(whole: &mut PathText, literal: &str) -> usize {
    let (mut count, mut rest) = (0, literal.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.peek().is_some_and(|c| matches!(c, 'x' | 'u' | 'U' | 'N' | '0'..='9')) => {
                let (most, is_digit): (_, fn(&char) -> bool) = match rest.next() {
                    Some('N') => (MAX_NAME, |c| *c != '}'),
                    Some('U') => (8, char::is_ascii_hexdigit),
                    Some('u') => (4, char::is_ascii_hexdigit),
                    Some('x') => (2, char::is_ascii_hexdigit),
                    // Octal, or decimal.
                    _ => (2, char::is_ascii_digit),
                };
                let is_named = most == MAX_NAME;
                for _ in 0..most {
                    rest.next_if(is_digit);
                }
                rest.next_if(|c| is_named && *c == '}');
                whole.push(Mark::One);
                count += 1;
            }
            '%' if rest.peek().is_some_and(|c| matches!(c, 's' | 'c' | 'd' | 'r')) => {
                rest.next();
                whole.push(Mark::Name);
                count += 1;
            }
            '$' | '#' if rest.peek() == Some(&'{') => {}
            '{' => {
                let inner: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let quoted = inner.trim().trim_matches(['"', '\'', '`', '\\']);
                if quoted.len() < inner.trim().len() && quoted.chars().all(char::is_alphanumeric) {
                    quoted.chars().for_each(|c| whole.push(Mark::Char(c)));
                } else {
                    whole.push(Mark::Name);
                }
                count += 1;
            }
            c => whole.push(Mark::Char(c)),
        }
    }
    count
}
