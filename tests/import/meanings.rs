//! `tau import`: what a part means there is what it means here, and what cannot be said here is said to be left.

use std::fs;

use serde_json::json;

use super::Home;

/// The lines of what was said, with single blanks.
fn lines(said: &str) -> Vec<String> {
    said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Imports these files, and asserts that these lines are said.
fn imported(files: &[(&str, &str)], expected: &[&str]) -> Home {
    let home = Home::new();
    home.write("tau/config.toml", "");
    for (file, text) in files {
        home.write(file, text);
    }
    let said = lines(&home.import(&["--write"]));
    for line in expected {
        assert!(said.iter().any(|said| said.contains(line)), "no {line:?} in {said:#?}");
    }
    home
}

fn verdict(home: &Home, args: &[&str]) -> String {
    let args: Vec<&str> = ["permissions", "test"].iter().chain(args).copied().collect();
    String::from_utf8(home.tau(&args).stdout).unwrap()
}

/// Shells that are tools of their own there allow nothing here.
#[test]
fn an_allowed_powershell_does_not_allow_bash() {
    for rule in ["PowerShell(*)", "PowerShell", "PowerShell(rm *)", "Shell"] {
        let home = Home::new();
        let rules = json!({"permissions": {"allow": [rule]}});
        home.write(".claude/settings.json", &rules.to_string());
        let said = verdict(&home, &["rm -rf build"]);
        assert!(!said.contains("allow"), "{rule}: {said}");
        let denied = json!({"permissions": {"deny": [rule]}});
        home.write(".claude/settings.json", &denied.to_string());
        assert!(verdict(&home, &["rm -rf build"]).contains("deny"), "{rule}");
    }
}

/// Whatever a rule looks like there, tau can read the settings that were written, and has nothing to say about them.
#[test]
fn rules_that_were_written_can_be_read() {
    for pattern in [
        "$HOME/x/**", "?x", "a?b *", "[slug]/(app)/*.ts", "{a,b}", "a,b", "'x'", "^x$", "a|b", "../x",
        "C:/x", "$PWD/x", "x)", "(x", "a\\b", "git push.*", "GIT *", "***", " ", "",
    ] {
        let opencode = json!({"permission": {"edit": {pattern: "deny"}, "bash": {pattern: "deny"}, "read": {pattern: "ask"},
            "task": {pattern: "deny"}, "webfetch": {pattern: "deny"}, "list": {pattern: "allow"}}});
        let gemini = json!({"tools": {"exclude": [format!("run_shell_command({pattern})")]}});
        let rules: Vec<String> =
            ["Shell", "Read", "Write", "WebFetch"].iter().map(|tool| format!("{tool}({pattern})")).collect();
        let cursor = json!({"permissions": {"deny": rules, "allow": rules}});
        for (file, text) in [
            (".config/opencode/opencode.json", opencode),
            (".gemini/settings.json", gemini),
            (".cursor/cli-config.json", cursor),
        ] {
            let home = imported(&[(file, &text.to_string())], &[]);
            let listed = home.tau(&["permissions"]);
            assert!(listed.status.success() && listed.stderr.is_empty(), "{file} {pattern}: {listed:?}");
        }
    }
}

#[test]
fn patterns_of_opencode_mean_what_they_mean_there() {
    let config = r#"{"permission": {"edit": {"$HOME/x/**": "deny", "src/*.ts": "deny", "notes.md": "allow", "app/[id].ts": "deny"},
        "bash": {"?x": "deny"}, "task": {"explore": "deny"}}}"#;
    let home = imported(
        &[(".config/opencode/opencode.json", config)],
        &[
            "permission.edit $HOME/x/**: deny permissions.deny: edit(~/x/**)",
            "permission.edit notes.md: allow permissions.allow: edit(./notes.md)",
            "permission.bash ?x: deny left: tau has no sign for one character of a command",
            "permission.bash ?x: deny permissions.ask: bash",
            "permission.task explore: deny permissions.ask: delegate",
        ],
    );
    for (path, expected) in [
        ("~/x/f", "deny"),
        ("src/a.ts", "deny"),
        ("src/deep/a.ts", "deny"),
        ("app/[id].ts", "deny"),
        ("app/i.ts", "ask"),
        ("notes.md", "allow"),
        ("deep/notes.md", "ask"),
    ] {
        let said = verdict(&home, &["--tool", "edit", path]);
        assert!(said.contains(expected), "{path}: {said}");
    }
}

