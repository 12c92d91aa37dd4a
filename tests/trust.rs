//! Folders with settings of their own: settings wait for trust, instructions are reported at once.

use std::fs;
use std::path::Path;
use std::process::Command;

use tau::agent::AgentCommand;
use tau::agent::context::prompt_source::{InstructionMode, PromptSource};
use tau::agent::protocol::command::{SettingsCommand, Tuning};
use tau::agent::protocol::trust::{ChangeKind, FileChange, Folder, Trust};
use tau::agent::session::Session;
use tau::agent::settings::trust::Project;
use tau::agent::settings::{Settings, folder};
use tau::app::boot::Boot;
use tau::app::geometry::Size;
use tau::app::request::{ScreenReply, ScreenRequest, SettingsUpdate};
use tau::app::{Effect, Msg};
use tau::cli::args::CliArgs;
use tau::cli::compose::{AgentPrompt, Setup, reload};

use crate::harness::{Screen, boot, shared, text};
use crate::support::write;
use crate::time_limit::RunInTime;

fn tune(tuning: Tuning) -> AgentCommand {
    SettingsCommand::Tune(tuning).into()
}

fn any(commands: &[AgentCommand], is_it: fn(&SettingsCommand) -> bool) -> bool {
    commands.iter().any(|command| matches!(command, AgentCommand::Settings(command) if is_it(command)))
}

fn tools(names: Vec<String>) -> AgentCommand {
    SettingsCommand::SetTools { names, by_mode: false }.into()
}

pub fn timeout(seconds: Option<u64>) -> AgentCommand {
    tune(Tuning::BashTimeout { seconds })
}

#[test]
fn trust_is_for_files_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, kept) = (dir.path().join("work"), dir.path().join("config/trust.json"));
    fs::create_dir(&folder).unwrap();
    assert!(Project::of(&folder).is_none());
    write(&folder.join(".tau/config.toml"), "thinking = 'high'\n");
    let trust = || Project::of(&folder).unwrap().trust(&kept).unwrap();
    assert_eq!(trust(), Trust::Unknown);
    Project::of(&folder).unwrap().answer(&shared(&kept), true).unwrap();
    assert_eq!(trust(), Trust::Trusted);
    write(&folder.join(".tau/SYSTEM.md"), "You are somebody else.");
    assert_eq!(trust(), Trust::Changed, "a file more");
    Project::of(&folder).unwrap().answer(&shared(&kept), true).unwrap();
    write(&folder.join(".tau/config.toml"), "thinking = 'low'\n");
    assert_eq!(trust(), Trust::Changed, "another content");
    Project::of(&folder).unwrap().answer(&shared(&kept), false).unwrap();
    assert_eq!(trust(), Trust::Refused);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&kept).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    fs::write(&kept, "what").unwrap();
    assert!(Project::of(&folder).unwrap().trust(&kept).is_err(), "nothing is trusted by mistake");
    // A link to the folder is the folder; a link out of it is not one of its files.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    assert_eq!(Project::of(&link), Project::of(&folder));
    fs::remove_file(folder.join(".tau/SYSTEM.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join(".tau/SYSTEM.md")).unwrap();
    assert_eq!(Project::of(&folder).unwrap().names(), [".tau/config.toml"]);
}

/// Trusted content is kept as a copy, so a folder can make the kept data large.
#[test]
fn no_folder_makes_the_answers_unreadable() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("trust.json");
    for folder in ["one", "two", "three"] {
        for file in ["config.toml", "SYSTEM.md", "../.mcp.json"] {
            write(&dir.path().join(folder).join(".tau").join(file), &"\u{1}".repeat(60_000));
        }
        let project = Project::of(&dir.path().join(folder)).unwrap();
        project.answer(&shared(&kept), true).unwrap();
        assert_eq!(project.trust(&kept).unwrap(), Trust::Trusted, "{folder}");
    }
}

