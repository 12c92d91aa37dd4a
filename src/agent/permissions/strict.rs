//! Matches ask and deny rules with commands in any spelling.
//!
//! A command may have options before its subcommand, use another name of it, or be among the words of a
//! program that runs it.

use std::borrow::Cow;

use super::command_pattern::{CommandPattern, Match};
use super::links;
use super::options;
use super::programs::{self, LAUNCHERS, Program, base};
use super::shell::{self, DECLARING, Part, Piece, Word};
use super::subcommands::{Same, has, is_default, place_length, same, same_behind};

/// The maximum number of forms of a command that are compared with a rule.
const MAX_FORMS: usize = 64;
/// The maximum number of texts within words that are parsed as commands.
const MAX_TEXTS: usize = 64;
/// The maximum length of a text within a word that is parsed as a command, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;
/// The maximum nesting of such texts.
const MAX_DEPTH: usize = 3;

/// Programs that do everything that their operands name.
const WITH_TARGETS: &str =
    "ant bmake gmake gradle gradlew invoke just make mvn mvnw ninja rake scons task tox";

/// Parts of the names of variables whose values programs run.
const RUN: [&str; 10] =
    ["EDITOR", "PAGER", "COMMAND", "ASKPASS", "SSH", "DIFF", "BROWSER", "WRAPPER", "RUNNER", "VISUAL"];

/// Whether programs run the value of a variable with this name.
pub(super) fn is_run(name: &str) -> bool {
    RUN.iter().any(|run| name.contains(run))
}

/// The values of variables of a part that programs may run: those for a program, and those with such a name or with a
/// substitution in quotes, which prompts run.
pub(super) fn values(part: &Part) -> impl Iterator<Item = &Word> {
    let substitutes = |word: &Word| {
        let mut texts = word.pieces.iter().filter_map(Piece::text);
        texts.any(|text| text.contains("$(") || text.contains('`'))
    };
    let values = part.values.iter();
    let values =
        values.filter(move |(name, word)| !part.words.is_empty() || is_run(name) || substitutes(word));
    values.map(|(_, word)| word)
}

/// The values that a builtin gives to variables: `export WRAPPER=x`.
fn declared_values(part: &Part) -> Vec<Word> {
    let name = part.words.first().and_then(Word::literal).unwrap_or_default();
    let value = |word: &Word| {
        let variable = word.pieces.first().and_then(Piece::text)?.split_once('=')?.0;
        word.value_of(variable)
    };
    let words = part.words.iter().skip(1).filter(|_| DECLARING.contains(&name.as_ref()));
    words.filter_map(value).collect()
}

/// How certainly a rule is about a part, including the commands that run it.
pub(super) fn concerns(pattern: &CommandPattern, part: &Part) -> Match {
    let mut found = of_words(pattern, &with_module(&part.words), part.more_arguments, 0);
    if let Some(words) = with_variable_options(part) {
        found = found.max(of_words(pattern, &words, part.more_arguments, 0));
    }
    if let Some(words) = programs::for_each_repository(&part.words) {
        found = found.max(of_words(pattern, &words, part.more_arguments, 0));
    }
    for words in &part.renamed {
        found = found.max(of_words(pattern, words, part.more_arguments, 0));
    }
    let runners = part.outer.iter().map(|(outer, _)| outer).chain([&part.shell]);
    for words in runners.filter(|words| !words.is_empty()) {
        found =
            found.max(of_options(pattern, words, |pattern| of_program(pattern, words, part.more_arguments)));
    }
    for (outer, start) in &part.outer {
        // Texts before the command, such as the values of variables.
        let before = outer.get(..*start).unwrap_or_default();
        found = found.max(of_texts(pattern, before, 0));
    }
    let declared = declared_values(part);
    if !part.values.is_empty() || !declared.is_empty() {
        let values = values(part).cloned().chain(declared);
        let words: Vec<Word> = std::iter::once(Word::default()).chain(values).collect();
        let held = if is_held(pattern.leading(), &words, false) { Match::Perhaps } else { Match::No };
        found = found.max(held);
    }
    if !part.texts.is_empty() && programs::may_run_input(part) {
        let is_editor = programs::name(&part.words).is_some_and(|name| programs::is_editor(&name));
        found = found.max(of_input(pattern, &part.texts, is_editor).min(Match::Perhaps));
    }
    found
}

