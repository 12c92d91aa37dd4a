//! Irreversible commands, which need approval in every mode unless a rule of the user names them.
//!
//! A danger describes the loss in one line. A rule names it if it includes the program and the words that
//! make it dangerous in full: `bash(git push --force *)` does, `bash(git *)` and `bash` do not.

mod composed;
mod devices;
mod downloads;
pub(super) mod fed;
mod finding;
mod git;
mod hidden;
pub(super) mod languages;
pub(super) mod needed_words;
mod packages;
mod piped;
mod powershell;
mod printing;
mod processes;
pub(super) mod services;
mod targets;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use super::arguments;
use super::judge::{Finding, Judge};
use super::programs;
use super::rule::Pattern;
use super::shell::{Analysis, Part, Piece, Word};
use super::strict::inner_commands;
use super::subcommands::has;
use super::words_as_paths::Scene;
use super::{ApprovalReason, PermissionMode, Verdict};
pub(super) use composed::{passes_input, printed_text};
use finding::is_narrowed;
pub(super) use packages::folders_of;
pub(super) use printing::{is_positional, prints_home};
use targets::{Loss, Targets};
use tau_tools::words;

/// Programs with dangerous uses.
const PROGRAMS: &[&str] = words!(
    "rm find git dd ddrescue shred chmod chown chgrp mv rsync wipefs blkdiscard fdisk sfdisk sgdisk gdisk cfdisk parted \
                        cryptsetup badblocks diskutil tee cp truncate srm wipe hdparm zpool lvremove lvreduce vgremove \
                        pvremove mkswap mke2fs zfs nvme btrfs fd fdfind tar setfacl rimraf del-cli kill pkill killall skill \
                        remove_directory rename trash trash-put"
);
/// The programs among them that destroy any operand.
const DESTROYING: &str = "shred wipefs blkdiscard fdisk sfdisk sgdisk gdisk cfdisk parted srm wipe lvremove lvreduce \
                          vgremove pvremove mkswap mke2fs";
/// Programs among them with options with which they only show something, or change nothing.
const SHOWING: [(&str, &str); 3] = [
    ("fdisk sfdisk gdisk parted", "-l --list"),
    ("wipefs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.ntfs", "-n --no-act --no-action"),
    ("wipefs", "-an -na"),
];
/// Words with which programs of disks destroy what is on them.
const ENDING: &str = "destroy eraseDisk eraseVolume zeroDisk secureErase partitionDisk luksFormat luksErase luksKillSlot \
                      luksRemoveKey erase --security-erase format sanitize delete";

/// An irreversible action.
struct Danger {
    /// The loss, as a sentence.
    text: String,
    span: Range<usize>,
    /// The words that a rule must name in full; `None` if no rule can.
    named: Option<Vec<String>>,
}

impl Judge<'_> {
    /// Adds irreversible actions that no rule of the user names.
    pub(super) fn dangers(
        &self,
        command: &str,
        analysis: &Analysis,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let targets = Targets::new(command, analysis, scene, &self.places);
        let mut dangers = find_dangers(&targets, command, analysis);
        if dangers.is_empty() {
            let hidden = hidden::find_danger(command, analysis, &targets, 0);
            let spent = || ("it has more values than tau looks at".to_owned(), 0..command.len());
            let hidden = hidden.or_else(|| scene.is_spent().then(spent));
            dangers.extend(hidden.map(|(text, span)| (Danger { text, span, named: None }, None)));
        }
        for (danger, part) in dangers {
            if part.is_some_and(|part| self.names(part, &danger)) {
                continue;
            }
            let Danger { text, span, .. } = danger;
            let part = command.get(span.clone()).unwrap_or_default().to_owned();
            let reason =
                ApprovalReason { text, span: Some((span.start, span.end)), ..ApprovalReason::default() };
            let verdict = if self.mode == PermissionMode::Plan { Verdict::Deny } else { Verdict::Ask };
            findings.push(Finding { verdict, reason, part, is_dangerous: true, ..Finding::default() });
        }
    }

    /// Whether a rule of the user allows a part, and names the words that make it dangerous.
    fn names(&self, part: &Part, danger: &Danger) -> bool {
        let Some(named) = danger.named.as_ref().filter(|_| self.mode != PermissionMode::Plan) else {
            return false;
        };
        self.allow_of_user.iter().any(|rule| {
            let Pattern::Command(pattern) = rule.pattern() else { return false };
            let has_all = || named.iter().all(|word| pattern.literals().contains(word));
            let of_outer = |(words, _): &(Vec<Word>, usize)| pattern.matches(words);
            let workspace = &self.places.workspace.plain;
            let matches =
                pattern.matches(&part.words) && arguments::covers(pattern, &part.words, 0, workspace);
            has_all() && (matches || part.outer.iter().any(of_outer))
        })
    }
}

