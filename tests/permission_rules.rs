//! Rules in files: through `tau permissions`, with their lines, trust and mistakes.

use std::path::Path;
use std::process::{Command, Output};

use tau::agent::permissions::{Rule, Verdict};
use tau::agent::settings::permission_rules;

use crate::harness::shared;
use crate::time_limit::{EndInTime, RunInTime};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work/.tau"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("home/config.toml"), user).unwrap();
        if !project.is_empty() {
            std::fs::write(folder.path().join("work/.tau/config.toml"), project).unwrap();
        }
        Place { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn tau(&self, arguments: &[&str]) -> (String, String, i32) {
        let Output { stdout, stderr, status } = Command::new(env!("CARGO_BIN_EXE_tau"))
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TAU_HOME", self.path("home"))
            .current_dir(self.path("work"))
            .output_in_time();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(stdout), text(stderr), status.code().unwrap())
    }
}

#[test]
fn a_page_is_judged_by_its_host() {
    let place = Place::new("[permissions]\ndeny = [\"web_fetch(127.0.0.1)\"]\n", "");
    for call in ["http://127.0.0.1/", "http://2130706433/x", "{\"url\": \"http://127.0.0.1/\"}"] {
        let (text, ..) = place.tau(&["permissions", "test", "--tool", "web_fetch", call]);
        assert!(text.contains("deny   127.0.0.1"), "{call}: {text}");
    }
    let (text, ..) = place.tau(&["permissions", "test", "--tool", "web_fetch", "https://example.com/"]);
    assert!(text.contains("in mode ask: ask") && text.contains("web_fetch(example.com)"), "{text}");
    let (_, errors, code) = place.tau(&["permissions", "test", "--tool", "web_fetch", "not an address"]);
    assert!(code == 2 && !errors.is_empty(), "{code} {errors}");
}

#[test]
fn the_rules_in_force_are_listed_with_their_lines() {
    let user = "theme = \"dark\"\n[permissions]\nallow = [\"bash(make *)\"]\nunprotected = [\"git\"]\n";
    let place = Place::new(user, "[permissions]\ndeny = [\"bash(git push *)\"]\n");
    let (text, errors, code) = place.tau(&["permissions"]);
    assert!(text.contains("allow  bash(make *)") && text.contains("config.toml:3"), "{text}");
    assert!(text.contains("protected: git") && !text.contains("git push"), "{text}");
    assert!(errors.contains("not trusted") && code == 0, "{code} {errors}");
    let (text, ..) = place.tau(&["permissions", "test", "--trust", "git push"]);
    assert!(text.contains("deny") && text.contains("bash(git push *)"), "{text}");
    assert!(text.contains("work/.tau/config.toml:2"), "{text}");
}

#[test]
fn a_verdict_is_explained_part_by_part() {
    let place = Place::new("[permissions]\nallow = [\"bash(cargo test *)\"]\n", "");
    let (text, _, code) = place.tau(&["permissions", "test", "cargo test --all && rm x | ls > out"]);
    for expected in [
        "allow  cargo test --all\n         a rule allows it: bash(cargo test *), ",
        "config.toml:2",
        "ask    rm x\n         rm may change something",
        "ask    ls > out\n         it writes out",
        "in mode ask: ask",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    assert_eq!(code, 0);
    let (text, ..) = place.tau(&["permissions", "test", "--permission-mode", "plan", "cargo test"]);
    assert!(text.contains("in mode plan: deny"), "{text}");
    let (text, ..) = place.tau(&["permissions", "test", "--tool", "edit", "src/a.rs"]);
    assert!(text.contains("this rule would allow it: edit(src/**)"), "{text}");
    let (text, ..) =
        place.tau(&["permissions", "test", "--permission-mode", "auto", "--tool", "write", ".git/hooks/x"]);
    assert!(text.contains("is protected") && text.contains("in mode auto: ask"), "{text}");
    let (_, errors, code) = place.tau(&["permissions", "test", "--permission-mode", "never", "ls"]);
    assert!(errors.contains("use ask, edits, plan or auto") && code == 2, "{code} {errors}");
}

#[test]
fn what_undo_keeps_is_protected() {
    let place = Place::new("", "");
    let tau = |path: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tau"))
            .args(["permissions", "test", "--permission-mode", "auto", "--tool", "write", path])
            .env_clear()
            .env("HOME", place.path("home"))
            .current_dir(place.path("work"))
            .output_in_time();
        String::from_utf8(output.stdout).unwrap()
    };
    for path in ["~/.local/share/tau/undo/s/journal.jsonl", "~/.local/share/tau/sessions/s.jsonl"] {
        let text = tau(path);
        assert!(
            text.contains("tau's own settings, sessions or state") && text.contains("in mode auto: ask"),
            "{text}"
        );
    }
    assert!(tau("~/.local/state/other/x").contains("in mode auto: allow"));
}

