//! Programs that run texts, or what a folder says: the options that the `*` of an allow rule covers.
//!
//! What is not in the table is asked, so that an option that nobody thought of runs nothing.

use std::path::Path;

use super::{is_outside, starts_with_dash};
use crate::permissions::programs;
use crate::permissions::shell::{Part, Word};
use crate::permissions::subcommands::has;

/// A program with what is covered behind its name.
struct Row {
    name: &'static str,
    /// Options without a value; those of one letter may be joined.
    flags: &'static str,
    /// Options with a value that is neither run nor the name of a file.
    valued: &'static str,
    /// Options that name a file or a folder: it is in the workspace.
    files: &'static str,
    /// Options with a text that the program carries out, see [`Texts`].
    texts: &'static str,
    operands: Operands,
}

/// The operands that are covered.
enum Operands {
    /// Names, which the program does not carry out.
    Names,
    /// Files and targets of the workspace.
    Inside,
    /// Such files and targets, behind one of these subcommands.
    Behind(&'static str),
    /// Texts, as behind [`Row::texts`].
    Texts,
}

const fn project(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    files: &'static str,
    operands: Operands,
) -> Row {
    Row { name, flags, valued, files, texts: "", operands }
}

const SQLITE: &str = "-header -noheader -csv -json -line -column -table -box -markdown -list -html -quote -ascii -tabs \
                      -readonly -batch -bail -echo -safe -stats -version -help";
const SQLITE_VALUED: &str = "-nullvalue -separator -newline";
const MYSQL: &str = "-N -B -t -s -r -v -f -H -X -E -C --batch --table --skip-column-names --raw --silent --verbose --force \
                     --html --xml --vertical --compress --ssl --no-auto-rehash -A --version --help";
const MYSQL_VALUED: &str = "-h --host -P --port -u --user -D --database -S --socket --password --protocol \
                            --default-character-set --ssl-mode --connect-timeout --max-allowed-packet";

const ROWS: &[Row] = &[
    Row {
        name: "psql",
        flags: "-A -t -q -x -X -1 -l -w -W -z -0 -b -a -e -E -H -V --csv --html --tuples-only --no-align --quiet --expanded \
                --no-psqlrc --single-transaction --list --no-password --password --echo-all --echo-errors --echo-queries \
                --echo-hidden --version --help",
        valued: "-h --host -p --port -U --username -d --dbname -F --field-separator -R --record-separator -P --pset -v --set \
                 --variable",
        files: "-f --file -o --output -L --log-file",
        texts: "-c --command",
        operands: Operands::Names,
    },
    Row {
        name: "sqlite3",
        flags: SQLITE,
        valued: SQLITE_VALUED,
        files: "",
        texts: "-cmd",
        operands: Operands::Texts,
    },
    Row {
        name: "duckdb",
        flags: SQLITE,
        valued: SQLITE_VALUED,
        files: "-f",
        texts: "-c -s -cmd",
        operands: Operands::Texts,
    },
    Row {
        name: "mysql",
        flags: MYSQL,
        valued: MYSQL_VALUED,
        files: "",
        texts: "-e --execute",
        operands: Operands::Names,
    },
    Row {
        name: "mariadb",
        flags: MYSQL,
        valued: MYSQL_VALUED,
        files: "",
        texts: "-e --execute",
        operands: Operands::Names,
    },
    project(
        "ctest",
        "-V -VV -N -Q -F --verbose --output-on-failure --show-only --quiet --progress --rerun-failed --stop-on-failure \
         --schedule-random --no-tests=error --version --help",
        "-R -E -L -LE -j --parallel --timeout --repeat -C --build-config -I --tests-regex --exclude-regex --label-regex \
         --test-timeout",
        "--test-dir -O --output-log --output-junit",
        Operands::Inside,
    ),
    project(
        "composer",
        "-n -q -v -vv -vvv -o -a -W -w -D -i -t -l --no-interaction --quiet --verbose --dev --no-dev --dry-run --prefer-dist \
         --prefer-source --prefer-stable --no-progress --no-scripts --no-plugins --no-autoloader --ansi --no-ansi --direct \
         --installed --tree --latest --outdated --strict --locked --optimize-autoloader --optimize --no-update --no-install \
         --with-dependencies --with-all-dependencies --ignore-platform-reqs --no-cache --version --help",
        "--format --ignore-platform-req -f",
        "-d --working-dir",
        Operands::Behind(
            "install i update u upgrade require r remove rm show info validate outdated dump-autoload dumpautoload why \
             depends why-not prohibits audit licenses search status check-platform-reqs diagnose about list help suggests \
             fund run-script run test",
        ),
    ),
    project(
        "zig",
        "--check --stdin --fetch --release --verbose --help -h -fincremental --watch",
        "--summary -j --color -O --test-filter -target",
        "--build-file -p --prefix --cache-dir",
        Operands::Behind("build test fmt version env targets ast-check zen help"),
    ),
    project(
        "tox",
        "-q -v -vv -r -l --recreate --listenvs --list --skip-pkg-install --notest --parallel-no-spinner --version --help",
        "-e -m -p --parallel -f",
        "-c --conf --root --workdir",
        Operands::Behind("run r run-parallel p list l"),
    ),
    project(
        "nox",
        "-l -r -R -x -v --list --reuse-existing-virtualenvs --no-install --verbose --stop-on-first-error --version --help",
        "-s --session --sessions -e -k --keywords -t --tags -p --python -P",
        "-f --noxfile",
        Operands::Inside,
    ),
    project("ninja", "-v -n --verbose --quiet --version --help", "-j -k -l -d", "-C", Operands::Inside),
    project(
        "meson",
        "-v -q --verbose --quiet --reconfigure --wipe --print-errorlogs --no-rebuild --list --clean --version --help",
        "-j --suite --no-suite -t --timeout-multiplier --buildtype --repeat --num-processes",
        "-C",
        Operands::Behind("setup compile test configure introspect"),
    ),
];

/// Whether a rule with its first words named covers the others; `None` for a program without a row.
pub(super) fn cover(words: &[Word], named: usize, workspace: &Path) -> Option<bool> {
    let name = programs::name(words)?;
    let row = ROWS.iter().find(|row| row.name == name)?;
    Some(row.cover(words, named.max(1), workspace))
}

/// Whether a program carries out nothing but statements of what a part feeds it.
pub(in crate::permissions) fn covers_input(part: &Part) -> bool {
    let Some(name) = programs::name(&part.words) else { return true };
    let is_client = ROWS.iter().any(|row| row.name == name && !row.texts.is_empty());
    !is_client || part.texts.iter().all(|text| is_statement(&name, text))
}

impl Row {
    fn cover(&self, words: &[Word], from: usize, workspace: &Path) -> bool {
        let is_inside = |text: &str| !text.starts_with(['|', '@', '-']) && !is_outside(text, workspace);
        let (mut at, mut is_behind, mut is_first) = (from, false, from == 1);
        while let Some(word) = words.get(at) {
            at += 1;
            let Some(text) = word.literal() else { return false };
            if text == "--" && !is_behind {
                is_behind = true;
                continue;
            }
            if !text.starts_with('-') {
                let takes = match self.operands {
                    Operands::Names => is_name(&text),
                    Operands::Inside => is_inside(&text),
                    // What follows `--` of tox, it gives to the program of an environment.
                    Operands::Behind(first) => {
                        let is_given = is_behind && self.name == "tox";
                        is_inside(&text) && (!is_first || is_given || has(first, &text))
                    }
                    Operands::Texts => is_statement(self.name, &text),
                };
                if !takes {
                    return false;
                }
                is_first = false;
                continue;
            }
            if is_behind {
                return false;
            }
            if has(self.flags, &text) || self.is_joined_name(&text) {
                continue;
            }
            let Some((option, joined)) = self.valued_option(&text) else { return false };
            let value = match joined {
                Some(value) => Some(value.to_owned()),
                None => {
                    let is_value = |next: &&Word| !next.splits && !starts_with_dash(next);
                    let Some(next) = words.get(at).filter(is_value) else { return false };
                    at += 1;
                    next.literal().map(|value| value.into_owned())
                }
            };
            let takes = match value {
                Some(value) if has(self.texts, &option) => is_statement(self.name, &value),
                Some(value) if has(self.files, &option) => is_inside(&value),
                Some(value) => is_name(&value),
                None => has(self.valued, &option),
            };
            if !takes {
                return false;
            }
        }
        true
    }

