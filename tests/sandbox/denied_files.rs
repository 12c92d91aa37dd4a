//! Files that rules deny, out of reach of commands whose words do not name them. Every way must work without the
//! rules and fail with them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tau::tools::sandbox::confinement::covers_files;
use tokio::process::Command;

use super::has_program;
use crate::support::program::{bare, body, calls, own_model, run, says};
use crate::support::server::Server;

const SECRET: &str = "correct-horse-battery";
const KEPT: &str = "as it was";
const RULES: &str = "[permissions]\ndeny = [\"read(**/.env)\", \"read(keys/**)\", \"edit(./kept)\", \"edit(fixed/**)\", \
     \"read(conf/in/key)\", \"read(**/secrets/key)\", \"edit(**/lasting/**)\"]\n";

/// Scripts that print what no command may read. They are in files, where tau does not see them.
const READING: &[(&str, &str)] = &[
    ("a name put together", "n=v; cat .en$n"),
    ("a list of names", "ls -A | while read -r n; do [ -d $n ] || cat $n; done"),
    ("awk", "ls -A | awk '{ while ((getline l < $0) > 0) print l }'"),
    ("make", "printf 'a:\\n\\t@cat .env\\n' > made; make -s -f made"),
    ("tar", "tar chf - . | tr -d '\\0'"),
    ("a copy", "d=$(mktemp -d) && cp -r . $d/y; cat $d/y/.env $d/y/sub/.env; rm -rf $d"),
    ("a move", "mv .env x && cat x && mv x .env"),
    ("a new link", "ln .env x; cat x; rm -f x"),
    ("a moved folder", "mv sub moved; cat moved/.env; mv moved sub"),
    ("a folder above that is moved", "mv conf moved; cat moved/in/key"),
    ("what was in it", "cat moved/in/key; mv moved conf"),
    ("a folder that is moved within one", "mv conf/in conf/moved; cat conf/moved/key"),
    ("what was in that", "cat conf/moved/key; mv conf/moved conf/in"),
    ("a folder that is moved out", "mv sub ../out; cat ../out/.env"),
    ("what was moved out", "cat ../out/.env; mv ../out sub"),
    ("a linked folder", "cat of/sec*/key"),
    ("a link that is renamed", "mv of/secrets of/moved; cat of/moved/key"),
    ("what it leads to", "cat of/moved/key ../real/key; mv of/moved of/secrets"),
    ("a folder behind a linked one", "cat l?nk/secrets/key"),
    ("what is linked", "cat ../real/key ../other/secrets/key"),
    ("find", "find . -name '.e*' -exec cat {} +"),
    ("another name", "cat plain"),
    ("a link", "cat linked"),
    ("a folder", "cat keys/*"),
    ("the folder of a link", "cd sub && cat ../k*/one"),
    ("the root of another process", "cat /proc/[0-9]*/root$PWD/.env /proc/[0-9]*/cwd/.env"),
    ("an unmount", "umount .env; umount -l keys; cat .env keys/*"),
    ("a new namespace", "unshare -Urm sh -c 'umount .env; mount --bind . sub; cat .env sub/.env'"),
    (
        "the namespace of another",
        "nsenter -t $PPID -m cat $PWD/.env; nsenter -t 1 -m cat $PWD/.env; cat .env",
    ),
    (
        "python",
        "python3 -c \"import os; [print(open(n).read()) for n in os.listdir() if os.path.isfile(n)]\"",
    ),
];

/// Scripts that change what no command may change, and may put it back.
const CHANGING: &[&str] = &[
    "n=ept; echo new > k$n", "n=ept; rm -f k$n", "echo new > x; mv -f x k?pt", "sed -i s/as/was/ k*t",
    "chmod 777 kep?", "n=xed; echo new > fi$n/one", "rm -rf fix?d/one", "n=xed; touch fi$n/two",
    "mv fix?d/one moved", "n=ting; echo new > of/las$n/one", "echo new > ../real/one",
];

/// The files that these change.
const CHANGED: [&str; 3] = ["kept", "fixed/one", "../real/one"];

struct Place {
    folder: tempfile::TempDir,
    work: PathBuf,
    is_root: bool,
}

