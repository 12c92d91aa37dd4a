//! Arguments of programs that name no files: subcommands, prose, patterns of what is left out, and names of processes,
//! containers, branches and others.

use std::borrow::Cow;

use std::ops::Range;

use super::programs::{self, Program};
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

/// Options whose value is prose, by program.
const PROSE: [(&str, &str); 5] = [
    ("git", "-m --message --author --date --grep --format --pretty"),
    ("gh", "-t --title -b --body -m --message -q --jq --label -l"),
    ("jj", "-m --message"),
    ("hg", "-m --message"),
    ("pytest", "-k -m"),
];
/// Options whose value says what is left out, by program; those of the first row are the same in all.
const EXCLUDING: [(&str, &str); 4] =
    [("", "--exclude --exclude-dir --exclude-glob"), ("fd fdfind", "-E"), ("tokei", "-e"), ("zip", "-x")];

/// Whether a word of a part names no file that it uses.
pub(super) fn is_text(part: &Part, index: usize) -> bool {
    let name = programs::name(&part.words).unwrap_or_default();
    let text = part.words.get(index).and_then(|word| word.pieces.first()).and_then(Piece::text);
    // It names folders of programs.
    if text.is_some_and(|text| text.starts_with("PATH=")) && (name == "env" || DECLARING.contains(&&*name)) {
        return true;
    }
    let options = PROSE.iter().find(|(program, _)| *program == name).map_or("", |(_, options)| options);
    let is_one = |option: &str| {
        let is_cluster =
            name == "git" && option.starts_with('-') && !option.starts_with("--") && option.ends_with('m');
        has(options, option) || is_cluster
    };
    option_of(part, index).is_some_and(|option| is_one(&option))
        || is_left_out(part, index)
        || is_script_of_sed(part, index)
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

/// The option of which a word is the value, or holds it.
fn option_of(part: &Part, index: usize) -> Option<Cow<'_, str>> {
    let text = part.words.get(index)?.pieces.first().and_then(Piece::text);
    let own = text.filter(|text| text.starts_with("--")).and_then(|text| text.split_once('='));
    own.map(|(option, _)| Cow::Borrowed(option)).or_else(|| part.words.get(index.checked_sub(1)?)?.literal())
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
    let option = option_of(part, index).unwrap_or_default();
    let is_one = |(programs, options): &(&str, &str)| {
        (programs.is_empty() || has(programs, &name)) && has(options, &option)
    };
    let is_option = |text: &str| text.starts_with('-') && text.len() > 1;
    let is_own = match &*name {
        // The tests of what it does not find, and where it does not look.
        "find" => is_left_out_by_find(part, index),
        "zip" if !is_option(&text) => {
            let options = part.words.get(..index).unwrap_or_default().iter().rev().filter_map(Word::literal);
            options.into_iter().find(|text| is_option(text)).is_some_and(|option| option == "-x")
        }
        // The end of a name.
        "basename" => before(1) == "-s" || index == 2 && !is_option(&before(1)),
        "7z" | "7za" | "7zz" => text.starts_with("-x") && text.contains('!'),
        "grep" | "egrep" | "fgrep" => {
            is_option(&before(1)) && before(1).ends_with('v') && !before(1).contains(['e', 'f'])
        }
        _ => false,
    };
    is_own || EXCLUDING.iter().any(is_one)
}

/// Whether a word is a test of what a `find` does not find, or where it does not look: `-not -path x`,
/// `-path x -prune -o`.
fn is_left_out_by_find(part: &Part, index: usize) -> bool {
    const NAMES: &str = "-name -iname -path -ipath -wholename -iwholename";
    let words: Vec<_> = part.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let is =
        |at: Option<usize>, list: &str| at.and_then(|at| words.get(at)).is_some_and(|word| has(list, word));
    let behind = words.get(index + 1..).unwrap_or_default();
    if !is(index.checked_sub(1), NAMES) {
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
    let is_negated = is(index.checked_sub(2), "! -not")
        || is(index.checked_sub(2), "(") && is(index.checked_sub(3), "! -not");
    is_pruned || is_negated && !behind.iter().any(|word| has("-o -or ,", word))
}

/// Whether a word is the script of a `sed` that names no file in it.
fn is_script_of_sed(part: &Part, index: usize) -> bool {
    let is_operand = |word: &Word| !word.literal().is_some_and(|text| text.starts_with('-'));
    let is_first = || part.words.iter().skip(1).position(is_operand).is_some_and(|at| at + 1 == index);
    let name = programs::name(&part.words).unwrap_or_default();
    has("sed gsed", &name)
        && (is_first() || option_of(part, index).is_some_and(|option| has("-e --expression", &option)))
        && programs::takes_data(&part.words, part.more_arguments)
}
