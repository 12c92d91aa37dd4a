//! Tests of the arguments.

use super::*;
use tau_protocol::model::{Api, ThinkingLevel};

fn read(line: &str) -> Result<CliArgs, clap::Error> {
    CliArgs::read(std::iter::once("tau").chain(line.split_whitespace()))
}

#[test]
fn the_definition_is_sound() {
    CliArgs::command().debug_assert();
}

#[test]
fn the_short_help_is_one_screen_and_the_long_one_has_everything() {
    let help_of = |line: &str| read(line).expect_err(line).to_string();
    let (short, help) = (help_of("-h"), help_of("--help"));
    assert!(short.lines().count() <= 24, "{} lines:\n{short}", short.lines().count());
    for (text, width) in [(&short, 80), (&help, 100)] {
        let wide = text.lines().find(|line| line.chars().count() > width);
        assert_eq!(wide, None, "more than {width} columns");
    }
    for command in subcommand::commands() {
        let (name, about) = (command.get_name(), command.get_about().expect("about").to_string());
        assert!(short.contains(&format!(" {name}")), "{name} is missing:\n{short}");
        assert!(help.contains(&format!("\n  {name:<12} {about}\n")), "{name} is missing:\n{help}");
    }
    for flag in FIRST_FLAGS {
        assert!(short.contains(&format!("--{flag}")), "{flag} is missing:\n{short}");
    }
    for argument in CliArgs::command().get_arguments() {
        if let Some(flag) = argument.get_long() {
            assert!(help.contains(&format!("--{flag}")), "{flag} is missing:\n{help}");
        }
    }
    for (code, meaning) in Exit::rows() {
        assert!(help.contains(&format!("{code} {meaning}")), "{meaning} is missing:\n{help}");
    }
    for flag in ["--print", "--base-url", "--continue", "--cwd", "--help", "-V, --version"] {
        assert!(help.contains(flag), "{flag} is missing:\n{help}");
    }
}

#[test]
fn mistakes_say_what_was_meant() {
    let cases = [
        ("--modle x", "--model"),
        ("--contineu", "--continue"),
        ("--thinking hgih", "high"),
        ("--api openai", "openai-completions"),
        ("--max-turns 0", "a whole number above 0"),
        ("--timeout soon", "a whole number above 0"),
        ("--max-cost free", "US dollars"),
        ("--max-cost 0", "above 0"),
        ("--continue --session x", "cannot be used with"),
        ("--print hi --resume", "tau --resume ID PROMPT"),
        ("--resume 4f2a -w x", "leave it out"),
        ("--session-id x-", "a letter or digit at both ends"),
        ("--fork x --continue", "cannot be used with"),
        ("--proxy example.com:1 --proxy-token x", "https://proxy.example:8302"),
        ("--proxy http://h --proxy-token=", "set TAU_PROXY_TOKEN"),
        ("--proxy http://h --proxy-token x --base-url http://i", "cannot be used with"),
        ("--model", "a value is required"),
        ("--append-system-prompt x", "write --system-prompt '{default} TEXT'"),
        ("--append-system-prompt=x", "write --system-prompt '{default} TEXT'"),
        ("--session x --take-over", "leave it out"),
        ("-p --until=", "give a shell command"),
    ];
    for (line, hint) in cases {
        let error = read(line).expect_err(line).to_string();
        assert!(error.contains(hint), "{line}: {error}");
    }
    let blank = CliArgs::try_parse_from(["tau", "-p", "--until", " \t", "x"]).expect_err("blank").to_string();
    assert!(blank.contains("give a shell command"), "{blank}");
}

/// All arguments with a number, in every command, as command lines without the number.
fn numbers(command: &clap::Command, lines: &mut Vec<(clap::Command, Vec<String>)>) {
    let is_number = |argument: &&clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().any(|name| ["N", "USD", "SECS", "BYTES", "PID"].contains(&name.as_str()))
    };
    for argument in command.get_arguments().filter(is_number) {
        let flag = argument.get_long().map(|name| format!("--{name}"));
        let line = std::iter::once(command.get_name().to_owned()).chain(flag).collect();
        lines.push((command.clone(), line));
    }
    command.get_subcommands().for_each(|command| numbers(command, lines));
}

