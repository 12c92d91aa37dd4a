//! `tau import`: limits of other agents are kept or named.

use super::Home;

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
            ".gemini/settings.json",
            r#"{"tools": {"exclude": ["write_file"], "sandbox": true}, "mcp": {"allowed": ["a"]}, "maxTurns": 3,
                "general": {"defaultApprovalMode": "plan"}, "mcpServers": {"b": {"command": "bsrv"}}}"#,
            &[
                "tools.exclude left:",
                "tools.sandbox left:",
                "maxTurns left:",
                "general.defaultApprovalMode: plan permission_mode = plan",
            ],
            "enabled = true",
        ),
        (
            ".codex/config.toml",
            "approval_policy = { granular = { rules = true } }\n",
            &["approval_policy left:"],
            "permission_mode",
        ),
    ] {
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
    // Nor does tau run hooks that are off, or ask about them.
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
}
