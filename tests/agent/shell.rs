//! The user's own commands, during and between runs.

use tau::agent::protocol::command::{ShellCommand, TaskCommand};
use tau::agent::protocol::event::{ShellEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::BashExecution;

use super::*;

fn bash(id: &str, command: &str) -> AgentCommand {
    bash_in(id, command, None)
}

/// Collects events until this many commands have ended.
async fn ended(bench: &mut Bench, count: usize) -> (Vec<AgentEvent>, Vec<(String, BashExecution)>) {
    let mut events = Vec::new();
    let mut ended = Vec::new();
    while ended.len() < count {
        let event = bench.next().await;
        if let AgentEvent::Shell(ShellEvent::BashEnd { id, message }) = &event {
            ended.push((id.clone().unwrap(), message.clone()));
        }
        events.push(event);
    }
    (events, ended)
}

/// Runs one command and checks its message.
async fn check(command: &str, expected: impl Fn(&BashExecution) -> bool) {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash("b", command)).await;
    let (events, ended) = ended(&mut bench, 1).await;
    assert!(expected(&ended[0].1), "{command}: {:?}", ended[0].1);
    let brief = brief(&events);
    assert_eq!(brief.first(), Some(&format!("bash {command}")));
}

#[tokio::test]
async fn output_becomes_a_message() {
    check("echo out; echo err >&2", |m| m.output == "out\nerr\n" && m.exit_code == Some(0)).await;
    check("printf '\\033[31mred\\033[0m\\033]0;title\\007'", |m| m.output == "red").await;
    check("exit 3", |m| m.output.is_empty() && m.exit_code == Some(3) && !m.cancelled).await;
    let whole = |m: &BashExecution, lines: usize| {
        let path = m.full_output_path.as_ref().expect("no file");
        m.truncated && std::fs::read_to_string(path).unwrap().lines().count() == lines
    };
    check("seq 3000", |m| m.output.lines().count() == 2000 && m.output.ends_with("3000\n") && whole(m, 3000))
        .await;
    check("seq 200000", |m| {
        m.output.len() <= 50 * 1024 && m.output.ends_with("200000\n") && whole(m, 200_000)
    })
    .await;
}

#[tokio::test]
async fn a_front_end_that_reads_slowly_gets_all_output() {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash("b", "seq 150000")).await;
    let mut told = 0;
    let message = loop {
        // The command ends long before its output was read.
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
        match bench.next().await {
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { delta, .. }) => told += delta.lines().count(),
            AgentEvent::Shell(ShellEvent::BashEnd { message, .. }) => break message,
            _ => {}
        }
    };
    assert!(message.output.ends_with("150000\n"), "{:?}", message.output.get(message.output.len() - 20..));
    assert!(told >= 150_000, "{told}");
}

#[tokio::test]
async fn a_shell_that_is_not_there_is_told() {
    let mut bench = Bench::with(Player::new(Vec::new()), |config| config.shell = "/no/such/shell".into());
    bench.send(bash("b", "true")).await;
    let (_, ended) = ended(&mut bench, 1).await;
    assert_eq!(ended[0].1.exit_code, Some(127));
    assert!(ended[0].1.output.contains("cannot start /no/such/shell"), "{:?}", ended[0].1);
}

#[tokio::test]
async fn commands_run_beside_a_run_and_are_recorded_after_it() {
    let mut bench = Bench::new(vec![vec![Call("a", "nap", ms(400)), USE], vec![Say("ok"), STOP]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. }))).await;
    bench.send(bash("one", "echo one")).await;
    bench.send(bash("two", "echo two")).await;
    let events = bench.settled().await;
    let lines = brief(&events);
    let ended = lines.iter().filter(|line| *line == "bash ended Some(0)").count();
    assert_eq!(ended, 2, "{lines:?}");
    let place = |line: &str| lines.iter().position(|known| known == line);
    assert!(place("bash ended Some(0)") < place("ran a"), "{lines:?}");
    let (session, _dir) = bench.reopened().await.unwrap();
    let reported: Vec<String> =
        session.context().messages.iter().map(|message| crate::fake::said(message)).collect();
    let expected = ["user go", "assistant ToolUse [a]", "result a", "assistant Stop ok", "other", "other"];
    assert_eq!(reported, expected);
}

