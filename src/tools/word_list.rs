//! Lists of words, written as one text.

/// The words of a list, split at compile time.
#[macro_export]
macro_rules! words {
    ($list:expr) => {
        const { &$crate::word_list::split::<{ $crate::word_list::count($list) }>($list) }
    };
}

/// The pairs of a list such as `one=first two=second`, split at compile time.
#[macro_export]
macro_rules! pairs {
    ($list:expr) => {
        const { &$crate::word_list::pairs::<{ $crate::word_list::count($list) }>($list) }
    };
}

/// The number of words in a list.
pub const fn count(list: &str) -> usize {
    let (bytes, mut at, mut count) = (list.as_bytes(), 0, 1);
    while at < bytes.len() {
        count += (bytes[at] == b' ') as usize;
        at += 1;
    }
    count
}

/// The words of a list that has this many.
pub const fn split<const COUNT: usize>(list: &str) -> [&str; COUNT] {
    let (mut words, mut rest, mut at) = ([""; COUNT], list, 0);
    while at < COUNT {
        let (bytes, mut end) = (rest.as_bytes(), 0);
        while end < bytes.len() && bytes[end] != b' ' {
            end += 1;
        }
        let (word, behind) = rest.split_at(end);
        words[at] = word;
        rest = if behind.is_empty() { behind } else { behind.split_at(1).1 };
        at += 1;
    }
    words
}

/// The pairs of a list that has this many.
pub const fn pairs<const COUNT: usize>(list: &str) -> [(&str, &str); COUNT] {
    let (words, mut pairs, mut at) = (split::<COUNT>(list), [("", ""); COUNT], 0);
    while at < COUNT {
        let (bytes, mut end) = (words[at].as_bytes(), 0);
        while bytes[end] != b'=' {
            end += 1;
        }
        let (one, other) = words[at].split_at(end);
        pairs[at] = (one, other.split_at(1).1);
        at += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_are_taken_apart_word_by_word() {
        assert_eq!(words!("a bc -d"), &["a", "bc", "-d"]);
        assert_eq!(words!("a"), &["a"]);
        assert_eq!(pairs!("a=b c=d/=e"), &[("a", "b"), ("c", "d/=e")]);
    }
}