#[test]
fn a_project_names_no_address_key_or_program() {
    let dir = tempfile::tempdir().unwrap();
    let check = |line: &str, expected: Result<&str, &str>| {
        write(&dir.path().join(".tau/config.toml"), line);
        let project = Project::of(dir.path()).unwrap().settings();
        let settings = project.map(|project| Settings::default().overlaid(project));
        match (settings, expected) {
            (Ok(settings), Ok(part)) => {
                assert!(format!("{settings:?}").contains(part), "{line}: {settings:?}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{line}: {error}"),
            (other, _) => panic!("{line}: {other:?}"),
        }
    };
    check("model = 'a/b'", Ok("model: Some(\"a/b\")"));
    check("tools = ['read']", Ok("tools: Some([\"read\"])"));
    check("hide_thinking = true", Ok("hide_thinking: Some(true)"));
    for key in ["base_url", "api_key", "provider", "shell", "proxy", "ca_file", "session_dir"] {
        let expected = format!("config.toml:2: a project cannot set `{key}`; set it in your own config.toml");
        check(&format!("theme = 'x'\n{key} = 'x'"), Err(&expected));
    }
    check("pass_env = ['HOME']", Err("a project cannot set `pass_env`"));
    check("[keys]\nquit = []", Err("config.toml:1: a project cannot set `keys`"));
    check("them = 1", Err("unknown name `them`; did you mean `theme`?"));
}

#[test]
fn the_prompt_is_made_of_files_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (cwd, config) = (dir.path().join("work"), dir.path().join("config"));
    write(&cwd.join("AGENTS.md"), "use tabs");
    write(&config.join("SYSTEM.md"), "My own role.");
    let mut source = PromptSource {
        cwd: cwd.clone(),
        config: config.clone(),
        date: "2026-01-02".into(),
        append: Some("And this.".into()),
        ..PromptSource::default()
    };
    let first = source.read();
    assert_eq!(first, source.read(), "the same as long as nothing changes");
    assert!(first.text.starts_with("My own role."), "{}", first.text);
    for part in ["use tabs", "And this.", "Date: 2026-01-02"] {
        assert!(first.text.contains(part), "{part}: {}", first.text);
    }
    let files = [config.join("SYSTEM.md"), cwd.join("AGENTS.md")];
    assert_eq!(first.files, files);
    write(&cwd.join("AGENTS.md"), "use spaces");
    assert!(source.read().text.contains("use spaces"));
    source.project = vec![(cwd.join(".tau/SYSTEM.md"), "The project's role.".into())];
    assert!(source.read().text.starts_with("The project's role."));
    source.role = Some("A flag.".into());
    assert!(source.read().text.starts_with("A flag."));
    source.role = Some("{default}\n\nAnd in rhyme.".into());
    let added = source.read();
    assert!(
        added.text.starts_with("You are tau") && added.text.contains("\n\nAnd in rhyme.\n"),
        "{}",
        added.text
    );
    write(&config.join("APPEND_SYSTEM.md"), "My own end.");
    assert!(source.read().notices[0].contains("is not read: put its text into SYSTEM.md"));
    source.instructions = InstructionMode::Skip;
    assert!(!source.read().text.contains("use spaces"));
}

