//! Errors of actions on the page, which are seen wherever the user is, and notices that name commands of a terminal.

use serde_json::{Value, json};

use super::browser::Browser;
use super::page::{check, enter, place, prompt, settled};
use crate::support::program::{calls, says};

/// Makes what changes something fail from now on, with a reason of its own for each request.
const FAILING: &str = "window.real = window.fetch; window.failed = 0; \
    window.fetch = (path, options) => options.method === 'GET' ? window.real(path, options) : Promise.resolve( \
      new Response(JSON.stringify({ detail: `it failed: ${++window.failed}` }), { status: 422 }))";

/// Waits until this error is on the screen, or none is.
async fn wait_for_problem(browser: &mut Browser, text: &str) {
    let problem = "document.querySelector('#problem')";
    let is_there = format!(
        "{problem}.innerText === {} && {problem}.checkVisibility() === {} \
         && {problem}.getBoundingClientRect().bottom <= innerHeight",
        json!(text),
        !text.is_empty()
    );
    browser.until(&is_there).await;
}

#[tokio::test]
async fn errors_are_seen_on_the_board_and_in_a_session_until_an_action_succeeds() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let Some((mut browser, server, _upstream)) = place(vec![touch, says("It is over.")]).await else {
        return;
    };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask .primary')").await;
    let hash = browser.value("location.hash").await;
    browser.value("location.hash = ''").await;
    browser.until("document.querySelector('#board .ask .primary')").await;
    browser.until("!document.querySelector('#board').classList.contains('early')").await;
    browser.value(FAILING).await;
    let mut count = 0;
    for act in ["form.row button.danger", "form.row button:not([type])", ".ask .primary"] {
        browser.value("document.querySelector('#board form.row input').value = 'a message'").await;
        // A second press, before the first has an answer, does nothing.
        let button = format!("document.querySelector('#board .session {act}')");
        browser.value(&format!("{button}.click(); {button}.click()")).await;
        count += 1;
        wait_for_problem(&mut browser, &format!("it failed: {count}")).await;
    }
    check(&mut browser, "board-error").await;
    // What was typed is still there. Another place has no error yet, and shows its own.
    assert_eq!(browser.value("document.querySelector('#board form.row input').value").await, "a message");
    browser.value(&format!("location.hash = {hash}")).await;
    wait_for_problem(&mut browser, "").await;
    browser.until("document.querySelector('#asks .ask .primary')").await;
    settled(&mut browser).await;
    browser.click("#asks .ask .primary").await;
    wait_for_problem(&mut browser, "it failed: 4").await;
    browser.value("location.hash = ''").await;
    browser.until("document.querySelector('#board .ask .primary')").await;
    browser.until("!document.querySelector('#board').classList.contains('early')").await;
    browser.click("#board .session form.row button.danger").await;
    wait_for_problem(&mut browser, "it failed: 5").await;
    // An action that succeeds takes it away.
    browser.value("window.fetch = window.real").await;
    browser.click("#board .ask .primary").await;
    wait_for_problem(&mut browser, "").await;
    browser.until("document.querySelector('#board .last').innerText.includes('It is over.')").await;
    // Without a server, until it is there again.
    browser.value("window.fetch = () => Promise.reject(new TypeError('gone'))").await;
    wait_for_problem(&mut browser, "the server cannot be reached").await;
    browser.value("window.fetch = window.real").await;
    wait_for_problem(&mut browser, "").await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_notice_says_where_the_command_that_it_names_runs() {
    let write = calls("write", &json!({ "path": "made.txt", "content": "made\n" }));
    let Some((mut browser, server, upstream)) = place(vec![write, says("It is over.")]).await else {
        return;
    };
    enter(&mut browser, &server).await;
    // It is sent once, although Enter is pressed twice.
    browser.value("document.querySelector('#prompt').value = 'go'").await;
    let submit = "document.querySelector('#composer').requestSubmit()";
    browser.value(&format!("{submit}; {submit}")).await;
    browser.until("document.querySelector('.ask .primary')").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('It is over.')").await;
    browser.until("document.querySelector('#state').innerText === ''").await;
    assert_eq!(browser.value("document.querySelectorAll('#transcript .user').length").await, 1);
    assert_eq!(upstream.requests().len(), 2);
    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    let tree = server.send("GET", &format!("{path}/tree"), &Value::Null).await.is(200).json();
    let rows = tree["rows"].as_array().unwrap();
    let asked = rows.iter().find(|row| row["kind"] == json!("user")).unwrap_or_else(|| panic!("{tree}"));
    let undo = json!({ "entryId": asked["id"], "scope": "files" });
    server.send("POST", &format!("{path}/undo"), &undo).await.is(200);
    let told = format!(
        "/redo restores it (/redo is for a terminal: run \"tau attach {}\" there)",
        id.as_str().unwrap()
    );
    let is_told = format!("document.querySelector('#transcript').innerText.includes({})", json!(told));
    browser.until(&is_told).await;
    // As the page would tell of others: a path is no command.
    let texts = [
        ("see /diff for what can be taken back", true),
        ("/tmp/undo is full", false),
        ("cannot read /new/x", false),
    ];
    for (text, is_command) in texts {
        let said = browser
            .value(&format!(
                "import('/page/text.js').then(({{ noticeText }}) => noticeText('x', {{ text: {} }}))",
                json!(text)
            ))
            .await;
        assert_eq!(said.as_str().unwrap().contains("tau attach x"), is_command, "{said}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}