#[test]
fn a_wrong_number_is_told_in_plain_words_everywhere() {
    let mut lines = Vec::new();
    let commands = subcommand::commands().into_iter().chain([CliArgs::command()]);
    commands.for_each(|command| numbers(&command, &mut lines));
    assert!(lines.len() > 25, "{} arguments", lines.len());
    for (command, line) in lines {
        for wrong in ["x", "-1", "1e400", ""] {
            let with_value = line.iter().map(String::as_str).chain([wrong]);
            let error = command.clone().try_get_matches_from(with_value).expect_err(wrong).to_string();
            let raw = ["invalid digit", "unexpected argument", "out of range", "too large", "is not in"];
            let is_raw = raw.iter().any(|words| error.contains(words));
            let is_told = ["whole number", "give an amount"].iter().any(|words| error.contains(words));
            assert!(is_told && !is_raw, "{line:?} {wrong:?}: {error}");
        }
    }
}

#[test]
fn the_front_end_follows_flags_and_terminals() {
    let cases = [
        ("", true, true, FrontEnd::Screen),
        ("hello", true, true, FrontEnd::Screen),
        ("hello", false, true, FrontEnd::Print),
        ("hello", true, false, FrontEnd::Print),
        ("-p hello", true, true, FrontEnd::Print),
        ("--mode text hello", true, true, FrontEnd::Print),
        ("--json hello", true, true, FrontEnd::Json),
        ("-p --mode json hello", true, true, FrontEnd::Json),
        ("--mode rpc", false, false, FrontEnd::Rpc),
    ];
    for (line, stdin, stdout, front) in cases {
        let args = read(line).unwrap();
        assert_eq!(args.front_end(StandardStreams { stdin, stdout }), front, "{line}");
    }
}

#[test]
fn values_are_read() {
    assert_eq!(read("-- models").unwrap().prompts, ["models"]);
    let args = read("--tools read,bash --api anthropic-messages --thinking high -C /tmp a b").unwrap();
    assert_eq!(args.settings.0.tools.as_deref(), Some(&["read".to_owned(), "bash".to_owned()][..]));
    assert_eq!(args.settings.0.api, Some(Api::AnthropicMessages));
    assert_eq!(args.settings.0.thinking, Some(ThinkingLevel::High));
    assert_eq!(args.cwd.as_deref(), Some(std::path::Path::new("/tmp")));
    assert_eq!(args.prompts, ["a", "b"]);
    let args = read("-p -- --not-a-flag").unwrap();
    assert_eq!(args.prompts, ["--not-a-flag"]);
}

#[test]
fn a_key_is_not_shown() {
    let args = read("--api-key sk-secret-0123456789").unwrap();
    assert!(!format!("{args:?}").contains("0123456789"));
    let args = read("--proxy http://h --proxy-token tau_proxy_0123456789").unwrap();
    assert!(!format!("{args:?}").contains("0123456789"));
}

/// The flags that `-b` carries out; all others it refuses. None is ignored.
const IN_BACKGROUND: &[&str] = tau_tools::words!(
    "output until max-turns max-cost max-tokens timeout wait-for-quota continue session fork session-id \
     name proxy proxy-token system-prompt no-tools cwd worktree no-context-files trust verbose provider \
     api base-url api-key model thinking permission-mode tools web-fetch web-search session-dir \
     temperature sandbox network mask-secrets max-rounds"
);

#[test]
fn no_flag_is_ignored_in_the_background() {
    let command = CliArgs::command();
    let others = ["background", "help", "version"];
    let flags = command.get_arguments().filter_map(|flag| Some((flag, flag.get_long()?)));
    for (flag, name) in flags.filter(|(_, name)| !others.contains(name)) {
        let value = match name {
            "attempts" => " 2 --until true",
            "mode" => " text",
            "rpc-events" => " all",
            "theme" => " dark",
            _ if flag.get_action().takes_values() && !flag.is_require_equals_set() => " x",
            _ => "",
        };
        let refusal = read(&format!("-b --{name}{value}")).err().map(|error| error.to_string());
        let is_refused = refusal.as_ref().is_some_and(|text| text.contains("cannot be used with"));
        assert_ne!(is_refused, IN_BACKGROUND.contains(&name), "--{name}: {refusal:?}");
    }
}
