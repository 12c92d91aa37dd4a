//! Detects text that is run although nobody could read it: `curl … | sh`, `base64 -d … | sh` and similar commands.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::packages;
use crate::permissions::path_text::PathText;
use crate::permissions::programs::{self, base, is_one_of, runs_texts};
use crate::permissions::shell::{Analysis, Part, Piece, Word};
use crate::permissions::strict::{self, inner_commands};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::Scene;
use tau_tools::words;

const DOWNLOADING: &[&str] = words!(
    "curl wget wget2 glab fetch aria2c http https xh curlie lynx links w3m elinks nc ncat netcat socat ftp lftp \
                           axel gh telnet gsutil rclone lwp-request GET tftp dig drill"
);
/// Programs that copy from other machines, or run commands there: what they print counts where it is read at once.
const REMOTE: &[&str] = words!("ssh scp sftp rsync smbclient");
/// Programs among these, and those that download, that take the names of files from a text.
const COMMANDED: &str = "sftp smbclient ftp lftp tftp";
/// Signs that a program in another language downloads something.
pub(super) const ADDRESSES: [&str; 3] = ["http://", "https://", "urlopen"];
/// Builtins that run a text or a file in the shell itself.
const EVALUATING: &[&str] = words!("eval source .");
/// Programs that take commands from a file, or from their input with `-`.
const INSTRUCTED: &str = "awk gawk mawk sed make gmake ninja cmake ansible-playbook just";
/// Their options without a value that may be joined with `-f`.
const JOINED: &str = "BERSbdknpqrsuwz";
/// Programs that run the lines of their input.
const READING: &str = "parallel sem at batch sqlite3 psql mysql mariadb ssh ed ex gdb expect";
/// Programs that give a file another name or form.
const COPYING: &str = "cp mv ln install tee sponge cat gunzip unzip base64 sed tr dd xz gzip";
/// Programs that write what they read to files that they name within their words.
const WRITING: &str = "split csplit awk gawk mawk sed";
/// Programs that run a text which is one of their words, here or elsewhere.
const RUNNING: &str = "ssh tmux screen watch script su";
/// The standard input, as a file.
const INPUT: &str = "- /dev/stdin /dev/fd/0 /proc/self/fd/0";

type Command<'a> = (&'a Part, Cow<'a, [Word]>);

/// Whether a part runs one of these programs.
fn is_of(words: &[Word], list: &[&str]) -> bool {
    programs::name(words).is_some_and(|name| list.contains(&name.as_ref()))
}

/// Whether a word makes a program one that downloads.
fn downloads_by_word(name: &str, words: &[Word]) -> bool {
    let has_word = |sought: &str| words.iter().any(|word| has_text(word, sought));
    match name {
        "openssl" => has_word("s_client"),
        "aws" => has_word("s3"),
        "git" => has_word("--remote"),
        "svn" => has_word("cat") || has_word("export"),
        "gcloud" | "az" => has_word("storage"),
        "mc" => has_word("cat") || has_word("cp"),
        _ => false,
    }
}

