//! Tests of the records of live sessions.

use super::*;

fn record(id: &str, state: LiveState) -> LiveRecord {
    LiveRecord { id: id.to_owned(), address: "unix:/x".to_owned(), state, ..LiveRecord::default() }
}

#[test]
fn a_record_tells_whether_its_process_runs_and_how_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(dir.path());
    assert!(all(&paths).is_empty());
    let mut open = Registration::new(&paths, record("a", LiveState::Running)).unwrap();
    assert!(Registration::new(&paths, record("a", LiveState::Idle)).is_err(), "registered twice");
    let found = of(&paths, "a").unwrap();
    assert_eq!((found.state(), found.is_live, found.is_interrupted()), (LiveState::Running, true, false));
    // What a kill leaves: the file, and a lock that is free.
    write(&folder(&paths).join("b.json"), &record("b", LiveState::Waiting)).unwrap();
    std::fs::write(folder(&paths).join("b.lock"), "").unwrap();
    let killed = of(&paths, "b").unwrap();
    assert_eq!((killed.state(), killed.is_interrupted(), killed.address()), (LiveState::Failed, true, None));
    open.update(LiveRecord { exit: Some(0), background: true, ..record("a", LiveState::Done) }).unwrap();
    // A session that was killed at rest leaves nothing, nor does one that was killed before it had a record.
    write(&folder(&paths).join("e.json"), &record("e", LiveState::Idle)).unwrap();
    let asking = LiveRecord { at_rest: true, ..record("g", LiveState::Waiting) };
    write(&folder(&paths).join("g.json"), &asking).unwrap();
    for lock in ["e.lock", "f.lock", "g.lock"] {
        std::fs::write(folder(&paths).join(lock), "").unwrap();
    }
    open.keep(Some(0));
    let ended = of(&paths, "a").unwrap();
    assert_eq!((ended.state(), ended.is_live, ended.record.exit), (LiveState::Done, false, Some(0)));
    assert_eq!(all(&paths).len(), 2);
    assert!(["e.lock", "f.lock", "g.lock"].iter().all(|lock| !folder(&paths).join(lock).exists()));
    for archived in [true, false] {
        archive(&paths, None, "a", archived).unwrap();
        assert_eq!(of(&paths, "a").unwrap().row().archived, archived);
    }
    let open = Registration::new(&paths, record("d", LiveState::Idle)).unwrap();
    assert!(archive(&paths, None, "d", true).is_err(), "it is open");
    drop(open);
    for id in ["a", "b"] {
        std::fs::remove_file(folder(&paths).join(format!("{id}.json"))).unwrap();
    }
    assert!(all(&paths).is_empty());
    write(&folder(&paths).join("c.json"), &record("c", LiveState::Running)).unwrap();
    let here = Path::new("");
    assert_eq!(take_interrupted(&paths, Path::new("/elsewhere")).len(), 0);
    assert_eq!(take_interrupted(&paths, here).len(), 1);
    assert_eq!(take_interrupted(&paths, here).len(), 0, "told once");
    assert!(of(&paths, "c").unwrap().is_interrupted());
    // The id is not a path.
    assert_eq!(of(&paths, "../config"), None);
}

#[test]
fn the_result_of_the_last_run_counts_until_there_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(dir.path());
    let (failed, idle) = (Some(5), || record("a", LiveState::Idle));
    let open = |record: LiveRecord| Registration::new(&paths, record).unwrap();
    let ran = LiveRecord { exit: failed, background: true, ..record("a", LiveState::Failed) };
    open(ran).keep(failed);
    let now = || of(&paths, "a").map(|found| (found.state(), found.record.exit));
    for _ in 0..2 {
        let mut look = open(idle());
        assert_eq!(now(), Some((LiveState::Failed, failed)));
        look.update(LiveRecord { watched: true, ..idle() }).unwrap();
        assert_eq!(now(), Some((LiveState::Failed, failed)));
        look.end(None);
        assert_eq!(now(), Some((LiveState::Failed, failed)));
    }
    let mut again = open(idle());
    again.update(record("a", LiveState::Running)).unwrap();
    again.update(idle()).unwrap();
    again.end(None);
    assert_eq!(now(), None);
}

#[test]
fn a_record_is_written_where_it_is_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(dir.path());
    let _open = Registration::new(&paths, record("a", LiveState::Running)).unwrap();
    let file = folder(&paths).join("a.json");
    for state in [LiveState::Idle, LiveState::Waiting, LiveState::Done] {
        overwrite(&file, serde_json::to_vec(&record("a", state)).unwrap()).unwrap();
        assert_eq!(of(&paths, "a").unwrap().state(), state);
    }
    assert!(overwrite(&folder(&paths).join("b.json"), Vec::new()).is_err(), "it has no place");
}

#[test]
fn an_interruption_counts_until_there_is_another_run() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(dir.path());
    let goal = |command: &str| Some(command.to_owned());
    let killed = LiveRecord { goal: goal("make"), ..record("a", LiveState::Running) };
    for (ended, code) in [(None, 101), (Some(143), 143)] {
        std::fs::create_dir_all(folder(&paths)).unwrap();
        write(&folder(&paths).join("a.json"), &LiveRecord { exit: ended, ..killed.clone() }).unwrap();
        let now = || of(&paths, "a").map(|found| (found.state(), found.is_interrupted(), found.record.exit));
        for is_killed in [false, true] {
            let idle = LiveRecord { goal: goal("make"), ..record("a", LiveState::Idle) };
            let mut look = Registration::new(&paths, idle.clone()).unwrap();
            assert_eq!(now(), Some((LiveState::Failed, true, Some(code))));
            look.update(LiveRecord { watched: true, ..idle.clone() }).unwrap();
            let left = look.record().clone();
            look.end(None);
            if is_killed {
                write(&folder(&paths).join("a.json"), &left).unwrap();
            }
            assert_eq!(now(), Some((LiveState::Failed, true, Some(code))));
            assert_eq!(of(&paths, "a").unwrap().record.goal, goal("make"));
        }
        assert_eq!(take_interrupted(&paths, Path::new("")).len(), 1);
        let mut again = Registration::new(&paths, record("a", LiveState::Idle)).unwrap();
        again.update(record("a", LiveState::Running)).unwrap();
        again.update(record("a", LiveState::Idle)).unwrap();
        again.end(None);
        assert_eq!(now(), None);
    }
}

#[test]
fn results_are_removed_that_are_much_older_than_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(dir.path());
    let ended = |id: &str, days: u64| {
        let ran = LiveRecord { exit: Some(0), background: true, ..record(id, LiveState::Done) };
        Registration::new(&paths, ran).unwrap().keep(Some(0));
        let path = folder(&paths).join(format!("{id}.json"));
        let at = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
        File::open(path).unwrap().set_modified(at).unwrap();
    };
    let left = || {
        sweep(&paths);
        let mut left: Vec<String> = all(&paths).into_keys().collect();
        left.sort();
        left.join(" ")
    };
    ended("a", 420);
    ended("b", 400);
    assert_eq!(left(), "b", "a clock that is wrong removes nothing but what is older than the rest");
    ended("c", 390);
    assert_eq!(left(), "b c");
    ended("d", 1);
    assert_eq!(left(), "d");
}
