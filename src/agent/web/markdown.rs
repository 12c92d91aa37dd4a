//! Converts HTML to markdown, or to plain text if its structure would cost too much.

use std::rc::Rc;
use std::time::{Duration, Instant};

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BrStyle, BulletListMarker, HrStyle, Options};
use htmd::{Element, HtmlToMarkdown};
use html5ever::{Attribute, local_name};
use markup5ever_rcdom::{Node, NodeData};
use url::{Position, Url};

use super::parse::{self, name};

/// The time limit for parsing a page.
const PARSE_TIME: Duration = Duration::from_secs(3);
/// The maximum nesting whose structure is kept: markdown is written by recursive functions.
const MAX_DEPTH: usize = 200;
/// The maximum number of children of an element whose structure is kept: some are compared with all others.
const MAX_CHILDREN: usize = 20_000;
/// The maximum indentation of all lines of lists and quotes together, in bytes.
const MAX_INDENT: usize = 8 * 1024 * 1024;
/// The stack size for a page of [`MAX_DEPTH`].
const STACK: usize = 32 * 1024 * 1024;
/// The number of parts of a link that are searched for text.
const MANY_PARTS: usize = 50;
/// The maximum length of a link, and of the address that links are relative to, in bytes.
const MAX_LINK: usize = 2 * 1024;
/// The maximum length of all links of a page together, in bytes: each has a copy of the address it is relative to.
const MAX_LINKS: usize = 4 * 1024 * 1024;
/// The maximum length of a title, in characters.
const MAX_TITLE_LEN: usize = 300;

/// Elements whose content is not for readers.
const SKIPPED: [&str; 16] = [
    "head", "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "audio",
    "video", "button", "input", "select", "dialog",
];
/// Elements that begin a new line in plain text.
const BLOCKS: &[&str] = tau_tools::words!(
    "address article aside blockquote br dd div dl dt figure footer h1 h2 h3 h4 h5 h6 header hr li main \
     p pre section table tr"
);

/// A page for models.
#[derive(Debug, PartialEq)]
pub(super) struct MarkdownPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Describes missing parts, as part of a sentence.
    pub(super) note: Option<&'static str>,
}

/// Converts a page from `base`, to which its links are relative, on a separate thread. `None` if that failed.
pub(super) async fn convert(html: String, base: Url) -> Option<MarkdownPage> {
    let (sender, converted) = tokio::sync::oneshot::channel();
    let work = move || drop(sender.send(convert_here(&html, &base, PARSE_TIME)));
    let thread = std::thread::Builder::new().name("web-page".to_owned()).stack_size(STACK);
    thread.spawn(work).ok()?;
    // Without an answer, the thread has panicked.
    converted.await.ok()
}

fn convert_here(html: &str, base: &Url, time: Duration) -> MarkdownPage {
    let page = parse::parse(html, Instant::now() + time);
    let shape = Shape::of(&page.root, base);
    let cut = (!page.is_complete).then_some("the page is cut here: it is too large or too complex");
    if shape.is_simple() {
        let text = converter().tree_to_markdown(&page.root);
        return MarkdownPage { title: shape.title, text, note: cut };
    }
    let note = cut.or(Some("only the text of the page is shown: its structure is too large or too deep"));
    MarkdownPage { title: shape.title, text: plain_text(&page.root), note }
}

/// Measures of a tree, gathered in one walk. The walk also removes invisible content, and makes links
/// absolute.
#[derive(Default)]
struct Shape {
    title: Option<String>,
    depth: usize,
    children: usize,
    /// The maximum nesting of lists and quotes, whose lines are indented.
    indents: usize,
    lines: usize,
}

impl Shape {
    fn of(root: &Rc<Node>, base: &Url) -> Self {
        let mut shape = Shape::default();
        let declared = base_of(root).and_then(|href| base.join(&href).ok());
        let is_short = |url: &&Url| url.as_str().len() <= MAX_LINK;
        let base = declared.as_ref().filter(is_short).or(Some(base)).filter(is_short);
        let mut room = MAX_LINKS;
        let mut open = vec![(Rc::clone(root), 0, 0)];
        while let Some((node, depth, indents)) = open.pop() {
            let indents = indents + usize::from(matches!(name(&node), Some("ul" | "ol" | "blockquote")));
            node.children.borrow_mut().retain(is_seen);
            shape.depth = shape.depth.max(depth);
            shape.indents = shape.indents.max(indents);
            match &node.data {
                NodeData::Text { contents } => shape.lines += contents.borrow().matches('\n').count() + 1,
                NodeData::Element { attrs, .. } => make_absolute(&mut attrs.borrow_mut(), base, &mut room),
                _ => {}
            }
            if name(&node) == Some("title") && shape.title.is_none() {
                shape.title = title(&node);
            }
            let children = node.children.borrow();
            shape.children = shape.children.max(children.len());
            open.extend(children.iter().rev().map(|child| (Rc::clone(child), depth + 1, indents)));
        }
        shape
    }