#[test]
fn a_redirection_to_a_file_that_is_not_known_is_asked_although_bash_is_allowed() {
    let place = Place::new("[permissions]\nallow = [\"bash\"]\n", "");
    let verdict = |command: &str| place.tau(&["permissions", "test", "--permission-mode", "ask", command]).0;
    assert!(verdict("echo a > b; make").contains("in mode ask: allow"), "{}", verdict("echo a > b; make"));
    assert!(verdict("echo a > $x").contains("in mode ask: ask"), "{}", verdict("echo a > $x"));
}

#[test]
fn a_rule_that_is_not_understood_is_reported_with_its_line_and_the_others_hold() {
    let place = Place::new("[permissions]\nallow = [\n  \"bash(ls\",\n  \"bash(make *)\",\n]\n", "");
    let (text, errors, code) = place.tau(&["permissions"]);
    assert!(text.contains("bash(make *)") && code == 3, "{code} {text}");
    assert!(errors.contains("config.toml:3: `bash(ls` is not a rule"), "{errors}");
    let (_, errors, code) = place.tau(&["-p", "hello"]);
    assert!(errors.contains("config.toml:3") && code == 3, "{code} {errors}");
    for rule in ["shell(touch *)", "bash(rm *|touch *)", "bash('touch *')", "bash(touch\u{a0}*)", "mcp_x_y"] {
        let place = Place::new(&format!("[permissions]\ndeny = [\"{rule}\"]\n"), "");
        let (_, errors, code) = place.tau(&["-p", "hello"]);
        assert!(errors.contains("config.toml:2") && code == 3, "{rule}: {code} {errors}");
    }
}

#[test]
fn rules_are_added_and_removed_in_a_file() {
    let place = Place::new("# mine\n[permissions]\ndeny = [\"bash(rm *)\"] # no\n", "");
    let (path, rule) = (place.path("home/config.toml"), "bash(make *)".parse::<Rule>().unwrap());
    let listed = || place.tau(&["permissions"]).0;
    permission_rules::add(&shared(Path::new(&path)), Verdict::Allow, &rule).unwrap();
    assert!(listed().contains("allow  bash(make *)"), "{}", listed());
    permission_rules::remove(&shared(Path::new(&path)), Verdict::Allow, &rule).unwrap();
    assert!(!listed().contains("make") && listed().contains("bash(rm *)"), "{}", listed());
    assert!(std::fs::read_to_string(&path).unwrap().contains("# mine"));
}

#[test]
fn no_call_is_allowed_in_a_test_while_settings_cannot_be_read() {
    for broken in ["[permissions]\ndeny = [\"bash(zap *)\"", "[permissions]\ndenny = [\"bash(zap *)\"]\n"] {
        let place = Place::new(broken, "");
        for mode in ["auto", "ask"] {
            let (text, errors, _) = place.tau(&["permissions", "test", "--permission-mode", mode, "ls"]);
            assert!(text.contains(&format!("in mode {mode}: ask")), "{text}");
            assert!(errors.contains("settings cannot be read"), "{errors}");
        }
    }
}

