//! An sshd on loopback with keys of its own, which leads to a home of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::screen::{Screen, TIMEOUT};
use crate::time_limit::RunInTime;

/// Where the other machine has tau.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WithTau {
    InPath,
    Nowhere,
}

/// The other machine, called `box` in the configuration of the user's ssh.
pub(super) struct Sshd {
    dir: TempDir,
    child: Child,
    /// The address of its model.
    url: String,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        for pid in self.connections() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Sshd {
    /// Starts it, with a model at this address; `None` where there is no sshd.
    pub(super) fn start(tau: WithTau, url: &str) -> Option<Self> {
        let (Some(sshd), Some(_), Some(keygen)) = (found("sshd"), found("ssh"), found("ssh-keygen")) else {
            eprintln!("skipped: there is no sshd, or no ssh");
            return None;
        };
        // Its own packages make this folder at the start of the service.
        if rustix::process::getuid().is_root() && fs::create_dir_all("/run/sshd").is_err() {
            eprintln!("skipped: sshd needs /run/sshd");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["home/work", "home/tau", "bin"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for key in ["host", "id", "other"] {
            let mut making = Command::new(&keygen);
            making.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key));
            assert!(making.status_in_time().success());
        }
        fs::copy(at("id.pub"), at("authorized")).unwrap();
        if tau == WithTau::InPath {
            symlink(env!("CARGO_BIN_EXE_tau"), at("bin/tau")).unwrap();
        }
        let (port, closed) = (free_port(), free_port());
        let (root, path) = (dir.path().display(), std::env::var("PATH").unwrap());
        fs::write(at("sshd_config"), format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {root}/host\nAuthorizedKeysFile {root}/authorized\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin yes\nPidFile none\nMaxStartups 100\n\
             SetEnv HOME={root}/home TAU_HOME={root}/home/tau PATH={root}/bin:{path} TAU_BASE_URL={url} \
             TAU_MODEL=m TAU_PERMISSION_MODE=auto TAU_LOCAL_SERVERS=false TAU_BIN={}\n",
            env!("CARGO_BIN_EXE_tau")
        )).unwrap();
        let key = |name: &str| fs::read_to_string(at(name)).unwrap();
        fs::write(at("known"), format!("box {}stranger {}", key("host.pub"), key("other.pub"))).unwrap();
        let hosts: String = [("box", port, "id"), ("stranger", port, "id"), ("keyless", port, "other")]
            .into_iter()
            .chain([("closed", closed, "id")])
            .map(|(name, port, key)| {
                let alias = if name == "stranger" { name } else { "box" };
                format!("Host {name}\n  Port {port}\n  HostKeyAlias {alias}\n  IdentityFile {root}/{key}\n")
            })
            .collect();
        let all = format!(
            "Host *\n  HostName 127.0.0.1\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n  \
             UserKnownHostsFile {root}/known\n  GlobalKnownHostsFile /dev/null\n"
        );
        fs::write(at("ssh_config"), hosts + &all).unwrap();
        executable(&at("ssh"), &format!("#!/bin/sh\nexec ssh -F {root}/ssh_config \"$@\"\n"));
        let child = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(at("sshd_config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        let sshd = Sshd { dir, child, url: url.to_owned() };
        let end = Instant::now() + TIMEOUT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(sshd.dir.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < end, "sshd does not start: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(sshd)
    }

    /// The home folder there.
    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The address of its model.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// A folder to work in.
    pub(super) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Puts a program where it is found first.
    pub(super) fn place(&self, name: &str, text: &str) {
        let path = self.dir.path().join("bin").join(name);
        let _ = fs::remove_file(&path);
        executable(&path, text);
    }

    /// Sends a signal to the process that takes logins.
    pub(super) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The processes of its connections.
    pub(super) fn connections(&self) -> Vec<Pid> {
        let own = self.child.id().to_string();
        let numbers =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        let is_child = |number: &String| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&own))
        };
        numbers
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(is_child)
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect()
    }

    /// The only live session there.
    pub(super) fn only_session(&self) -> String {
        crate::live::only_id(&self.home())
    }

    /// Starts `tau attach` with arguments for a shell in a terminal.
    pub(super) fn attach(&self, arguments: &str) -> Screen {
        self.tau(&format!("attach {arguments}"))
    }

    /// Starts tau with arguments for a shell in a terminal.
    pub(super) fn tau(&self, arguments: &str) -> Screen {
        let script = format!(
            "export TAU_SSH={}/ssh\n\"$TAU_BIN\" {arguments}\necho \"exit=$?\"; cat",
            self.dir.path().display()
        );
        Screen::program(Path::new("/bin/bash"), &["-c", &script], 100, 24)
    }

    /// Starts tau like this with these servers in its settings. Each start of ssh leaves a line in a file.
    pub(super) fn with_servers(&self, servers: &[&str], arguments: &str) -> Screen {
        let (root, list) = (self.dir.path().display(), servers.join("\", \""));
        executable(
            &self.dir.path().join("counted"),
            &format!("#!/bin/sh\necho started >>{}\nexec {root}/ssh \"$@\"\n", self.starts().display()),
        );
        let script = format!(
            "export TAU_SSH={root}/counted\nmkdir -p $TAU_HOME\necho 'servers = [\"{list}\"]' >$TAU_HOME/config.toml\n\
             \"$TAU_BIN\" {arguments}\necho \"exit=$?\"; cat"
        );
        Screen::program(Path::new("/bin/bash"), &["-c", &script], 100, 30)
    }

    /// The file with a line for each start of ssh.
    pub(super) fn starts(&self) -> PathBuf {
        self.dir.path().join("starts")
    }

    /// Like [`Self::attach`], with a single argument of any characters.
    pub(super) fn attach_one(&self, address: &str) -> Screen {
        let quoted = format!("'{}'", address.replace('\'', "'\\''"));
        self.attach(&quoted)
    }

    /// Runs `tau attach` without a terminal, with arguments between blanks.
    pub(super) fn run(&self, arguments: &str) -> Output {
        self.output(&arguments.split(' ').collect::<Vec<_>>())
    }

    /// Runs `tau attach` without a terminal, with an argument.
    pub(super) fn run_one(&self, argument: &str) -> Output {
        self.output(&[argument])
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.client(&[&["attach"][..], arguments].concat()).output_in_time()
    }

    /// Tau on the user's machine, without a terminal.
    pub(super) fn client(&self, arguments: &[&str]) -> Command {
        let home = self.dir.path().join("client");
        fs::create_dir_all(home.join("work")).unwrap();
        let mut command = crate::live::command(&home, arguments);
        command.env("TAU_SSH", self.dir.path().join("ssh")).env("TERM", "xterm-256color");
        command
    }
}