/// The irreversible actions of a command, with the parts that do them where a rule may name these.
fn find_dangers<'a>(
    targets: &Targets<'_>,
    command: &str,
    analysis: &'a Analysis,
) -> Vec<(Danger, Option<&'a Part>)> {
    let mut dangers: Vec<(Danger, Option<&Part>)> = Vec::new();
    for part in &analysis.parts {
        let targets = &*targets.of_part(part);
        let renamed = part.renamed.iter().filter(|words| words.first() != part.words.first());
        let forms = std::iter::once(&part.words).chain(renamed);
        let found = forms.filter_map(|words| of_words(words, part, targets));
        let moved = in_chosen_folder(part);
        let found = found.chain(moved.and_then(|moved| of_words(&moved.words, &moved, targets)));
        // Of other programs these are subcommands: `vagrant halt`.
        let is_subcommand =
            |name: &str| has(services::ENDING_MACHINE, name) && !programs::runs_any(&part.words);
        let wanted = |name: &str| is_dangerous(name) && name != "init" && !is_subcommand(name);
        let inner = inner_commands(&part.words, part.more_arguments, &wanted);
        let listed = languages::commands(part, targets);
        let cmdlets = powershell::commands(part);
        let inner =
            inner.iter().chain(&listed).chain(&cmdlets).filter_map(|words| of_words(words, part, targets));
        let others = [
            devices::of_redirects(part),
            fed::find_loss(part, command, analysis, targets),
            processes::find_listed_loss(part, command, analysis),
            services::find_sent_statement(part, analysis),
            languages::find_loss(part, targets),
            languages::find_evaluated_download(part),
            languages::find_ended_processes(part),
            powershell::find_unread_program(part),
            find_set_id(part),
        ];
        let mut found = found.chain(inner).chain(others.into_iter().flatten()).peekable();
        let other =
            if found.peek().is_none() { devices::of_words(part, command, targets.scene) } else { None };
        let danger = |(text, named)| Danger { text, span: part.span.clone(), named };
        dangers.extend(found.chain(other).map(|found| (danger(found), Some(part))));
    }
    let everywhere = [
        downloads::run(command, analysis, targets.scene),
        piped::find_unread(command, analysis),
        fork_bomb(command),
    ];
    let everywhere = everywhere.into_iter().flatten();
    dangers.extend(everywhere.map(|(text, span)| (Danger { text, span, named: None }, None)));
    dangers
}

/// A part with the folder that `env -C` or `sudo -D` chooses for it before what it names.
fn in_chosen_folder(part: &Part) -> Option<Part> {
    let begin = |folder: &Word, word: &mut Word| {
        if word.pieces.iter().find_map(Piece::text).is_none_or(|text| !text.starts_with(['-', '/'])) {
            let pieces = folder.pieces.iter().cloned().chain([Piece::Text("/".to_owned())]);
            // The first piece of a brace expansion only marks it.
            let start = usize::from(word.is_brace);
            word.pieces.splice(start..start, pieces);
        }
    };
    part.folders.first()?;
    let mut moved = Part { elsewhere: false, ..part.clone() };
    for folder in part.folders.iter().rev() {
        moved.words.iter_mut().skip(1).for_each(|word| begin(folder, word));
    }
    Some(moved)
}

/// All programs with dangerous uses, in order.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut names: Vec<&str> = PROGRAMS.iter().copied().chain(services::programs()).collect();
    names.sort_unstable();
    names
});

fn is_dangerous(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok() || name.starts_with("mkfs") || name.starts_with("git-")
}

/// The loss caused by a simple command, and the words that cause it; `None` in their place if they are
/// unknown.
type CommandLoss = (String, Option<Vec<String>>);

