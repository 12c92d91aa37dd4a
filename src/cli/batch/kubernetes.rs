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
/// The words for `kubectl`. Without `--server-side`, it writes all of an object into an annotation of it as well, which may
/// have 256 KiB.
const APPLY: [&str; 3] = ["apply", "--server-side", "-f"];
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
    let text = read_capped(&tasks.file, MOST).map_err(|_| too_large(&tasks.file))?;
    let text = String::from_utf8(text).map_err(Refusal::config)?;
    let list: String = missing.iter().map(|task| format!("{}\n", task.id)).collect();
    if (text.len() + list.len()) as u64 > MOST {
        return Err(too_large(&tasks.file));
    }
    let stamp = jiff::Timestamp::now().as_millisecond();
    let manifest = manifest(args, &format!("tau-batch-{stamp}"), [&text, &list], missing.len());
    let file = folder.path().join(format!("kubernetes-{stamp}.json"));
    let bytes = serde_json::to_vec_pretty(&manifest).map_err(Refusal::config)?;
    write_private(&file, &bytes)
        .map_err(|error| Refusal::config(format!("cannot write {}: {error}", file.display())))?;
    if !args.apply {
        let file = quote(&file.display().to_string())?;
        return Ok(say(&format!("kubectl {} {file}\n", APPLY.join(" "))));
    }
    let output = Command::new("kubectl").args(APPLY).arg(&file).output();
    let output = output.map_err(|error| Refusal::config(format!("cannot run kubectl: {error}")))?;
    if output.status.success() {
        return Ok(say(&plain::text(&String::from_utf8_lossy(&output.stdout))));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Refusal::config(format!("kubectl failed: {}", plain::text(said.trim()))))
}

fn too_large(file: &Path) -> Refusal {
    let shown = file.display();
    Refusal::usage(format!("{shown} is larger than a ConfigMap can be (1 MB): divide it into several files"))
}

/// Refuses names that no cluster takes, before anything is written.
pub(super) fn check(args: &BatchArgs) -> Result<(), Refusal> {
    let is_image_part = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let starts_well = args.image.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts_well || !args.image.chars().all(is_image_part) {
        let text = "--image: give the image as a cluster pulls it, such as registry.example/tau:1";
        return Err(Refusal::usage(text));
    }
    for (flag, name) in [("--volume", Some(&args.volume)), ("--secret", args.secret.as_ref())] {
        if name.is_some_and(|name| !is_object_name(name)) {
            let rule = "give a name in the cluster: up to 253 small letters, digits, `-` and `.`, with a letter \
                        or digit at both ends of each part";
            return Err(Refusal::usage(format!("{flag}: {rule}")));
        }
    }
    Ok(())
}

/// Whether a cluster takes it as the name of an object.
fn is_object_name(name: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_part = |part: &str| {
        let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        is_end(part.chars().next()) && is_end(part.chars().last()) && part.chars().all(is_known)
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

fn manifest(args: &BatchArgs, name: &str, [tasks, list]: [&str; 2], count: usize) -> Value {
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
            "completions": count,
            "parallelism": args.at_once.min(count),
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
