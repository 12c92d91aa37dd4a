//! Layout of the page: scrolling, the size of a question, and the link that opens it.

use serde_json::{Value, json};

use super::browser::Browser;
use super::client::Served;
use super::page::{LAID_OUT, check, enter, place, prompt, settled};
use crate::support::program::{calls, says};
use crate::support::server::Act;

/// Window sizes: a desktop, two phones, and one of them rotated.
const SIZES: [(u32, u32); 4] = [(1280, 800), (390, 844), (375, 667), (844, 390)];

/// The faults of the layout: anything that scrolls beside the conversation, and a question that takes more
/// than half of its height or hides its buttons.
pub const LAYOUT: &str = r"
(() => {
  const faults = [];
  const page = document.scrollingElement;
  page.scrollTop = document.body.scrollTop = 1e6;
  if (page.scrollHeight > innerHeight || page.scrollTop || document.body.scrollTop) faults.push(`the document scrolls: ${page.scrollHeight} > ${innerHeight}`);
  const app = document.querySelector('#app');
  if (!app.checkVisibility()) return faults;
  const session = document.querySelector('#session');
  for (const node of [app, session, document.querySelector('#middle')]) {
    if (node.scrollHeight > node.clientHeight) faults.push(`${node.id} overflows: ${node.scrollHeight} > ${node.clientHeight}`);
  }
  const composer = document.querySelector('#composer');
  if (composer.checkVisibility() && composer.getBoundingClientRect().bottom > innerHeight) faults.push('the composer is cut');
  const card = document.querySelector('.ask');
  if (!card) return faults;
  const [whole, half] = ['#middle', '#asks'].map((name) => document.querySelector(name).getBoundingClientRect().height);
  if (half > Math.max(whole / 2, 160) + 1) faults.push(`the question takes ${half} of ${whole}`);
  const list = document.querySelector('#asks');
  if (document.querySelectorAll('.ask').length === 1 && list.scrollHeight > list.clientHeight) faults.push('the place of the card scrolls');
  for (const part of card.querySelectorAll('.body pre, .body .diff')) {
    if (part.scrollHeight > part.clientHeight + 1) faults.push(`a ${part.tagName} scrolls within the card`);
  }
  const buttons = [...card.querySelectorAll('.foot button')];
  if (!buttons.length) faults.push('no buttons');
  if (document.querySelector('dialog[open]')) return faults;
  for (const button of buttons) {
    const box = button.getBoundingClientRect();
    const hit = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    if (hit !== button) faults.push(`${button.innerText} is covered: ${box.top}..${box.bottom}`);
  }
  return faults;
})()";

/// Fails if the layout has a fault in one of the sizes.
async fn laid_out(browser: &mut Browser, name: &str) {
    for (width, height) in SIZES {
        browser.size(width, height, "light").await;
        browser.value(LAID_OUT).await;
        browser.picture(&format!("{name}-{width}x{height}")).await;
        assert_eq!(browser.value(LAYOUT).await, json!([]), "{name} {width}x{height}");
    }
    browser.size(1280, 800, "light").await;
}

/// Answers of a long conversation: calls one after the other, and a long text.
fn long_conversation() -> Vec<Act> {
    let mut acts: Vec<Act> = (0..15).map(|n| calls("read", &json!({"path": format!("{n}.txt")}))).collect();
    acts.push(says(&"A paragraph of the answer.\n\n".repeat(60)));
    acts
}

async fn talk(browser: &mut Browser) {
    prompt(browser, "begin").await;
    browser.until("document.querySelectorAll('#transcript p').length >= 60").await;
    browser.until("document.querySelector('#state').innerText === ''").await;
}

