//! Instruction files: which are sent, what they import, and those of folders that the work reaches.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::background_jobs::wire::Client;
use crate::support::program::body;
use crate::support::write;

/// The messages of each request.
fn messages(server: &Server) -> Vec<Vec<Value>> {
    let of = |request: String| {
        let body = body(&request);
        body["messages"].as_array().unwrap().clone()
    };
    server.requests().into_iter().map(of).collect()
}

/// A project in a home directory with instruction files of every kind.
fn project(home: &Path) -> std::path::PathBuf {
    let work = home.join("work");
    fs::create_dir_all(work.join(".git")).unwrap();
    for (path, text) in [
        (".claude/CLAUDE.md", "OF-USER\n@~/more.md\n"),
        ("more.md", "IMPORTED-BY-USER"),
        ("secret.md", "SECRET"),
        ("linked.md", "OF-TAU"),
        (
            "work/AGENTS.override.md",
            "OVERRIDE, see @docs/a.md.\n`@docs/code.md`\n\n```\n@docs/code.md\n```\n\nand @~/secret.md @.env\n",
        ),
        ("work/AGENTS.md", "NOT-READ"),
        ("work/.env", "KEY=NOT-READ"),
        ("work/docs/a.md", "LEVEL-A @b.md @a.md"),
        ("work/docs/b.md", "LEVEL-B"),
        ("work/docs/code.md", "NOT-READ"),
        ("work/.claude/rules/all.md", "RULE-ALL"),
        ("work/.claude/rules/web/ts.md", "---\npaths:\n  - \"src/**/*.ts\"\n---\nRULE-TS"),
        ("work/CLAUDE.local.md", "LOCAL"),
        ("work/src/AGENTS.md", "OF-SRC"),
        ("work/src/deep/CLAUDE.md", "OF-DEEP"),
        ("work/src/deep/x.ts", "x\n"),
        ("work/other/AGENTS.md", "OF-OTHER"),
    ] {
        write(&home.join(path), text);
    }
    fs::create_dir_all(home.join("config")).unwrap();
    symlink(home.join("linked.md"), home.join("config/AGENTS.md")).unwrap();
    work
}

/// Checks that the texts are in `text` in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = text[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing behind {at} in {text}"));
    }
}

