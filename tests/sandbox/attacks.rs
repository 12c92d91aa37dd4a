//! Attacks on files, as shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tau::tools::sandbox::confinement::{Confinement, Guard, Surroundings};
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy};

use super::{Place, has_landlock, has_mounts, has_program, run, text, wait_for};

/// A script, and the check that it achieved its goal.
pub(super) struct Attack {
    pub(super) script: &'static str,
    pub(super) worked: fn(&Place) -> bool,
}

fn outside_has_it(place: &Place) -> bool {
    place.outside.join("f").symlink_metadata().is_ok()
}

fn secret_changed(place: &Place) -> bool {
    fs::read(place.outside.join("secret")).ok().as_deref() != Some(b"secret")
}

/// Ways to change something outside of the workspace.
pub(super) const OUTSIDE: &[Attack] = &[
    Attack { script: "echo evil > $OUT/f", worked: outside_has_it },
    Attack { script: "echo evil > ../outside/f", worked: outside_has_it },
    Attack {
        script: "echo evil > ./x/../../outside/f || echo evil > .git/../../outside/f",
        worked: outside_has_it,
    },
    Attack { script: "ln -s $OUT link; echo evil > link/f", worked: outside_has_it },
    Attack {
        script: "mkdir d; echo good > d/f; mv d e; ln -s $OUT d; echo evil > d/f",
        worked: outside_has_it,
    },
    Attack { script: "ln -s $OUT/f f; echo evil > f", worked: outside_has_it },
    Attack { script: "ln $OUT/secret here && echo evil > here", worked: secret_changed },
    Attack { script: "echo evil > x; ln -f x $OUT/secret", worked: secret_changed },
    Attack { script: "echo evil > /proc/self/root$OUT/f", worked: outside_has_it },
    Attack { script: "echo evil > /proc/self/cwd/../outside/f", worked: outside_has_it },
    Attack { script: "exec 9<$OUT/secret; echo evil > /proc/self/fd/9", worked: secret_changed },
    Attack { script: "echo evil > x; mv x $OUT/f", worked: outside_has_it },
    Attack { script: "mkdir x; mv x $OUT/f", worked: outside_has_it },
    Attack { script: "mv $OUT/secret .", worked: secret_changed },
    Attack { script: "mv $OUT/secret $OUT/other", worked: secret_changed },
    Attack { script: "rm $OUT/secret", worked: secret_changed },
    Attack { script: ": > $OUT/secret", worked: secret_changed },
    Attack { script: "mkdir $OUT/f", worked: outside_has_it },
    Attack { script: "mkfifo $OUT/f", worked: outside_has_it },
    Attack { script: "ln -s /etc $OUT/f", worked: outside_has_it },
    Attack { script: "cd $OUT && echo evil > f", worked: outside_has_it },
    Attack { script: "(cd $OUT; echo evil >> secret) & wait", worked: secret_changed },
    // The home directory is outside: nothing that later shells or programs read is left behind.
    Attack { script: "echo 'export LD_PRELOAD=evil.so' > ~/f", worked: outside_has_it },
    Attack { script: "cp -L /bin/sh . && ./sh -c 'echo evil > $OUT/f'", worked: outside_has_it },
    Attack {
        script: "echo evil >> $TAU_HOME/config.toml",
        worked: |place| fs::metadata(place.home.join("config.toml")).unwrap().len() > 0,
    },
    Attack {
        script: "echo evil > $TAU_HOME/sessions/x.jsonl",
        worked: |place| place.home.join("sessions/x.jsonl").exists(),
    },
    // Files that undo would restore are not created by the command.
    Attack {
        script: "echo evil >> $TAU_HOME/undo/journal.jsonl",
        worked: |place| fs::metadata(place.home.join("undo/journal.jsonl")).unwrap().len() > 0,
    },
    Attack { script: "rm -r $TAU_HOME/undo", worked: |place| !place.home.join("undo").exists() },
];

