//! Slash commands: the list behind completion, help, dispatch and the documents.
//!
//! To add a built-in command: a row in [`TABLE`], and an arm in `update/slash.rs`. Rows from
//! elsewhere (files) come in by [`Commands::new`]. Names of commands in other programs are in [`ALIASES`]:
//! such a name is accepted and completed, but not listed.

use std::borrow::Cow;
use tau_protocol::extension::looks_like_a_command;
use tau_tools::compare::{has_same_letters, likely_names};

/// A command of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    pub slash: Slash,
    /// Without the slash.
    pub name: Cow<'static, str>,
    /// Display text for the arguments; empty for none.
    pub arguments: Cow<'static, str>,
    /// One line of help.
    pub help: Cow<'static, str>,
    /// Whether the agent can be asked for values of its arguments.
    pub completes_arguments: bool,
}

const fn row(slash: Slash, name: &'static str, arguments: &'static str, help: &'static str) -> CommandRow {
    CommandRow {
        slash,
        name: Cow::Borrowed(name),
        arguments: Cow::Borrowed(arguments),
        help: Cow::Borrowed(help),
        completes_arguments: false,
    }
}

macro_rules! slashes {
    ($($slash:ident $name:literal $arguments:literal $help:literal;)+) => {
        /// A slash command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Slash {
            $($slash,)+
            Vim,
            /// A prompt template, a skill or a prompt of an MCP server: its line is sent, and the agent replaces it.
            Prompt,
        }

        /// All commands, in display order.
        pub const TABLE: &[CommandRow] = &[$(row(Slash::$slash, $name, $arguments, $help),)+];
    };
}

slashes! {
    Model "model" "[name]" "choose a model";
    Thinking "thinking" "[level]" "set the thinking level";
    Resume "resume" "" "open an earlier session";
    New "new" "" "start a new session";
    Name "name" "[name]" "show or set the name of this session";
    Tree "tree" "" "jump to another point in this session (also Esc Esc)";
    Fork "fork" "" "fork this session before one of your messages";
    Clone "clone" "" "continue in a copy of this session";
    Context "context" "" "show what is using the context window";
    Compact "compact" "[instructions]" "replace the earlier conversation with a summary";
    Diff "diff" "" "show and revert what this session changed in files";
    Undo "undo" "" "go back to before one of your messages: files, conversation or both";
    Redo "redo" "" "redo what /undo took back";
    Copy "copy" "" "copy the last answer";
    Export "export" "[file]" "export this session to a file: .html, .md or .jsonl";
    Import "import" "<file>" "import a session file (.jsonl, also from pi) and continue in it";
    Session "session" "" "show this session: model, mode, context, tokens, cost and file";
    Theme "theme" "[name]" "choose a theme";
    Login "login" "[provider]" "log in, or add a provider API key";
    Logout "logout" "[provider]" "remove a stored API key";
    Trust "trust" "" "trust or ignore this folder's .tau/ settings";
    Mode "mode" "[ask|edits|plan|auto]" "switch the permission mode";
    Plan "plan" "[task]" "plan a task in plan mode, or show the accepted plan";
    Goal "goal" "[command|resume|off]" "work until a shell command succeeds";
    SideQuestion "btw" "<question>" "ask beside the work; the answer is not in the conversation";
    Permissions "permissions" "" "show and change the permission rules";
    Settings "settings" "" "show and change settings";
    Extensions "extensions" "" "show skills and other extensions, and turn them on or off";
    Keys "keys" "" "show and change keys";
    Reload "reload" "" "reload settings, models, keys and instruction files";
    Hotkeys "hotkeys" "" "show keys and commands";
    Help "help" "" "show keys and commands";
    Board "board" "" "show the sessions that run, wait for you or have ended";
    Jobs "jobs" "" "show the commands that run in the background: output, stop, keep";
    Worktree "worktree" "[name]" "work in a git worktree of its own; without a name, list them";
    Attempts "attempts" "[N task]" "try a task N times at once, in copies; alone: compare the attempts and take one";
    Background "background" "" "leave the session running and go back to the shell";
    Quit "quit" "" "quit tau";
}

/// Commands that are accepted and completed, but not listed.
const UNLISTED: [CommandRow; 1] = [row(Slash::Vim, "vim", "", "turn vim keys on or off")];

/// Names of commands in other programs, with their names here.
pub const ALIASES: &[(&str, &str)] = tau_tools::pairs!(
    "clear=new reset=new exit=quit rewind=undo checkpoint=undo config=settings preferences=settings \
     cost=session usage=session status=session stats=session mcp=extensions agents=extensions \
     hooks=extensions skills=extensions plugins=extensions sessions=resume history=resume rename=name \
     compress=compact summarize=compact models=model effort=thinking themes=theme \
     allowed-tools=permissions approvals=permissions keybindings=keys branch=fork todos=plan \
     bashes=jobs tasks=jobs"
);

