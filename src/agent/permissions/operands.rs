//! Arguments of programs that name no files: subcommands, prose, patterns of what is left out, and names of processes,
//! containers, branches and others.

use std::borrow::Cow;

use std::ops::Range;
use std::sync::LazyLock;

use super::programs::{self, Program};
use super::rows_by_name::RowsByName;
use super::shell::{DECLARING, Part, Piece, Word};
use super::subcommands::has;

/// Programs whose first operand is a subcommand.
const WITH_SUBCOMMANDS: &str = "git cargo npm pnpm yarn bun docker podman kubectl go dotnet rustup brew apt apt-get dnf yum \
                                pacman apk pip pip3 gem gh poetry uv composer bundle terraform helm systemctl alembic sqlx \
                                diesel prisma dbmate flyway knex rails mix";
/// Subcommands of them with further ones.
const GROUPS: [(&str, &str); 10] = [
    ("docker podman", "compose container image volume network system buildx"),
    ("gh", "pr issue repo run workflow release auth gist label secret"),
    ("kubectl", "get describe delete rollout top config"),
    ("npm pnpm yarn bun", "run"),
    ("git", "stash remote worktree submodule bisect notes"),
    ("go", "mod work"),
    ("uv", "pip tool python"),
    ("pip pip3", "cache"),
    ("sqlx diesel", "migrate migration database"),
    ("prisma", "migrate db"),
];

/// The words of a part that are subcommands, and so most likely no files.
pub(super) fn subcommands(part: &Part) -> Range<usize> {
    let name = programs::name(&part.words).unwrap_or_default();
    if !has(WITH_SUBCOMMANDS, &name) {
        return 0..0;
    }
    let places = Program::find_by_name(&name).map_or(1..2, |program| program.subcommand(&part.words).0);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
    let name_at = |at: usize| {
        part.words
            .get(at)
            .and_then(Word::literal)
            .filter(|text| places.len() == 1 && text.chars().all(is_part))
    };
    let Some(first) = name_at(places.start) else { return 0..0 };
    let is_group = GROUPS.iter().any(|(of, groups)| has(of, &name) && has(groups, &first));
    let second = is_group && name_at(places.start + 1).is_some();
    places.start..places.start + 1 + usize::from(second)
}

/// Commands whose operands are names of something else than files, with their subcommands, and the options with which
/// they name files.
const NAMING: [(&str, &str, &str); 7] = [
    ("kill wait pkill killall systemctl service journalctl", "", ""),
    (
        "docker podman",
        "logs ps inspect start stop restart kill rm rmi pause unpause top stats port wait pull push tag images",
        "",
    ),
    (
        "kubectl",
        "get describe logs delete top rollout scale wait",
        "-f --filename -k --kustomize --kubeconfig",
    ),
    ("git", "push fetch pull merge rebase switch branch tag cherry-pick revert", "-F --file -x --exec"),
    ("cargo", "test check build clippy bench", "--manifest-path --config -C -Z --target-dir"),
    ("npm pnpm yarn", "version", ""),
    ("gh", "pr issue run workflow release repo", "-F --body-file --notes-file --input"),
];
/// Subcommands of gh's commands that take numbers and names.
const GH_NAMING: &str = "view list checkout status diff checks watch close reopen ready rerun cancel";

