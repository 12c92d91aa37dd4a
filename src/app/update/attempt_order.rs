//! Reads the words behind `/attempts`: `N [--until COMMAND] [--model NAMES] TASK`.

use tau_protocol::attempt::MOST_ATTEMPTS;

/// The command that decides, in an example.
const EXAMPLE: &str = "/attempts 3 --until 'cargo test' fix the flaky test";

/// The words behind `/attempts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WrittenOrder {
    pub count: u32,
    /// The command that decides; `None` for that of the goal.
    pub check: Option<String>,
    pub models: Vec<String>,
    pub task: String,
}

/// Reads the words; the error says what is wrong, and what to write.
pub(super) fn read(text: &str) -> Result<WrittenOrder, (String, String)> {
    let wrong = |what: &str| (what.to_owned(), format!("write {EXAMPLE}"));
    let (number, mut rest) = word(text).map_err(|why| wrong(&why))?;
    let count: u32 = number.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
        let hint = format!("{EXAMPLE} begins three attempts; /attempts alone lists them");
        (format!("{number:?} is not a number of attempts"), hint)
    })?;
    if count > MOST_ATTEMPTS {
        return Err(wrong(&format!("at most {MOST_ATTEMPTS} attempts at once")));
    }
    let mut order = WrittenOrder { count, ..WrittenOrder::default() };
    while rest.starts_with("--") && !rest.starts_with("-- ") {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let (value, after) = word(behind.strip_prefix('=').unwrap_or(behind)).map_err(|why| wrong(&why))?;
        if value.is_empty() {
            return Err(wrong(&format!("{name} needs a value")));
        }
        match name {
            "--until" => order.check = Some(value),
            "--model" => order.models = value.split(',').map(|name| name.trim().to_owned()).collect(),
            _ => {
                return Err(wrong(&format!(
                    "{name} is not an option here; the options are --until and --model"
                )));
            }
        }
        rest = after;
    }
    let task = rest.strip_prefix("-- ").unwrap_or(rest).trim();
    // The whole task may be quoted, as in a shell.
    let is_quoted = ['"', '\''].into_iter().any(|quote| {
        let inner = task.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inner.is_some_and(|inner| !inner.contains(quote))
    });
    order.task = match word(task) {
        Ok((whole, "")) if is_quoted => whole,
        _ => task.to_owned(),
    };
    if order.task.is_empty() {
        return Err(wrong("the task is missing"));
    }
    Ok(order)
}

/// The first word of a text without its quotes, and the rest.
fn word(text: &str) -> Result<(String, &str), String> {
    let text = text.trim_start();
    let (mut word, mut quote) = (String::new(), None);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.extend(chars.next().map(|(_, c)| c)),
            (c, None) if c.is_whitespace() => {
                return Ok((word, text.get(at..).unwrap_or_default().trim_start()));
            }
            (c, _) => word.push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("a closing {open} is missing")),
        None => Ok((word, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: u32, check: Option<&str>, models: &[&str], task: &str) -> WrittenOrder {
        let models = models.iter().map(|name| (*name).to_owned()).collect();
        WrittenOrder { count, check: check.map(str::to_owned), models, task: task.to_owned() }
    }

    #[test]
    fn orders_are_written_as_in_a_shell() {
        let cases = [
            ("3 fix it", order(3, None, &[], "fix it")),
            ("2 --until 'cargo test' fix it", order(2, Some("cargo test"), &[], "fix it")),
            (
                "2 --until=make --model a/b,c  fix it\nnow",
                order(2, Some("make"), &["a/b", "c"], "fix it\nnow"),
            ),
            ("1 --until \"test \\\"x\\\" = y\" 'fix it'", order(1, Some("test \"x\" = y"), &[], "fix it")),
            (r#"2 {"t":"x y"}"#, order(2, None, &[], r#"{"t":"x y"}"#)),
            (r#"2 "fix 'it'""#, order(2, None, &[], "fix 'it'")),
            (r#"2 "a"+"b""#, order(2, None, &[], r#""a"+"b""#)),
            ("2 don't --until x", order(2, None, &[], "don't --until x")),
            ("2 -- --until x", order(2, None, &[], "--until x")),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("fix it", "\"fix\" is not a number of attempts"),
            ("0 fix it", "\"0\" is not a number of attempts"),
            ("17 fix it", "at most 16 attempts at once"),
            ("3", "the task is missing"),
            ("3 --until", "--until needs a value"),
            ("3 --until 'x fix", "a closing ' is missing"),
            ("3 --untli x fix", "--untli is not an option here; the options are --until and --model"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).map_err(|(what, _)| what), Err(expected.to_owned()), "{text}");
        }
    }
}
