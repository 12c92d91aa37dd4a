//! Settings, keys, the model catalogue and the prompt history.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use crate::time_limit::{InTime, RunInTime};
use serde_json::json;
use tau::agent::catalogue::keys::{EnvLookup, KeySource, Keys};
use tau::agent::catalogue::{AdHoc, Catalogue, NotFound, demo, listing};
use tau::agent::protocol::model::{Api, ThinkingLevel};
use tau::agent::provider::FailureKind;
use tau::agent::secrets::Secret;
use tau::agent::session::prompt_history::{MAX_PROMPTS, PromptHistory};
use tau::agent::settings::value::BaseUrl;
use tau::agent::settings::{Paths, Settings, write};
use tempfile::TempDir;

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Home(tempfile::tempdir().unwrap())
    }

    fn with(file: &str, text: &str) -> Self {
        let home = Home::new();
        fs::write(home.path().join(file), text).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn paths(&self) -> Paths {
        Paths::discover(Some(self.path())).unwrap()
    }
}

fn env(variables: &[(&str, &str)]) -> EnvLookup {
    let variables: HashMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Arc::new(move |name| variables.get(name).cloned())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_is_under_the_home_of_tau() {
    let paths = Paths::discover(Some(Path::new("/t"))).unwrap();
    assert_eq!(paths.config_file(), Path::new("/t/config.toml"));
    assert_eq!(paths.state, Path::new("/t/logs"));
    assert_eq!(paths.cache, Path::new("/t/cache"));
    assert_eq!(paths.sessions_for(Path::new("/srv/web app/x")), Path::new("/t/sessions/--srv-web app-x--"));
    assert_eq!(paths.sessions_for(Path::new("/")), Path::new("/t/sessions/----"));
}

#[test]
fn settings_say_what_is_wrong_with_them() {
    let check = |text: &str, expected: &str| {
        let home = Home::with("config.toml", text);
        let error = Settings::load(&home.paths()).unwrap_err().to_string();
        let file = format!("{}/", home.path().display());
        assert_eq!(error.replace(&file, ""), expected, "{text}");
    };
    let unknown = "config.toml:3: unknown name `them`; did you mean `theme`?";
    check("# a\nmodel = \"x\"\nthem = \"y\"\n", unknown);
    check("model = 1\n", "config.toml:1: this needs a text in quotes, not the number 1");
    check("\nthinking = \"hgih\"", "config.toml:2: unknown value `hgih`; did you mean `high`?");
    for (gone, instead) in [
        (
            "api = \"openai\"",
            "`api` is gone: write a [vendors.NAME] in models.toml, or use /login (docs/models.md)",
        ),
        ("network = \"off\"", "`network` is gone: write `network` in the table [sandbox]"),
        ("sandbox_mcp = true", "`sandbox_mcp` is gone: write `mcp` in the table [sandbox]"),
        ("idle_timeout = 9", "`idle_timeout` is gone: write `idle` in the table [timeouts]"),
        ("mcp_wait = 9", "`mcp_wait` is gone: tau finds the value by itself; remove the line"),
        ("sandbox = \"off\"", "this needs a table, not the text \"off\""),
        ("[sandbox]\nlevle = \"off\"", "unknown name `levle`; did you mean `level`?"),
    ] {
        let line = if gone.contains("levle") { 2 } else { 1 };
        check(gone, &format!("config.toml:{line}: {instead}"));
    }
    check("model = \"a\"\nmodel = \"b\"", "config.toml:2: is not valid TOML (duplicate key); fix the line");
    let unclosed = "config.toml:1: is not valid TOML (invalid basic string, expected `\"`); fix the line";
    check("theme = \"dark", unclosed);
    check(
        "bogus = 1",
        "config.toml:1: unknown name `bogus`; /settings in tau and docs/configuration.md list the names",
    );
    let large = "# \n".repeat(400_000);
    check(&large, "config.toml: larger than 1024 KB");
    let deep = format!("keys = {}", "[".repeat(100_000));
    let home = Home::with("config.toml", &deep);
    assert!(Settings::load(&home.paths()).is_err());
    fs::write(home.path().join("config.toml"), b"model = \"\xff\"").unwrap();
    assert!(Settings::load(&home.paths()).unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn settings_are_read_from_regular_files_only() {
    let home = Home::new();
    assert_eq!(Settings::load(&home.paths()), Ok(Settings::default()), "no file");
    let path = home.path().join("config.toml");
    assert!(std::process::Command::new("mkfifo").arg(&path).status_in_time().success());
    assert!(Settings::load(&home.paths()).unwrap_err().to_string().contains("not a regular file"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(Settings::load(&home.paths()).is_err());
}

#[test]
fn the_environment_wins_over_the_file() {
    let home = Home::with(
        "config.toml",
        "\u{feff}model = \"a\"\ntheme = \"t\"\nthinking = \"low\"\nhide_thinking = true\n",
    );
    let settings = Settings::load(&home.paths()).unwrap();
    let lookup = env(&[
        ("TAU_MODEL", "b"),
        ("TAU_PROVIDER", "p"),
        ("TAU_BASE_URL", "http://u"),
        ("TAU_API", "anthropic-messages"),
        ("TAU_API_KEY", "k"),
        ("TAU_SESSION_DIR", "/s"),
        ("TAU_THEME", " "),
        ("TAU_THINKING", "max"),
    ]);
    let settings = settings.with_env(&*lookup).unwrap();
    let expected = Settings {
        model: Some("b".into()),
        provider: Some("p".into()),
        base_url: Some(BaseUrl::new("http://u").unwrap()),
        api: Some(Api::AnthropicMessages),
        api_key: Some(Secret::new("k")),
        session_dir: Some("/s".into()),
        theme: Some("t".into()),
        thinking: Some(ThinkingLevel::Max),
        hide_thinking: Some(true),
        ..Settings::default()
    };
    assert_eq!(settings, expected);
    assert_eq!(settings.session_dir_for(&home.paths(), Path::new("/x")), Path::new("/s"));
    for (name, value) in [("TAU_THINKING", "much"), ("TAU_API", "scripted")] {
        let error = Settings::default().with_env(&*env(&[(name, value)])).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}: `{value}` is not known; use one of ")), "{error}");
    }
}

#[test]
fn a_tilde_in_a_path_is_the_home_directory() {
    let own = std::env::home_dir().unwrap();
    let home =
        Home::with("config.toml", "session_dir = \"~/s\"\nca_file = \"~/ca.pem\"\nshell = \"~x/sh\"\n");
    let settings = Settings::load(&home.paths()).unwrap();
    assert_eq!(settings.session_dir, Some(own.join("s")));
    assert_eq!(settings.ca_file, Some(own.join("ca.pem")));
    assert_eq!(settings.shell, Some("~x/sh".into()), "no name of a user");
    let settings = settings.with_env(&*env(&[("TAU_SESSION_DIR", "~")])).unwrap();
    assert_eq!(settings.session_dir, Some(own));
}

#[test]
fn saving_one_setting_keeps_the_file() {
    let home = Home::new();
    let path = home.paths().config_file();
    write::save(&home.paths().shared_file(path.clone()), "theme", "day").unwrap();
    fs::write(&path, "# mine\ntheme = 'x'\n\n[keys]\nquit = [\"q\"]\n").unwrap();
    write::save(&home.paths().shared_file(path.clone()), "theme", "night").unwrap();
    write::save(&home.paths().shared_file(path.clone()), "model", "a/b").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "# mine\ntheme = \"night\"\nmodel = \"a/b\"\n\n[keys]\nquit = [\"q\"]\n");
    assert!(write::save(&home.paths().shared_file(path.clone()), "colour", "x").is_err());
    assert!(write::save(&home.paths().shared_file(path.clone()), "mouse", "x").is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let real = home.path().join("dotfiles.toml");
    fs::rename(&path, &real).unwrap();
    symlink(&real, &path).unwrap();
    write::save(&home.paths().shared_file(path.clone()), "theme", "link").unwrap();
    assert!(path.is_symlink() && fs::read_to_string(&real).unwrap().contains("\"link\""));
}

/// An unusable address is an error before anything is sent, not after five attempts.
#[test]
fn an_address_that_cannot_be_used_is_refused_at_once() {
    let run = |config: &str, models: &str, variable: &str, args: &[&str]| {
        let home = Home::with("config.toml", config);
        fs::write(home.path().join("models.toml"), models).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["-p", "hi"]).args(args).stdin(std::process::Stdio::null()).current_dir(home.path());
        command
            .env_clear()
            .env("HOME", home.path())
            .env("TAU_HOME", home.path())
            .env("TAU_BASE_URL", variable);
        let output = command.output_in_time();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let model = ["--model", "m"];
    let wrong = "`localhost:1/v1` is not a URL of a server; write http://HOST or https://HOST";
    let (code, told) = run("", "", "", &["--model", "m", "--base-url", "localhost:1/v1"]);
    assert!(code == Some(2) && told.contains(wrong), "{told}");
    let (code, told) = run("", "", "localhost:1/v1", &model);
    assert!(code == Some(3) && told.contains(&format!("TAU_BASE_URL: {wrong}")), "{told}");
    let (code, told) = run("theme = 'dark'\nbase_url = 'http://h/v1'\n", "", "", &model);
    let gone = "config.toml:2: `base_url` is gone: write a [vendors.NAME] in models.toml";
    assert!(code == Some(3) && told.contains(gone), "{told}");
    let models = "[vendors.a]\nname = 'A'\nbase_url = 'localhost:1/v1'\n";
    let (code, told) = run("", models, "", &model);
    assert!(code == Some(3) && told.contains(&format!("models.toml:3: {wrong}")), "{told}");
}

/// A catalogue and keys for a `models.toml`, settings of the environment, and other variables.
struct Setup {
    home: Home,
    catalogue: Arc<Catalogue>,
    keys: Keys,
}

fn setup(models: &str, config: &str, variables: &[(&str, &str)], flag: Option<(&str, &str)>) -> Setup {
    let home = Home::with("models.toml", models);
    let paths = home.paths();
    // Each line is a variable.
    let given: std::collections::BTreeMap<String, String> = toml::from_str(config).unwrap();
    let lookup = |name: &str| given.get(&name.strip_prefix("TAU_")?.to_lowercase()).cloned();
    let settings = Settings::default().with_env(&lookup).unwrap();
    let catalogue = Arc::new(Catalogue::load(&paths, &settings, None).unwrap());
    let flag = flag.map(|(provider, key)| (provider.to_owned(), Secret::new(key)));
    let keys = Keys::new(&paths, &settings, Arc::clone(&catalogue), env(variables), flag);
    Setup { home, catalogue, keys }
}

impl Setup {
    /// The key for a model, `-` if it needs none, otherwise the failure.
    fn key(&self, model: &str) -> String {
        let model = self.catalogue.find(model).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match runtime.block_on(async { self.keys.key(&model).in_time("the key").await }) {
            Ok(Some(key)) => key.expose().to_owned(),
            Ok(None) => "-".to_owned(),
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Config);
                failure.to_string()
            }
        }
    }
}

const CLAUDE: &str = "anthropic/claude-haiku-4-5";

#[test]
fn keys_have_an_order() {
    let config = "provider = \"anthropic\"\napi_key = \"from-config\"\n";
    let models = "[vendors.anthropic]\napi_key = \"from-models\"\n";
    let variables = [("ANTHROPIC_API_KEY", " from-env\n"), ("OTHER", "from-other"), ("OPENAI_API_KEY", "o")];
    let all = setup(models, config, &variables, Some(("anthropic", "from-flag")));
    assert_eq!(all.key(CLAUDE), "from-flag");
    assert_eq!(all.key("openai/gpt-5"), "o", "a flag's key goes to its provider only");
    for (flag, key) in
        [("$OTHER", "from-other"), ("${OTHER}", "from-other"), ("!echo printed-key", "printed-key")]
    {
        let named = setup(models, config, &variables, Some(("anthropic", flag)));
        assert_eq!(named.keys.check_flag(), Ok(()));
        assert_eq!((named.key(CLAUDE), named.key("openai/gpt-5")), (key.into(), "o".into()), "{flag}");
        assert!(named.keys.secret_values().contains(&Secret::new(key)), "{flag}");
    }
    let unset = setup(models, config, &variables, Some(("anthropic", "$NO_SUCH_VARIABLE")));
    let complaint = "--api-key: the environment variable NO_SUCH_VARIABLE is not set";
    assert_eq!(unset.keys.check_flag(), Err(complaint.to_owned().into()));
    let no_flag = setup(models, config, &variables, None);
    assert_eq!(no_flag.key(CLAUDE), "from-env");
    let files = setup(models, config, &[("ANTHROPIC_API_KEY", "")], None);
    files.keys.store("anthropic", &Secret::new("from-auth")).unwrap();
    assert_eq!(files.key(CLAUDE), "from-auth");
    assert!(files.keys.remove("anthropic").unwrap());
    assert!(!files.keys.remove("anthropic").unwrap());
    assert_eq!(files.key(CLAUDE), "from-models");
    assert_eq!(setup("", config, &[], None).key(CLAUDE), "from-config");
    let variable = config.replace("from-config", "$OTHER");
    assert_eq!(setup("", &variable, &variables[1..], None).key(CLAUDE), "from-other");
    let missing = "no key for anthropic (set ANTHROPIC_API_KEY, or use /login)";
    assert_eq!(setup("", "", &[], None).key(CLAUDE), missing);
    let model = format!("model = \"{CLAUDE}\"\napi_key = \"beside\"\n");
    assert_eq!(setup("", &model, &[], None).key(CLAUDE), "beside");
}

#[test]
fn servers_of_ones_own_need_no_key() {
    let models = "[vendors.lan]\nbase_url = \"http://10.0.0.1/v1\"\n[[vendors.lan.models]]\nid = \"m\"\n\
        [vendors.shut]\nbase_url = \"http://10.0.0.1/v1\"\nenv = \"SHUT_KEY\"\n[[vendors.shut.models]]\nid = \"m\"\n";
    let setup_lan = setup(models, "", &[], None);
    assert_eq!(setup_lan.key("lan/m"), "-");
    assert_eq!(setup_lan.key("shut/m"), "no key for shut (set SHUT_KEY, or use /login)");
    assert_eq!(setup_lan.key("demo"), "-");
    let local = setup("", "base_url = \"http://127.0.0.1:8080/v1\"\nmodel = \"m:8b\"\n", &[], None);
    assert_eq!(local.key("m:8b"), "-");
    let keyed = "base_url = \"http://127.0.0.1:8080/v1\"\nmodel = \"m\"\napi_key = \"k\"\n";
    assert_eq!(setup("", keyed, &[], None).key("m"), "k");
    assert_eq!(
        setup("", keyed, &[], None).key(CLAUDE),
        "no key for anthropic (set ANTHROPIC_API_KEY, or use /login)"
    );
}

#[test]
fn commands_print_keys_once() {
    let home = Home::new();
    let count = home.path().join("count");
    let command = format!("!echo x >> '{}'; echo \\\"$ANTHROPIC_API_KEY\\\"printed-key", count.display());
    let config = format!("provider = \"xai\"\napi_key = \"{command}\"\n");
    let setup_xai = setup("", &config, &[], None);
    let model = "xai/grok-4.3";
    assert!(
        setup_xai.keys.providers_with_keys(["xai"]) == ["xai"] && setup_xai.keys.secret_values().is_empty()
    );
    assert_eq!((setup_xai.key(model), setup_xai.key(model)), ("printed-key".into(), "printed-key".into()));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    assert_eq!(setup_xai.keys.secret_values(), [Secret::new("printed-key")]);
    let endless = ("!yes", "printed more than 64 KB");
    for (command, expected) in [("!exit 3", "failed"), ("!true", "printed nothing"), endless] {
        let config = format!("provider = \"xai\"\napi_key = \"{command}\"\n");
        let failure = setup("", &config, &[], None).key(model);
        assert!(failure.starts_with("the command for the key ") && failure.contains(expected), "{failure}");
    }
}

#[test]
fn a_refused_key_is_asked_for_again() {
    let home = Home::new();
    let token = home.path().join("token");
    fs::write(&token, "first-token").unwrap();
    let config = format!("provider = \"xai\"\napi_key = \"!cat '{}'\"\n", token.display());
    let setup_xai = setup("", &config, &[], None);
    let model = setup_xai.catalogue.find("xai/grok-4.3").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let renewed = |refused: &str| {
        let renewed = runtime.block_on(async {
            setup_xai.keys.replacement_key(&model, &Secret::new(refused)).in_time("the key").await
        });
        renewed.map(|key| key.map(|key| key.expose().to_owned())).map_err(|failure| failure.to_string())
    };
    assert_eq!(setup_xai.key("xai/grok-4.3"), "first-token");
    fs::write(&token, "second-token").unwrap();
    assert_eq!(setup_xai.key("xai/grok-4.3"), "first-token", "it is kept while it is good");
    assert_eq!(renewed("another-token"), Ok(Some("first-token".into())), "only the refused one goes");
    assert_eq!(renewed("first-token"), Ok(Some("second-token".into())));
    assert_eq!(renewed("second-token"), Ok(None), "there is no other");
    assert_eq!(setup_xai.key("xai/grok-4.3"), "second-token");
    let known = setup_xai.keys.secret_values();
    assert_eq!(known, [Secret::new("first-token"), Secret::new("second-token")]);
    fs::remove_file(&token).unwrap();
    assert!(renewed("second-token").unwrap_err().starts_with("the command for the key failed"));
    let fixed = setup("", "provider = \"xai\"\napi_key = \"fixed-key\"\n", &[], None);
    assert_eq!(
        runtime
            .block_on(async {
                fixed.keys.replacement_key(&model, &Secret::new("fixed-key")).in_time("the key").await
            })
            .unwrap(),
        None
    );
}

#[test]
fn stored_keys_are_private_and_keep_company() {
    let setup_auth = setup("", "", &[], None);
    let path = setup_auth.home.path().join("auth.json");
    let other = json!({"theirs": {"type": "oauth", "refresh": "r"}});
    fs::write(&path, other.to_string()).unwrap();
    setup_auth.keys.store("openai", &Secret::new(" sk-12345678 ")).unwrap();
    assert_eq!(mode(&path), 0o600);
    let stored: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(stored["openai"], json!({"type": "api_key", "key": "sk-12345678"}));
    assert_eq!(stored["theirs"], other["theirs"]);
    assert_eq!(setup_auth.keys.providers_with_keys(["openai", "theirs"]), ["openai"]);
    assert_eq!(setup_auth.keys.stored_providers(), ["theirs", "openai"]);
    assert_eq!(setup_auth.keys.secret_values(), [Secret::new("sk-12345678")]);
    fs::write(&path, "broken").unwrap();
    assert!(setup_auth.keys.store("openai", &Secret::new("x")).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "broken");
    assert!(setup_auth.key(CLAUDE).contains("auth.json"));
}

#[test]
fn known_values_are_all_keys_once() {
    let models = "[vendors.lan]\nbase_url = \"http://l\"\nenv = \"LAN_KEY\"\napi_key = \"$LAN_TOO\"\n\
        headers = { x-team = \"red\", x-gateway = \"Token six-is-long\", anthropic-beta = \"not-a-secret\" }\n\
        [[vendors.lan.models]]\nid = \"m\"\nheaders = { cookie = \"seven-is-long\" }\n";
    let variables = [
        ("OPENAI_API_KEY", "one"),
        ("XAI_API_KEY", "one"),
        ("LAN_KEY", "two"),
        ("LAN_TOO", "three"),
        ("HOME", "h"),
    ];
    let setup_all =
        setup(models, "provider = \"xai\"\napi_key = \"four\"", &variables, Some(("groq", "five")));
    let mut values: Vec<String> =
        setup_all.keys.secret_values().iter().map(|key| key.expose().to_owned()).collect();
    values.sort();
    let headers = ["Token six-is-long", "five", "four", "one", "seven-is-long", "six-is-long"];
    assert_eq!(values, [&headers[..], &["three", "two"]].concat());
}

#[test]
fn queries_find_models() {
    let catalogue = Catalogue::default();
    let check = |query: &str, expected: &str| {
        let found = catalogue.find(query).map(|model| model.reference());
        assert_eq!(found.unwrap_or_else(|error| panic!("{error}")), expected, "{query}");
    };
    check("demo", "demo/demo");
    check(CLAUDE, CLAUDE);
    check("claude-haiku-4-5", CLAUDE);
    check("Claude-Haiku-4-5:high", CLAUDE);
    check("anthropic haiku-4-5", CLAUDE);
    check("openrouter/anthropic/claude-haiku-4.5", "openrouter/anthropic/claude-haiku-4.5");
    check("gpt-5", "openai/gpt-5");
    let near = |query: &str| -> NotFound { catalogue.find(query).unwrap_err() };
    let wrong = near("anthropic/claude-haiku-4-6");
    assert!(!wrong.ambiguous && wrong.near.contains(&CLAUDE.to_owned()), "{wrong}");
    let many = near("claude");
    assert!(many.ambiguous && many.near.len() == 8, "{many}");
    assert_eq!(
        near("zzzzzzzzzz").to_string(),
        "no model matches \"zzzzzzzzzz\"; run `tau models` to list them"
    );
    assert!(near("").near.is_empty());

    let with_keys = setup("", "", &[("OPENROUTER_API_KEY", "k")], None);
    let find = |query: &str| with_keys.catalogue.find_at(&with_keys.keys, None, query).unwrap();
    assert_eq!(find("gpt-5:low").0.reference(), "openrouter/openai/gpt-5", "the provider with a key");
    assert_eq!(find("gpt-5:low").1, Some(ThinkingLevel::Low));
    assert_eq!(find("openai/gpt-5").0.reference(), "openai/gpt-5");
    // Ids of hosts begin with the maker's name, which may be a provider too.
    let (host, id) = ("openrouter/deepseek/deepseek-chat", "deepseek/deepseek-chat");
    assert!(catalogue.get("deepseek", "deepseek-chat").is_none(), "take another id for this test");
    assert_eq!(find(id).0.reference(), host);
    let at = |provider: &str| with_keys.catalogue.find_at(&with_keys.keys, Some(provider), "deepseek-chat");
    let wrong = at("deepseek").unwrap_err();
    assert!(wrong.near.iter().all(|near| near.starts_with("deepseek/")), "{wrong}");
    assert_eq!(at("openrouter").unwrap().0.reference(), host);
    let both = setup("", "", &[("OPENROUTER_API_KEY", "k"), ("DEEPSEEK_API_KEY", "k")], None);
    assert!(
        both.catalogue.find_at(&both.keys, None, id).is_err(),
        "it went to another provider than the named one"
    );
    let configured = with_keys.catalogue.usable_models(&with_keys.keys);
    assert!(configured.len() > 300 && configured.iter().all(|model| model.provider == "openrouter"));
    assert_eq!(with_keys.catalogue.get("demo", "demo").as_deref(), Some(&demo()));
    assert_eq!(with_keys.catalogue.get("openai", "nothing"), None);
}

#[test]
fn the_user_adds_and_overrides() {
    let models = r#"
[vendors.local]
base_url = "http://127.0.0.1:8080/v1/"
headers = { "x-team" = "red" }
[[vendors.local.models]]
id = "coder-32b"
context_window = 32768
reasoning = true
thinking_levels = { off = false, high = "hard" }
cost = { input = 0.5 }

[vendors.anthropic]
base_url = "https://proxy.example/v1/"
quirks = { x = 1 }
[[vendors.anthropic.models]]
id = "claude-haiku-4-5"
context_window = 1000
[[vendors.anthropic.models]]
id = "claude-new"
"#;
    let setup_own = setup(models, "", &[], None);
    // Both ways to find a model agree: by its name alone, and among all.
    for whole in [false, true] {
        if whole {
            assert!(setup_own.catalogue.models().len() > 1115);
        }
        let coder = setup_own.catalogue.get("local", "coder-32b").unwrap();
        assert_eq!(coder.base_url, "http://127.0.0.1:8080/v1");
        assert_eq!((coder.api, coder.context_window, coder.max_tokens), (Api::OpenaiCompletions, 32768, 0));
        assert_eq!((coder.headers["x-team"].as_str(), coder.cost.unwrap().input), ("red", 0.5));
        assert!(!coder.levels().contains(&ThinkingLevel::Off));
        let haiku = setup_own.catalogue.find(CLAUDE).unwrap();
        assert_eq!((haiku.context_window, haiku.max_tokens), (1000, 64000));
        assert_eq!(haiku.base_url, "https://proxy.example", "this format adds the version itself");
        assert!(haiku.quirks.contains_key("x") && haiku.quirks.contains_key("supports_strict_tools"));
        let new = setup_own.catalogue.get("anthropic", "claude-new").unwrap();
        assert_eq!((new.api, new.cost), (Api::AnthropicMessages, None));
    }
    let configured = setup_own.catalogue.usable_models(&setup_own.keys);
    assert_eq!(configured.iter().map(|model| model.reference()).collect::<Vec<_>>(), ["local/coder-32b"]);
    let home = Home::with("models.toml", "[vendors.x]\nbase_ur = \"y\"\n");
    let error = Catalogue::load(&home.paths(), &Settings::default(), None).unwrap_err().to_string();
    assert!(error.ends_with("models.toml:2: unknown name `base_ur`; did you mean `base_url`?"), "{error}");
}

#[test]
fn an_address_makes_a_provider() {
    let adhoc = |provider: Option<&str>, base_url: &str, model: Option<&str>| AdHoc {
        provider: provider.map(str::to_owned),
        base_url: base_url.to_owned(),
        api: None,
        model: model.map(str::to_owned),
    };
    let check = |adhoc: AdHoc, query: &str, reference: &str, api: Api, window: u64| {
        let catalogue = Catalogue::new(Default::default(), Some(adhoc.clone()));
        let model = catalogue.adhoc_model().unwrap();
        assert_eq!((model.reference().as_str(), model.api, model.context_window), (reference, api, window));
        assert_eq!(model.base_url, adhoc.base_url.trim_end_matches('/'));
        assert_eq!(catalogue.find(query).unwrap(), model);
    };
    let local = "http://localhost:1234/v1/";
    check(adhoc(None, local, None), "default", "local/default", Api::OpenaiCompletions, 0);
    check(
        adhoc(None, local, Some("openai/gpt-5")),
        "openai/gpt-5",
        "local/openai/gpt-5",
        Api::OpenaiCompletions,
        400_000,
    );
    check(
        adhoc(None, "https://x.example/v1", Some("m:8b")),
        "m:8b",
        "x.example/m:8b",
        Api::OpenaiCompletions,
        0,
    );
    check(adhoc(Some("mine"), local, Some("mine/m:high")), "m", "mine/m", Api::OpenaiCompletions, 0);
    let known = adhoc(Some("anthropic"), "http://proxy", Some("claude-haiku-4-5"));
    check(known, "claude-haiku-4-5", CLAUDE, Api::AnthropicMessages, 200_000);
    let model = adhoc(Some("anthropic"), "http://proxy/v1", Some("m")).model();
    assert_eq!((model.base_url.as_str(), model.api), ("http://proxy", Api::AnthropicMessages));
}

#[test]
fn answers_of_servers_give_ids() {
    let cases = [
        (json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}), vec!["a", "b"]),
        (json!({"models": [{"name": "models/gemini-x"}]}), vec!["gemini-x"]),
        (json!({"models": [{"name": "llama3:8b", "model": "llama3:8b"}]}), vec!["llama3:8b"]),
        (json!(["a"]), vec!["a"]),
        (json!({"data": []}), vec![]),
    ];
    for (answer, expected) in cases {
        let ids: Vec<String> = listing::parse(&answer).unwrap().into_iter().map(|listed| listed.id).collect();
        assert_eq!(ids, expected, "{answer}");
    }
    for answer in [json!({"error": "x"}), json!(7), json!({"data": {}})] {
        assert_eq!(listing::parse(&answer), None, "{answer}");
    }
}

