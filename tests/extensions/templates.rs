//! Prompt templates and skills as slash commands: in print mode, over RPC, on the screen.

use serde_json::{Value, json};
use tau::agent::extensions::ExtensionOptions;
use tau::agent::extensions::places::Places;
use tau::agent::extensions::registry::LoadedExtensions;
use tau::agent::protocol::extension::{ExtensionRow, ExtensionState};
use tokio::process::Command;

use super::{skill, write};
use crate::screen::Screen;
use crate::support::program::{bare, calls, own_model, says};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// tau in a home directory with a server as its model.
struct Place {
    dir: tempfile::TempDir,
    server: Server,
}

struct Ended {
    code: Option<i32>,
    err: String,
}

impl Place {
    async fn new(acts: Vec<Act>) -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap(), server: Server::start(acts).await };
        std::fs::create_dir(place.dir.path().join("work")).unwrap();
        place
    }

    /// A template of the user, in the format of other agents.
    fn template(&self, name: &str, text: &str) {
        write(&self.dir.path().join(".claude/commands").join(name), text);
    }

    fn work(&self) -> std::path::PathBuf {
        self.dir.path().join("work")
    }

    fn tau(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.dir.path());
        command.args(own_model(&self.server.url())).args(arguments);
        command.current_dir(self.work());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.tau(arguments).output().in_time("a prompt").await.unwrap();
        Ended { code: output.status.code(), err: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    /// The last user message in the last request.
    fn sent(&self) -> String {
        let request = self.server.requests().pop().expect("a request");
        user(&request)
    }
}