/// Whether an unknown operand of a part names something other than a file: a process, a container, a branch.
pub(super) fn names_no_file(part: &Part) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let option = |word: &Word| {
        let text = word.pieces.first().and_then(Piece::text)?;
        text.starts_with('-').then(|| text.split('=').next().unwrap_or_default().to_owned())
    };
    let words = || part.words.iter().skip(1);
    let operands = || words().filter(|word| option(word).is_none());
    let place = Program::find_by_name(&name).map_or(1, |program| program.subcommand(&part.words).0.start);
    let is_known =
        part.words.get(..place).is_some_and(|before| before.iter().all(|it| it.literal().is_some()));
    if !is_known {
        return false;
    }
    let subcommand = part.words.get(place).and_then(Word::literal).unwrap_or_default();
    if name == "git" && subcommand == "checkout" {
        // Any other operand may be a file, which gets its committed content again.
        return words().filter_map(option).any(|word| word == "-b" || word == "-B");
    }
    let is_excluded = |option: &str, excluded: &str| match excluded.strip_prefix("--") {
        Some(_) => option.len() > 2 && excluded.starts_with(option),
        None => !option.starts_with("--") && excluded.chars().nth(1).is_some_and(|c| option.contains(c)),
    };
    let second = || operands().nth(1).and_then(Word::literal).is_some_and(|word| has(GH_NAMING, &word));
    NAMING.iter().any(|(names, subcommands, excluded)| {
        has(names, &name)
            && (subcommands.is_empty() || has(subcommands, &subcommand))
            && !words().filter_map(option).any(|word| excluded.split(' ').any(|it| is_excluded(&word, it)))
            && (name != "gh" || second())
    })
}

/// The options of programs: their subcommands, if not all; those whose value names no file, with `=` if it is always in
/// the same word; and the letters of all with a value. If no letters are given, any option may have one.
struct Syntax {
    programs: &'static str,
    subcommands: &'static str,
    options: &'static str,
    valued: &'static str,
}

const fn syntax(
    programs: &'static str,
    subcommands: &'static str,
    options: &'static str,
    valued: &'static str,
) -> Syntax {
    Syntax { programs, subcommands, options, valued }
}

/// Options whose value is prose.
const PROSE: [Syntax; 9] = [
    syntax(
        "git",
        "commit tag merge notes stash commit-tree update-ref",
        "-m --message --author --date",
        "mFCct",
    ),
    syntax("git", "log rev-list shortlog show reflog diff", "--author --date --grep -S -G", "nSGLOUl"),
    syntax("git", "", "--format= --pretty=", ""),
    syntax(
        "gh",
        "pr issue release repo run label workflow search api",
        "-t --title -b --body -q --jq -l --label",
        "aBbFHlmprtTnqRX",
    ),
    syntax("jj", "commit ci describe desc new squash split", "-m --message", ""),
    syntax("hg", "commit ci tag backout import", "-m --message", ""),
    syntax("pytest", "", "-k -m", "kmpcoWnr"),
    syntax("docker podman", "inspect ps images info version", "-f --format --filter", "fn"),
    syntax(SED, "", "-e --expression", "efl"),
];
const SED: &str = "sed gsed";
const ZIP: Syntax = syntax("zip", "", "-x", "bPtTnsOxiR");
/// Options whose value says what is left out.
const EXCLUDING: [Syntax; 10] = [
    syntax("grep egrep fgrep rgrep zgrep", "", "--exclude --exclude-dir", "efmABCdDX"),
    syntax("ls gls dir vdir", "", "-I --ignore --hide", "ITw"),
    syntax("tree", "", "-I", "ILPHTo"),
    syntax("tar gtar bsdtar", "", "--exclude", "fbCTXgKLNVFHI"),
    syntax("rsync", "", "--exclude", "efMBT"),
    syntax("du ncdu", "", "--exclude", "dXtB"),
    syntax("fd fdfind", "", "-E --exclude", "etTdEcjSoxX"),
    syntax("tokei", "", "-e --exclude", "etosic"),
    syntax("scc cloc", "", "--exclude-dir", ""),
    syntax("ruff black isort flake8 mypy semgrep borg restic rclone aws", "", "--exclude", ""),
];
static PROSE_BY_NAME: LazyLock<RowsByName<Syntax>> =
    LazyLock::new(|| RowsByName::new(&PROSE, |row| row.programs));
static EXCLUDING_BY_NAME: LazyLock<RowsByName<Syntax>> =
    LazyLock::new(|| RowsByName::new(&EXCLUDING, |row| row.programs));
/// Long options without a value that may be before them.
const FLAGS: &str = "--recursive --verbose --archive --delete --progress --stats --hidden --no-ignore --ignore-case \
                     --invert-match --line-number --extended-regexp --fixed-strings --draft --all --amend --signoff \
                     --oneline --in-place --quiet";

fn is_option(text: &str) -> bool {
    text.starts_with('-') && text.len() > 1
}

