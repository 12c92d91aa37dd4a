//! The list of permission rules: `/permissions`.

use serde_json::json;
use tau::agent::protocol::approval::RuleScope;
use tau::agent::protocol::command::{AgentCommand, SettingsCommand, TaskCommand};
use tau::agent::protocol::event::{SettingsEvent, TaskEvent};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::rules::{BuiltInRule, ListedRule, NewRule, PermissionRules, RuleChange, Verdict};

use super::modes::sent;
use super::terminal::{calling, file, play, saying};
use crate::harness::{Screen, frames, text};
use crate::screen::Screen as Terminal;
use crate::time_limit::RunInTime;
use tau::tools::user_error::UserError;

fn listed(list: Verdict, rule: &str, scope: RuleScope, place: Option<(&str, usize)>) -> ListedRule {
    let place = place.map(|(path, line)| (path.into(), line));
    ListedRule { list, rule: rule.into(), scope, place, granted_by: None, in_force: true }
}

fn some_rules() -> PermissionRules {
    use RuleScope::{Project, Session, User};
    let user = "/home/me/.config/tau/config.toml";
    let project = "/home/me/work/.tau/config.toml";
    let built_in = |verdict, about: &str, in_force| BuiltInRule {
        verdict,
        about: about.into(),
        help: format!("what there is to say about {about}"),
        in_force,
    };
    PermissionRules {
        rules: vec![
            listed(Verdict::Allow, "bash(cargo test *)", User, Some((user, 4))),
            listed(Verdict::Ask, "bash(git push *)", User, Some((user, 5))),
            listed(Verdict::Deny, "read(**/.env)", User, Some((user, 6))),
            listed(Verdict::Allow, "edit(src/漢字/**)", Project, Some((project, 2))),
            listed(Verdict::Allow, "mcp__docs__*", Session, None),
            ListedRule {
                granted_by: Some("skill notes".into()),
                ..listed(Verdict::Allow, "bash(git log *)", Session, None)
            },
            ListedRule {
                in_force: false,
                ..listed(Verdict::Allow, "bash(make *)", Project, Some(("/home/me/.tau/config.toml", 9)))
            },
        ],
        built_in: vec![
            built_in(Verdict::Ask, "a file with keys or passwords", true),
            built_in(Verdict::Ask, "the inside of .git, or settings of git", false),
            built_in(Verdict::Allow, "tools that only read", true),
        ],
    }
}

fn answer(screen: &mut Screen, ticket: u64, answer: Result<QueryAnswer, UserError>) {
    screen.agent(TaskEvent::Answered { ticket, answer });
}

/// Answers the look-up of a rule, which must be the last one sent.
fn look_up(screen: &mut Screen, rule: &str, list: Verdict, titles: &[&str]) {
    let asked = sent(screen);
    let Some(AgentCommand::Task(TaskCommand::Query { ticket, query })) = asked.last() else {
        panic!("{asked:?}")
    };
    assert_eq!(*query, Query::RuleCoverage { rule: rule.into(), list });
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    answer(screen, *ticket, Ok(QueryAnswer::Titles(titles)));
}

/// The list with its rules.
fn opened() -> Screen {
    let mut screen = Screen::new();
    screen.user("explain the parser");
    screen.answer("It reads **tokens** and makes a tree of them.", 3);
    screen.take_effects();
    screen.keys("/permissions<enter>");
    let asked = sent(&mut screen);
    let [AgentCommand::Task(TaskCommand::Query { ticket, query: Query::PermissionRules })] = asked.as_slice()
    else {
        panic!("{asked:?}");
    };
    let ticket = *ticket;
    answer(&mut screen, ticket, Ok(QueryAnswer::PermissionRules(some_rules())));
    screen
}

fn has(screen: &mut Screen, words: &[&str]) {
    let drawn = text(&screen.draw());
    for word in words {
        assert!(drawn.contains(word), "{word:?} is missing:\n{drawn}");
    }
}

