//! Extension files and web pages: front matter, custom tools, HTML.

use std::path::Path;

use serde_json::{Map, Value, json};
use tau::agent::extensions::custom_tools;
use tau::agent::extensions::front_matter::{FieldValue, FrontMatter, MAX_FRONT_MATTER};
use tau::agent::protocol::extension::ExtensionSource;
use tau::agent::web::page_as_markdown;
use tau::tools::AnyTool;

use super::documents::FOLDER;
use super::driver::{behavior, files, magnitude};
use super::{Target, as_text, run, texts};

const YAML: &[&str] = &[
    "---\n", "...\n", "name: ", "description: >-\n  ", "allowed-tools: ", "metadata:\n  a: b\n", "- ", "[",
    "]", "{", "}", "'", "\"", ": ", "|\n", "&a ", "*a", "<<: ", "!!str ", "\t", "\r\n", "\u{feff}", "# ",
    "? ", "\\x41", "\u{0}",
];

/// Examples of front matter.
fn front_matters() -> Vec<Vec<u8>> {
    let plain = "---\nname: release-notes\ndescription: >-\n  Writes release notes.\n  Use it often.\nmetadata:\n  \
                 author: me\nallowed-tools: [Read, 'Bash(git log:*)']\n---\n# Text\n";
    let odd =
        "\u{feff}---\r\nargument-hint: [file] [line]\r\ndescription: Use when: it fails\r\n---\r\ntext\r\n";
    let nested = format!("---\na: {}{}\nb: &x [1]\nc: *x\n---\n", "[".repeat(20), "]".repeat(20));
    [plain.to_owned(), odd.to_owned(), nested, "---\n---\n".to_owned()].map(String::into_bytes).to_vec()
}

#[test]
fn front_matter() {
    run(Target {
        name: "front_matter",
        check: check_front_matter,
        seeds: front_matters(),
        words: YAML,
        cases: 6_000,
    });
}

/// The total bytes of texts in a value, and its number of values.
fn weight(value: &FieldValue) -> (usize, usize) {
    let sum = |all: Vec<(usize, usize)>| {
        all.into_iter().fold((0, 1), |(bytes, count), (more, values)| (bytes + more, count + values))
    };
    match value {
        FieldValue::Text(text) => (text.len(), 1),
        FieldValue::List(list) => sum(list.iter().map(weight).collect()),
        FieldValue::Map(map) => {
            sum(map.iter().map(|(name, value)| (name.len() + weight(value).0, weight(value).1)).collect())
        }
    }
}

fn check_front_matter(input: &[u8]) -> u64 {
    let text = as_text(input);
    let found = match FrontMatter::parse(&text) {
        Ok(found) => found,
        Err(why) => {
            assert!(text.trim_start_matches('\u{feff}').starts_with("---"), "it has begun: {why}");
            return behavior("no end");
        }
    };
    let rest = text.get(found.length..).expect("the text begins at a character");
    assert!(found.length <= MAX_FRONT_MATTER + 8, "{} bytes", found.length);
    let (bytes, values) = weight(&FieldValue::Map(found.fields.clone()));
    assert!(bytes <= 4 * text.len() + 16 && values <= 2_100, "{bytes} bytes in {values} values");
    for (name, _) in &found.fields {
        let _ = (found.text(name), found.is_true(name));
        if let Some(line) = found.line(name) {
            assert!(found.source.contains(line), "{line:?} is in the file");
        }
    }
    if found.length > 0 && !found.source.is_empty() {
        let alone = text.get(..text.len() - rest.len()).unwrap_or_default();
        let again = FrontMatter::parse(alone).expect("what has an end has one without its text");
        assert_eq!(again.fields, found.fields, "the text is no part of it");
    }
    let kinds: Vec<_> = found.fields.iter().take(6).map(|(_, value)| std::mem::discriminant(value)).collect();
    behavior((kinds, found.problem.is_some(), magnitude(found.length), magnitude(values)))
}

const TOML: &[&str] = &[
    "description = \"d\"\n", "command = [\"echo\", \"{a}\"]\n", "command = \"echo $arg_a\"\n",
    "shell = true\n", "[arguments.a]\n", "type = \"array\"\n", "type = \"integer\"\n", "default = \"x\"\n",
    "required = false\n", "enum = [\"x\", \"y\"]\n", "[access]\n", "reads = [\"{a}\"]\n",
    "writes = [\"{tool_dir}/x\"]\n", "network = true\n", "title = \"{a} {{\"\n", "timeout = 1\n",
    "output = \"diff\"\n", "success = [0, 1]\n", "{ when = \"a\", words = [\"-w\"] }", "{", "}", "{{",
    "\"--\"", "'''", "\u{0}", "\r\n", "\"\\u0000\"",
];

