//! Imports between modules, read from the source: the agent's areas in their order, and no cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{Source, product, report, without_comments_and_strings};

/// Layers whose files must not import each other in a cycle.
const WITHOUT_CIRCLES: [&str; 4] = ["agent", "app", "view", "cli"];

/// Files that are still in a cycle.
const IN_A_CIRCLE: [&str; 0] = [];

/// The areas of the agent. An area imports only earlier ones, or others in the same row.
const ROOMS: [&[&str]; 7] = [
    &["protocol", "secrets"],
    &["permissions"],
    &["provider", "session", "settings", "catalogue", "export"],
    &["extensions", "web"],
    &["context", "undo"],
    &["engine"],
    &["api", "demo", "prelude"],
];

/// The crate that lies in the folder of another.
const PROTOCOL: &str = "agent::protocol";

/// The modules of the product by path (`agent::engine::run`), and the imports of each.
struct Modules {
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Modules {
    fn read(sources: &[Source]) -> Self {
        let known: BTreeSet<String> = sources.iter().map(|source| module(&source.path)).collect();
        let named = sources.iter().map(|source| {
            let module = module(&source.path);
            let code: String =
                source.lines().map(|(_, line)| without_comments_and_strings(line) + "\n").collect();
            let paths = paths(&code);
            let named = paths.iter().filter_map(|path| resolve(&module, path, &known)).collect();
            (module, named)
        });
        Modules { named: named.collect() }
    }

    /// Imports between modules of which neither contains the other.
    fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.named.iter().flat_map(|(from, named)| named.iter().map(move |to| (from, to)));
        pairs
            .filter(|(from, to)| !contains(from, to) && !contains(to, from))
            .map(|(from, to)| (from.as_str(), to.as_str()))
    }

