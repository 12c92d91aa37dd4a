//! A pipe in the place of any file that tau reads by itself: nothing blocks on it.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::screen::Screen;
use crate::support::program::{bare, calls, own_model, run, says};
use crate::support::server::Server;

/// Files of the project, besides its own content.
const OF_PROJECT: [&str; 21] = *tau::tools::words!(
    ".git/HEAD .git/config .git/index .git/commondir .git/info/exclude .git/info/attributes \
     .gitattributes .gitignore .ignore sub/.gitignore sub/.git AGENTS.md CLAUDE.md .mcp.json \
     .tau/config.toml .tau/SYSTEM.md .tau/skills/x/SKILL.md .tau/prompts/x.md .tau/tools/x.toml \
     .claude/settings.json .claude/commands/x.md"
);
/// Files of the user, in the home directory.
const OF_USER: [&str; 10] = *tau::tools::words!(
    ".gitconfig .config/git/config .config/git/ignore .claude/settings.json .claude/skills/x/SKILL.md \
     .config/tau/AGENTS.md .config/tau/skills/x/SKILL.md .config/tau/themes/mine.toml \
     .config/tau/prompts/x.md .config/tau/mcp.json"
);
/// Files of the user without which non-interactive runs do not start.
const REFUSED: [&str; 3] = ["config.toml", "models.toml", "auth.json"];

fn pipe(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pipe_keeps_tau_from_working() {
    for (place, name) in
        OF_PROJECT.map(|name| ("work", name)).into_iter().chain(OF_USER.map(|name| ("", name)))
    {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().join("work");
        std::fs::create_dir_all(work.join("sub")).unwrap();
        if !name.starts_with(".git/") {
            std::fs::create_dir_all(work.join(".git/info")).unwrap();
        }
        std::fs::write(work.join("file.txt"), "needle\n").unwrap();
        pipe(&home.path().join(place).join(name));
        let acts = vec![
            calls("grep", &json!({ "pattern": "needle" })),
            calls("find", &json!({ "pattern": "*.txt" })),
            calls("bash", &json!({ "command": "echo ran >made" })),
            says("done"),
        ];
        let server = Server::start(acts).await;
        let mut command = bare(home.path());
        command.current_dir(&work).args(own_model(&server.url())).args(["--trust"]);
        command.args(["--tools", "read,bash,edit,write,grep,find,ls", "-p", "go"]);
        let ended = timeout(Duration::from_secs(50), run(&mut command, None)).await;
        let ended = ended.unwrap_or_else(|_| panic!("{name}: it hangs"));
        assert!(ended.code == 0 && ended.out == "done\n", "{name}: {ended:?}");
        let last = server.requests().pop().unwrap();
        assert!(last.contains("file.txt"), "{name}: the search finds: {last}");
        assert!(work.join("made").exists(), "{name}: {last}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_for_the_users_settings_is_refused() {
    for name in REFUSED {
        let home = tempfile::tempdir().unwrap();
        pipe(&home.path().join(".config/tau").join(name));
        let server = Server::start(vec![says("done")]).await;
        let mut command = bare(home.path());
        command.args(own_model(&server.url())).args(["-p", "go"]);
        let ended = run(&mut command, None).await;
        assert!(ended.code == 3 && ended.err.contains("not a regular file"), "{name}: {ended:?}");
    }
}

#[test]
fn files_are_completed_beside_pipes() {
    let pipes = ".git/info/exclude .gitignore .ignore sub/.gitignore AGENTS.md .git/HEAD";
    let script = format!(
        "mkdir -p work/.git/info work/sub; cd work; echo x >needle.txt; mkfifo {pipes}; exec \"$TAU_BIN\" --model demo"
    );
    let screen = Screen::program(Path::new("/bin/sh"), &["-c", &script], 100, 30);
    screen.wait_for("demo");
    screen.type_keys("@need");
    screen.wait_for("needle.txt");
}