impl Syntax {
    /// Where the options begin, if these are the words of one of the programs and subcommands.
    fn start(&self, part: &Part, name: &str) -> Option<usize> {
        if !has(self.programs, name) {
            return None;
        }
        let letters = part.words.get(1).and_then(Word::literal).unwrap_or_default();
        if name.ends_with("tar") && !letters.starts_with('-') {
            // The letters may be without a dash, and their values follow.
            return Some(2 + letters.chars().filter(|c| self.valued.contains(*c)).count());
        }
        start_behind(self.subcommands, part, name)
    }

    /// Whether an option has the next word as its value; `None` if that is not known.
    fn takes_next(&self, text: &str) -> Option<bool> {
        if text.starts_with("--") {
            let is_alone = text.contains('=') || has(FLAGS, text);
            return if has(self.options, text) { Some(true) } else { is_alone.then_some(false) };
        }
        if self.valued.is_empty() {
            return has(self.options, text).then_some(true);
        }
        // What is behind a letter with a value is that value.
        match text.char_indices().skip(1).find(|(_, c)| self.valued.contains(*c)) {
            Some((at, _)) if at + 1 == text.len() => Some(true),
            Some(_) if text.ends_with(|c| self.valued.contains(c)) => None,
            _ => Some(false),
        }
    }

    /// The option that a word is the value of; `None` if it is not a value, or may not be.
    fn option_of<'p>(&self, part: &'p Part, name: &str, index: usize) -> Option<Cow<'p, str>> {
        let start = self.start(part, name).filter(|start| *start <= index)?;
        let literal = |at: usize| part.words.get(at).and_then(Word::literal);
        let option = literal(index.checked_sub(1)?).filter(|text| is_option(text))?;
        let mut takes_next = Some(false);
        for (at, word) in part.words.iter().enumerate().take(index).skip(start) {
            let before = takes_next.replace(false);
            if before == Some(true) {
                continue;
            }
            match literal(at).as_deref() {
                Some("--") => return None,
                Some(text) if is_option(text) => {
                    before?;
                    takes_next = self.takes_next(text);
                }
                None if may_be_any_option(word) => return None,
                None | Some(_) => {}
            }
        }
        takes_next?.then_some(option)
    }

    /// Whether a word holds an option with a letter and its value: `-Sx`.
    fn has_glued_value(&self, part: &Part, name: &str, index: usize) -> bool {
        let text = part.words.get(index).and_then(|word| word.pieces.first()).and_then(Piece::text);
        let letter = text.and_then(|text| text.get(..2)).filter(|letter| has(self.options, letter));
        let is_end = |word: &Word| word.literal().as_deref() == Some("--");
        let behind = || self.start(part, name).and_then(|start| part.words.get(start..index));
        letter.is_some() && behind().is_some_and(|words| !words.iter().any(is_end))
    }

    /// Whether a word holds or is the value of one of the options.
    fn has_value(&self, part: &Part, name: &str, index: usize) -> bool {
        if !has(self.programs, name) {
            return false;
        }
        let text = part.words.get(index).and_then(|word| word.pieces.first()).and_then(Piece::text);
        let own = text.filter(|text| text.starts_with("--")).and_then(|text| text.split_once('='));
        if let Some((option, _)) = own {
            let is_one = has(self.options, option) || has(self.options, &format!("{option}="));
            return is_one && self.start(part, name).is_some();
        }
        let before = index.checked_sub(1).and_then(|at| part.words.get(at)).and_then(Word::literal);
        if !before.is_some_and(|text| is_option(&text)) {
            return self.has_glued_value(part, name, index);
        }
        let Some(option) = self.option_of(part, name, index) else {
            return self.has_glued_value(part, name, index);
        };
        let letter = option.chars().next_back().filter(|_| !option.starts_with("--"));
        has(self.options, &letter.map_or(option, |letter| Cow::Owned(format!("-{letter}"))))
    }
}

