//! Questions at first use: hooks of Claude Code at the start, tools for the web at the first address.

use std::process::Command;

use serde_json::json;
use tau::agent::protocol::command::{RunCommand, SettingsCommand};
use tau::agent::protocol::event::{NoticeLevel, TaskEvent};
use tau::agent::{AgentCommand, AgentEvent};
use tau::app::boot::Boot;
use tau::app::overlays::offer::{HookOffer, Offers, WebOffer};
use tau::app::request::{ScreenReply, ScreenRequest, SettingsUpdate};
use tau::app::{Effect, Msg};

use crate::approvals::terminal::{play, saying};
use crate::harness::{Screen, boot, frames, text};
use crate::screen::Screen as Terminal;
use crate::time_limit::RunInTime;

const HOOKS: &str = r#"mkdir -p ~/.claude
printf '{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo ran >>%s/ran"}]}]}}' "$HOME" >~/.claude/settings.json"#;

fn config(screen: &Terminal) -> String {
    std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap_or_default()
}

fn hooks_answered(
    key: &'static str,
    says: &'static str,
    saved: &'static str,
    runs: bool,
) -> impl FnOnce(&Terminal) {
    move |screen| {
        screen.wait_for("has 1 hook of Claude Code that tau can run");
        screen.wait_for("UserPromptSubmit: echo ran");
        screen.press_until(key, says);
        screen.wait_until("no question", |cells| !cells.contents().contains("Run them?"));
        screen.type_keys("please continue");
        screen.wait_for_composer("please continue");
        screen.press_until("\r", "Finished.");
        assert_eq!(config(screen), saved);
        assert_eq!(screen.home().join("ran").exists(), runs);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_claude_code_run_after_a_yes() {
    let play_it = hooks_answered("1", "claude_hooks = true: saved in", "claude_hooks = true\n", true);
    play(vec![saying("Finished.")], HOOKS, "", (110, 30), play_it).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_claude_code_do_not_run_now() {
    let play_it = hooks_answered("\r", "tau asks again at the next start", "", false);
    play(vec![saying("Finished.")], HOOKS, "", (110, 30), play_it).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_claude_code_never_run() {
    let play_it = hooks_answered("3", "claude_hooks = false: saved in", "claude_hooks = false\n", false);
    play(vec![saying("Finished.")], HOOKS, "", (110, 30), play_it).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_decided_is_not_asked() {
    let script = "mkdir -p ~/.claude
printf '{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]}}' >~/.claude/settings.json
printf 'claude_hooks = false\\nweb_fetch = false\\n' >\"$TAU_HOME/config.toml\"";
    let requests = play(vec![saying("Read it.")], script, "", (110, 30), |screen| {
        screen.type_keys("read https://example.com/a\r");
        screen.wait_for("Read it.");
        assert!(!screen.text().contains("Run them?"));
    })
    .await;
    assert!(!requests[0].contains("web_fetch"), "{}", requests[0]);
}

/// One message with an address, and an answer: the model gets the message after it, with or without the
/// tool.
async fn web(
    script: &'static str,
    question: &'static str,
    key: &'static str,
    saved: &'static str,
    offered: &[&str],
) {
    let acts = vec![saying("Read it."), saying("Again.")];
    let requests = play(acts, script, "", (110, 30), move |screen| {
        screen.type_keys("read https://example.com/a\r");
        screen.wait_for(question);
        assert_eq!(config(screen), "");
        screen.press_until(key, "Read it.");
        assert_eq!(config(screen), saved);
        if saved.contains("true") {
            screen.wait_for("web_fetch = true");
            screen.wait_for("saved in ~/tau/config.toml");
        }
        // It is asked once.
        screen.type_keys("and https://example.com/b");
        screen.wait_for_composer("and https://example.com/b");
        screen.press_until("\r", "Again.");
    })
    .await;
    for request in &requests {
        for tool in ["\"web_fetch\"", "\"web_search\""] {
            assert_eq!(request.contains(tool), offered.contains(&tool), "{tool}: {request}");
        }
    }
    assert!(requests[0].contains("read https://example.com/a"));
    assert_eq!(requests.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_fetched_from_now_on() {
    web("", "Let the model fetch web pages?", "1", "web_fetch = true\n", &["\"web_fetch\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_fetched_in_this_session() {
    web("", "Let the model fetch web pages?", "2", "", &["\"web_fetch\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_not_fetched() {
    web("", "Let the model fetch web pages?", "3", "web_fetch = false\n", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_question_sends_the_message_as_it_is() {
    web("", "Let the model fetch web pages?", "\x1b", "", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_key_offers_the_search_too() {
    let saved = "web_fetch = true\nweb_search = \"brave\"\n";
    let question = "Let the model fetch web pages, and search the web with Brave Search?";
    web("export BRAVE_API_KEY=k", question, "1", saved, &["\"web_fetch\"", "\"web_search\""]).await;
}

/// A message that asks for a search: it waits for the answer, the next one does not ask again.
async fn search(
    script: &'static str,
    question: &'static str,
    key: &'static str,
    saved: &'static str,
    offered: &[&str],
) {
    let acts = vec![saying("Found it."), saying("Again.")];
    let requests = play(acts, script, "", (110, 30), move |screen| {
        screen.type_keys("search the web for the newest serde\r");
        screen.wait_for(question);
        screen.press_until(key, "Found it.");
        assert_eq!(config(screen), saved);
        screen.type_keys("now search the web for tokio");
        screen.wait_for_composer("now search the web for tokio");
        screen.press_until("\r", "Again.");
    })
    .await;
    for request in &requests {
        for tool in ["\"web_fetch\"", "\"web_search\""] {
            assert_eq!(request.contains(tool), offered.contains(&tool), "{tool}: {request}");
        }
    }
    assert_eq!(requests.len(), 2);
}

const ONLY_SEARCH: &str = "Let the model search the web with Brave Search?";

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_offered_by_itself_where_pages_are_decided() {
    let saved = "web_fetch = false\nweb_search = \"brave\"\n";
    let script = "export BRAVE_API_KEY=k; echo 'web_fetch = false' >\"$TAU_HOME/config.toml\"";
    search(script, ONLY_SEARCH, "1", saved, &["\"web_search\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_declined_for_good() {
    let saved = "web_fetch = true\nweb_search = \"off\"\n";
    let script = "export BRAVE_API_KEY=k; echo 'web_fetch = true' >\"$TAU_HOME/config.toml\"";
    search(script, ONLY_SEARCH, "3", saved, &["\"web_fetch\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_asks_for_a_search_offers_both() {
    let question = "Let the model fetch web pages, and search the web with Brave Search?";
    search("export BRAVE_API_KEY=k", question, "2", "", &["\"web_fetch\"", "\"web_search\""]).await;
}

/// A prompt of the command line waits for the answer, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_of_the_command_line_waits() {
    let requests = play(vec![saying("Read it.")], "", "'see https://example.com/a'", (110, 30), |screen| {
        screen.wait_for("Let the model fetch web pages?");
        screen.press_until("2", "Read it.");
    })
    .await;
    assert!(requests[0].contains("\"web_fetch\""), "{}", requests[0]);
}

/// Without a screen hooks do not run, which is reported once.
#[test]
fn without_a_screen_hooks_do_not_run() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".claude")).unwrap();
    let hooks =
        json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}});
    std::fs::write(home.path().join(".claude/settings.json"), hooks.to_string()).unwrap();
    let run = |config: &str| {
        std::fs::create_dir_all(home.path().join("tau")).unwrap();
        std::fs::write(home.path().join("tau/config.toml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["-p", "hello https://example.com", "--model", "demo"]).current_dir(home.path());
        command.env_clear().env("HOME", home.path()).env("TAU_HOME", home.path().join("tau"));
        command.env("TAU_DEMO_SPEED", "max").env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.stdin(std::process::Stdio::null()).output_in_time();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run("");
    assert_eq!(said.matches("not running the hooks of ~/.claude/settings.json").count(), 1, "{said}");
    assert!(!run("claude_hooks = false\n").contains("hooks"));
    assert!(!home.path().join("ran").exists());
}

fn offering(web: bool) -> Screen {
    let hooks = HookOffer {
        files: vec!["~/.claude/settings.json".into()],
        hooks: vec![("Stop".into(), "\x1b]0;title\x07evil\u{202e}".into())],
        ..HookOffer::default()
    };
    let offers =
        Offers { hooks: Some(hooks).filter(|_| !web), web: Some(WebOffer::default()).filter(|_| web) };
    let mut screen = Screen::boot(Boot { offers, ..boot() });
    screen.take_effects();
    screen
}

fn prompts(screen: &mut Screen) -> Vec<String> {
    let prompt = |effect| match effect {
        Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text, .. })) => Some(text),
        _ => None,
    };
    screen.take_effects().into_iter().filter_map(prompt).collect()
}

/// Text typed as the question appears is kept, and messages sent after it wait for it.
#[test]
fn nothing_is_lost_or_overtaken_while_it_is_asked() {
    let mut screen = offering(true);
    screen.keys("see https://example.com<enter>");
    assert_eq!(prompts(&mut screen), Vec::<String>::new());
    screen.keys("3 files");
    screen.at += 1_000;
    let drawn = text(&screen.draw());
    assert!(drawn.contains("Let the model fetch web pages?") && drawn.contains("3 files"), "{drawn}");
    // The first Enter was to send them.
    screen.keys("<enter>");
    assert_eq!(screen.take_effects(), []);
    screen.keys("<enter>");
    let asked = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Decide { settings, kept }) => Some((ticket, settings, kept)),
        _ => None,
    });
    let (ticket, settings, kept) = asked.expect("the answer is kept");
    assert_eq!((settings, kept), (vec![("web_fetch".to_owned(), "true".to_owned())], true));
    screen.at += 1_000;
    screen.keys("<enter>");
    assert_eq!(prompts(&mut screen), Vec::<String>::new());
    let tools =
        AgentCommand::Settings(SettingsCommand::SetTools { names: vec!["web_fetch".into()], by_mode: true });
    let applied = SettingsUpdate { commands: vec![tools.clone()], ..SettingsUpdate::default() };
    screen.send(Msg::Finished(ticket, ScreenReply::Applied(applied)));
    let effects = screen.take_effects();
    let at = |wanted: &dyn Fn(&Effect) -> bool| effects.iter().position(wanted).unwrap();
    let is_prompt = |effect: &Effect, text: &str| matches!(effect, Effect::Agent(AgentCommand::Run(RunCommand::Prompt { text: sent, .. })) if sent == text);
    let tool = at(&|effect| *effect == Effect::Agent(tools.clone()));
    let first = at(&|effect| is_prompt(effect, "see https://example.com"));
    assert!(tool < first && first < at(&|effect| is_prompt(effect, "3 files")));
    // An answer that cannot be saved does not hold the message back.
    let mut screen = offering(true);
    screen.keys("see https://example.com<enter>");
    screen.at += 1_000;
    screen.keys("2<enter>");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Decide { kept: false, .. }) => Some(ticket),
        _ => None,
    });
    screen.send(Msg::Finished(ticket.unwrap(), ScreenReply::Failed("disk full".into())));
    assert_eq!(prompts(&mut screen), ["see https://example.com"]);
    assert!(text(&screen.draw()).contains("disk full"));
}

#[test]
fn the_questions_have_their_frames() {
    let hook = |event: &str, command: &str| (event.to_owned(), command.to_owned());
    let hooks = HookOffer {
        files: vec!["~/.claude/settings.json".into(), "~/work/parser/.claude/settings.json".into()],
        hooks: vec![hook("PreToolUse", "~/bin/guard.sh --strict"), hook("Stop", "notify-send done")],
        fault: None,
        of_project: true,
    };
    let start = |offers: Offers| Screen::boot(Boot { offers, ..boot() });
    frames(&mut start(Offers { hooks: Some(hooks), web: None }), "offer-hooks");
    let web = WebOffer { search: Some(("brave".into(), "Brave Search".into())), ..WebOffer::default() };
    let mut screen = start(Offers { hooks: None, web: Some(web) });
    screen.keys("what is new in https://example.com/changes?<enter>");
    frames(&mut screen, "offer-web");
}

/// A command is shown whole, and hooks run once the end of the last one was seen, or Enter was pressed twice.
#[test]
fn commands_of_hooks_are_read_whole() {
    let long = format!("run.sh {}; rm the-last-word", "--with=an-option ".repeat(12));
    let many = "a-command".to_owned();
    for (commands, last, pages) in [(vec![long], "rm the-last-word", 0), (vec![many; 60], "", 5)] {
        let hooks: Vec<_> = commands.into_iter().map(|command| ("Stop".to_owned(), command)).collect();
        for (keys, is_run) in
            [("1", pages == 0), ("1<enter>", true), ("<up><enter><down><up><enter>", pages == 0)]
        {
            for seen in [false, true] {
                let hooks =
                    HookOffer { files: vec!["f".into()], hooks: hooks.clone(), ..HookOffer::default() };
                let offers = Offers { hooks: Some(hooks), web: None };
                let mut screen = Screen::boot(Boot { offers, ..boot() });
                screen.wait(3_000);
                assert!(pages > 0 || text(&screen.draw()).replace("\n", " ").contains(last));
                screen.keys(&"<pgdn>".repeat(if seen { pages } else { 0 }));
                screen.take_effects();
                screen.keys(keys);
                screen.wait(1_000);
                let decided = screen
                    .take_effects()
                    .into_iter()
                    .any(|effect| matches!(effect, Effect::Ask(_, ScreenRequest::Decide { .. })));
                let drawn = text(&screen.draw());
                assert_eq!(decided, is_run || seen, "{keys} {seen}: {drawn}");
                assert_eq!(drawn.contains("not all was shown; enter again runs them"), !decided, "{drawn}");
            }
        }
    }
}

#[test]
fn commands_of_hooks_are_shown_as_text() {
    let mut screen = offering(false);
    let drawn = text(&screen.draw());
    assert!(drawn.contains("Stop: ") && drawn.contains("evil"), "{drawn}");
    assert!(drawn.chars().all(|c| c == '\n' || !c.is_control()) && !drawn.contains('\u{202e}'), "{drawn:?}");
    let notice =
        AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Info, text: "x".into(), hint: None });
    screen.agent(notice);
    screen.at += 1_000;
    screen.keys("<down><enter>");
    let never = screen.take_effects().into_iter().any(|effect| {
        matches!(effect, Effect::Ask(_, ScreenRequest::Decide { settings, kept: true }) if settings == [("claude_hooks".to_owned(), "false".to_owned())])
    });
    assert!(never, "the third answer");
}
