//! Tests the rows of other agents' sessions.

use super::*;
use crate::session::Session;
use tau_protocol::message::Message;
use tau_protocol::session_row::SessionOrigin;

fn row_of_lines(lines: &[String]) -> Option<SessionRow> {
    listed_and_opened(lines, SessionOrigin::Claude).0
}

/// The row of a session with these lines, and the session.
fn listed_and_opened(lines: &[String], origin: SessionOrigin) -> (Option<SessionRow>, Option<Session>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0b5e1c2a-0000-4000-8000-000000000001.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    (row_of(&path, origin), Session::original(&path, origin).ok())
}

fn user_line(content: &serde_json::Value, is_meta: bool) -> String {
    serde_json::json!({
        "type": "user", "sessionId": "s", "cwd": "/w", "uuid": "u", "isMeta": is_meta,
        "timestamp": "2026-03-02T09:00:01.000Z", "message": {"role": "user", "content": content},
    })
    .to_string()
}

#[test]
fn a_first_prompt_of_any_size_is_the_title() {
    let picture = serde_json::json!({
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(3 << 20)}
    });
    let prompt = serde_json::json!([{"type": "text", "text": "what is wrong here"}, picture]);
    for later in [0, 2000] {
        let mut lines = vec![user_line(&prompt, false)];
        lines.extend((0..later).map(|number| user_line(&format!("later {number}").into(), false)));
        let row = row_of_lines(&lines).expect("it is listed");
        assert_eq!(row.first_prompt, "what is wrong here");
    }
}

#[test]
fn commands_of_the_program_and_its_notes_are_no_titles() {
    let caveat = "<local-command-caveat>Caveat: The messages below were generated</local-command-caveat>";
    let command = |name: &str| {
        format!("<command-name>/{name}</command-name>\n<command-message>{name}</command-message>")
    };
    let own = |name: &str| {
        format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>")
    };
    for (before, title) in [
        (vec![user_line(&caveat.into(), true), user_line(&command("zap").into(), false)], "continue"),
        (vec![user_line(&command("clear").into(), false)], "continue"),
        (
            vec![
                user_line(&"<teammate-message teammate_id=\"bob\">hi</teammate-message>".into(), false),
                user_line(&"<channel source=\"chat\">hi</channel>".into(), false),
            ],
            "continue",
        ),
        (vec![user_line(&own("ship").into(), false)], "/ship"),
        (
            vec![
                user_line(&caveat.into(), true),
                user_line(&command("zap").into(), false),
                user_line(&"<local-command-stdout></local-command-stdout>".into(), false),
                user_line(&own("ship").into(), false),
            ],
            "/ship",
        ),
        (
            vec![user_line(
                &serde_json::json!([
                    {"type": "text", "text": "<ide_opened_file>The user opened x.rs</ide_opened_file>"},
                    {"type": "text", "text": "<system-reminder>be nice</system-reminder>\nrepair it"},
                ]),
                false,
            )],
            "repair it",
        ),
    ] {
        let lines: Vec<String> = before.into_iter().chain([user_line(&"continue".into(), false)]).collect();
        assert_eq!(row_of_lines(&lines).unwrap().first_prompt, title);
    }
}

