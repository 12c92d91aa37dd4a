//! Session actions of the page, images for a prompt, and editing a command before it runs.

use serde_json::{Value, json};

use super::browser::Browser;
use super::page::{check, enter, place, prompt, settled};
use crate::support::program::{calls, says};

/// An image of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn a_command_is_changed_before_it_runs() {
    let command = json!({"command": "echo one > made.txt"});
    let acts = vec![calls("bash", &command), says("done")];
    let Some((mut browser, server, upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask button.edit')").await;
    settled(&mut browser).await;
    browser.click(".ask button.edit").await;
    browser.until("document.activeElement === document.querySelector('.ask textarea')").await;
    // Escape leaves a field, and stops nothing.
    browser.write("rm ").await;
    browser.press("Escape", 27).await;
    browser.until("document.activeElement === document.querySelector('.ask button.edit')").await;
    assert_eq!(browser.text(".ask pre").await, "echo one > made.txt");
    browser.value("document.querySelector('.ask .foot input').focus()").await;
    browser.press("Escape", 27).await;
    browser.until("document.activeElement === document.body").await;
    browser.click(".ask button.edit").await;
    browser.value("document.querySelector('.ask textarea').value = 'echo two > made.txt'").await;
    check(&mut browser, "edit").await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript .markdown')?.innerText.includes('done')").await;
    assert_eq!(std::fs::read_to_string(server.dir.path().join("made.txt")).unwrap(), "two\n");
    assert!(upstream.requests().last().unwrap().contains("The user changed the command"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// What is typed at a question that somebody else answers goes to the message, as in a terminal; what was sent does not.
#[tokio::test]
async fn what_is_typed_at_a_question_that_is_answered_elsewhere_is_kept() {
    let touch = |name: &str| calls("bash", &json!({ "command": format!("touch {name}") }));
    let ask = calls("ask_user", &json!({"questions": [{"question": "Which?", "choices": ["a", "b"]}]}));
    let acts = vec![touch("one"), touch("two"), ask, touch("three"), says("all is over")];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    let elsewhere = async |kind: &str, answer: Value| {
        let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
        let id = shown[kind][0]["id"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
        server.send("POST", &format!("{path}/{kind}/{id}"), &answer).await.is(204);
    };
    let message = "document.querySelector('#prompt').value";
    let typing = async |browser: &mut Browser, field: &str, text: &str| {
        browser.until(&format!("document.querySelector('{field}')")).await;
        browser.value(&format!("document.querySelector('{field}').focus()")).await;
        browser.write(text).await;
    };
    typing(&mut browser, ".ask .foot input", "do not do it").await;
    elsewhere("approvals", json!({ "decision": "allow" })).await;
    browser.until(&format!("{message} === 'do not do it'")).await;
    // The Enter that was meant for the question sends nothing.
    browser.value("document.querySelector('#prompt').focus()").await;
    browser.press("Enter", 13).await;
    assert_eq!(browser.value(message).await, json!("do not do it"));
    browser.until("document.querySelector('.ask pre')?.innerText.includes('two')").await;
    settled(&mut browser).await;
    browser.click(".ask button.edit").await;
    typing(&mut browser, ".ask textarea", " and more").await;
    elsewhere("approvals", json!({ "decision": "allow" })).await;
    browser.until(&format!("{message}.includes('and more') && {message}.includes('touch two')")).await;
    browser.value("document.querySelector('#prompt').value = ''").await;
    typing(&mut browser, ".ask fieldset input[type=text]", "my own words").await;
    elsewhere("questions", json!({ "answers": [{ "choices": [0], "text": "" }] })).await;
    browser.until(&format!("{message} === 'my own words'")).await;
    browser.until("document.querySelector('.ask pre')?.innerText.includes('three')").await;
    assert!(browser.text("#transcript").await.contains("what you typed for it is in the message box"));
    browser.value("document.querySelector('#prompt').value = ''").await;
    typing(&mut browser, ".ask .foot input", "no reason").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('all is over')").await;
    assert_eq!(browser.value(message).await, json!(""));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn two_presses_decide_one_call_and_what_was_not_seen_takes_two() {
    let long = format!("echo one > one.txt; true{} '\u{200b}'; echo two > two.txt", "\n: line".repeat(200));
    let acts = vec![
        calls("bash", &json!({"command": "echo x >> x.txt"})),
        calls("bash", &json!({"command": long})),
        says("all is over"),
    ];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask .primary')").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    // The second question is in the place of the first one.
    browser.until("document.querySelector('.ask pre')?.innerText.includes('one.txt')").await;
    for _ in 0..5 {
        browser.click(".ask .primary").await;
    }
    assert!(browser.text(".ask pre").await.contains("⟨U+200B⟩"));
    settled(&mut browser).await;
    assert_eq!(browser.value("document.querySelectorAll('.ask').length").await, 1, "it decided nothing");
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('.ask .unseen').innerText.includes('not shown yet')").await;
    assert!(!server.dir.path().join("one.txt").exists());
    browser.value("document.querySelector('.ask .body').scrollTop = 1e9").await;
    check(&mut browser, "unseen").await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('all is over')").await;
    assert!(server.dir.path().join("two.txt").exists());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_session_gets_pictures_a_name_and_an_end() {
    let Some((mut browser, server, upstream)) = place(vec![says("```\nlong code\n```")]).await else {
        return;
    };
    enter(&mut browser, &server).await;
    let chosen = format!(
        "(() => {{ const bytes = Uint8Array.from(atob('{PNG}'), (c) => c.charCodeAt(0)); \
           const list = new DataTransfer(); \
           list.items.add(new File([bytes], 'point.png', {{ type: 'image/png' }})); \
           list.items.add(new File(['text'], 'notes.txt', {{ type: 'text/plain' }})); \
           const input = document.querySelector('#file'); input.files = list.files; \
           input.dispatchEvent(new Event('change')); }})()"
    );
    browser.value(&chosen).await;
    browser.until("document.querySelector('#pictures img')").await;
    assert!(browser.text("#problem").await.contains("notes.txt is not a PNG"));
    check(&mut browser, "pictures").await;
    prompt(&mut browser, "what is it?").await;
    browser.until("document.querySelector('.user img')").await;
    browser.until("document.querySelector('#transcript .code')").await;
    assert_eq!(browser.value("document.querySelectorAll('#pictures li').length").await, 0);
    // The model is not known to accept images, so tau leaves the image out of the request, but the session
    // has it.
    assert_eq!(upstream.requests().len(), 1);
    let covered = "(() => { const [a, b] = ['.code button', '.code pre'].map((s) => \
        document.querySelector(s).getBoundingClientRect()); return a.bottom > b.top + 1; })()";
    browser.size(390, 844, "light").await;
    assert_eq!(browser.value(covered).await, false, "the button lies over the code");
    browser.size(1280, 800, "light").await;
    browser.until("document.querySelector('#state').innerText === ''").await;

    browser.click("#actions").await;
    browser.until("document.querySelector('#actions-dialog').open").await;
    check(&mut browser, "actions").await;
    browser.value("document.querySelector('#name').value = 'a point'").await;
    browser.click("#rename").await;
    browser.until("document.querySelector('#title').innerText === 'a point'").await;
    browser.until("document.querySelector('#session-list .name').innerText === 'a point'").await;

    // The export is passed to the browser as a file.
    browser
        .value(
            "window.saved = null; HTMLAnchorElement.prototype.click = function () { \
               window.saved = { name: this.download, isData: this.href.startsWith('blob:') }; }",
        )
        .await;
    browser.click("#actions").await;
    browser.value("document.querySelector('#format').value = 'md'").await;
    browser.click("#export").await;
    browser.until("window.saved").await;
    let name = browser.value("window.saved.name").await;
    assert!(name.as_str().is_some_and(|name| name.starts_with("tau-") && name.ends_with(".md")), "{name}");
    assert_eq!(browser.value("window.saved.isData").await, true);

    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    browser.click("#delete").await;
    browser.until("document.querySelector('#delete').innerText === 'Yes, delete it'").await;
    server.send("GET", &path, &Value::Null).await.is(200);
    check(&mut browser, "delete").await;
    browser.click("#delete").await;
    browser.until("document.querySelector('#composer').hidden").await;
    server.send("GET", &path, &Value::Null).await.is(404);
    browser.until("document.querySelectorAll('#session-list li').length === 0").await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}
