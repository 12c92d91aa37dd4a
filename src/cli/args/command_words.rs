//! Words that are, or resemble, a command of tau where a prompt would be sent.
//!
//! A prompt costs money and may change files, so `tau logon` and `tau mdels` are not sent to a model.
//! `tau help` and `tau version` work as expected; the others are refused with the command to use.

use std::ffi::OsString;

use super::CliArgs;
use super::subcommand::{self, Subcommand};
use tau_app::slash::Commands;
use tau_tools::compare::{close_matches, has_same_letters};
use tau_tools::invisible::is_invisible;
use tau_tools::shell_word::quote;
use tau_tools::user_error::UserError;

/// Minimum similarity of two words for a suggestion.
const LIKENESS: f32 = 0.75;
/// Minimum length of a word that may be misspelled.
const MIN_MISSPELLED: usize = 4;
/// Minimum length of a word of elsewhere that may be misspelled.
const MIN_ELSEWHERE: usize = 6;
/// Minimum length of a short word that may be misspelled, and its minimum similarity.
const MIN_SHORT: usize = 3;
const SHORT_LIKENESS: f32 = 0.8;

const LOGIN: &str =
    "to log in: tau login PROVIDER; to save a key: tau auth set PROVIDER <FILE; on the screen, both: /login";
const LOGOUT: &str = "to remove a key: tau auth remove PROVIDER, or /logout on the screen";
const UPDATE: &str = "to install a newer version: tau update";
const SETTINGS: &str =
    "settings are in config.toml (docs/configuration.md) and in /settings on the screen; to look: tau doctor";
const SESSIONS: &str =
    "to list sessions: tau sessions; to choose one: tau --resume; to continue the latest: tau --continue";
const AGAIN: &str = "leave out the second `tau`";
const ATTACH: &str = "to leave a session running: tau -b; to come back to one: tau attach";
const SHARE: &str = "to write a session to a file: tau export";
const TRUST: &str = "to trust a project, or no longer: tau trust; on the screen: /trust";
const INSTALL: &str =
    "a package of extensions: tau add SOURCE; an MCP server: tau mcp add; tau extensions lists what there is";
const RUN: &str = "to run one prompt and exit: tau -p PROMPT; for the screen: tau";
const INFO: &str = "to look at the setup: tau doctor; at the keys: tau auth";
const SERVER: &str = "for a server: tau serve; for an editor: tau acp; for MCP clients: tau mcp-serve";

/// Words that name a command elsewhere, and their replacements here.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (LOGIN, &["logon", "signin", "sign-in", "authenticate", "key", "apikey", "api-key", "token"]),
    (LOGOUT, &["logout", "logoff", "signout", "sign-out"]),
    (UPDATE, &["upgrade", "self-update", "selfupdate"]),
    (
        SETTINGS,
        &["config", "configure", "configuration", "setting", "preferences", "setup", "set", "get", "init"],
    ),
    (SESSIONS, &["ls", "list", "session", "history", "show", "rm", "delete", "continue"]),
    (
        INSTALL,
        &[
            "install", "add", "remove", "plugin", "plugins", "skill", "skills", "hook", "hooks", "agents",
            "package", "packages",
        ],
    ),
    (RUN, &["run", "exec", "execute", "chat", "ask", "prompt", "start", "repl", "tui", "print", "json"]),
    (INFO, &["status", "whoami", "account", "usage", "stats", "info", "debug", "env", "check", "about"]),
    (SERVER, &["server", "daemon", "web", "rpc", "lsp", "listen"]),
    ("to list models: tau models; to choose one: tau --model NAME", &["provider", "providers"]),
    (AGAIN, &["tau"]),
    (ATTACH, &["detach"]),
    ("to list jobs: tau jobs", &["ps"]),
    ("for the commands: tau --help", &["docs", "man"]),
    ("for the version: tau --version", &["ver"]),
    ("to look at the rules: tau permissions", &["perms"]),
    (SHARE, &["share"]),
    (TRUST, &["untrust"]),
    ("for one shell: tau completions bash|zsh|fish", &["completion"]),
];

