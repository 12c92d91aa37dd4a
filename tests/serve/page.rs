//! The page at `/`, in a headless Chromium.

use serde_json::{Value, json};

use super::browser::Browser;
use super::client::Served;
use super::page_layout::LAYOUT;
use crate::support::program::{calls, own_model, says, stalls};
use crate::support::server::{Act, Server};

/// Text as a hostile model may write it.
const HOSTILE: &str = "## A heading\n\nBold **word**, `code`, [link](https://example.com/x), \
    [trap](javascript:hacked=1), <img src=x onerror=hacked=1> and <script>hacked=1</script>.\n\n\
    - one\n- two\n  - deep\n\n1. first\n2. second\n\n| a | b |\n| --- | --- |\n| 1 | <b>2</b> |\n\n\
    ```rust\nfn main() { println!(\"</pre><script>hacked=1</script>\"); }\n```\n\n> quoted \u{202e}txt.exe";

pub async fn place(acts: Vec<Act>) -> Option<(Browser, Served, Server)> {
    let browser = Browser::start().await?;
    let upstream = Server::start(acts).await;
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join(".config/tau");
    std::fs::create_dir_all(&config).unwrap();
    let provider = "[vendors.own]\nbase_url = \"URL\"\napi = \"openai-completions\"\napi_key = \"x\"";
    let text = format!("{provider}\n[[vendors.own.models]]\nid = \"m\"\n");
    std::fs::write(config.join("models.toml"), text.replace("URL", &upstream.url())).unwrap();
    let server = Served::in_dir(dir, &[]).await;
    Some((browser, server, upstream))
}

/// Enters with the token, and creates a session in which everything needs approval.
pub async fn enter(browser: &mut Browser, server: &Served) {
    browser.go(&format!("http://{}/#token={}", server.address, server.token)).await;
    browser.until("!document.querySelector('#app').hidden").await;
    assert_eq!(browser.value("location.hash").await, "", "the token does not stay in the address");
    browser.click("#new").await;
    browser.until("document.querySelector('#new-dialog').open").await;
    browser.until("[...document.querySelector('#new-model').options].some((o) => o.value === 'own/m')").await;
    browser.value("document.querySelector('#new-model').value = 'own/m'").await;
    browser.click("#new-form .primary").await;
    browser
        .until("!document.querySelector('#composer').hidden && document.querySelector('#model').innerText === 'own/m'")
        .await;
}

/// Sends a prompt with only the keyboard.
pub async fn prompt(browser: &mut Browser, text: &str) {
    browser.value("document.querySelector('#prompt').focus()").await;
    browser.write(text).await;
    browser.press("Enter", 13).await;
    browser.until("document.querySelector('#prompt').value === ''").await;
}

/// Waits until a question accepts an answer.
pub async fn settled(browser: &mut Browser) {
    browser.until("!document.querySelector('#asks').classList.contains('early')").await;
}

/// Visible pairs of colours whose contrast is below 4.5.
const CONTRAST: &str = r"
(() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color.a === 1) return color;
    }
    return { r: 255, g: 255, b: 255 };
  };
  const faults = [];
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.disabled) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.push(`${node.tagName}.${node.className} ${contrast.toFixed(2)} ${node.textContent.slice(0, 30)}`);
  }
  return faults;
})()";

/// True if all controls below the prompt are in one row while the agent works.
const BUTTONS_IN_A_ROW: &str = "(() => {
  const parts = ['#mode', '#attach', '#stop', '#send'].map((name) => document.querySelector(name));
  const middles = parts.map((part) => { const box = part.getBoundingClientRect(); return (box.top + box.bottom) / 2; });
  return parts.every((part) => part.checkVisibility()) && Math.max(...middles) - Math.min(...middles) < 2;
})()";

/// Waits until the page is laid out again and nothing moves any more.
pub const LAID_OUT: &str = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => Promise.allSettled(document.getAnimations().map((motion) => motion.finished)))
  .then(() => true)";

