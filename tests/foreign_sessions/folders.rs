//! The directory of another agent's session: that of its folder, however its lines spell it, in lists and when it is
//! continued.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::continued::Place;
use crate::support::program::{Ended, bare, run};

const CLAUDE: &str = include_str!("claude.jsonl");
const ID: &str = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";

/// Asserts that the only session of this directory is found by search, and continues here, by its id and its path.
async fn assert_here(place: &Place) {
    let rows = place.rows(&[]).await;
    let work = place.work();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0]["id"].as_str(), rows[0]["directory"].as_str()), (Some(ID), work.to_str()));
    let all = place.rows(&["--all"]).await;
    assert!(all.iter().all(|row| row["source"] != "claude" || row["id"] == ID), "{all:?}");
    let found = place.run(&["sessions", "search", "--json", "rotate"]).await.out;
    assert!(found.contains(ID), "{found}");
    for wanted in [ID, "4d5e6f", "claude:4d5e6f", rows[0]["path"].as_str().unwrap()] {
        let ended = place.say(&["--session", wanted]).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{wanted}: {ended:?}");
        assert_eq!(place.own().await[0]["cwd"].as_str(), work.to_str(), "{wanted}");
    }
}

#[tokio::test]
async fn a_session_is_of_the_directory_that_its_folder_is_named_after() {
    let file = format!(".claude/projects/DIR/{ID}.jsonl");
    // The model had gone to a folder below.
    let place = Place::new().await;
    fs::create_dir(place.work().join("sub")).unwrap();
    place.put(&file, &CLAUDE.replace("/home/dev/shop\"", "/home/dev/shop/sub\""));
    assert_here(&place).await;
    // The project was moved or copied, and its folder with it, or made a link.
    for (is_there, is_link) in [(false, false), (true, false), (false, true), (true, true)] {
        let place = Place::new().await;
        let old = place.work().with_file_name("old");
        if is_there {
            fs::create_dir(&old).unwrap();
        }
        let path = place.put(&file, &CLAUDE.replace("/home/dev/shop", old.to_str().unwrap()));
        if is_link {
            let folder = path.parent().unwrap();
            let name = folder.file_name().unwrap().to_string_lossy().replace("-shop", "-old");
            fs::rename(folder, folder.with_file_name(&name)).unwrap();
            std::os::unix::fs::symlink(folder.with_file_name(name), folder).unwrap();
        }
        assert_here(&place).await;
    }
}

/// The copy is in the folder that lists of the directory read.
#[tokio::test]
async fn a_directory_that_is_spelled_otherwise_is_the_same() {
    let codex =
        ".codex/sessions/2026/03/03/rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl";
    for (name, recording, id) in [
        (codex, include_str!("codex.jsonl"), "62225e4e10ef"),
        (
            ".pi/agent/sessions/a_019f0000-8f0e-7a53-9d3c-1b2f3c4d5e70.jsonl",
            include_str!("pi.jsonl"),
            "4d5e70",
        ),
    ] {
        for (before, after) in [("/./", ""), ("/", "/"), ("/", "/x/..")] {
            let place = Place::new().await;
            let parent = place.work().parent().unwrap().display().to_string();
            let spelled = format!("{parent}{before}shop{after}");
            place.put(name, &recording.replace("/home/dev/shop", &spelled));
            let ended = place.say(&["--session", id, "--name", "named"]).await;
            assert_eq!(ended.code, 0, "{spelled}: {ended:?}");
            let rows = place.rows(&[]).await;
            let named: Vec<&Value> = rows.iter().filter(|row| row["title"] == "named").collect();
            assert_eq!(named.len(), 1, "{spelled}: {rows:?}");
            let is_here = |row: &Value| Path::new(row["directory"].as_str().unwrap()) == place.work();
            assert!(rows.iter().all(is_here), "{spelled}: {rows:?}");
        }
    }
}

async fn run_in(place: &Place, directory: &Path, args: &[&str]) -> Ended {
    let mut command = bare(directory);
    command.env("HOME", place.at("")).env("TAU_HOME", place.at("tau")).args(args);
    run(&mut command, None).await
}