#[test]
fn a_rule_about_a_program_that_is_no_tool_is_reported() {
    for rule in ["touch", "touch(*)", "git(push *)", "python3", "gawk(x)"] {
        let place = Place::new(&format!("[permissions]\ndeny = [\"{rule}\"]\n"), "");
        let (text, errors, _) = place.tau(&["permissions", "test", "--permission-mode", "auto", "touch a"]);
        let name = rule.split('(').next().unwrap();
        let said = format!("there is no tool `{name}`; for a program write `bash({name} *)`");
        assert!(errors.contains(&said) && text.contains("in mode auto: ask"), "{rule}: {errors} {text}");
    }
    for rule in ["bash(touch *)", "edit(src/**)", "mcp__server__x"] {
        let place = Place::new(&format!("[permissions]\ndeny = [\"{rule}\"]\n"), "");
        let (text, errors, _) = place.tau(&["permissions", "test", "--permission-mode", "auto", "ls"]);
        assert!(
            !errors.contains("no tool") && text.contains("in mode auto: allow"),
            "{rule}: {errors} {text}"
        );
    }
}

/// A text among the arguments of a tool that does not tell what it touches counts as a word of a command.
#[test]
fn arguments_that_name_files_are_judged_as_words_of_commands() {
    let rules = "[permissions]\nallow = [\"mcp__fs__*\"]\nask = [\"read(notes/**)\"]\ndeny = [\"read(**/.env)\", \"edit(migrations/**)\"]\n";
    let place = Place::new(rules, "");
    for name in ["work/migrations", "work/src", "work/sub", "home/.ssh"] {
        std::fs::create_dir_all(place.path(name)).unwrap();
    }
    for name in ["work/.env", "work/sub/.env", "work/src/a.rs", "home/.ssh/id_rsa"] {
        std::fs::write(place.path(name), "").unwrap();
    }
    std::os::unix::fs::symlink(".env", place.path("work/plain.txt")).unwrap();
    let absolute = place.path("work/.env").display().to_string();
    for (arguments, verdict) in [
        (serde_json::json!({ "path": ".env" }), "deny"),
        (serde_json::json!({ "path": absolute }), "deny"),
        (serde_json::json!({ "uri": format!("file://{absolute}") }), "deny"),
        (serde_json::json!({ "path": "sub/../.env" }), "deny"),
        (serde_json::json!({ "path": "plain.txt" }), "deny"),
        (serde_json::json!({ "files": ["a", { "name": " .env" }] }), "deny"),
        (serde_json::json!({ "path": "migrations/1.sql" }), "deny"),
        (serde_json::json!({ "path": "./migrations" }), "deny"),
        (serde_json::json!({ "path": "migrations" }), "ask"),
        (serde_json::json!({ "path": "notes/a.md" }), "ask"),
        (serde_json::json!({ "path": "~/.ssh/id_rsa" }), "ask"),
        (serde_json::json!({ "path": "~/.bashrc" }), "ask"),
        (serde_json::json!({ "path": "src/a.rs", "text": "x" }), "allow"),
        (
            serde_json::json!({ "uri": format!("FILE://localhost{}?x#y", absolute.replace(".env", "%2eenv")) }),
            "deny",
        ),
        (serde_json::json!({ "path": "%2Eenv" }), "deny"),
        (serde_json::json!({ "path": "." }), "ask"),
        (serde_json::json!({ "uri": format!("file://{}", place.path("work").display()) }), "ask"),
        (serde_json::json!({ "cwd": "sub" }), "ask"),
        (serde_json::json!({ "dir": "~" }), "ask"),
        (serde_json::json!({ "path": "$HOME/.ssh/id_rsa" }), "ask"),
        (serde_json::json!({ "path": "src" }), "allow"),
        (serde_json::json!({ "pattern": "**/.env" }), "deny"),
        (serde_json::json!({ "pattern": ".e*" }), "ask"),
        (serde_json::json!({ "glob": "sub/**" }), "ask"),
        (serde_json::json!({ "glob": "{a,.env}" }), "ask"),
        (serde_json::json!({ "glob": "~/.ssh/*" }), "ask"),
        (serde_json::json!({ "glob": "**/*.rs", "fields": "*" }), "allow"),
        (serde_json::json!({ "regex": "^fn main\\(.*\\) \\{$", "json": "{\"a\": [1]}" }), "allow"),
        (serde_json::json!({ "progress": "100%", "sql": "select * from a" }), "allow"),
        (
            serde_json::json!({ "title": "Read the settings from .env", "body": "the settings\nare in\n.env" }),
            "allow",
        ),
        (
            serde_json::json!({ "title": "Fix the file migrations/1.sql now", "labels": ["bug", "env"] }),
            "allow",
        ),
        (serde_json::json!({ "url": "https://example.com/a/.env", "query": "migration notes" }), "allow"),
        (serde_json::json!({ "count": 3, "is": true, "none": null }), "allow"),
    ] {
        let call = arguments.to_string();
        let tested = ["permissions", "test", "--permission-mode", "auto", "--tool", "mcp__fs__x", &call];
        let (text, errors, _) = place.tau(&tested);
        assert!(text.contains(&format!("in mode auto: {verdict}")), "{call}: {text}{errors}");
    }
    for part in [
        "@.env", "\"./.env\"", ".env:1", ".env:1:2", ".env#L1", ".env?x=1", ".env,a", "a .env", "cat .env",
        "HEAD:.env", "vscode://file/ROOT/.env", "file:///ROOT/%252eenv", "%252eenv", "{\"path\":\".env\"}",
        "{\"a\":\"{\\\"b\\\":\\\".env\\\"}\"}", "{\".env\": 1}", "--- a/.env", "\u{200b}.env",
        "src/a.rs;.env", "$(cat .env)", "path=.env", "(.env)", "\\u002eenv", "see .env.", "`.env`",
        "['.env']", "-d@.env", "a/migrations/1.sql",
    ] {
        let part = part.replace("ROOT", place.path("work").to_str().unwrap().trim_start_matches('/'));
        for arguments in [serde_json::json!({ "x": part }), serde_json::json!({ "x": { &part: 1 } })] {
            let call = arguments.to_string();
            let tested = ["permissions", "test", "--permission-mode", "auto", "--tool", "mcp__fs__x", &call];
            let (text, errors, _) = place.tau(&tested);
            assert!(!text.contains("in mode auto: allow"), "{call}: {text}{errors}");
        }
    }
}