#[tokio::test]
async fn deltas_make_the_output_and_carry_the_id() {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash("x", "for n in 1 2 3; do echo $n; sleep 0.2; done")).await;
    let (events, ended) = ended(&mut bench, 1).await;
    let deltas: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id, delta })
                if id.as_deref() == Some("x") =>
            {
                Some(delta.as_str())
            }
            _ => None,
        })
        .collect();
    assert!(deltas.len() > 1, "{deltas:?}");
    assert_eq!(deltas.concat(), ended[0].1.output);
}

#[tokio::test]
async fn all_commands_can_be_ended() {
    let mut bench = Bench::new(Vec::new());
    let begun = Instant::now();
    bench.send(bash("a", "echo begun; sleep 60")).await;
    bench.send(bash("b", "sleep 60")).await;
    bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashExecutionUpdate { .. }))).await;
    bench.send(ShellCommand::AbortBash).await;
    let (_, ended) = ended(&mut bench, 2).await;
    assert!(ended.iter().all(|(_, m)| m.cancelled && m.exit_code.is_none()), "{ended:?}");
    assert!(begun.elapsed() < SOON);
    bench.send(bash("c", "echo again")).await;
    let (_, ended) = self::ended(&mut bench, 1).await;
    assert_eq!(ended[0].1.output, "again\n");
}

#[tokio::test]
async fn the_next_prompt_tells_the_model_unless_it_is_excluded() {
    let player = Player::new(Vec::new());
    let mut bench = Bench::on(player.clone());
    bench.send(bash("a", "echo seen")).await;
    ended(&mut bench, 1).await;
    let (id, command) = (Some("b".to_owned()), "echo hidden".to_owned());
    bench
        .send(ShellCommand::Bash {
            id,
            command,
            exclude_from_context: true,
            size: None,
            without_sandbox: false,
        })
        .await;
    ended(&mut bench, 1).await;
    bench.prompt("go").await;
    bench.settled().await;
    let requests = player.requests.lock().unwrap();
    let reported: String = requests[0].messages.iter().map(|message| crate::fake::said(message)).collect();
    assert!(reported.contains("seen") && !reported.contains("hidden"), "{reported}");
}

#[tokio::test]
async fn a_flood_does_not_hold_up_a_run() {
    let mut bench = Bench::new(vec![vec![Call("a", "nap", ms(50)), USE], vec![Say("ok"), STOP]]);
    bench.send(bash("flood", "yes")).await;
    bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashExecutionUpdate { .. }))).await;
    let begun = Instant::now();
    bench.prompt("go").await;
    bench.settled().await;
    assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
    bench.send(TaskCommand::Shutdown).await;
    bench.until(|event| *event == AgentEvent::Task(TaskEvent::Stopped)).await;
}

/// Two screens may choose the same id.
#[tokio::test]
async fn commands_that_run_at_once_have_different_ids() {
    let mut bench = Bench::new(Vec::new());
    for command in ["sleep 61", "sleep 62", "sleep 63"] {
        bench.send(bash_in("a", command, Some((80, 24)))).await;
    }
    bench.send(ShellCommand::AbortBash).await;
    let (_, ended) = ended(&mut bench, 3).await;
    let mut ids: Vec<(String, String)> =
        ended.into_iter().map(|(id, message)| (id, message.command)).collect();
    ids.sort();
    let expected = [("a", "sleep 61"), ("a-2", "sleep 62"), ("a-3", "sleep 63")];
    assert_eq!(ids, expected.map(|(id, command)| (id.to_owned(), command.to_owned())));
}