impl Place {
    fn new(is_root: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("work");
        for name in ["sub", "keys", "fixed", "ways", "conf/in", "of", "../real", "../other/secrets"] {
            fs::create_dir_all(work.join(name)).unwrap();
        }
        for name in [
            ".env", "sub/.env", "keys/one", "keys/.two", "conf/in/key", "../real/key", "../other/secrets/key",
        ] {
            fs::write(work.join(name), format!("{SECRET}\n")).unwrap();
        }
        for name in CHANGED {
            fs::write(work.join(name), KEPT).unwrap();
        }
        for (target, link) in
            [("../../real", "of/secrets"), ("../../real", "of/lasting"), ("../other", "link")]
        {
            symlink(target, work.join(link)).unwrap();
        }
        fs::hard_link(work.join("sub/.env"), work.join("plain")).unwrap();
        symlink("sub/.env", work.join("linked")).unwrap();
        let place = Place { folder, work, is_root };
        for (at, way) in READING.iter().map(|(_, way)| *way).chain(CHANGING.iter().copied()).enumerate() {
            fs::write(place.work.join(format!("ways/{at}")), way).unwrap();
        }
        let scripts = "way%:\n\t@sh ways/$*; true\nnamespace:\n\t@readlink /proc/self/ns/mnt; grep Seccomp: /proc/self/status\n";
        fs::write(place.work.join("Makefile"), scripts).unwrap();
        place
    }

    /// The settings of the user.
    fn configure(&self, text: &str) {
        let home = self.folder.path().join("tau");
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("config.toml"), text).unwrap();
    }

    /// The program in the workspace.
    fn tau(&self) -> Command {
        let mut command = bare(self.folder.path());
        if !self.is_root {
            for path in walk(self.folder.path()) {
                chown(path, Some(65534), Some(65534)).ok();
            }
            let tau = command.as_std().get_program().to_owned();
            let mut nobody = bare(self.folder.path());
            std::mem::swap(&mut command, &mut nobody);
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(tau);
            command.env_clear().stdin(std::process::Stdio::null()).kill_on_drop(true);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        }
        command.env("HOME", self.folder.path()).env("TAU_HOME", self.folder.path().join("tau"));
        command.current_dir(&self.work);
        command
    }

    /// The results of these calls of bash, one after the other.
    async fn results(&self, flags: &[&str], given: Vec<Value>) -> Vec<String> {
        self.results_of(flags, given.into_iter().map(|arguments| ("bash", arguments)).collect()).await
    }

    /// The results of these calls of tools.
    async fn results_of(&self, flags: &[&str], given: Vec<(&str, Value)>) -> Vec<String> {
        self.results_and_notices(flags, given).await.0
    }

    /// The results of these calls of tools, and what the user is told.
    async fn results_and_notices(&self, flags: &[&str], given: Vec<(&str, Value)>) -> (Vec<String>, String) {
        let acts = given.iter().map(|(tool, arguments)| calls(tool, arguments));
        let acts = acts.chain([says("Finished.")]).collect();
        let server = Server::start(acts).await;
        let mut tau = self.tau();
        tau.args(own_model(&server.url())).args(flags).args(["-p", "go"]);
        let ended = run(&mut tau, None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let requests: Vec<Value> = server.requests().iter().map(|request| body(request)).collect();
        let messages = requests.last().unwrap()["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        (results.map(|message| message["content"].to_string()).collect(), ended.err)
    }
}

fn walk(top: &Path) -> Vec<PathBuf> {
    let mut all = vec![top.to_owned()];
    let mut next = 0;
    while let Some(path) = all.get(next).cloned() {
        next += 1;
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            all.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all.retain(|path| !path.is_symlink());
    all
}

/// The users to test as.
fn users() -> &'static [bool] {
    let is_root = rustix::process::geteuid().is_root();
    match is_root && has_program("setpriv") && others_can_run_tau() {
        true => &[true, false],
        false => &[true],
    }
}

fn others_can_run_tau() -> bool {
    let can_pass =
        |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o005 == 0o005);
    Path::new(env!("CARGO_BIN_EXE_tau")).ancestors().all(can_pass)
}

fn can_cover() -> bool {
    let can = covers_files();
    if !can {
        eprintln!("not tested: this machine cannot keep files from commands");
    }
    can
}

fn bash(script: usize) -> Value {
    json!({ "command": format!("make -s way{script}") })
}