#[tokio::test]
async fn they_are_sent_in_order_and_a_project_imports_only_what_is_its_own() {
    let place = Place::new(vec![says("ok")]).await;
    let work = project(place.dir.path());
    let mut tau = place.own("");
    let ended = run(tau.current_dir(&work).args(["-p", "go"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let system = messages(&place.server)[0][0]["content"].as_str().unwrap().to_owned();
    in_order(
        &system,
        &["OF-USER", "IMPORTED-BY-USER", "OF-TAU", "OVERRIDE", "LEVEL-A", "LEVEL-B", "RULE-ALL", "LOCAL"],
    );
    for text in ["NOT-READ", "SECRET", "RULE-TS", "OF-SRC", "OF-DEEP", "OF-OTHER"] {
        assert!(!system.contains(text), "{text} in {system}");
    }
    assert_eq!(system.matches("LEVEL-A").count(), 1, "a file that imports itself is sent once");
    assert!(ended.err.contains("secret.md") && ended.err.contains("outside the project"), "{}", ended.err);
    assert!(ended.err.contains(".env, which"), "{}", ended.err);
}

#[tokio::test]
async fn those_of_a_folder_are_told_when_the_work_reaches_it_and_only_once() {
    for reaching in [
        calls("read", &json!({ "path": "src/deep/x.ts" })),
        calls("bash", &json!({ "command": "cat src/deep/x.ts | head" })),
        calls("edit", &json!({ "path": "src/deep/x.ts", "old_string": "x", "new_string": "y" })),
    ] {
        let again = calls("read", &json!({ "path": "src/deep/x.ts", "offset": 1 }));
        let place = Place::new(vec![reaching, again, says("ok"), says("later")]).await;
        let work = project(place.dir.path());
        let mut tau = place.own("");
        let ended = run(tau.current_dir(&work).args(["-p", "go"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let mut tau = place.own("");
        let ended = run(tau.current_dir(&work).args(["-c", "-p", "more"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let requests = messages(&place.server);
        assert_eq!(requests.len(), 4);
        for pair in requests.windows(2) {
            assert_eq!(pair[0], pair[1][..pair[0].len()], "what was sent stays, so the cache holds");
        }
        let told = serde_json::to_string(&requests[3]).unwrap();
        for text in ["OF-SRC", "OF-DEEP", "RULE-TS"] {
            assert_eq!(told.matches(text).count(), 1, "{text}: {told}");
        }
        let second = serde_json::to_string(&requests[1]).unwrap();
        in_order(&second, &["OF-SRC", "OF-DEEP"]);
        assert!(!told.contains("OF-OTHER"), "{told}");
    }
}

/// Each import that is not followed is named once, with the reason; people and packages are not imports.
#[tokio::test]
async fn an_import_that_is_not_followed_is_named_with_the_reason() {
    let read = |path: &str| calls("read", &json!({ "path": path }));
    let place = Place::new(vec![read("src/a"), read("src/b"), says("ok")]).await;
    let (home, work) = (place.dir.path(), place.dir.path().join("work"));
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::create_dir_all(work.join("docs/folder.md")).unwrap();
    fs::write(home.join("outside.md"), "SECRET").unwrap();
    let absolute = home.join("outside.md").display().to_string();
    let text = format!(
        "@~/outside.md @~/none.md @{absolute}.\n@docs/none.md, @./docs @docs/folder.md @alice @types/node @1.md"
    );
    write(&work.join("AGENTS.md"), &text);
    (1..=6).for_each(|n| write(&work.join(format!("{n}.md")), &format!("DEEP-{n} @{}.md", n + 1)));
    write(&work.join("7.md"), "DEEP-7");
    write(&work.join("src/AGENTS.md"), "OF-SRC @~/later.md");
    let rule = "---\npaths: \"src/b\"\n---\nRULE-B @~/of-rule.md @../../docs/of-rule.txt";
    write(&work.join(".claude/rules/b.md"), rule);
    write(&work.join("docs/of-rule.txt"), "BY-RULE-B");
    write(&work.join("src/a"), "a");
    write(&work.join("src/b"), "b");
    let ended = run(place.own("").current_dir(&work).args(["-p", "go"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    for (path, why) in [
        ("outside.md", "it is outside the project; import it in your own AGENTS.md"),
        ("~/none.md", "it is outside the project; import it in your own AGENTS.md"),
        ("docs/none.md", "it does not exist"),
        ("work/docs", "not a regular file"),
        ("docs/folder.md", "not a regular file"),
        ("6.md", "imports are followed 5 deep"),
        ("~/later.md", "it is outside the project; import it in your own AGENTS.md"),
        ("~/of-rule.md", "it is outside the project; import it in your own AGENTS.md"),
    ] {
        let path = path.replace('~', &home.display().to_string());
        let lines: Vec<&str> =
            ended.err.lines().filter(|line| line.contains(&format!("{path}, which"))).collect();
        assert!(lines.len() == 1 && lines[0].contains(why), "{path}: {lines:?} in {}", ended.err);
    }
    assert!(!ended.err.contains("alice") && !ended.err.contains("types"), "{}", ended.err);
    let sent = serde_json::to_string(&messages(&place.server)).unwrap();
    assert!(
        sent.contains("DEEP-5")
            && sent.contains("BY-RULE-B")
            && !sent.contains("DEEP-6")
            && !sent.contains("SECRET"),
        "{sent}"
    );
}

/// What a link of a project leads to is read as the model may read it: by the rules, and without secrets.
#[tokio::test]
async fn a_link_of_a_project_leads_to_what_may_be_read_unasked() {
    let place = Place::new(vec![says("ok"), says("ok")]).await;
    let work = place.dir.path().join("work");
    let token = format!("ghp_{}", "Zk9qLmvX2w".repeat(4).get(..36).unwrap());
    for (path, text) in [
        (".git/config", format!("[remote \"origin\"]\n\turl = https://u:{token}@github.com/x/y\n")),
        (".env", "DATABASE_PASSWORD=SECRET1".into()),
        ("server.pem", "SECRET2".into()),
        ("notes/a.md", "SECRET3".into()),
        ("docs/a.md", format!("LINKED {token}")),
        ("docs/rule.md", "LINKED-RULE".into()),
        ("imports.md", format!("IMPORTED {token} @linked.md")),
        ("docs/usual.md", "USUAL".into()),
    ] {
        write(&work.join(path), &text);
    }
    let link = |at: &str, to: &str| {
        let at = work.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    };
    for (name, to) in [("a", "../../.env"), ("b", "../../server.pem"), ("c", "../../notes/a.md")] {
        link(&format!(".claude/rules/{name}.md"), to);
        link(&format!(".claude/commands/{name}.md"), to);
    }
    link(".claude/rules/d.md", "../../docs/rule.md");
    link(".claude/commands/d.md", "../../docs/a.md");
    link(".claude/CLAUDE.md", "../.git/config");
    link("CLAUDE.local.md", "docs/a.md");
    link("linked.md", ".env");
    write(&work.join(".claude/rules/e.md"), "@../../imports.md @../../docs/usual.md");
    write(&place.dir.path().join("config/config.toml"), "[permissions]\ndeny = [\"read(notes/**)\"]\n");
    let ended = run(place.own("").current_dir(&work).args(["--trust", "-p", "/d"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let sent = messages(&place.server)[0].iter().map(Value::to_string).collect::<String>();
    for text in ["SECRET", token.as_str(), "u:ghp"] {
        assert!(!sent.contains(text), "{text} in {sent}");
    }
    assert_eq!(sent.matches("LINKED [redacted]").count(), 2, "the file and the template: {sent}");
    for text in ["LINKED-RULE", "IMPORTED [redacted]", "USUAL", "remote"] {
        assert!(sent.contains(text), "{text} in {sent}");
    }
    for (name, why) in [
        ("a.md", "files such as .env may hold secrets"),
        ("b.md", "protected, "),
        ("c.md", "a rule denies reading"),
    ] {
        let named = |line: &&str| line.contains(&format!("rules/{name}: ")) && line.contains(why);
        assert_eq!(ended.err.lines().filter(named).count(), 1, "{name}: {}", ended.err);
    }
    for name in ["/a", "/b", "/c"] {
        run(place.own("").current_dir(&work).args(["--trust", "-p", name]), None).await;
    }
    let sent = serde_json::to_string(&messages(&place.server)).unwrap();
    assert!(!sent.contains("SECRET"), "{sent}");
}

#[tokio::test]
async fn every_rule_that_is_left_out_is_named() {
    let place = Place::new(vec![says("ok")]).await;
    let work = place.dir.path().join("work");
    fs::create_dir_all(work.join(".git")).unwrap();
    (1..=6).for_each(|n| write(&work.join(format!(".claude/rules/r{n}.md")), &"x".repeat(60_000)));
    let ended = run(place.own("").current_dir(&work).args(["-p", "go"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let line = ended.err.lines().find(|line| line.contains("left out")).unwrap();
    let named = |n: i32| line.contains(&format!("r{n}.md"));
    assert_eq!([1, 2, 3, 4, 5].map(named), [false, false, true, true, true], "{line}");
    assert!(line.contains("r5.md and 1 more: at most"), "{line}");
}

#[tokio::test]
async fn without_context_files_nothing_is_read() {
    let place = Place::new(vec![calls("read", &json!({ "path": "src/deep/x.ts" })), says("ok")]).await;
    let work = project(place.dir.path());
    let mut tau = place.own("");
    let ended = run(tau.current_dir(&work).args(["--no-context-files", "-p", "go"]), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let sent = serde_json::to_string(&messages(&place.server)).unwrap();
    for text in ["OF-USER", "OF-TAU", "OVERRIDE", "LOCAL", "OF-SRC", "RULE"] {
        assert!(!sent.contains(text), "{text}");
    }
}

#[tokio::test]
async fn doctor_names_them() {
    let home = tempfile::tempdir().unwrap();
    let work = project(home.path());
    let mut doctor = bare(home.path());
    doctor.env("TAU_HOME", home.path().join("config")).current_dir(&work).args(["doctor", "--json"]);
    let ended = run(&mut doctor, None).await;
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let files: Vec<&str> =
        found["instructions"]["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let ends = *tau::tools::words!(
        ".claude/CLAUDE.md more.md config/AGENTS.md AGENTS.override.md docs/a.md docs/b.md all.md \
         CLAUDE.local.md"
    );
    assert_eq!(files.len(), ends.len(), "{files:?}");
    assert!(files.iter().zip(ends).all(|(file, end)| file.ends_with(end)), "{files:?}");
    assert!(ended.out.contains("outside the project"), "{}", ended.out);
}

#[tokio::test]
async fn those_of_a_folder_are_told_again_in_another_session() {
    let read = || calls("read", &json!({ "path": "src/deep/x.ts" }));
    let place = Place::new(vec![read(), says("ok"), read(), says("ok")]).await;
    let work = project(place.dir.path());
    let mut tau = place.own("");
    tau.current_dir(&work).args(["--mode", "rpc"]);
    let mut client = Client::of(tau);
    for _ in 0..2 {
        client.send(json!({ "type": "prompt", "message": "go" })).await;
        client.record("the end of the run", |record| record["type"] == "agent_settled").await;
        client.ask(json!({ "type": "new_session" })).await;
    }
    for request in [1, 3] {
        let told = serde_json::to_string(&messages(&place.server)[request]).unwrap();
        assert!(told.contains("OF-DEEP"), "{request}: {told}");
    }
}