/// The words of a part with the options that variables give its program: `npm_config_global=true npm install x`.
fn with_variable_options(part: &Part) -> Option<Vec<Word>> {
    let option = |(name, value): &(String, Word)| {
        let option = name.to_ascii_lowercase().strip_prefix("npm_config_")?.replace('_', "-");
        Some(Word::of_text(&format!("--{option}={}", value.display())))
    };
    let mut options = part.values.iter().filter_map(option).peekable();
    options.peek()?;
    Some(part.words.iter().cloned().chain(options).collect())
}

/// Matches texts that a program reads, which it may run.
fn of_input(pattern: &CommandPattern, texts: &[String], is_editor: bool) -> Match {
    let program = std::iter::once(Word::default());
    let words: Vec<Word> = program.chain(texts.iter().map(|text| Word::of_text(text))).collect();
    let wanted = pattern.leading().first().map(|wanted| base(wanted));
    let is_long = |text: &String| text.len() > MAX_TEXT_BYTES && wanted.is_some_and(|it| has_word(text, it));
    let is_held = || is_held(pattern.leading(), &words, is_editor);
    if texts.iter().any(is_long) || is_held() { Match::Perhaps } else { of_texts(pattern, &words, 0) }
}

/// The words of a command, with the module that an interpreter runs in a word of its own: `python3 -mpip`.
fn with_module(words: &[Word]) -> Cow<'_, [Word]> {
    let is_python = programs::name(words).is_some_and(|name| programs::is_same(&name, "python"));
    let module = words.get(1).filter(|_| is_python).and_then(Word::literal);
    match module.as_deref().and_then(|text| text.strip_prefix("-m")).filter(|name| !name.is_empty()) {
        Some(name) => {
            let split = ["-m", name].map(Word::of_text);
            let rest = words.iter().skip(2).cloned();
            words.iter().take(1).cloned().chain(split).chain(rest).collect()
        }
        None => Cow::Borrowed(words),
    }
}

fn of_words(pattern: &CommandPattern, words: &[Word], more: bool, depth: usize) -> Match {
    of_options(pattern, words, |pattern| of_words_in_order(pattern, words, more, depth))
}

/// Matches a pattern, and it without its options where a command has these in any place and form.
fn of_options(pattern: &CommandPattern, words: &[Word], matches: impl Fn(&CommandPattern) -> Match) -> Match {
    let mut found = matches(pattern);
    for (pattern, options) in pattern.unordered_forms() {
        if found == Match::Yes {
            return found;
        }
        let given = options::match_options(pattern.leading(), options, words);
        if given != Match::No {
            found = matches(pattern).min(given).max(found);
        }
    }
    found
}

/// Matches a program with its arguments, not what it runs.
fn of_program(pattern: &CommandPattern, words: &[Word], more: bool) -> Match {
    let mut found = pattern.may_match(words, more);
    for (form, certainty) in forms(pattern.leading(), words) {
        if found == Match::Yes {
            return found;
        }
        found = found.max(pattern.may_match(&form, more).min(certainty));
    }
    found
}

/// Programs that treat all words as names, or those after one of these subcommands.
const NAMING: [(&str, &str); 4] = [
    (
        "systemctl service loginctl journalctl getent usermod gpasswd groupadd groupdel addgroup adduser tldr",
        "",
    ),
    (
        "nvm fnm volta pyenv rbenv nodenv goenv jenv",
        "use install uninstall ls list ls-remote list-remote alias default which current global local pin",
    ),
    ("conda mamba", "install create activate remove list search update"),
    ("snap", "install remove refresh info list find"),
];

/// The words of a program that it may run: without names of sessions, services, users and versions.
fn without_names<'w>(name: &str, words: &'w [Word]) -> Cow<'w, [Word]> {
    let literal = |at: usize| words.get(at).and_then(Word::literal).unwrap_or_default();
    if NAMING.iter().any(|(of, first)| has(of, name) && (first.is_empty() || has(first, &literal(1)))) {
        return Cow::Borrowed(words.get(..1).unwrap_or_default());
    }
    let options = match name {
        "tmux" => "-s -t -n",
        "screen" => "-S -t",
        _ => return Cow::Borrowed(words),
    };
    let is_name =
        |at: usize| at > 1 && has(options, &literal(at - 1)) && words.get(at).is_some_and(is_plain_name);
    words.iter().enumerate().filter(|(at, _)| !is_name(*at)).map(|(_, word)| word.clone()).collect()
}

/// Whether a word is a single name.
fn is_plain_name(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c)))
}