    fn is_simple(&self) -> bool {
        let indent = self.indents.saturating_mul(4).saturating_mul(self.lines);
        self.depth <= MAX_DEPTH && self.children <= MAX_CHILDREN && indent <= MAX_INDENT
    }
}

/// The base address that the page declares for its links.
fn base_of(root: &Rc<Node>) -> Option<String> {
    let child = |node: &Rc<Node>, wanted: &str| {
        node.children.borrow().iter().find(|child| name(child) == Some(wanted)).cloned()
    };
    let base = child(&child(&child(root, "html")?, "head")?, "base")?;
    let NodeData::Element { attrs, .. } = &base.data else { return None };
    let attrs = attrs.borrow();
    let href = attrs.iter().find(|attribute| attribute.name.local == local_name!("href"))?;
    Some(href.value.to_string())
}

/// Whether readers see an element. Text that only models see is a means of misleading them.
fn is_seen(node: &Rc<Node>) -> bool {
    let NodeData::Element { attrs, .. } = &node.data else { return true };
    let is_hidden = attrs.borrow().iter().any(|attribute| match &*attribute.name.local {
        "hidden" => true,
        "aria-hidden" => attribute.value.trim().eq_ignore_ascii_case("true"),
        "style" => {
            let style: String = attribute.value.chars().filter(|c| !c.is_whitespace()).collect();
            let style = style.to_ascii_lowercase();
            ["display:none", "visibility:hidden"].iter().any(|hiding| style.contains(hiding))
        }
        _ => false,
    });
    let is_empty_link = name(node) == Some("a") && is_empty(node);
    !is_hidden && !is_empty_link
}

/// Whether an element has no readable content; one with many parts counts as not empty.
fn is_empty(node: &Rc<Node>) -> bool {
    let mut open = vec![Rc::clone(node)];
    for _ in 0..MANY_PARTS {
        let Some(node) = open.pop() else { return true };
        let is_text =
            matches!(&node.data, NodeData::Text { contents } if !contents.borrow().trim().is_empty());
        if is_text || name(&node) == Some("img") {
            return false;
        }
        open.extend(node.children.borrow().iter().take(MANY_PARTS).cloned());
    }
    false
}

/// Makes links absolute, and removes those that do not lead to the web: scripts, embedded pictures, and other
/// places of the same page are of no use. Removes those that are too long, too, and all that are left when there is no more
/// `room`. Without a base, only absolute ones stay.
fn make_absolute(attributes: &mut Vec<Attribute>, base: Option<&Url>, room: &mut usize) {
    attributes.retain_mut(|attribute| {
        if !matches!(&*attribute.name.local, "href" | "src") {
            return true;
        }
        let written = attribute.value.trim();
        if written.len() > MAX_LINK {
            return false;
        }
        let is_here =
            |url: &Url| url.fragment().is_some() && base.is_some_and(|base| is_same_page(url, base));
        match Url::options().base_url(base).parse(written) {
            Ok(url) if is_here(&url) => false,
            Ok(url)
                if matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= MAX_LINK =>
            {
                let left = room.checked_sub(url.as_str().len());
                *room = left.unwrap_or(0);
                attribute.value = url.as_str().into();
                left.is_some()
            }
            _ => false,
        }
    });
}

fn is_same_page(one: &Url, other: &Url) -> bool {
    one[..Position::AfterQuery] == other[..Position::AfterQuery]
}

fn title(node: &Rc<Node>) -> Option<String> {
    let text = text_of(node);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_TITLE_LEN).collect();
    (!line.is_empty()).then_some(line)
}

/// The text of a short element.
fn text_of(node: &Rc<Node>) -> String {
    let children = node.children.borrow();
    let text = |child: &Rc<Node>| match &child.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    children.iter().map(text).collect()
}