/// The last user message in a request.
fn user(request: &str) -> String {
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let body: Value = serde_json::from_str(body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    match &last["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn a_template_is_sent_with_arguments_commands_and_files() {
    let place = Place::new(vec![says("done")]).await;
    let text = "---\ndescription: Commits\nargument-hint: [file] [why]\n---\nCommit $1 because ${2:-of it}: \
                !`printf 'on %s' main`.\nSee @$1 and @missing.md, all: $ARGUMENTS";
    place.template("git/commit.md", text);
    write(&place.work().join("notes.md"), "first line\n");
    let ended = place.run(&["-p", "/git:commit notes.md 'it broke'"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let sent = place.sent();
    let expected = "Commit notes.md because it broke: on main.\nSee @notes.md and @missing.md, all: \
                    notes.md 'it broke'\n\n<file path=\"notes.md\">\n";
    assert!(sent.starts_with(expected) && sent.contains("first line"), "{sent}");
    // Text that is not one of our commands is sent unchanged, and so is a command after a blank.
    for plain in ["/unknown x", " /git:commit x"] {
        place.run(&["-p", plain]).await;
        assert_eq!(place.sent().trim(), plain.trim());
    }
    place.template("plain.md", "Say hello.");
    place.run(&["-p", "/plain to me"]).await;
    assert_eq!(place.sent(), "Say hello.\n\nto me");
    // An `@` of a placeholder is no file.
    place.template("fixit.md", "Fix ${@:2} and ${@:-all}, first $1");
    place.run(&["-p", "/fixit a b c"]).await;
    assert_eq!(place.sent(), "Fix b c and a b c, first a");
    place.run(&["-p", "/init the tests"]).await;
    assert!(place.sent().ends_with("Change no other file.\n\nthe tests"), "{}", place.sent());
    place.run(&["-p", "/init"]).await;
    assert!(place.sent().trim_end().ends_with("Change no other file."), "{}", place.sent());
}

#[tokio::test]
async fn an_argument_is_never_a_command() {
    let place = Place::new(vec![says("done")]).await;
    place.template("say.md", "Say $1");
    place.run(&["-p", "/say '!`touch made`'"]).await;
    assert_eq!(place.sent(), "Say !`touch made`");
    assert!(!place.work().join("made").exists());
}

#[tokio::test]
async fn a_template_that_includes_itself_ends_with_an_error() {
    let place = Place::new(vec![says("done")]).await;
    place.template("a.md", "/b again");
    place.template("b.md", "/a $1");
    place.template("own.md", "Look at @../.claude/commands/own.md");
    place.template("outer.md", "/inner $1");
    place.template("inner.md", "Inner: $1");
    let ended = place.run(&["-p", "/a"]).await;
    assert!(
        ended.err.contains("the prompt template /a includes itself: /a \u{2192} /b \u{2192} /a"),
        "{}",
        ended.err
    );
    assert_eq!(ended.code, Some(1));
    let ended = place.run(&["-p", "/own"]).await;
    assert!(ended.err.contains("/own includes itself: it names its own file"), "{}", ended.err);
    assert!(place.server.requests().is_empty(), "nothing is sent");
    place.run(&["-p", "/outer x"]).await;
    assert_eq!(place.sent(), "Inner: x");
}

/// A template's commands are judged like calls of the model, and `allowed-tools` allows anything not
/// forbidden, for this prompt only.
#[tokio::test]
async fn commands_of_templates_need_permission() {
    let then = calls("bash", &json!({ "command": "touch later" }));
    let place = Place::new(vec![says("one"), says("two"), then, says("three")]).await;
    place.template("make.md", "Made: !`touch made`");
    place.template("may.md", "---\nallowed-tools: Bash(touch:*)\n---\nMade: !`touch made`");
    let ask = ["--permission-mode", "ask", "-p"];
    let ended = place.run(&[ask.as_slice(), &["/make"]].concat()).await;
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("not sent: /make: "), "{}", ended.err);
    assert!(place.server.requests().is_empty() && !place.work().join("made").exists());
    let ended = place.run(&[ask.as_slice(), &["/may"]].concat()).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(place.work().join("made").exists());
    assert!(place.sent().starts_with("Made:"));
    // The next prompt of the same session has lost the rule.
    let ended = place.run(&[ask.as_slice(), &["/may", "another one"]].concat()).await;
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(!place.work().join("later").exists());
    std::fs::remove_file(place.work().join("made")).unwrap();
    write(&place.dir.path().join(".config/tau/config.toml"), "[permissions]\ndeny = [\"bash(touch *)\"]\n");
    let ended = place.run(&[ask.as_slice(), &["/may"]].concat()).await;
    assert!(ended.err.contains("not sent: /may: denied"), "{}", ended.err);
    assert!(!place.work().join("made").exists());
}

#[tokio::test]
async fn a_template_needs_the_tools_that_it_uses() {
    let place = Place::new(vec![says("done")]).await;
    place.template("make.md", "Made: !`touch made`");
    let ended = place.run(&["--tools", "read", "-p", "/make"]).await;
    assert!(ended.err.contains("/make needs the tool bash, which is off"), "{}", ended.err);
    assert!(place.server.requests().is_empty());
}

#[tokio::test]
async fn a_skill_is_sent_with_its_folder() {
    let place = Place::new(vec![says("done")]).await;
    let folder = place.dir.path().join(".claude/skills");
    skill(&folder, "calm", "For calm work");
    place.run(&["-p", "/skill:calm the report"]).await;
    let sent = place.sent();
    let at = folder.join("calm").display().to_string();
    let start =
        format!("<skill name=\"calm\" folder=\"{at}\">\nPaths in this skill are relative to {at}.\n\n# calm");
    assert!(sent.starts_with(&start) && sent.ends_with("</skill>\n\nthe report"), "{sent}");
}

/// The front matter names the model and the level of one prompt; the next one is answered as before.
#[tokio::test]
async fn a_template_names_its_model() {
    let place = Place::new(vec![says("done")]).await;
    let models = format!(
        "[vendors.own]\nbase_url = \"{}\"\napi = \"openai-completions\"\napi_key = \"x\"\n\
         [[vendors.own.models]]\nid = \"small\"\n[[vendors.own.models]]\nid = \"large\"\n",
        place.server.url()
    );
    write(&place.dir.path().join("config/models.toml"), &models);
    place.template("quick.md", "---\nmodel: own/small\n---\nQuickly.");
    place.template("gone.md", "---\nmodel: no-such-model\n---\nSlowly.");
    let mut command = bare(place.dir.path());
    command.env("TAU_HOME", place.dir.path().join("config")).current_dir(place.work());
    command.args(["--model", "own/large", "-p", "/quick", "hello there", "/gone"]);
    let output = command.output().in_time("three prompts").await.unwrap();
    let requests = place.server.requests();
    let model = |at: usize| {
        let body = requests[at].split_once("\r\n\r\n").unwrap().1.to_owned();
        serde_json::from_str::<Value>(&body).unwrap()["model"].clone()
    };
    assert_eq!([model(0), model(1), model(2)], [json!("small"), json!("large"), json!("large")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/gone names the model no-such-model, which cannot be used"), "{said}");
}

#[test]
fn templates_are_found_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (config, home, project) =
        (dir.path().join("config"), dir.path().join("home"), dir.path().join("project"));
    write(&config.join("prompts/own.md"), "# Own\n\ntext");
    write(
        &home.join(".codex/prompts/codex.md"),
        "---\ndescription: Of codex\nargument-hint: FILE=<path>\n---\n",
    );
    write(&home.join(".pi/agent/prompts/pi.md"), "x");
    write(&home.join(".claude/commands/deep/er/one.md"), "x");
    write(&home.join(".claude/commands/notes.txt"), "no template");
    write(&home.join(".claude/commands/bad name.md"), "x");
    write(&home.join(".claude/commands/level.md"), "---\nthinking: enormous\n---\n");
    write(&home.join(".claude/commands/large.md"), &"x".repeat(300 * 1024));
    write(&project.join(".pi/prompts/own.md"), "the project's");
    write(&project.join(".claude/commands/wide.md"), "---\nallowed-tools: Bash\n---\nx");
    let mut places = Places::of_user(&config, Some(&home));
    places.add_project(&project.canonicalize().unwrap(), &[".claude/commands", ".pi/prompts"]);
    let loaded = LoadedExtensions::from_places(&places, &ExtensionOptions::default());
    let names: Vec<&str> = loaded.templates.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["codex", "deep:er:one", "init", "level", "own", "pi", "wide"]);
    let row = |name: &str| loaded.rows.iter().filter(|row| row.name == name).collect::<Vec<&ExtensionRow>>();
    assert_eq!(row("own")[0].description, "the project's");
    assert_eq!((row("own")[1].description.as_str(), row("own")[1].state), ("Own", ExtensionState::Off));
    assert_eq!(row("codex")[0].description, "Of codex");
    assert!(row("level")[0].problems[0].contains("not a thinking level"));
    assert!(row("wide")[0].problems[0].contains("a project cannot allow all calls of bash"));
    assert_eq!(row("large")[0].state, ExtensionState::Failed);
    assert_eq!(row("bad name")[0].state, ExtensionState::Failed);
    let hint = loaded.commands().into_iter().find(|command| command.name == "codex").unwrap().argument_hint;
    assert_eq!(hint, "FILE=<path>");
    // A disabled template is not a command, and the one below it does not take its place.
    let off = ExtensionOptions { off: vec!["prompt:own".into()], ..ExtensionOptions::default() };
    let loaded = LoadedExtensions::from_places(&places, &off);
    assert!(loaded.commands().iter().all(|command| command.name != "own"));
}

/// Commands are listed and expanded over RPC.
#[tokio::test]
async fn a_client_lists_and_sends_commands() {
    let place = Place::new(vec![says("done")]).await;
    place.template("git/commit.md", "---\ndescription: Commits\n---\nCommit $1");
    skill(&place.dir.path().join(".agents/skills"), "calm", "For calm work");
    let mut command = place.tau(&["--mode", "rpc", "--no-session"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let prompt = json!({"id": "2", "type": "prompt", "message": "/git:commit this"});
    for line in [json!({"id": "1", "type": "get_commands"}), prompt] {
        let line = line.to_string() + "\n";
        tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes()).await.unwrap();
    }
    let mut output = tokio::io::BufReader::new(child.stdout.take().unwrap());
    let mut found = None;
    loop {
        let mut line = String::new();
        let read = tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line);
        assert!(read.in_time("a record").await.unwrap() > 0);
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["command"] == "get_commands" {
            found = Some(record["data"]["commands"].clone());
        }
        if record["type"] == "agent_settled" {
            break;
        }
    }
    drop(input);
    let found = found.unwrap();
    let path = place.dir.path().join(".claude/commands/git/commit.md");
    let info = json!({"path": path, "source": "local", "scope": "user", "origin": "top-level"});
    assert_eq!(found[0]["name"], "git:commit");
    assert_eq!((&found[0]["source"], &found[0]["sourceInfo"]), (&json!("prompt"), &info));
    assert_eq!((&found[2]["name"], &found[2]["source"]), (&json!("skill:calm"), &json!("skill")));
    assert_eq!(place.sent(), "Commit this");
}

fn on_screen(url: &str, script: &str, more: &str) -> Screen {
    Screen::prepared(script, &format!("--base-url {url} --api-key x --model m {more}"), 100, 30)
}

/// On the screen the menu shows description and hint, a template's command gets a panel, and needs approval
/// in ask mode.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_is_chosen_from_the_menu() {
    let server = Server::start(vec![says("all done")]).await;
    let url = server.url();
    let work = tokio::task::spawn_blocking(move || {
        let script = "mkdir -p $HOME/.claude/commands/git\n\
             printf -- '---\\ndescription: Commit what changed\\nargument-hint: [why]\\n---\\nWhy: $1 !`touch made`' \
             >$HOME/.claude/commands/git/commit.md\n";
        let screen = on_screen(&url, script, "--permission-mode ask");
        screen.type_keys("/git:c");
        screen.wait_for("/git:commit [why]");
        screen.wait_for("Commit what changed");
        screen.type_keys("\t");
        screen.wait_for_composer("/git:commit");
        screen.type_keys("because\r");
        screen.wait_for("touch made");
        screen.wait_for("touch may change something");
        screen.press_until("y", "all done");
        screen.wait_for("Why: because");
        assert!(screen.home().join("work/made").exists());
    });
    work.in_time("the screen").await.unwrap();
    assert!(user(&server.requests()[0]).starts_with("Why: because"));
}

/// `/init` only proposes: its one file needs approval even in auto mode.
#[tokio::test(flavor = "multi_thread")]
async fn init_proposes_a_file() {
    let write = calls("write", &json!({ "path": "AGENTS.md", "content": "Use tabs.\n" }));
    let server = Server::start(vec![write, says("proposed")]).await;
    let url = server.url();
    let work = tokio::task::spawn_blocking(move || {
        let screen = on_screen(&url, "true", "");
        screen.type_keys("/init\r");
        screen.wait_for("a rule asks for");
        screen.wait_for("Use tabs.");
        assert!(!screen.home().join("work/AGENTS.md").exists(), "it was written without being asked");
        screen.press_until("y", "proposed");
        assert!(screen.home().join("work/AGENTS.md").exists());
    });
    work.in_time("the screen").await.unwrap();
    assert!(user(&server.requests()[0]).starts_with("Analyse this repository"));
}