/// Runs the program in a folder whose settings name a model that does not exist.
fn run(args: &[&str], trusted: Option<bool>) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let (folder, home) = (dir.path().join("work"), dir.path().join("tau"));
    write(&folder.join(".tau/config.toml"), "model = 'nosuch/model'\n");
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    if let Some(trusted) = trusted {
        Project::of(&folder).unwrap().answer(&shared(&home.join("trust.json")), trusted).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(["-p", "hello"]).args(args).current_dir(&folder).stdin(std::process::Stdio::null());
    command.env_clear().env("HOME", dir.path()).env("TAU_HOME", &home).env("TAU_DEMO_SPEED", "max");
    let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output_in_time();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_a_person_nothing_of_a_folder_is_used_unless_told() {
    let check = |args: &[&str], trusted: Option<bool>, code: i32, says: &str, not: &str| {
        let (status, stderr) = run(args, trusted);
        assert_eq!(status, Some(code), "{args:?} {trusted:?}: {stderr}");
        assert!(stderr.contains(says), "{args:?} {trusted:?}: {stderr}");
        assert!(!stderr.contains(not), "{args:?} {trusted:?}: {stderr}");
    };
    check(&[], None, 3, "no model is configured", "nosuch");
    let told = "ignoring .tau/config.toml: this directory is not trusted; --trust uses its settings";
    check(&["--model", "demo"], None, 0, told, "nosuch");
    check(&["--model", "demo"], Some(false), 0, "", "trust");
    check(&[], Some(true), 3, "nosuch", "trust");
    check(&["--trust"], None, 3, "nosuch", "not trusted");
    check(&["--trust", "--model", "demo"], None, 0, "", "nosuch");
    // In a folder below, the settings of the repository apply, and are named with their location.
    let below = ["--model", "demo", "--cwd", "sub"];
    check(&below, None, 0, "work/.tau/config.toml: this directory is not trusted", "nosuch");
    check(&["--cwd", "sub"], Some(true), 3, "nosuch", "not trusted");
}

/// A session runs in its own directory with its project settings, wherever tau was started.
#[test]
fn a_session_has_the_settings_of_its_own_directory() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let (here, there, home) = (dir.join("here"), dir.join("there"), dir.join("tau"));
    write(&here.join(".tau/config.toml"), "model = 'nosuch/here'\n");
    write(&there.join(".tau/config.toml"), "model = 'nosuch/there'\n");
    let run = |cwd: &Path, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(args).args(["-p", "hello"]).current_dir(cwd).stdin(std::process::Stdio::null());
        command.env_clear().env("HOME", &dir).env("TAU_HOME", &home).env("TAU_DEMO_SPEED", "max");
        let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output_in_time();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&there, &["--model", "demo", "--session-id", "one"]).0, Some(0));
    let (code, told) = run(&here, &["--model", "demo", "--session-id", "one"]);
    let unused = format!("ignoring {}/.tau/config.toml", there.display());
    assert!(code == Some(0) && told.contains(&unused), "{told}");
    Project::of(&there).unwrap().answer(&shared(&home.join("trust.json")), true).unwrap();
    for wanted in [["--session", "one"], ["--session-id", "one"]] {
        let (code, told) = run(&here, &wanted);
        assert!(code == Some(3) && told.contains("nosuch/there"), "{told}");
    }
    // And the settings of the directory tau was started in are not used.
    fs::remove_dir_all(there.join(".tau")).unwrap();
    Project::of(&here).unwrap().answer(&shared(&home.join("trust.json")), true).unwrap();
    let (code, told) = run(&here, &["--session", "one"]);
    assert!(code == Some(0) && !told.contains("nosuch"), "the session's own model answers: {told}");
    assert!(run(&here, &[]).1.contains("nosuch/here"), "a new session runs here");
}

pub fn changed_folder() -> Folder {
    let line = |line: &str| line.to_owned();
    let changes = vec![
        FileChange {
            file: ".tau/SYSTEM.md".into(),
            kind: ChangeKind::New,
            lines: vec![line("+You are somebody \u{202e}else.\r+You are kind.")],
        },
        FileChange {
            file: ".tau/config.toml".into(),
            kind: ChangeKind::Changed,
            lines: vec![
                line(" theme = 'light'"),
                line("-thinking = 'low'"),
                line("+thinking = 'high'\u{1b}[2J"),
            ],
        },
    ];
    let files = vec![".tau/SYSTEM.md".to_owned(), ".tau/config.toml".to_owned()];
    Folder { root: "/srv/web".into(), place: None, files, trust: Trust::Changed, changes }
}

