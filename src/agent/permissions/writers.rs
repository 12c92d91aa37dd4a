//! Commands that write protected files without naming them, such as git its settings.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::dangerous::needed_words::needed_words;
use super::programs;
use super::protected::ProtectedKind::{self, Git, Ssh, Startup};
use super::rows_by_name::RowsByName;
use super::shell::{Part, Piece, Word};
use super::strict::inner_commands;
use super::subcommands::has;

/// Subcommands of git that write its settings or hooks, and the words with which they only read; if the third
/// column is not empty, they write only with one of its words.
const GIT: [(&str, &[&str], &[&str]); 21] = [
    ("config", &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "list", "get"], &[]),
    ("remote", &["show", "get-url", "prune", "update"], &[]),
    ("submodule", &["status", "summary"], &[]),
    ("worktree", &["list"], &[]),
    ("clone", &[], &[]),
    ("init", &[], &["--template", "--separate-git-dir", "--shared", "-c"]),
    ("branch", &[], &["-u", "--set-upstream-to", "--set-upstream", "--unset-upstream", "--edit-description"]),
    ("sparse-checkout", &["list", "check-rules"], &[]),
    ("maintenance", &["run"], &[]),
    ("credential", &["fill"], &[]),
    ("credential-store", &["get"], &[]),
    ("lfs", &["ls-files", "status", "env", "version", "logs", "fetch", "pull", "push"], &[]),
    ("flow", &[], &["init"]),
    ("svn", &[], &["init", "clone"]),
    ("p4", &[], &["clone"]),
    ("cvsimport", &[], &[]),
    ("fsmonitor--daemon", &["status"], &[]),
    ("instaweb", &[], &[]),
    ("annex", &[], &["init"]),
    ("crypt", &[], &["init", "unlock"]),
    ("hook", &[], &[]),
];
/// Options of git with a value in the next word.
const GIT_VALUED: &[&str] = tau_tools::words!(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source"
);