/// Whether a word is an option, or is behind one: no other is the value of one.
fn may_be_value(part: &Part, index: usize) -> bool {
    let option = |at: Option<usize>| {
        let first = at.and_then(|at| part.words.get(at)).and_then(|word| word.pieces.first());
        first.and_then(Piece::text).is_some_and(|text| text.starts_with('-'))
    };
    option(Some(index)) || option(index.checked_sub(1))
}

/// Where the options of a program begin, behind one of these subcommands if there are any.
fn start_behind(subcommands: &str, part: &Part, name: &str) -> Option<usize> {
    if subcommands.is_empty() {
        return Some(1);
    }
    let place = match Program::find_by_name(name).map(|program| program.subcommand(&part.words).0) {
        Some(places) if places.len() == 1 => places.start,
        Some(_) => return None,
        None => 1,
    };
    let subcommand = part.words.get(place).and_then(Word::literal)?;
    has(subcommands, &subcommand).then_some(place + 1)
}

/// Whether nothing is known of a word, so that it may be any option, or end them.
fn may_be_any_option(word: &Word) -> bool {
    word.may_be_option()
        && word.pieces.iter().filter_map(Piece::text).all(|text| text.chars().all(|c| c == '-'))
}

/// Whether a word of a part names no file that it uses.
pub(super) fn is_text(part: &Part, index: usize) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let text = part.words.get(index).and_then(|word| word.pieces.first()).and_then(Piece::text);
    // It names folders of programs, or options of the shell.
    if name == "shopt"
        || text.is_some_and(|text| text.starts_with("PATH="))
            && (name == "env" || DECLARING.contains(&&*name))
    {
        return true;
    }
    let is_prose = || {
        may_be_value(part, index)
            && PROSE_BY_NAME.get(&name).iter().any(|it| it.has_value(part, &name, index))
    };
    let is_plain = || !has(SED, &name) || programs::takes_data(&part.words, part.more_arguments);
    (is_prose() || is_no_file(part, index)) && is_plain() || is_left_out(part, index)
}

/// Programs that do not read their first operand as a file (it is a pattern or a script), or none that is an address.
struct Operands {
    programs: &'static str,
    subcommands: &'static str,
    /// Options of one letter without a value. Letters that supply the first operand themselves are in no list.
    flags: &'static str,
    /// Those with a value.
    valued: &'static str,
    /// Those whose value may only be in the same word.
    glued: &'static str,
    /// Whether addresses among the operands are no files.
    are_addresses: bool,
}

const fn searching(
    programs: &'static str,
    subcommands: &'static str,
    flags: &'static str,
    valued: &'static str,
) -> Operands {
    Operands { programs, subcommands, flags, valued, glued: "", are_addresses: false }
}

const fn addressing(programs: &'static str, flags: &'static str, valued: &'static str) -> Operands {
    Operands { are_addresses: true, ..searching(programs, "", flags, valued) }
}

const OPERANDS: [Operands; 11] = [
    searching("grep egrep fgrep rgrep ggrep zgrep", "", "abcEFGhHiIlLnoPqrRsUvVwxyzZ0123456789", "ABCmdD"),
    searching("rg", "", "abchHiIlLnNoPqsSuUvVwxz.0", "ABCEMTdgjmrt"),
    searching("git", "grep", "aEFGhHIiLlnopPqvwWz0123456789", "ABCm"),
    searching("ag", "", "aciHlLnoQrRsSuUvwz0", "m"),
    searching("ack", "", "ciHhlLnoQrRsvwx", "m"),
    searching("fd fdfind", "", "HIusigaplL0q1", "tdEecSj"),
    searching("jq gojq jaq", "", "acCejMnrRsS", ""),
    searching("awk gawk mawk nawk", "", "", "F"),
    Operands { glued: "i", ..searching(SED, "", "nrEsuz", "l") },
    addressing("curl", "sSLfkvIigGN#46jnq0123", "AbcCdDeEFhHmoPQrtTuUwxXyYz"),
    addressing("http https xh xhs", "hbvjfF", "aAps"),
];
static OPERANDS_BY_NAME: LazyLock<RowsByName<Operands>> =
    LazyLock::new(|| RowsByName::new(&OPERANDS, |row| row.programs));