    /// Everything that `start` reaches by imports among the modules for which `within` holds.
    fn reachable<'a>(&'a self, start: &'a str, within: impl Fn(&str) -> bool) -> BTreeSet<&'a str> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(from) = open.pop() {
            for to in self.named.get(from).into_iter().flatten() {
                let related = contains(from, to) || contains(to, from);
                if !related && within(to) && seen.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        seen
    }
}

/// True if `outer` is `inner` or contains it.
fn contains(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// `src/agent/engine/run/mod.rs` is `agent::engine::run`.
fn module(path: &str) -> String {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

/// The paths in a piece of code: of `use` declarations with their braces expanded, and of expressions and
/// types.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let (mut end, mut depth) = (at, 0_usize);
        for (offset, c) in rest[at..].char_indices() {
            match c {
                '{' if rest[..at + offset].ends_with("::") || depth > 0 => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ':' | '_' => {}
                ',' | ' ' | '\n' if depth > 0 => {}
                c if c.is_alphanumeric() => {}
                _ => break,
            }
            end = at + offset + c.len_utf8();
            if c == '}' && depth == 0 {
                break;
            }
        }
        expand("", &rest[start..end], &mut found);
        rest = &rest[end.max(at + 2)..];
    }
    found
}

/// Expands `a::{b, c::{d, e}}`.
fn expand(prefix: &str, path: &str, found: &mut Vec<String>) {
    let path = path.trim();
    let Some(open) = path.find('{') else {
        let name = path.split(" as ").next().unwrap_or_default().trim();
        found.push(format!("{prefix}{name}"));
        return;
    };
    let prefix = format!("{prefix}{}", &path[..open]);
    let inner = path[open + 1..].strip_suffix('}').unwrap_or(&path[open + 1..]);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &inner[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&prefix, &inner[start..], found);
}

/// The module that a path in `from` resolves to, if it is one of ours.
fn resolve(from: &str, path: &str, known: &BTreeSet<String>) -> Option<String> {
    let mut at: Vec<&str> = from.split("::").collect();
    let mut names = path.split("::").map(str::trim).peekable();
    match names.peek().copied()? {
        "crate" => {
            at.truncate(if from.starts_with(PROTOCOL) { 2 } else { 1 });
            names.next();
        }
        "tau_protocol" => {
            at = PROTOCOL.split("::").collect();
            names.next();
        }
        other if other.starts_with("tau_") => {
            at = vec![other.trim_start_matches("tau_")];
            names.next();
        }
        "self" => drop(names.next()),
        "super" => {
            while names.next_if_eq(&"super").is_some() {
                at.pop();
            }
        }
        child => {
            known.get(&format!("{from}::{child}"))?;
        }
    }
    at.extend(names.filter(|name| !name.is_empty() && *name != "self"));
    let lengths = (1..=at.len()).rev();
    lengths.map(|length| at[..length].join("::")).find(|path| known.contains(path))
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let modules = Modules::read(&product());
    let (mut seen, mut faults) = (0, BTreeSet::new());
    for layer in WITHOUT_CIRCLES {
        let within = |module: &str| contains(layer, module) && !IN_A_CIRCLE.contains(&module);
        for module in modules.named.keys().filter(|module| within(module)) {
            let reachable = modules.reachable(module, within);
            seen += reachable.len();
            if reachable.contains(module.as_str()) {
                faults.insert(format!("{module} imports itself by way of others"));
            }
        }
    }
    assert!(seen > 100, "only {seen} imports were seen");
    report(&faults.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_rooms_of_the_agent_import_in_one_direction() {
    let modules = Modules::read(&product());
    let room = |module: &str| module.split("::").nth(1).unwrap_or_default().to_owned();
    let row = |room: &str| ROOMS.iter().position(|row| row.contains(&room));
    let (mut seen, mut faults) = (0, Vec::new());
    let in_agent = |module: &str| contains("agent", module) && module != "agent";
    for (from, to) in modules.imports().filter(|(from, to)| in_agent(from) && in_agent(to)) {
        let (from_room, to_room) = (room(from), room(to));
        let (Some(from_row), Some(to_row)) = (row(&from_room), row(&to_room)) else {
            faults.push(format!("{from} or {to} is in a room that is not in the list"));
            continue;
        };
        seen += 1;
        if to_row > from_row || (from_room == "protocol" && to_room != "protocol") {
            faults.push(format!("{from} imports {to}"));
        }
    }
    assert!(seen > 200, "only {seen} imports were seen");
    report(&faults);
}

#[test]
fn imports_are_found_however_they_are_written() {
    let sources = |files: &[(&str, &str)]| -> Vec<Source> {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        files.iter().map(source).collect()
    };
    let files = [
        ("src/agent/a.rs", "use super::{b, c::{self, D}};\nuse crate::e::f::G as H;\n"),
        ("src/agent/b.rs", "fn x() { super::c::y(); }\n"),
        ("src/agent/c.rs", "// use super::a;\nfn z() -> crate::e::I { \"super::b\" }\n"),
        ("src/agent/e/mod.rs", "mod f;\nuse f::G;\n"),
        ("src/agent/e/f.rs", "use super::I;\nuse tau_tools::t::T;\nuse tau_protocol::p::P;\n"),
        ("src/agent/protocol/p.rs", "use crate::q::Q;\n"),
        ("src/agent/protocol/q.rs", ""),
        ("src/tools/t.rs", ""),
    ];
    let modules = Modules::read(&sources(&files));
    let imports: Vec<(&str, &str)> = modules.imports().collect();
    let expected = [
        ("agent::a", "agent::b"),
        ("agent::a", "agent::c"),
        ("agent::a", "agent::e::f"),
        ("agent::b", "agent::c"),
        ("agent::c", "agent::e"),
        ("agent::e::f", "agent::protocol::p"),
        ("agent::e::f", "tools::t"),
        ("agent::protocol::p", "agent::protocol::q"),
    ];
    assert_eq!(imports, expected);
    let circle = [
        ("src/app/a.rs", "use crate::b::X;"),
        ("src/app/b.rs", "use crate::c;"),
        ("src/app/c.rs", "use super::a;"),
    ];
    let modules = Modules::read(&sources(&circle));
    assert!(modules.reachable("app::a", |_| true).contains("app::a"));
}
