//! Kinds of helpers from files, in the places where other agents have them, and the events of helpers.

use serde_json::{Value, json};

use super::{Asked, Home, delegate};
use crate::support::program::{calls_all, run, says_using};
use crate::support::write;

const READER: &str = "---\nname: reader\ndescription: Reads\n  everything.\ntools: Read, Grep, Bash(git:*), mcp__x__y\n\
    model: haiku\n---\n\nYou only read.\n";
const PLAIN: &str = "name = \"plain\"\ndescription = \"Does it plainly.\"\ndeveloper_instructions = \"Be plain.\"\n\
    sandbox_mode = \"read-only\"\nmodel = \"own/small\"\n[mcp_servers.x]\ncommand = \"x\"\n";
const QUIET: &str = "---\ndescription: Says nothing.\nmode: subagent\ntools:\n  write: false\npermission:\n  bash: deny\n\
    ---\nBe quiet.\n";

fn files(home: &Home) {
    let work = home.work();
    write(&work.join(".claude/agents/deep/reader.md"), READER);
    write(&work.join(".claude/agents/README.md"), "About these agents.\n");
    write(&work.join(".codex/agents/plain.toml"), PLAIN);
    write(&work.join(".opencode/agent/quiet.md"), QUIET);
    write(&work.join(".opencode/agent/main.md"), "---\ndescription: Not a helper.\nmode: primary\n---\nx\n");
    write(&work.join(".tau/agents/explore.md"), "---\ndescription: Mine.\n---\nWrite everything.\n");
    write(&home.dir.path().join(".claude/agents/reader.md"), &READER.replace("You only read.", "Mine."));
}

