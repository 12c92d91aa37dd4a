//! The rules of permissions, as front ends list and change them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::approval::RuleScope;

/// What is done about a call, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It runs.
    #[default]
    Allow,
    /// The user decides.
    Ask,
    /// It does not run.
    Deny,
}

impl Verdict {
    /// Every verdict, from the mildest to the strictest.
    pub const ALL: [Verdict; 3] = [Verdict::Allow, Verdict::Ask, Verdict::Deny];

    /// The name of the list of rules that leads to it, as in `config.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

/// All rules, and what tau does without any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionRules {
    /// In the order of their sources: the user's file, those of directories, the session.
    pub rules: Vec<ListedRule>,
    pub built_in: Vec<BuiltInRule>,
}

/// A rule, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRule {
    /// The list it is in.
    pub list: Verdict,
    /// As users write it: `bash(cargo test *)`.
    pub rule: String,
    pub scope: RuleScope,
    /// The file it is in, and on which line; absent if it holds for the session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(PathBuf, usize)>,
    /// The skill or the prompt template that brought it along, if one did. It then holds to the end of
    /// the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<String>,
    /// False for a rule of a directory that is not trusted: it does not hold.
    pub in_force: bool,
}

/// What tau does without a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltInRule {
    pub verdict: Verdict,
    /// What it is about, in words.
    pub about: String,
    /// More about it, in a sentence.
    pub help: String,
    /// False if the user has switched it off.
    pub in_force: bool,
}

/// A change of the rules: one is removed, one is added, or one takes the place of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<ListedRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<NewRule>,
}

/// A rule to be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRule {
    pub list: Verdict,
    pub rule: String,
    pub scope: RuleScope,
}
