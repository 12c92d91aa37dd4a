//! Facts about programs: their operands, and the words that make them run others.
//!
//! A program that is not listed here is assumed to run commands among its words.

mod clients;
mod input;
mod names;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::read_only;
use super::shell::{Part, Word};
use super::subcommands::{GIT_RUNS, has, npm_command};
use clients::CLIENTS;
pub(super) use names::{base, is_same, plain_name, stem, without_version};
use tau_tools::words;

/// A program with the words that make it run others.
pub(super) struct Program {
    name: &'static str,
    /// Options before its subcommand that take no value.
    flags: &'static [&'static str],
    /// Options before its subcommand with a value in the next word.
    valued: &'static [&'static str],
    /// Words that make it run commands in other words: a short option (`-x`), a long one (`--exec`), or a
    /// subcommand (`exec`). `*=` is any `NAME=VALUE`, and `^` marks the beginning of a word. After `commit:`
    /// they count only for this subcommand, and after a bare `:` only before it; `commit:` alone means all of
    /// it.
    runs: &'static [&'static str],
}

const fn plain(name: &'static str, runs: &'static [&'static str]) -> Program {
    Program { name, flags: &[], valued: &[], runs }
}

const NPM_VALUED: &[&str] = words!(
    "--registry --prefix -C --dir --cwd --loglevel --tag --otp --userconfig --globalconfig \
         --cache -w --workspace --filter -F --reporter --access --location"
);
const NPM_FLAGS: &[&str] = words!(
    "-g --global -s --silent -q --quiet -d --json -y --yes -f --force --dry-run --workspaces \
         --if-present --ignore-scripts --no-audit --no-fund -r --verbose"
);
const NPM_RUNS: &[&str] = words!(
    "exec x dlx create init innit explore edit config set c --script-shell --node-options \
         --shell --git --viewer --editor --call --userconfig --globalconfig --onload-script pkg run:env"
);
/// Options that make compilers run other programs.
const COMPILER: &[&str] = words!("-wrapper ^@ ^-B -fplugin -specs --specs -fuse-ld --ld-path");

const PROGRAMS: &[Program] = &[
    Program {
        name: "git",
        flags: words!(
            "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs \
         --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice \
         --no-lazy-fetch -v --version -h --help --html-path --man-path --info-path --exec-path"
        ),
        valued: words!(
            "-C -c --git-dir --work-tree --namespace --super-prefix --attr-source --config-env \
         --list-cmds"
        ),
        runs: GIT_RUNS,
    },
    Program {
        name: "cargo",
        flags: words!(
            "-v -vv --verbose -q --quiet --locked --offline --frozen -V --version --list -h --help"
        ),
        valued: words!("-C --config -Z --color --explain"),
        runs: words!("--config -Z rustc rustdoc watch with eval script play exec shell"),
    },
    Program { name: "npm", flags: NPM_FLAGS, valued: NPM_VALUED, runs: NPM_RUNS },
    Program { name: "pnpm", flags: NPM_FLAGS, valued: NPM_VALUED, runs: NPM_RUNS },
    Program { name: "yarn", flags: NPM_FLAGS, valued: NPM_VALUED, runs: NPM_RUNS },
    Program {
        name: "bun",
        flags: words!("--silent -h --help -v --version"),
        valued: words!("--cwd -c --config"),
        runs: words!("x exec create -e -p --eval --print --preload -r --config -c --shell"),
    },
    Program {
        name: "docker",
        flags: words!("-D --debug --tls --tlsverify -v --version --help"),
        valued: words!("-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey"),
        runs: words!("run exec debug --config plugin container:run container:exec compose:run compose:exec"),
    },
    Program {
        name: "podman",
        flags: words!("-r --remote --help --version"),
        valued: words!("--log-level --connection -c --url --root --runroot --runtime"),
        runs: words!("run exec container:run container:exec unshare --runtime --hooks-dir --conmon"),
    },
    Program {
        name: "kubectl",
        flags: words!("--insecure-skip-tls-verify --match-server-version --warnings-as-errors --help"),
        valued: words!(
            "-n --namespace --context --kubeconfig --cluster --user -s --server --token --as \
         --as-group --as-uid --cache-dir --certificate-authority --client-certificate \
         --client-key --request-timeout --tls-server-name -v --v --vmodule --password --username \
         --profile --profile-output --log-file"
        ),
        runs: words!("exec run debug edit plugin --kubeconfig --kuberc config"),
    },
    plain("make", words!("*= --eval -E -f --file --makefile")),
    plain("gmake", words!("*= --eval -E -f --file --makefile")),
    plain("ninja", words!("-f -t")),
    plain("cmake", words!("^-E ^-P ^-D ^-C")),
    plain("go", words!("run tool generate env -exec -toolexec -vettool -ldflags -overlay")),
    plain("mvn", words!("^-D --define -f --file -s --settings")),
    plain(
        "gradle",
        words!("^-D ^-P ^-I --init-script ^-b --build-file ^-c --settings-file ^-p --project-dir"),
    ),
    plain("dotnet", words!("exec run tool msbuild ^-p: --property ^/p -logger --logger")),
    plain("rustup", words!("run toolchain")),
    plain("rustc", words!("^-C --codegen ^-Z --sysroot")),
    plain("rustfmt", words!("")),
    plain(
        "tar",
        words!(
            "-I --use-compress-program --to-command --checkpoint-action -F --info-script \
         --new-volume-script --rsh-command --rmt-command"
        ),
    ),
    plain("bsdtar", words!("--use-compress-program")),
    plain("sort", words!("--compress-program")),
    plain("split", words!("--filter")),
    plain("csplit", words!("")),
    plain("rg", words!("--pre --hostname-bin")),
    plain("fd", words!("-x -X --exec --exec-batch")),
    plain("fdfind", words!("-x -X --exec --exec-batch")),
    plain("zip", words!("-TT --unzip-command")),
    plain("rsync", words!("-e --rsh --rsync-path")),
    plain("scp", words!("-S -o -F -J -D")),
    plain("sftp", words!("-S -o -F -J -D -b")),
    plain("wget", words!("--use-askpass -e --execute --config")),
    plain("gcc", COMPILER),
    plain("g++", COMPILER),
    plain("cc", COMPILER),
    plain("c++", COMPILER),
    plain("clang", COMPILER),
    plain("clang++", COMPILER),
    plain("apt", words!("-o --option -c --config-file")),
    plain("apt-get", words!("-o --option -c --config-file")),
    plain("dnf", words!("-c --config --setopt")),
    plain("yum", words!("-c --config --setopt")),
    plain("pacman", words!("--config --hookdir --gpgdir")),
    plain("apk", words!("")),
    plain("zypper", words!("-c --config")),
    plain("brew", words!("sh ruby irb exec")),
    plain("pip", words!("--python")),
    plain("pip3", words!("--python")),
    plain("gem", words!("exec")),
    plain("man", words!("-P --pager -H --html -C --config-file")),
    plain("pytest", words!("-p -c --config-file -o --override-ini --pdbcls --confcutdir --rootdir")),
    plain("ruff", words!("--config")),
    plain("mypy", words!("--config-file --python-executable")),
    plain("black", words!("--config")),
    plain(
        "eslint",
        words!("-c --config --rulesdir --resolve-plugins-relative-to --parser --plugin -f --format"),
    ),
    plain("prettier", words!("--plugin --config")),
    plain("tsc", words!("")),
    plain(
        "jest",
        words!("-c --config --runner --globalSetup --setupFiles --testEnvironment --transform --rootDir"),
    ),
    plain("shellcheck", words!("")),
    plain("install", words!("--strip-program")),
    plain("gh", words!("alias extension extensions ext codespace cs config")),
];

/// Programs that run any program among their words, and the words behind which they do.
const EXECUTING: [(&str, &str); 4] = [
    ("npm pnpm yarn bun", "exec x dlx env"),
    (
        "uv poetry pipenv hatch pdm rye pixi conda mamba micromamba devbox volta doppler dotenvx infisical",
        "run",
    ),
    ("bundle rbenv pyenv nodenv goenv jenv fnm nvm rtx aws-vault chamber lerna", "exec"),
    ("nix", "develop shell"),
];

/// Programs, besides read-only ones, whose operands are files, names or texts.
const DATA: &[&str] = words!(
    "cp mv rm mkdir rmdir touch ln chmod chown chgrp tee dd mktemp truncate shred unlink \
         kill pkill pgrep killall cd pushd popd export declare typeset local readonly read unset \
         set hash type command which whereis apropos whatis help umask ulimit dirs exit return \
         test [ getopts let gzip gunzip bzip2 bunzip2 xz unxz zstd unzip curl ping dig nslookup \
         host clear tput stty notify-send wl-copy pbcopy xclip jq cat echo printf iconv diff sum \
         http https xh curlie"
);

/// Programs that are known to run their operands, whose values therefore matter even if unknown.
const RUNNERS: &[&str] = words!(
    "prlimit flock script setpriv unshare chroot setarch linux32 linux64 i386 x86_64 choom \
         runuser su sg newgrp nsenter busybox toybox watch parallel ssh systemd-run strace \
         ltrace gdb perf valgrind unbuffer expect firejail bwrap fakeroot fakechroot proot \
         cgexec numactl dbus-run-session dbus-launch xvfb-run torsocks proxychains tsocks \
         aa-exec runcon pkexec start-stop-daemon daemonize at batch entr cpulimit eatmydata \
         faketime rlwrap tmux screen hyperfine catchsegv npx bunx pnpx uvx pipx mise asdf direnv \
         nix-shell sem softlimit chpst capsh"
);

/// Programs that run the one that their first operand names, often a package.
pub(super) const LAUNCHERS: &str = "npx bunx pnpx uvx pipx uv poetry pnpm yarn bun npm bundle hatch pdm rye";

/// Shells and interpreters: they run a text or a file, which may do anything.
const INTERPRETERS: &[&str] = words!(
    "sh bash dash ash zsh ksh mksh fish csh tcsh rbash python pypy perl ruby node nodejs \
         deno bun php lua luajit osascript pwsh Rscript tclsh awk gawk guile"
);

/// More of them, some of whose names are also other words.
const MORE_INTERPRETERS: &[&str] = words!(
    "mawk nawk powershell R Rterm littler yash osh oil ysh nu xonsh elvish rc es tsx ts-node \
         ts-node-esm swc-node ipython bpython jython julia groovy scala kotlin elixir iex erl \
         escript ocaml utop ghci runghc runhaskell java jshell irb erb racket sbcl clisp ecl \
         crystal nim wish m4 gnuplot octave sqlite3 psql"
);

/// All of them, sorted.
static TEXT_RUNNERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut names = [INTERPRETERS, MORE_INTERPRETERS].concat();
    names.sort_unstable();
    names
});

