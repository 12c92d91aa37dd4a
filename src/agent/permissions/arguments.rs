//! Decides which arguments the `*` of an allow rule covers.
//!
//! For commands of [`COMMANDS`] these are operands and the options in the table, so that a rule offered by
//! tau never runs anything else. For other programs they are all arguments, except for the words with which
//! the program runs others ([`programs`]). Words named in full by a rule are always covered.

mod options;

use std::borrow::Cow;
use std::path::Path;

use super::command_pattern::CommandPattern;
use super::path_pattern::normalise;
use super::programs::{self, Program};
use super::read_only;
use super::shell::Word;
use super::subcommands::has;
pub(super) use options::covers_input;

/// A command with the options that `*` covers.
pub(super) struct Command {
    /// The program and its subcommand, or the option with the module that it runs.
    name: &'static str,
    /// Options without a value; those of one letter may be joined.
    flags: &'static str,
    /// Options with a value, in the next word or after `=`.
    valued: &'static str,
    /// Options with a value after `--`, where other words are operands.
    behind: &'static str,
    /// The operands that are covered.
    operands: Operands,
}

/// The operands that `*` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    None,
    /// Names, and paths below the working directory.
    Inside,
    /// Like `Inside`, but the first one is the name of a script of the project, which a rule covers with
    /// those that begin like it: `npm run test*`.
    Script,
}

const fn command(name: &'static str, flags: &'static str, valued: &'static str) -> Command {
    Command { name, flags, valued, behind: "", operands: Operands::Inside }
}

const fn command_with_behind(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    behind: &'static str,
) -> Command {
    Command { behind, ..command(name, flags, valued) }
}

const fn bare(name: &'static str, flags: &'static str) -> Command {
    Command { operands: Operands::None, ..command(name, flags, "") }
}

const fn scripts(name: &'static str, flags: &'static str, valued: &'static str) -> Command {
    let command = command_with_behind(name, flags, valued, SCRIPT_BEHIND);
    Command { operands: Operands::Script, ..command }
}

/// Options of cargo for all builds.
const CARGO_FLAGS: &str = "--workspace --all --all-targets --all-features --no-default-features --lib --bins \
         --tests --examples --benches --doc --release -r --no-run --no-fail-fast --locked \
         --offline --frozen -v -vv --verbose -q --quiet --keep-going --ignore-rust-version \
         --no-deps --document-private-items";
const CARGO_VALUED: &str = "-p --package --exclude -F --features --bin --test --example --bench -j --jobs --profile \
         --message-format --color";
/// Options of cargo's test binaries.
const LIBTEST: &str = "--nocapture --no-capture --ignored --include-ignored --exact --list --show-output -q \
         --quiet --test-threads= --test-threads --skip --skip=";
const LINTS: &str = "-D -W -A -F --deny --warn --allow --forbid --no-deps";
const GIT_SHOWN: &str = "-p --patch --stat --shortstat --numstat --name-only --name-status --oneline --graph \
         --all --decorate --cached --staged -w -b --reverse --follow --no-merges --merges \
         --first-parent --color --no-color --word-diff --summary -s --no-patch -z --check";
const GIT_SHOWN_VALUED: &str = "-n --max-count --since --until --author --grep -U --unified";
const GO_FLAGS: &str = "-v -race -cover -short -failfast -json -benchmem -n -x -a";
const GO_VALUED: &str = "-run -bench -count -timeout -cpu -parallel -skip -tags -p -benchtime -covermode \
         -shuffle -fuzztime";

const UNITTEST: &str = "-v --verbose -q --quiet -f --failfast -b --buffer -c --catch --locals";
const UNITTEST_VALUED: &str = "-k -s -p -t";
const PYTEST: &str = "-v -vv -q -x -s -l --lf --ff --sw --last-failed --failed-first --exitfirst --no-header \
         --collect-only --co -ra -rA -rf";
