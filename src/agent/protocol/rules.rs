//! Permission rules, as front ends list and change them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::approval::RuleScope;

/// The decision on a call, from the mildest to the strictest.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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

    /// The name of its list of rules, as in `config.toml`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// All rules, and the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionRules {
    /// In the order of their sources: the user's file, those of directories, the session.
    pub rules: Vec<ListedRule>,
    pub built_in: Vec<BuiltInRule>,
}

/// A rule and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRule {
    /// The list that contains it.
    pub list: Verdict,
    /// The rule as written by users: `bash(cargo test *)`.
    pub rule: String,
    pub scope: RuleScope,
    /// The file and line that contain it; absent for a rule of the session.
    #[serde(with = "tau_tools::path_text", default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(PathBuf, usize)>,
    /// The skill or prompt template that granted it, if any. The rule then holds to the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<String>,
    /// False for a rule of an untrusted directory, which has no effect.
    pub in_force: bool,
}

/// A built-in rule of tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltInRule {
    pub verdict: Verdict,
    /// Its subject, in words.
    pub about: String,
    /// An explanation, in a sentence.
    pub help: String,
    /// False if the user has switched it off.
    pub in_force: bool,
}

/// A change to the rules: removal, addition or replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<ListedRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<NewRule>,
}

/// A rule to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRule {
    pub list: Verdict,
    pub rule: String,
    pub scope: RuleScope,
}