/// Programs whose commands may stand directly before a name, as in `w.bashrc` and `1ezap`.
const EDITORS: &[&str] = words!("sed gsed ed red ex vi vim nvim view vimdiff rvim qed");

/// Whether a program takes commands with a name directly behind a letter.
pub(super) fn is_editor(name: &str) -> bool {
    EDITORS.contains(&name)
}

/// Whether a program is a client whose subcommands are named like programs.
pub(super) fn is_client(name: &str) -> bool {
    CLIENTS.binary_search_by_key(&name, |program| program.name).is_ok()
}

/// Whether a program is listed here, so that its name is no other word.
pub(super) fn is_known(name: &str) -> bool {
    let alone = [Word::of_text(name)];
    Program::find_by_name(name).is_some() || runs_texts(name) || is_runner(name) || takes_data(&alone, false)
}

/// The name of the program that words run, as [`plain_name`], if known.
pub(super) fn name(words: &[Word]) -> Option<Cow<'_, str>> {
    words.first().and_then(Word::literal).map(|name| match name {
        Cow::Borrowed(name) => Cow::Borrowed(plain_name(name)),
        Cow::Owned(name) => Cow::Owned(plain_name(&name).to_owned()),
    })
}

/// Whether a program is a shell or an interpreter, in any version, such as `python3.12`.
pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&without_version(name))
}

