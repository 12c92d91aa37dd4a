//! Packages of extensions: added from every kind of source, shown before, used, turned off, updated and removed.
//! The real program, repositories on disk, and a registry on loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA512, digest};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::program::{Ended, bare, run};
use crate::support::time_limit::RunInTime;

/// The home of a user, with a folder `plug` that is a plugin.
struct Home(tempfile::TempDir);

const SKILL: &str = "---\nname: greet\ndescription: Greets people. Use it when somebody says hello.\nallowed-tools: \
    Read\n---\nSay hello.\n";

impl Home {
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        home.write(
            "plug/.claude-plugin/plugin.json",
            "\u{feff}{\"name\":\"greeter\",\"version\":\"1.0.0\",\"description\":\"Greets.\"}",
        );
        home.write("plug/skills/greet/SKILL.md", SKILL);
        home.write("plug/commands/hello.md", "Say hello to $1.");
        home.write("plug/agents/a.md", "---\nname: critic\ndescription: Reviews.\n---\nAn agent.");
        home.write("plug/output-styles/a.md", "A style.");
        let hook = json!({"hooks": {"UserPromptSubmit": [{"hooks": [
            {"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/mark.sh\""},
            {"type": "command", "command": "echo kept >>\"${CLAUDE_PLUGIN_DATA}/kept\""},
            {"type": "command", "command": "touch ${user_config.place}"}]}]}});
        home.write("plug/hooks/hooks.json", &format!("\u{feff}{hook}"));
        home.write("plug/mark.sh", "#!/bin/sh\necho ran >>marked\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(home.path("plug/mark.sh"), executable).unwrap();
        // Without `mcpServers` around it, as plugins may write it.
        home.write("plug/.mcp.json", r#"{"db":{"command":"${CLAUDE_PLUGIN_ROOT}/no-server","args":["x"]},
            "pm":{"command":"pm","env":{"D":"${CLAUDE_PLUGIN_DATA}"}},"tok":{"command":"tok","args":["${user_config.token}"]}}"#);
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        crate::support::write(&self.path(path), text);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.0.path());
        command.env("TAU_HOME", self.path("tau")).env("TAU_LOCAL_SERVERS", "false").args(arguments);
        command
    }

    async fn tau(&self, arguments: &[&str]) -> Ended {
        run(&mut self.command(arguments), None).await
    }

    async fn rows(&self) -> Vec<Value> {
        let listed = self.tau(&["extensions", "--json"]).await;
        let value: Value = serde_json::from_str(&listed.out).unwrap_or_else(|_| panic!("{listed:?}"));
        value["extensions"].as_array().unwrap().clone()
    }

    /// The state and the problems of an extension.
    async fn state(&self, kind: &str, name: &str) -> Option<(String, String)> {
        let rows = self.rows().await;
        let row = rows.iter().find(|row| row["kind"] == kind && row["name"] == name)?;
        Some((row["state"].as_str().unwrap().to_owned(), row["problems"].to_string()))
    }
}

fn on() -> Option<(String, String)> {
    Some(("on".to_owned(), "[]".to_owned()))
}