#[test]
fn the_list_and_its_forms() {
    let mut screen = Screen::new();
    screen.user("explain the parser");
    screen.keys("/permissions<enter>");
    frames(&mut screen, "rules-loading");
    let mut screen = opened();
    frames(&mut screen, "rules");
    screen.keys("<down>");
    look_up(&mut screen, "read(**/.env)", Verdict::Deny, &["read .env"]);
    frames(&mut screen, "rules-selected");
    screen.keys("<delete>");
    frames(&mut screen, "rules-removing");
    screen.keys("<esc>make");
    frames(&mut screen, "rules-untrusted");
    screen.keys("<ctrl+u>bash(cargo");
    look_up(&mut screen, "bash(cargo test *)", Verdict::Allow, &["cargo test", "cargo test -p x"]);
    screen.keys("<enter>");
    look_up(&mut screen, "bash(cargo test *)", Verdict::Allow, &["cargo test", "cargo test -p x"]);
    frames(&mut screen, "rules-changing");
}

#[test]
fn a_rule_is_added_with_its_list_and_scope() {
    let mut screen = opened();
    screen.keys("bash(make *)<home><enter>");
    look_up(&mut screen, "bash(make *)", Verdict::Allow, &["make all"]);
    has(
        &mut screen,
        &["Add a rule", "rule: bash(make *)", "‹allow›", "‹this session›", "1 earlier call: make all"],
    );
    screen.keys("<up>");
    look_up(&mut screen, "bash(make *)", Verdict::Deny, &["make all"]);
    has(&mut screen, &["‹deny›", "would have denied 1 earlier call: make all"]);
    screen.keys("<tab><tab><tab>");
    has(&mut screen, &["‹everywhere›"]);
    // An invalid rule is not sent.
    screen.keys("<backspace>");
    let asked = sent(&mut screen);
    let Some(AgentCommand::Task(TaskCommand::Query { ticket, .. })) = asked.last() else {
        panic!("{asked:?}")
    };
    let ticket = *ticket;
    answer(&mut screen, ticket, Err("`bash(make *` is not a rule: its `)` is missing at the end".into()));
    has(&mut screen, &["its `)` is missing at the end"]);
    screen.keys("<enter>");
    has(&mut screen, &["not a rule yet"]);
    assert_eq!(sent(&mut screen), []);
    screen.keys(")");
    look_up(&mut screen, "bash(make *)", Verdict::Deny, &[]);
    screen.keys("<enter>");
    let new = NewRule { list: Verdict::Deny, rule: "bash(make *)".into(), scope: RuleScope::User };
    let changes = sent(&mut screen);
    let [AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change })] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(*change, RuleChange { remove: None, add: Some(new) });
    let ticket = *ticket;
    // A second Enter before the answer sends nothing.
    screen.keys("<enter>");
    assert_eq!(sent(&mut screen), []);
    answer(&mut screen, ticket, Err("config.toml: permission denied".into()));
    has(&mut screen, &["Add a rule", "config.toml: permission denied"]);
    screen.keys("<enter>");
    let changes = sent(&mut screen);
    let Some(AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, .. })) = changes.last() else {
        panic!("{changes:?}")
    };
    let ticket = *ticket;
    let mut rules = some_rules();
    let place = Some(("/home/me/.config/tau/config.toml", 7));
    rules.rules.push(listed(Verdict::Deny, "bash(make *)", RuleScope::User, place));
    answer(&mut screen, ticket, Ok(QueryAnswer::PermissionRules(rules)));
    has(&mut screen, &["Permission rules", "saved: deny bash(make *)", "config.toml:7"]);
}

#[test]
fn what_is_not_in_force_or_built_in_is_left_alone() {
    let mut screen = opened();
    screen.keys("make");
    for key in ["<enter>", "<delete>"] {
        screen.keys(key);
        has(&mut screen, &["Permission rules", "you do not trust the settings of this directory"]);
    }
    screen.keys("<ctrl+u>passwords<enter>");
    has(&mut screen, &["Permission rules", "built in: "]);
    screen.keys("<delete>");
    has(&mut screen, &["Permission rules", "built in: "]);
    assert!(
        !sent(&mut screen)
            .iter()
            .any(|it| matches!(it, AgentCommand::Settings(SettingsCommand::ChangeRules { .. })))
    );
    screen.keys("<esc>");
    assert!(!text(&screen.draw()).contains("Permission rules"));
}

