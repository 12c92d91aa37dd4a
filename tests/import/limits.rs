//! `tau import`: limits of other agents are kept or named.

use serde_json::json;

use super::Home;

/// Asserts that `tau import` has these lines about a file, and writes no setting with that word.
fn assert_imported(file: &str, text: &str, lines: &[&str], unwritten: &str) {
    let home = Home::new();
    home.write(file, text);
    home.write("tau/config.toml", "");
    let said = home.import(&["--write"]);
    let said: Vec<String> =
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in lines {
        assert!(said.iter().any(|said| said.contains(line)), "no {line:?} in {said:#?}");
    }
    assert!(!home.config().contains(unwritten), "{}", home.config());
    if file.contains("gemini") {
        assert!(home.config().contains("enabled = false"), "{}", home.config());
    }
}

/// Set-ups that limit what runs, the lines about them, and settings that must not come of them.
#[test]
fn what_is_off_or_denied_there_stays_so() {
    for (file, text, lines, unwritten) in [
        (
            ".claude/settings.json",
            r#"{"disableAllHooks": true, "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}"#,
            &["hooks: 1 group left: they are off there"][..],
            "claude_hooks",
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"permission": {"bash": {"git *": "allow", "*": "deny"}, "read": "allow", "*": "ask", "grep": "allow"}}"#,
            &[
                "permission.bash git *: allow left: a later rule",
                "permission.read: allow left: a later rule",
                "permission.*: ask permission_mode = ask",
                "permission.grep: allow permissions.allow: grep",
            ],
            "git",
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"permission": {"edit": {"*": "deny"}, "bash": {"git *": "deny", "*": "ask"}, "task": "deny",
                "webfetch": {"*": "ask", "https://x/*": "allow"}}}"#,
            &[
                "permission.edit *: deny permissions.deny: edit",
                "permission.bash *: ask permissions.ask: bash",
                "permission.task: deny permissions.deny: delegate",
                "permission.webfetch *: ask left: it would outweigh",
            ],
            "\"web_fetch\"",
        ),
        (
            ".claude/settings.json",
            r#"{"permissions": {"defaultMode": "bypassPermissions"}, "hooks": {"Stop": [{"hooks": [{"command": "true"}]}],
                "PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "safe?"}]}]}}"#,
            &[
                "permissions.defaultMode: bypassPermissions left: a mode without questions",
                "hooks: 2 groups left: hook PreToolUse: tau runs hooks of the type `command`, and not `prompt`; with \
                 claude_hooks = true tau asks before every call",
            ],
            "claude_hooks",
        ),
        (
            ".codex/config.toml",
            "profile = \"safe\"\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n\
             [profiles.safe]\napproval_policy = \"untrusted\"\nsandbox_mode = \"read-only\"\n[profiles.fast]\nmodel = \"m\"\n",
            &[
                "approval_policy: untrusted permission_mode = ask",
                "sandbox.level = read-only",
                "profiles: fast left:",
            ],
            "edits",
        ),
        (
            ".gemini/settings.json",
            r#"{"tools": {"exclude": ["write_file"], "sandbox": true}, "mcp": {"allowed": ["a"]}, "maxTurns": 3,
                "general": {"defaultApprovalMode": "plan"}, "mcpServers": {"b": {"command": "bsrv"}}}"#,
            &[
                "tools.exclude: write_file permissions.deny: write",
                "tools.sandbox left:",
                "maxTurns left:",
                "general.defaultApprovalMode: plan permission_mode = plan",
            ],
            "enabled = true",
        ),
    ] {
        assert_imported(file, text, lines, unwritten);
    }
}

