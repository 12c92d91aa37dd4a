//! The packages of a release: made by the script of the project from the tested program, installed by the package
//! managers of this machine, started, used and removed. What a machine lacks is skipped and named.

mod managers;
mod script;
mod site;
mod updating;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::harness::root;
use crate::time_limit::EndInTime;
use site::Site;

/// The files of a release of the tested program; `Err` with what this machine lacks for making them.
struct Made {
    dir: tempfile::TempDir,
    said: String,
}

/// Makes the release once for all tests.
fn made() -> Result<&'static Made, &'static str> {
    static MADE: OnceLock<Result<Made, String>> = OnceLock::new();
    MADE.get_or_init(make).as_ref().map_err(String::as_str)
}

fn make() -> Result<Made, String> {
    for program in ["python3", "readelf", "strip"] {
        if !has(program) {
            return Err(format!("no {program}"));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(root().join("integrations/release/build.sh"));
    command.args([
        "--binary",
        env!("CARGO_BIN_EXE_tau"),
        "--fast",
        "--only",
        "archive,deb,rpm,npm,wheel",
        "--out",
    ]);
    command.arg(dir.path()).env_remove("TAU_RELEASE_URL");
    let output = command.output_in_minutes();
    assert!(output.status.success(), "{}", said(&output));
    Ok(Made { dir, said: said(&output) })
}

impl Made {
    /// The file whose name ends so.
    fn file(&self, end: &str) -> PathBuf {
        let files = std::fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<PathBuf> = files.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
        assert_eq!(found.len(), 1, "{end}: {found:?}");
        found[0].clone()
    }
}

/// Commands that install something, or pack the program.
trait InMinutes {
    /// Runs it without an input; returns its exit and its output.
    fn output_in_minutes(&mut self) -> Output;
}

impl InMinutes for Command {
    #[track_caller]
    fn output_in_minutes(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        child.output_within(Duration::from_secs(600), &format!("the end of {self:?}"))
    }
}

/// The target that the tested program was built for.
fn target() -> String {
    let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    format!("{}-unknown-linux-{libc}", std::env::consts::ARCH)
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command that must succeed; returns what it said.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output_in_minutes();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    said(&output)
}

/// Starts an installed program and has it answer a prompt: by the demo, and by a server on loopback.
#[track_caller]
fn use_it(how: impl Fn() -> Command, site: &Site) {
    assert_eq!(run(how().arg("--version")), format!("tau {}\n", env!("CARGO_PKG_VERSION")));
    let demo = run(how().args(["-p", "--model", "demo", "--no-session", "hello"]));
    assert!(demo.contains("demo"), "{demo}");
    let url = format!("{}/v1", site.url());
    let arguments = ["-p", "--no-session", "--api-key", "x", "--model", "m", "--base-url", &url, "hello"];
    assert_eq!(run(how().args(arguments)), "installed and answering\n");
}

/// A home folder, with nothing of the user's in the environment but the path.
fn with_home(mut command: Command, home: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", home).current_dir(home);
    command.env("NO_PROXY", "127.0.0.1").env("LANG", "C.UTF-8");
    command
}

#[test]
fn a_release_has_every_file_with_its_hash() {
    let made = match made() {
        Ok(made) => made,
        Err(lacking) => return println!("skipped: {lacking}"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("taucode-{version}-{}.tar.xz", target());
    let npm = format!("taucode-{version}.tgz");
    for end in [&archive, ".tar.gz", ".deb", ".whl", &npm, "install.sh", ".sbom.cdx.json"] {
        made.file(end);
    }
    // What needs an address is left out, and said to be.
    assert!(made.said.contains("left out: taucode.rb: no --address"), "{}", made.said);
    let sums = std::fs::read_to_string(made.file("SHA256SUMS")).unwrap();
    let checked = run(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(made.dir.path()));
    assert_eq!(checked.matches(": OK").count(), sums.lines().count(), "{checked}");
    assert!(sums.lines().count() >= 8, "{sums}");

    let listed = run(Command::new("tar").args(["-tJf"]).arg(made.file(&archive)));
    let parts = *tau::tools::words!(
        "bin/tau bin/taucode share/bash-completion/completions/tau share/zsh/site-functions/_tau \
         .d/tau.fish share/man/man1/tau.1 share/doc/taucode/LICENSE \
         share/doc/taucode/THIRD-PARTY-LICENSES.txt share/doc/taucode/sbom.cdx.json \
         share/taucode/package"
    );
    for part in parts {
        assert!(listed.lines().any(|line| line.ends_with(part)), "{part}: {listed}");
    }

    let release: serde_json::Value =
        serde_json::from_slice(&std::fs::read(made.file("release.json")).unwrap()).unwrap();
    assert_eq!(release["version"], version);
    let hash = release["files"][target()]["sha256"].as_str().unwrap();
    assert!(sums.contains(&format!("{hash}  {archive}\n")), "{sums}");
}

#[test]
fn the_bill_of_materials_and_the_licences_name_every_crate_of_the_program() {
    let made = match made() {
        Ok(made) => made,
        Err(lacking) => return println!("skipped: {lacking}"),
    };
    let sbom: serde_json::Value =
        serde_json::from_slice(&std::fs::read(made.file(".sbom.cdx.json")).unwrap()).unwrap();
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = sbom["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|one| one["name"] == name);
    // Below the program, with the hash of Cargo.lock; what only tests need is not in it.
    let tokio = named("tokio").expect("tokio");
    assert_eq!(
        tokio["purl"].as_str().unwrap(),
        format!("pkg:cargo/tokio@{}", tokio["version"].as_str().unwrap())
    );
    let hash = tokio["hashes"][0]["content"].as_str().unwrap();
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    assert!(lock.contains(&format!("checksum = \"{hash}\"")), "{hash}");
    assert!(named("proptest").is_none() && named("taucode-agent").is_some());
    for component in components.iter().filter(|one| one["purl"].as_str().is_some()) {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
    }
    let archive = format!("{}.tar.xz", target());
    let texts = run(Command::new("tar")
        .args(["-xJOf"])
        .arg(made.file(&archive))
        .args(["--wildcards", "*/THIRD-PARTY-LICENSES.txt"]));
    for component in components.iter().filter(|one| one["hashes"].is_array()) {
        let name =
            format!("{} {} ", component["name"].as_str().unwrap(), component["version"].as_str().unwrap());
        assert!(texts.lines().any(|line| line.starts_with(&name)), "{name}");
    }
}

#[test]
fn the_script_says_what_is_missing() {
    let script = root().join("integrations/release/build.sh");
    let said = |arguments: &[&str], path: &str| {
        let output =
            Command::new("/bin/bash").arg(&script).args(arguments).env("PATH", path).output_in_minutes();
        (output.status.code().unwrap(), said(&output))
    };
    let (code, text) = said(&["--binry", "x"], "/usr/bin:/bin");
    assert_eq!((code, text.as_str()), (2, "build.sh: unknown argument --binry; see build.sh --help\n"));
    if has("python3") && has("cargo") {
        let (code, text) = said(&["--binary", "/nowhere/tau"], &std::env::var("PATH").unwrap());
        assert_eq!((code, text.as_str()), (2, "release: --binary: there is no file /nowhere/tau\n"));
    }
    let empty = tempfile::tempdir().unwrap();
    let dirname = ["/usr/bin/dirname", "/bin/dirname"].iter().find(|path| Path::new(path).exists()).unwrap();
    std::os::unix::fs::symlink(dirname, empty.path().join("dirname")).unwrap();
    let (code, text) = said(&["--binary", "x"], empty.path().to_str().unwrap());
    assert_eq!((code, text.as_str()), (3, "build.sh: python3 is missing: install Python 3.9 or newer\n"));
}