const PYTEST_VALUED: &str = "-k -m --tb --maxfail --durations -n --cov --timeout";
const RUFF: &str = "--fix --diff --check -q --quiet -v --watch --no-cache";
const RUFF_VALUED: &str = "--select --ignore --output-format --target-version --line-length";
const MYPY: &str = "--strict --ignore-missing-imports --pretty --no-incremental -v";
const MYPY_VALUED: &str = "-p -m --python-version";
const RSPEC: &str = "--fail-fast --only-failures --next-failure -b --backtrace --no-color --color";
const RSPEC_VALUED: &str = "-e --example -t --tag --seed -f --format";
const PHPUNIT: &str = "--stop-on-failure --no-coverage --testdox --colors -v --verbose --parallel";
const PHPUNIT_VALUED: &str = "--filter --testsuite --group --exclude-group";
const ESLINT: &str = "--fix --quiet --cache --no-color";
const PRETTIER: &str = "--check -c --write -w --list-different -l --no-color";
const TSC: &str = "--noEmit --pretty --watch -w --skipLibCheck --incremental";
const JEST: &str = "--coverage --ci --silent --verbose -i --runInBand --watch -o --bail -u";
const JEST_VALUED: &str = "-t --testNamePattern --testTimeout -w --maxWorkers";
const VITEST: &str = "--run --coverage --watch=false -u --silent --passWithNoTests";
const VITEST_VALUED: &str = "-t --testNamePattern --bail";
const MAVEN: &str = "-q --quiet -B --batch-mode -e --errors -o --offline -ntp";
const GRADLE: &str =
    "-q --quiet --info --stacktrace --offline --continue --rerun-tasks --no-daemon --console=plain";
/// Options whose value is any text, for every command of the table.
const TEXTS: &str = "-m --message -k --grep --author --date --since --until --skip -run -bench --testNamePattern \
         --tests --test-name-pattern --filter --format --message-format --selector --only --exclude";
/// Options of test runners and linters after the name of a script.
const SCRIPT_FLAGS: &str =
    "--fix --watch --coverage --ci --run --silent --verbose --quiet --bail --update -u";
/// Like [`SCRIPT_FLAGS`], with the options that choose tests by their names: the short ones have other meanings elsewhere.
const SCRIPT_BEHIND: &str = "--fix --watch --coverage --ci --run --silent --verbose --quiet --bail --update -u \
         --grep --grep= --fgrep --fgrep= --testNamePattern --testNamePattern= --test-name-pattern \
         --test-name-pattern= --filter --filter=";
const SCRIPT_VALUED: &str = "--grep --fgrep --testNamePattern --test-name-pattern --filter";

