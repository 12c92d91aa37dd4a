//! Background jobs in an editor: the command `/jobs`.

use super::*;
use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{calls, says};

#[tokio::test]
async fn jobs_are_listed_and_stopped_without_the_model() {
    let nap = rare_sleep();
    let call = json!({"command": format!("echo `date`; sleep {nap}"), "background": true});
    let mut editor = Editor::new(vec![calls("bash", &call), says("It runs.")]).await;
    let session = editor.session().await;
    let mut ask = async |text: &str| {
        editor.seen();
        let id = editor.prompt(&session, text).await;
        let answer = editor.answer(id).await;
        assert_eq!(answer["result"], json!({"stopReason": "end_turn"}), "{answer}");
        text_of(&editor.seen(), "agent_message_chunk")
    };
    assert_eq!(ask("/jobs").await, "No command runs in the background.");
    assert_eq!(ask("go").await, "It runs.");
    assert_eq!(ask("/jobs").await, format!("1. `echo 'date'; sleep {nap}`: running\n"));
    // What a job has written is the editor's to show as it is.
    let begun = std::time::Instant::now();
    let mut output = ask("/jobs 1").await;
    while output == "It has written nothing yet." {
        assert!(begun.elapsed() < crate::time_limit::SOON);
        output = ask("/jobs 1").await;
    }
    assert!(output.starts_with("```\n") && output.ends_with("\n```\n") && output.contains("20"), "{output}");
    assert_eq!(ask("/jobs 7").await, "There is no job 7; /jobs lists them.");
    assert!(ask("/jobs x").await.contains("/jobs 1 shows the output of job 1"));
    assert_eq!(ask("/jobs stop 7").await, "No job 7 is running; /jobs lists them.");
    assert_eq!(ask("/jobs stop").await, "Give the number of a job: /jobs stop 1");
    assert_eq!(alive(&nap).len(), 1);
    assert_eq!(ask("/jobs stop 1").await, "Stopping job 1.");
    gone(&nap).await;
    assert_eq!(editor.server.requests().len(), 2, "the model has seen none of it");
    assert_eq!(editor.end().await, 0);
}
