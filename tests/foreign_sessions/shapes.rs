//! Shapes of other agents' sessions that are easily lost or taken for something else: for each, the messages that the
//! model is sent when the session is continued.

use std::process::Command;

use serde_json::{Value, json};

use super::continued::Place;

/// The lines of a session of Claude Code: each is attached to the one before unless it says otherwise, and its id is
/// `l` and its number.
fn claude(lines: &[Value]) -> String {
    let line = |(number, line): (usize, &Value)| {
        let parent = number.checked_sub(1).map(|before| format!("l{before}"));
        let mut whole = json!({
            "uuid": format!("l{number}"), "parentUuid": parent, "sessionId": "s", "cwd": "/home/dev/shop",
            "timestamp": format!("2026-03-02T09:00:{number:02}.000Z"),
        });
        whole.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
        whole.to_string() + "\n"
    };
    lines.iter().enumerate().map(line).collect()
}

fn user(content: impl Into<Value>) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content.into()}})
}

fn answer(id: &str, content: impl Into<Value>) -> Value {
    let message =
        json!({"id": id, "role": "assistant", "model": "claude-sonnet-4-5", "content": content.into()});
    json!({"type": "assistant", "message": message})
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn attached(attachment: Value) -> Value {
    json!({"type": "attachment", "attachment": attachment})
}

/// The same line with other fields.
fn with(mut line: Value, fields: Value) -> Value {
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

fn summary(boundary: Value) -> [Value; 2] {
    let summary = with(user("the summary"), json!({"isCompactSummary": true}));
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
        "logicalParentUuid": "l3", "compactMetadata": boundary});
    [boundary, summary]
}

/// Lines of a version without ids, and a command with both outputs.
fn without_ids() -> (Vec<Value>, Vec<&'static str>, &'static str) {
    (
        [
            user("run it"),
            user("<bash-input>a</bash-input>"),
            user("<bash-stdout>out</bash-stdout><bash-stderr>warn</bash-stderr>"),
            user("and then"),
            answer("m1", text("done")),
        ]
        .map(|line| with(line, json!({"uuid": null, "parentUuid": null})))
        .to_vec(),
        vec!["user: run it", "user: Ran `a`\n```\nout\nwarn\n```", "user: and then", "assistant: done"],
        "",
    )
}

/// Lines that were written at once: an answer before the command that it hangs on.
fn out_of_order() -> (Vec<Value>, Vec<&'static str>, &'static str) {
    let on = |parent: &str, line: Value| with(line, json!({ "parentUuid": parent }));
    (
        vec![
            user("begin"),
            on("l3", answer("m1", text("one"))),
            on("l0", user("<bash-input>a</bash-input>")),
            user("<bash-stdout>out</bash-stdout>"),
            on("l1", user("next")),
            answer("m2", text("two")),
        ],
        vec!["user: begin", "user: Ran `a`\n```\nout\n```", "assistant: one", "user: next", "assistant: two"],
        "",
    )
}

