//! Undo in the real program: the agent changes twenty files with a command, the user changes one of them
//! meanwhile, and all of it is undone. On the screen, and with `tau diff` and `tau undo`.

use serde_json::json;

use crate::live::{command, only_id, texts, wait_for_state};
use crate::screen::Screen;
use crate::support::server::{Act, Server, stream};
use crate::time_limit::RunInTime as _;

const SED: &str = "sed -i 's/line 3/LINE 3/' f*.txt && rm gone.txt && mkdir made && \
    echo GITHUB_TOKEN=ghp_$(printf x8Kq2Vb7Lm4Zt9Rw3Ys6Nd1Hf5Gj0Pc2TaQe) >made/new.txt";
const FILES: &str = "for n in $(seq 1 20); do seq -f 'line %g' 9 >f$n.txt; done; echo gone >gone.txt; \
    echo 'build/' >.gitignore; mkdir build; sleep 0.1";

/// A server that makes the agent run a command, then say something.
pub(crate) async fn server() -> Server {
    serve(&[SED]).await
}

/// A server for each of these commands, one per prompt.
async fn serve(commands: &[&str]) -> Server {
    let acts = commands.iter().enumerate().flat_map(|(before, command)| {
        let done = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"Finished.{}\"}}}}]}}\n\n\
             data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n",
            " Again.".repeat(before)
        );
        let arguments = serde_json::to_string(&json!({ "command": command }).to_string()).unwrap();
        let call = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c1\",\"function\":{{\"name\":\"bash\",\"arguments\":{arguments}}}}}]}}}}]}}\n\n\
             data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
        );
        [call, done].map(|body| Act::Send(stream(&body)))
    });
    Server::start(acts.collect()).await
}

/// The program in a directory with files, after the agent has changed them.
fn changed(url: &str, rest: &str) -> Screen {
    let script = format!(
        "{FILES}; \"$TAU_BIN\" --base-url {url} --api-key x --model m; {rest}; printf 'all %s\\n' over; read line"
    );
    let screen = Screen::program(std::path::Path::new("/bin/bash"), &["-c", &script], 100, 30);
    screen.wait_for("ask for something");
    screen.type_keys("change the files\r");
    screen.wait_for("Finished.");
    screen
}

fn at(screen: &Screen, path: &str) -> std::path::PathBuf {
    screen.home().join("work").join(path)
}

fn text(screen: &Screen, path: &str) -> String {
    std::fs::read_to_string(at(screen, path)).unwrap()
}

/// The user changes a file.
fn mine(screen: &Screen) {
    let changed = text(screen, "f7.txt").replace("line 9", "mine");
    std::fs::write(at(screen, "f7.txt"), changed).unwrap();
}