#[test]
fn the_user_is_asked_once_and_by_command() {
    let unknown = Folder { trust: Trust::Unknown, ..changed_folder() };
    let mut screen = Screen::boot(Boot { folders: vec![unknown.clone()], ..boot() });
    let shown = text(&screen.draw());
    assert!(shown.contains("This folder has project settings (.tau/SYSTEM.md, .tau/config.toml)"), "{shown}");
    assert!(!shown.contains("is new"), "all of it is new: {shown}");
    screen.take_effects();
    screen.keys("<enter>");
    assert!(
        answers(&screen.take_effects()).is_empty(),
        "the answer that is there leaves everything as it is"
    );
    for (keys, trusted) in [("<up><enter>", true), ("<down><enter>", false)] {
        screen.keys("/trust<enter>");
        let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::Folders {}) => Some(ticket),
            _ => None,
        });
        let parent = Folder { root: "/srv".into(), place: Some("~/srv".into()), ..unknown.clone() };
        screen.send(Msg::Finished(ticket.unwrap(), ScreenReply::Folders(vec![parent, unknown.clone()])));
        screen.keys(keys);
        assert_eq!(answers(&screen.take_effects()), [("/srv/web".into(), trusted)], "the nearest first");
        assert!(text(&screen.draw()).contains("~/srv has project settings"));
        screen.keys("<esc>");
        assert!(answers(&screen.take_effects()).is_empty());
    }
    for trust in [Trust::Trusted, Trust::Refused] {
        let (model, _) =
            tau::app::boot(Boot { folders: vec![Folder { trust, ..unknown.clone() }], ..boot() });
        assert!(model.overlays.is_empty(), "an answer is kept");
    }
    let mut screen = Screen::boot(Boot { instructions: vec!["~/AGENTS.md".into()], ..boot() });
    assert!(text(&screen.draw()).contains("instructions: ~/AGENTS.md"));
    screen.take_effects();
    screen.keys("/trust<enter>");
    let Some(Effect::Ask(ticket, ScreenRequest::Folders {})) = screen.take_effects().pop() else { panic!() };
    screen.send(Msg::Finished(ticket, ScreenReply::Folders(Vec::new())));
    assert!(text(&screen.draw()).contains("no project settings here"));
}

fn answers(effects: &[Effect]) -> Vec<(std::path::PathBuf, bool)> {
    let answer = |effect: &Effect| match effect {
        Effect::Ask(_, ScreenRequest::Trust { root, trusted }) => Some((root.clone(), *trusted)),
        _ => None,
    };
    effects.iter().filter_map(answer).collect()
}

