//! `tau import`: set-ups of other agents, what they mean, and what is written.

mod limits;
mod meanings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::screen::Screen;
use crate::time_limit::RunInTime;

const CLAUDE: &str = r#"{
    "permissions": {"allow": ["Bash(npm test:*)", "Skill(x)"], "deny": ["Read(./.env)"], "defaultMode": "acceptEdits"},
    "env": {"ANTHROPIC_API_KEY": "sk-ant-api03-A1b2C3d4E5f6G7h8I9j0K1l2", "FOO": "bar-secret-bar"},
    "model": "claude-sonnet-4-5",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
    "statusLine": {"type": "command", "command": "date"}
}"#;
const CLAUDE_STATE: &str = r#"{
    "mcpServers": {
        "tracker": {"command": "npx", "args": ["-y", "tracker"], "env": {"TOKEN": "hunter2-hunter2", "HOST": "${HOST}"}},
        "old": {"type": "sse", "url": "https://old.example/sse"},
        "ev\u001b[2Jil": {"command": "x"}
    },
    "projects": {"WORK": {"mcpServers": {"here": {"type": "http", "url": "https://here.example/mcp"}}}}
}"#;
const CODEX: &str = r#"
model = "big-model"
model_provider = "corp"
approval_policy = "never"
sandbox_mode = "workspace-write"
model_reasoning_effort = "high"
[model_providers.corp]
name = "Corp"
base_url = "https://models.corp.example/v1"
env_key = "CORP_KEY"
wire_api = "chat"
[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
[mcp_servers.tracker]
command = "other-tracker"
"#;
const OPENCODE: &str = r#"{
    // comments are allowed
    "model": "corp/other",
    "mcp": {"files": {"type": "local", "command": ["files-server", "--root", "."], "environment": {"KEY": "{env:FILES_KEY}"}}},
    "permission": {"edit": "ask", "bash": {"*": "ask", "git status*": "allow"}},
}"#;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.at("work")).unwrap();
        home
    }

    /// A home in which every agent was set up.
    fn full() -> Self {
        let home = Home::new();
        home.write(".claude/settings.json", CLAUDE);
        home.write(".claude/agents/reviewer.md", "---\nname: reviewer\n---\nReview.");
        home.write(".claude/commands/fix.md", "Fix it.");
        home.write(".claude.json", &CLAUDE_STATE.replace("WORK", &home.at("work").to_string_lossy()));
        home.write(".codex/config.toml", CODEX);
        home.write(".codex/AGENTS.md", "Answer briefly.");
        home.write(".codex/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: deploys\n---\nDeploy.");
        home.write(".config/opencode/opencode.json", OPENCODE);
        home.write(".config/opencode/command/ship.md", "Ship it.");
        home.write(
            ".gemini/settings.json",
            r#"{"mcpServers": {"maps": {"httpUrl": "https://maps.example/mcp"}}}"#,
        );
        home.write(".cursor/mcp.json", r#"{"mcpServers": {"shots": {"command": "shots"}}}"#);
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        crate::support::write(&self.at(path), text);
    }

    fn tau(&self, args: &[&str]) -> Output {
        self.tau_with(args, &[])
    }

    /// Like `tau`, with variables that name places in the home directory.
    fn tau_with(&self, args: &[&str], places: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        let places = places.iter().map(|(name, path)| (*name, self.at(path)));
        command.args(args).current_dir(self.at("work")).env_clear().env("HOME", self.0.path());
        command.envs(places).env("TAU_HOME", self.at("tau")).output_in_time()
    }

    fn import(&self, args: &[&str]) -> String {
        let args: Vec<&str> = ["import"].iter().chain(args).copied().collect();
        let output = self.tau(&args);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn config(&self) -> String {
        fs::read_to_string(self.at("tau/config.toml")).unwrap()
    }
}

#[test]
fn a_value_is_written_as_its_setting_wants_it() {
    let home = Home::new();
    home.write(".claude/settings.json", r#"{"statusLine": {"type": "command", "command": "true"}}"#);
    home.import(&["--write"]);
    assert!(home.config().contains("status_command = \"true\""), "{}", home.config());
}

#[test]
fn of_several_files_of_opencode_the_last_one_counts() {
    let home = Home::new();
    let allows = |verdict: &str| format!(r#"{{"permission": {{"bash": {{"git push": "{verdict}"}}}}}}"#);
    home.write(".config/opencode/config.json", &allows("allow"));
    home.write(".config/opencode/opencode.json", &allows("allow"));
    home.write(".config/opencode/opencode.jsonc", &allows("deny"));
    home.import(&["--write"]);
    let config = home.config();
    assert!(config.contains("deny = [\"bash(git push)\"]") && !config.contains("allow"), "{config}");
}

/// Rules come with the mode with which they meant something; those that deny hold in any.
#[test]
fn rules_and_mode_are_those_of_one_agent() {
    let codex = (".codex/config.toml", "approval_policy = \"on-request\"");
    let claude = (".claude/settings.json", r#"{"permissions": {"defaultMode": "acceptEdits"}}"#);
    let rules = r#"{"permission": {"edit": "ask", "bash": {"*": "allow"}, "webfetch": "deny"}}"#;
    for (others, ask, allow) in [(vec![], 1, 1), (vec![codex], 0, 0), (vec![claude, codex], 0, 0)] {
        let home = Home::new();
        home.write(".config/opencode/opencode.json", rules);
        others.iter().for_each(|(path, text)| home.write(path, text));
        let text = home.import(&["--write"]);
        let config: Value =
            serde_json::to_value(toml::from_str::<toml::Value>(&home.config()).unwrap()).unwrap();
        let count = |list: &str| config["permissions"][list].as_array().map_or(0, Vec::len);
        assert_eq!((count("ask"), count("allow"), count("deny")), (ask, allow, 1), "{text}");
        let left = if others.is_empty() { 0 } else { 2 };
        assert_eq!(text.matches("and so are the rules").count(), left, "{text}");
        // The mode is known the second time, too.
        assert!(home.import(&["--write"]).contains("Nothing to change"), "{text}");
    }
}

#[test]
fn everything_is_shown_and_nothing_written() {
    let home = Home::full();
    let text = home.import(&[]);
    for words in [
        "Claude Code\n",
        "permissions: 2 rules",
        "read in place: permission rules",
        "permissions: 1 rule ",
        "left: not used; `tau permissions` lists the rules that apply",
        "permission_mode = edits",
        "claude_hooks = true",
        "env: ANTHROPIC_API_KEY, FOO",
        "model = anthropic/claude-sonnet-4-5",
        "status_command = date",
        "MCP server here, for this directory",
        "left: SSE",
        "read in place: kinds of helpers",
        "Codex\n",
        "[vendors.corp] in models.toml",
        "left: server tracker is taken from Claude Code",
        "left: model is taken from Claude Code",
        "imported by AGENTS.md",
        "opencode\n",
        "left: permission_mode is that of Claude Code, and so are the rules",
        "Gemini CLI\n",
        "Cursor\n",
        "+[mcp.tracker]",
        "+env = { HOST = \"${HOST}\", TOKEN = \"…\" }",
        "+headers = { Authorization = \"…${DOCS_TOKEN}\" }",
        "+@~/.codex/AGENTS.md",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    // Neither secrets nor what would move the cursor.
    for words in ["hunter2", "sk-ant", "bar-secret", "\u{1b}"] {
        assert!(!text.contains(words), "{words:?} in\n{text}");
    }
    assert!(!home.at("tau/config.toml").exists() && !home.at("tau/AGENTS.md").exists());
}

/// What is shown before it is written has no secret of a server.
#[test]
fn secrets_of_servers_are_not_shown() {
    let home = Home::new();
    let servers = r#"{"mcpServers": {
        "db": {"command": "npx", "args": ["-y", "pg", "--token=hunter2one", "--api-key", "hunter2two", "--port", "80",
            "postgres://me:hunter2three@db/x", "-H", "Authorization: Bearer hunter2four", "API_KEY=hunter2five"],
            "env": {"URL": "postgres://${env:USER}:hunter2six@${env:HOST}", "T": "${env:A}hunter2seven${env:B:-hunter2eight}"}},
        "web": {"url": "https://x.example/mcp?apiKey=hunter2nine&v=${env:V}"}}}"#;
    home.write(".cursor/mcp.json", servers);
    let shown = home.import(&["--write"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    for words in [
        "\"-y\", \"pg\", \"--token=…\"", "\"--port\", \"80\"", "me:…@db/x", "…${USER:-}…${HOST:-}",
        "?apiKey=…&v=${V:-}",
    ] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    for secret in ["one", "two", "three", "four", "five", "six", "seven", "nine"] {
        assert!(home.config().contains(&format!("hunter2{secret}")), "{secret}: {}", home.config());
    }
}

#[test]
fn values_that_are_no_texts_are_taken_over_or_named() {
    let home = Home::new();
    let server = r#"{"command": "s", "args": ["--port", 8080, null], "env": {"N": 5, "Y": true, "O": {}}}"#;
    home.write(".cursor/mcp.json", &format!("{{\"mcpServers\": {{\"s\": {server}}}}}"));
    let text = home.import(&["--write"]);
    for words in ["MCP server s: args[2]", "MCP server s: env.O"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let table: toml::Value = toml::from_str(&home.config()).unwrap();
    let server = &table["mcp"]["s"];
    assert_eq!(server["args"].as_array().unwrap().len(), 2);
    assert_eq!(
        (server["args"][1].as_str(), server["env"]["N"].as_str(), server["env"]["Y"].as_str()),
        (Some("8080"), Some("5"), Some("true"))
    );
}

/// What a program takes as it is, tau does, too.
#[test]
fn only_variables_of_the_other_program_are_variables() {
    let home = Home::new();
    let codex = "[mcp_servers.db]\ncommand = \"db\"\nenv = { P = \"pa$word\", Q = \"${A}\" }\n";
    home.write(".codex/config.toml", codex);
    home.write(
        ".claude.json",
        r#"{"mcpServers": {"k": {"command": "k", "env": {"K": "$LIT", "L": "${L}"}}}}"#,
    );
    let shown = home.import(&["--write"]);
    assert!(!shown.contains("word") && !shown.contains("${A}"), "{shown}");
    let table: toml::Value = toml::from_str(&home.config()).unwrap();
    let env = |server: &str, name: &str| table["mcp"][server]["env"][name].as_str().unwrap().to_owned();
    assert_eq!([env("db", "P"), env("db", "Q")], ["pa$$word", "$${A}"]);
    assert_eq!([env("k", "K"), env("k", "L")], ["$$LIT", "${L}"]);
    // Nothing is missing: the program is what cannot be started.
    let tried = home.tau(&["mcp", "test", "db"]);
    let said = String::from_utf8(tried.stderr).unwrap();
    assert!(said.contains("the program `db`") && !said.contains("variable"), "{said}");
}

/// A plugin of Claude Code that does not describe itself, in a folder with the name of its version.
#[test]
fn plugins_are_added_by_their_marketplace() {
    let home = Home::new();
    let list =
        r#"{"name": "mk", "plugins": [{"name": "pa", "source": "./pa"}, {"name": "pz", "source": "./pz"}]}"#;
    home.write("mk/.claude-plugin/marketplace.json", list);
    let (market, mut installed) = (home.at("mk"), Vec::new());
    for name in ["pa", "pz"] {
        let skill = format!("---\nname: {name}\ndescription: does {name}\n---\nDo it.");
        home.write(&format!("mk/{name}/skills/{name}/SKILL.md"), &skill);
        let cache = format!(".claude/plugins/cache/mk/{name}/unknown");
        home.write(&format!("{cache}/skills/{name}/SKILL.md"), &skill);
        installed.push(format!(
            r#""{name}@mk": [{{"installPath": {:?}, "version": "unknown"}}]"#,
            home.at(&cache)
        ));
    }
    let installed = format!(r#"{{"version": 2, "plugins": {{{}}}}}"#, installed.join(", "));
    home.write(".claude/plugins/installed_plugins.json", &installed);
    home.write(
        ".claude/plugins/known_marketplaces.json",
        &format!(r#"{{"mk": {{"installLocation": {market:?}}}}}"#),
    );
    let text = home.import(&[]);
    for name in ["pa", "pz"] {
        let words = format!("tau add {} --plugin {name}", market.display());
        assert!(text.contains(&words), "{text}");
        let added = home.tau(&["add", &market.to_string_lossy(), "--plugin", name, "--yes"]);
        assert!(String::from_utf8_lossy(&added.stdout).contains(&format!("added {name}")), "{added:?}");
    }
    let text = home.import(&[]);
    assert!(text.contains("you have a package pa") && !text.contains("tau add"), "{text}");
}

#[test]
fn files_of_pi_are_read_or_named() {
    let home = Home::new();
    home.write(".pi/agent/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: deploys\n---\nDeploy.");
    home.write(".pi/agent/AGENTS.md", "Answer briefly.");
    home.write(".pi/agent/models.json", "{}");
    let text = home.import(&["--write"]);
    for words in ["pi\n", "read in place: skills", "+@~/.pi/agent/AGENTS.md", "in models.toml"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    home.write("work/.pi/skills/ship/SKILL.md", "---\nname: ship\ndescription: ships\n---\nShip.");
    let listed = |args: &[&str]| String::from_utf8(home.tau(args).stdout).unwrap();
    assert!(listed(&["extensions"]).contains("deploy") && !listed(&["extensions"]).contains("ship"));
    assert!(listed(&["extensions", "--trust"]).contains("ship"));
}

#[test]
fn prices_and_abilities_of_models_are_taken_over() {
    let home = Home::new();
    let model = r#"{"cost": {"input": 1.5, "output": 6, "cache_read": 0.1}, "reasoning": true, "tool_call": true,
        "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]}}"#;
    let provider = r#"{"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://m.example/v1"}"#;
    let config = format!(r#"{{"provider": {{"corp": {provider}, "models": {{"big": {model}}}}}}}}}"#);
    home.write(".config/opencode/opencode.json", &config);
    let text = home.import(&["--write"]);
    assert!(text.contains("tool_call") && text.contains("left: tau does not take it over"), "{text}");
    assert!(!text.contains("model big: cost") && !text.contains("modalities"), "{text}");
    let models = fs::read_to_string(home.at("tau/models.toml")).unwrap();
    for line in [
        "reasoning = true",
        "input = [\"text\", \"image\"]",
        "cost = { input = 1.5, output = 6.0, cache_read = 0.1 }",
    ] {
        assert!(models.contains(line), "no {line:?} in {models}");
    }
}

#[test]
fn what_is_written_is_used_and_kept() {
    let home = Home::full();
    home.write("tau/config.toml", "# mine\nthinking = \"low\"\n");
    home.import(&["--write"]);
    let config = home.config();
    assert!(config.starts_with("# mine\nthinking = \"low\"\n"), "what is set stays: {config}");
    let table: Value = serde_json::to_value(toml::from_str::<toml::Value>(&config).unwrap()).unwrap();
    assert_eq!(table["mcp"]["tracker"]["env"]["TOKEN"], "hunter2-hunter2");
    assert_eq!(table["mcp"]["files"]["args"][0], "--root");
    assert_eq!(table["mcp"]["files"]["env"]["KEY"], "${FILES_KEY:-}");
    assert_eq!(
        (&table["permission_mode"], &table["sandbox"]["level"]),
        (&"edits".into(), &"workspace-write".into())
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(home.at("tau/config.toml")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_to_string(home.at("tau/AGENTS.md")).unwrap(), "@~/.codex/AGENTS.md\n");
    // The program takes it.
    let listed = home.tau(&["mcp", "list"]);
    let listed =
        String::from_utf8_lossy(&listed.stdout).into_owned() + &String::from_utf8_lossy(&listed.stderr);
    for name in ["tracker", "docs", "files", "maps", "shots"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
    // A server of one directory is not started in all others.
    assert!(table["mcp"].get("here").is_none(), "{config}");
    // There commands have no network unless it is allowed.
    assert_eq!(table["sandbox"]["network"], "off");
    let models = home.tau(&["models", "big-model"]);
    assert!(String::from_utf8_lossy(&models.stdout).contains("corp/big-model"), "{models:?}");
    // Rules of one agent mean something else with the mode of another.
    let rules = String::from_utf8(home.tau(&["permissions"]).stdout).unwrap();
    assert!(!rules.contains("git status"), "{rules}");
    // The mode has been taken over, so the other agent's is no fault.
    let doctor = home.tau(&["doctor"]);
    let doctor = format!("{doctor:?}");
    assert!(!doctor.contains("defaultMode") && !listed.contains("defaultMode"), "{doctor} {listed}");
    // A second time there is nothing left to do.
    let text = home.import(&["--write"]);
    assert!(text.contains("Nothing to change") && home.config() == config, "{text}");
}

#[test]
fn folders_that_variables_name_are_read() {
    let home = Home::new();
    home.write("cc/settings.json", r#"{"permissions": {"deny": ["Bash(curl:*)"]}}"#);
    home.write(".claude/settings.json", r#"{"permissions": {"deny": ["Bash(wget:*)"]}}"#);
    home.write("cc/CLAUDE.md", "Be brief.");
    home.write("cc/commands/fix.md", "Fix it.");
    home.write("cc/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: deploys\n---\nDeploy.");
    home.write("cc/agents/sage.md", "---\nname: sage\ndescription: knows\n---\nKnow.");
    home.write("cc/.claude.json", r#"{"mcpServers": {"tracker": {"command": "tracker"}}}"#);
    home.write("cx/prompts/ship.md", "Ship it.");
    home.write("xdg/opencode/command/sail.md", "Sail it.");
    home.write("oc.json", r#"{"mcp": {"boat": {"type": "local", "command": ["boat"]}}}"#);
    let places = [
        ("CLAUDE_CONFIG_DIR", "cc"),
        ("CODEX_HOME", "cx"),
        ("XDG_CONFIG_HOME", "xdg"),
        ("OPENCODE_CONFIG", "oc.json"),
    ];
    let said = |args: &[&str]| {
        let output = home.tau_with(args, &places);
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let found = said(&["import"]);
    for words in ["cc/settings.json", "+[mcp.tracker]", "+[mcp.boat]"] {
        assert!(found.contains(words), "no {words:?} in {found}");
    }
    let rules = said(&["permissions"]);
    assert!(rules.contains("curl") && !rules.contains("wget"), "{rules}");
    let listed = said(&["extensions"]);
    for name in ["fix", "deploy", "sage", "ship", "sail"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
    let doctor = said(&["doctor"]);
    let files = doctor.lines().find(|line| line.trim_start().starts_with("files")).unwrap_or_default();
    assert!(files.contains("cc/CLAUDE.md"), "{doctor}");
}

#[test]
fn nothing_that_protects_is_dropped_and_nothing_silently() {
    let home = Home::new();
    home.write(
        ".codex/config.toml",
        "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\n\
         writable_roots = [\"/srv/cache\"]\n[model_providers.azure]\nbase_url = \"https://az.example/v1\"\n\
         query_params = { api-version = \"1\" }\nrequires_openai_auth = true\n[new_thing]\na = 1\n",
    );
    home.write(
        ".config/opencode/opencode.json",
        r#"{"tools": {"bash": false, "write": false, "read": true}, "permission": "allow",
            "command": {"ship": {"template": "Ship"}}, "agent": {"sage": {}}, "formatter": {},
            "provider": {
                "openai": {"options": {"baseURL": "https://o.example/v1", "headers": {"x-team": "red"}}},
                "mine": {"options": {"baseURL": "https://m.example/v1"},
                         "models": {"m": {"limit": {"context": 1000, "output": 100}, "tool_call": true}}}
            },
            "mcp": {"far": {"type": "remote", "url": "https://far.example/mcp", "oauth": {"clientId": "me", "scope": "a b"}},
                    "odd": {"type": "local", "command": ["odd"], "environment": {"K": "{file:~/k}"}}}}"#,
    );
    home.write(
        ".gemini/settings.json",
        r#"{"mcpServers": {"gem": {"command": "gem", "args": ["$GEM_HOME/x", "$5"], "trust": true}}}"#,
    );
    let text = home.import(&["--write"]);
    for words in [
        "azure: query_params", "requires_openai_auth", "new_thing", "permission: allow", "1 command: ship",
        "1 agent: sage", "formatter", "headers x-team", "model m: tool_call",
        "{file:~/k} means nothing to tau", "gem: trust",
    ] {
        assert!(
            text.lines().any(|line| line.contains(words) && line.contains("left:")),
            "no {words:?} in {text}"
        );
    }
    assert!(!text.contains("red"), "{text}");
    let config: Value = serde_json::to_value(toml::from_str::<toml::Value>(&home.config()).unwrap()).unwrap();
    assert_eq!(config["sandbox"]["level"], "workspace-write");
    assert!(config["sandbox"].get("network").is_none(), "{config}");
    assert_eq!(config["sandbox"]["writable"][0], "/srv/cache");
    assert_eq!(config["permissions"]["deny"], serde_json::json!(["bash", "edit"]));
    assert_eq!(config["mcp"]["far"]["oauth"], serde_json::json!({"client_id": "me", "scopes": ["a", "b"]}));
    assert_eq!(config["mcp"]["gem"]["args"], serde_json::json!(["${GEM_HOME:-$GEM_HOME}/x", "$5"]));
    assert!(config["mcp"].get("odd").is_none(), "{config}");
    let models = fs::read_to_string(home.at("tau/models.toml")).unwrap();
    let models: Value = serde_json::to_value(toml::from_str::<toml::Value>(&models).unwrap()).unwrap();
    let providers = models.as_object().unwrap().values().next().unwrap();
    assert!(providers["openai"].get("api").is_none(), "it keeps its format: {models}");
    let model = &providers["mine"]["models"][0];
    assert_eq!((&model["context_window"], &model["max_tokens"]), (&1000.into(), &100.into()));
}

/// `openai/gpt-5.2-codex` is also the id of a model that OpenRouter hosts.
#[test]
fn a_model_is_written_only_if_it_means_one_of_its_provider() {
    for (model, provider, written) in [
        ("gpt-5.2-codex", "openai", false),
        ("gpt-5.2", "openai", true),
        ("gpt-5.2-codex", "corp", true),
        ("gpt-5.2-codex", "unknown", false),
    ] {
        let home = Home::new();
        let table = "[model_providers.corp]\nbase_url = \"https://corp.example/v1\"\n";
        let text = format!(
            "model = \"{model}\"\nmodel_provider = \"{provider}\"\nmodel_reasoning_effort = \"low\"\n\
             model_context_window = 9000\n{table}"
        );
        home.write(".codex/config.toml", &text);
        let text = home.import(&["--write"]);
        let line = format!("model = \"{provider}/{model}\"\n");
        assert_eq!(home.config().contains(&line), written, "{text}");
        let left = format!("left: tau knows no {model} of {provider}; choose one with /model");
        assert_eq!(text.contains(&left), !written, "{text}");
        // The window is that of a model of its own provider, or is said to be left.
        assert_eq!(text.contains("model_context_window"), provider != "corp", "{text}");
        if written {
            let models = home.tau(&["models", &format!("{provider}/{model}"), "--json"]);
            let models = String::from_utf8_lossy(&models.stdout).into_owned();
            assert!(models.contains(&format!("\"provider\":\"{provider}\"")), "{models}");
        }
    }
}

#[test]
fn files_that_are_not_what_they_seem_are_left() {
    let home = Home::new();
    assert!(home.import(&[]).contains("no set-up of"));
    home.write(".claude/settings.json", "{torn");
    home.write(".codex/config.toml", "= no");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": 7, "b": {"command": ["", 3]}, "c": {"url": "no address"}}}"#,
    );
    let text = home.import(&["--write"]);
    assert!(text.matches("left:").count() >= 4, "{text}");
    home.write("tau/config.toml", "mcp = 7\n");
    let output = home.tau(&["import", "--write"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(home.config(), "mcp = 7\n");
}

#[test]
fn the_question_on_a_terminal_is_answered_with_a_key() {
    let home = Home::full();
    let prepare = format!("cp -r {}/.codex $HOME/", home.0.path().display());
    for (answer, written) in [("n\r", false), ("y\r", true)] {
        let script = format!("{prepare}\nexec \"$TAU_BIN\" import");
        let mut screen = Screen::program(Path::new("/bin/sh"), &["-c", &script], 120, 60);
        screen.wait_for("Write these changes? [y/N]");
        screen.type_keys(answer);
        screen.wait_exit();
        assert_eq!(screen.tau_home().join("config.toml").exists(), written);
    }
}

#[test]
fn the_first_start_says_what_is_there() {
    let home = Home::full();
    let script = format!("cp -r {0}/.codex {0}/.claude $HOME/\nexec \"$TAU_BIN\"", home.0.path().display());
    let screen = Screen::program(Path::new("/bin/sh"), &["-c", &script], 120, 40);
    screen.wait_for("`tau import` shows what of Claude Code and Codex");
}

#[test]
fn doctor_names_what_is_read_in_place() {
    let home = Home::full();
    let output = home.tau(&["doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "other agents", "permission rules", ".claude/settings.json", ".codex/skills",
        ".config/opencode/command",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    // They are there without an import.
    let listed = home.tau(&["extensions"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in ["deploy", "ship", "fix"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
}