fn converter() -> HtmlToMarkdown {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        br_style: BrStyle::Backslash,
        hr_style: HrStyle::Dashes,
        ..Options::default()
    };
    HtmlToMarkdown::builder()
        .options(options)
        .scripting_enabled(false)
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["table"], table)
        .build()
}

/// A table with headings as rows of cells. The crate's own pads all cells of a column to the longest: a page
/// could make that gigabytes.
#[allow(clippy::needless_pass_by_value, reason = "the signature that the crate wants")]
fn table(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let rows = rows_of(element.node);
    let has_heading = rows.iter().any(|row| cells_of(row).iter().any(|cell| name(cell) == Some("th")));
    if !has_heading || is_in_cell(element.node) {
        return Some(handlers.walk_children(element.node));
    }
    let mut text = String::from("\n\n");
    let mut columns = 0;
    for row in &rows {
        let cells = cells_of(row);
        if cells.is_empty() {
            continue;
        }
        text.push('|');
        for cell in &cells {
            let content = handlers.walk_children(cell).content.replace('|', "\\|");
            let words: Vec<&str> = content.split_whitespace().collect();
            text.push(' ');
            text.push_str(&words.join(" "));
            text.push_str(" |");
        }
        text.push('\n');
        if columns == 0 {
            columns = cells.len();
            text.push('|');
            text.push_str(&" --- |".repeat(columns));
            text.push('\n');
        }
    }
    text.push('\n');
    Some(text.into())
}

fn children_by_name(node: &Rc<Node>, wanted: &[&str]) -> Vec<Rc<Node>> {
    let is_wanted = |child: &&Rc<Node>| name(child).is_some_and(|name| wanted.contains(&name));
    node.children.borrow().iter().filter(is_wanted).cloned().collect()
}

/// The rows of a table, without those of nested tables.
fn rows_of(table: &Rc<Node>) -> Vec<Rc<Node>> {
    let parts = children_by_name(table, &["tr", "thead", "tbody", "tfoot"]);
    let rows = parts.into_iter().flat_map(|part| match name(&part) {
        Some("tr") => vec![part],
        _ => children_by_name(&part, &["tr"]),
    });
    rows.collect()
}

fn cells_of(row: &Rc<Node>) -> Vec<Rc<Node>> {
    children_by_name(row, &["td", "th"])
}

/// Whether a table is nested in a cell of another one.
fn is_in_cell(node: &Rc<Node>) -> bool {
    let parent = |node: &Rc<Node>| {
        let weak = node.parent.take();
        let parent = weak.as_ref().and_then(std::rc::Weak::upgrade);
        node.parent.set(weak);
        parent
    };
    std::iter::successors(parent(node), parent).any(|node| matches!(name(&node), Some("td" | "th")))
}