/// The commands for which tau offers a rule with `*`.
const COMMANDS: &[Command] = &[
    command_with_behind("cargo test", CARGO_FLAGS, CARGO_VALUED, LIBTEST),
    command_with_behind("cargo bench", CARGO_FLAGS, CARGO_VALUED, LIBTEST),
    command("cargo build", CARGO_FLAGS, CARGO_VALUED),
    command("cargo check", CARGO_FLAGS, CARGO_VALUED),
    command_with_behind("cargo clippy", CARGO_FLAGS, CARGO_VALUED, LINTS),
    command_with_behind("cargo fmt", "--all --check -v -q", "-p --package", "--check -l --color=never"),
    command("cargo doc", CARGO_FLAGS, CARGO_VALUED),
    command(
        "cargo tree",
        "--workspace --all-features --no-default-features -d --duplicates -q --locked --offline",
        "-p --package -i --invert -e --edges --depth --prefix --features -F",
    ),
    command("cargo metadata", "--no-deps --locked --offline -q", "--format-version --features"),
    command("git add", "-A --all -u --update -v -n --dry-run -N --intent-to-add -f", ""),
    command(
        "git commit",
        "-a --all --amend --no-edit -q --quiet -v --allow-empty -s --signoff -n --dry-run",
        "-m --message --fixup --author --date",
    ),
    command("git fetch", "-a --all -p --prune -t --tags -n --no-tags -q -v --dry-run", "--depth -j"),
    command(
        "git pull",
        "--rebase --no-rebase -r --ff-only --no-edit --autostash -p --prune -q -v --tags",
        "--depth",
    ),
    command("git switch", "- -q --detach -d --no-track -t --track --guess", "-c --create"),
    command("git stash", "-u --include-untracked -k --keep-index -q -p --index", "-m --message"),
    command(
        "git merge",
        "--no-ff --ff-only --ff --no-edit --squash --no-commit --abort --continue -q -v",
        "-m",
    ),
    command("git status", "-s --short -b --branch --porcelain -v --ignored -z", ""),
    command("git log", GIT_SHOWN, GIT_SHOWN_VALUED),
    command("git diff", GIT_SHOWN, GIT_SHOWN_VALUED),
    command("git show", GIT_SHOWN, GIT_SHOWN_VALUED),
    command("go test", GO_FLAGS, GO_VALUED),
    command("go build", "-v -race -n -x -a", "-tags -p"),
    command("go vet", "-v -n -x", "-tags"),
    command("go fmt", "-n -x", ""),
    command("go list", "-m -json -deps -test -u -versions -e", "-tags"),
    Command {
        operands: Operands::None,
        ..command(
            "dotnet test",
            "--no-build --no-restore --nologo",
            "-c --configuration -v --verbosity --filter",
        )
    },
    Command {
        operands: Operands::None,
        ..command("dotnet build", "--no-restore --nologo", "-c --configuration -v --verbosity")
    },
    command("docker ps", "-a --all -q --quiet --no-trunc -s -l", "-f --filter -n --last"),
    command("docker images", "-a --all -q --quiet --no-trunc --digests", "-f --filter"),
    command("docker logs", "-f --follow -t --timestamps --details", "-n --tail --since --until"),
    command("docker inspect", "-s --size", "--type"),
    command(
        "kubectl get",
        "-A --all-namespaces -w --watch --show-labels --no-headers",
        "-n --namespace -o --output -l --selector",
    ),
    command("kubectl describe", "-A --all-namespaces", "-n --namespace -l --selector"),
    command(
        "kubectl logs",
        "-f --follow -p --previous --timestamps --all-containers",
        "-n --namespace -c --container --tail --since -l",
    ),
    command("rustup show", "", ""),
    command("rustup component", "", ""),
    command("rustup target", "", ""),
    command("pytest", PYTEST, PYTEST_VALUED),
    command("uv run pytest", PYTEST, PYTEST_VALUED),
    command("uv run python -m pytest", PYTEST, PYTEST_VALUED),
    command("poetry run pytest", PYTEST, PYTEST_VALUED),
    command("pipenv run pytest", PYTEST, PYTEST_VALUED),
    command("ruff", RUFF, RUFF_VALUED),
    command("uv run ruff", RUFF, RUFF_VALUED),
    command("poetry run ruff", RUFF, RUFF_VALUED),
    command("mypy", MYPY, MYPY_VALUED),
    command("uv run mypy", MYPY, MYPY_VALUED),
    command("poetry run mypy", MYPY, MYPY_VALUED),
    command("rspec", RSPEC, RSPEC_VALUED),
    command("bundle exec rspec", RSPEC, RSPEC_VALUED),
    command("phpunit", PHPUNIT, PHPUNIT_VALUED),
    command("php artisan test", PHPUNIT, PHPUNIT_VALUED),
    command("black", "--check --diff -q --quiet -v", "-l --line-length -t --target-version"),
    command("eslint", ESLINT, "--ext --max-warnings"),
    command("npx eslint", ESLINT, "--ext --max-warnings"),
    command("prettier", PRETTIER, "--log-level"),
    command("npx prettier", PRETTIER, "--log-level"),
    command("tsc", TSC, ""),
    command("npx tsc", TSC, ""),
    command("jest", JEST, JEST_VALUED),
    command("npx jest", JEST, JEST_VALUED),
    command("vitest", VITEST, VITEST_VALUED),
    command("npx vitest", VITEST, VITEST_VALUED),
    command("bun test", "--watch --bail --coverage -u", "-t --test-name-pattern --timeout"),
    command("deno test", "--parallel --watch --doc --no-check -q --quiet", "--filter"),
    command("rustfmt", "--check -l -v -q", "--edition"),
    command("gofmt", "-l -w -d -s -e", ""),
    command("shellcheck", "-x -a", "-s --shell -S --severity -f --format -e --exclude"),
    command("mkdir", "-p --parents -v --verbose", "-m --mode"),
    command("python3 -m unittest", UNITTEST, UNITTEST_VALUED),
    command("python -m unittest", UNITTEST, UNITTEST_VALUED),
    command("python3 -m pytest", PYTEST, PYTEST_VALUED),
    command("python -m pytest", PYTEST, PYTEST_VALUED),
    command(
        "node --test",
        "--test-only --test-force-exit",
        "--test-name-pattern --test-concurrency --test-timeout",
    ),
    scripts("npm run", "-s --silent --if-present", ""),
    scripts("pnpm run", "-s --silent --if-present", ""),
    scripts("yarn run", SCRIPT_FLAGS, SCRIPT_VALUED),
    command_with_behind("npm test", "-s --silent --if-present", "", SCRIPT_BEHIND),
    command_with_behind("pnpm test", "-s --silent --if-present", "", SCRIPT_BEHIND),
    command_with_behind("yarn test", SCRIPT_FLAGS, SCRIPT_VALUED, SCRIPT_BEHIND),
    // Any further goal is run, too.
    bare("mvn test", MAVEN),
    bare("mvn -q test", MAVEN),
    bare("mvn -B test", MAVEN),
    bare("./mvnw test", MAVEN),
    bare("./mvnw -q test", MAVEN),
    Command { valued: "--tests", ..bare("gradle test", GRADLE) },
    Command { valued: "--tests", ..bare("./gradlew test", GRADLE) },
    command("mix test", "--trace --stale --failed --cover", "--only --exclude --seed --max-failures"),
    command("swift test", "-v --verbose -q --quiet --parallel --skip-build", "--filter --skip"),
];

