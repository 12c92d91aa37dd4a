//! The choices of a prompt, in the order in which they are shown.

use super::Approval;

/// A choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Once,
    /// Calls like this one are not asked about again.
    Always,
    /// The call is changed, then run.
    Edit,
    /// The call is denied, with a reason if one is typed.
    Deny,
    /// Every pending call of the same tool is allowed.
    AllowAll,
    /// Every pending call of the same tool is denied.
    DenyAll,
}

impl Choice {
    /// The letter that selects it.
    pub fn letter(self) -> char {
        match self {
            Choice::Once => 'y',
            Choice::Always => 'a',
            Choice::Edit => 'e',
            Choice::Deny => 'n',
            Choice::AllowAll => 'Y',
            Choice::DenyAll => 'N',
        }
    }
}

impl Approval {
    /// The choices; `same` pending calls are like this one.
    pub fn choices(&self, same: usize) -> Vec<Choice> {
        let adds_nothing =
            self.request.ran && self.request.adds_path() && self.request.suggested_rules.is_empty();
        let choices = [
            Some(Choice::Once),
            Some(Choice::Always).filter(|_| !adds_nothing),
            Some(Choice::Edit).filter(|_| self.can_edit()),
            Some(Choice::Deny),
            Some(Choice::AllowAll).filter(|_| same > 1),
            Some(Choice::DenyAll).filter(|_| same > 1),
        ];
        choices.into_iter().flatten().collect()
    }

    /// A choice in words: for a row of its own, and for a row shared with others.
    pub fn choice_words(&self, choice: Choice, same: usize) -> (String, String) {
        let (ran, adds_path) = (self.request.ran, self.request.adds_path());
        let name = self.name.as_str();
        let words = |full: &str, short: &str| (full.to_owned(), short.to_owned());
        match choice {
            Choice::Once if ran => words("Yes, again without the sandbox", "Yes, without it"),
            Choice::Once => words("Yes, once", "Yes, once"),
            Choice::Always if ran && adds_path => words("Always: add the path", "Add the path"),
            Choice::Always => words("Always…", "Always"),
            Choice::Edit => words("Edit it first", "Edit"),
            Choice::Deny if ran => words("No, leave it", "No"),
            Choice::Deny => words("No, and say why", "No"),
            Choice::AllowAll => (format!("Yes to all {same} {name} calls"), format!("Yes to all {same}")),
            Choice::DenyAll => (format!("No to all {same} {name} calls"), format!("No to all {same}")),
        }
    }
}