#[tokio::test]
async fn only_the_conversation_scrolls_and_a_long_command_leaves_it_half_of_the_height() {
    let command = format!("echo one > one.txt{}\necho two > two.txt", "\n: a line".repeat(120));
    let mut acts = long_conversation();
    acts.extend([calls("bash", &json!({"command": command})), says("all is over")]);
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    for n in 0..30 {
        server.send("POST", "/api/sessions", &json!({ "name": format!("Session {n}") })).await.is(201);
    }
    enter(&mut browser, &server).await;
    talk(&mut browser).await;
    laid_out(&mut browser, "long").await;
    let ends = "(() => { const s = document.querySelector('#scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight < 2; })()";
    assert_eq!(browser.value(ends).await, true, "the end of the conversation is shown");

    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask pre')?.innerText.includes('two.txt')").await;
    // A long draft displaces neither the buttons nor the conversation.
    let draft = format!("'{}'", "a line of the draft\\n".repeat(60));
    let typed = format!(
        "(() => {{ const field = document.querySelector('#prompt'); field.value = {draft}; field.dispatchEvent(new Event('input')); }})()"
    );
    browser.value(&typed).await;
    laid_out(&mut browser, "command").await;
    settled(&mut browser).await;
    // Without its end it takes two presses, and all of it can be read beside the buttons.
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('.ask .unseen').innerText.includes('not shown yet')").await;
    laid_out(&mut browser, "insists").await;
    let body = "document.querySelector('.ask .body')";
    // The subject comes first.
    browser.value(&format!("{body}.scrollTop = 0")).await;
    let shown = "(() => { const box = document.querySelector('.ask .body').getBoundingClientRect();
        return document.elementFromPoint(box.left + 20, box.top + 15).tagName; })()";
    assert_eq!(browser.value(shown).await, json!("PRE"));
    browser.value(&format!("{body}.scrollTop = 1e9")).await;
    laid_out(&mut browser, "read").await;
    assert!(!server.dir.path().join("one.txt").exists());
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('all is over')").await;
    assert!(server.dir.path().join("two.txt").exists());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The board is read from its top; of what failed, the end is seen.
#[tokio::test]
async fn the_board_shows_its_top_and_a_failure_its_end() {
    let failing = json!({"command": "touch made; seq 200; echo the reason >&2; false"});
    let Some((mut browser, server, _upstream)) =
        place(vec![calls("bash", &failing), says("all is over")]).await
    else {
        return;
    };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask .primary')").await;
    settled(&mut browser).await;
    // Its end is below the window, so it takes two presses.
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('.ask .unseen').innerText.includes('not shown yet')").await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('all is over')").await;
    let below = "(() => { const pre = document.querySelector('#transcript .panel pre');
        return pre.clientHeight > 100 && pre.scrollHeight > pre.clientHeight && pre.scrollHeight - pre.scrollTop - pre.clientHeight < 2; })()";
    browser.until(below).await;
    for n in 0..40 {
        server.send("POST", "/api/sessions", &json!({ "name": format!("Session {n}") })).await.is(201);
    }
    browser.click("#all").await;
    browser.until("document.querySelectorAll('#board .session').length >= 40").await;
    browser.size(1280, 700, "light").await;
    browser.value(LAID_OUT).await;
    let top = "(() => { const s = document.querySelector('#scroller'); return [s.scrollTop, s.scrollHeight > s.clientHeight]; })()";
    assert_eq!(browser.value(top).await, json!([0, true]));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_command_that_was_scrolled_to_its_end_is_allowed_by_one_press() {
    let command = format!("true{}\necho two > two.txt", "\n: a line".repeat(120));
    let acts = vec![calls("bash", &json!({"command": command})), says("all is over")];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask pre')?.innerText.includes('two.txt')").await;
    settled(&mut browser).await;
    browser.value("document.querySelector('.ask .body').scrollTop = 1e9").await;
    browser.value(LAID_OUT).await;
    // It was seen, wherever it is scrolled to afterwards.
    browser.value("document.querySelector('.ask .body').scrollTop = 0").await;
    browser.value(LAID_OUT).await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('all is over')").await;
    assert!(server.dir.path().join("two.txt").exists());
}

