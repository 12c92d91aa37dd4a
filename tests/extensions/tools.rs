//! Custom tools, as users and models meet them: the real program, with tool files in its folders.

use std::path::Path;

use serde_json::{Value, json};

use super::hooks::Place;
use super::write;
use crate::support::program::{Ended, bare, calls, run, says};

/// The text that the page's example searches for.
const MARK: &str = concat!("TO", "DO");

/// A place with this tool of the user.
fn with_tool(name: &str, text: &str) -> Place {
    let place = Place::new("");
    write(&place.path(&format!("config/tools/{name}.toml")), text);
    place
}

/// The file of a tool that runs this command, with these additional lines.
fn tool(command: &str, more: &str) -> String {
    format!("description = \"A tool of the tests\"\ncommand = {command}\n{more}\n")
}

/// Runs `tau tools` with these arguments.
async fn tools(place: &Place, arguments: &[&str]) -> Ended {
    tools_in(place, place.dir.path(), arguments).await
}

/// Runs `tau tools` in this directory.
async fn tools_in(place: &Place, dir: &Path, arguments: &[&str]) -> Ended {
    let mut command = bare(dir);
    command
        .env("HOME", place.dir.path())
        .env("TAU_HOME", place.path("config"))
        .env("OPENAI_API_KEY", "sk-of-another");
    run(command.arg("tools").args(arguments), None).await
}