fn of_words_in_order(pattern: &CommandPattern, words: &[Word], more: bool, depth: usize) -> Match {
    let mut found = of_program(pattern, words, more);
    let Some(wanted) = pattern.leading().first() else { return found };
    let name = programs::name(words).unwrap_or_default();
    let words = &*without_names(&name, words);
    let is_runner = programs::is_runner(&name);
    let may_run = is_runner || name == base(wanted) || mentions(words, base(wanted));
    if found == Match::Yes || !may_run || shell::is_taken_apart(words) || is_data(words, more) {
        return found;
    }
    for (at, word) in words.iter().enumerate().skip(1).take(MAX_FORMS) {
        let rest = words.get(at..).unwrap_or_default();
        let is_wanted = match word.literal() {
            Some(text) => {
                base(&text).split('-').next() == Some(base(wanted))
                    || programs::is_same(base(&text), base(wanted))
            }
            None => is_runner,
        };
        if is_wanted {
            let matches = forms(pattern.leading(), rest).into_iter();
            let matches = matches.map(|(form, certainty)| pattern.may_match(&form, more).min(certainty));
            found = matches.max().unwrap_or(Match::No).max(pattern.may_match(rest, more)).max(found);
        }
    }
    if found == Match::Yes {
        return found;
    }
    let is_held = is_held(pattern.leading(), words, programs::is_editor(&name));
    let held = if is_held { Match::Perhaps } else { Match::No };
    found.max(of_texts(pattern, words, depth)).max(held)
}

/// Whether no word of a program is run.
fn is_data(words: &[Word], more: bool) -> bool {
    let runs_first = || programs::name(words).is_some_and(|name| programs::runs_first_operand(&name, words));
    programs::takes_data(words, more) && !runs_first()
}

/// Whether the words of a program have those that a rule names within others: `-wrapper zap,y`, `1ezap y`.
fn is_held(wanted: &[String], words: &[Word], is_editor: bool) -> bool {
    let is_in = |word: &Word, wanted: &str| {
        let mut texts = word.pieces.iter().filter_map(Piece::text);
        texts.any(|text| holds(text, wanted, is_editor))
    };
    let mut wanted = wanted.iter();
    let is_first = |wanted: &String| words.iter().skip(1).any(|word| is_in(word, base(wanted)));
    let is_other = |wanted: &String| {
        words
            .iter()
            .skip(1)
            .any(|word| word.pieces.iter().filter_map(Piece::text).any(|text| has_word(text, wanted)))
    };
    wanted.next().is_some_and(is_first) && wanted.all(is_other)
}

/// Whether a text has the name of a program, not as a part of another name or path. In a text for an editor, a
/// command may stand directly before it.
fn holds(text: &str, name: &str, is_editor: bool) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + name.len()..).and_then(|behind| behind.chars().next());
        let is_command = is_editor && before == Some('e');
        (is_command || !before.is_some_and(is_part)) && !behind.is_some_and(|c| is_part(c) || c == '/')
    })
}

/// Matches texts within words that may be commands.
fn of_texts(pattern: &CommandPattern, words: &[Word], depth: usize) -> Match {
    let Some(wanted) = pattern.leading().first().filter(|_| depth < MAX_DEPTH) else { return Match::No };
    let wanted = base(wanted);
    let mut found = Match::No;
    for text in texts(words).into_iter().filter(|text| text.contains(wanted)) {
        let analysis = links::analysis(&text);
        for part in &analysis.parts {
            found = found.max(of_words(pattern, &part.words, part.more_arguments, depth + 1));
        }
        if !analysis.doubts.is_empty() && has_word(&text, wanted) {
            found = found.max(Match::Perhaps);
        }
        if found == Match::Yes {
            break;
        }
    }
    found
}

/// Whether the words of a program name another one.
fn mentions(words: &[Word], name: &str) -> bool {
    let is_in = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(name));
    words.iter().skip(1).any(|word| word.pieces.iter().any(is_in))
}

/// Whether a word occurs as a whole in a text.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