#[test]
fn an_open_list_follows_changes_from_elsewhere() {
    let mut screen = opened();
    screen.keys("<down>");
    look_up(&mut screen, "read(**/.env)", Verdict::Deny, &[]);
    screen.agent(SettingsEvent::RulesChanged);
    let asked = sent(&mut screen);
    let [AgentCommand::Task(TaskCommand::Query { ticket, query: Query::PermissionRules })] = asked.as_slice()
    else {
        panic!("{asked:?}");
    };
    let ticket = *ticket;
    // Keys work meanwhile; another change does not ask twice.
    screen.keys("<delete>");
    screen.agent(SettingsEvent::RulesChanged);
    assert_eq!(sent(&mut screen), []);
    let mut rules = some_rules();
    rules.rules.insert(0, listed(Verdict::Deny, "bash(curl *)", RuleScope::Session, None));
    // The rule has a different line now.
    for rule in &mut rules.rules {
        rule.place.iter_mut().for_each(|(_, line)| *line += 1);
    }
    answer(&mut screen, ticket, Ok(QueryAnswer::PermissionRules(rules.clone())));
    has(&mut screen, &["bash(curl *)", "remove this rule? deny read(**/.env)", "config.toml:7"]);
    // It is gone, so Enter must not remove another one.
    rules.rules.retain(|rule| rule.rule != "read(**/.env)");
    screen.agent(SettingsEvent::RulesChanged);
    let asked = sent(&mut screen);
    let Some(AgentCommand::Task(TaskCommand::Query { ticket, .. })) = asked.last() else {
        panic!("{asked:?}")
    };
    let ticket = *ticket;
    answer(&mut screen, ticket, Ok(QueryAnswer::PermissionRules(rules)));
    let drawn = text(&screen.draw());
    assert!(!drawn.contains("remove this rule?") && !drawn.contains("read(**/.env)"), "{drawn}");
}

#[test]
fn a_rule_of_a_skill_says_so() {
    let mut screen = opened();
    screen.keys("skill");
    look_up(&mut screen, "bash(git log *)", Verdict::Allow, &[]);
    has(&mut screen, &["bash(git log *)", "skill notes", "granted by skill notes until the end of the run"]);
}

/// Types `/permissions` once the composer is ready.
fn open(screen: &Terminal) {
    screen.type_keys("/permissions");
    screen.wait_for_composer("/permissions");
    screen.type_keys("\r");
    screen.wait_for("Permission rules");
    screen.wait_for("built-in");
}

