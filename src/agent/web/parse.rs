//! Parses HTML into a tree, within bounds.
//!
//! A page may be designed to be expensive: deep nesting makes the parser compare each tag with all open ones,
//! and unclosed formatting is repeated in every paragraph. So the page is given to the parser in small
//! pieces, with a check of the clock and of the number of elements after each.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};

/// The maximum number of elements in a tree. A long page of a manual has a tenth of it.
const MAX_ELEMENTS: usize = 300_000;
/// The number of bytes that are parsed between two checks of the bounds.
const PIECE: usize = 256;

/// A page as a tree.
pub(super) struct ParsedPage {
    pub(super) root: Rc<Node>,
    /// Whether it is the whole page.
    pub(super) is_complete: bool,
}

/// Parses a page until it is complete, too large, or `deadline` is reached.
pub(super) fn parse(html: &str, deadline: Instant) -> ParsedPage {
    let builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder: builder, ..ParseOpts::default() };
    let elements = Rc::new(Cell::new(0));
    let sink = BoundedDom { dom: RcDom::default(), elements: Rc::clone(&elements) };
    let mut parser = parse_document(sink, options);
    let mut rest = html;
    while !rest.is_empty() && elements.get() < MAX_ELEMENTS && Instant::now() < deadline {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE));
        parser.process(StrTendril::from_slice(piece));
        rest = after;
    }
    let dom = parser.finish();
    ParsedPage { root: Rc::clone(&dom.document), is_complete: rest.is_empty() }
}

/// The name of an element; `None` for anything else.
pub(super) fn name(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        NodeData::Document
        | NodeData::Doctype { .. }
        | NodeData::Text { .. }
        | NodeData::Comment { .. }
        | NodeData::ProcessingInstruction { .. } => None,
    }
}

/// The tree that the parser builds, with the number of its elements. Messages about mistakes are dropped.
struct BoundedDom {
    dom: RcDom,
    elements: Rc<Cell<usize>>,
}

impl TreeSink for BoundedDom {
    type Handle = Rc<Node>;
    type Output = RcDom;
    type ElemName<'a>
        = ExpandedName<'a>
    where
        Self: 'a;

    fn finish(self) -> RcDom {
        self.dom
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Rc<Node> {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        self.dom.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Rc<Node> {
        self.elements.set(self.elements.get() + 1);
        self.dom.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Rc<Node> {
        self.dom.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Rc<Node> {
        // These are not needed for conversion to markdown.
        let _ = target;
        self.dom.create_comment(data)
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.dom.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Rc<Node>,
        previous: &Rc<Node>,
        child: NodeOrText<Rc<Node>>,
    ) {
        self.dom.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.dom.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        self.dom.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.dom.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &Rc<Node>, attrs: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Rc<Node>) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Rc<Node>, new_parent: &Rc<Node>) {
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Rc<Node>) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
    }
}
