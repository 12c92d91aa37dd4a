//! Recognises what a folder offers: plugins of Claude Code, collections of skills, and tau's own folders.
//!
//! A plugin has `.claude-plugin/plugin.json` and folders of fixed names; its manifest may name others. A
//! marketplace (`.claude-plugin/marketplace.json`) lists several. A skill or a folder of skills (agentskills.io)
//! needs no manifest. Sources: code.claude.com/docs/en/plugins-reference and /plugin-marketplaces.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::extensions::front_matter::FrontMatter;
use crate::extensions::skills;
use crate::settings::MAX_BYTES;
use crate::settings::private_files::{parse_json, read_json};
use tau_tools::user_error::UserError;

const MANIFEST: &str = ".claude-plugin/plugin.json";
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
/// The maximum length of a package's name.
const MAX_NAME_LEN: usize = 64;
/// The maximum length of its description, in characters.
const MAX_DESCRIPTION_LEN: usize = 300;
/// How deep folders are searched, as when they are loaded.
const MAX_DEPTH: usize = 5;

/// Parts that tau has no use for: the usual file or folder, the field of the manifest, and the name.
const UNUSED: [(Option<&str>, &str, &str); 7] = [
    (Some("settings.json"), "settings", "settings"),
    (Some("bin"), "bin", "programs for the search path"),
    (None, "experimental", "experimental parts"),
    (Some("output-styles"), "outputStyles", "output styles"),
    (Some(".lsp.json"), "lspServers", "language servers"),
    (None, "userConfig", "settings that it asks for"),
    (None, "dependencies", "plugins that it needs: add them by themselves"),
];

/// The files and folders of a package that tau uses, relative to its root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parts {
    /// Folders with skills, or of one.
    pub skills: Vec<String>,
    /// Folders of prompt templates, or files of one.
    pub prompts: Vec<String>,
    /// Folders of kinds of helpers, or files of one.
    pub kinds: Vec<String>,
    /// Folders of custom tools.
    pub tools: Vec<String>,
    /// JSON files with hooks.
    pub hooks: Vec<String>,
    /// JSON files with MCP servers.
    pub mcp: Vec<String>,
}

impl Parts {
    /// Whether nothing in it is for tau.
    pub fn is_empty(&self) -> bool {
        *self == Parts::default()
    }
}

/// The content of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Its own name, if it has one.
    pub name: Option<String>,
    pub description: String,
    pub version: Option<String>,
    pub parts: Parts,
    /// Parts that tau has no use for.
    pub unused: Vec<String>,
}

/// A plugin that a marketplace lists.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketplacePlugin {
    pub name: String,
    /// Where it is: a path in the marketplace (`./x`), or a source as `tau add` takes it; `None` if tau does not know
    /// sources of this kind.
    pub source: Option<String>,
    /// The folder of it in that source.
    pub folder: Option<String>,
    /// Its entry, which adds to its manifest.
    pub entry: Value,
}

/// Whether a text can be the name of a package, and of its folder.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(fits) && !name.starts_with(['.', '-'])
}

/// A usable name made from a text: `@scope/my plugin` gives `scope-my-plugin`.
pub fn name_of(text: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') { c } else { '-' };
    let name: String = text.chars().map(plain).collect();
    let name = name
        .trim_matches(['-', '.'])
        .get(..MAX_NAME_LEN.min(name.trim_matches(['-', '.']).len()))?
        .to_owned();
    is_name(&name).then_some(name)
}

/// The plugins of a marketplace; `None` if the folder is not a marketplace.
pub fn marketplace(root: &Path) -> Result<Option<Vec<MarketplacePlugin>>, UserError> {
    let Some(list) = json(root, MARKETPLACE)? else { return Ok(None) };
    let plugins =
        list.get("plugins").and_then(Value::as_array).ok_or(format!("{MARKETPLACE} has no plugins"))?;
    let base = list.pointer("/metadata/pluginRoot").and_then(Value::as_str).unwrap_or_default();
    let listed = |entry: &Value| {
        let name = entry.get("name")?.as_str()?.to_owned();
        let source = entry.get("source").and_then(|source| source_of(source, base));
        let text = |name: &str| entry.pointer(&format!("/source/{name}")).and_then(Value::as_str);
        let folder = text("path").filter(|_| text("source") == Some("git-subdir")).map(str::to_owned);
        Some(MarketplacePlugin { source, folder, name, entry: entry.clone() })
    };
    Ok(Some(plugins.iter().filter_map(listed).collect()))
}

