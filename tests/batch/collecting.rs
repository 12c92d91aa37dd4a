//! Results of tasks that leave their folders in a bad state, and folders of results that cannot be used.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Home, task};
use crate::harness::answering;
use crate::time_limit::RunInTime;

/// Commands that a run ends with, in a clone in which they also change a file; what the record says is missing; whether
/// the change is in the patch.
const STATES: [(&str, &str, &str, bool); 17] = [
    (
        "new",
        "git init -q nest; echo x >nest/f",
        "not whole in the patch: nest/ (a repository of its own)",
        true,
    ),
    (
        "nested",
        "git init -q nest; git -C nest commit -q --allow-empty -m x",
        "nest (a repository of its own)",
        true,
    ),
    ("clean", "git submodule --quiet update --init", "", true),
    ("dirty", "git submodule --quiet update --init; echo >>sub/first", "sub (a repository of its own)", true),
    (
        "moved",
        "git submodule --quiet update --init; git -C sub commit -q --allow-empty -m x",
        "sub (a repository of its own)",
        true,
    ),
    ("unborn", "git checkout -q --orphan other; git rm -rqf --cached .", "", true),
    ("locked", "touch .git/index.lock", "", true),
    ("no-index", "rm .git/index", "", true),
    ("pipe-index", "rm .git/index; mkfifo .git/index", "", true),
    ("forced", "echo x >a.log; git add -f a.log; git commit -qam x", "", true),
    ("bad-index", "echo bad >.git/index", "there is no patch: ", false),
    ("no-git", "rm -rf .git", ".git is no longer its repository", false),
    ("other", "rm -rf .git; echo 'gitdir: ../../../.git' >.git", ".git is no longer its repository", false),
    ("no-objects", "rm -rf .git/objects/*", "there is no patch: ", false),
    ("program", "git config filter.x.clean ./x", "filter.x.clean", false),
    ("pipe", "rm second; mkfifo second", "not whole in the patch: second; git says: ", true),
    ("rules", "rm -f .gitignore; mkfifo .gitignore", ".gitignore is not a regular file", false),
];

fn git(home: &Home, folder: &str, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(home.at(folder)).args(args).env("GIT_CONFIG_GLOBAL", home.at("settings"));
    let output = command.output_in_time();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a repository with a submodule, in a folder that is a repository, too.
fn make_repositories(home: &Home) {
    let settings = "[user]\n\tname = a\n\temail = a@b\n[protocol \"file\"]\n\tallow = always\n";
    for file in [home.at("settings"), home.dir.path().join(".gitconfig")] {
        fs::write(file, settings).unwrap();
    }
    git(home, "", &["init", "-q"]);
    for name in ["library", "repository"] {
        git(home, "", &["init", "-q", name]);
        fs::write(home.at(name).join("first"), "1\n").unwrap();
        fs::write(home.at(name).join("second"), "2\n").unwrap();
        fs::write(home.at(name).join(".gitignore"), "*.log\n").unwrap();
        git(home, name, &["add", "."]);
        git(home, name, &["commit", "-qm", "one"]);
    }
    git(home, "repository", &["submodule", "--quiet", "add", "../library", "sub"]);
    git(home, "repository", &["commit", "-qm", "two"]);
}

#[test]
fn a_task_has_a_result_in_whatever_state_it_leaves_its_clone() {
    let home = Home::new(&answering(Duration::ZERO, "done"));
    make_repositories(&home);
    let mut tasks: Vec<Value> = STATES
        .iter()
        .map(|(id, command, ..)| {
            let until = format!("echo changed >>first; {command}; true");
            json!({ "id": id, "prompt": "go", "git": "./repository", "until": until, "check": "true" })
        })
        .collect();
    let gone = |id: &str| json!({ "id": id, "prompt": "go", "until": "rm -rf \"$PWD\"", "check": "true" });
    let (mut clone, mut folder) = (gone("clone"), gone("folder"));
    clone["git"] = json!("./repository");
    folder["directory"] = json!("folder");
    fs::create_dir(home.at("folder")).unwrap();
    tasks.extend([clone, folder]);
    home.tasks(&tasks);
    let run = || {
        let mut batch = home.batch(&[]);
        crate::live::texts(&batch.env("GIT_CONFIG_GLOBAL", home.at("settings")).output_in_time())
    };
    let (code, out, err) = run();
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("19 tasks: 17 passed, 2 failed, 0 without a result"), "{out}{err}");
    for (id, _, missing, has_change) in STATES {
        let result = home.result(id).unwrap();
        let said = result["uncollected"].as_str().unwrap_or_default();
        assert!(said.contains(missing) && said.is_empty() == missing.is_empty(), "{id}: {said}");
        let patch = result["patch"].as_str().map(|patch| home.at("tasks.results").join(patch));
        assert_eq!(patch.is_some(), has_change, "{id}: {said}");
        let patch = patch.map(|patch| fs::read_to_string(patch).unwrap()).unwrap_or_default();
        assert_eq!(patch.contains("\n+changed\n"), has_change, "{id}: {patch}");
        assert_eq!(patch.contains("a.log"), id == "forced", "{id}: {patch}");
        assert_eq!(patch.contains("+Subproject commit"), ["nested", "moved"].contains(&id), "{id}: {patch}");
        assert!(out.contains(said), "{id}: {out}");
    }
    for id in ["clone", "folder"] {
        let error = home.result(id).unwrap()["error"].clone();
        assert!(error.as_str().is_some_and(|error| error.starts_with("the check cannot run in ")), "{error}");
    }
    // The repository around the results, which git finds where a clone has none, is as it was.
    assert_eq!(git(&home, "", &["ls-files"]), "");
    assert!(!home.at(".git/objects").read_dir().unwrap().any(|entry| entry.unwrap().file_name().len() == 2));
    // Nothing is done again.
    let before = home.result("new").unwrap();
    let (_, out, err) = run();
    assert!(out.contains("19 tasks: 17 passed, 2 failed") && !err.contains("passed"), "{out}{err}");
    assert_eq!(home.result("new").unwrap(), before);
}