/// Ways to make git run something.
pub(super) const GIT: &[Attack] = &[
    Attack { script: "echo evil > .git/hooks/pre-commit", worked: hooked },
    Attack { script: "echo evil > x; mv x .git/hooks/pre-commit", worked: hooked },
    Attack { script: "echo evil > x; ln x .git/hooks/pre-commit", worked: hooked },
    Attack { script: "ln -s ../../x .git/hooks/pre-commit", worked: hooked },
    Attack { script: "mv .git/hooks h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit", worked: hooked },
    Attack {
        script: "rm -r .git/hooks; mkdir e; echo evil > e/pre-commit; ln -s ../e .git/hooks",
        worked: hooked,
    },
    Attack { script: "mv .git g; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit", worked: hooked },
    Attack { script: "cd .git/hooks; echo evil > pre-commit", worked: hooked },
    Attack { script: "echo evil > /proc/self/cwd/.git/hooks/pre-commit", worked: hooked },
    Attack { script: "echo evil >> .git/config", worked: configured },
    Attack { script: "echo evil > x; mv -f x .git/config", worked: configured },
    Attack { script: "rm -f .git/config", worked: configured },
    Attack { script: "ln .git/config c; echo evil > c", worked: configured },
    Attack { script: "exec 9<.git/config; echo evil > /proc/self/fd/9", worked: configured },
    Attack { script: "mv .git g; mkdir .git; echo evil > .git/config", worked: configured },
    Attack {
        script: "mkdir e; echo evil > e/config; echo ../e > .git/commondir",
        worked: |place| place.work.join(".git/commondir").exists(),
    },
];

fn hooked(place: &Place) -> bool {
    place.work.join(".git/hooks/pre-commit").symlink_metadata().is_ok()
}

fn configured(place: &Place) -> bool {
    fs::read(place.work.join(".git/config")).ok().as_deref() != Some(b"[core]\n")
}

fn each_works_only_without(attacks: &[Attack], flags: &[&str]) {
    for attack in attacks {
        let place = Place::new();
        let output = place.script(&["--sandbox", "off"], attack.script);
        assert!(
            (attack.worked)(&place),
            "does not work unconfined: {}\n{}",
            attack.script,
            text(&output.stderr)
        );
        let place = Place::new();
        let output = place.script(flags, attack.script);
        assert!(!(attack.worked)(&place), "works in {flags:?}: {}\n{}", attack.script, text(&output.stderr));
    }
}

#[test]
fn nothing_outside_the_workspace_is_changed() {
    if has_landlock() {
        each_works_only_without(OUTSIDE, &["--sandbox", "workspace-write"]);
        each_works_only_without(OUTSIDE, &["--sandbox", "read-only"]);
    }
}

#[test]
fn hooks_and_configuration_of_git_are_not_changed() {
    if has_landlock() {
        each_works_only_without(GIT, &["--sandbox", "workspace-write"]);
    }
}

#[test]
fn without_namespaces_they_are_not_changed_either() {
    needs!(has_landlock());
    for attack in GIT.iter().chain(OUTSIDE) {
        let place = Place::new();
        let policy = SandboxPolicy {
            level: SandboxLevel::WorkspaceWrite,
            workspace: place.work.clone(),
            own: vec![place.home.clone()],
            namespaces: false,
            ..SandboxPolicy::off()
        };
        let around =
            Surroundings { cwd: &place.work, terminal: None, scratch: None, private: None, denied: &[] };
        let mut confinement = Confinement::prepare(&policy, around).unwrap();
        assert_eq!(confinement.guard, Guard::Entries);
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", attack.script]).current_dir(&place.work);
        command.env("OUT", &place.outside).env("HOME", &place.outside).env("TAU_HOME", &place.home);
        confinement.apply(&mut command);
        let output = run(command);
        assert!(!(attack.worked)(&place), "works: {}\n{}", attack.script, text(&output.stderr));
    }
}