const AUTO: [&str; 2] = ["--permission-mode", "auto"];
const SANDBOXED: [&str; 4] = ["--permission-mode", "auto", "--sandbox", "workspace-write"];

#[tokio::test]
async fn no_way_leads_to_a_file_that_a_rule_denies() {
    needs!(can_cover());
    let scripts = || (0..READING.len()).map(bash).collect();
    for user in users() {
        let place = Place::new(*user);
        place.configure("");
        let without = place.results(&AUTO, scripts()).await;
        let works: Vec<bool> = without.iter().map(|result| result.contains(SECRET)).collect();
        assert!(works.iter().filter(|works| **works).count() >= READING.len() - 1, "{without:?}");
        for flags in [&AUTO[..], &SANDBOXED] {
            let place = Place::new(*user);
            place.configure(RULES);
            let with = place.results(flags, scripts()).await;
            for ((name, _), result) in READING.iter().zip(with) {
                assert!(!result.contains(SECRET), "{name}, root {user}, {flags:?}: {result}");
                if *name == "a name put together" {
                    assert!(result.contains("a rule denies reading it (read(**/.env))"), "{result}");
                }
            }
        }
    }
}

#[tokio::test]
async fn no_way_changes_a_file_that_a_rule_denies_to_change() {
    needs!(can_cover());
    let scripts = || (READING.len()..READING.len() + CHANGING.len()).map(bash).collect();
    let place = Place::new(true);
    place.configure("");
    place.results(&AUTO, scripts()).await;
    assert!(
        !place.work.join("kept").exists() || !place.work.join("fixed/one").exists(),
        "they do change files"
    );
    for user in users() {
        for flags in [&AUTO[..], &SANDBOXED] {
            let place = Place::new(*user);
            place.configure(RULES);
            let mode = || place.work.join("kept").metadata().unwrap().permissions().mode();
            let before = mode();
            let results = place.results(flags, scripts()).await;
            for name in CHANGED {
                assert_eq!(fs::read_to_string(place.work.join(name)).unwrap(), KEPT, "{name}: {results:?}");
            }
            assert_eq!((mode(), fs::read_dir(place.work.join("fixed")).unwrap().count()), (before, 1));
        }
    }
}

#[tokio::test]
async fn whatever_runs_for_the_model_is_kept_from_denied_files() {
    needs!(can_cover());
    for user in users() {
        let place = Place::new(*user);
        place.configure(RULES);
        let tool = "description = \"Reads\"\ncommand = [\"sh\", \"ways/0\"]\n";
        fs::create_dir_all(place.folder.path().join("tau/tools")).unwrap();
        fs::write(place.folder.path().join("tau/tools/reads.toml"), tool).unwrap();
        let background = json!({ "command": "make -s way0; echo over", "background": true });
        let unasked = json!({ "command": "cat plain" });
        let results = place.results(&AUTO, vec![background]).await;
        let asking = place.results(&["--permission-mode", "ask"], vec![unasked]).await;
        let mut tau = place.tau();
        let custom = run(tau.args(["tools", "run", "reads"]), None).await;
        for result in results.iter().chain(&asking).chain([&custom.out, &custom.err]) {
            assert!(!result.contains(SECRET), "root {user}: {result}");
        }
        assert!(results[0].contains("over"), "{results:?}");
        assert!(asking[0].contains("Permission denied"), "{asking:?}");
    }
}

#[tokio::test]
async fn the_file_tools_are_kept_from_the_files_that_commands_are_kept_from() {
    needs!(can_cover());
    let place = Place::new(true);
    place.configure(RULES);
    for (target, link) in [("../..", "of/above"), (".", "of/round"), ("..", "of/back")] {
        symlink(target, place.work.join(link)).unwrap();
    }
    let edit = json!({ "path": "../real/one", "edits": [{ "old_string": KEPT, "new_string": "new" }] });
    let given = vec![
        ("read", json!({ "path": "../real/key" })),
        ("read", json!({ "path": "of/back/link/secrets/key" })),
        ("read", json!({ "path": "plain" })),
        ("grep", json!({ "pattern": ".", "path": "../real" })),
        ("grep", json!({ "pattern": ".", "path": ".." })),
        ("write", json!({ "path": "../real/one", "content": "new" })),
        ("edit", edit),
        ("read", json!({ "path": "../real/one" })),
    ];
    let tools = ["--tools", "read,grep,write,edit"];
    let results = place.results_of(&[&AUTO[..], &tools].concat(), given).await;
    assert!(results.iter().all(|result| !result.contains(SECRET)), "{results:?}");
    assert!(results[0].contains("real/key by another name (read(**/secrets/key))"), "{results:?}");
    assert!(results[3].contains("real/one") && !results[3].contains("real/key:"), "{results:?}");
    assert!(results.last().unwrap().contains(KEPT), "{results:?}");
    assert_eq!(fs::read_to_string(place.work.join("../real/one")).unwrap(), KEPT, "{results:?}");
}