    /// Whether a word is a setting of the project with a plain value, `-Doptimize=Debug`, or a password.
    fn is_joined_name(&self, text: &str) -> bool {
        let is_plain = |setting: &str| setting.chars().all(|c| c.is_ascii_alphanumeric() || "_=".contains(c));
        has("zig meson", self.name) && text.strip_prefix("-D").is_some_and(is_plain)
            || has("mysql mariadb", self.name) && text.starts_with("-p")
    }

    /// The option with a value that a word is, and the value if it is in the same word: `--x=y`, `-Atc y`, `-fy`.
    fn valued_option<'t>(&self, text: &'t str) -> Option<(String, Option<&'t str>)> {
        let is_one =
            |option: &str| [self.valued, self.files, self.texts].iter().any(|list| has(list, option));
        if is_one(text) {
            return Some((text.to_owned(), None));
        }
        if let Some((option, value)) = text.split_once('=')
            && option.len() > 2
            && is_one(option)
        {
            return Some((option.to_owned(), Some(value)));
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        let (at, letter) =
            letters.char_indices().find(|(_, letter)| !has(self.flags, &format!("-{letter}")))?;
        let option = format!("-{letter}");
        let value = letters.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
        // Its options of several letters begin with one dash, too.
        let is_joined = value.is_none() || !has("sqlite3 duckdb", self.name);
        (is_joined && is_one(&option)).then_some((option, value))
    }
}

/// Whether a value is no command of a prompt, and no key that a library makes.
fn is_name(value: &str) -> bool {
    !value.contains('`') && !value.to_lowercase().contains("sslkey")
}

/// Whether a client of a database sends a text to it, and runs nothing here.
fn is_statement(name: &str, text: &str) -> bool {
    const SHOWING: &str = "l l+ x timing q conninfo";
    const DOTTED: &str = ".tables .schema .headers .header .mode .indexes .indices .dump .databases .width .nullvalue \
                          .separator .timeout .fullschema .explain .stats .timer .print .quit .exit .bail .echo .help .show \
                          .changes .limit .dbinfo";
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    // In a here-document, the shell may put another text there.
    let is_filled = |rest: &str| rest.starts_with(|c: char| c.is_alphabetic() || "_{(".contains(c));
    if text.split('$').skip(1).any(is_filled) {
        return false;
    }
    match name {
        "psql" => {
            let mut commands =
                text.split('\\').skip(1).map(|rest| rest.split_whitespace().next().unwrap_or_default());
            let shows = |command: &str| command.starts_with('d') || has(SHOWING, command);
            !text.contains('`') && !words.any(|word| word == "program") && commands.all(shows)
        }
        "sqlite3" | "duckdb" => {
            let is_plain = |line: &str| {
                !line.starts_with('.') || has(DOTTED, line.split_whitespace().next().unwrap_or_default())
            };
            const RUNNING: &str = "load_extension edit writefile load install";
            !words.any(|word| has(RUNNING, word)) && text.lines().map(str::trim_start).all(is_plain)
        }
        "mysql" | "mariadb" => {
            const RUNNING: &str = "system source pager tee edit";
            !text.contains('\\') && !words.any(|word| has(RUNNING, word))
        }
        _ => false,
    }
}