/// The danger of a command that downloads something and runs an unknown text, or the file it downloads to, and its
/// place in the command.
pub(super) fn run(command: &str, analysis: &Analysis, scene: &Scene<'_>) -> Option<(String, Range<usize>)> {
    let parts = analysis.parts.iter();
    let commands: Vec<Command<'_>> =
        parts.flat_map(|part| commands(part).map(move |words| (part, words))).collect();
    if let Some(danger) = commands.iter().find_map(|(_, words)| applied_address(words, scene)) {
        return Some(danger);
    }
    let is_read = |part: &Part| {
        let behind = command.get(part.span.end..).unwrap_or_default().trim_start();
        let before = command.get(..part.span.start).unwrap_or_default().trim_end();
        behind.starts_with('|') && !behind.starts_with("||") || before.ends_with('(') || before.ends_with('`')
    };
    let is_download = |(part, words): &&Command<'_>| {
        let Some(name) = programs::name(words) else { return false };
        DOWNLOADING.contains(&name.as_ref())
            || downloads_by_word(&name, words)
            || REMOTE.contains(&name.as_ref()) && is_read(part)
            || decodes(words)
    };
    let mut downloads: Vec<Command<'_>> = commands.iter().filter(is_download).cloned().collect();
    downloads.extend(analysis.parts.iter().filter_map(|part| Some((part, connection(part)?))));
    let copies: Vec<&Command<'_>> = commands.iter().filter(|(_, words)| is_of(words, REMOTE)).collect();
    let (_, first) = downloads.first().or_else(|| copies.first().copied())?;
    let is_there = !downloads.is_empty();
    let files = files(command, analysis, &downloads, &copies);
    let input: BTreeSet<String> = INPUT.split(' ').map(|name| base(name).to_owned()).collect();
    let holds = |word: &Word| downloads.iter().any(|(of, _)| word.span.contains(&of.span.start));
    let is_unpacked = is_there
        && commands.iter().any(|(part, words)| {
            let mut names = words.iter().skip(1).filter_map(Word::literal);
            packages::unpacks(words)
                && (names.any(|name| files.contains(base(&name))) || is_fed(command, part))
        });
    let of_archive = |words: &[Word], file: Option<&str>| {
        is_unpacked && packages::runs_unpacked_file(words, file, analysis, scene)
    };
    let is_run = |(part, words): &&Command<'_>| {
        let gets = |word: &Word| is_process_substitution(word) && holds(word);
        let takes_data = || programs::takes_data(words, part.more_arguments) && !packages::runs_files(words);
        let is_given = || words.iter().any(gets) && (packages::is_installing(words) || !takes_data());
        let set = part.values.iter().any(|(name, word)| match is_code(name) {
            true if word.literal().is_some_and(|text| has(INPUT, &text)) => is_fed(command, part),
            is_code if is_code && word.literal().is_some_and(|text| files.contains(base(&text))) => true,
            is_code => holds(word) && (is_code || is_process_substitution(word)),
        });
        let is_installed = || {
            is_there
                && packages::packages_to_install(words).iter().any(|text| {
                    files.contains(base(text))
                        || is_unpacked && text.starts_with(['.', '/'])
                        || has(INPUT, text) && is_fed(command, part)
                })
        };
        set || is_installed()
            || is_there && (packages::runs_file_of(words, &files) || evaluates_file(words, &files))
            || is_there && is_fed(command, part) && packages::runs_file_of(words, &input)
            || connects_interpreter(words)
            || match script(words, &holds) {
                Script::None => is_given() || of_archive(words, None),
                Script::Input => is_there && is_fed(command, part),
                Script::Unknown => is_there,
                Script::File(file) => {
                    files.contains(base(&file))
                        || file.starts_with("/dev/tcp/")
                        || is_given()
                        || of_archive(words, Some(&file))
                }
            }
    };
    let (runner, _) = commands.iter().find(is_run)?;
    let from = first.iter().skip(1).filter_map(Word::literal).find_map(|text| host(&text));
    let what =
        if decodes(first) { "decodes".to_owned() } else { format!("downloads{}", from.unwrap_or_default()) };
    let text = format!("it runs a program that it {what}, which nobody has read");
    Some((text, span_of(command, &downloads, runner)))
}

/// The danger of a command that installs or applies what is at an address, and its place.
fn applied_address(words: &[Word], scene: &Scene<'_>) -> Option<(String, Range<usize>)> {
    let known = |word: &Word| match word.literal() {
        Some(_) => word.clone(),
        None => scene
            .texts(word)
            .iter()
            .find_map(PathText::text)
            .map_or_else(|| word.clone(), |text| Word::of_text(&text)),
    };
    let first = known(words.first()?);
    first.literal().filter(|name| packages::takes_address(base(name)))?;
    let (does, address) = packages::address(&words.iter().map(known).collect::<Vec<_>>())
        .map(|(does, address)| (does, address.into_owned()))?;
    let from = host(&address).unwrap_or_default();
    let span = words.first()?.span.start..words.last()?.span.end;
    Some((format!("it {does} that it downloads{from}, which nobody has read"), span))
}