#[test]
fn a_folder_that_cannot_have_results_is_refused_before_anything_is_paid() {
    use std::os::unix::fs::symlink;
    // A run would fail in another way.
    let home = Home::new("http://127.0.0.1:9/v1");
    home.tasks(&[task("a", "true")]);
    fs::write(home.at("file"), "").unwrap();
    symlink("nowhere", home.at("dangling")).unwrap();
    for (folder, part) in [("of-link", "results"), ("of-file", "patches"), ("of-record", "results/a.json")] {
        fs::create_dir_all(home.at(folder).join(part).parent().unwrap()).unwrap();
        let place = home.at(folder).join(part);
        match folder {
            "of-file" => fs::write(place, "").unwrap(),
            _ => symlink("nowhere", place).unwrap(),
        }
    }
    for (folder, why) in [
        ("file", "cannot use file: it is not a folder; choose another folder with --results"),
        ("file/in", "cannot use file/in: Not a directory"),
        ("dangling", "cannot use dangling: it is a link that leads nowhere"),
        ("of-link", "cannot use of-link/results: it is a link that leads nowhere"),
        ("of-file", "cannot use of-file/patches: it is not a folder"),
        ("of-record", "/of-record/results/a.json: "),
        ("/proc/none", "cannot use /proc/none"),
    ] {
        let mut given: Vec<&[&str]> = vec![&[]];
        // A folder that does not exist yet has no results to report on.
        given.extend((folder != "/proc/none").then_some(&["--report"][..]));
        for more in given {
            let (code, out, err) = home.run(&[&["--results", folder][..], more].concat());
            assert_eq!((code, out.as_str()), (Some(3), ""), "{folder} {more:?}: {err}");
            assert!(err.starts_with("tau: ") && err.contains(why), "{folder} {more:?}: {err}");
        }
    }
    // A link to another folder is as good as that.
    let home = Home { url: answering(Duration::ZERO, "the answer"), ..home };
    fs::create_dir_all(home.at("elsewhere/results")).unwrap();
    fs::create_dir(home.at("of-parts")).unwrap();
    symlink("elsewhere", home.at("link")).unwrap();
    symlink("../elsewhere/results", home.at("of-parts/results")).unwrap();
    for folder in ["link", "of-parts"] {
        let (code, out, err) = home.run(&["--results", folder]);
        assert_eq!(code, Some(0), "{folder}: {out}{err}");
        fs::remove_file(home.at("elsewhere/results/a.json")).unwrap();
    }
}
