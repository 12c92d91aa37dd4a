//! Programs that only read in some of their forms: `npm ls`, `rustup show`, `dpkg -l`.

use std::borrow::Cow;

use crate::permissions::shell::Part;
use crate::permissions::subcommands::has;
use tau_tools::words;

/// A program, with its forms that only read and the options that may follow in each of them. A form is the words
/// behind the program; `_` at its end is one operand without `=`, `*` are any. Forms are separated by `|`.
struct Forms {
    name: &'static str,
    forms: &'static str,
    /// Options, also with their value behind `=`; those of one letter may be joined. `-i:` also has its value directly
    /// behind it. A value has no other `=`: `rustc --print=cfg=file` writes a file.
    options: &'static str,
}

const fn of(name: &'static str, forms: &'static str, options: &'static str) -> Forms {
    Forms { name, forms, options }
}

const PIP: &str = "list | freeze | show * | check | config list";
const PIP_OPTIONS: &str = "--format --user --local -l -f --files -v --verbose --not-required";

const BAT_OPTIONS: &str =
    "-n -p -P -A -l -r --paging --style --color --plain --line-range --language --number";

const FORMS: &[Forms] = &[
    of("ack", "*", "-l -i -w -v -c -A -B -C -Q -H -h --nocolor --nogroup"),
    of("addr2line", "*", "-e -f -C -p -i -a"),
    of("ag", "*", "-l -i -s -w -v -c -A -B -C -g -G -Q -u --hidden --nocolor --nogroup --ignore"),
    of("apropos", "*", ""),
    of("apt", "list * | show * | search * | policy *", "--installed --upgradable -a"),
    of("apt-cache", "show * | search * | policy * | depends * | rdepends * | showpkg *", ""),
    of("bat", "*", BAT_OPTIONS),
    of("batcat", "*", BAT_OPTIONS),
    of("brew", "list * | --prefix _ | config", "--versions --cask --formula"),
    of("bzcat", "*", ""),
    of("c++filt", "*", "-n -p"),
    of(
        "cargo",
        "--list | help _ | fmt | fmt -- --check | build | check | test | run | clippy | doc | add | install",
        "--check --all --help -h",
    ),
    of("clang-format", "*", "--dry-run -n --Werror --style"),
    of("cloc", "*", "--by-file --json --csv --md --quiet"),
    of("conda", "list | env list | info", "--json"),
    of("curl", "-V", ""),
    of("dmesg", "*", "-T -k -x -L -l --level --color"),
    of(
        "docker",
        "build | cp | exec | images | inspect | logs | network | ps | pull | rm | run | stop | volume",
        "--help",
    ),
    of("dpkg", "-l * | -L * | -S * | -s * | --list * | --print-architecture", ""),
    of("dpkg-query", "-W * | -l * | -L * | -S * | -s *", ""),
    of("exa", "*", "-l -a -T -L -1 -h -s -r --tree --level --long --all --git-ignore --icons"),
    of("ffprobe", "*", "-v -hide_banner -show_format -show_streams -of -print_format -i -show_entries"),
    of("findmnt", "*", ""),
    of("gcc", "-dumpversion | -dumpmachine", ""),
    of("getent", "passwd * | group * | services * | protocols *", ""),
    of("gofmt", "-l * | -d *", "-s -e"),
    of("gradle", "-v", ""),
    of("hash", "", ""),
    of("help", "*", "-d -s -m"),
    of("history", " | _", ""),
    of("ifconfig", " | _", "-a"),
    of("info", "*", ""),
    of("iostat", "*", "-x -c -d -k -m -h"),
    of("ip", "addr | a | address | link | route | r | addr show _ | a show _", "-br -brief -4 -6"),
    of("jar", "tf _ | -tf _ | tvf _", ""),
    of("javap", "*", "-c -p -v -private -public -s -l -cp -classpath"),
    of("journalctl", "*", "-n -u -b -k -e -x -p --no-pager --since --until --user --lines --unit"),
    of("jps", "*", "-l -m -v -q"),
    of("kill", "-l", ""),
    of("ldconfig", "-p", ""),
    of("less", "*", "-R -F -X -S -N -n -r -i -E -e"),
    of("look", "*", ""),
    of("lsof", "*", "-i: -p -P -n -t -u -c -sTCP:"),
    of("lspci", "*", "-v -k -nn -n"),
    of("lsusb", "*", "-v -t"),
    of("lua", "-v", ""),
    of("man", "* | -k * | -f *", ""),
    of("more", "*", ""),
    of("mount", "", "-l"),
    of("netstat", "*", "-t -u -l -n -p -a -r -i -s -x"),
    of("node", "--check _ | -c _", ""),
    of(
        "npm",
        "ls * | list * | ll | root | prefix | run | config get _ | config list | pkg get * | explain * | why *",
        "-g --global --depth --all --json --long -l --parseable --omit",
    ),
    of(
        "openssl",
        "version | x509 * | dgst *",
        "-a -in -text -noout -dates -subject -issuer -fingerprint -enddate -startdate -serial -inform -sha256",
    ),
    of("php", "-l * | -m | -i", ""),
    of("pip", PIP, PIP_OPTIONS),
    of("pip3", PIP, PIP_OPTIONS),
    of("pkg-config", "*", "--list-all --cflags --libs --modversion --exists --variable --print-errors"),
    of("pstree", "*", "-p -a -u -l -s -h"),
    of("pyenv", "versions | version | root", ""),
    of("rpm", "-qa * | -q * | -qi * | -ql * | -qf *", ""),
    of("rustc", " | --print _ | --explain _ | -vV", "--print"),
    of("rustfmt", "*", "--check -l --edition"),
    of(
        "rustup",
        "show | show active-toolchain | toolchain list | target list | component list | which _",
        "--installed -v --verbose",
    ),
    of("scc", "*", "--by-file --no-complexity --no-cocomo"),
    of("shellcheck", "*", "-x -a -s -S -f -e --shell --severity --format --exclude"),
    of("ss", "*", "-t -u -l -n -p -a -s -x -4 -6 -r -o -i -m -e"),
    of("ssh", "-V", ""),
    of("strace", "-V", ""),
    of("stty", "-a | size", ""),
    of("tee", "/dev/null", "-a"),
    of("terraform", "version | fmt -check", "-diff -recursive"),
    of("tmux", "-V", ""),
    of("tokei", "*", "-f --files -C -s --sort --output -o"),
    of("top", "*", "-b -n -n1 -bn1 -o -p"),
    of("tput", "cols | lines | colors | longname", ""),
    of("ulimit", "-a | -n | -u", ""),
    of("vmstat", "*", "-s -a -w"),
    of("whatis", "*", ""),
    of("xmllint", "*", "--noout --format --xpath --nonet --schema --valid"),
    of("xzcat", "*", ""),
    of("yq", "*", "-r -e -j -c -P -o -p --output-format --input-format"),
    of("zgrep", "*", "-i -n -c -l -v -w -E -F -e"),
    of("zig", "version", ""),
    of("zstdcat", "*", ""),
];