/// The place of a download and of the part that runs it; where there are lines between them, of the latter.
fn span_of(command: &str, downloads: &[Command<'_>], runner: &Part) -> Range<usize> {
    let starts = downloads.iter().map(|(part, _)| part.span.start);
    let is_on_its_line =
        |start: &usize| command.get(*start..runner.span.start).is_some_and(|between| !between.contains('\n'));
    let start = starts.filter(|start| *start <= runner.span.start).max().filter(is_on_its_line);
    start.unwrap_or(runner.span.start)..runner.span.end
}

/// The words of a text that may be names of files.
fn file_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).filter(|name| !name.is_empty())
}

/// Whether the text of a program evaluates a text, and names one of these files.
fn evaluates_file(words: &[Word], files: &BTreeSet<String>) -> bool {
    let of_text = |text: Cow<'_, str>| evaluates(&text) && file_names(&text).any(|name| files.contains(name));
    programs::name(words).is_some_and(|name| runs_texts(&name))
        && words.iter().skip(1).filter_map(Word::literal).any(of_text)
}

/// Whether a program gives a connection to an interpreter: `socat TCP:h:1 EXEC:sh`, `nc -e /bin/sh h 1`.
fn connects_interpreter(words: &[Word]) -> bool {
    let is_it = |text: &str| runs_texts(base(text.split([' ', ',']).next().unwrap_or_default()));
    let literals: Vec<Cow<'_, str>> = words.iter().skip(1).filter_map(Word::literal).collect();
    match programs::name(words).as_deref() {
        Some("socat") => literals.iter().any(|text| {
            let command = text.split_once(':').filter(|(kind, _)| has("exec system", &kind.to_lowercase()));
            command.is_some_and(|(_, command)| is_it(command))
        }),
        Some("nc" | "ncat" | "netcat") => literals.windows(2).any(|pair| {
            matches!(pair, [option, command] if is_one_of("-e -c --exec --sh-exec", option) && is_it(command))
        }),
        _ => false,
    }
}

/// Whether a file is the input of a command, or another one that is open.
fn is_open_file(file: &str) -> bool {
    has(INPUT, file) || ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| file.starts_with(start))
}

/// The host of an address, for a sentence.
fn host(text: &str) -> Option<String> {
    let rest = text.strip_prefix("/dev/tcp/").or_else(|| Some(text.split_once("://")?.1))?;
    Some(format!(" from {}", rest.split(['/', '?', '#']).next()?))
}

/// Whether a program turns a text that nobody can read into another one.
fn decodes(words: &[Word]) -> bool {
    let Some(name) = programs::name(words) else { return false };
    let options = || words.iter().skip(1).filter_map(Word::literal);
    let is_short = |text: &str, letters: &[char]| {
        text.starts_with('-') && !text.starts_with("--") && text.contains(letters)
    };
    match name.as_ref() {
        "rev" | "uudecode" => true,
        "base64" | "base32" | "basenc" | "gbase64" => {
            options().any(|text| text.starts_with("--d") || is_short(&text, &['d', 'D']))
        }
        "gpg" | "gpg2" => options().any(|text| is_one_of("-d --decrypt", &text)),
        "openssl" => options().any(|text| text == "-d"),
        "xxd" => options().any(|text| is_short(&text, &['r'])),
        "tr" => !options().any(|text| text.starts_with("--d") || is_short(&text, &['d', 's'])),
        "printf" => options().next().is_some_and(|text| {
            let escapes = text.split('\\').skip(1).filter_map(|rest| rest.chars().next());
            escapes.into_iter().any(|first| "xuU01234567".contains(first))
        }),
        _ => false,
    }
}

/// Whether a program gets something from another machine.
pub(super) fn is_loading(name: &str) -> bool {
    DOWNLOADING.contains(&name) || REMOTE.contains(&name) || has("openssl aws git", name)
}