/// Whether a program runs texts: a shell or an interpreter, or another program that is one.
pub(super) fn runs_texts(name: &str) -> bool {
    let is_one = |name: &str| TEXT_RUNNERS.binary_search(&name).is_ok();
    let plain = without_version(name);
    is_one(name) || plain.len() < name.len() && is_one(plain)
}

/// Whether a program is known to run its operands.
pub(super) fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name)
        || name.starts_with("ld-linux")
        || name.starts_with("ld.so")
        || name.starts_with("ld-musl")
}

/// The command that `git for-each-repo` runs in other repositories.
pub(super) fn for_each_repository(words: &[Word]) -> Option<Vec<Word>> {
    name(words).filter(|name| name == "git")?;
    let literal = |word: &Word| word.literal().map(Cow::into_owned);
    let at = words.iter().position(|word| literal(word).as_deref() == Some("for-each-repo"))?;
    let behind = words.get(at + 1..)?;
    let options = behind.iter().take_while(|word| literal(word).is_some_and(|text| text.starts_with("--")));
    // The value of `--config` may be the next word.
    let is_apart = behind.first().and_then(literal).as_deref() == Some("--config");
    let rest = behind.iter().skip(options.count() + usize::from(is_apart));
    Some(std::iter::once(Word::of_text("git")).chain(rest.cloned()).collect())
}