/// Rules of Gemini CLI and Cursor deny here, too, or ask; the rest is named.
#[test]
fn rules_of_policies_and_lists_are_taken_over() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        r#"{"tools": {"exclude": ["run_shell_command(rm -rf)", "docs__write"], "allowed": ["run_shell_command(git log)", "save_memory"],
            "core": ["read_file"]}, "excludeTools": ["replace"], "mcpServers": {"docs": {"command": "d"}, "off": {"command": "o"}},
            "excludeMCPServers": ["off"]}"#,
    );
    home.write(
        ".gemini/policies/mine.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"curl\", \"wget \"]\ndecision = \"deny\"\npriority = 100\n\
         [[rule]]\ntoolName = \"web_fetch\"\nargsPattern = \"secret\"\ndecision = \"deny\"\npriority = 100\n\
         [[rule]]\nmcpName = \"docs\"\ntoolName = \"drop\"\ndecision = \"deny\"\npriority = 10\n\
         [[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1\n\
         [[rule]]\ntoolName = [\"glob\"]\ndecision = \"allow\"\nmodes = [\"plan\"]\npriority = 5\n\
         [[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 1\n",
    );
    home.write(
        ".cursor/cli-config.json",
        r#"{"version": 1, "permissions": {"allow": ["Shell(ls)", "Odd(x)"], "deny": ["Shell(git:push *)", "Shell(docker)",
            "Read(.env*)", "Write(/etc/**)", "WebFetch(*.example.com)", "Mcp(db:drop)", "Write({a, b})"]},
            "approvalMode": "allowlist", "sandbox": {"mode": "enabled"}}"#,
    );
    home.write("work/.cursor/cli.json", r#"{"permissions": {"deny": ["Shell(rm)"]}}"#);
    let said = home.import(&["--write"]);
    let lines: Vec<String> =
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "tools.exclude: run_shell_command(rm -rf) permissions.deny: bash(rm -rf:*)",
        "tools.exclude: docs__write permissions.deny: mcp__docs__write",
        "tools.allowed: save_memory left: tau has no tool of this name",
        "tools.core left: tau's is tools",
        "excludeTools: replace permissions.deny: edit",
        "rule for run_shell_command(curl): deny permissions.deny: bash(curl:*)",
        "rule for run_shell_command(wget ): deny permissions.deny: bash(wget:*)",
        "rule for web_fetch: deny permissions.ask: web_fetch",
        "rule for mcp__docs__drop: deny permissions.deny: mcp__docs__drop",
        "rule for glob: deny left: it would outweigh",
        "rule for glob: allow left: tau has no such conditions",
        "rule for all tools: deny left: tau has no rule for all tools",
        "permissions.allow: Shell(ls) permissions.allow: bash(ls:*)",
        "permissions.allow: Odd(x) left: tau knows no such rule",
        "permissions.deny: Shell(git:push *) permissions.deny: bash(git push *)",
        "permissions.deny: Shell(docker) permissions.deny: bash(docker:*)",
        "permissions.deny: Read(.env*) permissions.deny: read(.env*)",
        "permissions.deny: Write(/etc/**) permissions.deny: edit(/etc/**)",
        "permissions.deny: WebFetch(*.example.com) permissions.deny: web_fetch(*.example.com)",
        "permissions.deny: Mcp(db:drop) permissions.deny: mcp__db__drop",
        "permissions.deny: Write({a, b}) permissions.ask: write",
        "approvalMode: allowlist permission_mode = ask",
        "sandbox left: tau's is sandbox.level",
        "1 file left: rules of the project",
    ] {
        assert!(lines.iter().any(|said| said.contains(line)), "no {line:?} in {lines:#?}");
    }
    let config = home.config();
    assert!(config.contains("enabled = false") && config.contains("\"bash(docker:*)\""), "{config}");
    // They hold: the settings can be read, and nothing in them is reported.
    let listed = home.tau(&["permissions"]);
    assert!(listed.status.success() && listed.stderr.is_empty(), "{listed:?}");
}

