//! Arguments of programs that name no files: subcommands, and names of processes, containers, branches and others.

use std::ops::Range;

use super::programs::{self, Program};
use super::shell::{Part, Piece, Word};
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
