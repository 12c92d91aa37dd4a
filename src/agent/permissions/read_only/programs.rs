//! Resolves names to programs in `PATH`, and checks whether a project chooses them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::Surroundings;
use crate::permissions::links;
use crate::permissions::path_pattern::{normalise, rest_below};
use tau_tools::user_error::UserError;

/// A program that only prints its version, with the options for that.
struct VersionedProgram {
    name: &'static str,
    options: &'static [&'static str],
    /// Files with which a project chooses the version to run; they are searched from its folder upwards.
    chosen_by: &'static [&'static str],
}

const fn row(name: &'static str, options: &'static [&'static str]) -> VersionedProgram {
    VersionedProgram { name, options, chosen_by: &[] }
}

const LONG: &[&str] = &["--version"];
const UPPER: &[&str] = &["--version", "-V"];
const LOWER: &[&str] = &["--version", "-v"];

const VERSIONED: [VersionedProgram; 30] = [
    row("cargo", UPPER),
    row("rustc", UPPER),
    row("rustup", UPPER),
    row("rustfmt", UPPER),
    row("clippy-driver", UPPER),
    row("node", LOWER),
    row("npm", LOWER),
    row("npx", LOWER),
    VersionedProgram {
        name: "pnpm",
        options: LOWER,
        chosen_by: &["package.json", "pnpm-workspace.yaml", ".npmrc"],
    },
    VersionedProgram { name: "yarn", options: LOWER, chosen_by: &["package.json", ".yarnrc", ".yarnrc.yml"] },
    row("deno", UPPER),
    row("bun", LOWER),
    row("python", UPPER),
    row("python3", UPPER),
    row("pip", UPPER),
    row("pip3", UPPER),
    VersionedProgram { name: "go", options: &["version"], chosen_by: &["go.mod", "go.work"] },
    row("java", &["--version", "-version"]),
    row("javac", &["--version", "-version"]),
    row("gcc", LOWER),
    row("g++", LOWER),
    row("clang", LOWER),
    row("make", LOWER),
    row("cmake", LONG),
    row("ruby", LOWER),
    row("perl", LOWER),
    row("php", LOWER),
    row("docker", LOWER),
    row("gh", LONG),
    row("tau", UPPER),
];

/// Programs that run another one, chosen by files in the folder.
const CHOOSERS: [&str; 9] =
    ["asdf", "mise", "rtx", "volta", "volta-shim", "direnv", "aqua-proxy", "proto-shim", "corepack"];
/// Folders of such programs, under the names of the programs that they run.
const CHOOSERS_FOLDERS: [&str; 5] = ["shims", ".volta", ".asdf", ".jenv", "corepack"];
/// The files that determine their choice.
const CHOICES: [&str; 26] = *tau_tools::words!(
    ".tool-versions .mise.toml mise.toml .mise.local.toml mise.local.toml .mise mise .config/mise \
     .config/mise.toml .rtx.toml .python-version .node-version .nvmrc .ruby-version .java-version \
     .go-version .php-version .perl-version .deno-version .bun-version .dvmrc .prototools .envrc \
     package.json aqua.yaml aqua.yml"
);
/// The files that name the programs which cargo runs.
pub(super) const CARGO_FILES: [&str; 2] = [".cargo/config.toml", ".cargo/config"];
/// The files that determine the choice of rustup.
const TOOLCHAINS: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// The reason a program may do more than print its version. The outer `None`: it is not one of these.
pub(super) fn version(
    name: &str,
    only: &str,
    surroundings: &Surroundings<'_>,
) -> Option<Result<(), UserError>> {
    let row = VERSIONED.iter().find(|row| row.name == name && row.options.contains(&only))?;
    Some(is_the_user_s(name, row.chosen_by, surroundings))
}

/// The reason `cargo metadata`, or another command that prints facts on a project, may run a program named by the project: its settings name compilers and their
/// wrappers.
pub(super) fn cargo_metadata(
    arguments: &[Cow<'_, str>],
    surroundings: &Surroundings<'_>,
) -> Option<Result<(), UserError>> {
    const PLAIN: &[&str] = tau_tools::words!(
        "--no-deps --offline --locked --frozen --all-features --no-default-features --format-version \
         --quiet -q"
    );
    const OF_TREE: &[&str] =
        tau_tools::words!("-d --duplicates --workspace --all-targets --depth 1 2 3 -i --invert -p -e");
    let is_name = |word: &str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || "_-@.".contains(c)) && !word.starts_with('-')
    };
    let (first, rest) = arguments.split_first()?;
    let is_plain = |word: &Cow<'_, str>| {
        let word = word.as_ref();
        PLAIN.contains(&word)
            || word == "1"
            || word == "--format-version=1"
            || first == "tree" && (OF_TREE.contains(&word) || is_name(word))
    };
    let only_reads = ["metadata", "tree", "locate-project", "pkgid", "read-manifest"];
    if !only_reads.contains(&first.as_ref()) || !rest.iter().all(is_plain) {
        return None;
    }
    Some(is_the_user_s("cargo", &CARGO_FILES, surroundings))
}

