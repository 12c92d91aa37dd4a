//! Signs of mistakes in a pattern of paths, with which it would match nothing that its writer had in mind.

/// The reason that a pattern can match no file, if it is likely a mistake: it has signs that mean something to a shell,
/// in an address or in a regular expression, but are a part of the name here. Behind `\` and in `[…]` they are meant.
pub(super) fn fault(text: &str) -> Option<String> {
    let Some(bare) = without_escapes(text) else {
        return Some("it has a backslash before a letter or a dot; separate folders with `/`".to_owned());
    };
    if !is_balanced(&bare) {
        return Some("it has an unmatched parenthesis or bracket".to_owned());
    }
    if bare.contains("***") {
        return Some("write `**` for any folders".to_owned());
    }
    let of_groups =
        ["{ ", " }", ", ", " ,"].into_iter().find(|sign| bare.contains('{') && bare.contains(sign));
    if of_groups.is_some() {
        return Some("a space in `{…}` is taken as part of the name".to_owned());
    }
    let sign = foreign_sign(&bare)?;
    Some(format!(
        "`{sign}` is taken as part of the name. Write one rule per file, with the name it has on disk; put `\\` before a \
         character that the name really has"
    ))
}

/// The text with everything that is escaped or in brackets replaced; `None` if what is escaped has no other meaning.
fn without_escapes(text: &str) -> Option<String> {
    let (mut bare, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next().is_none_or(|c| c.is_alphanumeric() || c == '.') => return None,
            '\\' => bare.push('_'),
            '[' => {
                let inside = rest.as_str();
                // A bracket at the start of a class is one of its characters.
                let start = inside.find(|c| !matches!(c, '!' | '^')).unwrap_or_default();
                let end = inside.get(start..)?.char_indices().skip(1).find(|(_, c)| *c == ']');
                let behind = end.and_then(|(end, _)| inside.get(start.saturating_add(end)..));
                rest = behind.unwrap_or_default().chars();
                rest.next();
                bare.push('_');
            }
            c => bare.push(c),
        }
    }
    Some(bare)
}

fn is_balanced(bare: &str) -> bool {
    let depths = bare.chars().scan(0_i32, |depth, c| {
        match c {
            '(' => *depth = depth.saturating_add(1),
            ')' => *depth = depth.saturating_sub(1),
            ']' => *depth = -1,
            _ => {}
        }
        Some(*depth)
    });
    let depths: Vec<i32> = depths.collect();
    depths.iter().all(|depth| *depth >= 0) && depths.last().is_none_or(|depth| *depth == 0)
}

/// A sign that is hardly a part of a name.
fn foreign_sign(bare: &str) -> Option<&'static str> {
    let first = bare.split('/').next().unwrap_or_default();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_in_quotes = bare.starts_with('\'') || bare.ends_with('\'') || bare.matches('\'').count() > 1;
    let mut depth = 0_u32;
    let has_list = bare.chars().any(|c| {
        match c {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let is_variable = |name: &str| {
        name.strip_prefix('$').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let is_byte =
        |rest: &str| rest.get(..2).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let of_shell = ["${", "$(", "\"", "`", "|", ";", "&&", "@(", "+(", "?(", "*(", "!("];
    let others = [
        ("'", is_in_quotes),
        (",", has_list),
        ("$", bare.ends_with('$') || bare.split('/').any(is_variable)),
        ("%", bare.split('%').skip(1).any(is_byte)),
        ("^", bare.starts_with('^')),
        (":", bare.ends_with(":*") || first.split_once(':').is_some_and(|(word, _)| is_word(word))),
        ("~", first != bare && first.strip_prefix('~').is_some_and(is_word)),
    ];
    let found = of_shell.into_iter().find(|sign| bare.contains(sign));
    found.or_else(|| others.into_iter().find(|(_, is_there)| *is_there).map(|(sign, _)| sign))
}
