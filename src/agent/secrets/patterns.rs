//! The shapes in which providers write their keys.

/// Beginnings of keys, and how many characters have to follow at least.
const SHAPES: [(&str, usize); 20] = [
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("gsk_", 20),
    ("xai-", 20),
    ("hf_", 20),
    ("r8_", 20),
    ("pplx-", 20),
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("npm_", 30),
];

/// Length of the shortest key of these shapes.
const SHORTEST_KEY: usize = 20;

/// Keys contain digits or capital letters; words with dashes do not.
fn mixed(key: &str) -> bool {
    key.chars().skip(3).any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}

pub(super) fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// What comes before the key in a word; `None` if the word holds no key.
pub(super) fn before_key(word: &str) -> Option<&str> {
    // Nearly all words are shorter than any key, and looking at them closer takes long.
    if word.len() < SHORTEST_KEY {
        return None;
    }
    let token = word.starts_with("eyJ") && word.len() > 60 && word.matches('.').count() == 2;
    SHAPES.iter().find_map(|(begin, least)| shaped(word, begin, *least)).or(token.then_some(""))
}

fn shaped<'w>(word: &'w str, begin: &str, least: usize) -> Option<&'w str> {
    let (before, key) = word.split_at_checked(word.find(begin)?)?;
    // In the middle of another word these letters are no beginning.
    let begins = before.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    (begins && key.len() >= begin.len() + least && mixed(key)).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_shorter_than_the_shortest_word_that_is_examined() {
        let shortest = SHAPES.iter().map(|(begin, least)| begin.len() + least).min();
        assert_eq!(shortest, Some(SHORTEST_KEY));
    }
}