#[tokio::test]
async fn problems_of_a_package_name_its_own_files() {
    let home = Home::new();
    home.write("plug/hooks/hooks.json", r#"{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"x"}]}]}}"#);
    let shown = home.tau(&["add", "./plug"]).await;
    assert!(
        shown.out.contains("\nhooks/hooks.json: hook Stop: ") && !shown.out.contains(".new-"),
        "{shown:?}"
    );
}

/// What a package runs is shown with everything hidden in it.
#[tokio::test]
async fn nothing_hides_in_the_commands_of_a_package() {
    let home = Home::new();
    let command = format!("sh b\u{200b}u\u{1161}ild.sh{}; evil", " ".repeat(3_000));
    let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    home.write("plug/hooks/hooks.json", &hook.to_string());
    home.write("plug/.mcp.json", &json!({"db": {"command": command}}).to_string());
    let shown = home.tau(&["add", "./plug"]).await.out;
    let spelled = "sh b<U+200B>u<U+1161>ild.sh⋯ 3,000 blanks ⋯; evil";
    assert_eq!(shown.matches(spelled).count(), 2, "{shown}");
}

/// The summary names what a server is sent, and what is wrong with one.
#[tokio::test]
async fn servers_of_a_package_are_shown_with_their_variables_and_faults() {
    let home = Home::new();
    let servers = json!({
        "web": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-K": "${MY_SECRET_TOKEN}"}},
        "old": {"type": "sse", "url": "https://x.example/sse"},
        "odd": {"command": 7},
    });
    home.write("plug/.mcp.json", &servers.to_string());
    let added = home.tau(&["add", "./plug", "--yes"]).await;
    for part in
        ["web (https://x.example/mcp with X-K, from your MY_SECRET_TOKEN)", "`old` uses SSE", "server `odd`"]
    {
        assert!(added.out.contains(part), "{part}: {added:?}");
    }
    home.write("more/skills/greet/SKILL.md", SKILL);
    home.write("more/.mcp.json", r#"{"web": {"command": "other"}}"#);
    let added = home.tau(&["add", "./more", "--yes"]).await;
    assert_eq!(added.code, 0, "{added:?}");
    for command in [&["mcp", "list"][..], &["extensions"], &["-p", "--model", "demo", "hello"]] {
        let ended = home.tau(command).await;
        for part in ["`old` uses SSE", "server `odd`", "server `web` is not used"] {
            assert!(ended.err.contains(part), "{part}: {ended:?}");
        }
    }
}

/// An addition that is stopped leaves nothing; what one that was killed has left goes with the next.
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_that_is_stopped_leaves_nothing() {
    let home = Home::new();
    let unfinished = || {
        let names = std::fs::read_dir(home.path("tau/packages")).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".new-")).collect::<Vec<_>>()
    };
    // It accepts, and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    for source in [format!("git+http://{address}/x"), format!("http://{address}/x.zip")] {
        let mut command = home.command(&["add", &source, "--yes"]);
        let mut running = command.kill_on_drop(true).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while unfinished().is_empty() {
            assert!(Instant::now() < end);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Another one at the same time does not take its folder away.
        home.tau(&["add", "plug", "--yes"]).await;
        assert_eq!(unfinished().len(), 1);
        let id = rustix::process::Pid::from_raw(i32::try_from(running.id().unwrap()).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(60), running.wait()).await.unwrap().unwrap();
        assert_eq!((ended.code(), unfinished()), (Some(130), Vec::new()));
    }
    std::fs::create_dir_all(home.path("tau/packages/.new-killed/files")).unwrap();
    home.tau(&["add", "plug", "--yes"]).await;
    assert_eq!(unfinished(), Vec::<String>::new());
    // tau's own folder is not a package.
    let above = home.tau(&["add", ".", "--yes"]).await;
    assert!(above.code == 3 && above.err.contains("tau keeps its packages below this folder"), "{above:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_shown_added_used_and_removed() {
    let home = Home::new();
    // Shown, and not added while nobody can be asked.
    let shown = home.tau(&["add", "./plug"]).await;
    assert!(shown.code == 2 && shown.err.contains("--yes"), "{shown:?}");
    let words = "greeter 1.0.0|Greets.|greet|/hello|Read|critic|output styles|without a question|UserPromptSubmit (|\
                 sandboxed as your settings|in every request|8 files|SHA-256";
    let sentences = [
        "\"${CLAUDE_PLUGIN_ROOT}/mark.sh\"",
        "db (${CLAUDE_PLUGIN_ROOT}/no-server x)",
        "the MCP server tok is not used: ${user_config.token} has no value in tau",
        "a hook of UserPromptSubmit is not used: ${user_config.place} has no value in tau",
    ];
    for part in words.split('|').chain(sentences) {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert!(home.rows().await.iter().all(|row| row["kind"] != "package"));
    let left: Vec<_> = std::fs::read_dir(home.path("tau/packages")).unwrap().collect();
    assert!(left.is_empty() && !home.path("tau/package-data").exists(), "{left:?}");

    let added = home.tau(&["add", "plug", "--yes"]).await;
    assert!(added.code == 0 && added.out.contains("added greeter"), "{added:?}");
    assert_eq!(home.state("package", "greeter").await, on());
    assert_eq!(home.state("skill", "greet").await, on());
    assert_eq!(home.state("helper_kind", "critic").await, on());
    let rows = home.rows().await;
    let skill = rows.iter().find(|row| row["name"] == "greet").unwrap();
    let package = rows.iter().find(|row| row["name"] == "greeter").unwrap();
    assert_eq!((&skill["source"], &skill["tokens"]), (&json!("package"), &package["tokens"]));
    assert!(skill["tokens"].as_u64().unwrap() > 0);
    // The source may go: what was added stays.
    std::fs::rename(home.path("plug"), home.path("moved")).unwrap();
    assert_eq!(home.tau(&["-p", "--model", "demo", "hello"]).await.code, 0);
    assert_eq!(std::fs::read_to_string(home.path("marked")).unwrap(), "ran\n");
    assert_eq!(std::fs::read_to_string(home.path("tau/package-data/greeter/kept")).unwrap(), "kept\n");
    assert!(home.tau(&["uninstall", "--purge"]).await.out.contains("package-data"));
    let servers = home.tau(&["mcp", "list"]).await;
    let root = home.path("tau/packages/greeter").canonicalize().unwrap();
    assert!(servers.out.contains(&format!("{}/no-server x", root.display())), "{servers:?}");
    assert!(!servers.out.lines().any(|line| line.trim_start().starts_with("tok ")), "{servers:?}");

    // Off as a whole.
    home.write("tau/config.toml", "extensions_off = [\"package:greeter\"]\n");
    assert_eq!(home.state("package", "greeter").await.unwrap().0, "off");
    assert_eq!(home.state("skill", "greet").await, None);
    home.tau(&["-p", "--model", "demo", "hello"]).await;
    assert_eq!(std::fs::read_to_string(home.path("marked")).unwrap(), "ran\n");
    assert!(!home.tau(&["mcp", "list"]).await.out.contains("no-server"));
    std::fs::remove_file(home.path("tau/config.toml")).unwrap();

    // Files that have changed are not used.
    home.write("tau/packages/greeter/mark.sh", "#!/bin/sh\necho changed >>marked\n");
    let (state, problems) = home.state("package", "greeter").await.unwrap();
    assert!(state == "failed" && problems.contains("have changed since it was added"), "{state} {problems}");
    home.tau(&["-p", "--model", "demo", "hello"]).await;
    assert_eq!(std::fs::read_to_string(home.path("marked")).unwrap(), "ran\n");

    let removed = home.tau(&["remove", "greeter"]).await;
    assert!(removed.code == 0 && !root.exists() && !home.path("tau/package-data/greeter").exists());
    assert_eq!(home.state("package", "greeter").await, None);
    let again = home.tau(&["remove", "greeter"]).await;
    assert!(again.code == 3 && again.err.contains("no package is called greeter"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_updated_only_when_asked() {
    let home = Home::new();
    home.tau(&["add", "plug", "--yes"]).await;
    home.write("plug/skills/greet/SKILL.md", &SKILL.replace("Say hello.", "Say good day."));
    home.write("plug/extra.txt", "more");
    let used = || std::fs::read_to_string(home.path("tau/packages/greeter/skills/greet/SKILL.md")).unwrap();
    home.tau(&["extensions"]).await;
    assert!(used().contains("Say hello."));
    let shown = home.tau(&["add", "--update", "greeter"]).await;
    assert!(shown.code == 2 && shown.out.contains("replaces SHA-256"), "{shown:?}");
    assert!(shown.out.contains("~ skills/greet/SKILL.md") && shown.out.contains("+ extra.txt"), "{shown:?}");
    assert!(used().contains("Say hello."));
    let updated = home.tau(&["add", "--update", "--yes"]).await;
    assert!(updated.code == 0 && updated.out.contains("updated greeter"), "{updated:?}");
    assert!(used().contains("Say good day.") && home.state("package", "greeter").await == on());
    let same = home.tau(&["add", "--update"]).await;
    assert_eq!((same.code, same.out.as_str()), (0, "greeter is up to date\n"), "{same:?}");
    // Another package of the same name does not replace it.
    home.write("other/SKILL.md", &SKILL.replace("greet\n", "greeter\n"));
    let other = home.tau(&["add", "other", "--yes"]).await;
    assert!(other.code == 3 && other.err.contains("you have another package greeter"), "{other:?}");
    assert!(used().contains("Say good day."));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_of_a_package_hides_no_change() {
    let home = Home::new();
    home.tau(&["add", "plug", "--yes"]).await;
    let (memory, file) =
        (home.path("tau/packages/.verified.json"), home.path("tau/packages/greeter/mark.sh"));
    // Not before its files are three seconds old.
    let end = Instant::now() + Duration::from_secs(60);
    while !memory.exists() {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(home.state("package", "greeter").await, on());
    }
    assert_eq!(memory.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(home.state("package", "greeter").await, on());
    let list: Value = serde_json::from_slice(&std::fs::read(&memory).unwrap()).unwrap();
    // The same size, and the time of before.
    let (text, time) = (std::fs::read(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
    let mut changed = text.clone();
    changed[0] = b' ';
    let write = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    write(&changed);
    let is_refused =
        |state: Option<(String, String)>| state.unwrap().1.contains("have changed since it was added");
    assert!(is_refused(home.state("package", "greeter").await));
    // No content of the memory, or none that can be read, makes it pass.
    let hostile = [
        list.to_string(),
        "{".to_owned(),
        String::new(),
        json!({"greeter": {"sha256": "", "stamps": ""}}).to_string(),
    ];
    for hostile in hostile {
        std::fs::write(&memory, hostile).unwrap();
        assert!(is_refused(home.state("package", "greeter").await));
    }
    std::fs::remove_file(&memory).unwrap();
    std::fs::create_dir(&memory).unwrap();
    assert!(is_refused(home.state("package", "greeter").await));
    write(&text);
    assert_eq!(home.state("package", "greeter").await, on());
}

/// Runs a program of the system.
fn system(folder: &Path, program: &str, arguments: &[&str]) {
    let mut command = Program::new(program);
    command.args(arguments).current_dir(folder).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    let ended = command.output_in_time();
    assert!(ended.status.success(), "{program} {arguments:?}: {ended:?}");
}

fn commit(folder: &Path) {
    system(folder, "git", &["add", "-A"]);
    system(folder, "git", &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_archives_and_links() {
    let home = Home::new();
    let plug = home.path("plug");
    std::os::unix::fs::symlink("/etc/passwd", plug.join("link")).unwrap();
    system(&plug, "git", &["init", "-q", "-b", "main"]);
    // A hook of the repository is not run.
    home.write("plug/.git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/never\n");
    commit(&plug);
    system(&plug, "git", &["tag", "v1"]);
    home.write("plug/later", "x");
    commit(&plug);
    let url = format!("file://{}", plug.display());
    let added = home.tau(&["add", &format!("{url}#v1"), "--yes"]).await;
    assert!(added.code == 0 && added.out.contains("without 1 link"), "{added:?}");
    let root = home.path("tau/packages/greeter");
    assert!(!root.join("later").exists() && !root.join(".git").exists() && root.join("mark.sh").exists());
    assert!(root.join("link").symlink_metadata().is_err());
    let list: Value =
        serde_json::from_slice(&std::fs::read(home.path("tau/packages.json")).unwrap()).unwrap();
    assert_eq!(list["greeter"]["revision"].as_str().unwrap().len(), 40, "{list}");
    let short = list["greeter"]["revision"].as_str().unwrap().get(..8).unwrap().to_owned();
    let again = home.tau(&["add", &format!("{url}#{short}"), "--yes"]).await;
    assert!(again.code == 0 && !root.join("later").exists(), "{again:?}");
    let none = home.tau(&["add", &format!("{url}#abd98aff"), "--yes"]).await;
    assert!(none.code == 3 && none.err.contains("git could not fetch"), "{none:?}");
    // The newest commit, for whoever asks for it.
    let updated = home.tau(&["add", &url, "--yes"]).await;
    assert!(updated.code == 0 && root.join("later").exists(), "{updated:?}");
    let gone = home.tau(&["add", "file:///nowhere/at/all", "--yes"]).await;
    assert!(gone.code == 3 && gone.err.contains("git could not fetch"), "{gone:?}");

    system(home.0.path(), "tar", &["czf", "plug.tgz", "--exclude=.git", "plug"]);
    home.tau(&["remove", "greeter"]).await;
    let added = home.tau(&["add", "plug.tgz", "--yes"]).await;
    assert!(added.out.contains("without 1 link"), "{added:?}");
    assert!(added.code == 0 && root.join("mark.sh").exists(), "{added:?}");
    assert!(root.join("mark.sh").metadata().unwrap().permissions().mode() & 0o111 != 0);
    let nothing = home.tau(&["add", "plug/agents", "--yes"]).await;
    assert!(nothing.code == 3 && nothing.err.contains("no skills, prompt templates"), "{nothing:?}");
    let missing = home.tau(&["add", "nowhere", "--yes"]).await;
    assert!(missing.code == 2 && missing.err.contains("npm:NAME"), "{missing:?}");
    let empty = home.tau(&["add", ""]).await;
    assert!(empty.code == 2 && empty.err.contains("the source is empty"), "{empty:?}");
    let words = home.tau(&["add", "tests", "for", "this"]).await;
    assert!(words.code == 2 && words.err.contains("tau -- add"), "{words:?}");
}

/// A server of git behind an ssh that runs what it is told here.
#[tokio::test(flavor = "multi_thread")]
async fn a_marketplace_names_a_folder_of_a_repository() {
    let home = Home::new();
    system(home.0.path(), "git", &["init", "-q", "-b", "main"]);
    commit(home.0.path());
    home.write("ssh", "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n");
    std::fs::set_permissions(home.path("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let url = format!("ssh://h.example{}", home.0.path().display());
    for (path, why) in [("plug", ""), ("../plug", "no folder ../plug"), ("gone", "no folder gone")] {
        let source = json!({ "source": "git-subdir", "url": url, "path": path });
        let list = json!({ "name": "market", "plugins": [{ "name": "greeter", "source": source }] });
        home.write("market/.claude-plugin/marketplace.json", &list.to_string());
        let mut command = home.command(&["add", "market", "--yes"]);
        let added = run(command.env("GIT_SSH", home.path("ssh")), None).await;
        assert!(added.code == if why.is_empty() { 0 } else { 3 } && added.err.contains(why), "{added:?}");
    }
    assert_eq!(home.state("package", "greeter").await, on());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_gone_keeps_no_other_from_its_update() {
    let home = Home::new();
    for name in ["first", "last"] {
        home.write(&format!("{name}/.claude-plugin/plugin.json"), &format!("{{\"name\":\"{name}\"}}"));
        home.write(
            &format!("{name}/skills/{name}/SKILL.md"),
            &SKILL.replace("name: greet", &format!("name: {name}")),
        );
        let added = home.tau(&["add", name, "--yes"]).await;
        assert_eq!(added.code, 0, "{added:?}");
        home.write(&format!("{name}/new"), "x");
    }
    std::fs::remove_dir_all(home.path("first")).unwrap();
    let updated = home.tau(&["add", "--update", "--yes"]).await;
    assert!(updated.code != 0 && updated.err.contains("first was not updated: "), "{updated:?}");
    assert!(
        updated.out.contains("updated last") && home.path("tau/packages/last/new").exists(),
        "{updated:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marketplace_offers_plugins() {
    let home = Home::new();
    home.write("market/skills/greet/SKILL.md", SKILL);
    home.write("market/skills/other/SKILL.md", &SKILL.replace("name: greet", "name: other"));
    let list = json!({"name": "market", "plugins": [
        {"name": "first", "source": "./", "skills": ["./skills/greet"], "description": "Of the first."},
        {"name": "second", "source": {"source": "url", "url": format!("file://{}", home.path("plug").display())}},
        {"name": "third", "source": "../plug"},
    ]});
    home.write("market/.claude-plugin/marketplace.json", &list.to_string());
    let several = home.tau(&["add", "market", "--yes"]).await;
    assert!(several.code == 3 && several.err.contains("--plugin: first, second, third"), "{several:?}");
    let added = home.tau(&["add", "market", "--plugin", "first", "--yes"]).await;
    assert!(added.code == 0 && added.out.contains("Of the first."), "{added:?}");
    assert_eq!((home.state("skill", "greet").await, home.state("skill", "other").await), (on(), None));
    // A marketplace cannot reach other files of this machine.
    for (plugin, why) in [("second", "not an address"), ("third", "")] {
        let refused = home.tau(&["add", "market", "--plugin", plugin, "--yes"]).await;
        assert!(refused.code == 3 && refused.err.contains(why), "{refused:?}");
    }
    home.write("none/.claude-plugin/marketplace.json", r#"{"name":"none","plugins":[]}"#);
    let none = home.tau(&["add", "none", "--yes"]).await;
    assert!(none.code == 3 && none.err.contains("a marketplace without plugins"), "{none:?}");
    let unknown = home.tau(&["add", "market", "--plugin", "fourth", "--yes"]).await;
    assert!(unknown.code == 3 && unknown.err.contains("no plugin fourth"), "{unknown:?}");
    let both = home.tau(&["add", "--update", "first", "--plugin", "first"]).await;
    assert!(both.code == 2 && both.err.contains("--plugin"), "{both:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_only_plugin_is_updated_when_it_has_company() {
    let home = Home::new();
    let one = json!({"name": "one", "source": "./one"});
    let two =
        json!({"name": "two", "source": {"source": "svn", "url": "https://x.example/r", "path": "two"}});
    let list = |plugins: &[&Value]| {
        home.write(
            "market/.claude-plugin/marketplace.json",
            &json!({"name": "m", "plugins": plugins}).to_string(),
        );
    };
    home.write("market/one/skills/greet/SKILL.md", SKILL);
    list(&[&one]);
    assert_eq!(home.tau(&["add", "market", "--yes"]).await.code, 0);
    list(&[&one, &two]);
    home.write("market/one/skills/greet/more.md", "more");
    let several = home.tau(&["add", "market", "--yes"]).await;
    assert!(several.code == 3 && several.err.contains("--plugin: one, two"), "{several:?}");
    let updated = home.tau(&["add", "--update", "one", "--yes"]).await;
    assert!(updated.code == 0 && updated.out.contains("updated one"), "{updated:?}");
    // An older record does not name it.
    let records = home.path("tau/packages.json");
    let text = std::fs::read_to_string(&records).unwrap().replace("\"plugin\": \"one\",", "");
    std::fs::write(&records, text).unwrap();
    let again = home.tau(&["add", "market", "--plugin", "one", "--yes"]).await;
    assert!(again.code == 0 && again.out.contains("updated one"), "{again:?}");
    let unknown = home.tau(&["add", "market", "--plugin", "two", "--yes"]).await;
    assert!(
        unknown.code == 3 && unknown.err.contains("plugin two has a source of an unknown kind"),
        "{unknown:?}"
    );
}

/// The price that a summary says.
fn price(added: &Ended) -> &str {
    added
        .out
        .lines()
        .find(|line| line.trim_start().starts_with("price"))
        .unwrap_or_else(|| panic!("{added:?}"))
}

/// The place of a skill is a part of the price, so it is that of the package.
#[tokio::test(flavor = "multi_thread")]
async fn the_price_before_is_the_price_after() {
    let home = Home::new();
    let before = home.tau(&["add", "plug"]).await;
    assert_eq!(home.tau(&["add", "plug", "--yes"]).await.code, 0);
    let rows = home.rows().await;
    let row = rows.iter().find(|row| row["kind"] == "package").unwrap();
    assert!(price(&before).contains(&format!("about {} tokens in", row["tokens"])), "{before:?} {row}");
}

/// Advice about providers does not help with a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_download_is_about_the_file() {
    let home = Home::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let answer = |request: Request| async move {
        match request.uri().path() {
            "/key.zip" => StatusCode::UNAUTHORIZED.into_response(),
            "/shut.zip" => StatusCode::FORBIDDEN.into_response(),
            _ => Html("<html><title>Hi</title></html>").into_response(),
        }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    for path in ["/key.zip", "/shut.zip", "/page.zip"] {
        let url = format!("{server}{path}");
        let failed = home.tau(&["add", &url]).await;
        assert_eq!((failed.code, failed.err.matches(&url).count()), (3, 1), "{failed:?}");
        assert!(!failed.err.contains("provider") && !failed.err.contains("API"), "{failed:?}");
    }
    let gone = home.tau(&["add", "http://127.0.0.1:1/x.zip"]).await;
    assert!(gone.err.contains("cannot connect") && !gone.err.contains("provider"), "{gone:?}");
    assert_eq!(gone.err.matches("127.0.0.1:1/x.zip").count(), 1, "{gone:?}");
}

/// A registry of npm with one package, whose archive may differ from its hash.
async fn registry(archive: Vec<u8>, is_damaged: bool) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let base = url.clone();
    let handle = move |request: Request| {
        let (archive, base) = (archive.clone(), base.clone());
        async move { served(request.uri().path(), archive, &base, is_damaged) }
    };
    let router = Router::new().fallback(handle);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn served(path: &str, mut archive: Vec<u8>, base: &str, is_damaged: bool) -> Response {
    match path {
        "/@corp%2fgreeter/latest" | "/@corp%2fgreeter/1.0.0" => {
            let integrity = format!("sha512-{}", BASE64_STANDARD.encode(digest(&SHA512, &archive)));
            let tarball = format!("{base}/@corp/greeter/-/greeter-1.0.0.tgz");
            let manifest = json!({"name": "@corp/greeter", "version": "1.0.0",
                "dist": {"tarball": tarball, "integrity": integrity}});
            axum::Json(manifest).into_response()
        }
        "/@corp/greeter/-/greeter-1.0.0.tgz" => {
            if is_damaged {
                archive.push(0);
            }
            archive.into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_of_npm_has_the_hash_of_its_registry() {
    let home = Home::new();
    // Its scripts would run if npm installed it.
    let manifest =
        json!({"name": "@corp/greeter", "version": "1.0.0", "scripts": {"postinstall": "touch installed"}});
    home.write("npm/package/package.json", &manifest.to_string());
    home.write("npm/package/skills/greet/SKILL.md", SKILL);
    system(&home.path("npm"), "tar", &["czf", "../package.tgz", "package"]);
    let archive = std::fs::read(home.path("package.tgz")).unwrap();
    let add = async |registry: &str, source: &str| {
        let mut command = home.command(&["add", source, "--yes"]);
        run(command.env("npm_config_registry", registry), None).await
    };
    let damaged = registry(archive.clone(), true).await;
    let refused = add(&damaged, "npm:@corp/greeter").await;
    assert!(refused.code == 3 && refused.err.contains("does not have the hash"), "{refused:?}");
    let good = registry(archive, false).await;
    let added = add(&good, "npm:@corp/greeter@1.0.0").await;
    assert!(added.code == 0 && added.out.contains("added corp-greeter"), "{added:?}");
    assert_eq!(home.state("skill", "greet").await, on());
    assert!(!home.path("installed").exists() && !home.path("tau/packages/corp-greeter/installed").exists());
    let unknown = add(&good, "npm:nobody").await;
    assert!(unknown.code == 3 && unknown.err.contains("npm has no nobody"), "{unknown:?}");
    assert!(unknown.err.contains("no such file") && !unknown.err.contains("model"), "{unknown:?}");
    let with_password = good.replace("http://", "http://alice:s3cret@");
    for source in ["npm:nobody", "npm:@corp/greeter"] {
        let ended = add(&with_password, source).await;
        assert!(!format!("{ended:?}").contains("s3cret"), "{ended:?}");
    }
    let lost = add("http://alice:s3cret@127.0.0.1:9", "npm:foo").await;
    assert!(
        lost.code == 3 && lost.err.contains("127.0.0.1:9/foo") && !lost.err.contains("s3cret"),
        "{lost:?}"
    );
    // A company has its registry in npm's settings.
    std::fs::write(home.path("npmrc"), format!("@corp:registry={good}\n")).unwrap();
    let mut command = home.command(&["add", "npm:@corp/greeter", "--yes"]);
    let again = run(command.env("npm_config_userconfig", home.path("npmrc")), None).await;
    assert!(!again.err.contains("npm has no"), "{again:?}");
    let range = add(&good, "npm:@corp/greeter@^1.0.0").await;
    assert!(range.code == 2 && range.err.contains("a range such as ^1.0.0"), "{range:?}");
}
