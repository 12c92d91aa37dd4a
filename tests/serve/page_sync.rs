//! The page shows what others do in its sessions, and keeps apart what is typed in each.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::attach::attached;
use super::browser::Browser;
use super::client::Served;
use super::page::{begin_beside, enter, place, process_of, prompt};
use crate::support::program::{bare, calls, run, says};

/// The id of the session on the page.
async fn shown_id(browser: &mut Browser) -> String {
    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    id.as_str().unwrap().to_owned()
}

/// Goes to a session, or with an empty id to the board.
async fn go_to(browser: &mut Browser, id: &str) {
    let place = if id.is_empty() { String::new() } else { format!("#/s/{id}") };
    browser.value(&format!("location.hash = '{place}'")).await;
    browser.until(&format!("document.querySelector('#composer').hidden === {}", id.is_empty())).await;
}

async fn tau(server: &Served, arguments: &[&str]) -> String {
    let ended = run(bare(server.dir.path()).args(arguments), None).await;
    assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    ended.out.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_branch_takes_the_place_of_the_conversation() {
    let acts = vec![says("one"), says("two"), says("three")];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    for (text, answer) in [("first", "one"), ("second", "two")] {
        prompt(&mut browser, text).await;
        browser.until(&format!("document.querySelector('#transcript').innerText.includes('{answer}')")).await;
        browser.until("document.querySelector('#stop').hidden").await;
    }
    let path = format!("/api/sessions/{}", shown_id(&mut browser).await);
    let tree = server.send("GET", &format!("{path}/tree"), &Value::Null).await.is(200).json();
    let rows = tree["rows"].as_array().unwrap();
    let second = rows.iter().rfind(|row| row["kind"] == json!("user")).unwrap();
    let undo = json!({ "entryId": second["id"], "scope": "conversation" });
    server.send("POST", &format!("{path}/undo"), &undo).await.is(200);
    let prompts = "[...document.querySelectorAll('.user .body')].map((one) => one.innerText).join()";
    browser.until(&format!("{prompts} === 'first'")).await;
    browser
        .until("document.querySelector('#transcript').innerText.includes('took the conversation back')")
        .await;
    // What follows is below it, once, and so it stays.
    prompt(&mut browser, "third").await;
    browser.until("document.querySelector('#transcript').innerText.includes('three')").await;
    assert_eq!(browser.value(prompts).await, "first,third");
    browser.until("document.querySelector('#stop').hidden").await;
    browser.value("window.isBefore = true").await;
    browser.call("Page.reload", json!({})).await;
    browser.until(&format!("window.isBefore === undefined && {prompts} === 'first,third'")).await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_elsewhere_that_is_over_already_is_shown() {
    let acts = vec![says("All is clean."), says("It still is.")];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    let id = tau(&server, &["-b", "--model", "own/m", "clean up"]).await;
    tau(&server, &["wait", &id]).await;
    browser.go(&format!("http://{}/#token={}", server.address, server.token)).await;
    browser.until("!document.querySelector('#app').hidden").await;
    go_to(&mut browser, &id).await;
    browser.until("document.querySelector('#transcript').innerText.includes('All is clean.')").await;
    tau(&server, &["send", &id, "look again"]).await;
    tau(&server, &["wait", &id]).await;
    let is_told = "['look again', 'It still is.'].every((text) => document.querySelector('#transcript').innerText.includes(text))";
    browser.until(is_told).await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_session_is_said_to_be_suspended() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let Some((mut browser, server, upstream)) = place(vec![touch, says("hello")]).await else { return };
    let id = begin_beside(&server, &upstream).await;
    let process = process_of(&server, &id);
    enter(&mut browser, &server).await;
    prompt(&mut browser, "hi").await;
    browser.until("document.querySelector('#title').innerText === 'hi'").await;
    browser.until("document.title === '(1) hi – tau'").await;
    kill_process(process, Signal::STOP).unwrap();
    go_to(&mut browser, &id).await;
    browser.until("document.querySelector('#title').innerText === 'clean up'").await;
    browser.until("document.querySelector('#problem').innerText.includes('is suspended')").await;
    browser.until("document.querySelector('#state').innerText === 'suspended'").await;
    kill_process(process, Signal::CONT).unwrap();
    browser.until("document.querySelector('.ask .primary') !== null").await;
    browser.until("document.querySelector('#problem').innerText === ''").await;
    browser.until("document.querySelector('#state').innerText === 'waits for you'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_session_has_its_own_draft() {
    let Some((mut browser, server, _upstream)) = place(vec![says("hello")]).await else { return };
    enter(&mut browser, &server).await;
    let one = shown_id(&mut browser).await;
    let made = server.send("POST", "/api/sessions", &json!({})).await.is(201).json();
    let other = made["id"].as_str().unwrap();
    let typed = "document.querySelector('#prompt').value";
    let draft = "document.querySelector('#prompt')";
    browser.value(&format!("{draft}.focus()")).await;
    browser.write("for one").await;
    go_to(&mut browser, other).await;
    browser.until(&format!("{typed} === ''")).await;
    browser.value(&format!("{draft}.focus()")).await;
    browser.write("for the other").await;
    go_to(&mut browser, &one).await;
    browser.until(&format!("{typed} === 'for one'")).await;
    go_to(&mut browser, "").await;
    go_to(&mut browser, other).await;
    browser.until(&format!("{typed} === 'for the other'")).await;
    // What was sent is no draft.
    go_to(&mut browser, &one).await;
    browser.until("document.querySelector('#model').innerText === 'own/m'").await;
    browser.value(&format!("{draft}.focus()")).await;
    browser.press("Enter", 13).await;
    browser.until("document.querySelector('#transcript').innerText.includes('hello')").await;
    browser.until(&format!("{typed} === ''")).await;
    go_to(&mut browser, other).await;
    go_to(&mut browser, &one).await;
    assert_eq!(browser.value(typed).await, "");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_the_user_are_shown_while_they_run_and_stay() {
    let Some((mut browser, server, _upstream)) = place(vec![says("hello")]).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "hi").await;
    browser.until("document.querySelector('#transcript').innerText.includes('hello')").await;
    let id = shown_id(&mut browser).await;
    let screen = attached(&server, &id);
    screen.wait_for("ask for something");
    screen.type_keys("!echo from-user; sleep 1\r");
    let is = |state: &str| {
        format!(
            "(() => {{ const [panel, ...others] = document.querySelectorAll('#transcript .panel'); return !others.length && \
             panel?.querySelector('pre')?.textContent.trim() === 'from-user' && panel.innerText.includes('{state}'); }})()"
        )
    };
    browser.until(&is("running…")).await;
    browser.until(&is("done")).await;
    browser.value("window.isBefore = true").await;
    browser.call("Page.reload", json!({})).await;
    browser.until(&format!("window.isBefore === undefined && {}", is("done"))).await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Adds sessions, which are newer than those that are there.
fn add_sessions(server: &Served, like: &str, count: usize) {
    let is_it = |path: &std::path::Path| path.to_string_lossy().ends_with(&format!("{like}.jsonl"));
    let mut folders = vec![server.dir.path().to_owned()];
    let file = loop {
        let folder = folders.pop().expect("the file of the session");
        let entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
        if let Some(found) = entries.iter().find(|entry| is_it(&entry.path())) {
            break found.path();
        }
        folders.extend(
            entries.iter().filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()),
        );
    };
    let text = std::fs::read_to_string(&file).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    for number in 0..count {
        let id = format!("0199aaaa-0000-7000-8000-{number:012}");
        let copy = file.to_string_lossy().replace(like, &id);
        std::fs::write(&copy, text.replace(like, &id)).unwrap();
        std::fs::File::options().write(true).open(&copy).unwrap().set_modified(later).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_wait_count_however_many_are_newer() {
    let touch = || calls("bash", &json!({ "command": "touch made" }));
    let Some((mut browser, server, upstream)) = place(vec![touch(), says("hello"), touch()]).await else {
        return;
    };
    let id = begin_beside(&server, &upstream).await;
    process_of(&server, &id);
    add_sessions(&server, &id, 120);
    enter(&mut browser, &server).await;
    prompt(&mut browser, "hi").await;
    browser.until("document.title === '(1) hi – tau'").await;
    assert_eq!(browser.value("document.querySelectorAll('#session-list li').length").await, 50);
    // Two presses list nothing twice.
    browser.click("#more-sessions").await;
    browser.click("#more-sessions").await;
    let listed = "[...document.querySelectorAll('#session-list a')].map((link) => link.hash)";
    browser.until(&format!("{listed}.length === 122 && new Set({listed}).size === 122")).await;
    assert_eq!(browser.value("document.title").await, "(1) hi – tau");
    begin_beside(&server, &upstream).await;
    browser.until("document.title === '(2) hi – tau'").await;
    browser.until(&format!("{listed}.length === 123")).await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}
