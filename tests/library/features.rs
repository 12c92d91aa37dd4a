//! The crates that the agent brings along, with and without its features.

use std::collections::BTreeSet;
use std::process::Command;

use crate::harness::root;

/// The most crates that a program with the agent alone builds, the agent's own included.
const MOST: usize = 200;
/// Crates of the screen, of servers and of validators, which the agent does without.
const NEVER: [&str; 10] = *tau::tools::words!(
    "agent-client-protocol-schema axum clap crossterm jsonschema onig ratatui ratatui-core syntect \
     two-face"
);
/// The features, and the crates that only they need.
const FEATURES: [(&str, &[&str]); 6] = [
    ("mcp", &["oauth2", "rmcp"]),
    ("web", &["html5ever", "htmd", "markup5ever_rcdom"]),
    ("pictures", &["image", "png"]),
    ("undo", &[]),
    ("shell", &["brush-parser", "insta"]),
    ("sqlite", &["libsqlite3-sys", "rusqlite"]),
];

/// The crates, with their versions, that cargo builds for a package; what only tests need is left out.
fn crates(package: &str, arguments: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(*tau::tools::words!("tree --offline --locked --edges normal,build --prefix none --format {p}"));
    cargo.args(["--package", package]).args(arguments).current_dir(root());
    let output = cargo.output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| !line.is_empty()).map(name).collect()
}

fn has(crates: &BTreeSet<String>, name: &str) -> bool {
    crates.iter().any(|one| one.split(' ').next() == Some(name))
}

#[test]
fn a_program_with_the_agent_alone_builds_few_crates() {
    let alone = crates("taucode-embed", &[]);
    assert!(
        has(&alone, "taucode-agent") && has(&alone, "taucode-tools") && has(&alone, "tokio"),
        "{alone:?}"
    );
    assert!(alone.len() <= MOST, "{} crates: {alone:?}", alone.len());
    for (feature, names) in FEATURES {
        for name in names {
            assert!(!has(&alone, name), "{name} is built without the feature {feature}");
        }
    }
}

#[test]
fn the_agent_with_all_features_has_no_screen_and_no_server() {
    let all = crates("taucode-agent", &[]);
    for (feature, names) in FEATURES {
        for name in names {
            assert!(has(&all, name), "{name} is not built with the feature {feature}");
        }
    }
    for name in NEVER {
        assert!(!has(&all, name), "the agent brings {name} along");
    }
    // They are crates of the program, under these names.
    let program = crates("taucode", &[]);
    for name in NEVER {
        assert!(has(&program, name), "nothing is called {name}");
    }
}

#[test]
fn every_feature_is_on_by_default_and_described() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let manifest: toml::Table = read("src/agent/Cargo.toml").parse().unwrap();
    let features = manifest["features"].as_table().unwrap();
    let known: Vec<&str> = features.keys().map(String::as_str).filter(|name| *name != "default").collect();
    let default: Vec<&str> =
        features["default"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    let tested = sorted(FEATURES.iter().map(|(name, _)| *name).collect());
    let (mut known, mut default) = (known, default);
    known.sort_unstable();
    default.sort_unstable();
    assert_eq!((known.as_slice(), default.as_slice()), (tested.as_slice(), tested.as_slice()));
    let (document, script) = (read("docs/library.md"), read(".ci/run"));
    for name in tested {
        assert!(document.contains(&format!("| `{name}` |")), "docs/library.md does not describe {name}");
        assert!(script.contains(&format!(" {name}")), ".ci/run does not check {name}");
    }
}

#[test]
fn the_manifest_of_the_documents_is_that_of_the_example() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let document = read("docs/library.md");
    let block =
        document.split("```toml\n").find(|part| part.starts_with("# Cargo.toml")).expect("a manifest");
    let block: toml::Table = block.split("```").next().unwrap().parse().unwrap();
    let example: toml::Table = read("examples/embed/Cargo.toml").parse().unwrap();
    let (mut theirs, mut ours) = (block["dependencies"].clone(), example["dependencies"].clone());
    let agent = |dependencies: &mut toml::Value| {
        dependencies.as_table_mut().and_then(|all| all.remove("tau-agent")).expect("the agent")
    };
    let (theirs_agent, ours_agent) = (agent(&mut theirs), agent(&mut ours));
    assert_eq!(theirs, ours);
    assert_eq!(theirs_agent.get("default-features"), Some(&toml::Value::Boolean(false)));
    // In the workspace, it is without its features unless a package asks for them.
    assert_eq!(ours_agent.get("workspace"), Some(&toml::Value::Boolean(true)));
    assert_eq!(ours_agent.get("default-features"), None);
}