fn of_words(words: &[Word], part: &Part, targets: &Targets<'_>) -> Option<CommandLoss> {
    let elsewhere = part.elsewhere;
    let Some(name) = programs::name(words) else {
        return hidden::loss_of_unknown_program(words, elsewhere, targets);
    };
    if !is_dangerous(&name) {
        return None;
    }
    let arguments = words.get(1..).unwrap_or_default();
    if let Some(subcommand) = name.strip_prefix("git-") {
        let words = ["git", subcommand].map(Word::of_text).into_iter().chain(arguments.iter().cloned());
        return git::find_loss(&words.collect::<Vec<_>>(), elsewhere, targets);
    }
    let operands = || {
        let behind = arguments.iter().position(|word| word.literal().as_deref() == Some("--"));
        arguments.iter().enumerate().filter(move |(at, word)| {
            behind.is_some_and(|behind| *at > behind)
                || !word.literal().is_some_and(|text| text.starts_with('-'))
        })
    };
    let mut operands = operands().map(|(_, word)| word);
    let named = |word: &Word| word.literal().map(|text| vec![name.to_string(), text.into_owned()]);
    match name.as_ref() {
        // The last is a command of `cmake -E`.
        "rm" | "rimraf" | "del-cli" | "remove_directory"
            if name != "rm" || has_option(arguments, "rR", "recursive") =>
        {
            operands.find_map(|word| {
                let loss = targets.loss(word, elsewhere)?;
                Some((format!("it removes {}", loss.what()), named(word)))
            })
        }
        "find" => find(arguments, elsewhere, targets),
        "git" => git::find_loss(words, elsewhere, targets),
        "fd" | "fdfind" => fd(arguments, elsewhere, targets),
        "tar" if has_option(arguments, "", "remove-files") => operands.find_map(|word| {
            let loss = targets.loss(word, elsewhere)?;
            Some((format!("it removes {}", loss.what()), named(word)))
        }),
        "chmod" if sets_id(&name, arguments).is_some() => sets_id(&name, arguments),
        "chmod" | "chown" | "chgrp" | "setfacl" if has_option(arguments, "R", "recursive") => operands
            .find_map(|word| {
                let loss = targets.loss(word, elsewhere).filter(Loss::is_outside)?;
                let what = if name == "chmod" { "permissions" } else { "owners" };
                Some((
                    format!(
                        "it changes the {what} of {}, and the old ones are recorded nowhere",
                        loss.what()
                    ),
                    named(word),
                ))
            }),
        "mv" | "rename" | "trash" | "trash-put" => operands.find_map(|word| {
            let loss = targets.loss(word, elsewhere).filter(Loss::is_outside)?;
            Some((format!("it moves {} away", loss.what()), named(word)))
        }),
        "rsync" if arguments.iter().filter_map(Word::literal).any(|text| text.starts_with("--del")) => {
            let word = operands.next_back()?;
            let loss = targets.loss(word, elsewhere)?;
            Some((format!("it deletes everything in {} that is not in the source", loss.what()), named(word)))
        }
        "dd" | "tee" | "cp" | "truncate" | "ddrescue" => devices::of_operands(&name, arguments),
        "zpool" | "zfs" | "nvme" | "btrfs" | "diskutil" | "cryptsetup" | "hdparm" | "badblocks" => {
            end_of_disk(&name, arguments).or_else(|| services::find_loss(&name, words, part))
        }
        "kill" | "pkill" | "killall" | "skill" => processes::find_loss(&name, words, part),
        _ if has(DESTROYING, &name) || name.starts_with("mkfs") => {
            if only_shows(&name, arguments) {
                return None;
            }
            let what = operands.next_back().and_then(Word::literal).unwrap_or_else(|| "its target".into());
            let text = format!("{name} destroys what is on {what}");
            let words = words.iter().map(|word| word.literal().map(Cow::into_owned)).collect();
            Some((text, words))
        }
        _ => services::find_loss(&name, words, part),
    }
}

/// The loss caused by a word with which a program for disks destroys what is on one.
fn end_of_disk(name: &str, arguments: &[Word]) -> Option<CommandLoss> {
    let ends = |text: &str| has(ENDING, text) || name == "badblocks" && programs::is_one_of("-w", text);
    let found = arguments.iter().filter_map(Word::literal).find(|text| ends(text))?;
    let named = vec![name.to_owned(), found.into_owned()];
    Some((format!("{name} destroys what is on the disk"), Some(named)))
}