/// A server of a project that Claude Code would not start is not started here.
#[test]
fn denied_servers_of_projects_are_not_started() {
    let home = Home::new();
    home.write(".claude/settings.json", r#"{"deniedMcpServers": [{"serverName": "bad"}]}"#);
    home.write("work/.claude/settings.local.json", r#"{"disabledMcpjsonServers": ["off"]}"#);
    let server = |name: &str| json!({"command": "/usr/bin/touch", "args": [home.at(name)]});
    let servers = json!({"good": server("good"), "bad": server("bad"), "off": server("off")});
    home.write("work/.mcp.json", &json!({"mcpServers": servers}).to_string());
    let ended = home.tau(&["--trust", "--model", "demo", "-p", "hi"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    for (name, list) in [("bad", "deniedMcpServers"), ("off", "disabledMcpjsonServers")] {
        assert!(said.contains(&format!("server `{name}` is not started: {list} of Claude Code")), "{said}");
        assert!(!home.at(name).exists(), "{name}");
    }
    assert!(home.at("good").exists() && ended.status.success(), "{ended:?}");
}

/// The tools of a server are its own there, and are denied by the name of the server here.
#[test]
fn denied_tools_of_servers_stay_denied() {
    assert_imported(
        ".config/opencode/opencode.json",
        r#"{"mcp": {"gh": {"type": "local", "command": ["ghsrv"]}, "ci": {"type": "local", "command": ["cisrv"]}},
            "tools": {"gh_*": false, "c*": false, "write": false, "tw_x": false, "*": false},
            "permission": {"gh_read": "deny", "gh_all": {"x": "deny"}, "write": "allow"}}"#,
        &[
            "tools.gh_*: false permissions.deny: mcp__gh__*",
            "tools.c*: false permissions.deny: mcp__ci__*",
            "tools.write: false permissions.deny: edit",
            "tools.tw_x: false left: tau has no tool of this name",
            "tools.*: deny left: tau has no rule for all tools",
            "permission.gh_read: deny permissions.deny: mcp__gh__read",
            "permission.gh_all x: deny left: tools of MCP servers have no patterns",
            "permission.gh_all x: deny permissions.ask: mcp__gh__all",
            "permission.write: allow permissions.allow: write",
        ],
        "mcp__gh__all(",
    );
}

/// A server that is denied there is not started here.
#[test]
fn denied_servers_stay_out() {
    let home = Home::new();
    home.write(
        ".claude/settings.json",
        r#"{"deniedMcpServers": [{"serverName": "srv"}, {"serverCommand": ["run", "x"]}, {"serverUrl": "https://*"}]}"#,
    );
    home.write(
        ".claude.json",
        r#"{"mcpServers": {"srv": {"command": "srv"}, "run": {"command": "run", "args": ["x"]},
            "far": {"type": "http", "url": "https://far.example/mcp"}, "fine": {"command": "run", "args": ["y"]}}}"#,
    );
    let said = home.import(&["--write"]);
    assert_eq!(said.matches("deniedMcpServers denies it").count(), 3, "{said}");
    let config = home.config();
    assert!(config.matches("[mcp.").count() == 1 && config.contains("[mcp.fine]"), "{config}");
}

/// Settings for which tau has one, which is written or named.
#[test]
fn settings_become_those_of_tau() {
    for (file, text, lines, unwritten) in [
        (
            ".claude/settings.json",
            r#"{"sandbox": {"enabled": true, "network": {"allowedDomains": []}, "excludedCommands": ["docker"]},
                "cleanupPeriodDays": 14, "effortLevel": "high", "editorMode": "vim"}"#,
            &[
                "sandbox.enabled sandbox.level = workspace-write",
                "sandbox.network: no domains sandbox.network = off",
                "sandbox.excludedCommands left:",
                "cleanupPeriodDays left: tau's is retention",
                "effortLevel: high thinking = high",
                "editorMode: vim editing_mode = vim",
            ][..],
            "retention",
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"autoupdate": false, "compaction": {"auto": false, "prune": true},
                "mcp": {"a": {"type": "local", "command": ["a"], "timeout": 20000}}}"#,
            &[
                "autoupdate: false update_check = false",
                "compaction.auto: false auto_compact = false",
                "compaction.prune left:",
                "+timeout = 20",
            ],
            "20000",
        ),
        (
            ".codex/config.toml",
            "default_permissions = \"safe\"\nweb_search = \"live\"\n[permissions.safe]\nx = 1\n\
             [history]\npersistence = \"none\"\n",
            &[
                "default_permissions left: tau's is sandbox.level",
                "permissions left: tau's is sandbox.level",
                "web_search left: tau's is web_search",
                "history left: tau does not take it over",
            ],
            "permissions",
        ),
        (
            ".codex/config.toml",
            "[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [\"/x\"]\nexclude_slash_tmp = true\n",
            &[
                "sandbox_workspace_write.network_access left: it is about sandbox_mode = workspace-write",
                "sandbox_workspace_write.writable_roots left:",
                "sandbox_workspace_write.exclude_slash_tmp left:",
            ],
            "writable",
        ),
        (
            ".codex/config.toml",
            "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [\"/x\"]\n",
            &[
                "sandbox.level = workspace-write",
                "sandbox_workspace_write.network_access left: sandbox.network is on unless you set it",
                "sandbox.writable = /x",
            ],
            "network",
        ),
        (
            ".codex/config.toml",
            "approval_policy = { granular = { rules = true } }\n",
            &["approval_policy left:"],
            "permission_mode",
        ),
    ] {
        assert_imported(file, text, lines, unwritten);
    }
}

/// A mode that asks or denies is never looser here, whatever other agents have.
#[test]
fn modes_with_questions_stay_so() {
    for mode in ["default", "manual", "dontAsk", "delegate"] {
        let home = Home::new();
        let text = format!(r#"{{"permissions": {{"defaultMode": "{mode}"}}}}"#);
        home.write(".claude/settings.json", &text);
        home.write(".codex/config.toml", "approval_policy = \"on-request\"\n");
        home.import(&["--write"]);
        assert!(home.config().contains("permission_mode = \"ask\""), "{mode}: {}", home.config());
    }
}

/// tau does not run hooks that are off, or ask about them.
#[test]
fn hooks_run_as_there_or_tau_says_why_not() {
    let home = Home::new();
    let hooks = r#"{"disableAllHooks": true, "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}"#;
    home.write(".claude/settings.json", hooks);
    let asked = home.tau(&["--model", "demo", "-p", "hi"]);
    assert!(!String::from_utf8_lossy(&asked.stderr).contains("claude_hooks"), "{asked:?}");
    home.write("tau/config.toml", "claude_hooks = true\n");
    home.tau(&["--model", "demo", "-p", "hi"]);
    assert!(!home.at("work/ran").exists());
    home.write(".claude/settings.json", &hooks.replace("true,", "false,"));
    home.tau(&["--model", "demo", "-p", "hi"]);
    assert!(home.at("work/ran").exists(), "hooks that are on run");
    // One before calls that it cannot run makes it ask, and it says so before and after.
    let mixed = r#"{"hooks": {"Stop": [{"hooks": [{"command": "true"}]}], "PreToolUse": [{"hooks": [{"type": "http"}]}]}}"#;
    home.write(".claude/settings.json", mixed);
    for (config, code, said) in [
        ("", 0, "as tau would ask before every call (hook PreToolUse"),
        ("claude_hooks = true\n", 3, "with claude_hooks = false tau runs no hooks of other agents"),
        ("claude_hooks = false\n", 0, ""),
    ] {
        home.write("tau/config.toml", config);
        let ended = home.tau(&["--model", "demo", "-p", "hi"]);
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(code) && text.contains(said), "{config}: {ended:?}");
    }
}