/// The arguments with `help` and `version` replaced by the flags that they mean: `tau help models` is
/// `tau models --help`.
pub(crate) fn as_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    let flags: Vec<&str> = match words.as_slice() {
        ["help"] => vec!["--help"],
        ["version"] => vec!["--version"],
        ["help", command, rest @ ..] if subcommand::names().contains(command) => {
            let inner = rest.iter().copied().filter(|word| !word.starts_with('-'));
            std::iter::once(*command).chain(inner).chain(["--help"]).collect()
        }
        _ => return arguments,
    };
    let flags = flags.into_iter().map(OsString::from);
    arguments.first().cloned().into_iter().chain(flags).collect()
}

/// Refuses prompts whose first word is, or resembles, a command; with `-p` and its like, of a single word. Behind
/// `--` every word is a prompt, and so is one about a piped text, unless it is a command of the shell. The error is the
/// replacement to type. `has_text` tells whether text is piped in.
pub(crate) fn check(
    arguments: &[OsString],
    args: &CliArgs,
    has_text: impl FnOnce() -> bool,
) -> Result<(), UserError> {
    let is_end = |word: &OsString| word == "--";
    let end = arguments.iter().position(is_end).unwrap_or(arguments.len());
    let literal = arguments.len().saturating_sub(end.saturating_add(1));
    let Some(word) = args.prompts.first().filter(|_| args.prompts.len() > literal) else { return Ok(()) };
    if let Some(command) = word.trim().strip_prefix('!') {
        let command = command.trim_start_matches('!').trim();
        let advice = format!("`!` runs a command on the screen; in your shell, type it alone: {command}");
        return Err(refusal(&advice, arguments, args));
    }
    if let Some(advice) = named_again(&args.prompts) {
        return Err(refusal(&advice, arguments, args));
    }
    // `tau -p run the tests` asks for an answer, so several words are no command.
    let is_asked = args.print || args.background || args.json || args.mode.is_some();
    if is_asked && args.prompts.len() > 1 && !word.starts_with('/') {
        return Ok(());
    }
    let Some(advice) = advice(word.trim(), arguments) else { return Ok(()) };
    let is_about_text = (args.print || args.json) && !word.starts_with('/') && !is_of_shell(word.trim());
    if is_about_text && has_text() {
        return Ok(());
    }
    Err(refusal(&advice, arguments, args))
}

/// The advice for prompts that are a whole command line: `tau update`, in one text or several.
fn named_again(prompts: &[String]) -> Option<String> {
    let mut words = prompts.iter().flat_map(|prompt| prompt.split_whitespace());
    words.next().filter(|first| *first == "tau")?;
    let line: Vec<OsString> = std::iter::once("tau").chain(words).map(OsString::from).collect();
    let [_, name, rest @ ..] = line.as_slice() else { return None };
    let name = name.to_str()?;
    let is_line = matches!(Subcommand::read(&line), Ok(Some(_)));
    let typed = |word: &OsString| quote(&word.to_string_lossy());
    match rest {
        [] if !is_line => advice(name, &line).or_else(|| is_of_shell(name).then(|| AGAIN.to_owned())),
        _ if is_line => {
            let line: Vec<String> = line.iter().map(typed).collect();
            Some(format!("{AGAIN}: {}", line.join(" ")))
        }
        _ => None,
    }
}

/// Whether a word is a command of the shell, not only like one.
fn is_of_shell(word: &str) -> bool {
    let name = word.to_lowercase();
    matches!(&*name, "help" | "version") || subcommand::names().contains(&&*name)
}