/// The texts within words that may be commands: those with more than one word, and the values of options or
/// variables.
pub(super) fn texts(words: &[Word]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let program = programs::name(words).and_then(|name| Program::find_by_name(&name));
    let mut add = |text: &str| {
        if !text.is_empty() && text.len() <= MAX_TEXT_BYTES && found.len() < MAX_TEXTS {
            found.push(text.to_owned());
        }
    };
    add(&typed_text(words).unwrap_or_default());
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { continue };
        let is_option = text.starts_with('-');
        if text.contains(|c: char| c.is_whitespace() || ";|&$`()<>".contains(c)) {
            add(&text);
        }
        for (nth, (place, sign)) in text.match_indices(['=', '!']).enumerate() {
            let value = text.get(place + sign.len()..).unwrap_or_default();
            // The first value may be the body of a function, so it has all lines; others end with their line.
            let value = if nth == 0 { value } else { value.lines().next().unwrap_or_default() };
            add(value.strip_prefix("()").unwrap_or(value));
        }
        if is_option && !text.starts_with("--") {
            add(text.get(2..).unwrap_or_default());
            // The command may stand directly behind an option of several letters.
            let values = program.into_iter().flat_map(|program| program.glued_commands(&text));
            values.for_each(&mut add);
        }
        if let Some((name, value)) = text.split_once('=')
            && name.strip_prefix("-c").unwrap_or(name).starts_with("alias.")
            && !value.starts_with('!')
        {
            // An alias of git, with the text after its name.
            let quoted = words.get(at + 2..).unwrap_or_default().iter().filter_map(Word::literal);
            let rest: Vec<String> = quoted.map(|text| format!("'{}'", text.replace('\'', "'\\''"))).collect();
            add(&format!("git {value} {}", rest.join(" ")));
        }
    }
    found
}

/// The text that a program types into a terminal: `tmux send-keys 'zap y' Enter`, `screen -X stuff 'zap y^M'`.
fn typed_text(words: &[Word]) -> Option<String> {
    const ENDS: [&str; 6] = ["^M", "^J", "\\n", "\\r", "\\015", "\\012"];
    let name = programs::name(words).filter(|name| has("tmux screen kitty wezterm", name))?;
    let types = |word: &Word| word.literal().is_some_and(|text| has("send send-keys stuff send-text", &text));
    let keys: Vec<Cow<'_, str>> =
        words.iter().skip_while(|word| !types(word)).skip(1).filter_map(Word::literal).collect();
    let is_value = |at: usize| {
        at.checked_sub(1).and_then(|before| keys.get(before)).is_some_and(|before| has("-t -N", before))
    };
    let keys = keys.iter().enumerate().skip_while(|(at, key)| key.starts_with('-') || is_value(*at));
    let key = |(_, key): (usize, &Cow<'_, str>)| match key.as_ref() {
        "Enter" | "C-m" | "C-j" | "KPEnter" => "\n".to_owned(),
        "Space" => " ".to_owned(),
        text => text.to_owned(),
    };
    let typed: String = keys.map(key).collect();
    // tmux has no signs for keys within a text.
    let ends = ENDS.iter().filter(|_| name != "tmux");
    Some(ends.fold(typed, |text, end| text.replace(end, "\n")))
}

/// The forms of a command that rules are compared with, and their certainty: without the folder of its
/// program, and without the options before the words that the rule names.
fn forms(leading: &[String], words: &[Word]) -> Vec<(Vec<Word>, Match)> {
    let Some(name) = words.first().and_then(Word::literal) else { return Vec::new() };
    let plain = programs::plain_name(&name);
    let mut bases = vec![Cow::Borrowed(plain)];
    if let Some(wanted) = leading.first().filter(|wanted| base(wanted) != plain) {
        // A program per subcommand, such as git-push.
        let subcommand = plain.strip_prefix(wanted.as_str()).and_then(|rest| rest.strip_prefix('-'));
        bases.extend(subcommand.map(|subcommand| Cow::Owned(format!("{wanted} {subcommand}"))));
        bases.extend(programs::is_same(plain, base(wanted)).then_some(Cow::Borrowed(wanted.as_str())));
    }
    let mut found = Vec::new();
    for base in bases {
        let renamed: Option<Vec<Word>> = (base != name).then(|| {
            let first = base.split(' ').map(Word::of_text);
            first.chain(words.iter().skip(1).cloned()).collect()
        });
        found.extend(renamed.clone().map(|words| (words, Match::Yes)));
        let words = renamed.as_deref().unwrap_or(words);
        let Some(program) = programs::name(words).filter(|_| leading.len() > 1) else { continue };
        if leading.first().is_some_and(|wanted| *wanted == program) {
            Reach { leading, words, program: &program }.from(1, 1, Match::Yes, &mut found);
        }
    }
    found
}

/// The search for the words that a rule names, after options.
struct Reach<'a> {
    leading: &'a [String],
    words: &'a [Word],
    program: &'a str,
}

