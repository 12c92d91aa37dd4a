//! Attempts, through the program itself: the same task in several copies, compared, taken and swept.

mod attached;
mod screen;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::background_jobs::Home;
use crate::support::processes::{gone, rare_sleep};
use crate::support::program::{Ended, bare, body, calls_all, run, says, says_using};
use crate::support::server::{Act, Server};
use crate::time_limit::{InTime, RunInTime};

/// A server that acts by the model and the number of results in the request.
async fn server(choose: impl Fn(&str, usize) -> Act + Send + Sync + 'static) -> Server {
    Server::choosing(move |_, request| {
        let body = body(request);
        let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        choose(body["model"].as_str().unwrap(), results.count())
    })
    .await
}

/// The models of a server: a, b, c and d of the provider own, each answer of which costs a cent.
fn models(url: &str) -> String {
    let models: String = ["a", "b", "c", "d"]
        .map(|id| format!("[[vendors.own.models]]\nid = \"{id}\"\ncontext_window = 100000\ncost = {{ input = 1000.0, output = 0.0 }}\n"))
        .concat();
    format!("[vendors.own]\napi = \"openai-completions\"\nbase_url = \"{url}\"\napi_key = \"x\"\n{models}")
}

/// A home with such a server.
async fn home(choose: impl Fn(&str, usize) -> Act + Send + Sync + 'static) -> Home {
    let server = server(choose).await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    std::fs::create_dir(dir.path().join("tau")).unwrap();
    std::fs::write(dir.path().join("tau/models.toml"), models(&server.url())).unwrap();
    Home { dir, server }
}

/// Runs tau beside a screen: its exit code, its output, its complaints.
fn elsewhere(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::live::texts(&crate::live::command(home, arguments).output_in_time())
}

fn bash(command: &str) -> Act {
    calls_all(&[("bash", json!({ "command": command }))], 10)
}

fn program(home: &Home, arguments: &[&str]) -> tokio::process::Command {
    let mut command = bare(home.dir.path());
    command.args(arguments).env("TAU_HOME", home.dir.path().join("tau")).env("TAU_PERMISSION_MODE", "auto");
    command.current_dir(work(home));
    command
}

async fn tau(home: &Home, arguments: &[&str]) -> Ended {
    run(&mut program(home, arguments), None).await
}

fn work(home: &Home) -> PathBuf {
    home.dir.path().join("work")
}