/// Long options of them that do not change which operand it is.
const OPERANDS_LONG: &str = "--recursive --ignore-case --line-number --count --quiet --files-with-matches --invert-match --word-regexp \
     --line-regexp --extended-regexp --fixed-strings --only-matching --color --hidden --no-ignore --smart-case --no-heading \
     --include --exclude --exclude-dir --raw-output --compact-output --exit-status --slurp --null-input --sort-keys \
     --in-place --silent --regexp-extended --null-data --separate --posix --sandbox --cached --untracked --glob --type \
     --extension --show-error --location --fail --fail-with-body --head --insecure --compressed --globoff";

/// Whether a word is an operand of a program of [`OPERANDS`] that names no file.
fn is_no_file(part: &Part, index: usize) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let mut rows = OPERANDS_BY_NAME.get(&name).iter();
    let start = |row: &&'static Operands| Some((*row, start_behind(row.subcommands, part, &name)?));
    let Some((row, start)) = rows.find_map(start) else { return false };
    // Further arguments, and the files of settings that variables name, may hold options.
    if (part.more_arguments || !part.assigned.is_empty()) && !has(SED, &name) {
        return false;
    }
    let (mut at, mut first, mut is_operand, mut ends) = (start, None, false, false);
    while let Some(word) = part.words.get(at) {
        let literal = word.literal();
        match literal.as_deref() {
            None if word.may_be_option() && !ends => return false,
            Some("--") if !ends => ends = true,
            Some(text) if text.starts_with("--") && !ends => {
                let (option, value) =
                    text.split_once('=').map_or((text, None), |(option, it)| (option, Some(it)));
                let takes_next =
                    value.is_none() && (option.ends_with("lude") || has("--glob --type --extension", option));
                if takes_next || !has(OPERANDS_LONG, option) {
                    return false;
                }
            }
            Some(text) if is_option(text) && !ends => {
                let letters = text.trim_start_matches('-').trim_start_matches(|c| row.flags.contains(c));
                match letters.chars().next() {
                    Some(letter) if row.glued.contains(letter) => {}
                    Some(letter) if !row.valued.contains(letter) => return false,
                    Some(_) if letters.len() == 1 => at += 1,
                    Some(_) | None => {}
                }
            }
            None | Some(_) => {
                is_operand |= at == index && (first.is_none() || row.are_addresses);
                first = first.or(Some(at));
            }
        }
        if first.is_some_and(|first| first != index) && !row.are_addresses || at >= index && !is_operand {
            return false;
        }
        at += 1;
    }
    let text = part.words.get(index).and_then(Word::literal).unwrap_or_default();
    if row.are_addresses {
        return is_operand && ["http://", "https://"].iter().any(|start| text.starts_with(start));
    }
    // These programs open files by names in their texts.
    let opening: &[char] = match &*name {
        name if name.ends_with("awk") => &['"', '<', '>', '|', '(', '@'],
        name if name.ends_with('q') => &['"'],
        _ => &[],
    };
    is_operand && !text.contains(opening)
}

/// Programs that copy all operands but the last to that one, and their options without a value that change nothing about it.
const COPYING: [(&str, &str); 2] = [
    (
        "cp gcp",
        "-r -R -a -f -p -v -u -n -L -P -rf -fr -av -Rp -rp -rv --recursive --archive --force --verbose",
    ),
    ("install ginstall", "-D -m -Dm -p -v"),
];

/// Whether a part only copies what a word of it names.
pub(super) fn is_copied(part: &Part, index: usize) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let Some((_, options)) = COPYING.iter().find(|(names, _)| has(names, &name)) else { return false };
    let is_option = |word: &Word| word.literal().is_some_and(|text| text.starts_with('-'));
    let is_known =
        |word: &Word| !word.pieces.iter().any(|it| matches!(it, Piece::Variable(_) | Piece::Unknown));
    let is_plain = |word: &Word| match word.pieces.first() {
        Some(Piece::Text(text)) => {
            !text.starts_with('-') || word.literal().is_some_and(|text| has(options, &text))
        }
        first => first == Some(&Piece::Home),
    };
    let is_plain = |word: &Word| is_known(word) && !word.is_brace && is_plain(word);
    let is_operand = |at: usize| part.words.get(at).is_some_and(|word| !is_option(word));
    let last = part.words.len().saturating_sub(1);
    index < last
        && is_operand(index)
        && is_operand(last)
        && !part.more_arguments
        && part.words.iter().all(is_plain)
}

