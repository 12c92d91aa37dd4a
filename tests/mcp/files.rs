//! Server configuration files, and the commands that list, add, remove and try servers.

use std::path::Path;

use serde_json::json;

use super::{printed_in, server};
use crate::sandbox::has_landlock;
use crate::support::program::{Ended, bare, calls, last_result, offered_tools, run, says};

/// The `mcp.json` for a server called `demo` with this behaviour.
fn json_file(manner: &str) -> String {
    let toml: toml::Value = toml::from_str(&server::config("demo", manner, "")).unwrap();
    json!({"mcpServers": toml["mcp"], "somethingElse": true}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_a_directory_are_used_only_if_it_is_trusted() {
    for name in [".mcp.json", ".tau/config.toml"] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let log = place.path().join("log");
        let text = match name {
            ".mcp.json" => {
                json_file("usual").replace("\"FAKE_MCP\"", &format!("\"FAKE_LOG\":{log:?},\"FAKE_MCP\""))
            }
            _ => server::config("demo", "usual", "") + &format!("FAKE_LOG = {log:?}\n"),
        };
        std::fs::write(path, text).unwrap();
        let (ended, requests) = printed_in(place.path(), "", vec![says("Finished.")], &[]).await;
        assert!(ended.err.contains(&format!("ignoring {name}")), "{}", ended.err);
        assert_eq!(
            offered_tools(&requests[0]),
            ["read", "bash", "jobs", "edit", "write", "ask_user"],
            "{name}"
        );
        assert!(!log.exists(), "{name}: it was started");
        let acts = vec![calls("mcp__demo__echo", &json!({"text": "hi"})), says("Finished.")];
        let (_, requests) = printed_in(place.path(), "", acts, &["--trust"]).await;
        assert_eq!(last_result(&requests), "usual said: hi", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_other_agents_is_read_and_config_toml_counts_more() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("config")).unwrap();
    std::fs::write(place.path().join("config/mcp.json"), json_file("json")).unwrap();
    for (config, said) in
        [(String::new(), "json said: hi"), (server::config("demo", "toml", ""), "toml said: hi")]
    {
        let acts = vec![calls("mcp__demo__echo", &json!({"text": "hi"})), says("Finished.")];
        let (_, requests) = printed_in(place.path(), &config, acts, &[]).await;
        assert_eq!(last_result(&requests), said);
    }
    let off = "extensions_off = [\"mcp:demo\"]\n";
    let (_, requests) = printed_in(place.path(), off, vec![says("Finished.")], &[]).await;
    assert_eq!(offered_tools(&requests[0]).len(), 6);
}

/// As for other agents, `$NAME` is plain text in JSON, and `${NAME}` a variable.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_other_agents_names_variables_in_braces_only() {
    for (written, said) in
        [("$HOME", "$HOME said: hi"), ("a$$b", "a$$b said: hi"), ("${TAU_NONE:-x}", "x said: hi")]
    {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(".mcp.json"), json_file(written)).unwrap();
        let acts = vec![calls("mcp__demo__echo", &json!({"text": "hi"})), says("Finished.")];
        let (_, requests) = printed_in(place.path(), "", acts, &["--trust"]).await;
        assert_eq!(last_result(&requests), said);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_used_is_named_and_the_run_continues() {
    for (server, expected) in [
        (
            json!({"type": "sse", "url": "https://x.test/sse"}),
            "server `old` uses SSE, a transport that is too old",
        ),
        (json!({"type": "ws", "url": "wss://x.test"}), "server `old`"),
        (json!({"args": ["x"]}), "server `old` needs a `command` or a `url`"),
        (json!(7), "server `old`"),
    ] {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("config")).unwrap();
        let file = json!({"mcpServers": {"old": server}});
        std::fs::write(place.path().join("config/mcp.json"), file.to_string()).unwrap();
        let (ended, _) = printed_in(place.path(), "", vec![says("Finished.")], &[]).await;
        assert!(ended.err.contains(expected), "{server}: {}", ended.err);
        assert_eq!((ended.code, ended.out.trim()), (0, "Finished."), "{server}");
        let mut list = bare(place.path());
        let ended = run(list.env("TAU_HOME", place.path().join("config")).arg("sessions"), None).await;
        assert_eq!(ended.code, 0, "{server}: {}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandboxed_server_changes_nothing_outside_of_the_workspace() {
    if !has_landlock() {
        return eprintln!("skipped: this kernel has no Landlock");
    }
    for (setting, more, expected) in [
        ("", "", "written"),
        ("", "sandbox = true", "refused"),
        ("sandbox.mcp = true\n", "", "refused"),
        ("sandbox.mcp = true\n", "sandbox = false", "written"),
    ] {
        let (place, other) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let target = other.path().join("made.txt");
        let config = setting.to_owned() + &server::config("demo", "usual", more);
        let acts = vec![calls("mcp__demo__write", &json!({"text": target})), says("Finished.")];
        let (ended, requests) = printed_in(place.path(), &config, acts, &[]).await;
        assert_eq!(last_result(&requests), expected, "{setting} {more} {}", ended.err);
        assert_eq!(target.exists(), expected == "written");
        let inside = place.path().join("made.txt");
        let acts = vec![calls("mcp__demo__write", &json!({"text": inside})), says("Finished.")];
        let (_, requests) = printed_in(place.path(), &config, acts, &[]).await;
        assert_eq!(last_result(&requests), "written", "{setting} {more}");
    }
}

/// Runs `tau mcp …` with `place` as its home.
async fn mcp(place: &Path, arguments: &[&str]) -> Ended {
    let mut command = bare(place);
    command.env("TAU_HOME", place.join("config")).arg("mcp").args(arguments);
    run(&mut command, None).await
}

/// A server with an odd tool is tried like any other; the tool is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_an_odd_tool_is_tried() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config");
    crate::support::write(&config.join("config.toml"), &server::config("demo", "odd", ""));
    let tried = mcp(place.path(), &["test", "demo"]).await;
    assert_eq!(tried.code, 0, "{tried:?}");
    assert!(tried.out.contains("mcp__demo__echo") && !tried.out.contains("mcp__demo__bent"), "{tried:?}");
    assert!(tried.err.contains("left out tools that do not follow MCP: bent"), "{tried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_listed_added_tried_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let own = "# mine\nmouse = false # no\n".to_owned() + &server::config("demo", "usual", "");
    std::fs::write(config.join("config.toml"), &own).unwrap();
    let listed = mcp(place.path(), &["list"]).await;
    assert!(listed.out.starts_with("demo  on  sh -c "), "{listed:?}");
    let added =
        mcp(place.path(), &["add", "web", "--header", "Authorization: Bearer $T", "https://h.example/mcp"])
            .await;
    assert_eq!(added.code, 0, "{added:?}");
    // One that is there stays, unless it is the same.
    let again = mcp(place.path(), &["add", "web", "other-program"]).await;
    assert!(again.code != 0 && again.err.contains("tau mcp remove web"), "{again:?}");
    let added = mcp(place.path(), &["add", "gone", "-e", "A=b", "no-such-program-here", "--flag"]).await;
    assert_eq!(added.code, 0, "{added:?}");
    // As other agents write it; what looks like an option is never a program.
    let added = mcp(place.path(), &["add", "far off", "--transport", "http", "https://h.example/far"]).await;
    assert!(added.code == 0 && added.out.contains("`tau mcp test 'far off'` tries it"), "{added:?}");
    for (words, why) in [
        (["--url", "https://h.example/mcp"], "--url is neither a URL nor a command"),
        (["--transport=sse", "https://h.example/sse"], "SSE is a transport that MCP has replaced"),
        (["--transport=stdio", "https://h.example/sse"], "is for servers that are programs"),
        (["--transport=http", "program"], "is for servers with a URL"),
    ] {
        let refused = mcp(place.path(), &[&["add", "odd"], &words[..]].concat()).await;
        assert!(refused.code == 2 && refused.err.contains(why), "{refused:?}");
    }
    let odd = mcp(place.path(), &["add", "a/b", "program"]).await;
    assert!(odd.code == 2 && odd.err.contains("letters, digits, blanks, "), "{odd:?}");
    let text = std::fs::read_to_string(config.join("config.toml")).unwrap();
    for part in [
        own.as_str(),
        "[mcp.web]\nurl = \"https://h.example/mcp\"\nheaders = { Authorization = \"Bearer $T\" }\n",
        "[mcp.gone]\ncommand = \"no-such-program-here\"\nargs = [\"--flag\"]\nenv = { A = \"b\" }\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let tried = mcp(place.path(), &["test", "demo"]).await;
    assert_eq!(tried.code, 0, "{tried:?}");
    assert!(tried.out.starts_with("demo: 12 tools · fake\n"), "{tried:?}");
    assert!(tried.out.contains("mcp__demo__echo") && tried.out.contains("Says what it is told"), "{tried:?}");
    let tried = mcp(place.path(), &["test", "gone"]).await;
    assert_eq!(tried.code, 1, "{tried:?}");
    assert!(tried.err.contains("gone cannot be used: the program `no-such-program-here`"), "{tried:?}");
    for name in ["web", "gone", "far off"] {
        assert_eq!(mcp(place.path(), &["remove", name]).await.code, 0);
    }
    assert_eq!(std::fs::read_to_string(config.join("config.toml")).unwrap(), own);
    let removed = mcp(place.path(), &["remove", "web"]).await;
    assert!(
        removed.code == 2 && removed.err.contains("no server is called \"web\" (configured: demo)"),
        "{removed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_in_the_documents_works() {
    let text = std::fs::read_to_string(crate::harness::root().join("docs/extending.md")).unwrap();
    let (_, after) = text.split_once("```sh\n#!/bin/bash\n").expect("the script of a server");
    let (script, _) = after.split_once("\n```").unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("today-server");
    std::fs::write(&file, script).unwrap();
    // Run by its shell: a newly written file may still be open in a process that is being started.
    let config = format!("[mcp.today]\ncommand = \"bash\"\nargs = [{file:?}]\n");
    let acts = vec![calls("mcp__today__today", &json!({})), says("Finished.")];
    let (ended, requests) = printed_in(place.path(), &config, acts, &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let date = last_result(&requests);
    assert!(date.len() == 10 && date.chars().filter(|c| *c == '-').count() == 2, "{date}");
}
