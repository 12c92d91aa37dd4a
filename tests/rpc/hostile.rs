//! Clients that write nonsense, read slowly, or disconnect; and signals.

use super::*;
use crate::support::dice::Dice;

const COMMANDS: [&str; 30] = *tau::tools::words!(
    "prompt steer follow_up abort clear_queue get_state get_messages get_commands \
     get_last_assistant_text get_session_stats set_model cycle_model get_available_models \
     set_thinking_level cycle_thinking_level get_available_thinking_levels set_steering_mode \
     set_auto_retry abort_retry compact abort_bash new_session switch_session fork clone \
     get_fork_messages get_entries get_tree set_session_name export_html"
);

fn line(dice: &mut Dice) -> Vec<u8> {
    let command = COMMANDS[dice.below(COMMANDS.len())];
    let fields = [
        json!({"type": command}),
        json!({"type": command, "id": 1, "message": "hi", "mode": "all", "enabled": true, "name": "n"}),
        json!({"type": command, "id": "x", "message": "hi", "level": "high", "entryId": "x", "sessionPath": "/no"}),
        json!({"type": command, "message": 5, "level": [], "mode": null, "images": 7, "name": {}}),
        json!({"type": [command]}),
    ];
    let whole = dice.pick(&fields).to_string().into_bytes();
    dice.mangle(whole)
}

#[tokio::test]
async fn a_thousand_lines_of_nonsense_leave_it_alive() {
    let answer = |n: usize| if n.is_multiple_of(5) { vec![Hang] } else { vec![Say("words"), STOP] };
    let mut client = Client::new((0..400).map(answer).collect());
    let mut dice = Dice::new(7);
    let (mut sent, input) = (0, client.input.take().unwrap());
    let mut input = input;
    let lines: Vec<Vec<u8>> = (0..1_000).map(|_| line(&mut dice)).collect();
    // One answer each, except for blank lines and answers to questions.
    sent += lines.iter().filter(|line| !line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))).count();
    let writing = tokio::spawn(async move {
        for line in lines {
            input.write_all(&[&line[..], b"\n"].concat()).in_time("a reader of the input").await.unwrap();
        }
        let last = json!({"type": "abort", "id": "last"});
        input.write_all(format!("{last}\n").as_bytes()).in_time("a reader of the input").await.unwrap();
        input
    });
    loop {
        let record = client.record().await;
        if record["type"] == "response" && record["id"] == "last" {
            break;
        }
    }
    client.input = Some(writing.in_time("a reader of the lines").await.unwrap());
    let state = client.ask(json!({"type": "get_state"})).await;
    assert_eq!(state["success"], json!(true), "{state}");
    let seen = std::mem::take(&mut client.seen);
    let (exit, rest) = client.end().await;
    assert_eq!(exit, Exit::Ok);
    let answers = seen.iter().chain(&rest).filter(|record| record["type"] == "response").count();
    assert_eq!(answers, sent + 2, "every command has one answer");
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let text = "0123456789".repeat(20).leak();
    let mut script: Vec<Step> = (0..300).map(|_| Say(text)).collect();
    script.push(STOP);
    let mut client = Client::sized(Player::new(vec![script]), RpcEvents::Auto, 512, |_| {});
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let mut told = String::new();
    loop {
        let record = client.record().await;
        if client.seen.len().is_multiple_of(50) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        told.push_str(record["assistantMessageEvent"]["delta"].as_str().unwrap_or_default());
        if record["type"] == "agent_settled" {
            break;
        }
    }
    assert_eq!(told, text.repeat(300));
}

#[tokio::test]
async fn a_reader_that_stalls_holds_the_model_up_but_not_the_abort() {
    // Far more than the 8 MiB that are buffered for a reader.
    let text = "0123456789".repeat(1_000).leak();
    let mut script: Vec<Step> = (0..3_000).map(|_| Say(text)).collect();
    script.push(Hang);
    let mut client = Client::sized(Player::new(vec![script]), RpcEvents::Auto, 64, |_| {});
    client.send(json!({"type": "prompt", "id": "1", "message": "go"})).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    client.send(json!({"type": "abort", "id": "2"})).await;
    let mut told = 0;
    loop {
        let record = client.record().await;
        told += record["assistantMessageEvent"]["delta"].as_str().unwrap_or_default().len();
        client.seen.clear();
        if record["type"] == "message_end" && record["message"]["role"] == "assistant" {
            let kept = record["message"]["content"].as_array().unwrap();
            let kept: usize = kept.iter().map(|block| block["text"].as_str().unwrap().len()).sum();
            assert_eq!(kept, told);
            assert_eq!(record["message"]["stopReason"], "aborted");
            assert!(told < 20_000_000, "the model was not held up: {told} bytes");
            break;
        }
    }
    client.until("agent_settled").await;
}

#[tokio::test]
async fn the_end_of_input_ends_it_in_order() {
    let mut client = Client::new(vec![vec![Say("half"), Hang]]);
    client.send(json!({"type": "prompt", "id": "1", "message": "go"})).await;
    client.until("message_update").await;
    // The last line has no line end.
    client.raw(br#"{"type":"bash","id":"2","command":"sleep 60"}"#).await;
    let file = client.dir.path().join("sessions");
    let dir = std::mem::replace(&mut client.dir, tempfile::tempdir().unwrap());
    let (exit, rest) = client.end().await;
    assert_eq!(exit, Exit::Ok);
    let types: Vec<&str> = rest.iter().filter_map(|record| record["type"].as_str()).collect();
    assert!(types.contains(&"agent_settled"), "{types:?}");
    let bash = rest.iter().find(|record| record["id"] == "2").expect("an answer");
    assert_eq!(bash["data"]["cancelled"], json!(true));
    let written = std::fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(written).unwrap().contains(r#""stopReason":"aborted""#));
    drop(dir);
}

#[tokio::test]
async fn signals_end_it_within_a_second_and_twice_at_once() {
    for (caught, exit) in
        [(CaughtSignal::Terminate, Exit::Terminated), (CaughtSignal::Interrupt, Exit::Aborted)]
    {
        let mut client =
            Client::sized(Player::new(vec![vec![Say("half"), Hang]]), RpcEvents::Auto, 64, |_| {});
        client.send(json!({"type": "prompt", "id": "1", "message": "go"})).await;
        // No one reads, and yet it ends.
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.signals.send(caught).in_time("the command to be taken").await.unwrap();
        let ended = timeout(crate::time_limit::SOON, &mut client.service).await.expect("still runs");
        assert_eq!(ended.unwrap(), exit);
    }
}

#[tokio::test]
async fn a_closed_output_ends_it() {
    let mut client = Client::new(vec![vec![Say("half"), Hang]]);
    client.send(json!({"type": "prompt", "id": "1", "message": "go"})).await;
    client.until("message_update").await;
    drop(client.output.take());
    client.send(json!({"type": "get_state", "id": "2"})).await;
    let ended = timeout(crate::time_limit::SOON, &mut client.service).await.expect("still runs");
    assert_eq!(ended.unwrap(), Exit::Ok);
}