/// The names of the tools in a request.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// The page's example.
fn example() -> &'static str {
    let page = include_str!("../../docs/extending.md");
    let (_, section) = page.split_once("tools/todos.toml`:\n\n```toml\n").unwrap();
    section.split_once("```\n").unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_the_document_works() {
    let place = with_tool("todos", example());
    write(&place.path("src/a.rs"), &format!("one\n// {MARK}: two\n{MARK}S\n"));
    let (result, _) = place.calls("todos", &json!({"path": "src"})).await;
    assert!(result.contains(&format!("src/a.rs:2:// {MARK}: two\\nsrc/a.rs:3:{MARK}S")), "{result}");
    assert!(!result.contains("exit code"), "{result}");
    let (result, _) = place.calls("todos", &json!({"path": "src", "word": true})).await;
    assert!(result.contains("a.rs:2:") && !result.contains("a.rs:3:"), "{result}");
    let (result, _) = place.calls("todos", &json!({"path": "no-such-file"})).await;
    assert!(result.contains("exit code 2"), "{result}");
    let ended = tools(&place, &["check"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "1 tool, no problems found\n"));
    let ended = tools(&place, &["run", "todos", "--arg", "path=src"]).await;
    assert_eq!((ended.code, ended.out.lines().count()), (0, 2), "{}{}", ended.out, ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_gets_a_schema_and_the_program_gets_json() {
    let arguments = "[arguments.text]\ndescription = \"What\"\n[arguments.count]\ntype = \"integer\"\ndefault = 3\n\
                     [arguments.all]\ntype = \"boolean\"\nrequired = false\n[arguments.files]\ntype = \"array\"\n\
                     required = false\n[arguments.how]\nenum = [\"a\", \"b\"]\nrequired = false";
    let place = with_tool("say", &tool("[\"cat\"]", arguments));
    let acts = vec![calls("say", &json!({"text": "x", "count": "5", "files": ["a b"]})), says("Finished.")];
    let (_, requests) = place.prints(acts, &[]).await;
    let said = requests[0]["tools"].as_array().unwrap().last().unwrap()["function"].clone();
    assert_eq!((&said["name"], &said["description"]), (&json!("say"), &json!("A tool of the tests")));
    let parameters = json!({"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
        "text": {"type": "string", "description": "What"},
        "count": {"type": "integer", "description": "Default: 3"},
        "all": {"type": "boolean"},
        "files": {"type": "array", "items": {"type": "string"}},
        "how": {"type": "string", "enum": ["a", "b"]}}});
    assert_eq!(said["parameters"], parameters);
    let result = requests[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(result.contains(r#"{\"text\":\"x\",\"count\":5,\"files\":[\"a b\"]}"#), "{result}");
    for (arguments, why) in [
        (json!({}), "the argument `text` is missing"),
        (json!({"text": "x", "count": "many"}), "a whole number"),
        (json!({"text": "x", "how": "c"}), "how"),
        (json!({"text": "x", "other": 1}), "other"),
    ] {
        let (result, _) = place.calls("say", &arguments).await;
        assert!(result.contains(why), "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_value_becomes_a_command_or_an_option() {
    let hostile = "\"'; touch made; $(touch made) `touch made` {x} && touch made\n| touch made";
    let argument = "[arguments.x]\n[arguments.list]\ntype = \"array\"\nrequired = false";
    let printf = tool(r#"["printf", "<%s>", "{x}", "x={x}", "{list}"]"#, argument);
    let shell = tool(
        "'''printf '<%s>' \"$arg_x\" \"x=$arg_x\"; for f in $arg_list; do :; done'''",
        &format!("shell = true\n{argument}"),
    );
    for text in [printf, shell] {
        let place = with_tool("say", &text);
        let (result, _) =
            place.calls("say", &json!({"x": hostile, "list": ["$(touch made)", "`touch made`"]})).await;
        let expected = json!(format!("<{hostile}><x={hostile}>")).to_string();
        assert!(result.contains(expected.trim_matches('"')), "{result}\n{expected}");
        assert!(!place.path("made").exists(), "{text}");
    }
    for (command, is_refused) in [
        (r#"["sort", "{x}"]"#, true),
        (r#"["sort", "{x}.txt"]"#, true),
        (r#"["sort", "{x}{x}"]"#, true),
        (r#"["sort", "--", "{x}.txt"]"#, false),
        (r#"["sort", "--", "{x}"]"#, false),
        (r#"["printf", "%s", "a{x}"]"#, false),
    ] {
        let place = with_tool("sorted", &tool(command, argument));
        write(&place.path("-omade"), "text\n");
        let (result, _) = place.calls("sorted", &json!({"x": "-omade"})).await;
        assert_eq!(result.contains("would take it for an option"), is_refused, "{command}: {result}");
        assert!(!place.path("made").exists());
    }
    let place = with_tool("say", &tool(r#"["printf", "%s", "{x}"]"#, argument));
    let (result, _) = place.calls("say", &json!({"x": "a\0b"})).await;
    assert!(result.contains("NUL"), "{result}");
    let (result, _) = place.calls("say", &json!({"x": "a".repeat(200_000)})).await;
    assert!(result.contains("too long for a command line"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_found_beside_its_file_and_never_in_the_directory() {
    let place = with_tool("here", &tool(r#"["./run.sh", "{tool_dir}"]"#, ""));
    for (path, word) in [("config/tools/run.sh", "right"), ("run.sh", "wrong")] {
        write(
            &place.path(path),
            &format!("#!/bin/sh\necho {word} $1 $TAU_TOOL_DIR $(pwd) [$OPENAI_API_KEY]\n"),
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(path), mode).unwrap();
    }
    let (result, _) = place.calls("here", &json!({})).await;
    let (folder, cwd) = (place.path("config/tools"), place.path(""));
    let cwd = cwd.to_string_lossy();
    let expected = format!("right {0} {0} {1} []", folder.display(), cwd.trim_end_matches('/'));
    assert!(result.contains(&expected), "{result}\n{expected}");
    let place = with_tool("gone", &tool(r#"["./no-such-program"]"#, ""));
    let (result, _) = place.calls("gone", &json!({})).await;
    assert!(result.contains("gone: cannot start") && result.contains("no-such-program"), "{result}");
}

/// The result of a call in the records of JSON mode.
async fn recorded(place: &Place, name: &str, arguments: &Value) -> Value {
    let acts = vec![calls(name, arguments), says("Finished.")];
    let (ended, _) = place.prints(acts, &["--json"]).await;
    let records = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ends = records.filter(|record| record["type"] == "tool_execution_end");
    ends.next().unwrap_or_else(|| panic!("no call: {}{}", ended.out, ended.err))
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_a_text_a_diff_or_a_picture() {
    let place = with_tool("say", &tool(r#"["sh", "-c", "echo out; echo err >&2"]"#, ""));
    let end = recorded(&place, "say", &json!({})).await;
    assert_eq!((&end["toolName"], &end["isError"]), (&json!("say"), &json!(false)));
    assert_eq!(end["result"]["content"], json!([{"type": "text", "text": "out\nerr\n"}]));
    assert_eq!(
        (&end["result"]["details"]["kind"], &end["result"]["details"]["exitCode"]),
        (&json!("terminal"), &json!(0))
    );

    let diff = tool(r#"["diff", "-u", "a", "b"]"#, "output = \"diff\"\nsuccess = [0, 1]");
    let place = with_tool("compare", &diff);
    write(&place.path("a"), "one\ntwo\n");
    write(&place.path("b"), "one\ndeux\n");
    let end = recorded(&place, "compare", &json!({})).await;
    let details = &end["result"]["details"];
    assert_eq!(
        (&details["kind"], &details["path"], &details["added"]),
        (&json!("diff"), &json!("b"), &json!(1))
    );
    assert_eq!(details["hunks"][0]["lines"], json!([" one", "-two", "+deux"]));
    std::fs::remove_file(place.path("b")).unwrap();
    let end = recorded(&place, "compare", &json!({})).await;
    assert_eq!(end["isError"], true, "{end}");
    assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains("exit code 2"), "{end}");

    let place = with_tool("show", &tool(r#"["cat", "{x}"]"#, "output = \"image\"\n[arguments.x]"));
    std::fs::write(place.path("no.png"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(7, 5).write_to(&mut png, image::ImageFormat::Png).unwrap();
    std::fs::write(place.path("yes.png"), png.get_ref()).unwrap();
    std::fs::write(place.path("cut.png"), &png.get_ref()[..40]).unwrap();
    let end = recorded(&place, "show", &json!({"x": "yes.png"})).await;
    let details = &end["result"]["details"];
    assert_eq!(
        (&details["kind"], &details["width"], &details["height"]),
        (&json!("image"), &json!(7), &json!(5))
    );
    for (file, why) in
        [("no.png", "is not a picture"), ("cut.png", "cannot be decoded"), ("none", "exit code 1")]
    {
        let end = recorded(&place, "show", &json!({"x": file})).await;
        assert_eq!(end["isError"], true, "{end}");
        assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains(why), "{why}: {end}");
    }
    let ended = tools(&place, &["run", "show", "{\"x\": \"yes.png\"}", "--output", "copy.png"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(&std::fs::read(place.path("copy.png")).unwrap(), png.get_ref());
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_hang_or_flood_are_ended() {
    let hangs = tool(
        r#"["sh", "-c", "trap '' TERM; sleep 1000 & echo $! > child; wait; sleep 1000"]"#,
        "timeout = 1",
    );
    let place = with_tool("hangs", &hangs);
    let (result, _) = place.calls("hangs", &json!({})).await;
    assert!(result.contains("timed out after 1 s and was killed"), "{result}");
    let child = std::fs::read_to_string(place.path("child")).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains(") Z "), "it still runs: {status}");

    let place = with_tool("floods", &tool(r#"["sh", "-c", "yes | head -c 200000000"]"#, ""));
    let (result, _) = place.calls("floods", &json!({})).await;
    assert!(result.len() < 300_000 && result.contains("omitted here"), "{} bytes", result.len());
    for kind in ["image", "diff"] {
        let place = with_tool("floods", &tool(r#"["cat", "/dev/zero"]"#, &format!("output = \"{kind}\"")));
        let (result, _) = place.calls("floods", &json!({})).await;
        assert!(result.contains("wrote more than 16 MB and was killed"), "{result}");
    }
    let place = with_tool("deaf", &tool(r#"["true"]"#, "[arguments.x]"));
    let (result, _) = place.calls("deaf", &json!({"x": "a".repeat(1_000_000)})).await;
    assert!(result.contains("(no output)"), "{result}");
}

/// A tool that creates a file, with this access.
fn touches(access: &str) -> String {
    tool(r#"["touch", "{x}"]"#, &format!("[arguments.x]\ndefault = \"made\"\n{access}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn access_and_rules_decide_what_is_asked() {
    let (reads, writes) = ("[access]\nreads = ['{x}']", "[access]\nwrites = ['{x}']");
    let network = "[access]\nnetwork = true";
    for (mode, access, rules, runs) in [
        ("ask", "", "", false),
        ("auto", "", "", true),
        ("plan", "", "", false),
        ("ask", reads, "", true),
        ("plan", reads, "", true),
        ("ask", writes, "", false),
        ("plan", writes, "", false),
        ("ask", network, "", false),
        ("ask", "", "allow = ['make']", true),
        ("ask", network, "allow = ['make']", true),
        ("ask", writes, "allow = ['make(made)']", true),
        ("ask", writes, "allow = ['edit(made)']", true),
        ("ask", writes, "allow = ['make(other/**)']", false),
        ("plan", writes, "allow = ['make']", false),
        ("auto", "", "deny = ['make']", false),
        ("auto", writes, "deny = ['make(mad*)']", false),
        ("auto", reads, "deny = ['read(made)']", false),
        ("auto", writes, "ask = ['make']", false),
    ] {
        let mut place = Place::new(&format!("[permissions]\n{rules}\n"));
        place.mode = mode;
        write(&place.path("config/tools/make.toml"), &touches(access));
        let (result, _) = place.calls("make", &json!({})).await;
        assert_eq!(place.path("made").exists(), runs, "{mode} {access} {rules}: {result}");
    }
    // Protected paths stay protected.
    let place = with_tool("make", &touches(writes));
    std::fs::create_dir_all(place.path(".git/hooks")).unwrap();
    let (result, _) = place.calls("make", &json!({"x": ".git/hooks/x"})).await;
    assert!(!place.path(".git/hooks/x").exists(), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_project_need_trust_and_are_never_believed() {
    let place = Place::new("");
    write(&place.path("config/tools/same.toml"), &tool(r#"["echo", "of the user"]"#, ""));
    let project = tool(r#"["touch", "made"]"#, "[access]\nreads = ['x']");
    write(&place.path("work/.tau/tools/theirs.toml"), &project);
    write(&place.path("work/.tau/tools/same.toml"), &tool(r#"["echo", "of the project"]"#, ""));
    let (_, requests) = place.prints(vec![says("Hello.")], &["-C", "work"]).await;
    assert!(offered(&requests[0]).contains(&"same") && !offered(&requests[0]).contains(&"theirs"));
    let ended = tools_in(&place, &place.path("work"), &["--json"]).await;
    assert!(!ended.out.contains("theirs"), "{}", ended.out);
    // It claims to only read; trusting that means no approval.
    let acts = || vec![calls("theirs", &json!({})), says("Finished.")];
    let (ended, requests) =
        place.prints(acts(), &["-C", "work", "--trust", "--permission-mode", "ask"]).await;
    assert!(offered(&requests[0]).contains(&"theirs"), "{}", ended.err);
    assert!(!place.path("work/made").exists(), "{}", ended.err);
    place.prints(acts(), &["-C", "work", "--trust"]).await;
    assert!(place.path("work/made").exists());
    let acts = vec![calls("same", &json!({})), says("Finished.")];
    let (_, requests) = place.prints(acts, &["-C", "work", "--trust"]).await;
    assert!(requests[1]["messages"].to_string().contains("of the user"), "{}", requests[1]);
    let ended = tools_in(&place, &place.path("work"), &["--trust"]).await;
    assert!(ended.out.contains("tools/same.toml has the same name and is used instead"), "{}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_and_settings_say_which_tools_there_are() {
    let place = with_tool("todos", example());
    for (flags, expected) in [
        (&[][..], &["read", "bash", "jobs", "edit", "write", "ask_user", "todos"][..]),
        (&["--tools", "read,todos"], &["read", "todos"]),
        (&["--tools", "read"], &["read"]),
    ] {
        let (_, requests) = place.prints(vec![says("Hello.")], flags).await;
        assert_eq!(offered(&requests[0]), expected);
    }
    let (_, requests) = place.prints(vec![says("Hello.")], &["--no-tools"]).await;
    assert!(requests[0].get("tools").is_none(), "{}", requests[0]);
    let (ended, _) = place.prints(vec![], &["--tools", "read,todo"]).await;
    assert!(ended.code == 2 && ended.err.contains("unknown tool \"todo\""), "{}", ended.err);
    write(&place.path("config/config.toml"), "extensions_off = ['tool:todos']\n");
    let (_, requests) = place.prints(vec![says("Hello.")], &[]).await;
    assert!(!offered(&requests[0]).contains(&"todos"));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_and_checked() {
    let place = with_tool("todos", example());
    write(&place.path("config/tools/bash.toml"), &tool(r#"["true"]"#, ""));
    write(&place.path("config/tools/Wrong.toml"), &tool(r#"["true"]"#, ""));
    write(&place.path("config/tools/typo.toml"), "description = \"x\"\ncommand = [\"true\"]\ntimout = 1\n");
    write(&place.path("config/tools/large.toml"), &"#".repeat(10 * 1024 * 1024));
    write(&place.path("config/tools/notes.md"), "not a tool");
    let pipe = place.path("config/tools/pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
    let ended = tools(&place, &[]).await;
    let lines = [
        "on       todos     user      Lists the lines with ",
        "on       read      built-in",
        "by mode  grep      built-in",
        "typo.toml: line 3: unknown name `timout`; did you mean `timeout`?",
        "bash.toml: `bash` is a name of tau's own tools",
        "Wrong.toml: a tool cannot be called `Wrong`",
    ];
    for line in lines {
        assert!(ended.out.contains(line), "{line}\n{}", ended.out);
    }
    assert!(!ended.out.contains("notes"), "{}", ended.out);
    let ended = tools(&place, &["--json"]).await;
    let listed: Value = serde_json::from_str(&ended.out).unwrap();
    let row = |name: &str| {
        listed["tools"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!((&row("todos")["source"], &row("todos")["state"]), (&json!("user"), &json!("on")));
    assert_eq!(row("todos")["parameters"]["properties"]["path"]["type"], "string");
    assert_eq!((&row("large")["state"], &row("pipe")["state"]), (&json!("failed"), &json!("failed")));
    assert_eq!(row("edit")["source"], "built-in");
    let ended = tools(&place, &["check"]).await;
    assert_eq!((ended.code, ended.out.lines().count()), (3, 5), "{}", ended.out);
    let ended = tools(&place, &["check", "config/tools/todos.toml", "config/tools/typo.toml"]).await;
    assert_eq!(ended.code, 3);
    let expected = "config/tools/todos.toml: fine\nconfig/tools/typo.toml:3: unknown name `timout`; did you mean \
                    `timeout`?\n";
    assert_eq!(ended.out, expected);
    let mut command = bare(place.dir.path());
    let ended = run(command.env("TAU_HOME", place.path("config")).args(["extensions", "--json"]), None).await;
    let listed: Value = serde_json::from_str(&ended.out).unwrap();
    let rows = listed["extensions"].as_array().unwrap();
    let todos = rows.iter().find(|row| row["name"] == "todos").unwrap();
    assert_eq!(todos["kind"], "custom_tool");
    assert!(todos["tokens"].as_u64().is_some_and(|tokens| tokens > 30), "{todos}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_runs_from_the_shell() {
    let place = with_tool(
        "say",
        &tool(
            r#"["printf", "%s\n", "{x}", "{n}"]"#,
            "[arguments.x]\ntype = \"array\"\n[arguments.n]\ntype = \"integer\"",
        ),
    );
    let ended = tools(&place, &["run", "say", "-a", "x=1=2", "-a", "x=b c", "-a", "n=7"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "1=2\nb c\n7\n"), "{}", ended.err);
    for (arguments, code, why) in [
        (&["run", "say"][..], 1, "the argument `x` is missing"),
        (&["run", "sai"], 2, "no tool is called \"sai\""),
        (&["run", "say", "{"], 2, "are not JSON"),
        (&["run", "say", "[]"], 2, "not a JSON object"),
        (&["run", "say", "-a", "x"], 2, "has no `=`"),
        (&["run", "read", "{\"path\": \"none\"}"], 1, "none"),
    ] {
        let ended = tools(&place, arguments).await;
        assert_eq!(ended.code, code, "{arguments:?} {}", ended.err);
        assert!(ended.err.contains(why), "{arguments:?} {}", ended.err);
    }
    let ended = tools(&place, &["run", "bash", "-a", "command=echo [$OPENAI_API_KEY]"]).await;
    assert!(ended.out.starts_with("[]\n"), "{}", ended.out);
    write(&place.path("config/config.toml"), "[permissions]\ndeny = ['say']\n");
    let ended = tools(&place, &["run", "say", "{\"x\": [\"a\"], \"n\": 1}"]).await;
    assert!(
        ended.code == 4 && ended.out.is_empty() && ended.err.contains("a rule denies say"),
        "{}",
        ended.err
    );
    // Terminal sequences in output become text.
    let place = with_tool("say", &tool(r#"["printf", "a\\033]0;x\\007b"]"#, ""));
    let ended = tools(&place, &["run", "say"]).await;
    assert!(!ended.out.contains('\x1b') && !ended.out.contains('\x07'), "{:?}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_sandboxed_as_commands_are() {
    needs!(crate::sandbox::has_landlock());
    let outside = crate::sandbox::Place::new();
    let file = outside.outside.join("made");
    let place = with_tool("make", &touches(""));
    let arguments = json!({"x": file});
    write(&place.path("config/config.toml"), "sandbox.level = 'workspace-write'\n");
    let (result, _) = place.calls("make", &arguments).await;
    assert!(!file.exists() && result.contains("sandbox"), "{result}");
    let ended = tools(&place, &["run", "make", &arguments.to_string()]).await;
    assert!(!file.exists() && ended.code == 1, "{}", ended.err);
    let (result, _) = place.calls("make", &json!({})).await;
    assert!(place.path("made").exists(), "{result}");
    write(&place.path("config/config.toml"), "");
    let (result, _) = place.calls("make", &arguments).await;
    assert!(file.exists(), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_changes_is_known_to_undo() {
    for access in ["", "[access]\nwrites = ['somewhere/else']", "[access]\nnetwork = true"] {
        let place = with_tool("make", &tool(r#"["sh", "-c", "echo new > old.txt"]"#, access));
        std::fs::create_dir(place.path("work")).unwrap();
        write(&place.path("work/old.txt"), "old\n");
        let flags = ["-C", "work"];
        place.prints(vec![calls("make", &json!({})), says("Finished.")], &flags).await;
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(text(&place.path("work/old.txt")), "new\n");
        let mut command = bare(&place.path("work"));
        let ended =
            run(command.env("TAU_HOME", place.path("config")).args(["undo", "--to", "1", "--yes"]), None)
                .await;
        assert_eq!(text(&place.path("work/old.txt")), "old\n", "{access}: {}{}", ended.out, ended.err);
    }
}