/// A session that was copied to another directory, or is in two folders of Codex.
#[tokio::test]
async fn an_id_in_two_directories_means_the_session_of_this_one() {
    let codex = |day: u32| {
        format!(
            ".codex/sessions/2026/03/0{day}/rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl"
        )
    };
    for (files, recording, id, program) in [
        (
            [format!(".claude/projects/DIR/{ID}.jsonl"), format!(".claude/projects/DIR-2/{ID}.jsonl")],
            CLAUDE,
            ID,
            "claude",
        ),
        ([codex(3), codex(4)], include_str!("codex.jsonl"), "01a2120d-07f4-7b43-8a4d-62225e4e10ef", "codex"),
    ] {
        let place = Place::new().await;
        let other = place.work().with_file_name("shop-2");
        fs::create_dir(&other).unwrap();
        let paths = [
            place.put(&files[0], recording),
            place.put(&files[1], &recording.replace("/home/dev/shop", other.to_str().unwrap())),
        ];
        let end = &id[id.len() - 4..];
        for directory in [place.work(), other] {
            for wanted in [id, end, &format!("{program}:{id}")] {
                let args = ["--model", "own/m", "-p", "continue", "--session", wanted];
                let ended = run_in(&place, &directory, &args).await;
                assert_eq!((ended.code, ended.out.trim()), (0, "well"), "{wanted}: {ended:?}");
                let own = &place.own().await[0];
                assert_eq!(own["cwd"].as_str(), directory.to_str(), "{wanted}");
                let said = format!(
                    "is continued in a copy, {}; the original stays as it is\n",
                    own["id"].as_str().unwrap()
                );
                assert_eq!(ended.err.matches(&said).count(), 1, "{ended:?}");
            }
        }
        // Elsewhere it is asked which, by names that can be given.
        let refused = run_in(&place, &place.at("").canonicalize().unwrap(), &["export", id, "-"]).await;
        assert_eq!(refused.code, 3, "{refused:?}");
        for path in &paths {
            let path = path.canonicalize().unwrap();
            let name = refused
                .err
                .split_whitespace()
                .find(|word| Path::new(word).canonicalize().is_ok_and(|it| it == path));
            let exported =
                run_in(&place, &place.work(), &["export", name.expect(&refused.err), "-", "--format", "md"])
                    .await;
            assert_eq!(exported.code, 0, "{exported:?}");
        }
    }
}

#[tokio::test]
async fn the_names_that_search_shows_can_be_given() {
    let place = Place::new().await;
    let other = place.work().with_file_name("shop-2");
    fs::create_dir(&other).unwrap();
    let ids = ["5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d1111", "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4e1111"];
    place.put(&format!(".claude/projects/DIR/{}.jsonl", ids[0]), &CLAUDE.replace("rotate", "walrus"));
    place.put(&format!(".claude/projects/DIR/{}.jsonl", ids[1]), CLAUDE);
    let elsewhere = CLAUDE.replace("/home/dev/shop", other.to_str().unwrap()).replace("rotate", "walrus");
    place.put(".claude/projects/DIR-2/5f0a7c1e-8f0e-4a53-9d3c-1b2f3d4d1111.jsonl", &elsewhere);
    for (args, count) in
        [(&["sessions", "search", "walrus"][..], 1), (&["sessions", "search", "walrus", "--all"], 2)]
    {
        let found = place.run(args).await.out;
        let heads: Vec<&str> = found.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(heads.len(), count, "{found}");
        for head in heads {
            let name = head.split_whitespace().next().unwrap();
            let exported = place.run(&["export", name, "-", "--format", "md"]).await;
            assert!(exported.code == 0 && exported.out.contains("walrus"), "{name}: {exported:?}");
        }
    }
}

#[tokio::test]
async fn a_compressed_session_that_cannot_be_read_says_so() {
    let place = Place::new().await;
    let id = "01a2120d-07f4-7b43-8a4d-62225e4e10ef";
    let path =
        place.put(&format!(".codex/sessions/2026/03/03/rollout-2026-03-03T10-00-00-{id}.jsonl.zst"), "");
    fs::write(path, b"\x28\xb5\x2f\xfd\x24\x40").unwrap();
    let rows = place.rows(&["--all"]).await;
    let why = "it is damaged, or was not written to its end";
    assert_eq!(
        (rows[0]["id"].as_str(), rows[0]["title"].as_str()),
        (Some(id), Some(&*format!("cannot be read: {why}")))
    );
    let ended = place.say(&["--session", id]).await;
    assert!(ended.code == 3 && ended.err.contains(why), "{ended:?}");
}
