//! Lists of words, written as one text.

/// The words of a list, split at compile time.
#[macro_export]
macro_rules! words {
    ($list:expr) => {
        const { &$crate::word_list::split::<{ $crate::word_list::count($list) }>($list) }
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