/// The advice, and the line that sends the words as a prompt: all flags, then the prompts.
fn refusal(advice: &str, arguments: &[OsString], args: &CliArgs) -> UserError {
    let mut prompts = args.prompts.iter().rev().peekable();
    let is_flag = |word: &&OsString| {
        let is_prompt = prompts.next_if(|prompt| word.to_str() == Some(prompt.as_str())).is_some();
        !is_prompt && *word != "--"
    };
    let mut flags: Vec<&OsString> = arguments.iter().skip(1).rev().filter(is_flag).collect();
    flags.reverse();
    let quote_flag = |word: &OsString| quote(&word.to_string_lossy());
    // A blank makes a text of what would be a command.
    let prompts = args.prompts.iter().map(|prompt| match prompt.starts_with('/') {
        true => quote(&format!(" {prompt}")),
        false => quote(prompt),
    });
    let words = flags.into_iter().map(quote_flag).chain(["--".to_owned()]).chain(prompts);
    format!("{advice}\nTo send it as a prompt: tau {}", words.collect::<Vec<_>>().join(" ")).into()
}

/// The replacement for this word; `None` if it is an ordinary word.
fn advice(word: &str, arguments: &[OsString]) -> Option<String> {
    // A command of the screen may have words behind it.
    let command = word.split_whitespace().next().filter(|first| first.starts_with('/'));
    let word = command.unwrap_or(word);
    let name = word.strip_prefix('/').unwrap_or(word).trim_end_matches(['.', '!', '?']).to_lowercase();
    if name.is_empty() || word.contains(char::is_whitespace) {
        return None;
    }
    if let Some(form) = subcommand_form(&name, word, arguments).filter(|_| !word.starts_with('/')) {
        return Some(form);
    }
    let screen = Commands::default();
    let of_screen = screen.find(&name);
    if word.starts_with('/') {
        let row = of_screen?;
        return Some(format!("`/{}` is a command of the screen: start tau, then type it", row.name));
    }
    // A word for a session that is there is a prompt: `tau -c continue`.
    let resumes = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_long =
            ["--continue", "--resume", "--session", "--fork"].iter().any(|flag| word.starts_with(flag));
        is_long || word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'r'])
    };
    if name == "continue" && arguments.iter().any(resumes) {
        return None;
    }
    let elsewhere =
        || ELSEWHERE.iter().flat_map(|(advice, words)| words.iter().map(move |word| (*word, *advice)));
    let spelled = |c: char| if is_invisible(c) { c.escape_unicode().to_string() } else { c.to_string() };
    let shown: String = word.chars().map(spelled).collect();
    let said = |advice: &str| format!("`{shown}` is not a command of tau; {advice}");
    if let Some((_, advice)) = elsewhere().find(|(known, _)| *known == name) {
        return Some(said(advice));
    }
    if let Some(row) = of_screen {
        let name = &row.name;
        return Some(format!("`{name}` is a command of the screen: start tau, then type /{name}"));
    }
    let known: Vec<&str> = subcommand::names().into_iter().chain(["help", "version"]).collect();
    let near = |least: usize, likeness: f32| {
        let known: Vec<&str> = known.iter().copied().filter(|known| known.len() >= least).collect();
        let is_long = name.chars().count() >= least;
        close_matches(&name, &known, 1, likeness).first().copied().filter(|_| is_long)
    };
    let is_swapped = |other: &&str| other.len() <= MIN_SHORT && has_same_letters(other, &name);
    let swapped = || known.iter().copied().find(is_swapped);
    let near = near(MIN_MISSPELLED, LIKENESS).or_else(|| near(MIN_SHORT, SHORT_LIKENESS)).or_else(swapped);
    if let Some(near) = near {
        return Some(said(&format!("did you mean tau {near}?")));
    }
    let others: Vec<&str> = elsewhere()
        .map(|(word, _)| word)
        .filter(|word| word.len() >= MIN_ELSEWHERE || *word == "rpc")
        .collect();
    let meant = close_matches(&name, &others, 1, SHORT_LIKENESS).first().copied();
    if let Some((_, advice)) = elsewhere().find(|(word, _)| Some(*word) == meant) {
        return Some(said(advice));
    }
    let rows = screen.rows().iter().map(|row| &*row.name).filter(|name| name.len() >= MIN_ELSEWHERE);
    let meant = close_matches(&name, &rows.collect::<Vec<_>>(), 1, SHORT_LIKENESS).first().copied()?;
    Some(said(&format!("did you mean /{meant} of the screen? Start tau, then type it")))
}