/// A file that programs other than `chmod` make with such a mode, see [`sets_id`].
fn find_set_id(part: &Part) -> Option<CommandLoss> {
    let name = programs::name(&part.words).filter(|name| has("install ginstall mkdir", name))?;
    let arguments = part.words.get(1..).unwrap_or_default();
    let is_mode = |text: &str| {
        text == "--mode" || text.starts_with('-') && !text.starts_with("--") && text.ends_with('m')
    };
    let behind = arguments.iter().position(|word| word.literal().is_some_and(|text| is_mode(&text)));
    let next = behind.and_then(|at| arguments.get(at + 1..));
    let glued = |word: &Word| {
        let text = word.literal()?;
        let value = text
            .strip_prefix("--mode=")
            .or_else(|| text.strip_prefix('-')?.split_once('m').map(|(_, mode)| mode));
        value.map(Word::of_text)
    };
    let found = next.and_then(|next| sets_id(&name, next));
    found.or_else(|| arguments.iter().filter_map(glued).find_map(|mode| sets_id(&name, &[mode])))
}

/// The danger of a mode, the first operand, with which a program runs with the rights of the owner of its file.
fn sets_id(name: &str, arguments: &[Word]) -> Option<CommandLoss> {
    let mut operands = arguments.iter().filter_map(Word::literal).filter(|text| !text.starts_with('-'));
    let mode = operands.next()?;
    let gives = |clause: &str| {
        let given = clause.split_once(['+', '=']);
        given.is_some_and(|(who, what)| {
            who.chars().all(|c| "ugoa".contains(c)) && what.contains('s') && who != "o"
        })
    };
    let is_set = match u32::from_str_radix(mode.trim_start_matches(['+', '=']), 8) {
        Ok(bits) => bits & 0o6000 != 0,
        Err(_) => mode.split(',').any(gives),
    };
    let text = "whoever starts the file gets the rights of its owner or group";
    is_set.then(|| (text.to_owned(), Some(vec![name.to_owned(), mode.into_owned()])))
}

/// Whether a program of [`DESTROYING`] only shows something, by its first argument: a later one may be a value.
fn only_shows(name: &str, arguments: &[Word]) -> bool {
    let Some(first) = arguments.first().and_then(Word::literal) else { return false };
    let mut own = SHOWING.iter().filter(|(programs, _)| has(programs, name));
    arguments.len() == 1 && has("--help --version -h -V", &first)
        || own.any(|(_, options)| has(options, &first))
}

/// Whether there is an option: one of these letters, or a long one, also abbreviated. An unknown word may be
/// it, unless it has a `/`.
fn has_option(arguments: &[Word], letters: &str, long: &str) -> bool {
    arguments.iter().any(|word| match word.literal() {
        Some(text) => match text.strip_prefix("--") {
            Some(name) => !name.is_empty() && long.starts_with(name),
            None => text.starts_with('-') && text.contains(|c| letters.contains(c)),
        },
        None => {
            let is_path = word.pieces.iter().filter_map(Piece::text).any(|text| text.contains('/'));
            word.splits && word.may_be_option() && !is_path
        }
    })
}

/// A `find` that deletes, or runs a deleting command.
fn find(arguments: &[Word], elsewhere: bool, targets: &Targets<'_>) -> Option<CommandLoss> {
    const REMOVING: &str = "rm shred unlink srm truncate";
    let literals: Vec<Cow<'_, str>> =
        arguments.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let runs = |pair: &[Cow<'_, str>]| match pair {
        [option, program] => {
            has("-exec -execdir -ok -okdir", option) && has(REMOVING, programs::base(program))
        }
        _ => false,
    };
    if !literals.iter().any(|text| text == "-delete") && !literals.windows(2).any(runs) {
        return None;
    }
    let (starts, is_narrow) = (find_starts(arguments), is_narrowed(arguments));
    starts.iter().find_map(|word| {
        let loss = targets.loss(word, elsewhere).filter(|loss| loss.is_outside() || !is_narrow)?;
        let what = if is_narrow { "what it finds below" } else { "everything below" };
        Some((
            format!("find removes {what} {}", loss.what()),
            word.literal().map(|text| vec!["find".into(), text.into_owned()]),
        ))
    })
}

