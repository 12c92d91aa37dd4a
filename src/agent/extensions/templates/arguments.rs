//! Arguments of a prompt template: `$1`, `$@`, `$ARGUMENTS`, `${1:-default}`, `${@:2:3}`.

/// The arguments of a command: words, which can be joined by quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// All arguments, as typed.
    whole: String,
    words: Vec<String>,
}

impl Arguments {
    /// Parses the text after the name of a command.
    pub(crate) fn of(text: &str) -> Self {
        let whole = text.trim();
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in whole.chars() {
            match (quote, c) {
                (Some(mark), c) if c == mark => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, c) if c.is_whitespace() => words.extend(word.take()),
                (_, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        // An unclosed quote is an apostrophe.
        if quote.is_some() {
            words = whole.split_whitespace().map(str::to_owned).collect();
        }
        Arguments { whole: whole.to_owned(), words }
    }

    /// All arguments, as typed.
    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// The single arguments.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The text with the arguments filled in, and whether it had a placeholder.
    pub(crate) fn fill(&self, text: &str) -> (String, bool) {
        let (mut filled, mut used) = (String::with_capacity(text.len()), false);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            match self.value(after) {
                Some((value, length)) => {
                    filled.push_str(&value);
                    used = true;
                    rest = after.get(length..).unwrap_or_default();
                }
                None => {
                    filled.push('$');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        (filled, used)
    }

    /// The placeholder after a `$`: its value, and its length in bytes.
    fn value(&self, after: &str) -> Option<(String, usize)> {
        if after.starts_with('@') {
            return Some((self.whole.clone(), 1));
        }
        const ALL: &str = "ARGUMENTS";
        if let Some(rest) = after.strip_prefix(ALL) {
            let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            return ends.then(|| (self.whole.clone(), ALL.len()));
        }
        let digits = after.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            return Some((self.word(after.get(..digits)?)?.to_owned(), digits));
        }
        let (inner, _) = after.strip_prefix('{')?.split_once('}')?;
        Some((self.expression(inner)?, inner.len() + 2))
    }

    /// The word with that number, from 1; empty if there are fewer. `$0` is not one.
    fn word(&self, number: &str) -> Option<&str> {
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some(self.words.get(at).map_or("", String::as_str))
    }

    /// The value of an expression in braces: `1`, `1:-default`, `@`, `@:2`, `@:2:3`.
    fn expression(&self, inner: &str) -> Option<String> {
        let (name, option) = inner.split_once(':').map_or((inner, None), |(name, rest)| (name, Some(rest)));
        let all = matches!(name, "@" | "ARGUMENTS");
        let value = if all { self.whole.as_str() } else { self.word(name)? };
        match option {
            None => Some(value.to_owned()),
            Some(option) => match option.strip_prefix('-') {
                Some(default) => Some(if value.is_empty() { default } else { value }.to_owned()),
                None if all => self.slice(option),
                None => None,
            },
        }
    }

    /// `2` or `2:3`: the words from a number on, and their maximum count.
    fn slice(&self, option: &str) -> Option<String> {
        let (first, count) =
            option.split_once(':').map_or((option, None), |(first, rest)| (first, Some(rest)));
        let skipped = first.trim().parse::<usize>().ok()?.max(1) - 1;
        let count = match count {
            Some(count) => count.trim().parse().ok()?,
            None => usize::MAX,
        };
        let words: Vec<&str> = self.words.iter().skip(skipped).take(count).map(String::as_str).collect();
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn arguments_stand_where_they_are_named() {
        let arguments = Arguments::of(" one 'two words'  \"\" four ");
        for (text, expected) in [
            ("$1|$2|$3|$4|$5|", "one|two words||four||"),
            ("$@", "one 'two words'  \"\" four"),
            ("$ARGUMENTS.", "one 'two words'  \"\" four."),
            ("${1} ${9:-none} ${3:-empty} ${1:-x}", "one none empty one"),
            ("${@:2}|${@:2:1}|${@:1:2}|${@:9}", "two words  four|two words|one two words|"),
            ("${@:-all}", "one 'two words'  \"\" four"),
            ("costs $ 5, $x, ${x}, $ARGUMENTSX, $0, ${, $", "costs $ 5, $x, ${x}, $ARGUMENTSX, $0, ${, $"),
        ] {
            assert_eq!(arguments.fill(text).0, expected, "{text}");
        }
        assert_eq!(Arguments::of("").fill("${@:-all} ${1:-a b}"), ("all a b".to_owned(), true));
        assert_eq!(Arguments::of("it's $1").fill("$1 $2"), ("it's $1".to_owned(), true), "filled once");
        assert!(!Arguments::of("x").fill("nothing").1);
    }
}