/// Another program: the words that must be among the first, and the kind they write. `-` is any word except an
/// option that lists.
type Other = (&'static str, &'static [&'static str], ProtectedKind);
const OTHERS: [Other; 59] = [
    ("crontab", &[], Startup),
    ("incrontab", &[], Startup),
    ("at", &[], Startup),
    ("batch", &[], Startup),
    ("systemctl", &["enable", "reenable", "link", "edit", "set-property", "preset", "add-wants"], Startup),
    ("systemd-run", &[], Startup),
    ("loginctl", &["enable-linger"], Startup),
    ("launchctl", &["load", "bootstrap", "submit", "enable", "asuser", "setenv"], Startup),
    ("chsh", &[], Startup),
    ("usermod", &["-s", "--shell", "-o", "--non-unique", "-p", "--password"], Startup),
    ("useradd", &["-o", "--non-unique", "-ou"], Startup),
    ("passwd", &[], ProtectedKind::Keys),
    ("chpasswd", &[], ProtectedKind::Keys),
    ("pm2", &["startup"], Startup),
    ("brew", &["services"], Startup),
    ("update-rc.d", &[], Startup),
    ("chkconfig", &[], Startup),
    ("rc-update", &["add", "delete"], Startup),
    ("conda", &["init", "config"], Startup),
    ("mamba", &["init", "shell"], Startup),
    ("rbenv", &["init"], Startup),
    ("uv", &["update-shell"], Startup),
    ("pipx", &["ensurepath"], Startup),
    ("rustup-init", &[], Startup),
    ("chezmoi", &["apply", "init", "update"], Startup),
    ("home-manager", &["switch"], Startup),
    (
        "yadm",
        &["alt", "bootstrap", "checkout", "clone", "merge", "pull", "rebase", "reset", "restore"],
        Startup,
    ),
    // Of fish.
    ("funcsave", &[], Startup),
    ("set", &["-U", "-Ux", "-xU", "--universal"], Startup),
    ("alias", &["-s", "--save"], Startup),
    ("npm", &["set", "config", "c"], Startup),
    ("pnpm", &["set", "config", "c", "setup"], Startup),
    ("yarn", &["config"], Startup),
    ("pip", &["config"], Startup),
    ("pip3", &["config"], Startup),
    ("go", &["env"], Startup),
    ("poetry", &["config"], Startup),
    ("direnv", &["allow", "permit", "grant"], Startup),
    ("mise", &["trust", "use", "settings"], Startup),
    ("xdg-mime", &["default", "install"], Startup),
    ("xdg-settings", &["set"], Startup),
    ("code", &["--install-extension", "--add-mcp"], Startup),
    ("codium", &["--install-extension", "--add-mcp"], Startup),
    ("cursor", &["--install-extension", "--add-mcp"], Startup),
    ("gh", &["setup-git", "extension", "extensions", "alias", "clone", "--clone"], Git),
    ("pre-commit", &["install", "init-templatedir"], Git),
    ("lefthook", &["install"], Git),
    ("husky", &[], Git),
    ("simple-git-hooks", &[], Git),
    ("overcommit", &["--install", "-i"], Git),
    ("scalar", &["register", "clone", "reconfigure"], Git),
    ("git-lfs", &["install"], Git),
    ("ssh-copy-id", &[], Ssh),
    ("claude", &["mcp", "config", "plugin"], ProtectedKind::Agents),
    ("codex", &["mcp", "login", "logout"], ProtectedKind::Agents),
    ("gemini", &["mcp", "extensions"], ProtectedKind::Agents),
    ("opencode", &["auth", "mcp"], ProtectedKind::Agents),
    ("tau", TAU, ProtectedKind::Tau),
    ("taucode", TAU, ProtectedKind::Tau),
];
/// Settings with a command that a program runs later, and subcommands that write such settings, see [`super::dangerous::services`].
const SETTINGS: [(&str, &str); 36] = [
    ("gh", "config set pager|editor|browser"),
    ("aws", "configure set =CREDENTIAL_PROCESS"),
    ("kubectl oc", "config set-credentials --exec-command"),
    ("kubectl oc", "config set"),
    ("kubectl oc", "krew install|upgrade"),
    ("helm", "plugin install|update"),
    ("docker", "plugin install|enable"),
    ("composer", "config -g|--global"),
    ("composer", "global require|install|update|config"),
    ("rustup", "default ./*|../*|/*|~*"),
    ("rustup", "toolchain link"),
    // They store keys.
    ("cargo docker podman nerdctl npm pnpm yarn terraform tofu vault oc az heroku helm", "login|adduser"),
    ("gh glab fly flyctl gcloud hf", "auth login"),
    ("sysctl", "kernel.core_pattern=*|kernel.modprobe=*|kernel/core_pattern=*|kernel/modprobe=*"),
    ("bundle", "config --global"),
    ("bundle", "config set mirror.*"),
    ("gem", "sources -a|--add"),
    ("opam", "init"),
    ("volta", "setup"),
    ("micromamba", "shell init|reinit"),
    ("jj", "config set|edit|unset"),
    ("tmux", "set|set-option default-command|default-shell"),
    ("tmux", "set-hook"),
    ("schtasks schtasks.exe", "/create"),
    ("reg reg.exe", "add"),
    ("defaults", "write * LoginHook|LogoutHook"),
    ("gsettings", "set * command"),
    ("dconf", "write|load"),
    ("xfconf-query", "-s|--set"),
    ("glab", "alias set"),
    ("yarn", "plugin import"),
    ("code-insiders windsurf", "--install-extension|--add-mcp"),
    ("amp copilot q qwen", "mcp add"),
    ("launchctl", "submit"),
    ("systemctl", "set-environment"),
    ("update-alternatives alternatives", "--install|--set"),
];
/// Commands of tau that write its settings.
const TAU: &[&str] = &["add", "auth", "import", "login", "mcp", "remove", "uninstall", "update"];
/// Programs that print stored keys, passwords or, tau, sessions, and the words with which they do; see
/// [`super::dangerous::services`].
const PRINTING: &[(&str, &str)] = &[
    ("tau", "logs|export|sessions|diff|undo|board|wait|attempts"),
    ("git", "credential fill"),
    ("git", "credential-store|credential-cache get"),
    ("git-credential", "fill"),
    ("git-credential-store git-credential-cache git-credential-libsecret git-credential-osxkeychain", "get"),
    ("gh glab", "auth token"),
    ("gh glab", "auth status -t|--show-token"),
    ("vault", "print token"),
    ("gcloud", "auth application-default print-access-token"),
    ("az", "keyvault secret show|download"),
    ("kubectl oc", "create token"),
    ("npm pnpm yarn", "config get =AUTHTOKEN"),
    ("npm pnpm yarn", "config get =_PASSWORD"),
    ("npm pnpm yarn", "config get =_AUTH"),
    ("doppler", "secrets"),
    ("chamber", "read|export|env"),
    ("lpass", "show"),
    ("kubectl oc", "get /secret|secrets -o|--output|--template"),
    ("kubectl oc", "config view --raw"),
    ("oc", "whoami -t|--show-token"),
    ("glab", "config get token"),
    ("terraform tofu", "output -raw|-json =PASSWORD"),
    ("terraform tofu", "output -raw|-json =SECRET"),
    ("terraform tofu", "output -raw|-json =TOKEN"),
    ("terraform tofu", "output -raw|-json =KEY"),
    ("pulumi nmcli", "--show-secrets"),
    ("nmcli", "-s"),
    ("wg", "show * private-key|preshared-keys|dump"),
    ("wg", "showconf"),
    ("systemd-creds", "decrypt|cat"),
    ("getent", "shadow|gshadow"),
    ("doppler", "run * env|printenv"),
    ("rails", "credentials:show|encrypted:show"),
    ("heroku", "config|config:get"),
    ("aws", "eks get-token"),
    ("vault", "kv get"),
    ("vault", "read"),
    ("gcloud", "secrets versions access"),
    ("aws", "secretsmanager get-secret-value|batch-get-secret-value"),
    ("aws", "ssm get-parameter|get-parameters|get-parameters-by-path --with-decryption"),
    ("aws", "ecr|codeartifact get-login-password|get-authorization-token"),
    ("aws", "sts get-session-token|assume-role"),
    ("sops age", "-d|--decrypt"),
    ("sops", "decrypt"),
    ("ansible-vault", "view"),
    ("gcloud", "auth print-access-token|print-identity-token"),
    ("aws", "configure get|export-credentials"),
    ("az", "account get-access-token"),
    ("fly flyctl", "auth token"),
    ("heroku", "auth:token"),
    ("security", "find-generic-password|find-internet-password|dump-keychain"),
    ("secret-tool", "lookup|search"),
    ("pass gopass", "show"),
    ("infisical", "secrets|export"),
    ("op", "read"),
    ("op bw", "item|get"),
    ("gpg gpg2", "--export-secret-keys|--export-secret-subkeys|-d|--decrypt"),
];
static PRINTING_BY_NAME: LazyLock<RowsByName<(&str, &str)>> =
    LazyLock::new(|| RowsByName::new(PRINTING, |row| row.0));
static SETTINGS_BY_NAME: LazyLock<RowsByName<(&str, &str)>> =
    LazyLock::new(|| RowsByName::new(&SETTINGS, |row| row.0));
static OTHERS_BY_NAME: LazyLock<RowsByName<Other>> = LazyLock::new(|| RowsByName::new(&OTHERS, |row| row.0));
/// Groups of subcommands of such a program, and the subcommands with which it only lists, there or alone.
const GROUPS: &str = "config c mcp plugin extension extensions alias services settings auth";
const LISTING: &str = "list ls get show debug";
/// Programs without subcommands, and the options with which they only list.
const LISTED: [(&str, &str); 5] = [
    ("crontab", "-l"),
    ("incrontab", "-l --list -t --types"),
    ("at", "-l -c"),
    ("chkconfig", "--list"),
    ("chsh", "-l --list-shells"),
];

fn is_printer(name: &str) -> bool {
    !PRINTING_BY_NAME.get(name).is_empty()
}

fn is_writer(name: &str) -> bool {
    let is_listed = !SETTINGS_BY_NAME.get(name).is_empty() || !OTHERS_BY_NAME.get(name).is_empty();
    is_listed || name == "git" || name.starts_with("git-")
}

/// Whether a text names a program that may write or print protected files.
pub(super) fn may_concern(text: &str) -> bool {
    let is_one = |name: &str| is_printer(name) || is_writer(name);
    text.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).any(is_one)
}

/// The kind of the protected files whose contents a part prints without naming them.
pub(super) fn prints_protected(part: &Part) -> Option<ProtectedKind> {
    let prints = |words: &[Word]| {
        let name = programs::name(words).filter(|name| is_printer(name))?;
        let mut needed = PRINTING_BY_NAME.get(&name).iter();
        let literals: Vec<Cow<'_, str>> =
            words.iter().skip(1).map(|word| word.literal().unwrap_or_default()).collect();
        let kind = if name == "tau" { ProtectedKind::Tau } else { ProtectedKind::Keys };
        needed.any(|(_, needed)| needed_words(needed, words, &literals).is_some()).then_some(kind)
    };
    let inner = || inner_commands(&part.words, part.more_arguments, &is_printer);
    let prints =
        |words: &[Word]| prints(words).or_else(|| names_password(words).then_some(ProtectedKind::Keys));
    prints(&part.words).or_else(|| inner().iter().find_map(|words| prints(words)))
}

/// Whether a part is `pass NAME`, which prints like `pass show NAME`.
fn names_password(words: &[Word]) -> bool {
    const OTHERS: &str = "ls list find search grep insert add edit generate rm remove delete mv rename cp copy init git \
                          otp help version";
    let first = words.get(1).and_then(Word::literal);
    programs::name(words).is_some_and(|name| has("pass gopass", &name))
        && first.is_some_and(|first| !first.starts_with('-') && !has(OTHERS, &first))
}

/// The kind of protected files that a part writes, or a command that it runs.
pub(super) fn writes(part: &Part) -> Option<ProtectedKind> {
    let of = |words: &[Word]| writes_words(words, part.more_arguments);
    let of_each = || programs::for_each_repository(&part.words).and_then(|words| of(&words));
    // `tau batch` is not the program batch.
    let mut words = Cow::Borrowed(&part.words);
    if programs::name(&words).as_deref() == Some("tau")
        && words.get(1).and_then(Word::literal).as_deref() == Some("batch")
    {
        words.to_mut().remove(1);
    }
    of(&part.words).or_else(of_each).or_else(|| {
        inner_commands(&words, part.more_arguments, &is_writer).iter().find_map(|words| of(words))
    })
}

fn writes_words(words: &[Word], more_arguments: bool) -> Option<ProtectedKind> {
    let name = words.first().and_then(Word::literal)?;
    let name = name.rsplit('/').next().unwrap_or_default();
    let literals: Vec<Cow<'_, str>> =
        words.iter().skip(1).map(|word| word.literal().unwrap_or_default()).collect();
    let mut settings = SETTINGS_BY_NAME.get(name).iter();
    if settings.any(|(_, needed)| needed_words(needed, words, &literals).is_some()) {
        return Some(Startup);
    }
    let words: Vec<&Word> = words.iter().skip(1).collect();
    if name == "git" {
        return git(&words).then_some(Git);
    }
    if let Some(subcommand) = name.strip_prefix("git-").filter(|_| name != "git-lfs") {
        return subcommand_writes(subcommand, &words, more_arguments).then_some(Git);
    }
    let (_, first, kind) = OTHERS_BY_NAME.get(name).first()?;
    let is_named = |word: &Cow<'_, str>| first.contains(&word.as_ref());
    let is_one = first.is_empty() || literals.iter().take(4).any(is_named);
    // `npm pkg set` writes package.json.
    let is_of_package = literals.first().is_some_and(|word| word == "pkg");
    (is_one && !is_of_package && !only_lists(name, first, &literals)).then_some(*kind)
}

/// Whether a program of [`OTHERS`] only lists, prints or tells how it is used with these words.
fn only_lists(name: &str, named: &[&str], literals: &[Cow<'_, str>]) -> bool {
    let literal = |at: usize| literals.get(at).map_or("", AsRef::as_ref);
    let is_last = |at: usize| at + 1 == literals.len();
    if name == "go" {
        let writes = |text: &Cow<'_, str>| {
            let option = text.split('=').next().unwrap_or_default();
            text.is_empty() || has("-w --w -u --u", option)
        };
        return !literals.iter().any(writes);
    }
    if has("--help --version", literal(0)) && is_last(0) {
        return true;
    }
    if named.is_empty() {
        let start = if name.ends_with("crontab") && literal(0) == "-u" { 2 } else { 0 };
        return LISTED.iter().any(|(of, options)| *of == name && has(options, literal(start)));
    }
    // A name may be like a subcommand: each place where there may be one has to be one that lists.
    let lists = |at: usize| {
        let is_group = has(GROUPS, literal(at));
        let behind = at + 1 + usize::from(is_group && literal(at + 1) == "marketplace");
        let is_help = |at: usize| has("--help -h", literal(at)) && is_last(at);
        !literal(at).starts_with('-')
            && (has(LISTING, literal(0))
                || is_group
                    && (has(LISTING, literal(behind))
                        || has("-l --list", literal(behind)) && is_last(behind))
                || is_help(behind)
                || is_group && is_help(behind + 1) && !literal(behind).starts_with('-')
                || name == "rbenv" && literal(behind) == "-")
    };
    let mut places = (0..literals.len().min(4)).filter(|at| named.contains(&literal(*at)));
    places.all(lists)
}

fn git(words: &[&Word]) -> bool {
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        let literal = word.literal();
        let Some(text) = literal.as_deref() else { return false };
        if !text.starts_with('-') {
            // An alias may stand for any of them.
            let before = words.get(..words.len() - rest.len()).unwrap_or_default();
            let defines = |word: &&Word| {
                let start = match word.pieces.first() {
                    Some(Piece::Text(text)) => text.to_lowercase(),
                    _ => String::new(),
                };
                start.contains("alias.") || start.starts_with("include")
            };
            return before.iter().any(defines) || subcommand_writes(text, behind, false);
        }
        rest = if GIT_VALUED.contains(&text) { behind.get(1..).unwrap_or_default() } else { behind };
    }
    false
}

