//! The session's tree: layout, folding, filtering, and choices by key.

use super::*;

/// `id<parent:text`, a row each.
fn view(rows: &[(&str, &str, RowKind)], leaf: usize) -> TreeView {
    let ids: Vec<&str> = rows.iter().map(|(id, ..)| *id).collect();
    let row = |(id, parent, kind): &(&str, &str, RowKind)| OutlineRow {
        id: (*id).to_owned(),
        parent: ids.iter().position(|known| known == parent),
        kind: *kind,
        text: format!("text {id}"),
        ..OutlineRow::default()
    };
    let mut view = TreeView::default();
    view.fill(Outline { rows: rows.iter().map(row).collect(), leaf: Some(leaf) });
    view
}

fn forked_tree() -> TreeView {
    use RowKind::{Assistant, Setting, Tool, User};
    let rows = [
        ("a", "", User),
        ("s", "a", Setting),
        ("b", "s", Assistant),
        ("c", "b", User),
        ("d", "b", User),
        ("t", "d", Tool),
        ("e", "t", Assistant),
    ];
    view(&rows, 6)
}

fn drawn_rows(view: &TreeView) -> Vec<String> {
    let row = |shown: &TreeRow| {
        let id = &view.row(shown.row).unwrap().id;
        let mark = if shown.current { "*" } else { "" };
        let fold = if shown.folded { "+" } else { "" };
        format!("{}{id}{mark}{fold}", shown.lead)
    };
    view.visible_rows().iter().map(row).collect()
}

fn press(view: &mut TreeView, keys: &str) -> KeyOutcome<TreeChoice> {
    let mut last = KeyOutcome::Ignored;
    for key in keys.split(' ') {
        last = view.key(key.parse().expect(key), 10);
    }
    last
}

#[test]
fn rows_go_right_only_where_the_tree_parts() {
    let mut view = forked_tree();
    assert_eq!(drawn_rows(&view), ["a", "b", "├ c", "└ d", "  t", "  e*"]);
    press(&mut view, "tab");
    assert_eq!(drawn_rows(&view), ["a", "b", "├ c", "└ d", "  e*"]);
    press(&mut view, "tab");
    assert_eq!(drawn_rows(&view), ["a", "├ c", "└ d*"]);
    press(&mut view, "shift+tab shift+tab shift+tab");
    assert_eq!(drawn_rows(&view), ["a", "s", "b", "├ c", "└ d", "  t", "  e*"]);
}

#[test]
fn rows_are_folded_and_searched() {
    let mut view = forked_tree();
    press(&mut view, "up up left");
    assert_eq!(drawn_rows(&view), ["a", "b", "├ c", "└ d+"]);
    press(&mut view, "left left");
    assert_eq!(drawn_rows(&view), ["a", "b+"], "from a folded row up, and that folded");
    press(&mut view, "right");
    assert_eq!(drawn_rows(&view).len(), 4);
    press(&mut view, "t e x t space e");
    assert_eq!(drawn_rows(&view), ["a", "b", "├ c", "└ d", "  t", "  e*"], "a search looks into folds");
    press(&mut view, "backspace backspace backspace backspace backspace backspace e");
    assert_eq!(press(&mut view, "esc"), KeyOutcome::Handled);
    let selected = view.selected_index();
    press(&mut view, "n o t h e r e esc");
    assert_eq!(view.selected_index(), selected, "the place is kept where nothing matches");
    assert_eq!(press(&mut view, "esc"), KeyOutcome::Closed);
}

#[test]
fn a_choice_says_where_to_go_and_how() {
    let go = |summary| KeyOutcome::Done(TreeChoice::Go { entry_id: "c".into(), summary });
    let wish = Some(BranchSummaryOptions { instructions: Some("xy".into()) });
    let cases = [
        ("enter", KeyOutcome::Done(TreeChoice::Here)),
        ("up up up enter enter", go(None)),
        ("up up up enter down enter", go(Some(BranchSummaryOptions::default()))),
        ("up up up enter down down enter x y enter", go(wish)),
        ("up up up enter esc enter esc", KeyOutcome::Handled),
        ("up up up ctrl+f", KeyOutcome::Done(TreeChoice::Fork { entry_id: "c".into() })),
        ("ctrl+f", KeyOutcome::Done(TreeChoice::NotYours)),
        ("z ctrl+f", KeyOutcome::Handled),
        (
            "ctrl+l n enter",
            KeyOutcome::Done(TreeChoice::Label { entry_id: "e".into(), label: Some("n".into()) }),
        ),
        ("ctrl+l enter", KeyOutcome::Done(TreeChoice::Label { entry_id: "e".into(), label: None })),
    ];
    for (keys, expected) in cases {
        assert_eq!(press(&mut forked_tree(), keys), expected, "{keys}");
    }
}

#[test]
fn where_the_conversation_stands_is_not_what_a_search_leaves_of_it() {
    let to_b = KeyOutcome::Done(TreeChoice::Go { entry_id: "b".into(), summary: None });
    assert_eq!(press(&mut forked_tree(), "t e x t space b enter enter"), to_b);
    let rows = [("a", "", RowKind::User), ("b", "a", RowKind::Assistant), ("s", "b", RowKind::Setting)];
    assert_eq!(
        press(&mut view(&rows, 2), "enter"),
        KeyOutcome::Done(TreeChoice::Here),
        "a setting is no step"
    );
}

#[test]
fn a_long_conversation_is_laid_out_without_recursion() {
    let ids: Vec<String> = (0..20_000).map(|id| id.to_string()).collect();
    let rows = (0..20_000).map(|at: usize| OutlineRow {
        id: ids[at].clone(),
        parent: at.checked_sub(1),
        text: "x".into(),
        ..OutlineRow::default()
    });
    let mut view = TreeView::default();
    view.fill(Outline { rows: rows.collect(), leaf: Some(19_999) });
    assert_eq!((view.visible_rows().len(), view.selected_index()), (20_000, 19_999));
}