/// The correct form of a subcommand that does not come first, or has capitals.
fn subcommand_form(name: &str, word: &str, arguments: &[OsString]) -> Option<String> {
    if matches!(name, "help" | "version") {
        return Some(format!(
            "to print it: tau {name}; the commands that it knows are {}",
            subcommand::names().join(", ")
        ));
    }
    if !subcommand::names().contains(&name) {
        return None;
    }
    let is_other = |other: &&OsString| other.to_str().is_none_or(|other| other.trim() != word);
    let others: Vec<OsString> = arguments.iter().skip(1).filter(is_other).cloned().collect();
    let line: Vec<OsString> =
        [OsString::from("tau"), name.into()].into_iter().chain(others.iter().cloned()).collect();
    let form = match Subcommand::read(&line) {
        Ok(Some(_)) => {
            let others = others.iter().map(|other| quote(&other.to_string_lossy()));
            std::iter::once(name.to_owned()).chain(others).collect::<Vec<_>>().join(" ")
        }
        // It does not accept these flags.
        _ => format!("{name} --help"),
    };
    Some(format!("`{name}` is a command, and comes first: tau {form}"))
}

#[cfg(test)]
#[allow(clippy::string_slice, reason = "names of commands are ASCII")]
mod tests {
    use super::*;
    use tau_app::slash;