#[test]
fn a_change_is_shown_before_it_is_trusted() {
    let mut screen = Screen::boot(Boot { folders: vec![changed_folder()], ..boot() });
    let shown = text(&screen.draw());
    for part in [
        "project settings that changed since", ".tau/SYSTEM.md (new)", "+You are somebody", "+You are kind.",
        ".tau/config.toml (changed)", "-thinking = 'low'", "+thinking = 'high'", "use them, as shown here",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{202e}') && !shown.contains('\u{1b}'));
    // Content that does not fit scrolls; question and answers stay.
    let lines = (0..100).map(|n| format!("+line {n}.")).collect();
    let change = FileChange { file: ".tau/SYSTEM.md".into(), kind: ChangeKind::Changed, lines };
    let folder = Folder { changes: vec![change], ..changed_folder() };
    let mut screen = Screen::boot(Boot { folders: vec![folder], ..boot() });
    let shown = text(&screen.draw());
    assert!(shown.contains("line 1.") && !shown.contains("line 99."), "{shown}");
    assert!(shown.contains("changed since") && shown.contains("never use them"), "{shown}");
    screen.keys("<pgdn>".repeat(20).as_str());
    let shown = text(&screen.draw());
    assert!(shown.contains("line 99.") && !shown.contains("line 1."), "{shown}");
    assert!(shown.contains("changed since") && shown.contains("never use them"), "{shown}");
}

/// The author of the files knows how wide a window is.
#[test]
fn no_end_of_a_line_is_out_of_sight() {
    for (width, height) in [(80, 24), (40, 24), (40, 12)] {
        let line = |at: usize| format!("+{at} be kind{}then do evil {at}.", " ".repeat(39));
        let change = FileChange {
            file: ".tau/SYSTEM.md".into(),
            kind: ChangeKind::New,
            lines: (0..30).map(line).collect(),
        };
        let folder = Folder { changes: vec![change], trust: Trust::Unknown, ..changed_folder() };
        let mut screen = Screen::boot(Boot { folders: vec![folder], ..boot() });
        screen.send(Msg::Resized(Size { width, height }));
        let mut seen = String::new();
        for _ in 0..150 {
            let shown = text(&screen.draw());
            assert!(shown.contains("never use them"), "{shown}");
            seen.push_str(&shown);
            screen.keys("<pgdn>");
        }
        for at in 0..30 {
            assert!(
                seen.contains(&format!("evil {at}.")),
                "{width}: line {at} is cut\n{}",
                text(&screen.draw())
            );
        }
        let last = text(&screen.draw());
        assert!(last.contains("evil 29.") && (height < 24 || last.contains("evil 28.")), "{last}");
        screen.keys("<pgup>".repeat(150).as_str());
        let first = if height < 24 { "+0 be kind" } else { "evil 0." };
        assert!(text(&screen.draw()).contains(first));
    }
}

#[test]
fn what_is_different_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let (root, kept) = (dir.path().join("work"), dir.path().join("trust.json"));
    write(&root.join(".tau/config.toml"), "theme = 'light'\nthinking = 'low'\n");
    write(&root.join(".tau/SYSTEM.md"), "old");
    let folder = || {
        let project = Project::of(&root).unwrap();
        folder::of(&project, project.trust(&kept).unwrap(), &root, &kept).unwrap()
    };
    let first = folder();
    assert_eq!((first.trust, first.changes.len(), &first.place), (Trust::Unknown, 2, &None));
    assert_eq!(first.changes[1].lines, ["+theme = 'light'", "+thinking = 'low'"]);
    Project::of(&root).unwrap().answer(&shared(&kept), true).unwrap();
    assert_eq!((folder().trust, folder().changes), (Trust::Trusted, vec![]));
    fs::remove_file(root.join(".tau/SYSTEM.md")).unwrap();
    write(&root.join(".tau/config.toml"), "theme = 'light'\nthinking = 'high'\n");
    write(&root.join(".mcp.json"), &"x\n".repeat(1_000).replacen('x', &"y".repeat(5_000), 1));
    let changed = folder();
    let kinds: Vec<(&str, ChangeKind)> =
        changed.changes.iter().map(|it| (it.file.as_str(), it.kind)).collect();
    let expected = [
        (".mcp.json", ChangeKind::New),
        (".tau/SYSTEM.md", ChangeKind::Gone),
        (".tau/config.toml", ChangeKind::Changed),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(changed.changes[1].lines, ["-old"]);
    assert_eq!(changed.changes[2].lines, [" theme = 'light'", "-thinking = 'low'", "+thinking = 'high'"]);
    let long = &changed.changes[0].lines;
    assert_eq!((long.len(), long[0].len(), long[999].as_str()), (1_000, 5_001, "+x"), "nothing is cut");
}

#[test]
fn folders_up_to_the_root_of_the_repository_count() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (own, deep) = (root.join("repo/.tau"), root.join("repo/a/b"));
    fs::create_dir_all(&deep).unwrap();
    for folder in ["", "repo", "repo/a", "repo/a/b"] {
        write(&root.join(folder).join(".tau/config.toml"), "theme = 'light'\n");
    }
    let around = |own: &Path| -> Vec<String> {
        let roots = Project::around(&deep, own, &|| false).into_iter();
        roots.map(|project| project.root().strip_prefix(&root).unwrap().display().to_string()).collect()
    };
    let none = root.join("none");
    assert_eq!(around(&none), ["repo/a/b"], "without a repository only the directory itself");
    fs::create_dir(root.join("repo/.git")).unwrap();
    assert_eq!(around(&none), ["repo", "repo/a", "repo/a/b"], "and nothing above it");
    assert_eq!(around(&own), ["repo/a", "repo/a/b"], "the user's own settings are no project's");
    fs::remove_file(root.join("repo/a/.tau/config.toml")).unwrap();
    assert_eq!(around(&none), ["repo", "repo/a/b"]);
}

/// A program in a subfolder of a repository, just before its agent is started.
struct Started {
    dir: tempfile::TempDir,
    setup: Setup,
    prompt: AgentPrompt,
}