/// Whether programs run the value of a variable with this name, or the file that it names.
pub(super) fn is_code(name: &str) -> bool {
    strict::is_run(name) || has("BASH_ENV ENV PROMPT_COMMAND LD_PRELOAD", name)
}

/// Whether a part reads what another one prints.
fn is_fed(command: &str, part: &Part) -> bool {
    let before = command.get(..part.span.start).unwrap_or_default();
    let separator = before.rfind(['|', ';', '&', '\n', '(', '{']).and_then(|at| before.get(..=at));
    separator.is_some_and(|text| text.ends_with('|') && !text.ends_with("||"))
        || command.get(part.span.end..).is_some_and(|behind| behind.trim_start().starts_with('<'))
        || command.get(part.span.clone()).is_some_and(|text| text.contains('<'))
}

/// The names of the files that a command downloads to, also after they were copied or renamed.
fn files(
    command: &str,
    analysis: &Analysis,
    downloads: &[Command<'_>],
    copies: &[&Command<'_>],
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |text: &str| {
        let file = base(text.split(['?', '#']).next().unwrap_or(text));
        if !file.is_empty() {
            found.insert(file.to_owned());
        }
    };
    for text in downloads.iter().flat_map(|(_, words)| words.iter().skip(1)).filter_map(Word::literal) {
        // The value of an option may be a part of the word.
        let option = text.strip_prefix('-').unwrap_or_default();
        option.split_once(['o', 'O', 'P']).into_iter().for_each(|(_, value)| add(value));
        text.split_once('=').into_iter().for_each(|(_, value)| add(value));
        add(&text);
    }
    for (part, words) in downloads.iter().chain(copies.iter().copied()) {
        let is_commanded = programs::name(words).is_some_and(|name| has(COMMANDED, &name));
        let literals = words.iter().skip(1).filter_map(Word::literal).filter(|_| is_commanded);
        let texts = literals.chain(part.texts.iter().filter(|_| is_commanded).map(Cow::from));
        texts.for_each(|text| file_names(&text).for_each(&mut add));
    }
    for (_, words) in copies {
        let sources = words.iter().skip(1).rev().skip(1).filter_map(Word::literal);
        let is_remote = |text: &Cow<'_, str>| text.contains(':');
        let mut remote = sources.filter(is_remote).peekable();
        if remote.peek().is_some() {
            words.last().and_then(Word::literal).iter().for_each(|text| add(text));
        }
        remote.for_each(|text| add(text.rsplit(':').next().unwrap_or_default()));
    }
    if downloads.is_empty() && found.is_empty() {
        return found;
    }
    if !downloads.is_empty() {
        let redirects = analysis.parts.iter().flat_map(|part| &part.redirects);
        let written: Vec<_> = redirects.filter_map(|redirect| redirect.target.literal()).collect();
        found.extend(written.iter().map(|text| base(text).to_owned()));
    }
    for part in &analysis.parts {
        let copies = programs::name(&part.words).is_some_and(|name| has(COPYING, &name));
        let named = part.words.iter().skip(1).filter_map(Word::literal);
        let named: Vec<String> = named.map(|text| base(&text).to_owned()).collect();
        if copies && (named.iter().any(|name| found.contains(name)) || is_fed(command, part)) {
            found.extend(named);
            let targets = part.redirects.iter().filter_map(|redirect| redirect.target.literal());
            found.extend(targets.map(|text| base(&text).to_owned()));
        }
        if let Some(name) = programs::name(&part.words).filter(|name| has(WRITING, name))
            && is_fed(command, part)
        {
            let texts = part.words.iter().skip(1).filter_map(Word::literal);
            let texts = texts.filter(|text| name.ends_with("split") || text.contains([' ', '>']));
            // The parts that `split` makes begin with its own prefix or the default.
            found.extend(["xaa".to_owned(), "xx00".to_owned()]);
            for text in texts {
                for name in file_names(&text) {
                    found.extend([format!("{name}aa"), name.to_owned()]);
                }
            }
        }
    }
    found
}

/// The words of a redirection that opens a connection, as those of a command that downloads.
fn connection(part: &Part) -> Option<Cow<'static, [Word]>> {
    let opens = |word: &Word| {
        word.literal()
            .is_some_and(|text| ["/dev/tcp/", "/dev/udp/"].iter().any(|start| text.starts_with(start)))
    };
    let sources = || part.words.iter().skip(1).filter(|_| is_evaluating(&part.words));
    let mut targets = part.redirects.iter().map(|redirect| &redirect.target).chain(sources());
    let target = targets.find(|target| opens(target))?;
    Some(Cow::Owned(vec![Word::default(), target.clone()]))
}

fn is_evaluating(words: &[Word]) -> bool {
    programs::name(words).is_some_and(|name| EVALUATING.contains(&name.as_ref()))
}

fn has_text(word: &Word, start: &str) -> bool {
    word.literal().is_some_and(|text| text.starts_with(start))
}

/// Whether a word is the output of a command, as a file: `<(curl …)`.
fn is_process_substitution(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Text(text), Piece::Unknown] if text == "/dev/fd/")
}

