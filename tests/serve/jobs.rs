//! Background jobs over HTTP: the list, the output, stopping, and the event.

use serde_json::{Value, json};

use super::client::Served;
use super::create;
use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{calls, says};
use crate::support::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_session_are_listed_read_and_stopped() {
    let nap = rare_sleep();
    let call = json!({ "command": format!("echo begun; sleep {nap}"), "background": true });
    let provider = Server::start(vec![calls("bash", &call), says("it runs")]).await;
    let server = Served::with_model(&provider).await;
    let id = create(&server, json!({ "model": "own/m" })).await;
    let path = format!("/api/sessions/{id}");
    let mut events = server.events(&id).await;
    server
        .stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "go" }))
        .await
        .until("done")
        .await;
    let frames = events.until("jobs_changed").await;
    assert_eq!(frames.last().unwrap().data["jobs"][0]["state"], "running");
    let jobs = server.send("GET", &format!("{path}/jobs"), &Value::Null).await.is(200).json();
    let job = &jobs["jobs"][0];
    assert_eq!(
        (&job["id"], &job["state"], &job["lastLine"]),
        (&json!(1), &json!("running"), &json!("begun"))
    );
    let output = server.send("GET", &format!("{path}/jobs/1"), &Value::Null).await.is(200).json();
    assert_eq!(output["text"], "begun\n");
    server.send("GET", &format!("{path}/jobs/2"), &Value::Null).await.is(404);
    server.send("POST", &format!("{path}/jobs/2/stop"), &Value::Null).await.is(404);
    assert_eq!(alive(&nap).len(), 1);
    server.send("POST", &format!("{path}/jobs/1/stop"), &Value::Null).await.is(204);
    let frames = events.until("jobs_changed").await;
    assert_eq!(frames.last().unwrap().data["jobs"][0]["state"], "stopped");
    gone(&nap).await;
}