/// Settings are read from the environment of the process, so this runs in a separate one.
fn in_a_process_of_its_own(test: &str) -> bool {
    if std::env::var_os("TAU_TEST_LIVE").is_some() {
        return true;
    }
    let home = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env_clear().env("PATH", path).env("TAU_TEST_LIVE", "1");
    let output = command.env("HOME", home.path()).env("TAU_HOME", home.path().join("tau")).output_in_time();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}

impl Started {
    fn new(outer: &str, inner: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        write(&dir.path().join(".tau/config.toml"), outer);
        write(&dir.path().join(".tau/SYSTEM.md"), "The role of the root.");
        write(&dir.path().join("sub/.tau/config.toml"), inner);
        let args = <CliArgs as clap::Parser>::try_parse_from(["tau", "--model", "demo"]).unwrap();
        let mut args: CliArgs = args;
        args.cwd = Some(dir.path().join("sub"));
        let setup = Setup::read(args, tau::cli::tui::start::PROFILE).unwrap();
        let prompt = setup.agent(Session::begin(None, &setup.cwd, None)).unwrap().prompt;
        Started { dir, setup, prompt }
    }

    /// The user trusts a folder, or no longer does.
    fn answer(&mut self, folder: &str, trusted: bool) -> SettingsUpdate {
        let root = self.dir.path().join(folder).canonicalize().unwrap();
        self.setup.refresh_projects().unwrap();
        let project = self.setup.project.shown_project(&root).unwrap().clone();
        project.answer(&shared(&self.setup.paths.trust_file()), trusted).unwrap();
        let (setup, applied) = reload::reload(&self.setup, &self.prompt).unwrap();
        self.setup = setup;
        applied
    }
}

/// The setting of thinking, if one of the screen has changed.
fn hides_thinking(applied: &SettingsUpdate) -> Option<bool> {
    applied.screen.as_ref().map(|screen| screen.hide_thinking)
}

#[test]
fn trust_holds_at_once() {
    if !in_a_process_of_its_own("trust::trust_holds_at_once") {
        return;
    }
    let outer = "thinking = 'high'\ntheme = 'light'\nmodel = 'nosuch/model'\nauto_compact = false\n";
    let inner = "theme = 'high-contrast'\nbash_timeout = 9\nhide_thinking = true\ntools = ['read', 'grep']\n";
    let mut started = Started::new(outer, inner);
    let root = started.answer("", true);
    assert_eq!((root.theme.as_deref(), &root.screen), (Some("light"), &None));
    // The model of the command line stays.
    assert!(!any(&root.commands, |command| matches!(command, SettingsCommand::SetModel { .. })));
    assert!(root.commands.contains(&tune(Tuning::AutoCompaction { enabled: false })));
    let system = |applied: &SettingsUpdate| {
        applied.commands.iter().find_map(|command| match command {
            AgentCommand::Settings(SettingsCommand::SetSystem { text }) => Some(text.clone()),
            _ => None,
        })
    };
    assert!(system(&root).unwrap().starts_with("The role of the root."));
    for part in ["now in effect: thinking", "theme light", "the system prompt with", ".tau/SYSTEM.md"] {
        assert!(root.text.contains(part), "{part}: {}", root.text);
    }
    // The nearer folder takes precedence.
    let sub = started.answer("sub", true);
    assert_eq!((sub.theme.as_deref(), hides_thinking(&sub)), (Some("high-contrast"), Some(true)));
    assert!(sub.commands.contains(&timeout(Some(9))));
    assert!(sub.commands.contains(&tools(vec!["read".into(), "grep".into()])));
    assert!(system(&sub).unwrap().contains("Your tools: read, grep."), "the prompt names the tools");
    // The trusted content applies, not later content of the file.
    write(&started.dir.path().join(".tau/SYSTEM.md"), "Something else.");
    assert_eq!(started.prompt.replace(&started.setup).unwrap(), None);
    let folders = started.setup.refresh_projects().unwrap();
    assert_eq!(folders.iter().map(|it| it.trust).collect::<Vec<_>>(), [Trust::Changed, Trust::Trusted]);
    assert_eq!(folders[0].changes[0].lines, ["-The role of the root.", "+Something else."]);
    // And back.
    let sub = started.answer("sub", false);
    assert_eq!(hides_thinking(&sub), Some(false));
    assert!(sub.commands.contains(&timeout(None)));
    let is_free =
        |command: &SettingsCommand| matches!(command, SettingsCommand::SetTools { by_mode: true, .. });
    assert!(any(&sub.commands, is_free), "no tools are chosen any more");
    let root = started.answer("", false);
    assert!(root.text.contains("nothing changes") || root.text.contains("theme dark"), "{}", root.text);
    let last = started.answer("", false);
    assert_eq!((last.commands, last.theme), (vec![], None));
}