/// The commands of a part: itself, and the relevant ones among its words.
fn commands(part: &Part) -> impl Iterator<Item = Cow<'_, [Word]>> {
    let wanted = |name: &str| {
        DOWNLOADING.contains(&name)
            || REMOTE.contains(&name)
            // `.` and `source` are builtins, so no other program can run them.
            || name == "eval"
            || packages::installs(name)
            || runs_texts(name)
    };
    let inner = inner_commands(&part.words, part.more_arguments, &wanted);
    let renamed = part.renamed.iter().map(|words| Cow::Borrowed(words.as_slice()));
    inner.into_iter().map(Cow::Owned).chain([Cow::Borrowed(part.words.as_slice())]).chain(renamed)
}

/// The program text that a command runs.
pub(super) enum Script {
    None,
    File(String),
    /// Its standard input, if something is written there.
    Input,
    /// Its standard input, or an unknown text.
    Unknown,
}

/// The program text of a command; `holds` says whether a word has what is downloaded.
pub(super) fn script(words: &[Word], holds: &dyn Fn(&Word) -> bool) -> Script {
    let Some(first) = words.first() else { return Script::None };
    let Some(name) = first.literal() else { return Script::Unknown };
    let program = programs::plain_name(&name);
    let arguments = words.get(1..).unwrap_or_default();
    if EVALUATING.contains(&program) {
        let literals: Option<Vec<Cow<'_, str>>> = arguments.iter().map(Word::literal).collect();
        return match (program, literals) {
            ("eval", Some(_)) => Script::None,
            (_, Some(files)) => match files.into_iter().next() {
                Some(file) if is_open_file(&file) => Script::Unknown,
                file => file.map_or(Script::None, |file| Script::File(file.into_owned())),
            },
            (_, None) => Script::Unknown,
        };
    }
    if has(RUNNING, program) && arguments.iter().any(holds) {
        return Script::Unknown;
    }
    if has(INSTRUCTED, program) {
        return instructions(program, arguments, holds);
    }
    if has(READING, program) {
        let is_operand = |word: &&Word| !word.literal().is_some_and(|text| text.starts_with('-'));
        let operands = arguments.iter().filter(is_operand).count();
        let is_bare = match program {
            "parallel" | "sem" => operands == 0,
            "ssh" => operands == 1,
            _ => true,
        };
        return if is_bare { Script::Input } else { Script::None };
    }
    if program == "java" {
        let jar = arguments.iter().skip_while(|word| word.literal().as_deref() != Some("-jar")).nth(1);
        return jar.map_or(Script::None, |jar| match jar.literal() {
            Some(file) => Script::File(file.into_owned()),
            None => Script::Unknown,
        });
    }
    if !runs_texts(program) {
        return if programs::takes_data(words, false) {
            Script::None
        } else {
            Script::File(name.into_owned())
        };
    }
    of_interpreter(program, words)
}

