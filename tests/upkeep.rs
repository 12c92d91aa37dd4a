//! Once a day, in the background of a screen: the question for a newer version, and the retention.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::screen::Screen;

/// A release of version 999.0.0 on loopback; counts its requests.
fn release() -> (String, Arc<AtomicUsize>, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (asked, (sender, heads)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let read = socket.read(&mut bytes).unwrap_or_default();
            count.fetch_add(1, Ordering::SeqCst);
            let platform = if cfg!(target_env = "musl") { "unknown-linux-musl" } else { "unknown-linux-gnu" };
            let name = format!("{}-{platform}", std::env::consts::ARCH);
            let list = json!({"version": "999.0.0", "files": {name: {"size": 1, "sha256": ""}}}).to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", list.len());
            let _ = socket.write_all(format!("{head}{list}").as_bytes());
            let _ = sender.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
        }
    });
    (address, asked, heads)
}

/// The screen in a folder of tau's that stays.
fn screen(home: &Path, variables: &str) -> Screen {
    let script = format!("export TAU_HOME='{}' {variables}", home.display());
    Screen::prepared(&script, "--model demo", 100, 24)
}

#[test]
fn a_newer_version_is_looked_for_once_a_day() {
    let (address, asked, heads) = release();
    let home = tempfile::tempdir().unwrap();
    let variables = format!("TAU_RELEASE_URL={address} NO_PROXY=127.0.0.1");
    let first = screen(home.path(), &variables);
    first.wait_for("tau 999.0.0 is available");
    let head = heads.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(head.starts_with("GET /release.json HTTP/1.1\r\n") && !head.contains("cookie"), "{head}");
    drop(first);
    // The second start of the day, and one that does not want it.
    let (second, other) = (screen(home.path(), &variables), tempfile::tempdir().unwrap());
    let off = screen(other.path(), &format!("{variables} TAU_UPDATE_CHECK=false"));
    // Longer than the pause after the start.
    std::thread::sleep(Duration::from_secs(5));
    drop((second, off));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn sessions_older_than_the_retention_go_to_the_trash() {
    let home = tempfile::tempdir().unwrap();
    let tau = home.path().join("tau");
    let trash = home.path().join("share");
    std::fs::create_dir_all(&trash).unwrap();
    let folder = tau.join("sessions/--srv--");
    let session = |id: &str, days: u64| {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(tau.join("undo").join(id)).unwrap();
        let path = folder.join(format!("2026_{id}.jsonl"));
        let head = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv"});
        let line = json!({
            "type": "message", "id": "aaaaaaaa", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 1}
        });
        let journal = tau.join("undo").join(id).join("journal");
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        for (path, text) in [(&path, format!("{head}\n{line}\n")), (&journal, "x".to_owned())] {
            std::fs::write(path, text).unwrap();
            std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        }
        (path, journal)
    };
    let (old, old_undo) = session("0198aaaa-0000-7000-8000-000000000001", 40);
    let (new, new_undo) = session("0198aaaa-0000-7000-8000-000000000002", 20);
    std::fs::write(tau.join("config.toml"), "retention = 30\n").unwrap();
    let shown = screen(&tau, &format!("XDG_DATA_HOME='{}'", trash.display()));
    shown.wait_for("moved to the trash, as older than 30 days: 1 session");
    assert!(!old.exists() && !old_undo.exists());
    assert!(new.exists() && new_undo.exists());
    let trashed = trash.join("Trash/files").join(old.file_name().unwrap());
    assert!(trashed.exists(), "{trashed:?}");
}
