//! Tests of what the source of a rule permits.

use super::*;
use Verdict::{Allow, Ask};

#[test]
fn only_a_rule_of_the_user_allows_it() {
    let file = |is_project| RuleSource::File { path: PathBuf::from("c.toml"), line: 1, is_project };
    for (source, verdict) in [
        (RuleSource::Session, Allow),
        (file(false), Allow),
        (file(true), Ask),
        (RuleSource::Granted("tidy".to_owned()), Ask),
    ] {
        let rules = ["bash(git reset --hard)", "bash(git clean -fdx)", "bash(git push --force origin main)"];
        for text in
            rules.map(|rule| rule.strip_prefix("bash(").and_then(|rest| rest.strip_suffix(')')).unwrap())
        {
            let in_force = |rule: &&str| RuleInForce {
                rule: rule.parse().unwrap(),
                list: Allow,
                source: source.clone(),
            };
            let known = Permissions::new(rules.iter().map(in_force).collect(), Options::default());
            check(&known, PermissionMode::Auto, verdict, &[text]);
        }
    }
}