/// The file with the instructions of `make -f`, `sed -f` and the like, or their text.
fn instructions(program: &str, arguments: &[Word], holds: &dyn Fn(&Word) -> bool) -> Script {
    let mut given = None;
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        // Options without a value may be before it in the same word: `sed -nf x`.
        let joined = text.strip_prefix('-').and_then(|letters| letters.split_once('f'));
        let joined = joined.filter(|(flags, _)| flags.chars().all(|c| JOINED.contains(c)));
        if has("-P --file --makefile --justfile", &text) || joined.is_some_and(|(_, value)| value.is_empty())
        {
            given = Some(arguments.get(at + 1).and_then(Word::literal));
        } else if let Some(value) = ["--file=", "--makefile=", "--justfile="]
            .iter()
            .find_map(|it| text.strip_prefix(it))
            .or_else(|| joined.map(|(_, value)| value))
        {
            given = Some(Some(Cow::Owned(value.to_owned())));
        }
    }
    match given {
        Some(Some(file)) if has(INPUT, &file) => Script::Unknown,
        Some(Some(file)) => Script::File(file.into_owned()),
        Some(None) => Script::None,
        None if has("make gmake", program) => Script::File("Makefile".to_owned()),
        None if arguments.iter().any(holds) => Script::Unknown,
        None if program == "sed" => {
            let runs = arguments.iter().filter_map(Word::literal).any(|text| is_run_by_sed(&text));
            if runs { Script::Input } else { Script::None }
        }
        None if arguments.iter().filter_map(Word::literal).any(|text| evaluates(&text)) => Script::Input,
        None => Script::None,
    }
}

/// Whether a script of sed runs the lines that it reads: `e`, `s/a/b/e`.
fn is_run_by_sed(script: &str) -> bool {
    script.split([';', '\n']).map(str::trim).any(|command| {
        let mut chars = command.chars();
        let flags = match (chars.next(), chars.next()) {
            (Some('e'), None | Some(' ')) => return true,
            (Some('s'), Some(delimiter)) => command.rsplit(delimiter).next().unwrap_or_default(),
            _ => return false,
        };
        flags.contains('e') && flags.chars().all(|c| "egpiImM".contains(c) || c.is_ascii_digit())
    })
}

/// Whether a text of a language may run a text that it reads.
fn evaluates(text: &str) -> bool {
    const CALLS: [&str; 12] = [
        "eval", "exec", "system", "popen", "spawn", "compile(", "Function(", "subprocess", "| getline",
        "\"sh\"", "\"bash\"", "\"/bin/sh\"",
    ];
    CALLS.iter().any(|call| text.contains(call))
}

/// The program text that an interpreter runs.
fn of_interpreter(program: &str, words: &[Word]) -> Script {
    let is_shell = program.ends_with("sh");
    // Letters of the options whose value is the program text.
    let letters = match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        _ if is_shell => "c",
        "python" | "pypy" => "cm",
        "php" => "rfB",
        _ => "enpE",
    };
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { return Script::Unknown };
        if text == "--" || at == 1 && has("deno bun", program) && text == "run" {
            continue;
        }
        if is_open_file(&text) {
            return Script::Unknown;
        }
        if !text.starts_with(['-', '+']) {
            return Script::File(text.into_owned());
        }
        if is_shell && !text.starts_with("--") && text.contains('s') {
            return Script::Unknown;
        }
        let gives = !text.starts_with("--") && text.contains(|c| letters.contains(c))
            || ["--eval", "--print", "--command"].iter().any(|long| text.starts_with(long));
        if gives {
            let value = words.get(at + 1);
            return match value.map(Word::literal) {
                Some(Some(text)) if text == "-" => Script::Unknown,
                Some(Some(text)) if has("code pdb", &text) => Script::Input,
                Some(Some(text)) if evaluates(&text) => Script::Input,
                Some(Some(_)) => Script::None,
                None if text.len() > 2 => Script::None,
                Some(None) | None => Script::Unknown,
            };
        }
    }
    Script::Unknown
}
