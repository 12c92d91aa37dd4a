//! A session that starts in the home directory, or in one above it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Place, has_landlock, run, text};
use crate::approvals::terminal::{calling, saying};
use crate::screen::Screen;
use crate::support::program::own_model;
use crate::support::server::Server;

const NOTICE: &str =
    "is your home directory, or leads to it, so it cannot be changed; start tau in a project's folder";

/// `outside` is the home directory, and `link` leads to it.
fn with_link(place: &Place) -> PathBuf {
    let link = place.work.join("link");
    symlink(&place.outside, &link).unwrap();
    link
}

/// `tau sandbox` with a script, in this directory with this home.
fn script(place: &Place, (cwd, home): (&Path, &Path), flags: &[&str], script: &str) -> (bool, String) {
    let mut command = place.command(flags, &["/bin/sh", "-c", script].map(OsStr::new));
    let output = run({
        command.current_dir(cwd).env("HOME", home);
        command
    });
    (output.status.success(), text(&output.stderr))
}

#[test]
fn start_up_files_cannot_be_made_or_changed() {
    needs!(has_landlock());
    let place = Place::new();
    let link = with_link(&place);
    let (home, above) = (place.outside.as_path(), place.outside.parent().unwrap());
    let starts =
        [(home, home), (above, home), (&link, home), (home, &link), (above, &link), (Path::new("/"), home)];
    fs::write(home.join(".profile"), "mine\n").unwrap();
    let attacks = [
        "echo x > ~/.bashrc", "echo x >> ~/.profile", "mkdir -p ~/.config/autostart",
        "mv ~/.profile ~/.other", "rm ~/.profile", "ln -s /tmp/x ~/.zshrc",
    ];
    for start in starts {
        for attack in attacks {
            let (worked, said) = script(&place, start, &[], attack);
            assert!(!worked, "{start:?}: {attack}");
            assert!(said.contains(NOTICE), "{said}");
        }
        assert!(!script(&place, start, &[], "echo x > ./new-file").0, "{start:?}");
        let (worked, said) = script(&place, start, &[], "f=$(mktemp) && rm $f");
        assert!(worked, "temporary files are made as ever: {said}");
    }
    let names: Vec<_> = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(fs::read_to_string(home.join(".profile")).unwrap(), "mine\n");

    // Named paths can be changed, and a project's folder in there.
    fs::create_dir(home.join("project")).unwrap();
    let project = home.join("project");
    let named = ["--writable", project.to_str().unwrap()];
    assert!(script(&place, (home, home), &named, "echo x > project/f").0);
    assert!(!script(&place, (home, home), &named, "echo x > ~/.bashrc").0);
    let (worked, said) = script(&place, (&project, home), &[], "echo x > g");
    assert!(worked && said.is_empty(), "{said}");
    let (worked, said) = script(&place, (home, home), &["--sandbox", "off", "--network", "on"], "echo x > f");
    assert!(worked && said.is_empty(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_screen_one_line_says_so_and_nothing_is_written() {
    needs!(has_landlock());
    let server = Server::start(vec![
        calling(&[
            ("bash", json!({ "command": "echo x > .new" })),
            ("write", json!({ "path": ".other", "content": "x\n" })),
        ]),
        saying("Finished."),
    ])
    .await;
    let url = server.url();
    let (place, said) = tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let mut tau = Command::new(env!("CARGO_BIN_EXE_tau"));
        tau.args(own_model(&url)).args(["--sandbox", "workspace-write"]);
        tau.args(["--permission-mode", "auto", "-p", "go"]).stdin(std::process::Stdio::null());
        tau.current_dir(&place.outside).env("HOME", &place.outside).env("TAU_HOME", &place.home);
        let output = run(tau);
        (place, text(&output.stderr))
    })
    .await
    .unwrap();
    assert_eq!(said.matches(NOTICE).count(), 1, "{said}");
    let requests = server.requests();
    let last = requests.last().unwrap();
    for name in [".new", ".other"] {
        let denied = format!("{}: the workspace is your home directory", place.outside.join(name).display());
        assert!(last.contains(&denied), "{denied}: {last}");
        assert!(!place.outside.join(name).exists(), "{name}");
    }
}

#[test]
fn the_screen_and_doctor_say_so() {
    needs!(has_landlock());
    let place = Place::new();
    let start = |folder: &Path, arguments: &str| {
        let script = format!(
            "export HOME={}; cd {}; exec \"$TAU_BIN\" --model demo {arguments}",
            place.outside.display(),
            folder.display()
        );
        Screen::program(Path::new("/bin/sh"), &["-c", &script], 300, 40)
    };
    let screen = start(&place.outside, "--sandbox workspace-write");
    screen.wait_for("ask for something");
    screen.wait_for(NOTICE);
    for (folder, arguments) in [(&place.work, "--sandbox workspace-write"), (&place.outside, "--sandbox off")]
    {
        let screen = start(folder, arguments);
        screen.wait_for("ask for something");
        assert!(!screen.text().contains("is your home directory"), "{}", screen.text());
    }
    let doctor = |level: &str| {
        let mut tau = Command::new(env!("CARGO_BIN_EXE_tau"));
        tau.arg("doctor")
            .current_dir(&place.outside)
            .env("HOME", &place.outside)
            .env("TAU_HOME", &place.home);
        tau.env("TAU_LOCAL_SERVERS", "false").env("TAU_SANDBOX", level);
        text(&run(tau).stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(doctor("workspace-write").contains(NOTICE), "{}", doctor("workspace-write"));
    assert!(!doctor("off").contains(NOTICE));
}