#[tokio::test]
async fn long_plans_and_questions_leave_the_conversation_half_of_the_height() {
    let plan = format!("Why.\n\n{}", "1. **Read** all of it\n".repeat(120));
    let choices = ["one of the choices"; 8];
    let question = |n: u32| json!({"question": format!("Question {n}?"), "choices": choices});
    let questions = json!({"questions": (0..4).map(question).collect::<Vec<_>>()});
    let mut acts = long_conversation();
    acts.extend([
        calls("ask_user", &questions),
        says("as you wish"),
        calls("submit_plan", &json!({ "plan": plan })),
        says("carried out"),
    ]);
    let Some((mut browser, server, upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    talk(&mut browser).await;
    prompt(&mut browser, "ask me").await;
    browser.until("document.querySelector('.ask fieldset')").await;
    laid_out(&mut browser, "questions").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    // Missing input is named beside the buttons.
    browser
        .until("document.querySelector('.ask .foot .note').innerText.includes('Question 1 has no answer')")
        .await;
    laid_out(&mut browser, "missing").await;
    browser.value("[...document.querySelectorAll('.ask .foot button')].at(-1).click()").await;
    browser.until("document.querySelector('#transcript').innerText.includes('as you wish')").await;
    browser.until("document.querySelector('#state').innerText === ''").await;

    let mode = "(() => { const mode = document.querySelector('#mode'); mode.value = 'plan'; mode.dispatchEvent(new Event('change')); })()";
    browser.value(mode).await;
    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    let planning =
        async || server.send("GET", &path, &Value::Null).await.is(200).json()["permissionMode"] == "plan";
    while !planning().await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    prompt(&mut browser, "plan it").await;
    browser.until("document.querySelector('.ask pre')?.innerText.includes('Read')").await;
    laid_out(&mut browser, "plan").await;
    check(&mut browser, "plan").await;
    settled(&mut browser).await;
    browser.value("document.querySelector('.ask select').value = 'edits'").await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#transcript').innerText.includes('carried out')").await;
    // The accepted mode is shown, whichever it is.
    browser.until("document.querySelector('#mode').value === 'edits'").await;
    assert!(upstream.requests().last().unwrap().contains("The user accepted the plan"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn the_link_opens_the_page_and_its_token_stays_nowhere_in_the_address() {
    let Some(mut browser) = Browser::start().await else { return };
    let server = Served::start(&[]).await;
    let link = format!("http://{}/#token={}", server.address, server.token);
    browser.go(&link).await;
    browser.until("document.querySelector('#app')?.hidden === false").await;
    let addresses = async |browser: &mut Browser| {
        let history = browser.call("Page.getNavigationHistory", json!({})).await;
        let entries = history["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["url"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(addresses(&mut browser).await.iter().all(|address| !address.contains("token")));
    // A link to a page that is already open, of a server restarted with another token.
    browser.value("sessionStorage.setItem('tau-token', 'an-older-one')").await;
    browser.call("Page.reload", json!({})).await;
    browser.until("document.querySelector('#login')?.hidden === false").await;
    browser.value(&format!("location.href = {}", json!(link))).await;
    browser.until("document.querySelector('#app')?.hidden === false").await;
    assert_eq!(browser.value("location.hash").await, "");
    assert!(addresses(&mut browser).await.iter().all(|address| !address.contains("token")));
    assert_eq!(browser.value("sessionStorage.getItem('tau-token')").await, json!(server.token));
    // Pasting the whole link in place of the token works, too.
    browser.value("sessionStorage.clear()").await;
    browser.call("Page.reload", json!({})).await;
    browser.until("document.querySelector('#login')?.hidden === false").await;
    browser.write(&link).await;
    browser.press("Enter", 13).await;
    browser.until("document.querySelector('#app')?.hidden === false").await;
    let (code, err) = server.end().await;
    assert_eq!(code, Some(143));
    let token = link.rsplit('=').next().unwrap();
    assert!(err.contains("/api/sessions") && !err.contains(token), "{err}");
}
