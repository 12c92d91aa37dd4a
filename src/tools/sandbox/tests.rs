//! Tests of the policy and of denial detection, without processes.

use super::confinement::Guard;
use super::denial::{FailedCommand, recognise};
use super::support::Support;
use super::*;

fn policy(workspace: &Path) -> SandboxPolicy {
    SandboxPolicy {
        level: SandboxLevel::WorkspaceWrite,
        network: false,
        workspace: workspace.to_path_buf(),
        ..SandboxPolicy::off()
    }
}

fn repository(folder: &Path) {
    for name in ["objects", "hooks"] {
        std::fs::create_dir_all(folder.join(".git").join(name)).unwrap();
    }
    for name in ["HEAD", "config"] {
        std::fs::write(folder.join(".git").join(name), "").unwrap();
    }
}

#[test]
fn paths_are_judged_by_where_they_lead() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (workspace, other, own) = (base.join("work"), base.join("other"), base.join("work/own"));
    for folder in [&workspace, &other, &own] {
        std::fs::create_dir_all(folder).unwrap();
    }
    repository(&workspace);
    std::os::unix::fs::symlink(&other, workspace.join("out")).unwrap();
    std::os::unix::fs::symlink(&workspace, other.join("in")).unwrap();
    let policy = SandboxPolicy { own: vec![own], ..policy(&workspace) };
    let rule = |path: PathBuf| policy.check_write(&path).err().map(|denial| denial.rule);
    assert_eq!(rule(workspace.join("new/deep/file")), None);
    assert_eq!(rule(workspace.join(".git/index")), None);
    assert_eq!(rule(other.join("in/file")), None);
    assert_eq!(rule(other.join("file")), Some(SandboxRule::Outside));
    assert_eq!(rule(workspace.join("out/file")), Some(SandboxRule::Outside));
    assert_eq!(rule(workspace.join("../other/file")), Some(SandboxRule::Outside));
    assert_eq!(rule(workspace.join("out/../work/file")), None, "what is above a link is above its target");
    assert_eq!(rule(workspace.join("nowhere/../../other/file")), Some(SandboxRule::Outside));
    assert_eq!(rule(workspace.join(".git/config")), Some(SandboxRule::Protected));
    assert_eq!(rule(workspace.join(".git/hooks/pre-commit")), Some(SandboxRule::Protected));
    assert_eq!(rule(workspace.join("x/../.git/hooks/pre-commit")), Some(SandboxRule::Protected));
    assert_eq!(rule(other.join("in/.git/hooks/a")), Some(SandboxRule::Protected));
    assert_eq!(rule(workspace.join("own/config.toml")), Some(SandboxRule::Protected));
    let read_only = SandboxPolicy { level: SandboxLevel::ReadOnly, ..policy.clone() };
    assert_eq!(read_only.check_write(&workspace.join("a")).unwrap_err().rule, SandboxRule::ReadOnly);
    let wider = policy.with_writable(&other);
    assert!(wider.check_write(&workspace.join("out/file")).is_ok());
    let narrow = wider.with_writable(&other).without_writable(&other);
    assert!(narrow.check_write(&workspace.join("out/file")).is_ok(), "once was left");
    assert!(narrow.without_writable(&other).check_write(&workspace.join("out/file")).is_err());
    assert!(SandboxPolicy::off().check_write(&other.join("file")).is_ok());
}

#[test]
fn a_workspace_within_tau_s_own_folder_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().canonicalize().unwrap();
    let workspace = own.join("work");
    std::fs::create_dir(&workspace).unwrap();
    let policy = SandboxPolicy { own: vec![own.clone()], ..policy(&workspace) };
    assert!(policy.check_write(&workspace.join("a")).is_ok());
    assert_eq!(policy.check_write(&own.join("config.toml")).unwrap_err().rule, SandboxRule::Protected);
}