/// What the kernel shows of other processes is a key, for every tool, also behind a link.
#[test]
fn the_environment_of_other_processes_is_asked_about() {
    let place = Place::new("", "");
    let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let process = format!("/proc/{}", other.id());
    std::os::unix::fs::symlink(format!("{process}/environ"), place.path("work/link")).unwrap();
    let verdict = |mode: &str, tool: &str, subject: &str| {
        let flags = ["permissions", "test", "--permission-mode", mode, "--tool", tool, subject];
        let (text, errors, _) = place.tau(&flags);
        let said =
            text.split(&format!("in mode {mode}: ")).nth(1).unwrap_or_else(|| panic!("{text}{errors}"));
        said.split_whitespace().next().unwrap().to_owned()
    };
    for mode in ["plan", "ask", "auto"] {
        let memory = format!("{process}/task/{}/mem", other.id());
        for path in [&format!("{process}/environ"), &memory, "link"] {
            assert_eq!(verdict(mode, "grep", path), "ask", "{path}");
            assert_eq!(verdict(mode, "read", path), "ask", "{path}");
        }
        assert_eq!(verdict(mode, "ls", &format!("{process}/fd")), "ask");
        assert_eq!(verdict(mode, "read", &format!("{process}/status")), "allow");
    }
    assert_eq!(verdict("auto", "bash", &format!("cat {process}/environ")), "ask");
    assert_eq!(verdict("auto", "bash", "cat /proc/self/environ"), "allow");
    other.kill().unwrap();
    other.wait_in_time("the end of the other process");
}

/// A rule on a tool that is not here does nothing. It is told, and no mistake: another project may have the tool.
#[test]
fn a_rule_about_no_tool_is_told() {
    let place = Place::new(
        "[permissions]\ndeny = [\n  \"notes(x)\",\n  \"mcp__a__b\",\n]\nallow = [\"other\"]\n",
        "",
    );
    let (text, errors, _) = place.tau(&["permissions"]);
    let told = "config.toml:3: `notes(x)` is about no call here, as there is no tool `notes`";
    assert!(errors.contains(told) && text.contains("deny   notes(x)"), "{text} {errors}");
    assert!(errors.matches("is about no call").count() == 1, "{errors}");
    std::fs::create_dir(place.path("home/tools")).unwrap();
    std::fs::write(place.path("home/tools/notes.toml"), "").unwrap();
    let (_, errors, _) = place.tau(&["permissions"]);
    assert!(!errors.contains("is about no call"), "{errors}");
}
