//! Shell completion: bash, zsh and fish in a terminal, with the real scripts.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::screen::Screen as Terminal;
use crate::time_limit::RunInTime;

/// Two sessions, one with a title that a shell must not run; a model, a theme, a provider, a server.
const PREPARED: &str = r#"
mkdir -p bin "$TAU_HOME/themes"
ln -s "$TAU_BIN" bin/tau
export PATH="$PWD/bin:$PATH" TAU_DEMO_SPEED=max
touch "$TAU_HOME/themes/dusk.toml" "$TAU_HOME/themes/dusk\$(touch pwned).toml"
cat >"$TAU_HOME/config.toml" <<'END'
[mcp.docs]
command = "true"
[mcp.other]
command = "true"
END
cat >"$TAU_HOME/models.toml" <<'END'
[vendors.own]
base_url = "http://127.0.0.1:9"
api = "openai-completions"
api_key = "x"
[[vendors.own.models]]
id = "zeta:8b-instruct"
[[vendors.own.models]]
id = "own-small"
END
mkdir -p "$TAU_HOME/tools"
cat >"$TAU_HOME/tools/deploy.toml" <<'END'
description = "Deploys `touch pwned` $(touch pwned)."
command = ["true"]
END
tau proxy add laptop >made 2>&1
cat >prompts <<'END'
{"type":"prompt","message":"$(touch pwned) `touch pwned` %F{red} '; touch pwned"}
END
tau --mode rpc --model demo --session-id alpha-one <prompts >made 2>&1
echo '{"type":"prompt","message":"the second"}' | tau --mode rpc --model demo --session-id alpha-two >>made 2>&1
"#;

/// The typed text, and the completed line.
const LINES: [(&str, &str); 21] = [
    ("tau --theme dus", "tau --theme dusk"),
    ("tau --provider own", "tau --provider own"),
    ("tau --model own/zeta:8", "tau --model own/zeta:8b-instruct"),
    ("tau --model=own/ze", "tau --model=own/zeta:8b-instruct"),
    ("tau -p --session alpha-t", "tau -p --session alpha-two"),
    ("tau export alpha-o", "tau export alpha-one"),
    ("tau attach alpha-o", "tau attach alpha-one"),
    ("tau mcp test do", "tau mcp test docs"),
    ("tau auth remove ow", "tau auth remove own"),
    ("tau proxy remove la", "tau proxy remove laptop"),
    ("tau tools run dep", "tau tools run deploy"),
    ("tau permissions test --tool dep", "tau permissions test --tool deploy"),
    ("tau --thinking hi", "tau --thinking high"),
    ("tau --sandbox rea", "tau --sandbox read-only"),
    ("tau --network of", "tau --network off"),
    ("tau --permission-mode ed", "tau --permission-mode edits"),
    ("tau --tools read,ba", "tau --tools read,bash"),
    ("tau completions fi", "tau completions fish"),
    ("tau help exp", "tau help export"),
    ("tau -p look @ma", "tau -p look @made"),
    // The id begins like the name of the provider.
    ("tau --model own-", "tau --model own-small"),
];

fn program(name: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: {name} is not installed; its completion was not tried");
    }
    found
}

fn check(shell: &str, start: &str) {
    needs!(program(shell));
    let script = format!("{PREPARED}\n{start}");
    let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], 100, 30);
    screen.wait_for("ready>");
    let sessions =
        std::process::Command::new("find").arg(screen.tau_home().join("sessions")).output_in_time();
    let sessions = String::from_utf8(sessions.stdout).unwrap();
    assert!(sessions.contains("alpha-one") && sessions.contains("alpha-two"), "{sessions}");
    for (typed, completed) in LINES {
        screen.type_keys(&format!("{typed}\t"));
        screen.wait_for(completed);
        screen.type_keys("\x15");
        screen.wait_until("an empty line", |cells| {
            let text = cells.contents();
            text.lines().rfind(|line| line.contains("ready>")).is_some_and(|line| line.trim_end() == "ready>")
        });
    }
    // The program's other name has the same.
    screen.type_keys("taucode attach alpha-o\t");
    screen.wait_for("taucode attach alpha-one");
    screen.type_keys("\x15");
    // Both sessions are listed; no part of a title or file name was run.
    screen.type_keys("tau export alpha-\t\t");
    screen.wait_for("alpha-one");
    screen.wait_for("alpha-two");
    screen.type_keys("\x15");
    screen.type_keys("tau --theme dusk\t\t");
    screen.wait_for("tau --theme dusk");
    assert!(!screen.text().contains("command not found"), "{}", screen.text());
    for folder in ["work", "tau", "."] {
        assert!(!screen.home().join(folder).join("pwned").exists(), "{folder}");
    }
}

#[test]
fn bash_completes_names() {
    check(
        "bash",
        "printf 'PS1=\"ready> \"\\nsource <(tau completions bash)\\n' >rc; exec bash --noprofile --rcfile rc -i",
    );
}

