//! Detects programs of archives and packages from other machines: `curl -O U; tar xf x.tgz; ./x/install.sh`,
//! `pip install U`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::permissions::folders;
use crate::permissions::programs::{self, base, is_one_of};
use crate::permissions::shell::{Analysis, Part, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::Scene;

/// Programs that install and run packages, the subcommands with which they do so, none if they always do, and their short
/// options in [`PLACES`].
const INSTALLING: [(&str, &str, &str); 24] = [
    ("pip", "install", "-i -f -c"),
    ("pipx", "install run", "-i"),
    ("uv", "install add run", "-i -f -c"),
    ("uvx", "", "-i -f -c"),
    ("conda", "install", "-c"),
    ("npm", "i install add exec", ""),
    ("npx", "", ""),
    ("pnpm", "i install add dlx", ""),
    ("yarn", "add dlx", ""),
    ("bun", "i install add x run", ""),
    ("bunx", "", ""),
    ("deno", "run install", ""),
    ("gem", "install", ""),
    ("brew", "install", ""),
    ("dpkg", "-i --install", ""),
    ("apt", "install", ""),
    ("apt-get", "install", ""),
    ("rpm", "^-i ^-U ^-F ^-v ^-h --install --upgrade --freshen", ""),
    ("dnf", "install", ""),
    ("yum", "install", ""),
    ("pacman", "-U --upgrade", ""),
    ("apk", "add", "-X"),
    ("snap", "install", ""),
    ("helm", "install upgrade", "-f"),
];
/// Their options that name another place, not a package.
const PLACES: &str = "--index-url --extra-index-url --find-links --registry --proxy --source --trusted-host --index \
                      --default-index --constraint --channel --repository --repo --values";
/// Programs that apply files to a cluster.
const APPLYING: &str = "kubectl oc";
/// Programs that build and run what is in their folder.
const BUILDING: &str = "make gmake cargo npm pnpm yarn bun go cmake meson ninja gradle mvn ant sbt bazel scons rake \
                        bundle composer pip pip3 poetry uv just task docker dotnet swift zig stack cabal mix";
/// Programs, and the files in their folder that they run.
const RUN_HERE: [(&str, &str); 15] = [
    ("pip pipx uv poetry python", "setup.py pyproject.toml setup.cfg"),
    ("npm npx pnpm yarn bun", "package.json .npmrc"),
    ("cargo", "build.rs Cargo.toml"),
    ("make", "Makefile makefile GNUmakefile"),
    ("cmake", "CMakeLists.txt"),
    ("gradle", "build.gradle build.gradle.kts settings.gradle"),
    ("mvn", "pom.xml"),
    ("rake bundle", "Rakefile Gemfile"),
    ("composer", "composer.json"),
    ("just", "justfile Justfile"),
    ("task", "Taskfile.yml"),
    ("tox nox", "tox.ini noxfile.py"),
    ("pytest", "conftest.py"),
    ("mix", "mix.exs"),
    (
        "docker podman nerdctl docker-compose podman-compose",
        "compose.yaml compose.yml docker-compose.yaml docker-compose.yml",
    ),
];
/// Programs, the options behind which they run a file, and the subcommands with which they do, if not with any; without
/// options, they compile or run whatever they name.
const RUN_FILES: [(&str, &str, &str); 17] = [
    (
        "go rustc gcc g++ cc c++ clang clang++ tcc javac java kotlinc zig swift swiftc ghc nim expect ansible-playbook",
        "",
        "",
    ),
    ("vim vi nvim ex view", "-S -s -u -l", ""),
    ("systemctl", "start restart enable link --now", ""),
    ("gdb lldb", "-x --command -s --source", ""),
    ("emacs", "--script -l --load", ""),
    ("psql", "-f --file", ""),
    ("sqlite3", "-init .read", ""),
    ("mysql mariadb", "source \\.", ""),
    ("octave gnuplot m4 bc tclsh", "", ""),
    ("python", "-m", ""),
    ("node", "--import --loader --experimental-loader -r --require", ""),
    ("tmux", "-f source source-file load-buffer loadb", ""),
    ("screen", "-c source", ""),
    ("kubectl oc k kubecolor", "-f --filename -k --kustomize", "apply create replace delete"),
    ("docker podman nerdctl", "-f --file -c --compose-file", "up deploy build"),
    ("docker-compose podman-compose", "-f --file", ""),
    ("helm", "", "install upgrade"),
];
/// Options that name the folder, or a file in it.
const OF_FOLDER: &str = "-C --directory --prefix --manifest-path --file --project-dir --cwd";
/// Compilers: what they make is not there before.
const COMPILING: &str = "gcc g++ cc c++ clang clang++ rustc javac tsc ld as ghc zig gfortran nasm";

/// The folders in which a program that builds works by one of its options; `None` for one that is only known when it
/// runs.
pub(in crate::permissions) fn folders_of(words: &[Word]) -> Vec<Option<String>> {
    let builds = programs::name(words).is_some_and(|name| has(BUILDING, &name) || name == "git");
    let arguments = words.get(1..).filter(|_| builds).unwrap_or_default();
    let value = |(at, word): (usize, &Word)| {
        let text = word.literal()?;
        if has(OF_FOLDER, &text) {
            return Some(arguments.get(at + 1).and_then(Word::literal).map(Cow::into_owned));
        }
        let glued = text.split_once('=').filter(|(name, _)| has(OF_FOLDER, name)).map(|(_, value)| value);
        let folder = glued.or_else(|| text.strip_prefix("-C").filter(|value| !value.is_empty()));
        folder.map(|folder| Some(folder.to_owned()))
    };
    arguments.iter().enumerate().filter_map(value).collect()
}

/// Whether a program installs packages or applies files, which another one may run: `minikube kubectl -- apply -f U`.
pub(super) fn installs(name: &str) -> bool {
    has(APPLYING, name) || {
        let stem = programs::stem(name);
        INSTALLING.iter().any(|(program, ..)| *program == stem)
    }
}

/// Whether a command installs or runs packages.
pub(super) fn is_installing(words: &[Word]) -> bool {
    row_of_installing(words).is_some()
}

/// The row of [`INSTALLING`] for a command, and its subcommand.
fn row_of_installing(words: &[Word]) -> Option<(&'static str, Option<Cow<'_, str>>)> {
    let mut name = programs::name(words)?;
    let is_module = || {
        let mut pairs = words.iter().zip(words.iter().skip(1));
        pairs.any(|(option, module)| {
            option.literal().as_deref() == Some("-m") && module.literal().as_deref() == Some("pip")
        })
    };
    if programs::is_same(&name, "pip") || programs::is_same(&name, "python") && is_module() {
        name = Cow::Borrowed("pip");
    }
    let (_, how, places) = INSTALLING.iter().find(|(program, ..)| *program == name)?;
    let subcommand = words.iter().skip(1).filter_map(Word::literal).find(|text| is_one_of(how, text));
    (how.is_empty() || subcommand.is_some()).then_some((*places, subcommand))
}

/// The packages that a command installs, as it names them.
pub(super) fn packages_to_install(words: &[Word]) -> Vec<Cow<'_, str>> {
    let Some((places, subcommand)) = row_of_installing(words) else { return Vec::new() };
    let literals = words.iter().skip(1).map(|word| word.literal().unwrap_or_default());
    // What runs a package gets its other operands.
    let most = match subcommand.as_deref().unwrap_or("x") {
        "x" | "exec" | "dlx" | "run" => 1 + usize::from(subcommand.is_some()),
        _ => usize::MAX,
    };
    let (mut found, mut is_place) = (Vec::new(), false);
    for text in literals {
        let is_option = text.starts_with('-');
        // Letters of other options may be before it.
        let is_short = |letters: &str| {
            let mut places = places.split(' ').filter_map(|place| place.strip_prefix('-'));
            letters.chars().all(char::is_alphabetic) && places.any(|place| letters.ends_with(place))
        };
        let names_place = has(PLACES, &text) || text.strip_prefix('-').is_some_and(is_short);
        let was_place = std::mem::replace(&mut is_place, names_place);
        if !was_place && !is_option && !text.is_empty() {
            found.push(text);
        }
    }
    found.truncate(most);
    found
}