/// Whether no file of a project chooses this program; `chosen_by` are further files to check.
pub(super) fn is_the_user_s(
    name: &str,
    chosen_by: &[&str],
    surroundings: &Surroundings<'_>,
) -> Result<(), UserError> {
    // A missing program does not run.
    let Some(program) = links::program(name) else { return Ok(()) };
    let file = program.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_rustup = file == "rustup";
    let folder_of_choosers = |part: std::path::Component<'_>| {
        part.as_os_str().to_str().is_some_and(|part| CHOOSERS_FOLDERS.contains(&part))
    };
    let choices = if is_rustup {
        TOOLCHAINS.as_slice()
    } else if CHOOSERS.contains(&file) || program.real.components().any(folder_of_choosers) {
        CHOICES.as_slice()
    } else {
        &[]
    };
    let names: Vec<&str> = choices.iter().chain(chosen_by).copied().collect();
    if names.is_empty() {
        return Ok(());
    }
    let Some(directories) = surroundings.directories else {
        return Err(format!("it is not known what {name} is in that folder").into());
    };
    // Files in the home directory are the user's choice, unless it is the workspace.
    let is_own = |folder: &Path| Some(folder) == surroundings.home && folder != surroundings.workspace.plain;
    let links = directories.iter().filter_map(|directory| links::canonical(directory));
    let starts: Vec<PathBuf> =
        directories.iter().map(|directory| normalise(directory)).chain(links).collect();
    let folders = starts.iter().flat_map(|directory| directory.ancestors()).filter(|folder| !is_own(folder));
    let mut choices = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let chooses = |path: &PathBuf| {
        let is_toolchain = is_rustup && TOOLCHAINS.iter().any(|name| path.ends_with(name));
        path.symlink_metadata().is_ok() && !(is_toolchain && is_installed_toolchain(path, surroundings))
    };
    let found = choices.find(chooses);
    found.map_or(Ok(()), |path| Err(format!("{} decides what {name} runs", path.display()).into()))
}

/// Whether a toolchain file only requests an installed toolchain: others are a folder, or are downloaded.
fn is_installed_toolchain(path: &Path, surroundings: &Surroundings<'_>) -> bool {
    let Some(text) = super::repository::read_small(path) else { return false };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let channel = match lines.as_slice() {
        [channel] if !channel.contains(['=', '[']) => *channel,
        ["[toolchain]", line] => match line.split_once('=') {
            Some((key, value)) if key.trim() == "channel" => value.trim().trim_matches('"'),
            _ => return false,
        },
        _ => return false,
    };
    let is_plain = channel.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    let folder = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| surroundings.home.map(|home| home.join(".rustup")));
    let Some(Ok(entries)) = folder.map(|folder| folder.join("toolchains").read_dir()) else { return false };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    is_plain
        && !channel.is_empty()
        && names.into_iter().any(|name| {
            let rest = name.strip_prefix(channel);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(&format!("-{}-", std::env::consts::ARCH))
            })
        })
}

/// Whether the program that bash finds under this name is, or may be, a file of the workspace.
pub(super) fn is_of_workspace(name: &str, surroundings: &Surroundings<'_>) -> bool {
    let workspace = surroundings.workspace;
    // A user who works in the home directory has programs there.
    let holds_home = surroundings
        .home
        .is_some_and(|home| home.starts_with(&workspace.plain) || home.starts_with(&workspace.real));
    let within = |path: &Path| workspace.forms().any(|folder| rest_below(path, folder).is_some());
    // It depends on the directory that the command runs in.
    let has = |folder: &Path| {
        let has = |base: &PathBuf| links::kind(&base.join(folder).join(name)).is_some();
        surroundings.directories.is_none_or(|bases| bases.iter().any(has))
    };
    let search = links::search_path();
    if search.relative.iter().any(|folder| has(folder)) {
        return true;
    }
    !holds_home
        && (search.absolute_folders(within).any(|folder| links::kind(&folder.join(name)).is_some())
            || links::program(name).is_some_and(|program| within(&program.path) || within(&program.real)))
}
