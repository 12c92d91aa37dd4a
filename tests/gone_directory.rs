//! The working directory is removed or moved during a session: commands continue in the nearest ancestor,
//! say so, are judged there, and nothing recreates the old one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::answering;
use crate::live::{Home, other_terminal};
use crate::screen::Screen;
use crate::support::program::{bare, calls, own_model, run, says};
use crate::support::server::Server;
use crate::time_limit::{JoinInTime, SOON};

/// Waits until the working directory has been moved away.
const WAIT: &str = "touch waiting; while [ -e waiting ]; do sleep 0.02; done";

/// Moves a directory to `away` beside it as soon as its command waits for that.
fn move_away(work: &Path) -> std::thread::JoinHandle<()> {
    let (work, away) = (work.to_owned(), work.with_file_name("away"));
    std::thread::spawn(move || {
        crate::time_limit::until(
            SOON,
            || work.join("waiting").exists(),
            || "the command does not run".to_owned(),
        );
        std::fs::rename(&work, &away).unwrap();
        std::fs::remove_file(away.join("waiting")).unwrap();
    })
}

/// The results given to the model for each call after the first, in order.
async fn told(flags: &[&str], rest: &[(&str, Value)]) -> (tempfile::TempDir, PathBuf, Vec<String>) {
    let mut acts = vec![calls("bash", &json!({ "command": WAIT }))];
    acts.extend(rest.iter().map(|(tool, arguments)| calls(tool, arguments)));
    acts.push(says("done"));
    let server = Server::start(acts).await;
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let work = home.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::write(work.join("src/a"), "mine\n").unwrap();
    let moved = move_away(&work);
    let mut command = bare(home.path());
    command.current_dir(&work).args(["-p"]).args(own_model(&server.url()));
    let ended = run(command.args(flags).arg("carry on, please"), None).await;
    moved.join_in_time("the move");
    assert!(ended.out.contains("done"), "{ended:?}");
    let requests = server.requests();
    let (_, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let texts = results.skip(1).map(|message| message["content"].to_string()).collect();
    (home, work, texts)
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_continue_in_the_nearest_directory_and_nothing_makes_the_old_one_again() {
    let rest = [
        ("bash", json!({"command": "pwd; ls away/src"})),
        ("write", json!({"path": "new", "content": "x"})),
        ("write", json!({"path": "src/deep/new", "content": "x"})),
        ("edit", json!({"path": "src/a", "old_string": "mine", "new_string": "yours"})),
        ("read", json!({"path": "src/a"})),
    ];
    for level in ["off", "workspace-write"] {
        if level != "off" && !crate::sandbox::has_landlock() {
            continue;
        }
        let flags = ["--permission-mode", "auto", "--sandbox", level];
        let (home, work, told) = self::told(&flags, &rest).await;
        assert!(!work.exists(), "{level}: it was made again: {told:?}");
        let above = home.path().canonicalize().unwrap();
        let note = format!(
            "The working directory {} no longer exists, so this ran in {}",
            work.display(),
            above.display()
        );
        assert!(told[0].contains(&note) && told[0].contains("\\na\\n"), "{level}: {told:?}");
        for refused in &told[1..3] {
            assert!(refused.contains("no longer exists, so nothing was written"), "{level}: {told:?}");
        }
        assert!(told[4].contains("does not exist"), "{level}: {told:?}");
        assert_eq!(std::fs::read_to_string(above.join("away/src/a")).unwrap(), "mine\n", "{level}");
        assert!(!above.join("new").exists() && !above.join("src").exists(), "{level}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_above_does_not_become_the_workspace() {
    needs!(crate::sandbox::has_landlock());
    let flags = ["--permission-mode", "auto", "--sandbox", "workspace-write"];
    let rest = [("bash", json!({"command": "echo x >made; echo over"}))];
    let (home, _, told) = told(&flags, &rest).await;
    assert!(told[0].contains("over") && !home.path().join("made").exists(), "{told:?}");
}

/// A path that is harmless in the working directory may not be so in its parent.
#[tokio::test(flavor = "multi_thread")]
async fn commands_are_judged_where_they_run() {
    let flags = ["--permission-mode", "auto", "--sandbox", "off"];
    let rest = [("bash", json!({"command": "echo evil >.bashrc"}))];
    let (home, _, told) = told(&flags, &rest).await;
    assert!(!home.path().join(".bashrc").exists(), "{told:?}");
    assert!(told[0].contains("protected"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_user_runs_above_and_the_screen_says_so() {
    let server = Server::start(vec![says("hello")]).await;
    let url = server.url();
    let script = format!(
        "git init -q main && git -C main -c user.name=x -c user.email=x@x commit -q --allow-empty -m one && \
         git -C main worktree add -q ../tree && cd tree && \
         \"$TAU_BIN\" --base-url {url} --api-key x --model m"
    );
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 100, 30);
    screen.wait_for("ask for something");
    screen.type_keys("!git -C ../main worktree remove --force ../tree; echo 'rem''oved'\r");
    screen.wait_for("removed");
    screen.type_keys("!echo in $(basename $PWD)\r");
    screen.wait_for("in work");
    screen.wait_for("no longer exists");
    screen.type_keys("hi\r");
    screen.wait_for("hello");
    assert!(!screen.home().join("work/tree").exists(), "{}", screen.text());
}

/// What is about sessions of other directories works in a shell whose directory was removed.
#[test]
fn a_shell_in_a_removed_directory_reaches_the_sessions_of_others() {
    let home = Home::new();
    let id = home.background(&answering(std::time::Duration::from_secs(60), "never"), "take your time");
    let from_nowhere = |line: &str| {
        std::fs::create_dir_all(home.at("work/gone")).unwrap();
        other_terminal(home.0.path(), &format!("cd gone; rmdir ../gone\n{line}"))
    };
    for (line, shown) in [
        (format!("$TAU_BIN attach {id}"), "take your time"),
        ("$TAU_BIN board".to_owned(), "● running   take your time"),
    ] {
        let screen = from_nowhere(&line);
        screen.wait_for(shown);
        screen.type_keys("\x1b");
        screen.type_keys("\x04");
        drop(screen);
    }
    for list in ["sessions", "sessions --json"] {
        let screen = from_nowhere(&format!("$TAU_BIN {list}"));
        screen.wait_for("tau sessions --all");
        screen.wait_for("exit=3");
    }
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
}