/// The programs, without their versions, that may do something with what is at an address, see [`address`].
static TAKING_ADDRESS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let running = RUN_FILES.iter().filter(|(_, options, _)| !options.is_empty());
    let running = running.flat_map(|(programs, ..)| programs.split(' '));
    INSTALLING.iter().map(|(program, ..)| *program).chain(running).collect()
});

/// Whether a program may do something with what is at an address.
pub(super) fn takes_address(name: &str) -> bool {
    has(APPLYING, name) || TAKING_ADDRESS.contains(programs::stem(name))
}

/// The address of a package that a command installs, or of a file that it runs or applies, with a verb for a sentence.
pub(super) fn address(words: &[Word]) -> Option<(&'static str, Cow<'_, str>)> {
    let is_address =
        |text: &Cow<'_, str>| ["https://", "http://"].iter().any(|start| text.starts_with(start));
    let package = packages_to_install(words).into_iter().find(is_address);
    let file = || named_files(words).into_iter().find(is_address);
    let of_package = package.map(|address| ("installs a program", address));
    of_package.or_else(|| Some(("carries out a file", file()?)))
}

/// The rows of [`RUN_FILES`] for a command.
fn rows_of<'w>(words: &'w [Word]) -> impl Iterator<Item = &'static str> + 'w {
    let name = programs::name(words).unwrap_or_default();
    let is_of = move |(programs, _, subcommands): &&(&str, &str, &str)| {
        let does = || words.iter().filter_map(Word::literal).any(|text| has(subcommands, &text));
        has(programs, programs::stem(&name)) && (subcommands.is_empty() || does())
    };
    RUN_FILES.iter().filter(is_of).map(|(_, options, _)| *options)
}

/// Whether a command runs or applies files that it names.
pub(super) fn runs_files(words: &[Word]) -> bool {
    rows_of(words).next().is_some()
}