/// The sessions of Claude Code, the requests that they become, and a sentence about what stays behind.
fn of_claude() -> Vec<(Vec<Value>, Vec<&'static str>, &'static str)> {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "a"}}]);
    let result = user(json!([{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]));
    let queued = |prompt: &str, mode: &str| {
        attached(json!({"type": "queued_command", "prompt": prompt, "commandMode": mode}))
    };
    let ended = "<task-notification>\n<status>completed</status>\n</task-notification>";
    let kept = json!({"preservedSegment": {"headUuid": "l2", "anchorUuid": "l5", "tailUuid": "l3"}});
    let compacted = |last: Value| {
        let [boundary, summary] = summary(kept.clone());
        let old =
            [user("old"), answer("m1", text("old answer")), user("kept"), answer("m2", text("kept answer"))];
        old.into_iter().chain([boundary, summary, last, answer("m3", text("end"))]).collect::<Vec<_>>()
    };
    let of_summary = vec!["SUMMARY", "user: kept", "assistant: kept answer", "user: after", "assistant: end"];
    let file = |content: Value| attached(json!({"type": "file", "filename": "/w/a.txt", "content": content}));
    vec![
        (
            vec![
                user("begin"),
                answer("m1", call),
                result,
                queued("use tabs", "prompt"),
                queued(ended, "task-notification"),
                answer("m2", text("tabs then")),
            ],
            vec![
                "user: begin",
                "assistant:  <bash {\"command\":\"a\"}>",
                "tool: done",
                "user: use tabs",
                "user: <task-notification>\n<status>completed</status>\n</task-notification>",
                "assistant: tabs then",
            ],
            "",
        ),
        (compacted(user("after")), of_summary.clone(), ""),
        (compacted(with(user("after"), json!({"parentUuid": "l3"}))), of_summary, ""),
        (
            vec![
                user("look at @a.txt and @a.pdf"),
                file(json!({"type": "text", "file": {"content": "its text"}})),
                file(json!({"type": "pdf", "file": {"base64": ""}})),
                answer("m1", text("I see")),
            ],
            vec!["user: look at @a.txt and @a.pdf", "user: file /w/a.txt:\nits text", "assistant: I see"],
            "1 attached file",
        ),
        (
            vec![
                user("first"),
                answer("m1", text("one")),
                with(user("first"), json!({"uuid": "l0", "parentUuid": null})),
                with(answer("m1", text("one")), json!({"uuid": "l1"})),
                with(user("hello"), json!({"parentUuid": "l1"})),
                json!({"type": "assistant", "message": {"id": "m2", "role": "assistant", "model": "<synthetic>",
                    "content": text("No response requested.")}}),
                user("<bash-input> is what?"),
                answer("m3", "as a text"),
            ],
            vec![
                "user: first", "assistant: one", "user: hello", "user: <bash-input> is what?",
                "assistant: as a text",
            ],
            "",
        ),
        without_ids(),
        out_of_order(),
    ]
}

#[tokio::test]
async fn all_that_claude_code_showed_its_model_reaches_the_next() {
    for (lines, expected, left) in of_claude() {
        let place = Place::new().await;
        place.put(".claude/projects/DIR/5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl", &claude(&lines));
        let ended = place.say(&["--session", "5f0a7c1e"]).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(ended.err.contains("not carried over"), !left.is_empty(), "{}", ended.err);
        assert!(ended.err.contains(left), "{}", ended.err);
        assert_sent(&place, &expected);
        let rows = place.rows(&[]).await;
        let first = expected.iter().find_map(|line| line.strip_prefix("user: ")).unwrap();
        let first = if expected[0] == "SUMMARY" { "old" } else { first };
        assert_eq!(rows[0]["title"], first, "{rows:?}");
    }
}

/// Compares the last request; a summary has words of tau around it.
fn assert_sent(place: &Place, expected: &[&str]) {
    let short = |line: String| if line.contains("<summary>") { "SUMMARY".to_owned() } else { line };
    let sent: Vec<String> = place.sent().into_iter().map(short).collect();
    let expected: Vec<&str> = expected.iter().copied().chain(["user: continue"]).collect();
    assert_eq!(sent, expected);
}