/// Where a `find` with these words begins.
fn find_starts(arguments: &[Word]) -> Vec<Word> {
    let is = |word: &&Word, what: &dyn Fn(&str) -> bool| word.literal().is_some_and(|text| what(&text));
    let is_option = |text: &str| has("-H -L -P", text) || text.starts_with("-O");
    let starts = arguments.iter().skip_while(|word| is(word, &is_option));
    let starts: Vec<Word> =
        starts.take_while(|word| !is(word, &|text| text.starts_with(['-', '(', '!']))).cloned().collect();
    if starts.is_empty() { vec![Word::of_text(".")] } else { starts }
}

/// An `fd` that runs a deleting command on all that it finds.
fn fd(arguments: &[Word], elsewhere: bool, targets: &Targets<'_>) -> Option<CommandLoss> {
    let is = |word: &Word, list: &str| word.literal().is_some_and(|text| has(list, programs::base(&text)));
    let is_option =
        |word: &Word, list: &str| word.literal().is_some_and(|text| programs::is_one_of(list, &text));
    let removes = |pair: &[Word]| match pair {
        [option, program] => {
            is_option(option, "-x -X --exec --exec-batch") && is(program, "rm shred unlink srm truncate")
        }
        _ => false,
    };
    let at = arguments.windows(2).position(removes)?;
    const VALUED: &str =
        "-t --type -E --exclude -d --max-depth --min-depth --exact-depth -o --owner -c --color -j --threads";
    const CHOOSING: &str = "-e --extension -S --size --changed-within --changed-before";
    if arguments.iter().take(at).any(|word| is_option(word, CHOOSING)) {
        return None;
    }
    let is_value = |index: usize| {
        index.checked_sub(1).and_then(|before| arguments.get(before)).is_some_and(|word| is(word, VALUED))
    };
    let is_operand = |(index, word): &(usize, &Word)| {
        !word.literal().is_some_and(|text| text.starts_with('-')) && !is_value(*index)
    };
    let operands: Vec<&Word> =
        arguments.iter().take(at).enumerate().filter(is_operand).map(|(_, word)| word).collect();
    let outside = operands.iter().skip(1).find_map(|word| targets.loss(word, elsewhere));
    let is_all = operands
        .first()
        .is_none_or(|pattern| is(pattern, ". .*") || pattern.literal().as_deref() == Some(""));
    let here = || targets.loss(&Word::of_text("."), elsewhere).filter(|_| is_all && operands.len() < 2);
    let loss = outside.filter(|loss| is_all || loss.is_outside()).or_else(here)?;
    Some((format!("fd removes what it finds below {}", loss.what()), None))
}

/// A function that runs itself twice, endlessly: `:(){ :|:& };:`.
fn fork_bomb(command: &str) -> Option<(String, Range<usize>)> {
    if !(command.contains('(') && command.contains('{')) {
        return None;
    }
    // The end of a line ends what is before it.
    let kept = command.char_indices().map(|(at, c)| (at, if c == '\n' { ';' } else { c }));
    let kept = kept.filter(|(_, c)| !c.is_whitespace());
    let (mut packed, mut places) = (String::new(), Vec::new());
    for (place, c) in kept {
        packed.push(c);
        places.resize(packed.len(), place);
    }
    let is_name = |c: char| !";|&(){}<>'\"$`=".contains(c);
    packed.match_indices("(){").find_map(|(at, open)| {
        let before = packed.get(..at)?;
        let start = before.rfind(|c| !is_name(c)).map_or(0, |last| last + 1);
        let name = before.get(start..).map(|name| name.strip_prefix("function").unwrap_or(name))?;
        let body = packed.get(at + open.len()..)?;
        let body = body.split('}').next().unwrap_or_default();
        let calls_itself_twice = !name.is_empty()
            && ['|', '&'].iter().any(|sign| body.replace(';', "").contains(&format!("{name}{sign}{name}")));
        let end = places.get(at + open.len() + body.len()).map_or(command.len(), |last| last + 1);
        let span = places.get(start).copied().unwrap_or_default()..end;
        calls_itself_twice
            .then(|| ("it starts processes without end, until this machine stops".to_owned(), span))
    })
}
