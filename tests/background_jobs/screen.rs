//! Background jobs on the screen: moved there by the user, listed, stopped, and asked about at quit.

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{background, bash, left};
use crate::approvals::terminal::{play, saying};
use crate::screen::Screen;
use crate::support::processes::{alive, rare_sleep};
use crate::time_limit::RunInTime;

const AUTO: &str = "--permission-mode auto";

fn wait_gone(nap: &str) {
    crate::time_limit::until(
        crate::time_limit::SOON,
        || alive(nap).is_empty(),
        || format!("left: {:?}", alive(nap)),
    );
}

fn ctrl_b(screen: &Screen) {
    // As a leader key of terminals.
    screen.type_keys("\x02");
}

/// Quits, with the first answer to the question.
fn stop_and_quit(screen: &Screen) {
    screen.type_keys("/quit\r");
    screen.wait_for("› Stop");
    screen.type_keys("\r");
    screen.wait_for("stopped process ");
}

/// Plays a session in which a command sleeps in the background; `user` gets its time.
async fn with_job(user: impl FnOnce(&Screen, &str) + Send + 'static) {
    let nap = rare_sleep();
    let acts = vec![background(&format!("sleep {nap}")), saying("It runs.")];
    play(acts, "", AUTO, (100, 30), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("It runs.");
        screen.wait_for("1 job");
        user(screen, &nap);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_is_moved_to_the_background_and_listed() {
    let nap = rare_sleep();
    let command = format!("echo begun; sleep {nap}; true");
    let acts = vec![bash(&command), saying("It runs."), saying("Again.")];
    let looked = nap.clone();
    let requests = play(acts, "", AUTO, (100, 30), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("begun");
        ctrl_b(screen);
        screen.wait_for("It runs.");
        screen.wait_for("1 job");
        screen.wait_for("└ moved to the background · job 1");
        assert_eq!(alive(&looked).len(), 2, "the shell and its child");
        // The list.
        screen.type_keys("/jobs\r");
        screen.wait_for("Background jobs · 1 running");
        screen.wait_for("● running");
        screen.wait_for("cpu ");
        screen.wait_for(" MB");
        screen.wait_for("2 processes · 1 line");
        screen.type_keys("\r");
        screen.wait_for("Job 1 · running");
        screen.wait_for("↑↓ scrolls");
        screen.type_keys("\x1b");
        screen.wait_for("enter shows its output");
        screen.type_keys("s");
        screen.wait_for("kept · ");
        screen.type_keys("s");
        screen.wait_until("not kept", |cells| !cells.contents().contains("kept · "));
        screen.type_keys("x");
        screen.wait_for("○ stopped");
        screen.wait_for("stopped after ");
        wait_gone(&looked);
        screen.type_keys("q");
        screen.wait_until("no list and no count", |cells| {
            !cells.contents().contains("Background jobs") && !cells.contents().contains("1 job ·")
        });
        // The model is told with the next message only.
        screen.type_keys("what now");
        screen.wait_for_composer("what now");
        screen.press_until("\r", "▌ what now");
        screen.wait_for("Again.");
    })
    .await;
    assert!(
        requests[1].contains("the user moved it to the background, where it continues as job 1"),
        "{}",
        requests[1]
    );
    assert_eq!(requests.len(), 3);
    assert!(requests[2].contains("[tau] job 1 has ended: stopped after"), "{}", requests[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_now_moves_the_command_instead_of_killing_it() {
    let nap = rare_sleep();
    let acts = vec![bash(&format!("echo begun; sleep {nap}; true")), saying("I see."), saying("Fine.")];
    let looked = nap.clone();
    let requests = play(acts, "", AUTO, (100, 30), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("begun");
        screen.type_keys("look at this\r");
        screen.wait_for("look at this");
        screen.type_keys("\x1b[1;3A");
        screen.wait_for("s send now");
        screen.type_keys("s");
        screen.wait_for("I see.");
        screen.wait_for("1 job");
        assert_eq!(alive(&looked).len(), 2);
        // Esc stops runs, not jobs.
        screen.type_keys("\x1b");
        assert_eq!(alive(&looked).len(), 2);
        stop_and_quit(screen);
    })
    .await;
    assert!(
        requests[1].contains("the user sent a message, so it continues in the background as job 1"),
        "{}",
        requests[1]
    );
    wait_gone(&nap);
}

#[tokio::test(flavor = "multi_thread")]
async fn quitting_asks_about_running_jobs_and_names_what_it_stopped() {
    with_job(|screen, nap| {
        screen.type_keys("\x04");
        screen.wait_for("1 background job is still running.");
        screen.wait_for("› Stop");
        // Esc stays.
        screen.type_keys("\x1b");
        screen.wait_until("no question", |cells| !cells.contents().contains("still running."));
        assert_eq!(alive(nap).len(), 1);
        screen.type_keys("/context\r");
        screen.wait_for("1 background job running; /jobs lists them");
        screen.type_keys("/quit\r");
        screen.wait_for("› Stop");
        screen.type_keys("\r");
        screen.wait_for(&format!("of job 1: sleep {nap}"));
        screen.wait_for("to continue: tau --continue");
        assert_eq!(alive(nap), []);
    })
    .await;
}

/// The agent begins to end before the screen has asked what runs.
#[tokio::test(flavor = "multi_thread")]
async fn quitting_names_every_process_of_a_running_command() {
    for _ in 0..4 {
        let nap = rare_sleep();
        play(vec![bash(&format!("sleep {nap} & sleep {nap}"))], "", AUTO, (100, 30), move |screen| {
            screen.type_keys("go\r");
            // A shell that begins a program is one with its own words until then.
            let naps = || alive(&nap).iter().filter(|(_, line)| line.trim().starts_with("sleep")).count();
            let runs = || alive(&nap).len() == 3 && naps() == 2;
            crate::time_limit::until(crate::time_limit::SOON, runs, || format!("{:?}", alive(&nap)));
            let running = alive(&nap);
            screen.type_keys("\x04");
            screen.wait_for("to continue: tau --continue");
            let text = screen.text();
            for (pid, line) in running {
                let line = line.trim();
                assert!(text.contains(&format!("stopped process {pid}: {line}")), "{line}: {text}");
            }
        })
        .await;
    }
}

/// `/new` leaves a session with its jobs: the user has them still.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_session_that_was_left_is_marked() {
    with_job(|screen, nap| {
        screen.type_keys("/new\r");
        screen.wait_until("a new session", |cells| !cells.contents().contains("It runs."));
        screen.type_keys("/jobs\r");
        screen.wait_for("of another session · ");
        screen.type_keys("x");
        screen.wait_for("○ stopped");
        wait_gone(nap);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_end_in_time_leaves_nothing_behind_its_screen() {
    let (job, command) = (rare_sleep(), rare_sleep());
    let acts = super::stubborn(&job, &command);
    let hook = r#"printf '[[hooks.SessionEnd]]\ncommand = "sleep 30"\n' > "$TAU_HOME/config.toml";"#;
    play(acts, hook, AUTO, (100, 30), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("1 job");
        let runs = || !alive(&command).is_empty();
        crate::time_limit::until(crate::time_limit::SOON, runs, || "the command does not start".to_owned());
        kill_process(screen.pid(), Signal::TERM).unwrap();
        screen.wait_for("to continue: tau --continue");
        assert_eq!((alive(&job), alive(&command)), (Vec::new(), Vec::new()));
        let text = screen.text();
        assert!(text.contains("stopped process ") && text.contains(&job), "{text}");
        assert!(!text.contains(" continues: "), "{text}");
    })
    .await;
}

/// The question is about what runs now.
#[tokio::test(flavor = "multi_thread")]
async fn the_question_at_quitting_closes_once_nothing_runs() {
    with_job(|screen, nap| {
        screen.type_keys("\x04");
        screen.wait_for("1 background job is still running.");
        let running: Vec<String> = alive(nap).iter().map(|(pid, _)| pid.to_string()).collect();
        let stop: Vec<&str> =
            ["jobs", "--stop"].into_iter().chain(running.iter().map(String::as_str)).collect();
        let (code, _, err) = crate::live::texts(&crate::live::command(screen.home(), &stop).output_in_time());
        assert_eq!(code, Some(0), "{err}");
        screen.wait_for("what was running has ended or is kept; quit again");
        assert!(!screen.text().contains("still running."), "{}", screen.text());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_jobs_can_be_left_running() {
    with_job(|screen, nap| {
        screen.type_keys("\x04");
        screen.wait_for("› Stop");
        screen.type_keys("\x1b[B");
        screen.wait_for("› Leave the session running");
        screen.type_keys("\r");
        screen.wait_for("the session continues: tau attach ");
        screen.wait_for(&format!(" continues: sleep {nap}"));
        // Longer than the process of a session at rest stays.
        std::thread::sleep(std::time::Duration::from_millis(800));
        assert_eq!(alive(nap).len(), 1, "it continues");
        let rows = left(screen.home());
        let row = rows.iter().find(|row| row["command"] == format!("sleep {nap}"));
        let session = row.unwrap_or_else(|| panic!("{rows:?}"))["session"].as_str().unwrap().to_owned();
        // The screen comes back with its jobs; when the last one ends, so does the process.
        let home = screen.home().display();
        let script = format!("export HOME={home} TAU_HOME={home}/tau\ncd {home}/work\n$TAU_BIN attach {session}\necho \"exit=$?\"; cat");
        let again = Screen::program(std::path::Path::new("/bin/bash"), &["-c", &script], 100, 30);
        again.wait_for("1 job");
        again.type_keys("\x18i");
        again.wait_for("● running");
        again.type_keys("x");
        again.wait_for("○ stopped");
        again.type_keys("q");
        again.wait_until("no list", |cells| !cells.contents().contains("○ stopped"));
        again.type_keys("\x04");
        again.wait_for("exit=0");
        wait_gone(nap);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quitting_stops_the_jobs_that_are_not_kept_and_leaves_the_others() {
    let naps = [rare_sleep(), rare_sleep()];
    let [one, other] = naps.clone().map(|nap| background(&format!("sleep {nap}")));
    play(vec![one, other, saying("They run.")], "", AUTO, (100, 30), move |screen| {
        let running = || naps.iter().flat_map(|nap| alive(nap)).map(|(pid, _)| pid).collect::<Vec<_>>();
        screen.type_keys("go\r");
        screen.wait_for("They run.");
        screen.wait_for("2 jobs");
        assert_eq!(running().len(), 2);
        screen.type_keys("/jobs\r");
        screen.wait_for("● running");
        screen.type_keys("s");
        screen.wait_for("kept · ");
        screen.type_keys("\x1b");
        screen.wait_until("no list", |cells| !cells.contents().contains("● running"));
        screen.type_keys("/quit\r");
        screen.wait_for("› Stop the other; leave 1 in the background");
        screen.type_keys("\r");
        screen.wait_for("the session continues: tau attach ");
        screen.wait_for("stopped ");
        screen.wait_until("both are named", |cells| {
            let text = cells.contents();
            naps.iter().all(|nap| text.contains(&format!(": sleep {nap}")))
        });
        assert!(screen.text().contains(" continues: sleep "), "{}", screen.text());
        // Longer than the process of a session at rest stays.
        std::thread::sleep(std::time::Duration::from_millis(800));
        let left = running();
        assert_eq!(left.len(), 1, "{left:?}");
        let pid = rustix::process::Pid::from_raw(left[0]).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        naps.iter().for_each(|nap| wait_gone(nap));
    })
    .await;
}

/// Presses the key of a list of jobs, or types its command.
pub fn list_opens(typed: &str) {
    let screen = Screen::prepared("true", "--model demo", 80, 24);
    screen.type_keys(typed);
    screen.wait_for("no background jobs");
    screen.type_keys("q");
    screen.wait_until("no list", |cells| !cells.contents().contains("no background jobs"));
}

/// Presses the key that moves a command while none runs, and while one does.
pub fn key_moves(typed: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let nap = rare_sleep();
    let typed = typed.to_owned();
    runtime.block_on(async {
        let acts = vec![
            crate::support::program::calls("bash", &json!({ "command": format!("echo begun; sleep {nap}") })),
            saying("It runs."),
        ];
        play(acts, "", AUTO, (80, 24), move |screen| {
            screen.type_keys(&typed);
            screen.wait_for("no command of the model is running");
            screen.type_keys("go\r");
            screen.wait_for("begun");
            screen.type_keys(&typed);
            screen.wait_for("It runs.");
            screen.wait_for("1 job");
            stop_and_quit(screen);
        })
        .await;
    });
    wait_gone(&nap);
}