/// Lists have what can be opened, typed or not, and nothing else.
#[test]
fn a_session_with_any_message_is_listed() {
    let of_claude = |lines: &[serde_json::Value]| {
        let line = |(at, content): (usize, &serde_json::Value)| {
            let fields = if content.is_object() { content.to_string() } else { user_line(content, false) };
            fields.replace("\"uuid\":\"u\"", &format!("\"uuid\":\"u{at}\""))
        };
        (SessionOrigin::Claude, lines.iter().enumerate().map(line).collect::<Vec<_>>())
    };
    let of_codex = |lines: &[serde_json::Value]| {
        let meta = serde_json::json!({"type": "session_meta", "payload": {"id": "c", "cwd": "/w"}});
        let line = |content: &serde_json::Value| {
            let message = serde_json::json!({"type": "message", "role": "user", "content": [content]});
            serde_json::json!({"type": "response_item", "payload": message}).to_string()
        };
        (SessionOrigin::Codex, std::iter::once(meta.to_string()).chain(lines.iter().map(line)).collect())
    };
    let block =
        |kind: &str, field: &str, value: serde_json::Value| serde_json::json!({"type": kind, field: value});
    let data = serde_json::json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    let (picture, document) = (block("image", "source", data), block("document", "source", "x".into()));
    let answer = serde_json::json!({"type": "assistant", "sessionId": "s", "cwd": "/w", "uuid": "u",
        "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "seen"}]}});
    let name = serde_json::json!({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"});
    let local = "<command-name>/clear</command-name>\n<command-message>clear</command-message>";
    let run = ["<bash-input>ls</bash-input>", "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"];
    let [input, output] = run.map(serde_json::Value::from);
    let ran = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nOutput:\na\n</result>";
    let shot = block("input_image", "image_url", "data:image/png;base64,AAAA".into());
    for ((origin, lines), title) in [
        (of_claude(&[serde_json::json!([picture])]), Some("(no text)")),
        (of_claude(&[serde_json::json!([document]), answer]), Some("(no text)")),
        (of_claude(&[input.clone(), output.clone()]), Some("!ls")),
        (of_claude(&[input, output, "and then".into()]), Some("and then")),
        (of_claude(&[local.into(), name]), None),
        (of_codex(&[block("input_text", "text", ran.into())]), Some("!ls")),
        (of_codex(&[shot]), Some("(no text)")),
        (of_codex(&[]), None),
    ] {
        let (row, session) = listed_and_opened(&lines, origin);
        assert_eq!(row.map(|row| row.title()).as_deref(), title, "{lines:?}");
        assert_eq!(session.is_some(), title.is_some(), "{lines:?}");
        for message in session.iter().flat_map(|session| session.context().messages) {
            // Neither program notes here how a command ended.
            let Message::BashExecution(run) = message.as_ref() else { continue };
            assert_eq!((run.exit_code, run.exit_unknown), (None, true));
        }
    }
}

#[test]
fn sessions_of_codex_have_their_names() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions/2026/03/02");
    std::fs::create_dir_all(&folder).unwrap();
    let id = "01a21eb7-9d44-7920-898e-dd8c7a55cbce";
    let path = folder.join(format!("rollout-2026-03-02T09-00-00-{id}.jsonl"));
    let text = |text: &str| serde_json::json!({"type": "input_text", "text": text});
    let meta = serde_json::json!({"type": "session_meta", "timestamp": "2026-03-02T09:00:00Z",
        "payload": {"id": id, "cwd": "/w", "timestamp": "2026-03-02T09:00:00Z"}});
    let row = || row_of(&path, SessionOrigin::Codex).unwrap();
    for before in [
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:",
        "# Files mentioned by the user:\n\n## a.rs: /w/a.rs\n\n## My request:",
        "# In app browser:\n- Current URL: http://localhost:3000/\n\n## My request for Codex:",
    ] {
        let prompt = serde_json::json!({"type": "response_item", "timestamp": "2026-03-02T09:00:01Z", "payload": {
        "type": "message", "role": "user", "content": [
            text("<image name=[Image #1] path=\"a.png\">"), text("</image>"), text(&format!("{before}\nlook at it")),
        ]}});
        std::fs::write(&path, format!("{meta}\n{prompt}\n")).unwrap();
        assert_eq!((row().name, row().first_prompt.as_str()), (None, "look at it"), "{before}");
    }
    let named = |name: &str| format!("{{\"id\":\"{id}\",\"thread_name\":\"{name}\"}}\n");
    std::fs::write(home.path().join("session_index.jsonl"), named("first") + &named("Puffin talk") + "torn")
        .unwrap();
    assert_eq!(row().name.as_deref(), Some("Puffin talk"));
}

#[test]
fn folders_that_are_links_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let (claude, codex) = (home.path().join("projects"), home.path().join("sessions"));
    let moved = home.path().join("moved");
    for folder in [&claude.join("-w"), &codex.join("2026"), &moved.join("27")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(claude.join("-w/a.jsonl"), user_line(&"hello".into(), false) + "\n").unwrap();
    std::fs::write(moved.join("27/rollout.jsonl"), "").unwrap();
    let link = |to: &Path, from: &Path| std::os::unix::fs::symlink(to, from).unwrap();
    link(Path::new("-w"), &claude.join("-other"));
    link(&moved, &codex.join("2026/11"));
    link(&codex, &codex.join("loop"));
    assert_eq!(files_below(&codex, CODEX_DEPTH).len(), 1, "once, whatever leads there");
    assert_eq!(claude_files(&claude, None).len(), 1, "also there");
}

#[test]
fn what_older_versions_wrote_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let summary = |of: &str, text: &str| {
        format!("{{\"type\":\"summary\",\"summary\":\"{text}\",\"leafUuid\":\"{of}\"}}")
    };
    let lines =
        [summary("elsewhere", "Of another"), summary("u", "Repairs"), user_line(&"hello".into(), false)];
    assert_eq!(row_of_lines(&lines).unwrap().name.as_deref(), Some("Repairs"));
    assert_eq!(row_of_lines(&lines[2..]).unwrap().name, None);
    let codex = folder.path().join("rollout.jsonl");
    let text = |role: &str, kind: &str, text: &str| {
        serde_json::json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
            .to_string()
    };
    let lines = [
        r#"{"id":"cb","timestamp":"2025-05-20T10:00:00Z","instructions":null,"git":{}}"#.to_owned(),
        text("user", "input_text", "<environment_context>\n<cwd>/w</cwd></environment_context>"),
        r#"{"record_type":"state"}"#.to_owned(),
        text(
            "user",
            "input_text",
            "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 2\nOutput:\na\n\n</result>",
        ),
        text("user", "input_text", "an old question"),
        text("assistant", "output_text", "an old answer"),
    ];
    std::fs::write(&codex, lines.join("\n")).unwrap();
    assert_eq!(super::super::sniff::sniff(&codex), Some(SessionOrigin::Codex));
    let row = row_of(&codex, SessionOrigin::Codex).unwrap();
    assert_eq!((row.id.as_str(), row.cwd.as_path()), ("cb", Path::new("/w")));
    assert_eq!((row.first_prompt.as_str(), row.messages), ("an old question", 3));
    let session = crate::session::Session::original(&codex, SessionOrigin::Codex).unwrap();
    let messages = session.context().messages;
    let Some(Message::BashExecution(run)) = messages.first().map(AsRef::as_ref) else {
        panic!("{messages:?}")
    };
    assert_eq!((run.command.as_str(), run.output.as_str(), run.exit_code), ("ls", "a", Some(2)));
    assert_eq!(messages.len(), 3);
}
