//! The skills in the system prompt: names, descriptions and files, within a budget of tokens.
//!
//! The order depends only on the names, so that the prompt stays the same and providers keep it cached.

use super::Skill;
use tau_tools::budget::{TOKEN, token_weight};

/// The default token budget of the list.
pub const SKILL_BUDGET: u64 = 6_000;
/// The steps to which descriptions are cut when the list is too long, in characters.
const SHORTER: [usize; 5] = [400, 200, 100, 50, 0];

/// The list in the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillListing {
    /// Markdown; empty without skills.
    pub text: String,
    /// The approximate tokens of each listed skill, by its index in the given list.
    pub tokens: Vec<Option<u64>>,
    /// Describes omitted skills and descriptions.
    pub problem: Option<String>,
}

/// The list of these skills, which are sorted by name. Those that only the user can invoke are left out.
pub fn listing<'a>(skills: impl IntoIterator<Item = &'a Skill>, budget: u64) -> SkillListing {
    let skills: Vec<&Skill> = skills.into_iter().collect();
    let most = usize::try_from(budget).unwrap_or(usize::MAX).saturating_mul(TOKEN);
    let lines = |characters: usize| -> Vec<Option<String>> {
        skills.iter().map(|skill| skill.is_listed.then(|| line(skill, characters))).collect()
    };
    let weight =
        |lines: &[Option<String>]| -> usize { lines.iter().flatten().map(|line| token_weight(line)).sum() };
    let mut shown = lines(usize::MAX);
    let mut problem = None;
    for characters in SHORTER {
        if weight(&shown) <= most {
            break;
        }
        shown = lines(characters);
        problem = Some(format!(
            "the descriptions of skills are cut to {characters} characters: together they take more than \
             {budget} tokens"
        ));
    }
    let (mut left, mut left_out) = (most, 0_usize);
    for line in &mut shown {
        let Some(text) = line else { continue };
        let weight = token_weight(text);
        if weight > left {
            left = 0;
            left_out += 1;
            *line = None;
        } else {
            left -= weight;
        }
    }
    if left_out > 0 {
        problem = Some(format!(
            "{} not listed for the model: the names alone take more than {budget} tokens",
            if left_out == 1 { "1 skill is".to_owned() } else { format!("{left_out} skills are") }
        ));
    }
    let tokens = shown
        .iter()
        .map(|line| {
            line.as_ref().map(|line| u64::try_from(token_weight(line).div_ceil(TOKEN)).unwrap_or(u64::MAX))
        })
        .collect();
    let list: String = shown.into_iter().flatten().collect();
    let text = match list.is_empty() {
        true => String::new(),
        false => format!("# Skills\n\n{}\n{}", include_str!("listing.md"), list.trim_end()),
    };
    SkillListing { text, tokens, problem }
}

fn line(skill: &Skill, characters: usize) -> String {
    let safe = |text: &str| -> String {
        let blank = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
        text.chars().map(blank).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let whole = safe(&skill.description);
    let mut description: String = whole.chars().take(characters).collect();
    if description.len() < whole.len() && characters > 0 {
        description.push('…');
    }
    let separator = if description.is_empty() { "" } else { ": " };
    format!("- {} (`{}`){separator}{description}\n", skill.name, safe(&skill.path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use tau_protocol::extension::ExtensionSource;

    fn skill(name: &str, description: &str) -> Skill {
        Skill {
            name: name.to_owned(),
            description: description.to_owned(),
            path: PathBuf::from(format!("/s/{name}/SKILL.md")),
            source: ExtensionSource::User,
            allowed_tools: Vec::new(),
            argument_hint: String::new(),
            is_listed: true,
            is_broken: false,
            problems: Vec::new(),
        }
    }

    #[test]
    fn the_list_stays_within_its_budget() {
        let skills: Vec<Skill> = (10..60).map(|at| skill(&format!("s{at}"), &"word ".repeat(200))).collect();
        let whole = listing(&skills[..1], 6_000);
        assert!(whole.text.ends_with(&format!("(`/s/s10/SKILL.md`): {}", "word ".repeat(200).trim_end())));
        assert_eq!((whole.problem, whole.tokens.len()), (None, 1));
        for budget in [3_000, 1_000, 500, 100] {
            let cut = listing(&skills, budget);
            let sum: u64 = cut.tokens.iter().flatten().sum();
            assert!(sum <= budget + 50, "{sum} of {budget}");
            assert!(cut.problem.is_some());
            assert_eq!(cut, listing(&skills, budget), "the same skills give the same text");
        }
        let names = listing(&skills, 600);
        assert_eq!(names.tokens.iter().flatten().count(), 50);
        let few = listing(&skills, 100);
        assert!(few.problem.is_some_and(|problem| problem.contains("not listed for the model")));
    }

    #[test]
    fn what_is_for_the_user_only_is_not_listed() {
        let hidden = Skill { is_listed: false, ..skill("hidden", "x") };
        assert_eq!(listing([&hidden], 100).text, "");
        let both = listing([&hidden, &skill("shown", "two\nlines")], 1_000);
        assert!(!both.text.contains("hidden") && both.text.ends_with("): two lines"), "{}", both.text);
        assert_eq!(both.tokens[0], None);
    }
}