/// The description of the tool in a request.
fn description(asked: &Asked) -> String {
    let tools = asked.body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "delegate").unwrap();
    tool["function"]["description"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn files_of_trusted_projects_are_kinds() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => {
            let kinds = ["reader", "plain", "quiet", "explore", "main"];
            let all: Vec<(&str, Value)> = kinds
                .iter()
                .map(|kind| delegate(json!({ "task": format!("as {kind}"), "kind": kind })))
                .collect();
            calls_all(&all, 10)
        }
        _ => says_using("done", 10),
    })
    .await;
    files(&home);
    // A project that is not trusted adds nothing; the user's own files do.
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = description(&home.parent());
    assert!(text.ends_with("\n- `reader`: Reads everything."), "{text}");
    let reader = home.of_helpers().into_iter().find(|asked| asked.task() == "as reader").unwrap();
    assert!(reader.system().ends_with("\n\nMine."), "{}", reader.system());
    assert!(
        home.parent().results()[1]
            .starts_with("delegate: no kind \"plain\"; the kinds are explore, work, review, reader")
    );
    let before = home.asked().len();
    let ended = home.print(&["--trust", "go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = description(&home.parent());
    let kinds = "\n- `plain`: Does it plainly.\n- `quiet`: Says nothing.\n- `reader`: Reads everything.";
    assert!(text.ends_with(kinds), "{text}");
    let asked: Vec<Asked> = home.asked().into_iter().skip(before).filter(Asked::is_helper).collect();
    let of = |task: &str| asked.iter().find(|asked| asked.task() == task).unwrap();
    assert!(of("as reader").system().ends_with("\n\nYou only read."));
    assert_eq!(of("as reader").tools(), ["read", "grep"]);
    assert!(of("as plain").system().ends_with("\n\nBe plain."));
    assert_eq!(of("as plain").body["model"], "small");
    for (task, missing) in
        [("as plain", ["edit", "write", "bash"].as_slice()), ("as quiet", &["write", "bash"])]
    {
        let tools = of(task).tools();
        assert!(tools.contains(&"read".to_owned()), "{task}: {tools:?}");
        assert!(missing.iter().all(|name| !tools.contains(&(*name).to_owned())), "{task}: {tools:?}");
    }
    // A built-in kind is what it is everywhere.
    assert!(of("as explore").system().contains("You cannot change anything."));
    assert!(home.parent().results()[4].starts_with("delegate: no kind \"main\"; "));
    // Lists have them, with their problems.
    let mut list = home.program();
    let listed = run(list.args(["extensions", "--trust"]), None).await.out;
    assert!(listed.contains("Kinds of helpers"), "{listed}");
    assert!(listed.contains("explore is built in; give it another name"), "{listed}");
    assert!(listed.contains("Bash(git:*) is left out"), "{listed}");
}

/// However a kind of another agent denies a tool, the helper does not have it.
#[tokio::test]
async fn denials_of_other_agents_take_tools_away() {
    let table = [
        ("star", "permission: {\"*\": deny, read: allow}", "read", ""),
        ("off", "tools: {\"*\": false, read: true, list: true}", "read ls", ""),
        ("all", "permission: deny", "", ""),
        (
            "log",
            "permission: {\"*\": deny, read: allow, bash: {\"*\": deny, \"git log*\": allow}}",
            "read",
            "bash is taken away for all calls",
        ),
        ("some", "permission: {\"*\": false, read: allow, bash: ask}", "read", "bash: ask is not used"),
        (
            "rm",
            "tools: [Read, Bash]\ndisallowedTools: Bash(rm *)",
            "read",
            "Bash(rm *) is taken away for all calls",
        ),
        (
            "hooked",
            "tools: Read\nhooks: {PreToolUse: [{hooks: [{command: exit 2}]}]}",
            "read",
            "its hooks are not used",
        ),
        (
            "quiet",
            "tools: {write: false, bash: false, jobs: false, \"gre*\": false, delegate: false, ask_user: false}",
            "read",
            "",
        ),
    ];
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => {
            let order = |(kind, ..): &(&str, &str, &str, &str)| {
                delegate(json!({ "task": format!("as {kind}"), "kind": kind }))
            };
            calls_all(&table.iter().map(order).collect::<Vec<_>>(), 10)
        }
        _ => says_using("done", 10),
    })
    .await;
    for (name, fields, ..) in table {
        let text = format!("---\ndescription: Is {name}.\nmode: subagent\n{fields}\n---\nBe {name}.\n");
        write(&home.config().join(format!("agents/{name}.md")), &text);
    }
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let helpers = home.of_helpers();
    let listed = run(home.program().args(["extensions"]), None).await.out;
    for (name, fields, tools, problem) in table {
        let asked = helpers.iter().find(|asked| asked.task() == format!("as {name}")).unwrap();
        let has = asked.body["tools"].as_array().map(|_| asked.tools()).unwrap_or_default().join(" ");
        assert_eq!(has, tools, "{fields}");
        assert!(listed.contains(problem), "{problem}: {listed}");
    }
}

#[tokio::test]
async fn what_a_kind_names_that_does_not_exist_is_said() {
    let table = [
        ("usual", "name: usual", ""),
        ("every", "tools: \"*\"", ""),
        ("odd", "tools: [Read, TodoWrite]\ndisallowedTools: Bsh", "no tool is called todowrite or bsh"),
        ("lost", "model: nobody/nothing", "that of its parent is used instead: no model matches"),
    ];
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => {
            let order = |(kind, ..): &(&str, &str, &str)| {
                delegate(json!({ "task": format!("as {kind}"), "kind": kind }))
            };
            calls_all(&table.iter().map(order).collect::<Vec<_>>(), 10)
        }
        _ => says_using("done", 10),
    })
    .await;
    for (name, fields, _) in table {
        let text = format!("---\ndescription: Is {name}.\n{fields}\n---\nBe {name}.\n");
        write(&home.config().join(format!("agents/{name}.md")), &text);
    }
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("the model of the kind lost cannot be used"), "{}", ended.err);
    let helpers = home.of_helpers();
    let of = |kind: &str| helpers.iter().find(|asked| asked.task() == format!("as {kind}")).unwrap();
    assert_eq!(of("every").tools(), of("usual").tools());
    assert_eq!(of("odd").tools(), ["read"]);
    assert_eq!(of("lost").body["model"], home.parent().body["model"]);
    let listed = run(home.program().args(["extensions"]), None).await.out;
    let problems = listed.split("\nProblems\n").nth(1).unwrap_or_default();
    assert!(table.iter().all(|(.., problem)| problems.contains(problem)), "{listed}");
    assert_eq!(problems.lines().count(), 2, "{listed}");
}

