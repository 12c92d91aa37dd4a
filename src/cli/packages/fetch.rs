//! Brings the files of a package into a folder. Nothing of the package is run.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA512, digest};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::task::spawn_blocking;

use super::archive;
use super::source::{Source, without_secrets};
use tau_agent::extensions::packages::digest::{self, FolderDigest, MAX_ENTRIES, MAX_SIZE};
use tau_agent::extensions::packages::layout::{self, Layout, MarketplacePlugin};
use tau_agent::extensions::packages::{PackageRecord, UNFINISHED};
use tau_agent::provider::Failure;
use tau_agent::provider::http::Http;
use tau_agent::settings::private_files::parse_json;
use tau_tools::hashes::hexadecimal;
use tau_tools::process::left;
use tau_tools::regular_files::{read_capped, read_text};
use tau_tools::user_error::UserError;

/// The usual registry of npm.
const REGISTRY: &str = "https://registry.npmjs.org";
/// The maximum size of npm's settings, in bytes.
const MAX_NPMRC: u64 = 256 * 1024;
/// The maximum size of the description of an npm package, in bytes.
const MAX_MANIFEST: usize = 4 * 1024 * 1024;
/// The maximum size of an archive, in bytes.
const MAX_ARCHIVE: usize = MAX_SIZE as usize;
/// Files and folders that are not part of a package: of git, of package managers, and of macOS.
const LEFT_OUT: [&str; 5] = [".git", "node_modules", ".venv", "__MACOSX", ".DS_Store"];
/// The variables that git gets.
const OF_GIT: &[&str] = tau_tools::words!(
    "HOME PATH USER LANG TMPDIR XDG_CONFIG_HOME SSH_AUTH_SOCK GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_GLOBAL \
     GIT_CONFIG_NOSYSTEM HTTPS_PROXY https_proxy HTTP_PROXY http_proxy NO_PROXY"
);

/// A package that is not in use yet.
pub(crate) struct StagedPackage {
    /// Its files; their folder has the name of the package.
    pub root: PathBuf,
    pub name: String,
    pub layout: Layout,
    pub digest: FolderDigest,
    pub record: PackageRecord,
    /// The number of links that were left out.
    pub links: usize,
    _folder: TempDir,
}

/// Files in a folder.
struct FetchedFiles {
    revision: Option<String>,
    links: usize,
}

/// Brings a package into a folder below `staging`.
pub(crate) async fn stage(
    source: &Source,
    plugin: Option<&str>,
    staging: &Path,
    http: &Http,
) -> Result<StagedPackage, UserError> {
    if let Source::Folder(path) = source
        && staging.canonicalize().map_err(words)?.starts_with(path.canonicalize().map_err(words)?)
    {
        return Err("tau keeps its packages below this folder; name the folder of one package".into());
    }
    let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(staging).map_err(words)?;
    let mut root = folder.path().join("files");
    let mut fetched = fetch(source, &root, http).await?;
    let chosen = choose_plugin(&root, plugin)?;
    if let Some(MarketplacePlugin { name, source, folder: inner, .. }) = &chosen {
        let source =
            source.as_ref().ok_or_else(|| format!("its plugin {name} has a source of an unknown kind"))?;
        match layout::inside(source) {
            Some(path) if !source.contains(':') => root = root.join(path),
            _ => {
                root = folder.path().join("plugin");
                fetched = fetch(&elsewhere(source)?, &root, http).await?;
                if let Some(inner) = inner {
                    let path = layout::inside(inner).map(|path| root.join(path)).filter(|path| path.is_dir());
                    root = path.ok_or_else(|| format!("its plugin {name} has no folder {inner}"))?;
                }
            }
        }
    }
    let found = layout::of_folder(&root, chosen.as_ref().map(|chosen| &chosen.entry))?;
    if found.parts.is_empty() {
        return Err(
            "it has no skills, prompt templates, kinds of helpers, custom tools, hooks or MCP servers".into(),
        );
    }
    let name =
        found.name.clone().or_else(|| layout::name_of(&source.stem())).ok_or("it has no usable name")?;
    let ready = folder.path().join("ready");
    std::fs::create_dir(&ready).map_err(words)?;
    let ready = ready.join(&name);
    std::fs::rename(&root, &ready).map_err(words)?;
    let root = ready.canonicalize().map_err(words)?;
    let digest = digest::of_folder(&root)?;
    let record = PackageRecord {
        source: source.canonical_text(),
        plugin: chosen.map(|chosen| chosen.name),
        revision: fetched.revision.or_else(|| found.version.clone()),
        description: found.description.clone(),
        sha256: digest.sha256.clone(),
        parts: found.parts.clone(),
    };
    Ok(StagedPackage { root, name, layout: found, digest, record, links: fetched.links, _folder: folder })
}