/// The folder into which a part clones a repository, if all of its options only choose how much of it.
pub(super) fn plain_clone_target(part: &Part) -> Option<&Word> {
    const FLAGS: &str = "-q --quiet --single-branch --no-tags --progress -n --no-checkout --no-single-branch";
    const VALUED: &str = "--depth -b --branch --filter --shallow-since";
    let literal = |at: usize| part.words.get(at).and_then(Word::literal).unwrap_or_default();
    let (mut operands, mut at) = (Vec::new(), 2);
    while let Some(word) = part.words.get(at).filter(|_| literal(0) == "git" && literal(1) == "clone") {
        let text = literal(at);
        let name = text.split_once('=').map_or(&*text, |(name, _)| name);
        match () {
            () if has(VALUED, name) => at += usize::from(name == text),
            () if has(FLAGS, &text) => {}
            // A transport may run a command.
            () if text.starts_with('-') || text.contains("::") => return None,
            () => operands.push(word),
        }
        at += 1;
    }
    operands.get(1).copied().filter(|_| operands.len() == 2 && !part.more_arguments)
}

fn subcommand_writes(subcommand: &str, words: &[&Word], more_arguments: bool) -> bool {
    let Some((_, reading, writing)) = GIT.iter().find(|(name, ..)| *name == subcommand) else { return false };
    let literals: Vec<Option<Cow<'_, str>>> = words.iter().map(|word| word.literal()).collect();
    let is_unknown = more_arguments || literals.contains(&None);
    let names = |word: &Option<Cow<'_, str>>, of: &[&str]| {
        let word = word.as_deref().unwrap_or_default();
        let option = word.split_once('=').map_or(word, |(option, _)| option);
        // A long option may be abbreviated, and a short one may have its value attached.
        of.iter().any(|known| {
            *known == option
                || option.len() > 3 && known.starts_with("--") && known.starts_with(option)
                || known.len() == 2 && word.starts_with(known) && !word.starts_with("--")
        })
    };
    if !writing.is_empty() {
        return is_unknown || literals.iter().any(|word| names(word, writing));
    }
    let reads = match subcommand {
        // `git config NAME` prints a value.
        "config" => {
            let scopes =
                ["--global", "--system", "--local", "--worktree", "--show-origin", "--null", "-z", "--bool"];
            let rest: Vec<_> =
                literals.iter().flatten().filter(|word| !scopes.contains(&word.as_ref())).collect();
            matches!(rest.as_slice(), [name] if !name.starts_with('-') && *name != "edit")
                || rest.first().is_some_and(|word| reading.contains(&word.as_ref()))
        }
        _ => literals
            .iter()
            .flatten()
            .find(|word| subcommand != "remote" || !has("-v --verbose", word))
            .map_or(subcommand == "remote" || subcommand == "submodule", |word| {
                reading.contains(&word.as_ref())
            }),
    };
    is_unknown || !reads
}