#[test]
fn zsh_completes_names() {
    check(
        "zsh",
        "printf 'PS1=\"ready> \"\\nautoload -Uz compinit; compinit -u -D\\nsource <(tau completions zsh)\\n' >.zshrc\n\
         export ZDOTDIR=\"$PWD\"; exec zsh -d -i",
    );
}

/// zsh loads the file by the name of its function, as documented by `tau completions`.
#[test]
fn zsh_loads_the_script_from_a_folder() {
    check(
        "zsh",
        "mkdir zfunc; tau completions zsh >zfunc/_tau\n\
         printf 'PS1=\"ready> \"\\nfpath=(\"$PWD/zfunc\" $fpath)\\nautoload -Uz compinit; compinit -u -D\\n' >.zshrc\n\
         export ZDOTDIR=\"$PWD\"; exec zsh -d -i",
    );
}

#[test]
fn fish_completes_names() {
    check(
        "fish",
        "printf 'function fish_prompt; echo -n \"ready> \"; end\\nset -g fish_greeting\\ntau completions fish | source\\n' >rc\n\
         exec fish --no-config -i -C 'source rc'",
    );
}

/// It answers any query only with names, and never with an error.
#[test]
fn a_shell_gets_names_or_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("work/.tau/tools")).unwrap();
    let ask = |config: &str, args: &[&str]| {
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command
            .arg("__complete")
            .args(args)
            .env_clear()
            .env("HOME", home.path())
            .env("TAU_HOME", home.path());
        let output = command.current_dir(home.path().join("work")).stdin(Stdio::null()).output_in_time();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // A session of another agent is not for what refuses it.
    let projects =
        home.path().canonicalize().unwrap().join("work").to_string_lossy().replace(['/', '.'], "-");
    let folder = home.path().join(".claude/projects").join(projects);
    std::fs::create_dir_all(&folder).unwrap();
    let line = serde_json::json!({"type": "user", "uuid": "u", "cwd": home.path().canonicalize().unwrap().join("work"),
        "timestamp": "2026-03-02T09:00:01.000Z", "message": {"role": "user", "content": "hello"}});
    std::fs::write(folder.join("5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl"), format!("{line}\n")).unwrap();
    for (command, lines) in [("export", 1), ("wait", 0), ("logs", 0), ("stop", 0), ("diff", 0), ("undo", 0)] {
        let names = ask("", &["words", "tau", command, ""]);
        assert_eq!(names.lines().count(), lines, "{command}: {names}");
    }
    let model = ask("", &["words", "tau", "--model", "anthropic/"]);
    assert!(model.lines().count() > 3 && model.lines().all(|line| line.starts_with("anthropic/")), "{model}");
    // The provider can be omitted.
    let bare = ask("", &["words", "tau", "--model", "claude-"]);
    assert!(!bare.is_empty() && bare.lines().all(|line| line.starts_with("claude-")), "{bare}");
    // Nor if the name of a provider begins the same way.
    let both = ask("", &["words", "tau", "--model", "deepseek"]);
    for start in ["deepseek/", "deepseek-"] {
        assert!(both.lines().any(|line| line.starts_with(start)), "{start}: {both}");
    }
    // A folder's tools are listed only if it is trusted.
    std::fs::write(
        home.path().join("work/.tau/tools/release.toml"),
        "description = \"Releases.\"\ncommand = [\"true\"]\n",
    )
    .unwrap();
    assert_eq!(ask("", &["words", "tau", "tools", "run", "rel"]), "");
    assert_eq!(ask("", &["words", "tau", "tools", "run", "--trust", "rel"]), "release\tReleases.\n");
    assert!(ask("", &["words", "tau", "tools", "run", "ba"]).starts_with("bash\t"));
    // Clients of the proxy are read from the named file.
    let hash = "0".repeat(64);
    std::fs::write(
        home.path().join("work/other.toml"),
        format!("[tokens.phone]\nsha256 = \"{hash}\"\n[tokens.\"a b\"]\nsha256 = \"{hash}\"\n"),
    )
    .unwrap();
    assert_eq!(ask("", &["words", "tau", "proxy", "remove", ""]), "");
    assert_eq!(ask("", &["words", "tau", "proxy", "remove", "--tokens", "other.toml", ""]), "phone\n");
    // bash replaces the text after the last word-breaking character.
    let split = ask("", &["bash", " \t\n\"'@><=;|&(:", "tau --provider=anth"]);
    assert_eq!(split, "anthropic\n");
    let whole = ask("", &["bash", " \t\n", "tau --provider=anth"]);
    assert_eq!(whole, "--provider=anthropic\n");
    for args in
        [&[][..], &["words"], &["words", "tau"], &["bash"], &["x", "y"], &["words", "tau", "--", "--model"]]
    {
        assert_eq!(ask("", args), "", "{args:?}");
    }
    let broken = ask("model = \n[", &["words", "tau", "--provider", "anth"]);
    assert_eq!(broken, "anthropic\n");
}