/// The rules of the agent that answers are in force, before those for all.
#[test]
fn rules_of_the_main_agent_of_opencode_are_taken_over() {
    for (config, expected) in [
        (
            r#"{"default_agent": "plan", "permission": {"edit": "allow"}, "agent": {"build": {"permission": {"bash": "deny"},
                "tools": {"webfetch": false}, "prompt": "x"}, "plan": {"permission": {"bash": "allow"}}, "review": {}}}"#,
            &[
                "default_agent: plan permission_mode = plan",
                "permission.edit: allow permissions.allow: edit",
                "permission.bash *: deny permissions.deny: bash",
                "tools.webfetch: false permissions.deny: web_fetch",
                "agent.build.prompt left:",
                "agent.plan left: tau's mode plan has rules of its own",
                "1 agent: review left: write each as a kind of helper",
            ][..],
        ),
        (
            r#"{"default_agent": "mine", "permission": {"bash": "allow", "edit": {"a": "deny"}},
                "mode": {"mine": {"permission": {"bash": {"*": "ask", "ls *": "allow"}, "edit": {"b": "deny"}}}}}"#,
            &[
                "default_agent: mine left: tau has one main agent",
                "permission.bash *: ask left: it would outweigh",
                "permission.bash ls *: allow permissions.allow: bash(ls *)",
                "permission.edit a: deny permissions.deny: edit(a)",
                "permission.edit b: deny permissions.deny: edit(b)",
            ],
        ),
        (
            r#"{"permission": {"bash": "allow"}, "agent": {"build": {"permission": "ask"}}}"#,
            &["permission.bash: allow left: a later rule", "permission.*: ask permission_mode = ask"],
        ),
    ] {
        let home = imported(&[(".config/opencode/opencode.json", config)], expected);
        assert!(
            !home.config().contains("\"bash\"") || config.contains("\"bash\": \"deny\""),
            "{}",
            home.config()
        );
    }
}

/// A variable that is not set means here what it means to the other program.
#[test]
fn servers_start_without_variables_that_are_not_set() {
    let home = Home::new();
    let out = |name: &str| home.at(name).to_string_lossy().into_owned();
    let run = |name: &str| format!("env > '{}'", out(name));
    home.write(
        ".codex/config.toml",
        &format!(
            "[mcp_servers.codex]\ncommand = \"sh\"\nargs = [\"-c\", \"{}\"]\nenv_vars = [\"NOPE\"]\n",
            run("codex")
        ),
    );
    let opencode = json!({"mcp": {"opencode": {"type": "local", "command": ["sh", "-c", run("opencode"), "{env:UNSETVAR}"],
        "environment": {"NOPE": "a{env:UNSETVAR}"}}}});
    home.write(".config/opencode/opencode.json", &opencode.to_string());
    let gemini = json!({"mcpServers": {"gemini": {"command": "sh", "args": ["-c", run("gemini")],
        "env": {"NOPE": "$UNSETVAR ${OTHER}"}}}});
    home.write(".gemini/settings.json", &gemini.to_string());
    home.import(&["--write"]);
    for (server, expected) in
        [("codex", None), ("opencode", Some("NOPE=a")), ("gemini", Some("NOPE=$UNSETVAR $OTHER"))]
    {
        let tried = home.tau(&["mcp", "test", server]);
        let said = String::from_utf8(tried.stderr).unwrap();
        assert!(!said.contains("is not set"), "{server}: {said}");
        let env =
            fs::read_to_string(home.at(server)).unwrap_or_else(|error| panic!("{server}: {error}: {said}"));
        assert_eq!(env.lines().find(|line| line.starts_with("NOPE=")), expected, "{server}");
    }
}

