//! Finds the model that a user means: by reference, id, or part of a name.
//!
//! Pure. An exact name always wins; part of a name counts only if it is unambiguous.

use std::sync::Arc;

use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::compare::close_matches;

/// No model matched, or more than one did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct NotFound {
    pub query: String,
    /// References of similar models, best first; at most eight.
    pub near: Vec<String>,
    /// Whether several models match.
    pub ambiguous: bool,
}

impl NotFound {
    fn message(&self) -> String {
        let what = if self.ambiguous { "several models match" } else { "no model matches" };
        match self.near.as_slice() {
            [] => format!("{what} \"{}\"; run `tau models` to list them", self.query),
            near => format!("{what} \"{}\"; did you mean {}?", self.query, near.join(", ")),
        }
    }
}

/// The maximum number of similar models.
const NEAR: usize = 8;

/// Splits the thinking level from a query: `provider/id:high`. Other words after a colon belong to the id.
pub fn split_level(query: &str) -> (&str, Option<ThinkingLevel>) {
    let level = query.rsplit_once(':').map(|(model, word)| (model, ThinkingLevel::from_name(word)));
    match level {
        Some((model, Some(level))) => (model, Some(level)),
        _ => (query, None),
    }
}

/// The model that `query` means. Of several matches, the first that `prefer` accepts wins, else the first.
pub fn find(
    models: &[Arc<Model>],
    query: &str,
    prefer: &dyn Fn(&Model) -> bool,
) -> Result<Arc<Model>, NotFound> {
    let query = query.trim();
    if let Some(model) = exact(models, query, prefer) {
        return Ok(model);
    }
    let mut matching: Vec<&Arc<Model>> = models.iter().filter(|model| matches(model, query)).collect();
    // A word that is a provider means it, and not others that host its models.
    let names =
        |model: &Arc<Model>| query.split_whitespace().any(|word| word.eq_ignore_ascii_case(&model.provider));
    if matching.iter().any(|model| names(model)) {
        matching.retain(|model| names(model));
    }
    let preferred: Vec<&Arc<Model>> = matching.iter().copied().filter(|model| prefer(model)).collect();
    let meant = if preferred.is_empty() { &matching } else { &preferred };
    match one(meant) {
        Some(model) => Ok(Arc::clone(model)),
        None => {
            let ambiguous = !meant.is_empty();
            let near = if ambiguous { references(meant) } else { similar(models, query) };
            Err(NotFound { query: query.to_owned(), near, ambiguous })
        }
    }
}

/// The model with exactly that name. A reference stands for itself. Other names match, preferred models
/// first: the id, then the id or name ignoring case, then the id without the maker that hosts put before it.
fn exact(models: &[Arc<Model>], query: &str, prefer: &dyn Fn(&Model) -> bool) -> Option<Arc<Model>> {
    if query.is_empty() {
        return None;
    }
    let same = |text: &str| text.eq_ignore_ascii_case(query);
    let tests: [&dyn Fn(&Model) -> bool; 3] = [
        &|model| model.id == query,
        &|model| same(&model.reference()) || same(&model.id) || same(&model.name),
        &|model| model.id.rsplit('/').next().is_some_and(same),
    ];
    let first = |test: &dyn Fn(&Model) -> bool| models.iter().find(|model| test(model)).cloned();
    first(&|model| model.reference() == query)
        .or_else(|| tests.iter().find_map(|test| first(&|model| prefer(model) && test(model))))
        .or_else(|| tests.iter().find_map(|test| first(test)))
}

/// Whether each word of the query is part of the reference or of the name.
fn matches(model: &Model, query: &str) -> bool {
    let text = format!("{} {}", model.reference(), model.name).to_lowercase();
    let query = query.to_lowercase();
    let mut words = query.split(|c: char| c.is_whitespace() || c == '*').filter(|word| !word.is_empty());
    let mut any = false;
    let all = words.all(|word| {
        any = true;
        text.contains(word)
    });
    any && all
}

/// The one model that all of these are: the only one, or the one that the others are dated forms of.
fn one<'a>(models: &[&'a Arc<Model>]) -> Option<&'a Arc<Model>> {
    let shortest = models.iter().min_by_key(|model| model.id.len())?;
    let dated = |model: &&Arc<Model>| {
        let rest = model.id.strip_prefix(&shortest.id);
        model.provider == shortest.provider
            && rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
            && rest.is_some_and(|rest| rest.is_empty() || rest.len() >= 8)
    };
    models.iter().all(dated).then_some(*shortest)
}

fn references(models: &[&Arc<Model>]) -> Vec<String> {
    models.iter().take(NEAR).map(|model| model.reference()).collect()
}

/// References similar to the query.
fn similar(models: &[Arc<Model>], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    // A reference is compared in full only with a query that has a provider too.
    let text = |model: &Arc<Model>| {
        if query.contains('/') { model.reference() } else { model.id.clone() }.to_lowercase()
    };
    let texts: Vec<String> = models.iter().map(text).collect();
    let possible: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut near = Vec::new();
    for found in close_matches(&query, &possible, NEAR, 0.6) {
        let model = texts.iter().position(|text| text == found).and_then(|at| models.get(at));
        let Some(reference) = model.map(|model| model.reference()) else { continue };
        if !near.contains(&reference) {
            near.push(reference);
        }
    }
    near
}