/// The plugin that is meant, if the folder is a marketplace.
fn choose_plugin(root: &Path, plugin: Option<&str>) -> Result<Option<MarketplacePlugin>, UserError> {
    let is_plugin = root.join(".claude-plugin/plugin.json").is_file();
    let listed = layout::marketplace(root)?.filter(|_| plugin.is_some() || !is_plugin);
    let Some(listed) = listed else {
        return match plugin {
            Some(plugin) => Err(format!("it lists no plugins, so none is called {plugin}").into()),
            None => Ok(None),
        };
    };
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    let all = names.join(", ");
    match plugin {
        Some(plugin) => match listed.iter().find(|one| one.name == plugin) {
            Some(found) => Ok(Some(found.clone())),
            None => Err(format!("it has no plugin {plugin}; it has {all}").into()),
        },
        None if listed.is_empty() => Err("it is a marketplace without plugins".into()),
        None if listed.len() == 1 => Ok(listed.into_iter().next()),
        None => Err(format!("it has several plugins; choose one with --plugin: {all}").into()),
    }
}

/// Whether git reads an address as one of another machine.
fn is_of_network(url: &str) -> bool {
    match url.split_once(':') {
        Some((scheme, rest)) if rest.starts_with("//") => ["http", "https", "ssh", "git"].contains(&scheme),
        // As git writes addresses of ssh: `git@host:path`.
        Some((host, _)) => host.contains('@') && !host.contains('/'),
        None => false,
    }
}

/// The source of a plugin that is not in the marketplace itself. Never a file of this machine.
fn elsewhere(source: &str) -> Result<Source, UserError> {
    match Source::parse(source, Path::new("/"))? {
        Source::Git { url, .. } if !is_of_network(&url) => {
            Err(format!("it names {source}, which is not an address").into())
        }
        Source::Folder(_) | Source::Archive(_) => {
            Err(format!("it names {source}, which is not an address").into())
        }
        source => Ok(source),
    }
}

async fn fetch(source: &Source, into: &Path, http: &Http) -> Result<FetchedFiles, UserError> {
    match source {
        Source::Folder(path) => Ok(FetchedFiles { revision: None, links: copy(path, into)? }),
        Source::Archive(path) => unpack(&read_capped(path, MAX_SIZE).map_err(words)?, into),
        Source::Download(url) => unpack(&download(http, url, MAX_ARCHIVE).await?, into),
        Source::Git { url, at } => git(url, at.as_deref(), into).await,
        Source::Npm { name, version } => npm(name, version.as_deref(), into, http).await,
    }
}

fn words(error: std::io::Error) -> String {
    error.to_string()
}

async fn download(http: &Http, url: &str, limit: usize) -> Result<Vec<u8>, UserError> {
    let words = |failure: Failure| failure.to_string().replace(url, &without_secrets(url)).into();
    http.download(url, limit).await.map_err(words)
}

/// Whether files and folders of this name are not part of a package. In `._NAME` macOS keeps the attributes of NAME.
fn is_left_out(name: &str) -> bool {
    LEFT_OUT.contains(&name) || name.starts_with("._")
}