    fn check_line(line: &str) -> Result<(), UserError> {
        check_words(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    fn check_words(arguments: &[OsString]) -> Result<(), UserError> {
        let args = CliArgs::read(arguments.to_vec()).map_err(UserError::of)?;
        check(arguments, &args, || false)
    }

    #[test]
    fn words_that_resemble_a_command_are_refused() {
        let names = subcommand::names();
        for word in names.iter().chain(ELSEWHERE.iter().flat_map(|(_, words)| words.iter())) {
            for line in
                [format!("tau -p {word}"), format!("tau --model m {word}"), format!("tau --trust {word} x")]
            {
                let text = check_line(&line).expect_err(&line);
                let (_, sends) = text.split_once("To send it as a prompt: ").expect(&text);
                assert_eq!(check_line(sends), Ok(()), "{text}");
                let flags = line.split(' ').filter(|flag| flag.starts_with('-'));
                assert!(
                    flags.clone().all(|flag| sends.split(" -- ").next().unwrap().contains(flag)),
                    "{text}"
                );
            }
            assert_eq!(check_line(&format!("tau -p -- {word}")), Ok(()), "{word}");
            // One letter missing, two swapped, one too many.
            if word.len() >= 5 && names.contains(word) {
                let swapped = format!("{}{}{}{}", &word[..1], &word[2..3], &word[1..2], &word[3..]);
                for wrong in
                    [word[..word.len() - 1].to_owned(), word[1..].to_owned(), swapped, format!("{word}x")]
                {
                    assert!(check_line(&format!("tau {wrong}")).is_err(), "{wrong} resembles {word}");
                }
            }
        }
        let unlisted = slash::unlisted_commands().map(|(row, _)| row);
        for row in slash::TABLE.iter().cloned().chain(unlisted) {
            assert!(check_line(&format!("tau -p {}", row.name)).is_err(), "{}", row.name);
            assert!(check_line(&format!("tau -p /{}", row.name)).is_err(), "/{}", row.name);
            let one = ["tau".into(), "-p".into(), OsString::from(format!("/{} and more", row.name))];
            assert!(check_words(&one).is_err(), "/{} and more", row.name);
        }
        for word in [
            "hi", "hello", "explain", "test", "fix", "review", "commit", "why", "12345", "/review", "тест",
            "yes", "ok", "doc", "lint", "bigout",
        ] {
            assert_eq!(check_line(&format!("tau {word}")), Ok(()), "{word}");
        }
    }

    #[test]
    fn the_right_form_is_named() {
        let cases = [
            ("tau --model m acp", "comes first: tau acp --model m"),
            ("tau --trust extensions", "comes first: tau extensions --trust"),
            ("tau -p Models", "comes first: tau models --help"),
            ("tau mdels", "did you mean tau models?"),
            ("tau --trust login openai", "comes first: tau login"),
            ("tau lgoin", "did you mean tau login?"),
            ("tau upgrade", "to install a newer version: tau update"),
            ("tau help mdels", "the commands that it knows are acp, add, attach"),
            ("tau quit", "type /quit"),
            ("tau job", "did you mean tau jobs?"),
            ("tau jbs", "did you mean tau jobs?"),
            ("tau mcps", "did you mean tau mcp?"),
            ("tau tau login", "leave out the second `tau`"),
            ("tau logut", "tau auth remove PROVIDER"),
            ("tau resum", "did you mean /resume"),
            ("tau apc", "did you mean tau acp?"),
            ("tau rpcc", "tau serve"),
            ("tau untrust", "tau trust"),
            ("tau packages", "tau add"),
            ("tau -p tau update", "leave out the second `tau`: tau update"),
            ("tau -p tau updat", "did you mean tau update?"),
            ("tau continue", "tau --continue"),
            ("tau detach", "tau attach"),
            ("tau log\u{200b}in", "`log\\u{200b}in` is not a command"),
        ];
        for (line, expected) in cases {
            let text = check_line(line).expect_err(line);
            assert!(text.contains(expected), "{line}: {text}");
        }
        for (text, expected) in [
            ("tau login", "leave out the second `tau`: tau login"),
            ("tau login openai", "leave out the second `tau`: tau login openai"),
            ("tau logon", "tau login PROVIDER"),
        ] {
            for words in [vec!["tau", text], vec!["tau", "-p", text]] {
                let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
                let said = check_words(&words).expect_err(text);
                assert!(said.contains(expected), "{text}: {said}");
            }
        }
        for text in ["tau is slow", "tau login fails, why?", "tau"] {
            let words = ["tau", "-p", text].map(OsString::from);
            assert_eq!(check_words(&words).is_err(), text == "tau", "{text}");
        }
        for line in
            ["tau -c continue", "tau -pc continue", "tau --resume continue", "tau -p --session=1 continue"]
        {
            assert_eq!(check_line(line), Ok(()), "{line}");
        }
        for line in
            ["tau -p run the tests", "tau -p add a test", "tau --json list files", "tau -b check types"]
        {
            assert_eq!(check_line(line), Ok(()), "{line}");
        }
        let prompt = check_line("tau --trust login it's").expect_err("a command");
        assert!(prompt.ends_with(r"tau --trust -- login 'it'\''s'"), "{prompt}");
        let prompt = check_line("tau -p --model loc/m plan").expect_err("a command");
        assert!(prompt.ends_with("tau -p --model loc/m -- plan"), "{prompt}");
    }

    #[test]
    fn help_and_version_are_flags() {
        let cases = [
            ("tau help", "tau --help"),
            ("tau version", "tau --version"),
            ("tau help auth set", "tau auth set --help"),
            ("tau help mcp-serve", "tau mcp-serve --help"),
            ("tau help me", "tau help me"),
            ("tau models", "tau models"),
            ("tau -- help", "tau -- help"),
        ];
        for (line, expected) in cases {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(as_flags(words(line)), words(expected), "{line}");
        }
    }
}