/// Fails if something is wider than the page, hard to read, or has no accessible name.
pub async fn check(browser: &mut Browser, name: &str) {
    for (width, height, scheme) in
        [(1280, 800, "light"), (390, 844, "dark"), (1280, 800, "dark"), (390, 844, "light")]
    {
        browser.size(width, height, scheme).await;
        browser.value(LAID_OUT).await;
        browser.picture(&format!("{name}-{width}-{scheme}")).await;
        let wide = browser.value("document.documentElement.scrollWidth").await;
        assert_eq!(wide, json!(width), "{name}: wider than the page");
        assert_eq!(browser.value(LAYOUT).await, json!([]), "{name} {width}x{height}");
        assert_eq!(browser.value(CONTRAST).await, json!([]), "{name} {width} {scheme}");
    }
    let tree = browser.call("Accessibility.getFullAXTree", json!({})).await;
    let controls = ["button", "textbox", "combobox", "link", "checkbox", "img", "dialog"];
    let (mut seen, mut nameless) = (0, Vec::new());
    for node in tree["nodes"].as_array().unwrap() {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if node["ignored"] == true || !controls.contains(&role) {
            continue;
        }
        seen += 1;
        if node["name"]["value"].as_str().unwrap_or_default().is_empty() {
            nameless.push(node.to_string());
        }
    }
    assert!(seen > 1 && nameless.is_empty(), "{name}: {seen} {nameless:?}");
    browser.size(1280, 800, "light").await;
}

