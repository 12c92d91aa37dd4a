//! A headless Chromium, driven over its DevTools protocol: JSON objects, each followed by a NUL, on two
//! pipes.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::time_limit::{InTime, LIMIT};

/// The names of the program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A browser with one page.
pub struct Browser {
    _child: Child,
    _profile: tempfile::TempDir,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    page: String,
    next: u64,
    /// The page's console output, and its uncaught errors.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Starts it; `None`, with a message, if none is installed.
    pub async fn start() -> Option<Self> {
        let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let found = NAMES.iter().find(|name| paths.iter().any(|path| path.join(name).is_file()));
        let Some(name) = found else {
            eprintln!("skipped: no Chromium is installed (Debian package chromium)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // It reads file descriptor 3 and writes 4. Its own sandbox does not work for root, and it only
        // visits pages of the test.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script, name, "--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser {
            _child: child,
            _profile: profile,
            input,
            output,
            page: String::new(),
            next: 1,
            complaints: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.page = attached["sessionId"].as_str().expect("a page").to_owned();
        for domain in ["Page", "Runtime", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        Some(browser)
    }

    /// Sends a command and returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !self.page.is_empty() {
            message["sessionId"] = json!(self.page);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).in_time("the browser to read").await.unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).in_time(method).await.unwrap();
            let record =
                bytes.strip_suffix(&[0]).unwrap_or_else(|| panic!("{method}: the browser has ended"));
            let record: Value = serde_json::from_slice(record).unwrap();
            if record["id"] == id {
                assert!(record["error"].is_null(), "{method}: {}", record["error"]);
                return record["result"].clone();
            }
            let params = &record["params"];
            match record["method"].as_str() {
                Some("Runtime.exceptionThrown") => {
                    self.complaints.push(params["exceptionDetails"].to_string());
                }
                Some("Runtime.consoleAPICalled") => self.complaints.push(params["args"].to_string()),
                // The answer of a session that changes hands, which the page asks again later.
                Some("Log.entryAdded") if params["entry"]["text"].to_string().contains("status of 409") => {}
                Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                    self.complaints.push(params["entry"].to_string());
                }
                _ => {}
            }
        }
    }

    /// The value of an expression, awaited if it is a promise.
    pub async fn value(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", params).await;
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits until the expression is true.
    #[track_caller]
    pub fn until<'a>(&'a mut self, expression: &'a str) -> impl Future<Output = ()> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let end = Instant::now() + LIMIT;
            while self.value(&format!("Boolean({expression})")).await != true {
                if Instant::now() > end {
                    let shown = self.value("document.body.innerText").await;
                    panic!("{place}: waited for {expression}: {:?}\n{shown}", self.complaints);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// The text of the first matching element.
    pub async fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({})?.innerText ?? ''", json!(selector))).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the first matching element, which must exist.
    pub async fn click(&mut self, selector: &str) {
        self.value(&format!("document.querySelector({}).click()", json!(selector))).await;
    }

    /// Opens an address and waits for the page.
    pub async fn go(&mut self, address: &str) {
        self.call("Page.navigate", json!({ "url": address })).await;
        self.until(&format!(
            "document.readyState === 'complete' && location.href.startsWith({})",
            json!(address.split('#').next())
        ))
        .await;
    }

    /// Types text at the focus.
    pub async fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses a key.
    pub async fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" && key == "Enter" { "\r" } else { "" };
            let params = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.call("Input.dispatchKeyEvent", params).await;
        }
    }

    /// Sets the page's size, and light or dark mode.
    pub async fn size(&mut self, width: u32, height: u32, scheme: &str) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700 });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features).await;
    }

    /// Writes a screenshot to the folder named by `TAU_PICTURES`, if it is set.
    pub async fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TAU_PICTURES") else { return };
        use base64::Engine as _;
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" })).await;
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }
}
