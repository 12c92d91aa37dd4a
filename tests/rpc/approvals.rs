//! Calls that need approval, and the permission mode.

use tau::agent::api::OnAsk;
use tau::agent::catalogue::Catalogue;
use tau::agent::catalogue::keys::Keys;
use tau::agent::engine::host::{Host as _, RuleEdit};
use tau::agent::permissions::Verdict;
use tau::agent::protocol::approval::{PermissionMode, RuleScope};
use tau::agent::protocol::trust::Trust;
use tau::agent::settings::trust::Project;
use tau::agent::settings::{Paths, Settings};
use tau::cli::args::CliArgs;
use tau::cli::compose::host::ProgramHost;
use tau::tools::Toolbox;
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy};

use super::*;

#[tokio::test]
async fn a_client_decides_on_calls() {
    let call = |command: &str| vec![Call("c", "bash", json!({ "command": command })), USE];
    let answers = vec![call("touch one"), call("touch two"), call("touch three"), vec![Say("ok"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let request = client.until("approval_requested").await["request"].clone();
    assert_eq!(request["preview"]["command"], "touch one");
    let wrong = client.ask(json!({"type": "answer_approval", "approvalId": "a1", "decision": "maybe"})).await;
    assert!(wrong["error"].as_str().unwrap().contains("no decision"), "{wrong}");
    let answer = |id: &Value, decision: &str| json!({"type": "answer_approval", "approvalId": id, "decision": decision, "reason": "not this one"});
    let answered = client.ask(answer(&request["id"], "deny")).await;
    assert_eq!(answered["success"], true, "{answered}");
    let request = client.until("approval_requested").await["request"].clone();
    let covered = client.ask(json!({"type": "get_rule_coverage", "rule": "bash"})).await;
    assert_eq!(covered["data"]["titles"], json!(["touch one"]), "the second one waits");
    let text = client.ask(json!({"type": "get_proposed_text", "approvalId": request["id"]})).await;
    assert!(text["error"].as_str().unwrap().contains("writes no file"), "{text}");
    client.ask(answer(&request["id"], "allow")).await;
    client.until("approval_requested").await;
    // Another mode decides the waiting call.
    client.ask(json!({"type": "set_permission_mode", "mode": "auto"})).await;
    client.settled().await;
    let made = |name: &str| client.dir.path().join(name).exists();
    assert!(!made("one") && made("two") && made("three"));
    let outcomes: Vec<&Value> = client
        .seen
        .iter()
        .filter(|record| record["type"] == "approval_ended")
        .map(|record| &record["outcome"])
        .collect();
    assert_eq!(outcomes, ["denied", "allowed", "allowed"]);
    assert!(client.seen.iter().any(|record| record["type"] == "permission_mode_changed"));
}

/// The program around an agent with these settings files.
fn host(paths: &Paths) -> Arc<ProgramHost> {
    host_with(paths, &["tau"])
}

fn host_with(paths: &Paths, args: &[&str]) -> Arc<ProgramHost> {
    let catalogue = Arc::new(Catalogue::load(paths, &Settings::default(), None).unwrap());
    let keys = Keys::new(paths, &Settings::default(), catalogue, Arc::new(|_| None), None);
    let args = CliArgs::read(args).unwrap();
    Arc::new(ProgramHost {
        args,
        paths: paths.clone(),
        session_dir: None,
        keys: Arc::new(keys),
        rules: Arc::default(),
    })
}

#[tokio::test]
async fn new_rules_are_written_where_they_hold_and_hold_at_once() {
    let call = |command: &str| vec![Call("c", "bash", json!({ "command": command })), USE];
    let commands = ["touch one", "touch one", "mkdir two", "mkdir three", "touch four"];
    let mut answers: Vec<Vec<Step>> = commands.into_iter().map(call).collect();
    answers.push(vec![Say("ok"), STOP]);
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::under(home.path());
    let host = host(&paths);
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
        config.behavior.host = Some(host);
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let always = |id: &Value, rule: &str, scope: &str| json!({"type": "answer_approval", "approvalId": id, "decision": "allow_always", "rules": [rule], "scope": scope});
    let request = client.until("approval_requested").await["request"].clone();
    assert_eq!(request["suggestedRules"], json!(["bash(touch one)"]));
    client.ask(always(&request["id"], "bash(touch one)", "project")).await;
    // The second identical call needs no approval any more.
    let request = client.until("approval_requested").await["request"].clone();
    assert_eq!(request["title"], "mkdir two");
    client.ask(always(&request["id"], "bash(mkdir *)", "user")).await;
    let request = client.until("approval_requested").await["request"].clone();
    assert_eq!(request["title"], "touch four");
    client.ask(always(&request["id"], "bash(touch four)", "session")).await;
    client.settled().await;
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let project = read(client.dir.path().join(".tau/config.toml"));
    assert_eq!(project, "[permissions]\nallow = [\"bash(touch one)\"]\n");
    assert_eq!(read(paths.config_file()), "[permissions]\nallow = [\"bash(mkdir *)\"]\n");
    let trust = Project::of(client.dir.path()).unwrap().trust(&paths.trust_file()).unwrap();
    assert_eq!(trust, Trust::Trusted, "what tau wrote for the user is trusted");
}

/// A client's answer is about the call that waits: its rules cover that, and are no wider than a project's.
#[tokio::test]
async fn an_answer_of_a_client_allows_only_calls_like_this_one() {
    let touch = Call("c", "bash", json!({"command": "touch one"}));
    let answers = vec![vec![touch, USE], vec![Say("ok"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
        config.behavior.rules_of_clients = Some(Vec::new());
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let request = client.until("approval_requested").await["request"].clone();
    let always = |rules: &[&str], scope: &str| json!({"type": "answer_approval", "approvalId": request["id"], "decision": "allow_always", "rules": rules, "scope": scope});
    let too_wide: [&[&str]; 7] = [
        &["bash(*)"],
        &["bash"],
        &["*"],
        &["bash(make)"],
        &["write(src/**)"],
        &["edit(./**)"],
        &["bash(touch one)", "bash(rm one)"],
    ];
    for (rules, scope) in too_wide.iter().flat_map(|rules| [(rules, "session"), (rules, "user")]) {
        client.ask(always(rules, scope)).await;
        let listed = client.ask(json!({"type": "get_permission_rules"})).await["data"]["rules"].clone();
        assert_eq!(listed, json!([]), "{rules:?} {scope}");
        assert!(!client.types().contains(&"approval_ended"), "{rules:?} {scope}: it still waits");
    }
    client.ask(always(&["bash(touch one)"], "session")).await;
    client.settled().await;
    assert!(client.dir.path().join("one").exists());
}

/// A project in a folder of its own, and the settings of a user.
fn project() -> (tempfile::TempDir, tempfile::TempDir, Paths) {
    let (dir, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(dir.path().join(".tau")).unwrap();
    let paths = Paths::under(home.path());
    (dir, home, paths)
}

fn denying(rule: &str) -> RuleEdit {
    RuleEdit { add: Some((Verdict::Deny, rule.parse().unwrap(), RuleScope::Project)), remove: None }
}

#[test]
fn a_new_rule_trusts_no_file_that_appeared_meanwhile() {
    for _ in 0..20 {
        let (dir, _home, paths) = project();
        let at = |name: &str| dir.path().join(name);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
                while !at(".tau/config.toml").exists() && std::time::Instant::now() < end {}
                std::fs::write(at(".mcp.json"), "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}").unwrap();
            });
            host(&paths).save_rule(&denying("bash(rm *)"), dir.path()).unwrap();
        });
        let trust = |project: Project| project.trust(&paths.trust_file()).unwrap();
        assert_eq!(Project::of(dir.path()).map(trust), Some(Trust::Changed));
        std::fs::remove_file(at(".mcp.json")).unwrap();
        assert_eq!(Project::of(dir.path()).map(trust), Some(Trust::Trusted), "the rule is trusted");
    }
}

#[test]
fn the_flag_of_a_run_trusts_nothing_for_good() {
    let (dir, _home, paths) = project();
    std::fs::write(dir.path().join(".tau/config.toml"), "bash_timeout = 9\n").unwrap();
    host(&paths).save_rule(&denying("bash(rm *)"), dir.path()).unwrap_err();
    host_with(&paths, &["tau", "--trust"]).save_rule(&denying("bash(rm *)"), dir.path()).unwrap();
    let text = std::fs::read_to_string(dir.path().join(".tau/config.toml")).unwrap();
    assert!(text.contains("deny = [\"bash(rm *)\"]"), "{text}");
    let trust = Project::of(dir.path()).unwrap().trust(&paths.trust_file()).unwrap();
    assert_eq!(trust, Trust::Unknown);
}

#[tokio::test]
async fn rules_are_listed_changed_and_removed() {
    let call = vec![Call("c", "bash", json!({ "command": "touch one" })), USE];
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::under(home.path());
    let host = host(&paths);
    let mut client =
        Client::with(Player::new(vec![call, vec![Say("ok"), STOP]]), RpcEvents::Auto, |config| {
            config.tools = Toolbox::all();
            config.behavior.permission_mode = PermissionMode::Ask;
            config.behavior.on_ask = OnAsk::Ask;
            config.behavior.host = Some(host);
        });
    let listed = client.ask(json!({"type": "get_permission_rules"})).await["data"].clone();
    assert_eq!(listed["rules"], json!([]));
    assert!(listed["builtIn"].as_array().unwrap().iter().any(|row| row["verdict"] == "ask"), "{listed}");
    let change = |change: Value| {
        let mut command = json!({"type": "change_permission_rules"});
        command.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        command
    };
    let add = |list: &str, rule: &str, scope: &str| {
        change(json!({"add": {"list": list, "rule": rule, "scope": scope}}))
    };
    for (wrong, why) in [
        (change(json!({})), "name a rule"),
        (add("maybe", "bash", "session"), "unknown variant"),
        (add("allow", "bash(", "session"), "is not a rule"),
        (add("deny", "bash(rm *|mv *)", "session"), "matches nothing"),
        (
            change(json!({"remove": {"list": "deny", "rule": "bash", "scope": "user", "inForce": true}})),
            "no longer in force",
        ),
    ] {
        let answer = client.ask(wrong).await;
        assert!(answer["success"] == false && answer["error"].as_str().unwrap().contains(why), "{answer}");
    }
    // A rule decides a waiting call.
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("approval_requested").await;
    let denied =
        client.ask(json!({"type": "get_rule_coverage", "rule": "bash(touch *)", "list": "deny"})).await;
    assert_eq!(denied["data"]["titles"], json!([]), "it is no earlier one");
    let now = client.ask(add("deny", "bash(touch *)", "user")).await["data"].clone();
    let rule = &now["rules"][0];
    assert_eq!(
        (&rule["list"], &rule["rule"], &rule["scope"]),
        (&json!("deny"), &json!("bash(touch *)"), &json!("user"))
    );
    client.settled().await;
    assert!(!client.dir.path().join("one").exists());
    let written = std::fs::read_to_string(paths.config_file()).unwrap();
    assert_eq!(written, "[permissions]\ndeny = [\"bash(touch *)\"]\n");
    let now = client.ask(change(json!({ "remove": rule }))).await["data"].clone();
    assert_eq!(now["rules"], json!([]));
    assert!(client.seen.iter().any(|record| record["type"] == "rules_changed"));
}

#[tokio::test]
async fn a_command_of_the_client_says_what_the_sandbox_blocked() {
    needs!(crate::sandbox::has_landlock());
    let place = crate::sandbox::Place::new();
    let policy = SandboxPolicy { level: SandboxLevel::WorkspaceWrite, ..SandboxPolicy::off() };
    let mut client = Client::with(Player::new(Vec::new()), RpcEvents::Auto, |config| {
        config.behavior.sandbox.policy = policy.into();
        config.behavior.sandbox.user_commands = true;
    });
    let target = place.outside.join("made");
    let command = format!("echo x > {}", target.display());
    let answer = client.ask(json!({"type": "bash", "command": command})).await;
    assert_eq!(answer["data"]["blocked"], json!({"rule": "outside", "path": target}), "{answer}");
    let messages = client.ask(json!({"type": "get_messages"})).await;
    assert_eq!(messages["data"]["messages"][0]["blocked"]["rule"], "outside", "{messages}");
}

/// The rules that tau was started with are a ceiling for clients: they add nothing that allows, and remove
/// nothing that asks or denies except what they have added.
#[tokio::test]
async fn a_client_cannot_raise_what_rules_allow() {
    let home = tempfile::tempdir().unwrap();
    let config = "permission_mode = \"auto\"\n[permissions]\nallow = [\"bash(make)\"]\nask = [\"edit\"]\ndeny = [\"bash(curl *)\"]\n";
    let mut client = crate::mcp::client::Client::start(home.path(), config, "http://127.0.0.1:9");
    let listed = client.ask(json!({"type": "get_permission_rules"})).await["data"]["rules"].clone();
    let rule =
        |list: &str| listed.as_array().unwrap().iter().find(|rule| rule["list"] == list).unwrap().clone();
    let add = |list: &str, text: &str, scope: &str| json!({"list": list, "rule": text, "scope": scope});
    let change = |fields: Value| {
        let mut command = json!({"type": "change_permission_rules"});
        command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        command
    };
    for (fields, why) in [
        (json!({"add": add("allow", "bash", "session")}), "cannot add a rule that allows"),
        (json!({"add": add("allow", "bash(git push --force *)", "user")}), "cannot add a rule that allows"),
        (json!({"remove": rule("deny")}), "cannot remove the rule deny bash(curl *)"),
        (json!({"remove": rule("ask")}), "cannot remove the rule ask edit"),
        (json!({"remove": rule("deny"), "add": add("ask", "bash(curl *)", "user")}), "cannot remove"),
        (json!({"remove": rule("ask"), "add": add("deny", "edit", "session")}), "cannot remove"),
    ] {
        let answer = client.ask(change(fields.clone())).await;
        assert_eq!(answer["success"], false, "{fields}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{fields}: {answer}");
    }
    let added = client.ask(change(json!({"add": add("deny", "bash(wget *)", "session")}))).await;
    let rules = added["data"]["rules"].as_array().unwrap();
    let own = rules.iter().find(|rule| rule["rule"] == "bash(wget *)").unwrap();
    for fields in [json!({"remove": own}), json!({"remove": rule("allow")})] {
        let answer = client.ask(change(fields)).await;
        assert_eq!(answer["success"], true, "{answer}");
    }
    let written = std::fs::read_to_string(home.path().join("config/config.toml")).unwrap();
    assert!(written.contains("bash(curl *)") && written.contains("ask = [\"edit\"]"), "{written}");
}