/// The source of a listed plugin.
fn source_of(source: &Value, base: &str) -> Option<String> {
    if let Some(path) = source.as_str() {
        let is_bare = !path.starts_with('.') && !base.is_empty();
        return Some(if is_bare {
            format!("{}/{path}", base.trim_end_matches('/'))
        } else {
            path.to_owned()
        });
    }
    let get = |name: &str| source.get(name).and_then(Value::as_str);
    let at = get("sha").or(get("commit")).or(get("ref")).map(|at| format!("#{at}")).unwrap_or_default();
    match get("source")? {
        "github" => Some(format!("github:{}{at}", get("repo")?)),
        "url" | "git" | "git-subdir" => match get("url")? {
            repository if is_of_github(repository) => Some(format!("github:{repository}{at}")),
            url => Some(format!("git+{url}{at}")),
        },
        "npm" => {
            let version = get("version").map(|version| format!("@{version}")).unwrap_or_default();
            Some(format!("npm:{}{version}", get("package")?))
        }
        _ => None,
    }
}

/// Whether a text is a repository as GitHub names it: `OWNER/NAME`.
fn is_of_github(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

/// The extensions in the folder. `entry` is that of a marketplace.
pub fn of_folder(root: &Path, entry: Option<&Value>) -> Result<Layout, UserError> {
    let manifest = json(root, MANIFEST)?;
    let package = json(root, "package.json").ok().flatten();
    let sources = [manifest.as_ref(), entry, package.as_ref()];
    let text = |name: &str| {
        let found = sources.iter().flatten().find_map(|value| value.get(name)?.as_str());
        found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut layout = Layout {
        name: text("name").as_deref().and_then(name_of),
        description: text("description").unwrap_or_default().chars().take(MAX_DESCRIPTION_LEN).collect(),
        version: text("version"),
        ..Layout::default()
    };
    let manifests = [(manifest.as_ref(), Some(MANIFEST)), (entry, None)];
    let (parts, unused) = (&mut layout.parts, &mut layout.unused);
    for (list, field, usual) in [
        (&mut parts.skills, "skills", &["skills"][..]),
        (&mut parts.prompts, "commands", &["commands", "prompts"]),
        (&mut parts.kinds, "agents", &["agents"]),
        (&mut parts.tools, "tools", &["tools"]),
    ] {
        // An entry that names them means these of all that the marketplace has.
        if entry.is_none_or(|entry| entry.get(field).is_none()) {
            let usual = usual.iter().filter(|folder| root.join(folder).is_dir());
            list.extend(usual.map(|folder| (*folder).to_owned()));
        }
        for value in manifests.iter().filter_map(|(manifest, _)| manifest.as_ref()?.get(field)) {
            add_named_paths(root, value, list, unused)?;
            if value.is_object() {
                unused.push(format!("{field} as an object in the manifest"));
            }
        }
        let has_files = matches!(field, "commands" | "agents");
        let folders = list.clone();
        list.retain(|path| !folders.iter().any(|folder| holds_part(root, folder, path)));
        list.retain(|path| {
            let file = root.join(path);
            let is_used = file.is_dir() || has_files && file.extension().is_some_and(|end| end == "md");
            if !is_used {
                unused.push(format!("{path}, which is no folder"));
            }
            is_used
        });
    }
    drop_empty(root, parts);
    for (list, field, usual) in
        [(&mut parts.hooks, "hooks", "hooks/hooks.json"), (&mut parts.mcp, "mcpServers", ".mcp.json")]
    {
        if root.join(usual).is_file() {
            list.push(usual.to_owned());
        }
        for (manifest, place) in &manifests {
            match (manifest.as_ref().and_then(|manifest| manifest.get(field)), place) {
                // Its objects are in the manifest itself.
                (Some(Value::Object(_)), Some(place)) => list.push((*place).to_owned()),
                (Some(Value::Object(_)), None) => {
                    unused.push(format!("{field} in the entry of the marketplace"));
                }
                (Some(value), _) => add_named_paths(root, value, list, unused)?,
                (None, _) => {}
            }
        }
        list.dedup();
    }
    alone(root, manifest.is_some() || entry.is_some(), &mut layout);
    for (folder, field, what) in UNUSED {
        let is_named =
            manifests.iter().any(|(manifest, _)| manifest.is_some_and(|of| of.get(field).is_some()));
        if is_named || folder.is_some_and(|folder| root.join(folder).exists()) {
            layout.unused.push(what.to_owned());
        }
    }
    Ok(layout)
}

/// A skill without a manifest, or a folder of skills.
fn alone(root: &Path, has_manifest: bool, layout: &mut Layout) {
    if root.join(skills::FILE).is_file() {
        layout.parts.skills = vec![String::new()];
        let head = skills::head(&root.join(skills::FILE)).ok();
        let matter = head.and_then(|head| FrontMatter::parse(&head).ok());
        if let Some(matter) = matter.filter(|_| !has_manifest) {
            layout.name = matter.text("name").and_then(name_of).or(layout.name.take());
            let description = matter.text("description").unwrap_or_default();
            layout.description = description.chars().take(MAX_DESCRIPTION_LEN).collect();
        }
    } else if layout.parts.is_empty() && has_skills(root, 0) {
        layout.parts.skills = vec![String::new()];
    }
}

/// Whether there is a skill below this folder.
fn has_skills(folder: &Path, depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    folders
        .map(|entry| entry.path())
        .any(|inner| inner.join(skills::FILE).is_file() || depth < MAX_DEPTH && has_skills(&inner, depth + 1))
}

/// Whether a file, or a folder of one skill, is found in this folder without being named.
fn holds_part(root: &Path, folder: &str, path: &str) -> bool {
    let whole = root.join(path);
    let is_part = whole.is_file() || whole.join(skills::FILE).is_file();
    is_part && Path::new(path).parent() == Some(Path::new(folder))
}

/// Drops folders without a file of tau's: others of these names hold something else, or nothing.
fn drop_empty(root: &Path, parts: &mut Parts) {
    let is_skill = |folder: &Path| folder.join(skills::FILE).is_file() || has_skills(folder, 0);
    parts.skills.retain(|path| is_skill(&root.join(path)));
    for (list, endings, depth) in [
        (&mut parts.prompts, &["md"][..], 0),
        (&mut parts.kinds, &["md", "toml"], 0),
        (&mut parts.tools, &["toml"], MAX_DEPTH),
    ] {
        list.retain(|path| root.join(path).is_file() || holds(&root.join(path), endings, depth));
    }
}

/// Whether the folder, or one below it, has a file with such an ending; it is itself `depth` folders deep.
fn holds(folder: &Path, endings: &[&str], depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => depth < MAX_DEPTH && holds(&path, endings, depth + 1),
        false => path.extension().is_some_and(|found| endings.iter().any(|ending| found == *ending)),
    })
}