#[tokio::test]
async fn without_a_rule_on_files_nothing_differs() {
    let place = Place::new(true);
    place.configure("[permissions]\ndeny = [\"bash(git push *)\"]\nask = [\"read(**/.env)\"]\n");
    let own = fs::read_link("/proc/self/ns/mnt").unwrap();
    let results = place.results(&AUTO, vec![json!({ "command": "make -s namespace" })]).await;
    assert!(results[0].contains(own.to_str().unwrap()) && results[0].contains("Seccomp:\\t0"), "{results:?}");
}

/// A script in a file, where tau does not see what it does.
fn script(place: &Place, name: &str, text: &str) -> (&'static str, Value) {
    fs::write(place.work.join("ways").join(name), text).unwrap();
    ("bash", json!({ "command": format!("make -s way{name}") }))
}

/// Files that a command makes itself take none of the user's out of the cover, wherever these are moved to.
#[tokio::test]
async fn decoys_take_no_file_out_of_the_cover() {
    needs!(can_cover());
    let rules = "[permissions]\ndeny = [\"read(**/.env)\"]\n";
    for (rules, flags) in [("", &AUTO[..]), (rules, &AUTO), (rules, &SANDBOXED)] {
        let place = Place::new(true);
        place.configure(rules);
        fs::create_dir_all(place.work.join("src/deep/er")).unwrap();
        fs::write(place.work.join("src/deep/er/.env"), format!("{SECRET}\n")).unwrap();
        let open = "n=v; cat */deep/er/.en$n; true";
        let given = vec![
            script(&place, "decoys", "for i in $(seq 1500); do mkdir a$i; echo decoy > a$i/.env; done"),
            script(&place, "open", open),
            script(&place, "move", "mv src zz; mkdir -p src/deep/er; echo decoy > src/deep/er/.env"),
            script(&place, "again", open),
            script(&place, "and-again", open),
        ];
        let (results, told) = place.results_and_notices(flags, given).await;
        let opened: Vec<bool> = results.iter().map(|result| result.contains(SECRET)).collect();
        let is_open = rules.is_empty();
        assert_eq!(opened, [false, is_open, false, is_open, is_open], "{flags:?}: {results:?}");
        let warning = "commands may be able to open";
        let warned = results.iter().filter(|result| result.contains(warning)).count();
        assert_eq!((warned, told.matches(warning).count()), if is_open { (0, 0) } else { (1, 1) }, "{told}");
    }
}

/// Undo keeps what was in a file that a rule denies.
#[tokio::test]
async fn what_undo_keeps_of_denied_files_is_kept_from_commands() {
    needs!(can_cover());
    let walk = "n=do; find ../tau/un$n -type f -exec cat {} +; ls ../tau/un$n/*; true";
    for user in users() {
        for (rules, flags) in [("", &AUTO[..]), (RULES, &AUTO), (RULES, &SANDBOXED)] {
            let place = Place::new(*user);
            place.configure(rules);
            let given = vec![script(&place, "change", "echo 1 > one.txt"), script(&place, "walk", walk)];
            let results = place.results_of(flags, given).await;
            let is_kept = results[1].contains("content") || results[1].contains(SECRET);
            assert_eq!(is_kept, rules.is_empty(), "{flags:?}: {results:?}");
            // It still works.
            let mut tau = place.tau();
            let undone = run(tau.args(["undo", "--to", "1", "--yes"]), None).await;
            assert!(!place.work.join("one.txt").exists(), "{undone:?}");
        }
    }
}
