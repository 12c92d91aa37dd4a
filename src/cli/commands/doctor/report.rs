//! The findings as text and as JSON.

use std::fmt::{Display, Write};

use serde_json::{Map, Value, json};

use crate::process::plain;

/// A finding.
pub(super) struct Fact {
    name: String,
    /// For display.
    text: String,
    /// For programs.
    value: Value,
}

impl Fact {
    /// A fact with the same text for display and for programs.
    pub fn text(name: impl Into<String>, text: impl Display) -> Self {
        let text = text.to_string();
        Fact { name: name.into(), value: Value::String(text.clone()), text }
    }

    /// A fact with a separate value for programs.
    pub fn value(name: impl Into<String>, text: impl Display, value: impl Into<Value>) -> Self {
        Fact { name: name.into(), text: text.to_string(), value: value.into() }
    }
}

/// Advice on a finding.
pub(super) enum Advice {
    /// tau cannot be used until this is fixed.
    Problem(String),
    /// tau works; this would be better.
    Hint(String),
}

/// The facts on one subject.
pub(super) struct Section {
    name: &'static str,
    facts: Vec<Fact>,
    advice: Vec<Advice>,
}

impl Section {
    /// A section without facts.
    pub fn new(name: &'static str) -> Self {
        Section { name, facts: Vec::new(), advice: Vec::new() }
    }

    /// Adds a finding.
    pub fn add(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// Adds advice.
    pub(crate) fn advise(&mut self, advice: Advice) {
        self.advice.push(advice);
    }
}

/// Whether no finding keeps tau from working.
pub(super) fn is_usable(sections: &[Section]) -> bool {
    !sections.iter().flat_map(|section| &section.advice).any(|advice| matches!(advice, Advice::Problem(_)))
}

/// The facts by subject, then the advice.
pub(super) fn as_text(sections: &[Section]) -> String {
    let mut out = String::new();
    let names = sections.iter().flat_map(|section| &section.facts);
    let width = names.map(|fact| fact.name.chars().count()).max().unwrap_or(0);
    for section in sections.iter().filter(|section| !section.facts.is_empty()) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", section.name);
        for fact in &section.facts {
            let _ = writeln!(out, "  {:width$}  {}", plain::line(&fact.name), plain::line(&fact.text));
        }
        out.push('\n');
    }
    let advice: Vec<&Advice> = sections.iter().flat_map(|section| &section.advice).collect();
    for advice in &advice {
        let _ = match advice {
            Advice::Problem(text) => writeln!(out, "problem: {}", plain::line(text)),
            Advice::Hint(text) => writeln!(out, "advice: {}", plain::line(text)),
        };
    }
    if advice.is_empty() {
        out.push_str("no problems found\n");
    }
    out
}

/// One object: `usable`, an object for each subject, and `advice`.
pub(super) fn as_json(sections: &[Section]) -> String {
    let mut object = Map::new();
    object.insert("usable".to_owned(), Value::Bool(is_usable(sections)));
    for section in sections {
        let facts = section.facts.iter().map(|fact| (fact.name.clone(), fact.value.clone()));
        object.insert(section.name.to_owned(), Value::Object(facts.collect()));
    }
    let advice =
        sections.iter().flat_map(|section| section.advice.iter().map(|advice| (section.name, advice)));
    let advice: Vec<Value> = advice
        .map(|(about, advice)| match advice {
            Advice::Problem(text) => json!({"level": "problem", "about": about, "text": text}),
            Advice::Hint(text) => json!({"level": "advice", "about": about, "text": text}),
        })
        .collect();
    object.insert("advice".to_owned(), Value::Array(advice));
    format!("{:#}\n", Value::Object(object))
}