/// Whether a word of a part says what it leaves out.
pub(super) fn is_left_out(part: &Part, index: usize) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let literal =
        |at: Option<usize>| at.and_then(|at| part.words.get(at)).and_then(Word::literal).unwrap_or_default();
    let before = |count: usize| literal(index.checked_sub(count));
    let text = literal(Some(index));
    let value = text.split_once('=').filter(|_| text.starts_with("--")).map_or(&*text, |(_, value)| value);
    let is_pattern = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "._-/*?[]{},@+".contains(c));
    if value.strip_prefix('!').is_some_and(|rest| !rest.is_empty() && is_pattern(rest))
        && !programs::is_editor(&name)
        && !programs::runs_texts(&name)
    {
        return true;
    }
    let is_own = match &*name {
        // The tests of what it does not find, and where it does not look.
        "find" => is_left_out_by_find(part, index),
        "zip" if !is_option(&text) => {
            // The list behind it ends with `@`.
            let ends = |at: &usize| {
                let text = literal(Some(*at));
                text == "@" || is_option(&text)
            };
            let end = (1..index).rev().find(ends);
            end.is_some_and(|at| ZIP.has_value(part, &name, at + 1))
        }
        // The end of a name.
        "basename" => before(1) == "-s" || index == 2 && !is_option(&before(1)),
        "7z" | "7za" | "7zz" => text.starts_with("-x") && text.contains('!'),
        "grep" | "egrep" | "fgrep" => {
            let is_inverse = |word: &Word| {
                word.literal()
                    .is_some_and(|text| is_option(&text) && !text.starts_with("--") && text.contains('v'))
            };
            part.words.iter().take(index).any(is_inverse) && is_no_file(part, index)
        }
        _ => false,
    };
    is_own
        || may_be_value(part, index)
            && EXCLUDING_BY_NAME.get(&name).iter().any(|it| it.has_value(part, &name, index))
}

/// Tests of `find` with the pattern of a name or a path.
const NAME_TESTS: &str = "-name -iname -path -ipath -wholename -iwholename";

/// Whether a word is what a `find` looks for, by name.
pub(super) fn is_name_test(part: &Part, index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|at| part.words.get(at)).and_then(Word::literal);
    before.is_some_and(|test| has(NAME_TESTS, &test))
}

/// Whether a word is a test of what a `find` does not find, or where it does not look: `-not -path x`,
/// `-path x -prune -o`.
fn is_left_out_by_find(part: &Part, index: usize) -> bool {
    let words: Vec<_> = part.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let is =
        |at: Option<usize>, list: &str| at.and_then(|at| words.get(at)).is_some_and(|word| has(list, word));
    let behind = words.get(index + 1..).unwrap_or_default();
    if !is_name_test(part, index) {
        return false;
    }
    let ends = |word: &Cow<'_, str>| {
        matches!(&**word, "(" | ")")
            || word.starts_with("-exec")
            || has("-prune -delete -ok -okdir -print -print0", word)
    };
    let end = behind.iter().position(ends).map_or(index, |at| index + 1 + at);
    let prune = if is(Some(end), ")") { end + 1 } else { end };
    let is_pruned =
        is(Some(prune), "-prune") && is(Some(prune + 1), "-o -or") && (prune > end || prune == index + 1);
    // A file to compare with may have such a name.
    let negates = |back: usize| {
        let before = index.checked_sub(back + 1).and_then(|at| words.get(at));
        is(index.checked_sub(back), "! -not")
            && !before
                .is_some_and(|word| word.contains("newer") || word.starts_with("-f") || word == "-samefile")
    };
    let is_negated = negates(2) || is(index.checked_sub(2), "(") && negates(3);
    is_pruned || is_negated && !behind.iter().any(|word| has("-o -or ,", word))
}
