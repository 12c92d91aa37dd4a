//! A batch as an Indexed Job of Kubernetes, with the image of `integrations/server`. Each index is a task; when
//! its node dies, the cluster runs it again, and a result that is there already is not made twice.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::results::BatchFolder;
use super::slurm::quote;
use super::tasks::{BatchTask, TaskList};
use crate::args::batch::BatchArgs;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use tau_agent::settings::private_files::{read_capped, write_private};

/// Maximum size of what a ConfigMap holds, in bytes: the cluster's limit is 1 MiB for the whole object.
const MOST: u64 = 1_000_000;
/// Maximum number of attempts at a task.
const TRIES: u32 = 4;
/// The user and the group of the image.
const USER: u32 = 10_001;

/// Writes the manifest, and hands it to the cluster with `--apply`.
pub(super) fn hand_over(
    args: &BatchArgs,
    tasks: &TaskList,
    missing: &[&BatchTask],
    folder: &BatchFolder,
) -> Result<Exit, Refusal> {
    let is_reached = |task: &&&BatchTask| match (&task.directory, &task.git) {
        (Some(directory), _) => directory.is_absolute(),
        (None, Some(git)) => git.contains(':') || Path::new(git).is_absolute(),
        (None, None) => false,
    };
    if let Some(task) = missing.iter().find(|task| !is_reached(task)) {
        let text = "has a relative path, which does not exist in a pod: use git with an address, or an absolute path in a volume";
        return Err(Refusal::usage(format!("the task {} {text}", task.id)));
    }
    let shown = tasks.file.display();
    let text = read_capped(&tasks.file, MOST).map_err(|_| {
        Refusal::usage(format!(
            "{shown} is larger than a ConfigMap can be (1 MB): divide it into several files"
        ))
    })?;
    let text = String::from_utf8(text).map_err(Refusal::config)?;
    let stamp = jiff::Timestamp::now().as_millisecond();
    let manifest = manifest(args, &format!("tau-batch-{stamp}"), &text, missing);
    let file = folder.path().join(format!("kubernetes-{stamp}.json"));
    let bytes = serde_json::to_vec_pretty(&manifest).map_err(Refusal::config)?;
    write_private(&file, &bytes)
        .map_err(|error| Refusal::config(format!("cannot write {}: {error}", file.display())))?;
    if !args.apply {
        return Ok(say(&format!("kubectl apply -f {}\n", quote(&file.display().to_string())?)));
    }
    let output = Command::new("kubectl").args(["apply", "-f"]).arg(&file).output();
    let output = output.map_err(|error| Refusal::config(format!("cannot run kubectl: {error}")))?;
    if output.status.success() {
        return Ok(say(&plain::text(&String::from_utf8_lossy(&output.stdout))));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Refusal::config(format!("kubectl failed: {}", plain::text(said.trim()))))
}

fn manifest(args: &BatchArgs, name: &str, tasks: &str, missing: &[&BatchTask]) -> Value {
    let list: String = missing.iter().map(|task| format!("{}\n", task.id)).collect();
    let labels = json!({ "app.kubernetes.io/name": "tau-batch", "app.kubernetes.io/instance": name });
    let script = "id=$(sed -n \"$((JOB_COMPLETION_INDEX + 1))p\" /tasks/list) && [ -n \"$id\" ] && \
                  exec tau batch /tasks/tasks.jsonl --results /results --only \"$id\" --part";
    let variables: Vec<Value> =
        args.secret.iter().map(|secret| json!({ "secretRef": { "name": secret } })).collect();
    let mounts = json!([
        { "name": "tasks", "mountPath": "/tasks", "readOnly": true },
        { "name": "results", "mountPath": "/results" },
        { "name": "data", "mountPath": "/data" },
    ]);
    let container = json!({
        "name": "tau",
        "image": args.image,
        "command": ["/bin/sh", "-c", script],
        "envFrom": variables,
        "volumeMounts": mounts,
    });
    let volumes = json!([
        { "name": "tasks", "configMap": { "name": name } },
        { "name": "results", "persistentVolumeClaim": { "claimName": args.volume } },
        { "name": "data", "emptyDir": {} },
    ]);
    let security = json!({ "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER });
    // The end of a node is not the task's fault.
    let ignored =
        json!({ "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] });
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name, "labels": labels },
        "spec": {
            "completionMode": "Indexed",
            "completions": missing.len(),
            "parallelism": args.at_once.min(missing.len()),
            "backoffLimitPerIndex": TRIES - 1,
            "podFailurePolicy": { "rules": [ignored] },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "restartPolicy": "Never",
                    "securityContext": security,
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    });
    let files = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels },
        "data": { "tasks.jsonl": tasks, "list": list },
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": [files, job] })
}
