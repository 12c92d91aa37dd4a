//! A batch on Kubernetes: the manifest, and what no cluster takes.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Home, task};
use crate::harness::answering;
use crate::live::texts;
use crate::time_limit::RunInTime;

#[test]
fn a_job_of_kubernetes_has_an_index_for_each_task_without_a_result() {
    let home = Home::new(&answering(Duration::ZERO, "an answer"));
    let of_git =
        |id: &str| json!({ "id": id, "prompt": "it's $(id) \"x\"", "git": "https://git.example/a.git" });
    home.tasks(&[task("done", "true"), of_git("one"), of_git("two")]);
    assert_eq!(home.run(&["--only", "done"]).0, Some(0));
    home.place(
        "kubectl",
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'apply --server-side -f' ] && cp \"$4\" manifest && echo created\n",
    );
    let args = ["--on", "kubernetes", "-n", "7", "--image", "r/tau:1", "--secret", "keys", "--apply"];
    let (code, out, err) = home.run(&args);
    assert_eq!((code, out.as_str()), (Some(0), "created\n"), "{err}");
    let manifest: Value = serde_json::from_slice(&fs::read(home.at("manifest")).unwrap()).unwrap();
    let [files, job] = manifest["items"].as_array().unwrap().as_slice() else { panic!("{manifest}") };
    assert_eq!(files["data"]["list"], "one\ntwo\n");
    assert_eq!(files["data"]["tasks.jsonl"], fs::read_to_string(home.at("tasks.jsonl")).unwrap());
    let spec = &job["spec"];
    assert_eq!(
        (&spec["completionMode"], &spec["completions"], &spec["parallelism"]),
        (&json!("Indexed"), &json!(2), &json!(2))
    );
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        (&container["image"], &container["envFrom"][0]["secretRef"]["name"]),
        (&json!("r/tau:1"), &json!("keys"))
    );
    // Its script does the task of its index, as a pod would.
    let script = container["command"][2].as_str().unwrap();
    let places = [("/tasks/", home.at("pod-tasks/")), ("/results", home.at("pod-results"))];
    let script = places
        .iter()
        .fold(script.to_owned(), |script, (from, to)| script.replace(from, to.to_str().unwrap()));
    fs::create_dir(home.at("pod-tasks")).unwrap();
    fs::write(home.at("pod-tasks/list"), "one\ndone\n").unwrap();
    fs::write(home.at("pod-tasks/tasks.jsonl"), format!("{}\n", task("done", "true"))).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tau"), home.at("bin/tau")).unwrap();
    let pod = |index: &str| {
        let mut command = home.batch(&[]);
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = Command::new("/bin/sh");
        command.args(["-c", &script]).env_clear().current_dir(home.at(""));
        command.envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
        texts(&command.env("JOB_COMPLETION_INDEX", index).output_in_time())
    };
    let (code, out, err) = pod("1");
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(home.at("pod-results/results/done.json").exists());
    assert_eq!(pod("2").0, Some(1));
}

#[test]
fn what_no_cluster_takes_is_refused() {
    let home = Home::new("http://127.0.0.1:9/v1");
    let of_git = |id: &str| json!({ "id": id, "prompt": "x", "git": "https://git.example/a.git" });
    home.tasks(&[of_git("one")]);
    for flags in [
        ["--image", ""],
        ["--image", "a b"],
        ["--image", "-x"],
        ["--volume", "x: y"],
        ["--volume", ""],
        ["--secret", "A B"],
        ["--secret", "a..b"],
        ["--secret", "a-"],
    ] {
        let flag = [format!("{}={}", flags[0], flags[1])];
        let args = [&["--on", "kubernetes"], flag.each_ref().map(String::as_str).as_slice()].concat();
        let (code, _, err) = home.run(&args);
        assert!(code == Some(2) && err.contains(&format!("{}: give ", flags[0])), "{flags:?}: {err}");
        assert!(!home.at("tasks.results").exists(), "{flags:?}");
    }
    let (code, out, err) = home.run(&["--on", "kubernetes"]);
    assert!(code == Some(0) && out.starts_with("kubectl apply --server-side -f "), "{out}{err}");
    // Together with the list, the tasks are too many for a ConfigMap.
    home.tasks(&(0..5_000).map(|n| of_git(&format!("{n:0>100}"))).collect::<Vec<_>>());
    let size = fs::metadata(home.at("tasks.jsonl")).unwrap().len();
    assert!((500_000..1_000_000).contains(&size), "{size}");
    let (code, _, err) = home.run(&["--on", "kubernetes"]);
    assert!(code == Some(2) && err.contains("is larger than a ConfigMap can be (1 MB)"), "{err}");
    // Folders of this machine are in no pod.
    home.tasks(&[json!({ "prompt": "x", "directory": "work" })]);
    let (code, _, err) = home.run(&["--on", "kubernetes"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("has a relative path"), "{err}");
}
