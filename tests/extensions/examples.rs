//! The examples of docs/extending.md for skills and prompt templates, verbatim. Those of other kinds are
//! tested with their kinds.

use std::process::Stdio;

use serde_json::{Value, json};

use super::hooks::Place;
use super::write;
use crate::support::program::{bare, calls, run, says};
use crate::time_limit::RunInTime;

/// The block in this language after the words that name its file.
fn example(file: &str, language: &str) -> &'static str {
    let page = include_str!("../../docs/extending.md");
    let (_, section) = page.split_once(&format!("{file}`:\n\n```{language}\n")).unwrap();
    section.split_once("\n```\n").unwrap().0
}

fn messages(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_skill_of_the_document_works() {
    let place = Place::new("");
    let file = place.path(".agents/skills/release-notes/SKILL.md");
    write(&file, example("release-notes/SKILL.md", "markdown"));
    let acts = vec![calls("read", &json!({"path": file})), says("Finished."), says("Finished.")];
    let (_, requests) = place.prints(acts, &["/skill:release-notes since May"]).await;
    let system = &messages(&requests[0])[0];
    let listed = "release-notes (`";
    assert!(
        system.contains(listed) && system.contains("Writes release notes from the git history."),
        "{system}"
    );
    assert!(messages(&requests[1])[3].contains("Leave out merges"), "the model reads it: {requests:?}");
    let sent = messages(&requests[2]).pop().unwrap();
    assert!(sent.contains("Leave out merges") && sent.contains("since May"), "the user sends it: {sent}");
    let mut command = bare(place.dir.path());
    let listed = run(command.env("TAU_HOME", place.path("config")).arg("extensions"), None).await;
    assert!(listed.out.contains("release-notes") && !listed.out.contains("Problems"), "{}", listed.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_template_of_the_document_works() {
    let place = Place::new("");
    write(&place.path(".claude/commands/git/commit.md"), example("git/commit.md", "markdown"));
    write(&place.path("CONTRIBUTING.md"), "Subjects have a verb.\n");
    write(&place.path("code.txt"), "a staged line\n");
    for arguments in [&["init", "-q"][..], &["add", "code.txt"]] {
        let mut git = std::process::Command::new("git");
        git.args(arguments).current_dir(place.dir.path()).env("HOME", place.dir.path()).stdout(Stdio::null());
        assert!(git.status_in_time().success());
    }
    let (ended, requests) = place.prints(vec![says("Finished.")], &["/git:commit \"a typo\""]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let sent = messages(requests.last().unwrap()).pop().unwrap();
    for part in ["The reason: a typo", "+a staged line", "Subjects have a verb."] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    let (_, requests) = place.prints(vec![says("Finished.")], &["/git:commit"]).await;
    assert!(messages(requests.last().unwrap()).pop().unwrap().contains("The reason: find it in the changes"));
}