fn config(screen: &Terminal) -> String {
    std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_added_changed_and_removed_and_hold_at_once() {
    let script =
        "printf '# mine\\n[permissions]\\ndeny = [\"bash(rm *)\"] # never\\n' > $TAU_HOME/config.toml";
    let make = |name: &str| calling(&[("bash", json!({ "command": format!("mkdir {name}") }))]);
    let acts = vec![make("one"), saying("Finished."), make("two"), saying("Over.")];
    play(acts, script, "", (100, 30), |screen| {
        open(screen);
        screen.wait_for("config.toml:3");
        screen.type_keys("\r");
        screen.wait_for("Add a rule");
        screen.type_keys("bash(mkdir *");
        screen.wait_for("is missing at the end");
        screen.type_keys(")");
        screen.wait_for("would have covered no earlier call");
        screen.type_keys("\t\t\t");
        screen.wait_for("‹everywhere›");
        screen.type_keys("\r");
        screen.wait_for("saved: allow bash(mkdir *)");
        let start = "# mine\n[permissions]\ndeny = [\"bash(rm *)\"] # never\n";
        assert_eq!(config(screen), format!("{start}allow = [\"bash(mkdir *)\"]\n"));
        screen.type_keys("\x1b");
        screen.wait_until("no list", |cells| !cells.contents().contains("Permission rules"));
        // It applies at once: nothing is asked.
        screen.type_keys("go\r");
        screen.wait_for("Finished.");
        assert!(screen.home().join("work/one").is_dir());
        // It is moved to another list, and to the project.
        open(screen);
        screen.type_keys("mkdir");
        screen.wait_for("would have covered 1 earlier call: mkdir one");
        screen.type_keys("\r");
        screen.wait_for("Change a rule");
        screen.type_keys("\x1b[B\x1b[B");
        screen.wait_for("would have denied 1 earlier call: mkdir one");
        screen.type_keys("\x1b[Z");
        screen.wait_for("‹this project›");
        screen.type_keys("\r");
        screen.wait_for("saved: deny bash(mkdir *)");
        screen.wait_for(".tau/config.toml:2");
        assert_eq!(config(screen), format!("{start}allow = []\n"));
        let project = "[permissions]\ndeny = [\"bash(mkdir *)\"]\n";
        assert_eq!(file(screen, ".tau/config.toml").as_deref(), Some(project));
        screen.type_keys("\x1b");
        screen.wait_until("no list", |cells| !cells.contents().contains("Permission rules"));
        screen.type_keys("again\r");
        screen.wait_for("Over.");
        assert!(!screen.home().join("work/two").exists());
        open(screen);
        screen.type_keys("mkdir");
        screen.wait_for(".tau/config.toml:2");
        screen.type_keys("\x1b[3~");
        screen.wait_for("remove this rule? deny bash(mkdir *)");
        screen.type_keys("\r");
        screen.wait_for("removed: deny bash(mkdir *)");
        assert_eq!(file(screen, ".tau/config.toml").as_deref(), Some("[permissions]\ndeny = []\n"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_does_not_cover_the_call_says_so() {
    let make = |name: &str| calling(&[("bash", json!({ "command": format!("mkdir {name}") }))]);
    let acts = vec![make("one"), make("two"), saying("Finished.")];
    play(acts, "", "", (110, 30), |screen| {
        let add = |screen: &Terminal, rule: &str| {
            screen.wait_for("› 1 Yes, once");
            screen.press_until("a", "Type a rule");
            let list = screen.text();
            let typed = list.lines().find(|line| line.contains("Type a rule")).unwrap();
            screen.type_keys(&typed.chars().find(char::is_ascii_digit).unwrap().to_string());
            screen.wait_for("rule: ");
            screen.type_keys(&format!("\x15{rule}"));
            screen.wait_for(&format!("rule: {rule}"));
            screen.type_keys("\r");
        };
        let note = "this call runs once: the new rule does not cover it";
        screen.type_keys("go\r");
        add(screen, "bash(make *)");
        screen.wait_for(note);
        add(screen, "bash(mkdir *)");
        screen.wait_for("Finished.");
        assert_eq!(screen.text().matches(note).count(), 1, "{}", screen.text());
    })
    .await;
}

/// "This project, only me" writes a file that git ignores, and leaves nothing else in the repository.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_this_project_and_only_me_stays_out_of_the_repository() {
    let make = |name: &str| calling(&[("bash", json!({ "command": format!("mkdir {name}") }))]);
    let acts = vec![make("one"), saying("Finished."), make("two"), saying("Over.")];
    play(acts, "git init -q; git add -A", "", (110, 30), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.wait_for("› 1 Yes, once");
        screen.press_until("a", "Type a rule");
        screen.press_until("\x1b[B", "‹this session›");
        screen.press_until("\t", "‹this project, only me›");
        let list = screen.text();
        let typed = list.lines().find(|line| line.contains("Type a rule")).unwrap();
        let number = typed.chars().find(char::is_ascii_digit).unwrap().to_string();
        screen.type_keys(&number);
        screen.wait_for("rule: ");
        screen.type_keys("\x15bash(mkdir *)");
        screen.wait_for("rule: bash(mkdir *)");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        screen.wait_for("added `allow bash(mkdir *)` to .tau/config.local.toml");
        // It has been in force since, so another change of the settings does not mention it.
        screen.type_keys("/vim\r");
        screen.wait_for("saved; now in effect: editing_mode vim");
        assert!(!screen.text().contains("permission rules"), "{}", screen.text());
        screen.type_keys("/vim\r");
        screen.wait_for("editing_mode emacs");
        let rule = "[permissions]\nallow = [\"bash(mkdir *)\"]\n";
        assert_eq!(file(screen, ".tau/config.local.toml").as_deref(), Some(rule));
        let mut names: Vec<String> = std::fs::read_dir(screen.home().join("work/.tau"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".gitignore", "config.local.toml"]);
        let git = std::process::Command::new("git")
            .args(["status", "--porcelain", "--untracked-files=all"])
            .current_dir(screen.home().join("work"))
            .output_in_time();
        assert!(git.status.success(), "{git:?}");
        assert_eq!(String::from_utf8(git.stdout).unwrap(), "");
        // It applies.
        screen.type_keys("once more, please");
        screen.wait_for_composer("once more, please");
        screen.type_keys("\r");
        screen.wait_for("Over.");
        assert!(screen.home().join("work/two").is_dir());
        open(screen);
        screen.type_keys("mkdir");
        screen.wait_for(".tau/config.local.toml:2");
        // It becomes one of the project's own.
        screen.type_keys("\r");
        screen.wait_for("‹this project, only me›");
        screen.type_keys("\t");
        screen.wait_for("‹this project›");
        screen.type_keys("\r");
        screen.wait_for("saved: allow bash(mkdir *)");
        screen.wait_for(".tau/config.toml:2");
        assert_eq!(file(screen, ".tau/config.toml").as_deref(), Some(rule));
        assert_eq!(file(screen, ".tau/config.local.toml").as_deref(), Some("[permissions]\nallow = []\n"));
    })
    .await;
}

#[test]
fn rules_of_a_directory_that_is_not_trusted_are_shown_and_do_not_hold() {
    let script = "mkdir .tau; printf '[permissions]\\nallow = [\"bash(make *)\"]\\n' > .tau/config.toml";
    let script = format!("{script}; exec \"$TAU_BIN\" --model demo");
    let screen = Terminal::program(std::path::Path::new("/bin/sh"), &["-c", &script], 100, 30);
    screen.wait_for("never use them");
    screen.type_keys("\x1b[B\x1b[B\r");
    screen.wait_for("ask for something");
    open(&screen);
    screen.type_keys("make");
    screen.wait_for("not trusted");
    screen.wait_for("not in force");
    screen.type_keys("\x1b[3~");
    screen.wait_for("you do not trust the settings of this directory");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("Permission rules"));
}

/// Rules of Claude Code are listed with their file and line, on the screen and in the terminal.
#[test]
fn rules_of_another_agent_are_listed_with_their_places() {
    let script = r#"mkdir -p ~/.claude .claude
printf '{\n"permissions": {"deny": ["Bash(curl:*)"]}}' >~/.claude/settings.json
printf '{"permissions":\n{\n"ask": ["Edit(src/**)"]}}' >.claude/settings.json
"$TAU_BIN" permissions >../listed 2>&1"#;
    let screen = Terminal::prepared(script, "--model demo --trust", 110, 30);
    let listed = std::fs::read_to_string(screen.home().join("listed")).unwrap();
    let has = |text: &str, parts: &[&str]| {
        let found = text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "{parts:?}: {text}");
    };
    has(&listed, &["deny", "bash(curl:*)", "/.claude/settings.json:2"]);
    assert!(!listed.contains("edit(src/**)"), "the project is not trusted there: {listed}");
    screen.type_keys("/permissions\r");
    screen.wait_for("bash(curl:*)");
    let shown = screen.rows().join("\n");
    has(&shown, &["deny", "bash(curl:*)", " ~/.claude/settings.json:2"]);
    has(&shown, &["ask", "edit(src/**)", " .claude/settings.json:3"]);
}
