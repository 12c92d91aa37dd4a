//! What `tau stop` says of the background jobs of the run that it stops.

use super::{Home, background};
use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{run, stalls};
use crate::time_limit::SOON;

#[tokio::test]
async fn who_stops_a_run_hears_of_its_jobs() {
    let nap = rare_sleep();
    let home = Home::new(vec![background(&format!("sleep {nap}")), stalls("I wait")]).await;
    let begun = run(&mut home.tau(&["-b", "go"]), None).await;
    assert_eq!(begun.code, 0, "{}", begun.err);
    let since = std::time::Instant::now();
    while home.server.requests().len() < 2 {
        assert!(since.elapsed() < SOON, "the second request");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let tau = |arguments: &[&str]| {
        let mut command = crate::support::program::bare(home.dir.path());
        command.args(arguments);
        command
    };
    let id = begun.out.trim();
    for said in
        ["its background jobs continue; `tau jobs`", "nothing runs in this session but background jobs"]
    {
        let stopped = run(&mut tau(&["stop", id]), None).await;
        assert!(stopped.code == 0 && stopped.err.contains(said), "{}", stopped.err);
    }
    for (pid, _) in alive(&nap) {
        assert_eq!(run(&mut tau(&["jobs", "--stop", &pid.to_string()]), None).await.code, 0);
    }
    gone(&nap).await;
}