/// Commands of other programs that are none here, and what to do instead.
const ELSEWHERE: [(&str, &str); 17] = [
    ("memory", "instructions are in AGENTS.md: edit it (!${EDITOR:-vi} AGENTS.md), or ask the model to"),
    ("doctor", "type !tau doctor, or run it in your shell"),
    ("review", "ask for it in words: review my changes"),
    ("security-review", "ask for it in words: look for security faults in my changes"),
    ("pr-comments", "ask for it in words: read the comments of this pull request with gh"),
    ("add-dir", "name the folder in your message; sandbox.writable in /settings lets commands write there"),
    ("ide", "start tau in the editor's terminal, or connect the editor with `tau acp`"),
    ("terminal-setup", "type !tau doctor: it says what your terminal needs"),
    ("output-style", "write how to answer into AGENTS.md"),
    ("statusline", "/settings status_line changes it"),
    ("bug", "`tau --record FILE` records what to report"),
    ("feedback", "`tau --record FILE` records what to report"),
    ("mention", "type @ and a part of the file's name"),
    ("sandbox", "/settings sandbox.level changes it"),
    ("release-notes", "CHANGELOG.md in tau's sources has them"),
    ("upgrade", "run `tau update` in your shell"),
    ("update", "run `tau update` in your shell"),
];

/// The advice for the command of another program, if it is one.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, instead)| *instead)
}

/// The command of another program that this may be a typo of, and the advice.
pub(crate) fn nearest_elsewhere(name: &str) -> Option<(&'static str, &'static str)> {
    let names = ELSEWHERE.map(|(known, _)| known);
    let known = likely_names(&name.to_lowercase(), &names, 1, CERTAIN_LIKENESS).first().copied()?;
    elsewhere(known).map(|instead| (known, instead))
}

/// Words that quit other command lines. Alone in a message, they quit tau.
const EXIT_WORDS: [&str; 6] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/// Minimum similarity of two names for a suggestion.
const LIKENESS: f32 = 0.65;

/// Minimum similarity to a name that is no command here.
const CERTAIN_LIKENESS: f32 = 0.8;

/// Whether a text names a command of the list, as in `/goal resume`.
pub fn names_command(text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || ",;.".contains(c));
    words.any(|word| {
        word.strip_prefix('/').is_some_and(|name| TABLE.iter().any(|row| row.name.as_ref() == name))
    })
}

/// Whether a text is only a word that quits.
pub(crate) fn is_exit(text: &str) -> bool {
    EXIT_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text.trim_end()))
}

/// The unlisted commands: each with the name of the listed one that it stands for, if any.
pub fn unlisted_commands() -> impl Iterator<Item = (CommandRow, Option<&'static str>)> {
    let aliases = ALIASES.iter().filter_map(|(alias, name)| {
        let row = TABLE.iter().find(|row| row.name == *name)?;
        Some((CommandRow { name: Cow::Borrowed(alias), ..row.clone() }, Some(*name)))
    });
    UNLISTED.into_iter().map(|row| (row, None)).chain(aliases)
}

/// The other names of a listed command.
pub fn aliases(name: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, of)| *of == name).map(|(alias, _)| *alias)
}

/// The commands of a run: completion, help and dispatch all read this list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    rows: Vec<CommandRow>,
    /// Accepted but unlisted commands.
    unlisted: Vec<CommandRow>,
}

impl Default for Commands {
    fn default() -> Self {
        Commands::new(Vec::new())
    }
}

impl Commands {
    /// The built-in commands with those from elsewhere. A name belongs to its first command; an unlisted one
    /// gives way.
    pub fn new(more: Vec<CommandRow>) -> Self {
        let mut rows = TABLE.to_vec();
        for row in more {
            if rows.iter().all(|known| known.name != row.name) {
                rows.push(row);
            }
        }
        let is_free = |row: &CommandRow| rows.iter().all(|known| known.name != row.name);
        let unlisted = unlisted_commands().map(|(row, _)| row).filter(is_free).collect();
        Commands { rows, unlisted }
    }

    /// All commands, in display order.
    pub fn rows(&self) -> &[CommandRow] {
        &self.rows
    }

    /// Accepted but unlisted commands.
    pub(crate) fn unlisted_rows(&self) -> &[CommandRow] {
        &self.unlisted
    }

    /// The command with this name; case is ignored where the name is unambiguous.
    pub fn find(&self, name: &str) -> Option<&CommandRow> {
        let all = || self.rows.iter().chain(&self.unlisted);
        all().find(|row| row.name == name).or_else(|| all().find(|row| row.name.eq_ignore_ascii_case(name)))
    }

