//! Attempts on the page: begun, compared, taken, removed, and not started.

use serde_json::json;

use super::attempts::git;
use super::browser::Browser;
use super::page::{check, enter, place, prompt};
use crate::support::program::{calls, says};

/// Begins attempts with the dialog.
async fn begin(browser: &mut Browser, fields: [(&str, &str); 3]) {
    browser.click("#actions").await;
    browser.click("#work").await;
    browser.until("document.querySelector('#work-dialog').open").await;
    for (field, text) in fields {
        browser.value(&format!("document.querySelector('#{field}').value = {}", json!(text))).await;
    }
    browser.click("#begin-attempts").await;
    browser.until("!document.querySelector('#work-dialog').open").await;
}

/// Presses a button of the attempts with this text.
async fn press(browser: &mut Browser, text: &str) {
    let button = format!(
        "[...document.querySelectorAll('#attempts button')].find((b) => b.innerText === {})",
        json!(text)
    );
    browser.until(&button).await;
    browser.value(&format!("{button}.click()")).await;
}

/// Waits until the conversation shows this.
async fn wait_for(browser: &mut Browser, text: &str) {
    browser
        .until(&format!("document.querySelector('#transcript').innerText.includes({})", json!(text)))
        .await;
}

#[tokio::test]
async fn the_page_begins_attempts_and_takes_one() {
    let edit = |text: &str| calls("write", &json!({ "path": "file.txt", "content": text }));
    let acts = vec![says("hello"), edit("<i>one</i>\n"), says("I did."), edit("two\n"), says("I did.")];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    let work = server.dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    enter(&mut browser, &server).await;
    browser.value("document.querySelector('#new').click()").await;
    browser.value(&format!("document.querySelector('#new-cwd').value = {}", json!(work))).await;
    browser.value("document.querySelector('#new-mode').value = 'edits'").await;
    browser.click("#new-form .primary").await;
    browser.until(&format!("document.querySelector('#place').innerText === {}", json!(work))).await;
    prompt(&mut browser, "hi").await;
    wait_for(&mut browser, "hello").await;
    browser.click("#actions").await;
    browser.click("#work").await;
    check(&mut browser, "work").await;
    browser.click("#work-close").await;

    begin(&mut browser, [("count", "1"), ("until", "true"), ("task", "look <b>around</b>")]).await;
    wait_for(&mut browser, "Attempts: 1 of 1 succeeded").await;
    browser.until("document.querySelector('#attempts summary').innerText.includes('1 of 1 succeeded')").await;
    browser.value("document.querySelector('#attempts').open = true").await;
    assert_eq!(browser.text("#attempts > p").await, "look <b>around</b> · until true");
    let names = "[...document.querySelectorAll('#attempts button')].map((b) => b.innerText).join()";
    assert_eq!(browser.value(names).await, json!("Take 1,Changes,Remove all"));
    press(&mut browser, "Changes").await;
    browser.until("document.querySelector('#attempts pre').innerText.includes('+<i>one</i>')").await;
    check(&mut browser, "attempts").await;
    press(&mut browser, "Changes").await;
    browser.until("document.querySelector('#attempts pre').hidden").await;
    press(&mut browser, "Take 1").await;
    press(&mut browser, "Yes, take 1").await;
    wait_for(&mut browser, "took attempt 1").await;
    browser.until("document.querySelector('#attempts').hidden").await;
    assert_eq!(std::fs::read_to_string(work.join("file.txt")).unwrap(), "<i>one</i>\n");

    begin(&mut browser, [("count", "1"), ("until", "true"), ("task", "again")]).await;
    press(&mut browser, "Remove all").await;
    press(&mut browser, "Yes, remove all").await;
    browser.until("document.querySelector('#attempts').hidden").await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn the_page_says_why_attempts_did_not_start() {
    let Some((mut browser, server, _upstream)) = place(vec![says("hello")]).await else { return };
    let work = server.dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    git(&work, &["init", "-q"]).await;
    git(&work, &["commit", "-qm", "x", "--allow-empty"]).await;
    git(&work, &["config", "filter.x.clean", "./evil"]).await;
    enter(&mut browser, &server).await;
    browser.value("document.querySelector('#new').click()").await;
    browser.value(&format!("document.querySelector('#new-cwd').value = {}", json!(work))).await;
    browser.click("#new-form .primary").await;
    browser.until(&format!("document.querySelector('#place').innerText === {}", json!(work))).await;
    prompt(&mut browser, "hi").await;
    wait_for(&mut browser, "hello").await;
    begin(&mut browser, [("count", "2"), ("until", "true"), ("task", "go")]).await;
    wait_for(&mut browser, "the attempts did not start").await;
    let failed = browser.text("#transcript .failed").await;
    assert!(failed.contains("filter.x.clean"), "{failed}");
    assert_eq!(browser.value("document.querySelector('#attempts').hidden").await, true);
    check(&mut browser, "attempts-failed").await;
}