fn tools() -> Vec<Vec<u8>> {
    let words = "description = \"Lists\"\ncommand = [\"grep\", \"-rn\", { when = \"word\", words = [\"-w\"] }, \"--\", \"{path}\"]\n\
                 title = \"in {path}\"\nsuccess = [0, 1]\n[arguments.path]\ndescription = \"where\"\ndefault = \".\"\n\
                 [arguments.word]\ntype = \"boolean\"\nrequired = false\n[access]\nreads = [\"{path}\"]\n";
    let shell = "description = \"Makes\"\nshell = true\ncommand = 'echo \"$arg_names\"'\ntimeout = 3\noutput = \"diff\"\n\
                 [arguments.names]\ntype = \"array\"\n[arguments.kind]\nenum = [\"a\", \"b\"]\n[access]\nwrites = [\"{tool_dir}/x\"]\nnetwork = true\n";
    [words, shell].map(|text| text.as_bytes().to_vec()).to_vec()
}

#[test]
fn tool_files() {
    run(Target { name: "tool_files", check: check_tool, seeds: tools(), words: TOML, cases: 1_500 });
}

fn check_tool(input: &[u8]) -> u64 {
    FOLDER.with(|folder| {
        let path = folder.path().join("made.toml");
        std::fs::write(&path, input).unwrap();
        let found = custom_tools::read(&path, ExtensionSource::User, None);
        let row = found.row();
        let tool = match found.tool {
            Ok(tool) => tool,
            Err(problems) => {
                let lines = as_text(input).lines().count() + 1;
                assert!(!problems.is_empty() && row.problems.len() == problems.len());
                for problem in &problems {
                    assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
                    assert!(!problem.text.is_empty());
                }
                return behavior(("wrong", problems.len().min(4), problems[0].line.is_some()));
            }
        };
        assert!(row.problems.is_empty() && tool.name() == "made");
        let spec = tool.spec();
        let properties = spec.parameters["properties"].as_object().cloned().unwrap_or_default();
        let mut touched = Vec::new();
        for value in [json!("x y"), json!(["-a", "b"]), json!(3), json!(true), json!("a\u{0}b"), Value::Null]
        {
            let arguments: Map<String, Value> =
                properties.keys().map(|name| (name.clone(), value.clone())).collect();
            let arguments = Value::Object(arguments);
            let title = tool.title(&arguments);
            assert!(title.chars().count() <= 4_096, "a title is short");
            let access = tool.touches(arguments, Path::new("/w"));
            if let Ok(access) = &access {
                assert!(access.reads.iter().chain(&access.writes).all(|path| path.is_absolute()));
                assert!(access.program, "it is always a program");
            }
            touched.push(access.map(|access| (access.reads.len().min(3), access.writes.len().min(3))).ok());
        }
        behavior((touched, spec.read_only, magnitude(properties.len())))
    })
}

const HTML: &[&str] = &[
    "<p>", "</p>", "<ul><li>", "<ol start=\"7\"><li>", "<table><tr><td>", "<td colspan=\"3\">",
    "<blockquote>", "<pre><code class=\"language-x\">", "<a href=\"//h/x?y#z\">",
    "<a href=\"javascript:x\">", "<img src=x alt=\"]\">", "<base href=\"http://b/\">", "<script>",
    "</script>", "<title>", "<!--", "-->", "<template>", "<svg>", "<math>", "&amp;", "&#0;", "&#x202e;",
    "<br>", "<hr>", "<h1>", "<select>", "<frameset>", "<b><i></b></i>", "\u{0}", "<![CDATA[", "<plaintext>",
    "</", "<", "\u{1b}[31m",
];

/// Pages with every element, and texts.
fn pages() -> Vec<Vec<u8>> {
    let page = "<!doctype html><html><head><title>The page</title><base href=\"/b/\"><style>p{}</style></head><body>\
                <h1>One</h1><p>Text <b>bold</b> <a href=\"x.html\">link</a> <img src=\"a.png\" alt=\"picture\"></p>\
                <ul><li>a<ol><li>b</li></ol></li></ul><blockquote><pre><code>let x = 1;\n</code></pre></blockquote>\
                <table><thead><tr><th>h</th></tr></thead><tr><td>1</td><td>2</td></tr></table><script>bad()</script></body></html>";
    let deep = format!("{}x{}", "<div>".repeat(300), "</div>".repeat(300));
    [page.as_bytes().to_vec(), deep.into_bytes()].into_iter().chain(texts().into_iter().take(2)).collect()
}

#[test]
fn web_pages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pages");
    let seeds = pages().into_iter().chain(files(&folder)).collect();
    run(Target { name: "web_pages", check: check_page, seeds, words: HTML, cases: 250 });
}

fn check_page(input: &[u8]) -> u64 {
    let text = as_text(input);
    let convert = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let base = url::Url::parse("https://example.com/a/b?c").unwrap();
        runtime.block_on(page_as_markdown(text.clone(), base)).expect("every page becomes text")
    };
    let (title, markdown) = convert();
    assert_eq!((&title, &markdown), (&convert().0, &convert().1), "the same page gives the same text");
    let most = 512 * (text.len() + 256);
    assert!(markdown.len() <= most, "{} bytes of {}", markdown.len(), text.len());
    assert!(title.as_ref().is_none_or(|title| title.chars().count() <= 300));
    let marks = ["#", "- ", "> ", "```", "](", "|", "![", "1. "].map(|mark| markdown.contains(mark));
    behavior((marks, title.is_some(), magnitude(markdown.len())))
}