    /// The known name that this one may be a typo of.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        let names: Vec<&str> = self.rows.iter().chain(&self.unlisted).map(|row| row.name.as_ref()).collect();
        let mut begun = self.rows.iter().filter(|row| row.name.starts_with(&name));
        let only = begun.next().filter(|_| begun.next().is_none()).map(|row| row.name.as_ref());
        let close = likely_names(&name, &names, names.len(), LIKENESS);
        let swapped = close.iter().find(|known| has_same_letters(known, &name));
        only.or_else(|| swapped.or(close.first()).copied())
    }

    /// Parses a line as a command: its row and arguments. `None` when the line is no command; `Err` holds the
    /// word of an unknown command.
    pub fn parse<'a>(&self, line: &'a str) -> Option<Result<(&CommandRow, &'a str), &'a str>> {
        let rest = line.strip_prefix('/')?;
        let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if !looks_like_a_command(word) {
            return None;
        }
        Some(match self.find(word) {
            Some(row) => Ok((row, arguments.trim())),
            None => Err(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_only_when_it_looks_like_one() {
        let commands = Commands::default();
        let check = |line: &'static str, expected: Option<Result<(&str, &str), &str>>| {
            let found = commands.parse(line).map(|found| found.map(|(row, rest)| (row.name.as_ref(), rest)));
            assert_eq!(found, expected, "{line}");
        };
        check("/model gpt", Some(Ok(("model", "gpt"))));
        check("/quit", Some(Ok(("quit", ""))));
        check("/quti", Some(Err("quti")));
        check("/usr/bin is full", None);
        check("fix /model", None);
        check("/", None);
    }

    #[test]
    fn other_names_stand_for_a_command_and_give_way() {
        let commands = Commands::default();
        for (alias, name) in ALIASES {
            let line = format!("/{alias} x");
            let found = commands.parse(&line).and_then(Result::ok);
            let slash = TABLE.iter().find(|row| row.name == *name).map(|row| row.slash);
            assert_eq!(found.map(|(row, rest)| (Some(row.slash), rest)), Some((slash, "x")), "{alias}");
            assert!(TABLE.iter().all(|row| row.name != *alias), "{alias}");
            assert!(ALIASES.iter().filter(|(other, _)| other == alias).count() == 1, "{alias}");
        }
        let own = Commands::new(vec![row(Slash::Prompt, "status", "", "")]);
        assert_eq!(own.find("status").map(|row| row.slash), Some(Slash::Prompt));
        assert_eq!(own.find("Cost").map(|row| row.slash), Some(Slash::Session));
    }

    #[test]
    fn a_mistyped_name_is_recognised() {
        let commands = Commands::default();
        let cases = [
            ("modle", "model"),
            ("mdel", "model"),
            ("claer", "clear"),
            ("quti", "quit"),
            ("perm", "permissions"),
            ("resme", "resume"),
            ("setings", "settings"),
            ("Compct", "compact"),
            ("hlep", "help"),
            ("udno", "undo"),
            ("exti", "exit"),
        ];
        for (typed, meant) in cases {
            assert_eq!(commands.nearest(typed), Some(meant), "{typed}");
        }
        for (typed, meant) in [("memroy", "memory"), ("reviw", "review"), ("terminal-stup", "terminal-setup")]
        {
            assert_eq!(nearest_elsewhere(typed).map(|(name, _)| name), Some(meant), "{typed}");
        }
        for typed in ["xyzzy", "deploy-prod", "review-all"] {
            assert_eq!((commands.nearest(typed), nearest_elsewhere(typed)), (None, None), "{typed}");
        }
    }

    #[test]
    fn only_a_word_that_is_alone_quits() {
        assert!(["exit", "exit ", "Exit", "quit", "QUIT", ":q", ":wq"].into_iter().all(is_exit));
        assert!(
            [" exit", "exit code?", "exit 1", "/exit", "Exit the loop", ""]
                .into_iter()
                .all(|text| !is_exit(text))
        );
    }

    #[test]
    fn a_name_stays_with_its_first_command() {
        let more = vec![row(Slash::Compact, "shorten", "", "shorten it"), row(Slash::Quit, "model", "", "")];
        let commands = Commands::new(more);
        assert_eq!(commands.rows().len(), TABLE.len() + 1);
        assert_eq!(
            commands.parse("/shorten").map(|found| found.map(|(row, _)| row.slash)),
            Some(Ok(Slash::Compact))
        );
        assert_eq!(
            commands.parse("/model").map(|found| found.map(|(row, _)| row.slash)),
            Some(Ok(Slash::Model))
        );
    }
}