/// The command of the table that these words run.
pub(super) fn command_of(words: &[Word]) -> Option<&'static Command> {
    let first = words.first().and_then(Word::literal)?;
    let is_it = |command: &&Command| {
        let mut names = command.name.split(' ').enumerate();
        names.all(|(at, name)| match at {
            0 => name == first,
            at => words.get(at).and_then(Word::literal).is_some_and(|word| word == name),
        })
    };
    COMMANDS.iter().find(is_it)
}

/// Whether a pattern is about a command of the table, and so covers only operands and options in it.
pub(super) fn is_known(pattern: &CommandPattern) -> bool {
    let words: Vec<Word> = pattern.leading().iter().map(|text| Word::of_text(text)).collect();
    command_of(&words).is_some()
}

impl Command {
    /// The rule for it with any covered arguments, as the inside of `bash(…)`.
    pub(super) fn pattern(&self, words: &[Word]) -> Option<String> {
        if self.operands != Operands::Script {
            return Some(format!("{} *", self.name));
        }
        let script = words.get(self.length()).and_then(Word::literal)?;
        let stem = script.split(':').next().filter(|stem| is_plain(stem) && !stem.starts_with('-'))?;
        Some(format!("{} {stem}*", self.name))
    }

    /// The number of its words.
    fn length(&self) -> usize {
        self.name.split(' ').count()
    }

    /// Whether all words from an index on are operands or options of the table.
    pub(super) fn covers(&self, words: &[Word], from: usize) -> bool {
        let (mut at, mut is_behind) = (from.max(self.length()), false);
        while let Some(word) = words.get(at) {
            at += 1;
            let Some(text) = word.literal() else { return false };
            if text == "--" && !is_behind {
                is_behind = true;
                continue;
            }
            if !text.starts_with('-') {
                if !self.takes_operand(&text) {
                    return false;
                }
                continue;
            }
            if is_behind && !self.behind.is_empty() {
                let known =
                    |option: &str| option == text || option.ends_with('=') && text.starts_with(option);
                if !self.behind.split(' ').any(known) {
                    return false;
                }
                continue;
            }
            if is_behind {
                // An operand that looks like an option.
                return false;
            }
            match self.option(&text) {
                None => return false,
                Some(false) => {
                    // A value behind `=`.
                    if text.split_once('=').is_some_and(|(name, value)| !self.takes_value(name, Some(value)))
                    {
                        return false;
                    }
                }
                // A value is one word, even if it is unknown.
                Some(true) => match words.get(at) {
                    Some(value)
                        if !value.splits
                            && !starts_with_dash(value)
                            && self.takes_value(&text, value.literal().as_deref()) =>
                    {
                        at += 1;
                    }
                    _ => return false,
                },
            }
        }
        true
    }