/// Copies a folder without links; returns their number.
fn copy(from: &Path, into: &Path) -> Result<usize, UserError> {
    let (mut open, mut links, mut seen, mut size) =
        (vec![(from.to_owned(), into.to_owned())], 0, 0_usize, 0_u64);
    while let Some((from, into)) = open.pop() {
        let named = |error: std::io::Error| UserError::of_file(&from, error);
        std::fs::create_dir_all(&into).map_err(named)?;
        for entry in std::fs::read_dir(&from).map_err(named)? {
            let entry = entry.map_err(named)?;
            let (path, to) = (entry.path(), into.join(entry.file_name()));
            let kind = entry.file_type().map_err(named)?;
            if is_left_out(&entry.file_name().to_string_lossy()) {
                continue;
            }
            let meta = entry.metadata().map_err(named)?;
            seen += 1;
            size = size.saturating_add(if kind.is_file() { meta.len() } else { 0 });
            if seen > MAX_ENTRIES || size > MAX_SIZE {
                let most = MAX_SIZE / 1024 / 1024;
                return Err(format!("it has more than {MAX_ENTRIES} files or {most} MB").into());
            }
            if kind.is_dir() {
                open.push((path, to));
            } else if kind.is_file() {
                let bytes =
                    read_capped(&path, MAX_SIZE).map_err(|error| format!("{}: {error}", path.display()))?;
                write(&to, &bytes, meta.mode() & 0o111 != 0)?;
            } else {
                links += 1;
            }
        }
    }
    Ok(links)
}

fn write(path: &Path, bytes: &[u8], is_executable: bool) -> Result<(), UserError> {
    let named = |error: std::io::Error| UserError::of_file(path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(named)?;
    }
    let mode = if is_executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(named)?;
    file.write_all(bytes).map_err(named)
}

/// Unpacks an archive, without the folder that may hold everything in it.
fn unpack(bytes: &[u8], into: &Path) -> Result<FetchedFiles, UserError> {
    // The last of several files with the same name counts.
    let archive::Files { mut files, links, .. } = archive::unpack(bytes)?;
    files.retain(|file| !file.path.split('/').any(is_left_out));
    let files: BTreeMap<String, archive::ArchiveFile> =
        files.into_iter().map(|file| (file.path.clone(), file)).collect();
    let top = files.keys().next().and_then(|path| path.split_once('/')).map(|(top, _)| format!("{top}/"));
    let top = top.filter(|top| files.keys().all(|path| path.starts_with(top.as_str()))).unwrap_or_default();
    std::fs::create_dir_all(into).map_err(words)?;
    for (path, file) in &files {
        let path = path.strip_prefix(&top).unwrap_or(path);
        write(&into.join(path), &file.bytes, file.is_executable)?;
    }
    Ok(FetchedFiles { revision: None, links })
}

/// Why git failed, in what it said: the line that says so, and what another program said before it. Advice that
/// follows is left out.
fn reason_of_git(said: &str) -> String {
    // Progress is drawn over itself.
    let is_progress = |line: &str| line.is_empty() || line.contains("% (");
    let lines = said.split(['\n', '\r']).map(str::trim).filter(|line| !is_progress(line));
    let lines: Vec<&str> = lines.collect();
    let end = lines.iter().rposition(|line| line.starts_with("fatal:")).map_or(lines.len(), |at| at + 1);
    lines.get(end.saturating_sub(2)..end).unwrap_or_default().join("; ")
}