/// Whether words run any program that is among them, not only those that a package or a project has.
pub(super) fn runs_any(words: &[Word]) -> bool {
    let Some(name) = name(words) else { return false };
    let behind = EXECUTING.iter().find(|(of, _)| has(of, &name)).map_or("", |(_, behind)| behind);
    let mut literals = words.iter().skip(1).filter_map(Word::literal);
    is_runner(&name) || literals.any(|text| has(behind, &text))
}

/// Whether a package manager runs its first operand as a program, because none of its subcommands has that name.
pub(super) fn runs_first_operand(name: &str, words: &[Word]) -> bool {
    const OWN: &[&str] = words!(
        "add install i ci remove rm uninstall un unlink link up update upgrade list ls info view why outdated \
             audit publish pack version cache store import init create test t start stop help owner login logout"
    );
    let program = Program::find_by_name(name).filter(|_| ["yarn", "pnpm", "bun"].contains(&name));
    let places = program.map_or(0..0, |program| program.subcommand(words).0);
    let mut operands = words.get(places).unwrap_or_default().iter().filter_map(Word::literal);
    operands.next().is_some_and(|first| !OWN.contains(&first.as_ref()))
}

impl Program {
    /// The facts about a program; `None` if it is not listed.
    pub(super) fn find_by_name(name: &str) -> Option<&'static Program> {
        let client = || CLIENTS.binary_search_by_key(&name, |program| program.name).ok();
        PROGRAMS.iter().find(|program| program.name == name).or_else(|| CLIENTS.get(client()?))
    }

    /// The number of words that an option before the subcommand takes; `None` if the option is unknown.
    pub(super) fn option_length(&self, option: &str) -> Option<usize> {
        let bare = option.split_once('=').map_or(option, |(bare, _)| bare);
        let is_toolchain = self.name == "cargo" && option.starts_with('+');
        if self.flags.contains(&option) || is_toolchain || bare != option && self.valued.contains(&bare) {
            return Some(1);
        }
        self.valued.contains(&option).then_some(2)
    }

    /// The text directly behind an option of more than one letter with which it runs others: `zip -TTcmd`.
    pub(super) fn glued_commands<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let long = self.runs.iter().filter(|spec| spec.starts_with('-') && spec.len() > 2);
        long.filter_map(move |spec| text.strip_prefix(spec))
    }

    /// Whether it has options before its subcommands.
    fn has_options(&self) -> bool {
        !self.flags.is_empty()
    }

    /// The possible positions of its subcommand: one, or all from there on if an option before it is unknown;
    /// and the unknown options.
    pub(super) fn subcommand(&self, words: &[Word]) -> (std::ops::Range<usize>, Vec<usize>) {
        let (mut at, mut unknown) = (1, Vec::new());
        while let Some(word) = words.get(at) {
            let literal = word.literal();
            match literal.as_deref() {
                Some(text) if !text.starts_with(['-', '+']) => break,
                Some(text) => match self.option_length(text) {
                    Some(length) => at += length,
                    None => {
                        unknown.push(at);
                        at += 1;
                    }
                },
                None if word.may_be_option() => {
                    unknown.push(at);
                    at += 1;
                }
                None => break,
            }
        }
        let first = unknown.first().map_or(at, |first| first + 1);
        let end = if unknown.is_empty() { at + 1 } else { words.len() };
        (first..end.min(words.len()), unknown)
    }

    /// The indexes of the words that make it run others.
    pub(super) fn running(&self, words: &[Word]) -> Vec<usize> {
        let (places, mut found) = self.subcommand(words);
        if !self.has_options() {
            found.clear();
        }
        let written = words.get(places.start).and_then(Word::literal).unwrap_or_default();
        let subcommand = Some(&*written).filter(|_| self.name == "npm").and_then(npm_command);
        let subcommand = subcommand.unwrap_or(&written);
        let is_uncertain = places.len() > 1;
        // Those of other subcommands do not count.
        let concerns = |spec: &&str| {
            let is_own = || spec.strip_prefix(subcommand).is_some_and(|rest| rest.starts_with(':'));
            is_uncertain || spec.starts_with(':') || is_own() || !spec.contains(':')
        };
        let specs: Vec<&str> = self.runs.iter().copied().filter(concerns).collect();
        for (at, word) in words.iter().enumerate().skip(1) {
            let Some(text) = word.literal() else {
                if word.may_be_option() && !self.runs.is_empty() && word.splits {
                    found.push(at);
                }
                continue;
            };
            let text = if self.name == "tar" && at == 1 && !text.starts_with('-') {
                Cow::Owned(format!("-{text}"))
            } else {
                text
            };
            let is_before = at < places.start || is_uncertain;
            let counts = |spec: &&str| match spec.split_once(':') {
                Some(("", spec)) => is_before && is_word(spec, &text),
                Some((of, "")) => of == text && (at == places.start || is_uncertain),
                Some((of, spec)) => {
                    (of == subcommand && at > places.start || is_uncertain) && is_word(spec, &text)
                }
                None if !spec.starts_with(['-', '^', '*']) && self.has_options() => {
                    (at == places.start || is_uncertain) && *spec == text
                }
                None => is_word(spec, &text),
            };
            // Options for git: `gh repo clone x -- --template=folder`.
            let is_for_git = || self.name == "gh" && text == "--";
            if specs.iter().any(counts) || self.name == "cargo" && is_foreign_toolchain(&text) || is_for_git()
            {
                found.push(at);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether a text is a `+toolchain` that is not a plain name, so it may be a folder.
fn is_foreign_toolchain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.strip_prefix('+').is_some_and(|name| !name.chars().all(plain) || name.starts_with('.'))
}

/// Whether a word is an option or a subcommand of the table: long options also abbreviated or with a value,
/// letters also in a cluster.
fn is_word(spec: &str, text: &str) -> bool {
    if spec == "*=" {
        let value = text.split_once('=').filter(|(name, _)| !name.starts_with('-'));
        return value.is_some_and(|(_, value)| !value.chars().all(|c| c.is_ascii_digit()));
    }
    if let Some(start) = spec.strip_prefix('^') {
        return text.starts_with(start);
    }
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if let Some(long) = spec.strip_prefix("--") {
        return name.strip_prefix("--").is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    match spec.strip_prefix('-') {
        // A short option: alone, with its value, or in a cluster.
        Some(letter) if letter.len() == 1 => {
            text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
        }
        // A long option with a single dash, as in go and compilers.
        Some(long) => text.starts_with(spec) || name.strip_prefix("--") == Some(long),
        None => spec == text,
    }
}

/// Whether a text is one of these options or subcommands, see [`is_word`].
pub(super) fn is_one_of(specs: &str, text: &str) -> bool {
    specs.split(' ').any(|spec| !spec.is_empty() && is_word(spec, text))
}

/// Whether a program is known to treat its words as data: none of them is run.
pub(super) fn takes_data(words: &[Word], more_arguments: bool) -> bool {
    let Some(name) = name(words) else { return false };
    if let Some(program) = Program::find_by_name(&name) {
        return program.running(words).is_empty();
    }
    if name == "sed" {
        return read_only::sed_edits_only(words, more_arguments);
    }
    DATA.contains(&name.as_ref()) || read_only::only_read(words, more_arguments)
}

/// Whether a part may run its input: `sftp` does behind a `!`, although its words are data.
pub(super) fn may_run_input(part: &Part) -> bool {
    !takes_data(&part.words, part.more_arguments) || name(&part.words).is_some_and(|name| name == "sftp")
}

/// Whether a part may run its input or the files that it names.
pub(super) fn may_run_texts(part: &Part) -> bool {
    let reads_own = || name(&part.words).is_some_and(|name| super::shell::reads_by_itself(&name));
    !takes_data(&part.words, part.more_arguments) || reads_own()
}

/// Programs that take names or instructions from their input with one of these words, although they treat other words
/// as data.
const INSTRUCTED: &[(&str, &[&str])] = &[
    ("curl", words!("-T --upload-file")),
    ("wget", words!("-i --input-file ^-i")),
    ("rsync", words!("--include-from --exclude-from")),
    ("zip", words!("-@ --names-stdin")),
    ("ar", words!("-M")),
    // Files that are included.
    ("gcc", words!("-")),
    ("g++", words!("-")),
    ("cc", words!("-")),
    ("c++", words!("-")),
    ("clang", words!("-")),
    ("clang++", words!("-")),
    ("git", words!("apply am --stdin --batch --batch-check fast-import update-index")),
];

/// Options with a file that names the files to use.
const LISTED: &[(&str, &[&str])] = &[
    ("tar", words!("-T --files-from ^-T")),
    ("gtar", words!("-T --files-from ^-T")),
    ("bsdtar", words!("-T --files-from ^-T")),
    ("rsync", words!("--files-from")),
    ("git", words!("--pathspec-from-file ^--stdin-")),
    ("curl", words!("-K --config")),
    ("exiftool", words!("-@")),
    ("svn", words!("--targets")),
    ("sort", words!("--files0-from")),
    ("wc", words!("--files0-from")),
    ("du", words!("--files0-from")),
    ("file", words!("-f --files-from")),
    ("find", words!("-files0-from")),
    ("shuf", words!("--files0-from")),
    ("parallel", words!("::::")),
    ("ctags", words!("-L ^-L")),
    ("cscope", words!("-i ^-i")),
    ("ffmpeg", words!("concat")),
];

/// Parts of the names of long options with such a file, of any program.
const LIST_OPTIONS: [&str; 7] =
    ["files-from", "files0-from", "paths-from", "-from-file", "file-list", "filelist", "list-file"];

fn has_word_of(table: &[(&str, &[&str])], part: &Part) -> bool {
    let name = name(&part.words).unwrap_or_default();
    let mut specs = table.iter().filter(|(program, _)| *program == name).flat_map(|(_, specs)| *specs);
    // The first letters of tar may have no dash.
    let letters = part.words.get(1).and_then(Word::literal).filter(|_| name.ends_with("tar"));
    let letters = letters.map(|text| Cow::Owned(format!("-{text}")));
    let texts = || beginnings(part).chain(letters.clone());
    specs.any(|spec| texts().any(|text| is_word(spec, &text)))
}

/// The arguments of a part, of those that are not known the beginnings: an option with a variable behind it.
fn beginnings(part: &Part) -> impl Iterator<Item = Cow<'_, str>> {
    let beginning = |word: &'_ Word| Some(word.pieces.first()?.text()?.to_owned());
    part.words
        .iter()
        .skip(1)
        .filter_map(move |word| word.literal().or_else(|| beginning(word).map(Cow::Owned)))
}

/// Whether a part uses files that its words do not name: further arguments, those of a list, or those that its input
/// names.
pub(super) fn uses_more_files(part: &Part) -> bool {
    part.more_arguments || has_word_of(LISTED, part) || has_list_option(part) || input::is_opened(part)
}

fn has_list_option(part: &Part) -> bool {
    let names = beginnings(part);
    let mut options = names.filter_map(|text| Some(text.strip_prefix("--")?.split('=').next()?.to_owned()));
    options.any(|name| LIST_OPTIONS.iter().any(|part| name.contains(part)))
}

/// The file that holds further arguments, in a word such as `@list`.
pub(super) fn response_file(word: &Word) -> Option<Word> {
    let text = word.literal()?;
    let name = text.strip_prefix('@').filter(|name| !name.is_empty())?;
    Some(Word::of_text(name))
}

/// Whether names in the input of a part may be files that it uses.
pub(super) fn reads_names(part: &Part) -> bool {
    name(&part.words).is_none()
        || has_word_of(INSTRUCTED, part)
        || has_word_of(LISTED, part)
        || name(&part.words).is_some_and(|name| ["sftp", "lftp", "ftp"].contains(&name.as_ref()))
        // The input of `xargs` are arguments.
        || part.more_arguments
        || !takes_data(&part.words, part.more_arguments)
}