/// The text of a tree, one line per block.
fn plain_text(root: &Rc<Node>) -> String {
    let mut text = String::new();
    let mut open = vec![Rc::clone(root)];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeData::Text { contents } => {
                for word in contents.borrow().split_whitespace() {
                    if !text.is_empty() && !text.ends_with(['\n', ' ']) {
                        text.push(' ');
                    }
                    text.push_str(word);
                }
            }
            _ if name(&node).is_some_and(|name| SKIPPED.contains(&name)) => continue,
            _ => {}
        }
        if name(&node).is_some_and(|name| BLOCKS.contains(&name)) && !text.is_empty() && !text.ends_with('\n')
        {
            text.push('\n');
        }
        open.extend(node.children.borrow().iter().rev().cloned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str) -> MarkdownPage {
        let base = "https://docs.example/guide/".parse().unwrap();
        // Tests run on busy machines: the time limit is not part of these tests.
        let work = {
            let html = html.to_owned();
            move || convert_here(&html, &base, Duration::from_secs(600))
        };
        std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
    }

    #[test]
    fn html_becomes_markdown() {
        for (html, expected) in [
            ("<h1>A</h1><p>b <b>c</b> <i>d</i> <code>e_f</code></p>", "# A\n\nb **c** *d* `e_f`"),
            ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
            ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
            (
                "<pre><code class=language-rust>fn x() {\n    1 &lt; 2\n}</code></pre>",
                "```rust\nfn x() {\n    1 < 2\n}\n```",
            ),
            ("<blockquote><p>a<p>b</blockquote>", "> a\n> \n> b"),
            (
                "<a href='../x?y#z'>t</a> <a href='javascript:alert(1)'>u</a>",
                "[t](https://docs.example/x?y#z) u",
            ),
            (
                "<img src=/i.png alt=Sun> <img src='data:image/png;base64,AAAA' alt=no>",
                "![Sun](https://docs.example/i.png)",
            ),
            ("a<br>b<hr>c", "a\\\nb\n\n- - -\n\nc"),
            ("<nav>menu</nav><main>text</main><footer>foot</footer>", "menu\n\ntext\n\nfoot"),
            (
                "<table><tr><th>a<th>b|c<tr><td>1<td><p>2</p><p>3</p></table>",
                "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |",
            ),
            ("<table><tr><td>layout</td><td>only</td></tr></table>", "layout\n\nonly"),
            (
                "<style>p{}</style><script>x()</script><p>t<noscript>n</noscript><svg><title>s</title></svg>",
                "t",
            ),
            ("<p hidden>a</p><p style='Display : NONE'>b</p><i aria-hidden=true>c</i><p>d</p>", "d"),
            (
                "<a href=/x title=y><i></i> </a><h2><a href='#z'>Z</a></h2><a href='/guide/#t'>t</a>",
                "## Z\n\nt",
            ),
            ("<button>Copy</button>x<select><option>o</select><iframe>i</iframe>", "x"),
            ("&amp;lt; &lt;b&gt; &copy; &#x1b;[31m", "&lt; \\<b> © \u{1b}\\[31m"),
            ("", ""),
        ] {
            assert_eq!(page(html).text, expected, "{html}");
        }
        let with_base =
            "<head><base href='https://other.example/a/'><title> T \n u</title></head><a href=b>c</a>";
        let page = page(with_base);
        assert_eq!(
            (page.title.as_deref(), page.text.as_str()),
            (Some("T u"), "[c](https://other.example/a/b)")
        );
    }

    #[test]
    fn links_take_little_room() {
        let long = format!("http://h/{}/", "x".repeat(100_000));
        let many = "<a href=b>c</a> <a href=https://d.example/>e</a> ".repeat(3);
        let with_base = page(&format!("<head><base href='{long}'></head>{many}<a href='{long}'>f</a>"));
        let line = "[c](https://docs.example/guide/b) [e](https://d.example/) ".repeat(3);
        assert_eq!(with_base.text, format!("{line}f"), "the base and a link are too long");
        let base = "https://docs.example/".to_owned() + &"y".repeat(8_000);
        let redirected = convert_here(&many, &base.parse().unwrap(), Duration::from_secs(600));
        assert_eq!(redirected.text, "c [e](https://d.example/) ".repeat(3).trim_end());
        let name = "z".repeat(1_500);
        let base = format!("https://docs.example/{name}/").parse().unwrap();
        let all = convert_here(&"<p><a href=b>c</a>".repeat(10_000), &base, Duration::from_secs(600));
        let count = all.text.matches(&name).count();
        assert!(count > 2_000 && count * name.len() < MAX_LINKS, "{count}");
        assert!(all.text.ends_with("\n\nc"), "the text of the others stays");
    }

    #[test]
    fn what_costs_too_much_becomes_text() {
        for (name, html) in [
            ("deep", "<div>".repeat(3_000) + "end"),
            ("lists", "<ul><li>".repeat(400) + &"\nend".repeat(20_000)),
            ("wide", "<b>x</b>".repeat(30_000) + "end"),
            ("inline", "<span>".repeat(2_000) + "end"),
        ] {
            let page = page(&html);
            assert!(page.text.ends_with("end"), "{name}");
            assert!(page.note.is_some_and(|note| note.contains("only the text")), "{name}: {:?}", page.note);
        }
    }

    #[test]
    fn a_page_does_not_grow() {
        let cell = "y".repeat(20_000);
        let table = format!("<table><tr><th>a<tr><td>{cell}{}</table>", "<tr><td>x".repeat(5_000));
        let text = page(&table).text;
        assert!(text.len() < 100_000, "{}", text.len());
        let formatted =
            (0..300).map(|n| format!("<font color={n}>")).collect::<String>() + &"<p>z".repeat(2_000);
        let page = page(&formatted);
        assert!(page.text.len() < 100_000 && page.note.is_some(), "{} {:?}", page.text.len(), page.note);
    }

    #[test]
    fn parsing_ends_in_time() {
        let base = "https://docs.example/".parse().unwrap();
        let page = convert_here(&"<p>words ".repeat(1_000_000), &base, Duration::ZERO);
        assert_eq!(page.note, Some("the page is cut here: it is too large or too complex"));
    }
}