#[test]
fn a_workspace_that_leads_to_the_home_directory_cannot_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let at = |name: &str| base.join(name);
    for name in ["users/me/project", "disk/me", "links", "temporary"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    std::os::unix::fs::symlink(at("users/me"), at("to-home")).unwrap();
    std::os::unix::fs::symlink(at("disk/me"), at("users/moved")).unwrap();
    std::os::unix::fs::symlink(at("users"), at("links/users")).unwrap();
    let policy = |workspace: &str, home: &str| SandboxPolicy {
        home: Some(at(home)),
        temporary: vec![at("temporary")],
        ..policy(&at(workspace))
    };
    let left_out = [
        ("users/me", "users/me"),
        ("users", "users/me"),
        ("", "users/me"),
        ("to-home", "users/me"),
        ("users/me", "to-home"),
        ("users/me/project/..", "users/me"),
        // Both places of a home directory that is reached through a link.
        ("disk/me", "users/moved"),
        ("disk", "users/moved"),
        ("users", "users/moved"),
        ("users", "links/users/moved"),
        ("links", "links/users/moved"),
        ("users", "users/not-there-yet"),
    ];
    for (workspace, home) in left_out {
        let (policy, name) = (policy(workspace, home), format!("{workspace} of {home}"));
        assert_eq!(policy.roots(), [at("temporary")], "{name}");
        assert!(policy.leaves_out_workspace(), "{name}");
        for file in [".bashrc", "new/.file"] {
            let denial = policy.check_write(&at(workspace).join(file)).unwrap_err();
            assert_eq!(denial.rule, SandboxRule::Home, "{name}");
            assert!(denial.to_string().contains("start tau in a project's folder"), "{denial}");
            assert_eq!(denial.to_add(), None, "the home directory is not suggested");
        }
        assert!(policy.check_write(&at("temporary/x")).is_ok(), "{name}");
        let project = policy.with_writable(&at("users/me/project"));
        assert!(project.check_write(&at("users/me/project/x")).is_ok(), "{name}");
        assert!(project.check_write(&at("users/me/x")).is_err(), "{name}");
    }
    let outside = policy("users/me", "users/me").check_write(&at("disk/x")).unwrap_err();
    assert_eq!(outside.rule, SandboxRule::Outside);
    let stays = [("users/me/project", "users/me"), ("disk/me", "users/me"), ("users/me", "disk/me")];
    for (workspace, home) in stays {
        let policy = policy(workspace, home);
        assert!(policy.check_write(&at(workspace).join("x")).is_ok(), "{workspace} of {home}");
        assert!(!policy.leaves_out_workspace());
    }
    let policy = policy("users/me", "users/me");
    assert!(!policy.with_writable(Path::new(".")).leaves_out_workspace(), "the user has named it");
    assert!(!SandboxPolicy { level: SandboxLevel::Off, ..policy.clone() }.leaves_out_workspace());
    let enforced = Support { landlock: 7, filters: true, seatbelt: false }.enforcement(&policy);
    for output in [
        "bash: line 1: .bashrc: Permission denied",
        "sh: 1: cannot create .bashrc: Permission denied",
        "touch: cannot touch '.bashrc': Permission denied",
    ] {
        let command = FailedCommand { cwd: &at("users/me"), output, signal: None, guard: Guard::NotNeeded };
        let denial = recognise(&policy, enforced, command).unwrap();
        let path = at("users/me/.bashrc").display().to_string();
        assert_eq!((denial.rule, denial.path), (SandboxRule::Home, Some(path)), "{output}");
    }
}