/// Allowed operations work: otherwise it would be easy.
#[test]
fn the_workspace_the_temporary_directory_and_what_is_added_can_be_changed() {
    needs!(has_mounts());
    let script =
        "set -e; echo a > f; mkdir -p d/e; echo b > d/e/f; mv d/e/f d/g; ln d/g h; ln -s d s; rm -r d/e
        echo c > .git/index; mkdir .git/refs/x; sed -i s/a/z/ f; echo n > /dev/null; chmod 700 f
        t=$(mktemp /tmp/tau-test-XXXXXX); echo t > $t; rm $t; echo x | cat > i; cat f";
    let place = Place::new();
    let output = place.script(&["--sandbox", "workspace-write"], script);
    assert_eq!(
        (text(&output.stdout).as_str(), output.status.code()),
        ("z\n", Some(0)),
        "{}",
        text(&output.stderr)
    );
    let out = place.outside.display().to_string();
    let output = place.script(&["--writable", &out], "echo x > $OUT/f && rm $OUT/secret");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let script = "cat f && ! echo x > f && ! touch new && ! echo x > /tmp/tau-test-no && echo x > /dev/null";
    let output = place.script(&["--sandbox", "read-only"], script);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn git_itself_works() {
    needs!(has_mounts() && has_program("git"));
    let place = Place::new();
    let script = "set -e; git init -q r; cd r; git config user.name n; git config user.email e";
    assert!(place.script(&["--sandbox", "off"], script).status.success());
    let script =
        "echo x > f && git add f && git commit -qm first && git branch b && git log --oneline | wc -l";
    let repository = place.work.join("r");
    let output = place.script(&["-C", repository.to_str().unwrap()], script);
    assert_eq!(text(&output.stdout).trim(), "1", "{}", text(&output.stderr));
    let output = place.script(&["-C", repository.to_str().unwrap()], "git config core.hooksPath /evil");
    assert!(!output.status.success());
}

#[test]
fn tau_s_files_in_the_workspace_are_not_changed() {
    needs!(has_landlock());
    let attacks = [
        "echo evil > .own/config.toml",
        "mv .own o; mkdir .own; echo evil > .own/config.toml",
        "rm -r .own; mkdir .own; echo evil > .own/config.toml",
        "mkdir x; echo evil > x/config.toml; mv -T --exchange x .own || { mv .own y; mv x .own; }",
    ];
    for script in attacks {
        for (level, expected) in [("off", "evil\n"), ("workspace-write", "")] {
            let place = Place::new();
            let own = place.work.join(".own");
            crate::support::write(&own.join("config.toml"), "");
            let mut command =
                place.command(&["--sandbox", level], &["/bin/sh", "-c", script].map(AsRef::as_ref));
            command.env("TAU_HOME", &own);
            run(command);
            assert_eq!(fs::read_to_string(own.join("config.toml")).unwrap(), expected, "{level}: {script}");
        }
    }
}

#[test]
fn a_child_that_outlives_the_call_stays_confined() {
    needs!(has_mounts());
    // It waits until the command that started it has been gone for a while.
    let script = "(trap '' HUP; while kill -0 $$ 2>/dev/null; do sleep 0.01; done; sleep 0.05
         echo evil > $OUT/f; echo evil > .git/hooks/pre-commit; echo > late) >/dev/null 2>&1 &";
    for (level, works) in [("off", true), ("workspace-write", false)] {
        let place = Place::new();
        assert!(place.script(&["--sandbox", level], script).status.success());
        wait_for(&place.work.join("late"));
        assert_eq!((outside_has_it(&place), hooked(&place)), (works, works), "{level}");
    }
}

#[test]
fn no_mount_in_a_namespace_leads_out() {
    needs!(has_landlock() && has_program("unshare"));
    let script = "mkdir m; unshare -r -m /bin/sh -c 'mount --bind $OUT m && echo evil > m/f'";
    let place = Place::new();
    let output = place.script(&["--sandbox", "off"], script);
    if !outside_has_it(&place) {
        eprintln!("not tested: no namespaces here: {}", text(&output.stderr));
        return;
    }
    let place = Place::new();
    let output = place.script(&["--sandbox", "workspace-write"], script);
    assert!(!outside_has_it(&place) && !output.status.success());
    assert!(text(&output.stderr).contains("Operation not permitted"), "{}", text(&output.stderr));
    let undo = "umount .git/hooks; mount -o remount,rw,bind .git/hooks; echo evil > .git/hooks/pre-commit";
    let place = Place::new();
    place.script(&["--sandbox", "workspace-write"], undo);
    assert!(!hooked(&place));
}

#[test]
fn no_file_gets_the_setuid_bit_and_no_program_gets_powers() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for (level, expected) in [("off", 0o4755), ("workspace-write", 0o755)] {
        let place = Place::new();
        if level != "off" && !has_mounts() {
            return;
        }
        let script = "echo > f; chmod 755 f; chmod u+s f; grep NoNewPrivs /proc/self/status";
        let output = place.script(&["--sandbox", level], script);
        assert_eq!(mode(&place.work.join("f")), expected, "{level}");
        let no_new = text(&output.stdout).contains("NoNewPrivs:\t1");
        assert_eq!(no_new, level != "off", "{}", text(&output.stdout));
    }
}