async fn script(home: &Home, script: &str) {
    let git = "git() { command git -c user.name=x -c user.email=x@x -c init.defaultBranch=main \"$@\"; }";
    let mut bash = tokio::process::Command::new("bash");
    bash.env_clear().env("HOME", home.dir.path()).env("PATH", std::env::var_os("PATH").unwrap());
    bash.current_dir(work(home)).args(["-c", &format!("set -e; {git}; {script}")]);
    let status = bash.status().in_time("the shell").await;
    assert!(status.unwrap().success(), "{script}");
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The copies that are there.
fn copies(home: &Home) -> Vec<PathBuf> {
    copies_in(home.dir.path())
}

fn copies_in(home: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(home.join("tau-worktrees")).into_iter().flatten().flatten();
    let inside = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap());
    let mut all: Vec<PathBuf> = inside.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Two models that reach the goal in different ways, and one that gives up.
fn three(model: &str, results: usize) -> Act {
    match (model, results) {
        ("a", 0) => bash("sed -i 's/^1$/one/; s/^30$/thirty/' lines; touch done"),
        ("b", _) => says_using("I cannot do it.", 10),
        ("c", 0) => bash(
            "sed -i 's/^1$/uno/; s/^30$/treinta/' lines; test -e draft && rm old && echo new >new; touch done",
        ),
        _ => says_using("Done.", 10),
    }
}

#[tokio::test]
async fn the_best_of_three_attempts_is_taken_and_can_be_undone() {
    let home = home(three).await;
    script(&home, "git init -q; seq 30 >lines; echo old >old; echo done >.gitignore; git add .; git commit -qm x; echo d >draft").await;
    let ended =
        tau(&home, &["-p", "-n", "3", "--model", "own/a,own/b,own/c", "--until", "test -e done", "go"]).await;
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let rows: Vec<Vec<&str>> = ended
        .out
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let cells = |row: usize| [rows[row][0], rows[row][1], rows[row][3], rows[row][4], rows[row][5]];
    assert_eq!(cells(0), ["1", "succeeded", "$0.020", "1 file +2 -2", "own/a"], "{}", ended.out);
    assert_eq!(cells(1), ["2", "goal given up", "$0.020", "0 files +0 -0", "own/b"], "{}", ended.out);
    assert_eq!(cells(2), ["3", "succeeded", "$0.020", "3 files +3 -3", "own/c"], "{}", ended.out);
    assert!(
        ended.err.contains("2 of 3 attempts succeeded; `tau attempts diff N` shows one"),
        "{}",
        ended.err
    );
    assert_eq!(copies(&home).len(), 3);
    assert!(!work(&home).join("done").exists() && text(&work(&home).join("lines")).starts_with("1\n"));
    // Each has a session of its own, in its copy.
    let folders = std::fs::read_dir(home.dir.path().join("tau/sessions")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let names: Vec<String> = files.map(|file| file.unwrap().path().to_string_lossy().into_owned()).collect();
    for (row, number) in rows.iter().zip(1..) {
        let of_copy = |name: &String| name.contains(&format!("-{number}--/")) && name.contains(row[6]);
        assert!(names.iter().any(of_copy), "{} {names:?}", row[6]);
    }
    let diff = tau(&home, &["attempts", "diff"]).await;
    let at = |needle: &str| diff.out.find(needle).unwrap_or_else(|| panic!("no {needle} in {}", diff.out));
    assert!(at("+one") < at("+uno") && at("# attempt 1 hunk 2") < at("# attempt 3 hunk 2"));
    let taken = tau(&home, &["attempts", "take", "3"]).await;
    assert!(taken.out.starts_with("took attempt 3: 3 files; `tau undo "), "{}{}", taken.out, taken.err);
    let lines = text(&work(&home).join("lines"));
    assert!(lines.starts_with("uno\n") && lines.ends_with("treinta\n"));
    assert!(work(&home).join("new").exists() && !work(&home).join("old").exists());
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
    script(&home, "test -z \"$(git for-each-ref refs/tau)$(git worktree list | sed 1d)\"").await;
    let session = taken.out.split('`').nth(1).unwrap().split(' ').nth(2).unwrap().to_owned();
    let undone = tau(&home, &["undo", &session, "--to", "1", "--yes"]).await;
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert!(text(&work(&home).join("lines")).starts_with("1\n") && text(&work(&home).join("old")) == "old\n");
    assert!(!work(&home).join("new").exists() && work(&home).join("draft").exists());
    assert!(
        tau(&home, &["attempts", "take", "1"]).await.err.contains("there are no attempts in this directory")
    );
}

#[tokio::test]
async fn hunks_of_several_attempts_are_taken_where_there_is_no_repository() {
    let home = home(three).await;
    script(&home, "seq 30 >lines; echo old >old; echo d >draft; mkdir empty").await;
    let ended =
        tau(&home, &["-n", "3", "--json", "--model", "own/a,own/b,own/c", "--until", "test -e done", "go"])
            .await;
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let records = ended.records();
    let of =
        |kind: &str| records.iter().filter(|record| record["type"] == kind).cloned().collect::<Vec<Value>>();
    assert_eq!((of("attempt_start").len(), of("attempt_end").len(), of("attempts_end").len()), (3, 3, 1));
    let end = of("attempts_end")[0].clone();
    assert_eq!((&end["reached"], &end["exitCode"]), (&json!(2), &json!(0)), "{end}");
    assert!((end["cost"].as_f64().unwrap() - 0.06).abs() < 1e-9, "{end}");
    let second = of("attempt_end").into_iter().find(|record| record["attempt"] == 2).unwrap();
    assert_eq!((&second["reached"], &second["exitCode"]), (&json!(false), &json!(8)), "{second}");
    for (part, error) in [("lines:3", "has no hunk 3"), ("nothing", "does not change \"nothing\"")] {
        let refused = tau(&home, &["attempts", "take", "1", part]).await;
        assert!(refused.code == 3 && refused.err.contains(error), "{}", refused.err);
    }
    assert!(tau(&home, &["attempts", "take", "2"]).await.err.contains("attempt 2 has changed nothing"));
    assert!(
        tau(&home, &["attempts", "take", "4"]).await.err.contains("there is no attempt 4; they are 1 to 3")
    );
    let first = tau(&home, &["attempts", "take", "1", "lines:1"]).await;
    assert!(first.out.contains("the attempts stay"), "{}{}", first.out, first.err);
    let second = tau(&home, &["attempts", "take", "3", "lines:2", "new"]).await;
    assert_eq!(second.code, 0, "{}", second.err);
    let lines = text(&work(&home).join("lines"));
    assert!(lines.starts_with("one\n2\n") && lines.ends_with("29\ntreinta\n"), "{lines}");
    assert!(work(&home).join("new").exists() && work(&home).join("old").exists());
    // What does not fit any more changes nothing.
    let refused = tau(&home, &["attempts", "take", "3"]).await;
    assert!(refused.err.contains("the files have changed since it began"), "{}", refused.err);
    assert_eq!(text(&work(&home).join("lines")), lines);
    let listed = tau(&home, &["attempts"]).await;
    assert!(listed.out.contains(": go (until test -e done)\n1  succeeded"), "{}", listed.out);
    assert_eq!(tau(&home, &["attempts", "drop"]).await.out, "removed 3 attempts\n");
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_dir(home.dir.path().join("tau/attempts")).unwrap().count(), 0);
    assert!(!work(&home).join(".git").exists());
}

/// A part that was taken before is no conflict.
#[tokio::test]
async fn what_is_left_of_an_attempt_is_taken() {
    let home = home(|_, results| match results {
        0 => bash("sed -i 's/^1$/one/; s/^30$/thirty/' lines; echo new >new; printf 'a\\0b' >binary; rm old"),
        _ => says_using("Done.", 10),
    })
    .await;
    script(&home, "git init -q; seq 30 >lines; echo old >old; git add .; git commit -qm x").await;
    let ended = tau(&home, &["-n", "2", "--until", "test -e new", "go"]).await;
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for part in ["new", "binary", "lines:1"] {
        let taken = tau(&home, &["attempts", "take", "1", part]).await;
        assert_eq!(taken.code, 0, "{part}: {}", taken.err);
    }
    let again = tau(&home, &["attempts", "take", "1", "new"]).await;
    assert!(
        again.code == 3 && again.err.contains("the directory has all of attempt 1 already"),
        "{}",
        again.err
    );
    let rest = tau(&home, &["attempts", "take", "1"]).await;
    assert!(rest.out.starts_with("took attempt 1: 2 files; "), "{}{}", rest.out, rest.err);
    let lines = text(&work(&home).join("lines"));
    assert!(lines.starts_with("one\n2\n") && lines.ends_with("29\nthirty\n"), "{lines}");
    assert!(work(&home).join("new").exists() && !work(&home).join("old").exists());
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn one_limit_of_dollars_counts_all_attempts() {
    // Each answer costs 1 cent; none ever reaches the goal.
    let home = home(|_, results| bash(&format!("echo {results} >>file"))).await;
    script(&home, "git init -q; echo x >file; git add .; git commit -qm x").await;
    let ended =
        tau(&home, &["-n", "3", "--model", "own/a", "--max-cost", "0.3", "--until", "false", "go"]).await;
    assert_eq!(ended.code, 5, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("stopped: all attempts together have cost $0.3"), "{}", ended.err);
    let asked = home.server.requests().len();
    assert!(
        (30..=36).contains(&asked),
        "{asked} requests of a cent each, at most one more for each attempt on its way"
    );
    assert_eq!(tau(&home, &["attempts", "drop"]).await.code, 0);
}

#[tokio::test]
async fn an_interrupt_stops_all_attempts_and_their_processes() {
    let naps = [rare_sleep(), rare_sleep()];
    let [direct, nested] = naps.clone().map(|nap| bash(&format!("touch begun; sleep {nap}")));
    let delegate = |kind: &str| calls_all(&[("delegate", json!({ "task": "nap", "kind": kind }))], 10);
    // Of one attempt, a helper of a helper runs the command.
    let acts = [("a", delegate("outer")), ("b", direct), ("c", delegate("inner")), ("d", nested)];
    let home = home(move |model, _| acts.iter().find(|(name, _)| *name == model).unwrap().1.clone()).await;
    for (kind, model) in [("outer", "c"), ("inner", "d")] {
        let text = format!("---\ndescription: Naps.\nmodel: own/{model}\n---\nYou nap.\n");
        crate::support::write(&home.dir.path().join(format!("tau/agents/{kind}.md")), &text);
    }
    script(&home, "git init -q; echo x >file; git add .; git commit -qm x").await;
    let args = ["-n", "2", "--tools", "bash,delegate", "--model", "own/a,own/b", "--until", "false", "go"];
    let child = program(&home, &args).spawn().unwrap();
    let has_begun = || copies(&home).iter().filter(|copy| copy.join("begun").exists()).count() == 2;
    let begun = std::time::Instant::now();
    while !has_begun() {
        assert!(begun.elapsed() < crate::time_limit::SOON, "they do not begin");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().in_time("the end").await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    // Each is named once.
    let named: Vec<&str> = said.lines().filter(|line| line.starts_with("tau: stopped process ")).collect();
    let once: std::collections::HashSet<&str> = named.iter().copied().collect();
    let is_named = |nap: &String| named.iter().any(|line| line.contains(nap));
    assert!(naps.iter().all(is_named) && named.len() == once.len(), "{said}");
    for nap in &naps {
        gone(nap).await;
    }
    let listed = tau(&home, &["attempts", "list", "--json"]).await;
    let all: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(
        (&all[0]["attempts"][0]["exitCode"], &all[0]["attempts"][1]["exitCode"]),
        (&json!(130), &json!(130)),
        "{all}"
    );
    // What they had is kept, too.
    assert!(tau(&home, &["attempts", "diff", "1"]).await.out.contains("begun"));
    assert_eq!(tau(&home, &["attempts", "drop"]).await.out, "removed 2 attempts\n");
}

/// Whatever ends tau while it makes the copies: nothing is left of them that looks like an attempt.
#[tokio::test]
async fn copies_that_are_stopped_halfway_are_removed() {
    let home = home(|_, _| says_using("Done.", 10)).await;
    script(&home, "git init -q; echo x >file; git add .; git commit -qm x; mkdir ../bin").await;
    let (bin, path) = (home.dir.path().join("bin"), std::env::var("PATH").unwrap());
    let slow = format!(
        "#!/bin/sh\ncase \"$*\" in *'worktree add'*) touch {}/copying; sleep 0.5;; esac\nPATH={path} exec git \"$@\"\n",
        bin.display()
    );
    std::fs::write(bin.join("git"), slow).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("git"), mode).unwrap();
    let copying = bin.join("copying");
    for (signal, code) in [
        (rustix::process::Signal::INT, Some(130)),
        (rustix::process::Signal::TERM, Some(143)),
        (rustix::process::Signal::KILL, None),
    ] {
        let mut command = program(&home, &["-n", "4", "--model", "own/a", "--until", "false", "go"]);
        let child = command.env("PATH", format!("{}:{path}", bin.display())).spawn().unwrap();
        let is_copying = || copying.exists();
        crate::time_limit::until(crate::time_limit::SOON, is_copying, || "nothing is copied".to_owned());
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let output = child.wait_with_output().in_time("the end").await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), code, "{said}");
        assert_eq!(said.contains("no attempt has begun"), code.is_some(), "{said}");
        // One that was killed has left a git behind, which still copies.
        tokio::time::sleep(std::time::Duration::from_millis(if code.is_none() { 1_000 } else { 0 })).await;
        let listed = tau(&home, &["attempts"]).await;
        assert!(!listed.out.contains("not finished"), "{}", listed.out);
        assert_eq!(copies(&home), Vec::<PathBuf>::new());
        script(&home, "test -z \"$(git for-each-ref refs/tau)\"; test $(git worktree list | wc -l) = 1")
            .await;
        std::fs::remove_file(&copying).unwrap();
    }
}