fn type_line(screen: &Screen, line: &str) {
    screen.type_keys(line);
    screen.wait_for_composer(line);
    screen.type_keys("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_over_twenty_files_goes_back_and_asks_about_the_one_that_you_changed() {
    let server = server().await;
    let url = server.url();
    let screen = changed(&url, "true");
    mine(&screen);
    type_line(&screen, "/undo");
    screen.wait_for("22 files and 1 folder");
    screen.type_keys("\r");
    screen.wait_for("Files and conversation");
    screen.type_keys("\r");
    screen.wait_for("f7.txt: changed since");
    screen.type_keys("\x1b[B\r");
    screen.wait_for("undid the changes to 21 files and 1 folder, merged f7.txt; /redo restores them");
    screen.wait_for_composer("change the files");
    for n in 1..=20 {
        let end = if n == 7 { "mine" } else { "line 9" };
        let expected: String = (1..9).map(|line| format!("line {line}\n")).collect();
        assert_eq!(text(&screen, &format!("f{n}.txt")), format!("{expected}{end}\n"), "{n}");
    }
    assert!(at(&screen, "gone.txt").exists() && !at(&screen, "made").exists());

    // The text of the prompt is in the composer, and a command after it is recognised.
    screen.type_keys("/redo");
    screen.wait_for_composer("change the files/redo");
    screen.type_keys("\r");
    screen.wait_for("brought back the changes to 22 files and 1 folder; /undo undoes them again");
    screen.wait_for("Finished.");
    assert!(text(&screen, "f7.txt").contains("LINE 3") && text(&screen, "f7.txt").contains("mine"));
    assert!(!at(&screen, "gone.txt").exists() && at(&screen, "made/new.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_listed_and_reverted_hunk_by_hunk() {
    let server = server().await;
    let url = server.url();
    let screen = changed(&url, "true");
    type_line(&screen, "/diff");
    screen.wait_for("Changes of this session: 22 files and 1 folder, +21 -21");
    screen.wait_for("A made/new.txt");
    screen.type_keys("\x1b[F\r\x1b[B");
    screen.wait_for("GITHUB_TOKEN=[secret 1-");
    assert!(!screen.text().contains("ghp_x8"), "{}", screen.text());
    screen.type_keys("\x1b[H");
    // The first is f1.txt: unfold it, and revert its only hunk.
    screen.type_keys("\r");
    screen.wait_for("LINE 3");
    screen.type_keys("\x1b[B");
    screen.type_keys("r");
    screen.wait_for("Changes of this session: 21 files and 1 folder, +20 -20");
    assert!(!text(&screen, "f1.txt").contains("LINE"));
    assert!(text(&screen, "f2.txt").contains("LINE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_session_is_undone_from_the_shell_by_its_process() {
    let server = server().await;
    let url = server.url();
    let screen = changed(&url, "true");
    let id = only_id(screen.home());
    wait_for_state(screen.home(), &id, "idle");
    let undone = command(screen.home(), &["undo", &id, "--to", "1", "--yes"]).output_in_time();
    let (code, out, err) = texts(&undone);
    assert_eq!((code, out.as_str()), (Some(0), "restored 22 files and 1 folder\n"), "{err}");
    assert!(at(&screen, "gone.txt").exists() && !at(&screen, "made").exists());
    // It stays open, and knows.
    type_line(&screen, "/redo");
    screen.wait_for("brought back the changes to 22 files and 1 folder");
    assert!(!at(&screen, "gone.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_session_is_listed_and_undone_from_the_shell() {
    let server = server().await;
    let url = server.url();
    let rest = "\"$TAU_BIN\" diff >patch 2>masked; \
        mkdir -p $TAU_HOME; echo mask_secrets=false >>$TAU_HOME/config.toml; \"$TAU_BIN\" diff >plain; \
        \"$TAU_BIN\" undo >list; \
        \"$TAU_BIN\" undo --to 1 </dev/null; echo code $?; \
        \"$TAU_BIN\" undo --to 1 --yes; echo \"then $?\"; \"$TAU_BIN\" undo --to 9 --yes; echo \"none $?\"";
    let screen = changed(&url, rest);
    mine(&screen);
    type_line(&screen, "/quit");
    screen.wait_for("all over");
    let shown = screen.text();
    for words in ["code 2", "restored 21 files and 1 folder, left as they are: f7.txt", "then 0", "none 2"] {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
    let patch = text(&screen, "patch");
    for words in ["diff --git a/f1.txt b/f1.txt\n", "-line 3\n+LINE 3\n", "# f7.txt: changed since\n"] {
        assert!(patch.contains(words), "no {words:?} in\n{patch}");
    }
    assert!(patch.contains("+GITHUB_TOKEN=[secret 1-") && !patch.contains("ghp_"), "{patch}");
    let masked = text(&screen, "masked");
    assert!(masked.contains("masked 1 secret in standard output"), "{masked}");
    assert!(text(&screen, "plain").contains("+GITHUB_TOKEN=ghp_x8Kq"), "it can be switched off");
    assert!(text(&screen, "list").contains("1  change the files"), "{}", text(&screen, "list"));
    assert!(!text(&screen, "f6.txt").contains("LINE") && text(&screen, "f7.txt").contains("mine"));
}

/// Two prompts; then a process left in the background replaces the directory that undo writes to with a link
/// to the home directory.
#[tokio::test(flavor = "multi_thread")]
async fn undo_writes_nothing_through_a_link_on_the_screen_or_from_the_shell() {
    let server =
        serve(&["mkdir d; echo evil >d/.bashrc; echo evil >d/.profile", "rm d/.bashrc d/.profile"]).await;
    let url = server.url();
    let script = format!(
        "echo mine >$HOME/.bashrc; \"$TAU_BIN\" --base-url {url} --api-key x --model m; \
         \"$TAU_BIN\" undo --to 2 --conflicts old --yes; printf 'all %s\n' over; read line"
    );
    let screen = Screen::program(std::path::Path::new("/bin/bash"), &["-c", &script], 100, 30);
    screen.wait_for("ask for something");
    type_line(&screen, "the first");
    screen.wait_for("Finished.");
    type_line(&screen, "the second");
    screen.wait_for("Finished. Again.");
    std::fs::remove_dir(at(&screen, "d")).unwrap();
    std::os::unix::fs::symlink(screen.home(), at(&screen, "d")).unwrap();
    type_line(&screen, "/undo");
    screen.wait_for("2 files");
    screen.type_keys("\r");
    screen.wait_for("Files and conversation");
    // The conversation stays, so the shell can undo the same prompt.
    screen.type_keys("\x1b[B\r");
    for file in ["d/.bashrc", "d/.profile"] {
        screen.wait_for(&format!("{file}: a link is on the way to it"));
        screen.type_keys("old\r");
    }
    screen.wait_for("a symbolic link is on the way to it");
    let untouched = || {
        let text = std::fs::read_to_string(screen.home().join(".bashrc")).unwrap();
        assert!(text == "mine\n" && !screen.home().join(".profile").exists(), "{}", screen.text());
    };
    untouched();
    screen.type_keys("\x03");
    screen.wait_for_composer("ask for something, or !command");
    type_line(&screen, "/quit");
    screen.wait_for("all over");
    assert!(screen.text().contains("a symbolic link is on the way to it"), "{}", screen.text());
    untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn reverting_says_which_way_and_compacting_nothing_says_only_that() {
    let server = server().await;
    let url = server.url();
    let screen = changed(&url, "true");
    type_line(&screen, "/diff");
    screen.wait_for("A made/new.txt");
    screen.type_keys("r");
    screen.type_keys("\x1b");
    screen.wait_for("undid the change to f1.txt; /redo restores it");
    type_line(&screen, "/new");
    screen.wait_for_composer("ask for something, or !command");
    type_line(&screen, "/compact");
    screen.wait_for("nothing to compact");
    assert!(!screen.text().contains("compaction failed"), "{}", screen.text());
}
