//! Patterns of the shell, which leave out hidden files unless an option says otherwise.

use super::{Mark, PathText};

impl PathText {
    /// Adds a mark of a shell pattern: a hole at the start of a name does not match a dot.
    pub(in crate::permissions) fn push_of_pattern(&mut self, mark: Mark) {
        let is_hole = matches!(mark, Mark::One | Mark::Name);
        if is_hole && self.is_at_start() {
            self.push(Mark::Visible);
        }
        self.push(mark);
    }

    /// Adds a mark of a shell pattern where `dotglob` is on, and `globstar` may be: a hole matches a dot, and `**` as
    /// a name stands for folders of any depth.
    pub(in crate::permissions) fn push_of_wide_pattern(&mut self, mark: Mark) {
        if mark == Mark::Name && self.pop_if(Mark::Name) {
            let is_whole = self.is_at_start();
            self.0.extend(is_whole.then_some(Mark::Folders).into_iter().chain([Mark::Name]));
        } else if mark == Mark::Char('/') && self.0.ends_with(&[Mark::Folders, Mark::Name]) {
            self.0.pop();
        } else {
            self.push(mark);
        }
    }

    fn is_at_start(&self) -> bool {
        matches!(self.0.last(), None | Some(Mark::Char('/')))
    }

    fn pop_if(&mut self, mark: Mark) -> bool {
        self.0.pop_if(|last| *last == mark).is_some()
    }
}