fn codex(messages: &[(&str, &str)]) -> String {
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": "2026-03-03T10:00:00.000Z", "type": kind, "payload": payload}).to_string() + "\n"
    };
    let id = "01a2120d-07f4-7b43-8a4d-62225e4e10ef";
    let meta = json!({"id": id, "timestamp": "2026-03-03T10:00:00.000Z", "cwd": "/home/dev/shop"});
    let said = |(role, text): &(&str, &str)| {
        let kind = if *role == "user" { "input_text" } else { "output_text" };
        let content = json!([{"type": kind, "text": text}]);
        line("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    line("session_meta", meta) + &messages.iter().map(said).collect::<String>()
}

/// A file of Codex with what the program wrote, and with prompts that begin like it.
const CODEX: [(&str, &str); 13] = [
    ("user", "<recommended_plugins>\nDo things\n</recommended_plugins>"),
    ("user", "<codex_internal_context source=\"goal\">\nDo things\n</codex_internal_context>"),
    ("user", "<user_action>\n<results>Do things</results>\n</user_action>"),
    ("user", "<goal_context>\nDo things\n</goal_context>"),
    ("user", "<hook_prompt hook_run_id=\"1\">Do things</hook_prompt>"),
    ("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>"),
    ("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
    ("user", "# AGENTS.md instructions should say more"),
    ("assistant", "one"),
    ("user", "<environment_context> is a tag: explain"),
    ("assistant", "two"),
    ("user", "<skill>\n<name>deploy</name>\nDo things\n</skill>"),
    ("assistant", "three"),
];
const NAME: &str =
    ".codex/sessions/2026/03/03/rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl";

#[tokio::test]
async fn prompts_that_begin_like_a_text_of_codex_are_the_users() {
    let place = Place::new().await;
    let path = place.put(NAME, &codex(&CODEX));
    let expected = [
        "user: <codex_internal_context source=\"goal\">\nDo things\n</codex_internal_context>",
        "user: <user_action>\n<results>Do things</results>\n</user_action>",
        "user: <goal_context>\nDo things\n</goal_context>",
        "user: <hook_prompt hook_run_id=\"1\">Do things</hook_prompt>",
        "user: # AGENTS.md instructions should say more",
        "assistant: one",
        "user: <environment_context> is a tag: explain",
        "assistant: two",
        "user: <skill>\n<name>deploy</name>\nDo things\n</skill>",
        "assistant: three",
    ];
    let check = async |id: &str| {
        let rows = place.rows(&[]).await;
        assert_eq!((rows.len(), &rows[0]["title"]), (1, &"AGENTS.md instructions should say more".into()));
        assert_eq!(place.say(&["--session", id]).await.code, 0);
        assert_sent(&place, &expected);
        let text = place.run(&["export", id, "-", "--format", "md"]).await.out;
        assert!(!text.contains("Do things"), "a skill is not shown as a prompt: {text}");
        let found = place.run(&["sessions", "search", "--json", "deploy"]).await.out;
        assert!(found.contains("01a2120d-07f4-7b43-8a4d-62225e4e10ef"), "a skill is found: {found}");
    };
    check("62225e4e10ef").await;
    // It compresses the files of last week.
    let packed = Command::new("zstd").arg("-q").arg("--rm").arg(&path).status();
    if !packed.is_ok_and(|status| status.success()) {
        println!("notice: no zstd here, so no compressed session");
        return;
    }
    let before = place.originals();
    check("62225e4e10ef").await;
    check(&path.with_extension("jsonl.zst").to_string_lossy()).await;
    let found = place.run(&["sessions", "search", "--json", "explain"]).await;
    let found: Value = serde_json::from_str(&found.out).unwrap();
    assert!(found.to_string().contains("01a2120d-07f4-7b43-8a4d-62225e4e10ef"), "{found}");
    assert_eq!(place.originals(), before);
}

#[tokio::test]
async fn what_opencode_kept_is_kept() {
    let place = Place::new().await;
    let message = |number: u32, data: Value, parts: &[(u32, String)]| {
        let head = format!("'msg_{number}','ses_own',177261840{number},177261840{number},");
        let mut text =
            format!("INSERT INTO message VALUES('msg_{number}','ses_own',{number},{number},'{data}');\n");
        for (at, part) in parts {
            let at = format!("'prt_{number}{at}',{head}'{part}'");
            text.push_str(&format!("INSERT INTO part VALUES({at});\n"));
        }
        text
    };
    let said = |text: &str| json!({"type": "text", "text": text}).to_string();
    let (user, model) =
        (json!({"role": "user"}), json!({"role": "assistant", "modelID": "m", "providerID": "p"}));
    let compaction = json!({"type": "compaction", "auto": true, "tail_start_id": "msg_3"}).to_string();
    let tool = json!({"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed",
        "input": {"command": "ls"}, "output": "listed"}})
    .to_string();
    let statements: String = [
        message(1, user.clone(), &[(0, said("old"))]),
        message(2, model.clone(), &[(0, said("old answer"))]),
        message(3, user.clone(), &[(0, said("kept"))]),
        message(4, model.clone(), &[(0, said("kept answer")), (1, "{broken".to_owned())]),
        message(5, user.clone(), &[(0, compaction)]),
        message(6, with(model.clone(), json!({"summary": true})), &[(0, said("the summary"))]),
        message(7, user, &[(0, said("after"))]),
        message(8, model, &[(0, said("before it")), (1, tool), (2, said("taken back"))]),
    ]
    .concat();
    let tables: String = super::continued::OPENCODE.lines().take(3).map(|line| format!("{line}\n")).collect();
    let session = "INSERT INTO session VALUES('ses_own','global',NULL,'x','/home/dev/shop','Own','1.18.33',\
        '{\"messageID\":\"msg_8\",\"partID\":\"prt_82\"}',1772618400000,1772618460000,NULL);\n";
    place.opencode(&(tables + session + &statements));
    let ended = place.say(&["--session", "ses_own"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("skipped 1 unreadable"), "{}", ended.err);
    assert!(ended.err.contains("1 reverted message"), "{}", ended.err);
    assert_sent(
        &place,
        &[
            "SUMMARY",
            "user: kept",
            "assistant: kept answer",
            "user: after",
            "assistant: before it <bash {\"command\":\"ls\"}>",
            "tool: listed",
        ],
    );
}

/// The output of a tool that is in a file of its own, and what the session has of it.
#[tokio::test]
async fn outputs_in_files_are_searched_and_continued() {
    let output: String =
        (0..20_000).map(|row| format!("row {row} {}\n", if row == 9_999 { "zymurgy" } else { "" })).collect();
    let said = |file: &str| {
        format!(
            "<persisted-output>\nOutput too large (200KB). Full output saved to: /home/dev/{file}\n\nPreview:\nrow 0\n</persisted-output>"
        )
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "a"}});
    let result =
        |id: &str, file: &str| json!({"type": "tool_result", "tool_use_id": id, "content": said(file)});
    let lines = [
        user("begin"),
        answer("m1", json!([call("t1"), call("t2"), call("t3")])),
        user(json!([result("t1", "x/t1.txt"), result("t2", "t2.txt"), result("t3", "../secret.txt")])),
        answer("m2", text("seen")),
    ];
    let place = Place::new().await;
    let path = place.put(".claude/projects/DIR/5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl", &claude(&lines));
    let folder = path.with_extension("");
    crate::support::write(&folder.join("tool-results/t1.txt"), &output);
    // Neither a link nor a name leads out of the folder.
    crate::support::write(&folder.join("secret.txt"), "hushhush");
    std::os::unix::fs::symlink(folder.join("secret.txt"), folder.join("tool-results/t2.txt")).unwrap();
    let tables: String = super::continued::OPENCODE.lines().take(3).map(|line| format!("{line}\n")).collect();
    let state = json!({"status": "completed", "input": {"command": "ls"},
        "output": "row 0\nFull output saved to: /home/dev/tool_1\nUse grep."});
    let tool = json!({"type": "tool", "tool": "bash", "callID": "c", "state": state});
    let statements = format!(
        "{tables}INSERT INTO session VALUES('ses_own','global',NULL,'x','/home/dev/shop','Own','1.18.33',NULL,1,2,NULL);\n\
         INSERT INTO message VALUES('msg_1','ses_own',1,1,'{}');\n\
         INSERT INTO part VALUES('prt_1','msg_1','ses_own',1,1,'{tool}');\n",
        json!({"role": "assistant", "modelID": "m", "providerID": "p"}),
    );
    let database = place.opencode(&statements);
    crate::support::write(&database.with_file_name("tool-output/tool_1"), &output);
    let before = place.originals();
    let found = place.run(&["sessions", "search", "--json", "zymurgy"]).await.out;
    for (id, missing) in [("5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f", "2 large outputs"), ("ses_own", "")] {
        assert!(found.contains(id), "no {id} in {found}");
        let ended = place.say(&["--session", id]).await;
        assert!(ended.code == 0 && ended.err.contains(missing), "{ended:?}");
        let sent = place.sent().join("\n");
        for part in ["row 0 ", "row 19999", "omitted here; all of it is in"] {
            assert!(sent.contains(part), "no {part:?} for {id}");
        }
        assert!(sent.len() < 200_000 && !sent.contains("hushhush"), "{}", sent.len());
    }
    assert_eq!(place.originals(), before);
}