    /// Whether an option of the table takes the next word; `None` if it is not in the table.
    fn option(&self, text: &str) -> Option<bool> {
        if has(self.flags, text) {
            return Some(false);
        }
        if has(self.valued, text) {
            return Some(true);
        }
        if let Some((name, _)) = text.split_once('=')
            && name.starts_with("-")
            && name.len() > 2
            && has(self.valued, name)
        {
            return Some(false);
        }
        // Joined letters, of which the last may have a value. Numbers stand for themselves.
        let letters =
            text.strip_prefix('-').filter(|letters| !letters.starts_with('-') && letters.is_ascii())?;
        if self.name.starts_with("go") {
            return None;
        }
        if !letters.is_empty() && letters.chars().all(|c| c.is_ascii_digit()) {
            return ["git log", "git show"].contains(&self.name).then_some(false);
        }
        let is_flag = |letter: char| has(self.flags, &format!("-{letter}"));
        let last = letters.chars().next_back()?;
        let rest = letters.get(..letters.len() - 1).unwrap_or_default();
        let is_valued = has(self.valued, &format!("-{last}"));
        (letters.len() > 1 && rest.chars().all(is_flag) && (is_flag(last) || is_valued)).then_some(is_valued)
    }

    /// Whether a value of an option is a text, or names nothing outside of the working directory. An unknown value
    /// may name anything.
    fn takes_value(&self, option: &str, value: Option<&str>) -> bool {
        let last = option.chars().next_back().unwrap_or_default();
        let is_joined = !has(self.valued, option) && !option.starts_with("--");
        has(TEXTS, option)
            || is_joined && has(TEXTS, &format!("-{last}"))
            || value.is_some_and(|value| {
                let climbs = value.split('/').any(|part| part == "..");
                // A part of the value may be a path, too: `-o go-template-file=/etc/passwd`.
                let leads_out = |part: &str| part.starts_with(['/', '~']);
                !value.split(['=', ',', ':']).any(leads_out) && !value.contains("://") && !climbs
            })
    }

    /// Whether an operand names nothing outside of the working directory, and is nothing more than a name.
    fn takes_operand(&self, text: &str) -> bool {
        self.operands != Operands::None
            && !text.is_empty()
            && !text.starts_with(['/', '~', '+', '@'])
            && (!text.contains("::") || !self.name.starts_with("git"))
            // `host:path` is an address.
            && (!text.contains(':') || !["git fetch", "git pull"].contains(&self.name))
            && !text.contains("://")
            && !text.contains('=')
            && !text.split('/').any(|part| part == "..")
    }
}

/// Whether a word means the same in a pattern.
pub(super) fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    !word.is_empty() && word.len() <= 200 && word.chars().all(plain) && !word.ends_with(":*")
}

/// Whether a value looks like an option, which its program may treat as one.
fn starts_with_dash(value: &Word) -> bool {
    value.literal().is_some_and(|text| text.starts_with('-'))
}

/// Whether an allow rule whose pattern matches these words covers all of them. The pattern has `outer` more
/// words before them.
pub(super) fn covers(pattern: &CommandPattern, words: &[Word], outer: usize, workspace: &Path) -> bool {
    let named = pattern.named_word_count().saturating_sub(outer);
    if named >= words.len() {
        return true;
    }
    let command = command_of(words).filter(|command| match command.operands {
        // A rule that names a script in full is not one that tau offers.
        Operands::Script => named == command.length(),
        Operands::None | Operands::Inside => named >= command.length(),
    });
    let Some(name) = programs::name(words) else { return true };
    let running = Program::find_by_name(&name).map(|program| program.running(words)).unwrap_or_default();
    if let Some(command) = command {
        let is_script = command.operands != Operands::Script || running.is_empty();
        return is_script && command.covers(words, named);
    }
    if options::cover(words, named, workspace) == Some(false) {
        return false;
    }
    let mut left = pattern.literals().to_vec();
    running.into_iter().chain(uncovered_words(&name, words, workspace)).all(|at| {
        let text = words.get(at).and_then(Word::literal).unwrap_or_default();
        let place = left.iter().position(|literal| *literal == text);
        place.map(|place| left.remove(place)).is_some()
    })
}