/// Forms that write, or run what a project names, without one of these options.
const WITH: &[(&str, &[&str])] = &[
    ("cargo", words!("--check --help -h --list help")),
    ("docker", words!("--help")),
    ("rustfmt", words!("--check")),
    ("cloc", words!("--quiet --by-file --json --csv --md")),
];

/// Programs that print their version or their help, and do nothing else, with `--version` or `--help` alone.
const TELLING: &[&str] = words!(
    "R addr2line ansible awk aws bash bat batcat black c++ cargo cc chmod clang clang++ \
     clang-format clang-tidy clippy-driver cmake code conda convert cp crontab cscope ctags curl \
     dd deno direnv docker dotnet elixir emacs ffmpeg ffprobe find g++ gcc gdb gem gh ghc \
     golangci-lint gpg gradle helm hyperfine java javac julia just kotlinc kubectl ld lldb lua \
     make man meson mkdir mv mypy mysql nasm nice nim ninja nix node nohup npm npx nvim openssl \
     pandoc parallel perf perl php pip pip3 podman poetry prettier protoc psql python python3 \
     redis-cli rm rsync ruby ruff rustc rustdoc rustfmt rustup scc screen sed sh shellcheck split \
     sqlite3 ssh strace swift systemctl tar task tau tee terraform timeout tmux tokei tsc uv \
     valgrind vim watch wget xargs yq zip"
);