impl Reach<'_> {
    /// Searches for the named word with this index, starting at a word.
    fn from(&self, named: usize, start: usize, certainty: Match, found: &mut Vec<(Vec<Word>, Match)>) {
        let Some(wanted) = self.leading.get(named) else {
            let leading = self.leading.iter().map(|text| Word::of_text(text));
            let rest = self.words.get(start..).unwrap_or_default().iter().cloned();
            found.push((leading.chain(rest).collect(), certainty));
            return;
        };
        let program = Program::find_by_name(self.program).filter(|_| named == 1);
        let has_targets = has(WITH_TARGETS, self.program);
        let (mut at, mut is_loose, mut certainty) = (start, false, certainty);
        while let Some(word) = self.words.get(at).filter(|_| found.len() < MAX_FORMS) {
            let Some(text) = word.literal() else {
                if !word.may_be_option() {
                    break;
                }
                // It may be an option, with any value.
                (is_loose, certainty) = (true, Match::Perhaps);
                at += 1;
                continue;
            };
            let compare = if named == 1 { same } else { same_behind };
            let is_same = compare(self.program, &text, wanted);
            match is_same {
                Same::Yes => self.from(named + 1, at + 1, certainty, found),
                Same::Perhaps => self.from(named + 1, at + 1, Match::Perhaps, found),
                Same::No => {}
            }
            let is_option = text.starts_with(['-', '+']);
            let length = program.and_then(|program| program.option_length(&text)).filter(|_| is_option);
            let place = place_length(self.program, &text).filter(|_| named == 1 && length.is_none());
            if place.is_some_and(|(_, same)| same == Same::Perhaps) {
                certainty = certainty.min(Match::Perhaps);
            }
            match length.or(place.map(|(length, _)| length)) {
                Some(length) => at += length,
                None if is_option || is_loose || has_targets => {
                    is_loose = true;
                    at += 1;
                }
                None => break,
            }
        }
        let has_none = named == 1 && at == self.words.len() && self.words.iter().skip(1).all(is_option_word);
        if has_none && is_default(self.program, wanted) {
            self.from(named + 1, 1, certainty, found);
        }
    }
}

fn is_option_word(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.starts_with('-'))
}

/// The commands that a program may run in turn, as far as its words name them: those whose program is
/// `wanted`.
pub(super) fn inner_commands(words: &[Word], more: bool, wanted: &dyn Fn(&str) -> bool) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    collect(words, more, wanted, 0, &mut found);
    found
}

fn collect(
    words: &[Word],
    more: bool,
    wanted: &dyn Fn(&str) -> bool,
    depth: usize,
    found: &mut Vec<Vec<Word>>,
) {
    let is_cut = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.');
    let is_named = |text: &str| text.split(is_cut).any(wanted);
    let names = |word: &Word| {
        let known = || Cow::Owned(word.pieces.iter().filter_map(Piece::text).collect());
        let text = word.literal().unwrap_or_else(known);
        is_named(&text) || text.starts_with('-') && text.get(2..).is_some_and(is_named)
    };
    if !words.iter().any(names) {
        return;
    }
    let runs = |words: &[Word]| programs::name(words).is_some_and(|name| wanted(&name));
    let rest = |at: usize| {
        let rest = words.get(at..)?;
        let packaged = || without_package_version(words, at).filter(|words| runs(words));
        if runs(rest) { Some(Cow::Borrowed(rest)) } else { packaged().map(Cow::Owned) }
    };
    let rests: Vec<Cow<'_, [Word]>> = (1..words.len()).filter_map(rest).collect();
    let mut texts = if depth < MAX_DEPTH { texts(words) } else { Vec::new() };
    texts.retain(|text| is_named(text));
    // Whether a program takes data is long to tell, and most name no other.
    if rests.is_empty() && texts.is_empty() || shell::is_taken_apart(words) || is_data(words, more) {
        return;
    }
    let room = MAX_FORMS.saturating_sub(found.len());
    found.extend(rests.into_iter().take(room).map(Cow::into_owned));
    for text in texts {
        for part in &links::analysis(&text).parts {
            if programs::name(&part.words).is_some_and(|name| wanted(&name)) {
                found.push(part.words.clone());
            }
            collect(&part.words, part.more_arguments, wanted, depth + 1, found);
        }
    }
}

/// The command that begins at a word, if that is a package in a certain version: `rimraf@5 x` of `npx rimraf@5 x`.
fn without_package_version(words: &[Word], at: usize) -> Option<Vec<Word>> {
    let text = words.get(at).and_then(Word::literal)?;
    let (name, _) = text.split_once('@').or_else(|| text.split_once("=="))?;
    let is_launcher = |word: &Word| word.literal().is_some_and(|text| has(LAUNCHERS, base(&text)));
    let rest = words.get(at + 1..).filter(|_| words.iter().take(at).any(is_launcher))?;
    Some(std::iter::once(Word::of_text(name)).chain(rest.iter().cloned()).collect())
}