/// The files that a command names behind the options with which it runs them.
fn named_files(words: &[Word]) -> Vec<Cow<'_, str>> {
    let rows = rows_of(words).filter(|options| !options.is_empty());
    rows.flat_map(|options| {
        let own = words.iter().skip(1).filter_map(Word::literal);
        // What is behind it is for another program, unless it comes first.
        let own = own.skip_while(|text| text == "--").take_while(|text| text != "--");
        // A command of the program may be one word with its file: `.read a`. So may an option: `-fa`, `--file=a`.
        let parts = own.flat_map(|text| {
            let letters = options.split(' ').filter(|option| option.len() == 2);
            let mut values = letters.filter_map(|option| Some((option, text.strip_prefix(option)?)));
            match values.find(|(_, value)| !value.is_empty()) {
                Some((option, value)) => vec![option.to_owned(), value.trim_start_matches('=').to_owned()],
                None => text.split([' ', '=']).map(str::to_owned).collect(),
            }
        });
        let parts: Vec<String> = parts.collect();
        let is_named = |pair: &[String]| match pair {
            [option, file] => is_one_of(options, option).then(|| Cow::Owned(file.clone())),
            _ => None,
        };
        parts.windows(2).filter_map(is_named).collect::<Vec<_>>()
    })
    .collect()
}

/// Whether a command runs one of these files without being its interpreter: as a part of the project in its folder, or
/// behind an option.
pub(super) fn runs_file_of(words: &[Word], files: &BTreeSet<String>) -> bool {
    let Some(name) = programs::name(words) else { return false };
    let is_of = |(programs, _): &&(&str, &str)| has(programs, programs::stem(&name));
    let here =
        || RUN_HERE.iter().filter(is_of).any(|(_, here)| here.split(' ').any(|file| files.contains(file)));
    let literals: Vec<Cow<'_, str>> = words.iter().skip(1).filter_map(Word::literal).collect();
    let is_file = |text: &Cow<'_, str>| {
        let is_named = |end: &str| files.contains(&format!("{}{end}", base(text)));
        ["", ".py", ".service"].into_iter().any(is_named)
    };
    let names_any = || rows_of(words).any(str::is_empty);
    has_project(&name, &literals) && here()
        || named_files(words).iter().any(is_file)
        || names_any() && literals.iter().any(|text| files.contains(base(text)))
}

/// Whether a program works on the project in its folder: Python does only with a module or a script, docker with compose.
fn has_project(name: &str, literals: &[Cow<'_, str>]) -> bool {
    let with = match name {
        "docker" | "podman" | "nerdctl" => "compose",
        name if programs::is_same(name, "python") => "pip build pytest",
        _ => return true,
    };
    literals.iter().any(|text| has(with, text))
}

/// Whether a command unpacks an archive into files.
pub(super) fn unpacks(words: &[Word]) -> bool {
    let Some(name) = programs::name(words) else { return false };
    let literals = || words.iter().skip(1).filter_map(Word::literal);
    let first = literals().next().unwrap_or_default();
    let letter = |letter: char| {
        literals().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    };
    match name.as_ref() {
        "tar" | "bsdtar" | "gtar" => {
            letter('x')
                || literals().any(|text| has("--extract --get", &text))
                || !first.starts_with('-') && first.contains('x') && !first.contains('.')
        }
        "unzip" => !letter('l') && !letter('t') && !letter('p') && !letter('Z') && !letter('v'),
        "7z" | "7za" | "7zz" | "unrar" => has("x e", &first),
        // The files of a release or a run have names of their own.
        "gh" | "glab" => literals().any(|text| text == "download"),
        "cpio" => letter('i'),
        "jar" => first.contains('x'),
        "dpkg" | "dpkg-deb" | "ditto" => letter('x'),
        "unar" | "unsquashfs" | "bsdcpio" => true,
        name if programs::is_interpreter(name) => {
            literals().any(|text| has("tarfile zipfile", &text))
                && literals().any(|text| has("-e --extract", &text))
        }
        _ => false,
    }
}

/// Whether a command runs what an archive held: `file`, where nothing is before and no other part makes it, or what is
/// in a folder that does not exist yet.
pub(super) fn runs_unpacked_file(
    words: &[Word],
    file: Option<&str>,
    analysis: &Analysis,
    scene: &Scene<'_>,
) -> bool {
    let name = programs::name(words).unwrap_or_default();
    let is_there = |text: &str| scene.is_there(&Word::of_text(text));
    if has(BUILDING, &name) {
        return folders_of(words).iter().flatten().any(|folder| !is_there(folder))
            || scene.working_directories().iter().any(|directory| !directory.plain.exists());
    }
    let Some(file) = file else { return false };
    let is_searched = !file.contains('/') && base(file) == name;
    let makes = |part: &Part| {
        let program = folders::program(part);
        let writes = part.redirects.iter().filter_map(|redirect| redirect.target.literal());
        has(BUILDING, &program)
            || has(COMPILING, &program)
            || writes.into_iter().any(|text| base(&text) == base(file))
    };
    !is_searched && !is_there(file) && !analysis.parts.iter().any(makes)
}