#[test]
fn prompts_are_remembered() {
    let home = Home::new();
    let history = PromptHistory::new(&home.paths());
    let (here, there) = (Path::new("/here"), Path::new("/there"));
    assert!(history.load(here, 10).is_empty());
    for (cwd, text) in
        [(here, "one"), (there, "two"), (here, "three\nlines"), (there, "one"), (here, "  "), (here, "one")]
    {
        history.append(cwd, text).unwrap();
    }
    assert_eq!(history.load(here, 10), ["one", "three\nlines", "two"]);
    assert_eq!(history.load(there, 2), ["one", "two"]);
    let path = home.path().join("prompts.jsonl");
    assert_eq!(mode(&path), 0o600);
    fs::write(&path, format!("{}broken\n", fs::read_to_string(&path).unwrap())).unwrap();
    assert_eq!(history.load(here, 1), ["one"]);
    for number in 0..MAX_PROMPTS + 50 {
        history.append(here, &format!("{number} {}", "x".repeat(1100))).unwrap();
    }
    assert!(fs::metadata(&path).unwrap().len() < 1024 * 1024);
    let all = history.load(here, usize::MAX);
    assert!(all.len() <= MAX_PROMPTS && all[0].starts_with(&format!("{} ", MAX_PROMPTS + 49)));
}