/// Whether a word is an option of ssh that names a file with settings or code: `-F`, `-I`. Behind the host, the remote
/// command begins.
fn ssh_loads(words: &[Word], at: usize) -> bool {
    const VALUED: &str = "BbcDEeiJLlmOopQRSWw";
    let (mut operands, mut is_value) = (0, false);
    for (place, word) in words.iter().enumerate().skip(1) {
        let text = word.literal().unwrap_or_default();
        let letters = text.strip_prefix('-').filter(|letters| !is_value && !letters.is_empty());
        operands += usize::from(letters.is_none() && !is_value);
        if operands > 1 {
            return false;
        }
        let decisive = letters.and_then(|letters| {
            letters.char_indices().find(|(_, c)| "FI".contains(*c) || VALUED.contains(*c))
        });
        let loads = decisive.is_some_and(|(_, c)| "FI".contains(c));
        if place == at {
            return loads;
        }
        is_value =
            decisive.is_some_and(|(start, _)| letters.is_some_and(|letters| start + 1 == letters.len()));
    }
    false
}

/// Whether a name leads out of the workspace, or is the input.
fn is_outside(path: &str, workspace: &Path) -> bool {
    path == "-" || path.starts_with('~') || !normalise(&workspace.join(path)).starts_with(workspace)
}

/// Further words that no `*` covers: with these a program runs another, or what a file outside of the workspace says.
fn uncovered_words(name: &str, words: &[Word], workspace: &Path) -> Vec<usize> {
    const FOLDERS: &str = "-S -B --build --install --toolchain";
    const COMPOSED: &str = "-f --file --project-directory -c --compose-file";
    let text = |at: usize| {
        let text = |word: &Word| word.literal().map_or_else(|| word.display(), Cow::into_owned);
        words.get(at).map(text).unwrap_or_default()
    };
    let is_outside = |path: &str| is_outside(path, workspace);
    // The value of one of these options, in its word or the next one.
    let value = |at: usize, options: &str| {
        let word = text(at);
        if has(options, &text(at - 1)) {
            return Some(word);
        }
        let (option, value) = word.split_once('=').unwrap_or_default();
        let mut letters = options.split(' ').filter(|option| option.len() == 2);
        let joined = letters.find_map(|letter| word.strip_prefix(letter));
        let value = if has(options, option) { Some(value) } else { joined };
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let leads_out = |at: usize, options: &str| value(at, options).is_some_and(|value| is_outside(&value));
    let composes = || words.iter().skip(1).filter_map(Word::literal).any(|word| has("compose stack", &word));
    let is_option = |at: usize, option: &str| text(at).split('=').next() == Some(option);
    let is_uncovered = |at: &usize| match name {
        "ssh" => {
            const RUNNING: [&str; 8] = [
                "proxycommand", "localcommand", "permitlocalcommand", "knownhostscommand", "pkcs11provider",
                "securitykeyprovider", "xauthlocation", "include",
            ];
            let option = text(*at).to_lowercase();
            let option = option.trim_start_matches("-o").trim_start();
            RUNNING.iter().any(|start| option.starts_with(start)) || ssh_loads(words, *at)
        }
        "tcpdump" => text(*at).starts_with('-') && !text(*at).starts_with("--") && text(*at).contains('z'),
        "make" | "gmake" => leads_out(*at, "-C --directory -I --include-dir"),
        "terraform" | "tofu" => leads_out(*at, "-chdir -var-file --var-file -out --out -state -backup"),
        "helm" => text(*at).starts_with("--post-renderer"),
        "bazel" | "bazelisk" => is_option(*at, "--run_under") || text(*at) == "run",
        "poetry" => has("run shell", &text(*at)),
        "cmake" => leads_out(*at, FOLDERS) || !text(*at).starts_with('-') && is_outside(&text(*at)),
        "docker" | "podman" if composes() => leads_out(*at, COMPOSED),
        "docker-compose" | "podman-compose" => leads_out(*at, COMPOSED),
        // Its script may run commands. One that is not known before it runs is text in most cases.
        "sed" | "gsed" => {
            let is_known = || words.iter().all(|word| word.literal().is_some() || word.has_glob());
            *at == 1 && is_known() && !read_only::sed_edits_only(words, false)
        }
        _ => false,
    };
    (1..words.len()).filter(is_uncovered).collect()
}