/// Whether a program is listed here.
pub(super) fn is_listed(name: &str) -> bool {
    TELLING.binary_search(&name).is_ok() || FORMS.binary_search_by(|row| row.name.cmp(name)).is_ok()
}

/// Whether a program only reads with these words.
pub(super) fn reads(name: &str, words: &[Cow<'_, str>]) -> bool {
    if let [only] = words
        && ["--version", "--help"].contains(&only.as_ref())
        && TELLING.binary_search(&name).is_ok()
    {
        return true;
    }
    let Ok(at) = FORMS.binary_search_by(|row| row.name.cmp(name)) else { return false };
    let Some(row) = FORMS.get(at) else { return false };
    let needed = WITH.iter().find(|(program, _)| *program == name);
    let is_with = needed.is_none_or(|(_, options)| words.iter().any(|word| options.contains(&word.as_ref())));
    is_with && row.forms.split(" | ").any(|form| row.is_form(form, words))
}

/// Whether the command gives a variable for pagers a value that needs none: `GIT_PAGER=cat`.
pub(super) fn shows_at_once(name: &str, part: &Part) -> bool {
    let mut values = part.values.iter().filter(|(of, _)| of == name).map(|(_, value)| value.literal());
    let is_none =
        |value: Option<Cow<'_, str>>| value.is_some_and(|value| ["", "cat"].contains(&value.as_ref()));
    ["PAGER", "GIT_PAGER", "MANPAGER", "GH_PAGER"].contains(&name)
        && !part.words.is_empty()
        && values.next().is_some_and(is_none)
        && values.next().is_none()
}

impl Forms {
    fn is_form(&self, form: &str, words: &[Cow<'_, str>]) -> bool {
        let mut wanted = form.split(' ').filter(|word| !word.is_empty()).peekable();
        let mut words = words.iter().map(|word| &**word).peekable();
        while let Some(word) = wanted.next_if(|word| !["_", "*"].contains(word)) {
            while words.next_if(|given| *given != word && self.has_option(given)).is_some() {}
            if words.next() != Some(word) {
                return false;
            }
        }
        let is_value = wanted.peek() == Some(&"_");
        let most = match wanted.next() {
            Some("_") => 1,
            Some(_) => usize::MAX,
            None => 0,
        };
        let (mut operands, mut is_behind) = (0_usize, false);
        for word in words {
            match word {
                _ if is_value && !word.starts_with('-') && word.contains('=') => return false,
                _ if is_behind => operands += 1,
                "--" => is_behind = true,
                // A sign of the program's own commands: `less +!x`.
                _ if word.starts_with('+') => return false,
                _ if word.starts_with('-') && word.len() > 1 => {
                    if !self.has_option(word) {
                        return false;
                    }
                }
                _ => operands += 1,
            }
        }
        operands <= most
    }

    fn has_option(&self, word: &str) -> bool {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if value.contains('=') {
            return false;
        }
        let starts = |option: &str| option.ends_with(':') && word.starts_with(option.trim_end_matches(':'));
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let is_cluster = |letters: &str| {
            !letters.is_empty() && letters.chars().all(|letter| has(self.options, &format!("-{letter}")))
        };
        has(self.options, name) || self.options.split(' ').any(starts) || letters.is_some_and(is_cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMS, TELLING};

    #[test]
    fn the_programs_are_in_order() {
        assert!(FORMS.is_sorted_by(|one, other| one.name < other.name) && TELLING.is_sorted());
    }
}