/// Whether a name may be the beginning of a commit's.
fn is_short_hash(name: &str) -> bool {
    (4..40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The longest silence of a server that is awaited.
const SILENCE: Duration = Duration::from_secs(60);

/// Runs git to its end. Fails when it says nothing for longer than this: its server does not answer.
async fn run_unless_silent(mut command: Command, silence: Duration) -> Result<Output, UserError> {
    let cannot = |error: std::io::Error| format!("cannot run git: {error}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(cannot)?;
    let (mut said, mut piece, mut stderr) = (Vec::new(), [0; 4096], child.stderr.take());
    while let Some(stderr) = &mut stderr {
        match tokio::time::timeout(silence, stderr.read(&mut piece)).await {
            Ok(read) => match read.map_err(cannot)? {
                0 => break,
                count => said.extend_from_slice(piece.get(..count).unwrap_or_default()),
            },
            Err(_) => {
                // It would leave ssh behind.
                let pid = child.id().and_then(|id| i32::try_from(id).ok());
                let _ = spawn_blocking(move || pid.map(left::stop_tree)).await;
                return Err(format!("git has said nothing for {} s", silence.as_secs()).into());
            }
        }
    }
    let Output { status, stdout, .. } = child.wait_with_output().await.map_err(cannot)?;
    Ok(Output { status, stdout, stderr: said })
}

/// Settings of git: no hooks and no helpers, and a server that says nothing for a minute is not awaited.
const SETTINGS: [&str; 8] = [
    "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "http.lowSpeedLimit=1", "-c",
    "http.lowSpeedTime=60",
];

/// Fetches one commit of a repository. Its hooks and submodules stay away.
async fn git(url: &str, at: Option<&str>, into: &Path) -> Result<FetchedFiles, UserError> {
    let (clone, shown) = (into.with_extension("git"), without_secrets(url));
    std::fs::create_dir_all(&clone).map_err(words)?;
    let run = async |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&clone).args(SETTINGS).args(arguments);
        command.env_clear();
        command.envs(OF_GIT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_LFS_SKIP_SMUDGE", "1");
        let failed = |why: UserError| format!("git could not fetch {shown}: {why}");
        // The others ask no server.
        let silence = if arguments.first() == Some(&"fetch") { SILENCE } else { Duration::MAX };
        let ended = run_unless_silent(command, silence).await.map_err(failed)?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let said = reason_of_git(&said).replace(url, &shown);
        Err(format!("git could not fetch {shown}: {said}"))
    };
    run(&["init", "-q"]).await?;
    let fetch = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules"];
    let fetched = run(&[&fetch[..], &["--depth", "1", "--", url, at.unwrap_or("HEAD")]].concat()).await;
    let commit = match (fetched, at.filter(|at| is_short_hash(at))) {
        (Ok(_), _) => "FETCH_HEAD".to_owned(),
        // Servers know commits by their whole names only.
        (Err(why), Some(short)) => {
            run(&[&fetch[..], &["--", url, "+refs/heads/*:refs/remotes/origin/*"]].concat()).await?;
            run(&["rev-parse", "-q", "--verify", &format!("{short}^{{commit}}")]).await.map_err(|_| why)?
        }
        (Err(why), None) => return Err(why.into()),
    };
    run(&["checkout", "-q", "--detach", &commit]).await?;
    let revision = run(&["rev-parse", "HEAD"]).await?;
    let links = copy(&clone, into)?;
    let _ = std::fs::remove_dir_all(&clone);
    Ok(FetchedFiles { revision: Some(revision), links })
}

/// The text of the user's settings of npm.
fn npmrc() -> String {
    let named = std::env::var_os("npm_config_userconfig").map(PathBuf::from);
    let file = named.or_else(|| Some(std::env::home_dir()?.join(".npmrc")));
    file.and_then(|file| read_text(&file, MAX_NPMRC).ok()).unwrap_or_default()
}

/// The registry of a package: of its scope, else of the variable, else of npm's settings, else the usual one.
fn registry_of(name: &str, set: Option<String>, npmrc: &str) -> String {
    let of_key = |wanted: &str| {
        let settings = npmrc.lines().filter_map(|line| line.split_once('='));
        let found = settings.rev().find(|(key, _)| key.trim() == wanted);
        found.map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    let of_scope = || {
        let (scope, _) = name.split_once('/')?;
        of_key(&format!("{scope}:registry"))
    };
    let set = set.filter(|address| !address.trim().is_empty());
    let registry = of_scope().or(set).or_else(|| of_key("registry")).unwrap_or_else(|| REGISTRY.to_owned());
    registry.trim().trim_end_matches('/').to_owned()
}

/// Fetches a package from the registry of npm, and compares it with the hash that the registry has.
async fn npm(name: &str, version: Option<&str>, into: &Path, http: &Http) -> Result<FetchedFiles, UserError> {
    let registry = registry_of(name, std::env::var("npm_config_registry").ok(), &npmrc());
    let address = format!("{registry}/{}/{}", name.replace('/', "%2f"), version.unwrap_or("latest"));
    let asked = download(http, &address, MAX_MANIFEST).await;
    let address = without_secrets(&address);
    let manifest =
        asked.map_err(|failure| format!("npm has no {name} that can be used: {address}: {failure}"))?;
    let manifest: Value = parse_json(&manifest).map_err(|_| format!("{address} is not JSON"))?;
    let get = |path: &str| manifest.pointer(path).and_then(Value::as_str);
    let tarball = get("/dist/tarball").ok_or_else(|| format!("{address} names no archive"))?;
    let bytes = download(http, tarball, MAX_ARCHIVE).await;
    let tarball = without_secrets(tarball);
    let bytes = bytes.map_err(|failure| format!("{tarball}: {failure}"))?;
    let encoded = |hash: ring::digest::Digest| BASE64_STANDARD.encode(hash);
    let strong = get("/dist/integrity")
        .and_then(|all| all.split_whitespace().find_map(|one| one.strip_prefix("sha512-")));
    let is_right = match (strong, get("/dist/shasum")) {
        (Some(expected), _) => encoded(digest(&SHA512, &bytes)) == expected,
        (None, Some(expected)) => hexadecimal(digest(&SHA1_FOR_LEGACY_USE_ONLY, &bytes)) == expected,
        (None, None) => return Err(format!("{address} has no hash of its archive").into()),
    };
    if !is_right {
        return Err(format!("{tarball} does not have the hash that the registry says").into());
    }
    let fetched = unpack(&bytes, into)?;
    Ok(FetchedFiles { revision: get("/version").map(str::to_owned), ..fetched })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_that_of_the_scope_or_of_the_settings() {
        let npmrc =
            "; mine\nregistry = \"https://npm.corp/all/\"\n@corp:registry=https://npm.corp/own\nx=1\n";
        assert_eq!(registry_of("left-pad", None, npmrc), "https://npm.corp/all");
        assert_eq!(registry_of("@corp/x", None, npmrc), "https://npm.corp/own");
        assert_eq!(registry_of("@other/x", Some("https://set/".to_owned()), npmrc), "https://set");
        assert_eq!(registry_of("@corp/x", None, ""), REGISTRY);
    }

    #[test]
    fn files_of_macos_are_no_part_of_an_archive() {
        let (mut tar, place) = (tar::Builder::new(Vec::new()), tempfile::tempdir().unwrap());
        for path in [
            ".DS_Store", "._plug", "__MACOSX/plug/._a.md", "plug/.DS_Store", "plug/._a.md", "plug/a.md",
            "plug/.git/config",
        ] {
            let mut head = tar::Header::new_ustar();
            head.set_size(4);
            tar.append_data(&mut head, path, b"text".as_slice()).unwrap();
        }
        let into = place.path().join("files");
        unpack(&tar.into_inner().unwrap(), &into).unwrap();
        let names = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            entries.collect::<Vec<_>>()
        };
        assert_eq!(names(&into), ["a.md"]);
        for name in [".DS_Store", "._a.md"] {
            std::fs::write(into.join(name), "text").unwrap();
        }
        copy(&into, &place.path().join("copied")).unwrap();
        assert_eq!(names(&place.path().join("copied")), ["a.md"]);
    }

    #[test]
    fn what_git_said_is_cut_to_the_reason() {
        let said = "Host key verification failed.\r\nfatal: Could not read from remote repository.\n\n\
                    Please make sure you have the correct access rights\nand the repository exists.\n";
        assert_eq!(
            reason_of_git(said),
            "Host key verification failed.; fatal: Could not read from remote repository."
        );
        assert_eq!(reason_of_git("fatal: no such remote\n"), "fatal: no such remote");
        let said =
            "remote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2)\rfatal: early EOF\n";
        assert_eq!(reason_of_git(said), "fatal: early EOF");
    }

    #[tokio::test]
    async fn a_silent_server_is_not_awaited_and_a_slow_one_is() {
        let run = async |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run_unless_silent(command, Duration::from_secs(1)).await
        };
        let slow = run("for n in 1 2 3 4; do sleep 0.5; printf $n >&2; done; echo commit").await.unwrap();
        assert_eq!((slow.stderr, slow.stdout), (b"1234".to_vec(), b"commit\n".to_vec()));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        // As git's ssh, which does not end with git.
        let silent = run(&format!("sleep 300 & echo $! >{}; wait", file.display())).await;
        assert_eq!(silent.unwrap_err().to_string(), "git has said nothing for 1 s");
        let pid = std::fs::read_to_string(file).unwrap();
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }

    #[test]
    fn a_marketplace_names_no_file_of_this_machine() {
        for source in [
            "git+/tmp/acc@x/../acc@x/repo", "git+a@b/../c:d", "git+/tmp/x://y", "git+file:///tmp/repo",
            "file:///tmp/repo", "git+../repo", "git+ext::sh -c x://y",
        ] {
            assert!(elsewhere(source).is_err(), "{source}");
        }
        for source in
            ["git@h.example:o/r.git", "git+ssh://git@h.example/o/r", "https://h.example/o/r", "github:o/r"]
        {
            assert!(elsewhere(source).is_ok(), "{source}");
        }
    }
}
