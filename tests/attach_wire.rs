//! The types that `tau attach` and `tau serve` exchange: `tests/golden/attach_wire.txt` has their
//! definitions, so that every change is noticed. After one, raise `WIRE` in `src/cli/attach/wire.rs`, then
//! bless.

use std::fmt::Write as _;
use std::path::Path;

/// Files with such types, besides those of the protocol.
const FILES: [&str; 9] = *tau::tools::words!(
    "src/app/geometry.rs src/app/request.rs src/cli/attach/wire.rs src/tools/access.rs \
     src/tools/delegate/report.rs src/tools/details.rs src/tools/plan.rs src/tools/sandbox/mod.rs src/tools/user.rs"
);

/// The serialized definitions in a file: their attributes and bodies, without comments.
fn definitions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // A table of definitions is read like one of them.
        let is_table = line == "queries! {" || line == "requests! {";
        if !(is_table || line.starts_with("#[derive(") && line.contains("erialize")) {
            continue;
        }
        let mut definition = String::new();
        for line in lines.by_ref() {
            let code = line.split(" //").next().unwrap_or_default();
            let is_sent = !["//", "#[strum("].iter().any(|start| code.trim_start().starts_with(start));
            if is_sent && !code.trim().is_empty() {
                writeln!(definition, "{}", code.trim_end()).unwrap();
            }
            if line == "}" || !line.starts_with([' ', '#', '/']) && line.ends_with([';', '}']) {
                break;
            }
        }
        found.push(definition);
    }
    found
}

#[test]
fn a_change_of_what_is_sent_raises_the_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protocol = std::fs::read_dir(root.join("src/agent/protocol")).unwrap();
    let names = protocol.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names
        .filter(|name| name.ends_with(".rs"))
        .map(|name| format!("src/agent/protocol/{name}"))
        .chain(FILES.map(str::to_owned))
        .collect();
    files.sort();
    let wire = std::fs::read_to_string(root.join("src/cli/attach/wire.rs")).unwrap();
    let number = wire.lines().find(|line| line.starts_with("const WIRE: u32 = ")).unwrap();
    let (mut all, mut seen) = (format!("{number}\n"), 0);
    for file in files {
        let text = std::fs::read_to_string(root.join(&file)).unwrap();
        for definition in definitions(&text) {
            seen += 1;
            write!(all, "\n// {file}\n{definition}").unwrap();
        }
    }
    assert!(seen > 80, "only {seen} types were seen");
    let golden = root.join("tests/golden/attach_wire.txt");
    let before = std::fs::read_to_string(&golden).unwrap_or_default();
    let types = |text: &str| text.split_once('\n').map(|(_, types)| types.to_owned()).unwrap_or_default();
    if std::env::var_os("TAU_BLESS").is_some() {
        let is_raised = !before.starts_with(&format!("{number}\n"));
        assert!(
            before.is_empty() || types(&before) == types(&all) || is_raised,
            "types that are sent have changed: raise WIRE in src/cli/attach/wire.rs first"
        );
        std::fs::write(&golden, all).unwrap();
        return;
    }
    assert!(
        before == all,
        "types that are sent have changed: raise WIRE in src/cli/attach/wire.rs, then TAU_BLESS=1"
    );
}

#[test]
fn definitions_are_read_without_comments() {
    let text = "/// A.\n#[derive(Clone, Serialize)]\n#[serde(tag = \"x\")]\npub enum A {\n    /// B.\n    B, // c\n}\n\
                #[derive(Clone)]\nstruct C;\n#[derive(Deserialize)]\npub struct D(pub u64);\nfn e() {}\n";
    assert_eq!(
        definitions(text),
        ["#[serde(tag = \"x\")]\npub enum A {\n    B,\n}\n", "pub struct D(pub u64);\n"]
    );
}

/// A bare path fails to be serialized when it is not UTF-8, and with it everything around it.
#[test]
fn serialized_paths_are_text_that_keeps_every_byte() {
    let mut faults = Vec::new();
    for source in crate::tidy::product() {
        let mut lines = source.lines();
        while let Some((_, line)) = lines.next() {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            let is_table = line == "queries! {" || line == "requests! {" || line == "subjects! {";
            let is_derived =
                line.trim_start().starts_with("#[derive(") && words.any(|word| word == "Serialize");
            if !(is_table || is_derived) {
                continue;
            }
            let end = format!("{}}}", " ".repeat(line.len() - line.trim_start().len()));
            let mut above = "";
            for (number, line) in lines.by_ref() {
                let code = line.split("//").next().unwrap_or_default();
                let is_bare = !line.contains("path_text") && !above.contains("path_text");
                if (code.contains("PathBuf") || code.contains("OsString")) && is_bare {
                    faults.push(format!("{}:{number}: a path without `tau_tools::path_text`", source.path));
                }
                above = line;
                if line == end || line.ends_with(';') && !line.starts_with("    ") {
                    break;
                }
            }
        }
    }
    crate::tidy::report(&faults);
}