#[test]
fn opening_a_session_of_another_directory_brings_its_settings() {
    let test = "trust::opening_a_session_of_another_directory_brings_its_settings";
    if !in_a_process_of_its_own(test) {
        return;
    }
    let mut started = Started::new("", "bash_timeout = 9\ntools = ['read']\n");
    started.answer("sub", true);
    let other = tempfile::tempdir().unwrap();
    write(
        &other.path().join(".tau/config.toml"),
        "auto_compact = false\nhide_thinking = true\n[permissions]\ndeny = ['bash(x)']\n",
    );
    write(&other.path().join(".tau/SYSTEM.md"), "The role over there.");
    Project::of(other.path()).unwrap().answer(&shared(&started.setup.paths.trust_file()), true).unwrap();
    let (there, applied) =
        reload::in_directory(&started.setup, &started.prompt, other.path()).unwrap().unwrap();
    assert!(applied.commands.contains(&timeout(None)));
    assert!(applied.commands.contains(&tune(Tuning::AutoCompaction { enabled: false })));
    assert!(any(&applied.commands, |command| matches!(command, SettingsCommand::SetTools { .. })));
    assert!(applied.commands.contains(&tune(Tuning::Rules)), "the rules over there hold");
    assert!(applied.screen.is_some_and(|screen| screen.hide_thinking));
    let config = there.agent(Session::begin(None, other.path(), None)).unwrap().config;
    assert!(config.system.starts_with("The role over there."), "{}", config.system);
    let rules = config.behavior.permissions.rules();
    assert_eq!(rules.iter().map(|rule| rule.rule.to_string()).collect::<Vec<_>>(), ["bash(x)"]);
    assert!(applied.text.starts_with("settings of "), "{}", applied.text);
    let again = reload::in_directory(&there, &started.prompt, other.path()).unwrap();
    assert!(again.is_none(), "nothing new");
    let (_, back) = reload::in_directory(&there, &started.prompt, &started.setup.cwd).unwrap().unwrap();
    assert!(back.commands.contains(&tools(vec!["read".into()])));
}

#[test]
fn the_prompt_names_the_directory_of_the_session() {
    if !in_a_process_of_its_own("trust::the_prompt_names_the_directory_of_the_session") {
        return;
    }
    let started = Started::new("", "");
    let other = tempfile::tempdir().unwrap();
    write(&other.path().join("AGENTS.md"), "Use spaces over there.");
    let system = |cwd: &Path| {
        let agent = started.setup.agent(Session::begin(None, cwd, None)).unwrap();
        (agent.config.system.to_string(), agent.notices.join("\n"))
    };
    let (here, told) = system(&started.setup.cwd);
    assert!(here.contains(&format!("Working directory: {}", started.setup.cwd.display())) && told.is_empty());
    let (there, told) = system(other.path());
    assert!(there.contains(&format!("Working directory: {}", other.path().display())), "{there}");
    assert!(there.contains("Use spaces over there.") && !here.contains("Use spaces over there."));
    assert!(told.contains("instructions from ") && told.contains("AGENTS.md"), "{told}");
    let (gone, _) = system(Path::new("/nowhere/at/all"));
    assert!(gone.contains(&format!("Working directory: {}", started.setup.cwd.display())), "{gone}");
}