#[tokio::test]
async fn what_attempts_have_is_found_after_a_kill_and_dropping_stops_their_commands() {
    let nap = rare_sleep();
    let command = format!("echo part >below/part; touch begun; sleep {nap}");
    let home = home(move |_, _| bash(&command)).await;
    script(&home, "git init -q; mkdir below; echo x >below/file; git add .; git commit -qm x").await;
    let mut child =
        program(&home, &["-n", "2", "--model", "own/a", "--until", "false", "go"]).spawn().unwrap();
    let has_begun = || copies(&home).iter().filter(|copy| copy.join("begun").exists()).count() == 2;
    let begun = std::time::Instant::now();
    while !has_begun() {
        assert!(begun.elapsed() < crate::time_limit::SOON, "they do not begin");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    // Attempts at work are live sessions.
    let listed = tau(&home, &["sessions", "--all", "--print", "--json"]).await;
    let rows: Vec<Value> = serde_json::from_str(&listed.out).unwrap();
    let running = rows.iter().filter(|row| row["state"] == "running").count();
    assert_eq!(running, 2, "{}", listed.out);
    child.kill().await.unwrap();
    let listed = tau(&home, &["attempts"]).await;
    for row in listed.out.lines().skip(1) {
        assert!(row.contains("not finished") && row.contains("$0.010  2 files +1 -0"), "{}", listed.out);
    }
    assert_eq!(listed.out.lines().count(), 3, "{}", listed.out);
    assert!(tau(&home, &["attempts", "diff", "1"]).await.out.contains("+part"));
    // A name is meant as it is seen from where one is.
    let mut take = program(&home, &["attempts", "take", "2", "part"]);
    let taken = run(take.current_dir(work(&home).join("below")), None).await;
    assert_eq!(
        (taken.code, text(&work(&home).join("below/part"))),
        (0, "part\n".to_owned()),
        "{}",
        taken.err
    );
    let dropped = tau(&home, &["attempts", "drop"]).await;
    assert!(dropped.out.starts_with("removed 2 attempts, stopped "), "{}{}", dropped.out, dropped.err);
    assert!(crate::support::processes::alive(&nap).is_empty());
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn attempts_may_do_anything_to_their_copies() {
    let home = home(|model, results| match (model, results) {
        ("a", 0) => {
            bash("rm file; ln -s other file; printf '2\\n' >$'t\\376'; printf '2\\n' >$'t\\377'; touch done")
        }
        ("b", 0) => bash("mkfifo .gitignore; touch done"),
        ("c", 0) => bash("touch cut done"),
        _ => says_using("Done.", 10),
    })
    .await;
    // With another repository around the copies.
    script(&home, "git init -q; echo f >file; printf '1\\n' >$'t\\376'; git add .; git commit -qm x; git init -q \"$HOME\"").await;
    let until = "test -e done && { test ! -e cut || rm .git; }";
    let ended = tau(&home, &["-p", "-n", "3", "--model", "own/a,own/b,own/c", "--until", until, "go"]).await;
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for why in ["attempt 2: its files could not be kept: ", ".gitignore is not a regular file"] {
        assert!(ended.err.contains(why), "{}", ended.err);
    }
    assert!(ended.err.contains("attempt 3: its files could not be kept: "), "{}", ended.err);
    assert!(ended.err.contains("1 of 3 attempts succeeded; "), "{}", ended.err);
    assert_eq!(ended.out.matches("not kept: ").count(), 2, "{}", ended.out);
    // What hindered it is gone.
    let second = copies(&home).into_iter().find(|copy| copy.to_string_lossy().ends_with("-2")).unwrap();
    std::fs::remove_file(second.join(".gitignore")).unwrap();
    let diff = tau(&home, &["attempts", "diff", "2"]).await;
    assert!(diff.out.contains("b/done"), "{}{}", diff.out, diff.err);
    script(&home, "test -z \"$(git -C \"$HOME\" count-objects | grep -v '^0 ')\"").await;
    let diff = tau(&home, &["attempts", "diff", "1"]).await;
    assert!(diff.out.contains("+2") && diff.out.contains("new file mode 120000"), "{}{}", diff.out, diff.err);
    let taken = tau(&home, &["attempts", "take", "1"]).await;
    assert!(taken.out.starts_with("took attempt 1: 4 files; "), "{}{}", taken.out, taken.err);
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
    script(
        &home,
        "test \"$(readlink file)\" = other; test \"$(cat $'t\\376' $'t\\377' | tr -d '\\n')\" = 22",
    )
    .await;
    let session = taken.out.split('`').nth(1).unwrap().split(' ').nth(2).unwrap().to_owned();
    let undone = tau(&home, &["undo", &session, "--to", "1", "--yes"]).await;
    assert_eq!(undone.code, 0, "{}", undone.err);
    script(&home, "test ! -h file; test \"$(cat file $'t\\376' | tr -d '\\n')\" = f1; test ! -e $'t\\377'")
        .await;
    let ended = tau(&home, &["-n", "1", "--model", "own/b", "--until", "true", "go"]).await;
    assert_eq!(ended.code, 3, "succeeded, but there is nothing to take: {}{}", ended.out, ended.err);
}

#[tokio::test]
async fn attempts_stay_within_reach_when_their_directory_is_gone() {
    for way in ["remove", "merge", "move"] {
        let change = |_: &str, results| match results {
            0 => bash("echo 2 >file; touch done"),
            _ => says_using("Done.", 10),
        };
        let home = home(change).await;
        script(&home, "git init -q; git branch -m main; echo 1 >file; git add .; git commit -qm x").await;
        let begin = ["-n", "1", "--model", "own/a", "--until", "test -f done", "go", "-w", "feat"];
        let is_moved = way == "move";
        let ended = tau(&home, &begin[..if is_moved { 7 } else { 9 }]).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        let mut there = work(&home);
        if is_moved {
            there = home.dir.path().join("moved");
            std::fs::rename(work(&home), &there).unwrap();
            std::fs::create_dir(work(&home)).unwrap();
        } else {
            assert!(ended.err.contains("/feat, `tau attempts diff N` shows one"), "{}", ended.err);
            let elsewhere = tau(&home, &["attempts", "take", "1"]).await;
            let is_told = elsewhere.err.contains("the newest of this repository are in ");
            assert!(elsewhere.code == 3 && is_told, "{}", elsewhere.err);
            let gone = tau(&home, &["worktree", way, "feat"]).await;
            assert_eq!(gone.code, 0, "{}", gone.err);
        }
        let taken = run(program(&home, &["attempts", "take", "1"]).current_dir(&there), None).await;
        assert_eq!((taken.code, text(&there.join("file")).as_str()), (0, "2\n"), "{way}: {}", taken.err);
        assert_eq!(copies(&home), Vec::<PathBuf>::new());
        let left = std::process::Command::new("git")
            .arg("-C")
            .arg(&there)
            .args(["for-each-ref", "refs/tau"])
            .output_in_time();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{way}");
    }
}

/// It is the user's, not the command's.
#[tokio::test]
async fn undo_asks_about_an_attempt_that_was_taken_while_a_command_ran() {
    let home = home(|model, results| match (model, results) {
        ("a", 0) => bash("echo 2 >file; touch done"),
        ("b", 0) => bash("touch begun; until test -e taken; do sleep 0.05; done"),
        _ => says_using("Done.", 10),
    })
    .await;
    script(&home, "git init -q; echo 1 >file; git add .; git commit -qm x").await;
    let begun = ["-n", "1", "--model", "own/a", "--until", "test -f done", "go"];
    assert_eq!(tau(&home, &begun).await.code, 0);
    let id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000";
    let take = async {
        script(&home, "for n in $(seq 400); do test -e begun && break; sleep 0.05; done; test -e begun")
            .await;
        let taken = tau(&home, &["attempts", "take", "1"]).await;
        script(&home, "touch taken").await;
        taken
    };
    let work_on = ["-p", "--session-id", id, "--model", "own/b", "work"];
    let (taken, ran) = tokio::join!(take, tau(&home, &work_on));
    assert_eq!((taken.code, ran.code), (0, 0), "{}{}", taken.err, ran.err);
    let undone = tau(&home, &["undo", id, "--to", "1", "--yes"]).await;
    assert_eq!(undone.code, 0, "{}", undone.err);
    assert_eq!(text(&work(&home).join("file")), "2\n", "without an answer it stays: {}", undone.out);
}

#[tokio::test]
async fn attempts_need_a_command_and_a_directory_that_can_be_copied() {
    let home = home(three).await;
    let refused = async |arguments: &[&str], code: i32, why: &str| {
        let ended = tau(&home, arguments).await;
        assert_eq!(ended.code, code, "{arguments:?} {}", ended.err);
        assert!(ended.err.contains(why), "{arguments:?} {}", ended.err);
    };
    refused(&["-p", "-n", "2", "go"], 2, "--until").await;
    refused(&["-p", "-n", "0", "--until", "true", "go"], 2, "a whole number above 0").await;
    refused(&["-p", "-n", "17", "--until", "true", "go"], 2, "at most 16 attempts").await;
    refused(&["-n", "2", "--until", "true", "--continue", "go"], 2, "cannot be used with").await;
    refused(&["-n", "2", "--mode", "rpc", "--until", "true"], 2, "-n is for prompts").await;
    refused(&["-n", "2", "--until", "true", "--model", "own/a,zzz", "go"], 3, "zzz").await;
    refused(
        &["-C", "..", "-n", "2", "--until", "true", "--model", "own/a", "go"],
        3,
        "it is your home directory",
    )
    .await;
    script(&home, "git init -q; echo x >file; git add .; git commit -qm x; git init -q sub; git -C sub commit -q --allow-empty -m x").await;
    refused(&["-n", "2", "--until", "true", "--model", "own/a", "go"], 3, "sub/ is a repository of its own")
        .await;
    script(&home, "git submodule --quiet add ./sub 2>&1; git commit -qm sub").await;
    let remedy = "with `git submodule deinit`";
    refused(&["-n", "2", "--until", "true", "--model", "own/a", "go"], 3, remedy).await;
    script(&home, "rm -rf .git .gitmodules; mkfifo .gitignore").await;
    let own = ["-n", "2", "--until", "true", "--model", "own/a", "go"];
    refused(&own, 3, ".gitignore is not a regular file").await;
    script(&home, "rm .gitignore").await;
    refused(&own, 3, "work/sub is a repository of its own, whose files would be lost").await;
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_dir(home.dir.path().join("tau/attempts")).map(Iterator::count).unwrap_or(0), 0);
    assert_eq!(home.server.requests().len(), 0);
}

/// What another attempt runs is no process that this one has left.
#[tokio::test]
async fn an_attempt_that_ends_names_no_process_of_another() {
    let first =
        "if mkdir \"$HOME/first\" 2>/dev/null; then touch done; else touch begun; sleep 2; touch done; fi";
    let home = home(move |_, results| if results == 0 { bash(first) } else { says_using("Done.", 10) }).await;
    script(&home, "git init -q; echo x >file; git add .; git commit -qm x").await;
    let until = ["-n", "2", "--model", "own/a", "--until", "test -f done", "go"];
    let ended = tau(&home, &until).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.err.contains("continues:"), "{}", ended.err);
    assert_eq!(tau(&home, &["attempts", "drop"]).await.code, 0);
}