#[tokio::test]
async fn modes_and_turns_of_other_agents_only_restrict() {
    let home = Home::new(|asked| match (asked.is_helper(), asked.task().as_str()) {
        (false, _) if asked.results().is_empty() => {
            let kinds = ["planner", "free", "short"];
            let order = |kind: &&str| delegate(json!({ "task": format!("as {kind}"), "kind": kind }));
            calls_all(&kinds.iter().map(order).collect::<Vec<_>>(), 10)
        }
        (true, "as short") => calls_all(&[("read", json!({ "path": "." }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    for (name, field) in [
        ("planner", "permissionMode: plan"),
        ("free", "permissionMode: bypassPermissions"),
        ("short", "maxTurns: 2"),
    ] {
        let text = format!("---\nname: {name}\ndescription: Is {name}.\n{field}\n---\nBe {name}.\n");
        crate::support::write(&home.config().join(format!("agents/{name}.md")), &text);
    }
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let of =
        |task: &str| home.of_helpers().into_iter().filter(|asked| asked.task() == task).collect::<Vec<_>>();
    let missing = ["edit", "write", "bash"];
    assert!(of("as planner")[0].tools().iter().all(|tool| !missing.contains(&tool.as_str())));
    assert!(of("as free")[0].tools().contains(&"bash".to_owned()));
    assert_eq!(of("as short").len(), 2);
    let mut list = home.program();
    let listed = run(list.args(["extensions"]), None).await.out;
    assert!(listed.contains("permissionMode bypassPermissions is not used"), "{listed}");
}

#[tokio::test]
async fn events_of_helpers_are_sent_to_those_who_want_them() {
    let choose = |asked: &Asked| match (asked.is_helper(), asked.task().as_str(), asked.results().len()) {
        (false, _, 0) => calls_all(&[delegate(json!({ "task": "outer" }))], 10),
        (true, "outer", 0) => calls_all(&[delegate(json!({ "task": "inner" }))], 10),
        _ => says_using("done", 10),
    };
    let home = Home::new(choose).await;
    let ended = run(&mut home.tau(&["--json", "go"]), None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.out.contains("helper_event"), "off unless it is asked for");
    let ended = run(&mut home.tau(&["--json", "--helper-events", "go"]), None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let of = |helper: &str| -> Vec<String> {
        let records = ended.records();
        let nested =
            records.iter().filter(|record| record["type"] == "helper_event" && record["helper"] == helper);
        nested.map(|record| record["event"]["type"].as_str().unwrap().to_owned()).collect()
    };
    for helper in ["1", "1.1"] {
        let events = of(helper);
        assert_eq!(events.first().map(String::as_str), Some("agent_start"), "{helper}: {events:?}");
        assert_eq!(events.last().map(String::as_str), Some("agent_settled"), "{helper}: {events:?}");
        assert!(events.iter().any(|event| event == "message_update"), "{helper}: {events:?}");
    }
    let calls: Vec<Value> =
        ended.records().into_iter().filter(|record| record["type"] == "helper_event").collect();
    assert!(
        calls.iter().all(|record| record["toolCallId"] == calls[0]["toolCallId"]),
        "the call of the session"
    );
}

#[tokio::test]
async fn the_list_of_tools_says_whether_helpers_are_on() {
    let home = Home::new(|_| says_using("done", 10)).await;
    let on = "[helpers]\nenabled = true\n";
    let chosen = format!("tools = [\"read\"]\n{on}");
    for (settings, state) in [(on, "on"), (chosen.as_str(), "on"), ("", "off")] {
        std::fs::write(home.config().join("config.toml"), settings).unwrap();
        let listed = run(home.program().arg("tools"), None).await;
        let line = listed.out.lines().find(|line| line.contains(" delegate ")).unwrap();
        assert!(line.starts_with(&format!("{state} ")), "{settings}: {line}");
    }
}