/// Profiles of Codex are files of their own; tau's flags do the same.
#[test]
fn profiles_of_codex_are_named_with_the_flags_for_them() {
    imported(
        &[
            (".codex/config.toml", "model = \"gpt-5.5\"\n"),
            (
                ".codex/work.config.toml",
                "model = \"gpt-5.5-mini\"\napproval_policy = \"untrusted\"\nsandbox_mode = \"read-only\"\n\
                 model_reasoning_effort = \"high\"\nnotify = [\"x\"]\n",
            ),
            (".codex/odd.config.toml", "x ="),
        ],
        &[
            "profile work left: tau has no profiles; `tau --permission-mode ask --model openai/gpt-5.5-mini \
             --thinking high --sandbox read-only` does the same, without notify",
            "profile odd left:",
        ],
    );
}

/// A model is asked where the other program asked it, or not at all.
#[test]
fn a_model_and_its_address_are_taken_together() {
    let codex = "model = \"gpt-5.5\"\nopenai_base_url = \"https://us.example/v1\"\n";
    let own = "[vendors.openai]\nbase_url = \"https://own.example/v1\"\n";
    let both = ["openai_base_url [vendors.openai] in models.toml", "model: gpt-5.5 model = openai/gpt-5.5"];
    let home = imported(&[(".codex/config.toml", codex)], &both);
    let models = fs::read_to_string(home.at("tau/models.toml")).unwrap();
    assert!(models.contains("base_url = \"https://us.example/v1\""), "{models}");
    let neither = [
        "openai_base_url left: models.toml already has openai",
        "model: gpt-5.5 left: Codex reaches openai at",
    ];
    let home = imported(&[(".codex/config.toml", codex), ("tau/models.toml", own)], &neither);
    assert!(!home.config().contains("gpt-5.5"), "{}", home.config());
}

#[test]
fn flat_settings_of_gemini_are_those_of_its_groups() {
    imported(
        &[(".gemini/settings.json", r#"{"model": "gemini-2.5-pro", "vimMode": true, "odd": 1}"#)],
        &["model: gemini-2.5-pro model = google/gemini-2.5-pro", "vimMode editing_mode = vim", "odd left:"],
    );
}

/// Half of one sandbox and half of another protect from nothing that one of them did.
#[test]
fn the_sandbox_is_that_of_one_agent() {
    let home = imported(
        &[
            (".claude/settings.json", r#"{"sandbox": {"enabled": true}}"#),
            (".codex/config.toml", "sandbox_mode = \"read-only\"\n"),
        ],
        &[
            "sandbox.enabled sandbox.level = workspace-write",
            "no network left: the sandbox is that of Claude Code",
        ],
    );
    assert!(!home.config().contains("network"), "{}", home.config());
}

/// In the home folder, the user's files are not a project's, too.
#[test]
fn what_is_the_users_is_listed_once_in_the_home_folder() {
    let home = Home::new();
    home.write(".claude/settings.json", r#"{"permissions": {"deny": ["Read(x)"]}}"#);
    home.write(".cursor/mcp.json", r#"{"mcpServers": {"s": {"command": "s"}}}"#);
    home.write(".gemini/settings.json", r#"{"vimMode": true}"#);
    home.write(".codex/config.toml", "model_reasoning_effort = \"high\"\n");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
    command.arg("import").current_dir(home.at("")).env_clear().env("HOME", home.at(""));
    let ended = crate::time_limit::RunInTime::output_in_time(command.env("TAU_HOME", home.at("tau")));
    let said = String::from_utf8(ended.stdout).unwrap();
    for file in [".claude/settings.json", ".cursor/mcp.json", ".gemini/settings.json", ".codex/config.toml"] {
        assert_eq!(said.matches(file).count(), 1, "{file} in {said}");
    }
}