/// Git has no folder without files, and none that it ignores.
#[tokio::test]
async fn attempts_work_in_the_folder_in_which_they_were_begun() {
    let home = home(|_, results| if results == 0 { bash("pwd >out") } else { says_using("Done.", 10) }).await;
    script(
        &home,
        "git init -q; echo x >file; echo play/ >.gitignore; git add .; git commit -qm x; mkdir -p new/part play",
    )
    .await;
    let begun = async |folder: &str| {
        tau(&home, &["-C", folder, "-n", "1", "--model", "own/a", "--until", "test -f out", "go"]).await
    };
    let refused = begun("play").await;
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("git ignores play"), "{}", refused.err);
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
    let ended = begun("new/part").await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.err.contains("no longer exists"), "{}", ended.err);
    let mut take = program(&home, &["attempts", "take", "1"]);
    let taken = run(take.current_dir(work(&home).join("new/part")), None).await;
    assert_eq!(taken.code, 0, "{}", taken.err);
    assert!(text(&work(&home).join("new/part/out")).ends_with("/new/part\n"));
}

/// A provider that does not say what an answer has used.
#[tokio::test]
async fn a_cost_that_is_estimated_has_its_mark() {
    let home = home(|_, _| says("Done.")).await;
    script(&home, "git init -q; echo a >a; git add .; git commit -qm x").await;
    let ended = tau(&home, &["-n", "1", "--model", "own/a", "--until", "true", "--json", "do it"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    for kind in ["attempt_end", "attempts_end"] {
        let record = ended.records().into_iter().find(|record| record["type"] == kind).unwrap();
        assert_eq!(record["estimated"], true, "{record}");
        assert!(record["cost"].as_f64().unwrap() > 0.0, "{record}");
    }
    let listed = tau(&home, &["attempts"]).await;
    assert!(listed.out.contains("~$"), "{}", listed.out);
    let table = tau(&home, &["-n", "1", "--model", "own/a", "--until", "true", "do it"]).await;
    assert!(table.out.contains("~$"), "{}", table.out);
}