#[tokio::test]
async fn a_session_is_started_approved_and_read_on_the_page() {
    let write = json!({"path": "made.txt", "content": "one\ntwo\n"});
    let command = json!({"command": "printf 'three\\n' >> made.txt; cat made.txt # \u{202e}"});
    let acts = vec![calls("write", &write), calls("bash", &command), says(HOSTILE)];
    let Some((mut browser, server, _upstream)) = place(acts).await else { return };
    browser.go(&format!("http://{}/", server.address)).await;
    browser.until("!document.querySelector('#login').hidden").await;
    check(&mut browser, "login").await;
    browser.write("not-the-token").await;
    browser.press("Enter", 13).await;
    browser.until("document.querySelector('#login-error').innerText.includes('does not accept')").await;
    browser.complaints.clear();
    browser.go("about:blank").await;
    enter(&mut browser, &server).await;
    prompt(&mut browser, "make it").await;

    // A change, hunk by hunk, before it is made.
    browser.until("document.querySelector('.ask .diff .added')").await;
    browser.size(390, 844, "light").await;
    browser.value(LAID_OUT).await;
    assert_eq!(browser.value(BUTTONS_IN_A_ROW).await, true);
    browser.size(1280, 800, "light").await;
    let asked = browser.text(".ask").await;
    assert!(asked.contains("write: made.txt") && asked.contains("Allow once"), "{asked}");
    assert_eq!(browser.text("#state").await, "waits for you");
    assert_eq!(browser.text(".panel .outcome").await, "waits for you");
    assert!(!server.dir.path().join("made.txt").exists());
    check(&mut browser, "approval").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;

    // A command with its hidden characters visible.
    browser.until("document.querySelector('.ask pre')?.innerText.includes('printf')").await;
    let asked = browser.text(".ask pre").await;
    assert!(asked.contains("⟨U+202E⟩") && !asked.contains('\u{202e}'), "{asked}");
    assert_eq!(std::fs::read_to_string(server.dir.path().join("made.txt")).unwrap(), "one\ntwo\n");
    settled(&mut browser).await;
    browser.click(".ask .primary").await;

    browser.until("document.querySelector('#transcript h4')").await;
    browser.until("document.querySelector('#state').innerText === ''").await;
    let expected = [
        ("#transcript h4", "A heading"),
        ("#transcript strong", "word"),
        ("#transcript li li", "deep"),
        ("#transcript td:nth-child(2)", "<b>2</b>"),
        ("#transcript .code code", "fn main() { println!(\"</pre><script>hacked=1</script>\"); }"),
        ("#transcript blockquote", "quoted ⟨U+202E⟩txt.exe"),
        ("#transcript .diff .added", "one"),
        ("#transcript a", "link"),
        ("#title", "make it"),
        (".user .body", "make it"),
    ];
    for (selector, text) in expected {
        let shown = browser.text(selector).await;
        assert!(shown.contains(text), "{selector}: {shown}");
    }
    let output =
        "[...document.querySelectorAll('.panel pre')].some((pre) => pre.textContent.includes('three'))";
    assert_eq!(browser.value(output).await, true);
    assert_eq!(browser.value("typeof hacked").await, "undefined");
    assert_eq!(
        browser.value("document.querySelectorAll('#transcript :is(script, img, b, [onerror])').length").await,
        0
    );
    let links = "[...document.querySelectorAll('#transcript a')].map((link) => link.href).join()";
    assert_eq!(browser.value(links).await, "https://example.com/x");
    check(&mut browser, "answer").await;

    // The same is there after a reload, from the history; notices were transient.
    let messages =
        "[...document.querySelectorAll('#transcript > article')].map((m) => m.innerText).join('\\n')";
    let before = browser.value(messages).await;
    browser.call("Page.reload", json!({})).await;
    browser.until("document.querySelector('#transcript h4')").await;
    assert_eq!(browser.value(messages).await, before);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_is_stopped_denied_and_seen_by_another_client() {
    let remove = json!({"command": "rm -rf everything"});
    let acts = vec![stalls("it begins"), calls("bash", &remove), says("as you wish")];
    let Some((mut browser, server, upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('#transcript .markdown')?.innerText.includes('it begins')").await;
    browser.until("!document.querySelector('#stop').hidden").await;
    browser.press("Escape", 27).await;
    browser.until("document.querySelector('#stop').hidden").await;
    browser.until("document.querySelector('#transcript').innerText.includes('stopped')").await;

    prompt(&mut browser, "clean up").await;
    browser.until("document.querySelector('.ask pre')").await;
    browser.value("document.querySelector('.ask input').focus()").await;
    browser.write("keep it").await;
    settled(&mut browser).await;
    browser.press("Enter", 13).await;
    browser.until("document.querySelector('#transcript').innerText.includes('as you wish')").await;
    assert!(upstream.requests().last().unwrap().contains("keep it"));

    // Another client's prompt is visible here.
    let id = browser.value("decodeURIComponent(location.hash.slice(4))").await;
    let body: Value = json!({ "prompt": "from elsewhere", "detach": true });
    let path = format!("/api/sessions/{}/prompt", id.as_str().unwrap());
    server.send("POST", &path, &body).await.is(202);
    browser
        .until("[...document.querySelectorAll('.user .body')].at(-1).innerText === 'from elsewhere'")
        .await;
    browser.until("document.querySelectorAll('#transcript .markdown').length > 2").await;
    let closed = format!("/api/sessions/{}/close", id.as_str().unwrap());
    browser.until("document.querySelector('#stop').hidden").await;
    server.send("POST", &closed, &Value::Null).await.is(204);
    browser.until("document.querySelector('#transcript').innerText.includes('was closed')").await;
    // A prompt opens it again.
    prompt(&mut browser, "once more").await;
    browser.until("document.querySelectorAll('.user .body').length === 4").await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn the_files_of_the_page_need_no_token_and_run_nothing_from_elsewhere() {
    let server = Served::start(&[]).await;
    for path in ["/", "/page/main.js", "/page/style.css", "/page/icon.svg"] {
        let reply = server.raw("GET", path, "host: localhost\r\n", b"").await.is(200);
        assert!(
            reply.head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
            "{}",
            reply.head
        );
        assert!(
            reply.head.contains("nosniff") && reply.head.contains("referrer-policy: no-referrer"),
            "{}",
            reply.head
        );
    }
    for path in ["/page/main.rs", "/page/..%2fmod.rs", "/page/", "/api/sessions"] {
        let reply = server.raw("GET", path, "host: localhost\r\n", b"").await;
        assert!(reply.status == 404 || reply.status == 401, "{path}: {reply:?}");
    }
    server.raw("GET", "/", "host: evil.example\r\n", b"").await.is(403);
}

#[tokio::test]
async fn questions_of_the_model_are_answered_on_the_page() {
    let questions = json!({"questions": [
        {"question": "Which \u{202e}<b>one</b>?", "choices": ["a", "<i>b</i>"]},
        {"question": "Which ones?", "choices": ["c", "d", "e"], "multiple": true},
    ]});
    let Some((mut browser, server, upstream)) =
        place(vec![calls("ask_user", &questions), says("done")]).await
    else {
        return;
    };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser.until("document.querySelector('.ask fieldset')").await;
    let asked = browser.text(".ask").await;
    assert!(asked.contains("Which ⟨U+202E⟩<b>one</b>?") && asked.contains("<i>b</i>"), "{asked}");
    let head = "document.querySelector('#transcript .panel .what').innerText";
    assert_eq!(browser.value(head).await, json!("Which ⟨U+202E⟩<b>one</b>?"));
    check(&mut browser, "questions").await;
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    browser
        .until("document.querySelector('.ask .note').innerText.includes('Question 1 has no answer')")
        .await;
    // A text replaces a choice, and a choice replaces a text.
    browser.click(".ask .choice:nth-of-type(1) input").await;
    browser.click(".ask input[type=text]").await;
    browser.write("other").await;
    assert_eq!(browser.value("document.querySelectorAll('.ask input:checked').length").await, json!(0));
    browser.click(".ask .choice:nth-of-type(2) input").await;
    browser.click(".ask fieldset:nth-of-type(2) .choice:nth-of-type(1) input").await;
    browser.click(".ask fieldset:nth-of-type(2) .choice:nth-of-type(3) input").await;
    browser.click(".ask .primary").await;
    browser.until("document.querySelector('#state').innerText === ''").await;
    let result = crate::asking::result_of(upstream.requests().last().unwrap());
    assert_eq!(result, "1. <i>b</i>\n2. c; e");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Starts a session in the background beside the server, which asks for a command.
pub async fn begin_beside(server: &Served, upstream: &Server) -> String {
    let mut tau = crate::support::program::bare(server.dir.path());
    tau.args(["-b"]).args(own_model(&upstream.url())).args(["clean up"]);
    tau.env("TAU_PERMISSION_MODE", "ask").current_dir(server.dir.path());
    let output = tau.output().await.unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The process that has a session open beside the server.
pub fn process_of(server: &Served, id: &str) -> rustix::process::Pid {
    let live = server.dir.path().join(".local/state/tau/live");
    let record =
        std::fs::read(live.join(format!("{id}.json"))).unwrap_or_else(|_| panic!("no record in {live:?}"));
    let pid = serde_json::from_slice::<Value>(&record).unwrap()["pid"].as_i64().unwrap();
    rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_board_shows_all_sessions_and_answers_their_questions() {
    let touch = calls("bash", &json!({ "command": "touch made; echo one" }));
    let Some((mut browser, server, upstream)) = place(vec![touch, says("All is <b>clean</b>.")]).await else {
        return;
    };
    let id = begin_beside(&server, &upstream).await;
    browser.go(&format!("http://{}/#token={}", server.address, server.token)).await;
    browser.until("document.querySelector('#board .session .ask') !== null").await;
    let text = "document.querySelector('#board').innerText";
    let shown = browser.value(text).await;
    let shown = shown.as_str().unwrap().to_owned();
    for part in ["clean up", "waits for you", "local/m", "touch made; echo one", "Stop"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(browser.value("document.title").await, "(1) waiting for you – tau");
    assert!(!server.dir.path().join("made").exists());
    browser.until("!document.querySelector('#board').classList.contains('early')").await;
    browser.click("#board .ask .primary").await;
    browser.until(&format!("{text}.includes('done') && {text}.includes('All is <b>clean</b>.')")).await;
    assert!(server.dir.path().join("made").exists());
    // The row leads to the session, and the link back to the board.
    browser.click("#board .session h2 a").await;
    browser.until("document.querySelector('#transcript').innerText.includes('clean')").await;
    assert_eq!(browser.value("location.hash").await, format!("#/s/{id}"));
    browser.click("#all").await;
    browser.until("!document.querySelector('#board').hidden").await;
    // What has ended is put away, and brought back.
    browser.until("!document.querySelector('#board').classList.contains('early')").await;
    browser
        .until("document.querySelector('#board .session form button:last-child:not([hidden])') !== null")
        .await;
    browser.click("#board .session form button:last-child").await;
    browser.until("document.querySelector('#archived').innerText === '1 archived'").await;
    browser.until("document.querySelector('#board .session') === null").await;
    browser.click("#archived").await;
    browser.until(&format!("{text}.includes('clean up') && {text}.includes('Bring back')")).await;
    browser.until("!document.querySelector('#board').classList.contains('early')").await;
    browser.click("#board .session form button:last-child").await;
    browser.until(&format!("{text}.includes('Archive') && document.querySelector('#archived').hidden")).await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_jobs_are_listed_read_and_stopped() {
    let nap = crate::support::processes::rare_sleep();
    let call = json!({ "command": format!("echo begun; sleep {nap}"), "background": true });
    let Some((mut browser, server, _upstream)) = place(vec![calls("bash", &call), says("It runs.")]).await
    else {
        return;
    };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "go").await;
    browser
        .until("document.querySelector('#jobs summary').innerText === 'Background jobs: 1 running, 0 ended'")
        .await;
    browser.click("#jobs summary").await;
    browser.click("#jobs li .plain").await;
    browser.until("document.querySelector('#jobs pre').innerText.includes('begun')").await;
    browser.click("#jobs li .danger").await;
    browser
        .until("document.querySelector('#jobs summary').innerText === 'Background jobs: 0 running, 1 ended'")
        .await;
    assert!(crate::support::processes::alive(&nap).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_session_says_that_another_one_waits() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let acts = vec![says("hello"), touch, says("All is clean.")];
    let Some((mut browser, server, upstream)) = place(acts).await else { return };
    enter(&mut browser, &server).await;
    prompt(&mut browser, "hi").await;
    browser.until("document.querySelector('#transcript').innerText.includes('hello')").await;
    let id = begin_beside(&server, &upstream).await;
    browser
        .until("document.querySelector('#transcript').innerText.includes('another session waits for your answer: clean up')")
        .await;
    assert_eq!(browser.value("document.title").await, "(1) hi – tau");
    check(&mut browser, "another-waits").await;
    browser.size(390, 844, "light").await;
    assert_eq!(browser.text("#menu").await, "Sessions (1)");
    // It is said once; in the session itself only the number stays.
    browser.value(&format!("location.hash = '#/s/{id}'")).await;
    browser.until("document.querySelector('.ask .primary') !== null").await;
    browser.until("document.title === '(1) clean up – tau'").await;
    assert_eq!(browser.text("#menu").await, "Sessions");
    settled(&mut browser).await;
    browser.click(".ask .primary").await;
    browser.until("document.title === 'clean up – tau'").await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The calls of a session whose process was killed have ended, whether or not the page saw that, and so they stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_session_is_said_to_be_interrupted() {
    let touch = calls("bash", &json!({ "command": "touch made" }));
    let Some((mut browser, server, upstream)) = place(vec![touch, says("All is well.")]).await else {
        return;
    };
    let id = begin_beside(&server, &upstream).await;
    browser.go(&format!("http://{}/#token={}", server.address, server.token)).await;
    browser.until("!document.querySelector('#app').hidden").await;
    browser.value(&format!("location.hash = '#/s/{id}'")).await;
    browser.until("document.querySelector('.ask .primary') !== null").await;
    rustix::process::kill_process(process_of(&server, &id), rustix::process::Signal::KILL).unwrap();
    let outcome = "document.querySelector('#transcript .panel .outcome')?.innerText";
    let is_told = format!(
        "{outcome} === 'not run' && document.querySelector('#transcript').innerText.includes('the run ended here without an answer')"
    );
    browser.until(&is_told).await;
    browser.value("window.isBefore = true").await;
    browser.call("Page.reload", json!({})).await;
    browser.until(&format!("window.isBefore === undefined && {is_told}")).await;
    browser.until("document.querySelectorAll('.ask').length === 0").await;
    prompt(&mut browser, "once more").await;
    browser.until("document.querySelector('#transcript').innerText.includes('All is well.')").await;
    assert_eq!(browser.value(outcome).await, json!("not run"));
}