#[test]
fn denials_are_recognised_in_what_programs_write() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (workspace, other) = (base.join("work"), base.join("other"));
    std::fs::create_dir(&workspace).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("a b"), "").unwrap();
    repository(&workspace);
    let policy = policy(&workspace);
    let enforced = Support { landlock: 7, filters: true, seatbelt: false }.enforcement(&policy);
    let rule = |output: &str, guard| {
        let output = output.replace("OTHER", &other.display().to_string());
        let command = FailedCommand { cwd: &workspace, output: &output, signal: None, guard };
        recognise(&policy, enforced, command).map(|denial| (denial.rule, denial.path))
    };
    let outside = |name: &str| Some((SandboxRule::Outside, Some(other.join(name).display().to_string())));
    let of = |rule| Some((rule, None));
    let cases = [
        ("bash: line 1: OTHER/x: Permission denied", outside("x")),
        ("/bin/sh: line 1: OTHER/x: Permission denied", outside("x")),
        ("/bin/sh: line 1: missing: Permission denied", None),
        ("Can't open OTHER/x: Permission denied", outside("x")),
        ("touch: cannot touch 'OTHER/a b': Permission denied", outside("a b")),
        ("touch: cannot touch '../other/x': Permission denied", outside("x")),
        ("PermissionError: [Errno 13] Permission denied: 'OTHER/x'", outside("x")),
        ("Error: EACCES: permission denied, open 'OTHER/x'", outside("x")),
        ("rm: cannot remove '/nowhere/x': Permission denied", None),
        ("everything is fine", None),
        ("grep: x: Permission denied", None),
        ("curl: (6) Could not resolve host: example.org", of(SandboxRule::Network)),
        ("ping: socktype: SOCK_RAW: Operation not permitted", of(SandboxRule::Network)),
        ("bash: line 1: kill: (1) - Operation not permitted", of(SandboxRule::OtherProcesses)),
        ("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", of(SandboxRule::OtherProcesses)),
        ("unshare: unshare failed: Operation not permitted", of(SandboxRule::SystemCalls)),
    ];
    for (output, expected) in cases {
        assert_eq!(rule(output, Guard::Mounts), expected, "{output}");
        let long = format!("before\n{output}\nafter");
        assert_eq!(rule(&long, Guard::Mounts), expected, "{long}");
    }
    let hook = workspace.join(".git/hooks/pre-commit").display().to_string();
    let output = "cp: cannot create regular file '.git/hooks/pre-commit': Read-only file system";
    assert_eq!(rule(output, Guard::Mounts), Some((SandboxRule::Protected, Some(hook))));
    let new = workspace.join("new").display().to_string();
    let output = "touch: cannot touch 'new': Permission denied";
    assert_eq!(rule(output, Guard::Entries), Some((SandboxRule::NewEntries, Some(new))));
    assert_eq!(rule(output, Guard::Mounts), None);
    let command = FailedCommand { cwd: &workspace, output: "", signal: Some(31), guard: Guard::Mounts };
    assert_eq!(recognise(&policy, enforced, command).unwrap().rule, SandboxRule::SystemCalls);
    let off = SandboxPolicy::off();
    let command = FailedCommand { signal: None, output: "kill: (1) - Operation not permitted", ..command };
    assert!(recognise(&off, Support::default().enforcement(&off), command).is_none());
}

#[test]
fn a_link_in_the_place_of_a_writable_directory_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (work, home) = (root.join("a/work"), root.join("home"));
    for folder in [&work, &home] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let later = root.join("later");
    let policy = SandboxPolicy {
        level: SandboxLevel::WorkspaceWrite,
        workspace: work.clone(),
        writable: vec![later.clone()],
        ..SandboxPolicy::off()
    };
    assert_eq!(policy.roots(), std::slice::from_ref(&work));
    std::fs::rename(root.join("a"), root.join("b")).unwrap();
    std::fs::create_dir(root.join("a")).unwrap();
    for link in [&work, &later] {
        std::os::unix::fs::symlink(&home, link).unwrap();
    }
    assert_eq!(policy.roots(), [] as [PathBuf; 0]);
    assert!(policy.check_write(&work.join(".bashrc")).is_err());
    std::fs::remove_file(&later).unwrap();
    std::fs::create_dir(&later).unwrap();
    assert_eq!(policy.roots(), std::slice::from_ref(&later), "one that was made meanwhile");
}