/// Adds the paths that a manifest names: one, or a list. Those that do not exist are noted.
fn add_named_paths(
    root: &Path,
    value: &Value,
    list: &mut Vec<String>,
    unused: &mut Vec<String>,
) -> Result<(), UserError> {
    let paths: Vec<&str> = match value {
        Value::String(path) => vec![path],
        Value::Array(paths) => paths.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for path in paths {
        let plain =
            inside(path).ok_or_else(|| format!("its manifest names {path}, which is not in the package"))?;
        if !root.join(&plain).exists() {
            unused.push(format!("{plain}, which the manifest names and is not there"));
        } else if !list.contains(&plain) {
            list.push(plain);
        }
    }
    Ok(())
}

/// The path without `./`; `None` if it leads out of the folder it is relative to.
pub fn inside(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

/// A file of MCP servers with its servers under `mcpServers`, which plugins may leave out.
pub(super) fn as_mcp_file(text: &str) -> String {
    match parse_json::<Value>(text) {
        Ok(Value::Object(servers)) if !servers.contains_key("mcpServers") => {
            serde_json::json!({ "mcpServers": servers }).to_string()
        }
        _ => text.to_owned(),
    }
}

/// A JSON file; `None` if it does not exist.
fn json(root: &Path, path: &str) -> Result<Option<Value>, UserError> {
    read_json(&root.join(path), MAX_BYTES).map_err(|error| format!("{path}: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    const SKILL: &str = "---\nname: pdf\ndescription: Reads PDF files.\n---\nText\n";

    #[test]
    fn a_plugin_has_usual_folders_and_named_ones() {
        let plugin = folder(&[
            (
                MANIFEST,
                r#"{"name":"My Plugin","version":"1.2","description":"Does.","skills":["./more","./skills/a"],
                "commands":["./x","./none","./one.md","./commands/c.md"],"agents":["./cfg/ag.md","./cfg/ag.js","./agents/a.md"],"lspServers":{},"userConfig":{},"dependencies":["other"],"mcpServers":{"db":{"command":"db"}},"hooks":"./h.json"}"#,
            ),
            ("skills/a/SKILL.md", SKILL),
            ("more/b/SKILL.md", SKILL),
            ("x/y.md", "y"),
            ("one.md", "one"),
            ("cfg/ag.md", "ag"),
            ("cfg/ag.js", "ag"),
            ("commands/c.md", "c"),
            ("tools/helper.py", "print()"),
            ("hooks/hooks.json", "{}"),
            ("h.json", "{}"),
            (".mcp.json", "{}"),
            ("agents/a.md", "a"),
            ("output-styles/a.md", "a"),
        ]);
        let layout = of_folder(plugin.path(), None).unwrap();
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!((layout.name.as_deref(), layout.version.as_deref()), (Some("My-Plugin"), Some("1.2")));
        assert_eq!(
            layout.unused,
            [
                "none, which the manifest names and is not there",
                "cfg/ag.js, which is no folder",
                "output styles",
                "language servers",
                "settings that it asks for",
                "plugins that it needs: add them by themselves"
            ]
        );
        let expected = Parts {
            skills: texts(&["skills", "more"]),
            prompts: texts(&["commands", "x", "one.md"]),
            kinds: texts(&["agents", "cfg/ag.md"]),
            tools: Vec::new(),
            hooks: texts(&["hooks/hooks.json", "h.json"]),
            mcp: texts(&[".mcp.json", MANIFEST]),
        };
        assert_eq!(layout.parts, expected);
        let out = folder(&[(MANIFEST, r#"{"name":"x","commands":"../other"}"#)]);
        assert!(of_folder(out.path(), None).unwrap_err().contains("../other"));
        let broken = folder(&[(MANIFEST, "{")]);
        assert!(of_folder(broken.path(), None).unwrap_err().starts_with(MANIFEST));
    }

    #[test]
    fn skills_need_no_manifest() {
        let one = of_folder(folder(&[("SKILL.md", SKILL)]).path(), None).unwrap();
        assert_eq!((one.name.as_deref(), one.description.as_str()), (Some("pdf"), "Reads PDF files."));
        assert_eq!(one.parts.skills, [""]);
        let many = of_folder(folder(&[("docs/pdf/SKILL.md", SKILL)]).path(), None).unwrap();
        assert_eq!((many.name, many.parts.skills), (None, vec![String::new()]));
        for empty in [
            &[("README.md", "x")][..],
            &[("skills/README.md", "x"), ("commands/a.txt", "x"), ("agents/a.js", "x"), ("tools/a.py", "x")],
            &[("skills/x/skill.md", SKILL)],
            &[("skills/.curated/x/SKILL.md", SKILL)],
        ] {
            assert!(of_folder(folder(empty).path(), None).unwrap().parts.is_empty(), "{empty:?}");
        }
    }

    #[test]
    fn a_marketplace_lists_plugins() {
        let market = folder(&[(
            MARKETPLACE,
            r#"{"plugins":[{"name":"a","source":"./plugins/a"},
            {"name":"b","source":{"source":"github","repo":"o/r","ref":"v1"}},
            {"name":"c","source":{"source":"npm","package":"@s/p","version":"2.0.0"}},{"source":"./d"},
            {"name":"e","source":{"source":"url","url":"https://h.example/e.git"}},
            {"name":"f","source":{"source":"git-subdir","url":"https://h.example/f.git","path":"p"}}]}"#,
        )]);
        let listed = marketplace(market.path()).unwrap().unwrap();
        let found: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.source.as_deref())).collect();
        let expected = [
            ("a", Some("./plugins/a")),
            ("b", Some("github:o/r#v1")),
            ("c", Some("npm:@s/p@2.0.0")),
            ("e", Some("git+https://h.example/e.git")),
            ("f", Some("git+https://h.example/f.git")),
        ];
        assert_eq!(found, expected);
        assert_eq!(marketplace(folder(&[]).path()), Ok(None));
        // The entry stands for a manifest.
        let skills = folder(&[("skills/a/SKILL.md", SKILL), ("skills/b/SKILL.md", SKILL)]);
        let entry = serde_json::json!({"name": "office", "skills": ["./skills/a"]});
        let layout = of_folder(skills.path(), Some(&entry)).unwrap();
        assert_eq!((layout.name.as_deref(), layout.parts.skills.len()), (Some("office"), 1));
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(name_of("@scope/my plugin").as_deref(), Some("scope-my-plugin"));
        for wrong in ["", "..", "/", ".git", "-x"] {
            assert!(!is_name(wrong), "{wrong}");
        }
        assert_eq!((name_of("///"), name_of("..")), (None, None));
        assert_eq!((inside("./a//b/."), inside("a/../b"), inside("/a")), (Some("a/b".into()), None, None));
    }
}
