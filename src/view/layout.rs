//! The layout of the screen. The transcript gets the remaining space.

use ratatui::layout::Rect;

use tau_app::Model;
use tau_app::completion::Completion;

/// Cells to the left and right of the composer's text.
const COMPOSER_MARGIN: u16 = 3;
/// Windows with fewer rows have one row for the draft while a prompt is open.
const LOW: u16 = 16;
/// The minimum number of visible completions.
const MIN_NAMES: u16 = 3;
/// The maximum number of visible queued messages.
const QUEUE: u16 = 4;

/// The parts of the screen, from top to bottom. A part without room has height 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    pub transcript: Rect,
    pub plan: Rect,
    pub activity: Rect,
    pub queue: Rect,
    pub completion: Rect,
    pub composer: Rect,
    pub footer: Rect,
}

/// The width of the composer's text in an area.
pub(crate) fn composer_width(area: Rect) -> u16 {
    area.width.saturating_sub(COMPOSER_MARGIN).max(1)
}

impl Regions {
    /// Places the transcript at `top` with this many rows; the other parts follow it.
    pub(crate) fn below(self, top: u16, rows: u16) -> Regions {
        let mut y = top;
        let mut next = |region: Rect, height: u16| {
            let region = Rect { y, height, ..region };
            y += height;
            region
        };
        Regions {
            transcript: next(self.transcript, rows),
            plan: next(self.plan, self.plan.height),
            activity: next(self.activity, self.activity.height),
            queue: next(self.queue, self.queue.height),
            completion: next(self.completion, self.completion.height),
            composer: next(self.composer, self.composer.height),
            footer: next(self.footer, self.footer.height),
        }
    }

    /// Limits the completions to the room below the transcript, if any are visible.
    pub(crate) fn with_completion_in(self, room: u16) -> Regions {
        let others = self.height() - self.transcript.height - self.completion.height;
        let rows = self.completion.height.min(room.saturating_sub(others).max(MIN_NAMES));
        let gained = self.completion.height - rows;
        let transcript = Rect { height: self.transcript.height + gained, ..self.transcript };
        Regions { transcript, completion: Rect { height: rows, ..self.completion }, ..self }
    }

    /// The number of transcript rows that can be live: completions cover the others if `room` is short.
    pub(crate) fn live_rows_in(&self, room: u16) -> u16 {
        let names = self.completion.height;
        let others = self.height() - self.transcript.height - names + names.min(MIN_NAMES);
        let most = if names > 0 { room.saturating_sub(others) } else { u16::MAX };
        self.transcript.height.min(most)
    }

    /// Puts `rows` in place of the parts below the activity; the transcript gets the rest.
    pub(crate) fn with_box(self, rows: u16) -> Regions {
        let all = self.height();
        let box_rows = rows.min(all);
        let activity = self.activity.height.min(all - box_rows);
        let none = Rect { height: 0, ..self.footer };
        let composer = Rect { height: box_rows, ..self.composer };
        let activity = Rect { height: activity, ..self.activity };
        let regions =
            Regions { plan: none, activity, queue: none, completion: none, composer, footer: none, ..self };
        regions.below(self.transcript.y, all - box_rows - activity.height)
    }

    /// The total number of rows.
    pub(crate) fn height(&self) -> u16 {
        let Regions { transcript, plan, activity, queue, completion, composer, footer } = self;
        [transcript, plan, activity, queue, completion, composer, footer]
            .iter()
            .map(|region| region.height)
            .sum()
    }
}

/// Divides the screen.
pub(crate) fn regions(model: &Model, area: Rect) -> Regions {
    let text = model.composer.layout(composer_width(area)).rows.len();
    // A command that has the keyboard takes the composer's place, and more rows.
    let (text, most) = match (super::console::rows(model), &model.transcript.find) {
        (Some(rows), _) => (rows, (area.height * 3 / 5).max(1)),
        (None, Some(_)) => (1, 1),
        // A request needs the rows more than an inactive draft.
        (None, None) if model.shows_prompt() => (1, 1),
        (None, None) => (text, (area.height / 3).max(1)),
    };
    let text = u16::try_from(text).unwrap_or(u16::MAX).min(most);
    let mut left = area.height;
    let mut take = |wanted: u16, leave: u16| {
        let taken = wanted.min(left.saturating_sub(leave));
        left -= taken;
        taken
    };
    let asks = model.shows_prompt();
    let composer = take(if asks && area.height < LOW { 1 } else { text + 2 }, 0);
    let footer = take(1, 1);
    // The request itself shows that something is waiting.
    let has_activity = super::footer::has_activity(model) && !asks;
    let activity = take(u16::from(has_activity), 1);
    let queue = take(u16::try_from(model.status.queued_count()).unwrap_or(QUEUE).min(QUEUE), 2);
    let list = model.completion.as_ref().filter(|_| model.transcript.find.is_none() && !model.takes_answer());
    let rows = list.map_or(0, Completion::height);
    let completion = take(u16::try_from(rows).unwrap_or(0), 2);
    // A request needs the rows more.
    let most = if asks || area.height < LOW { 1 } else { area.height / 4 };
    let plan = crate::overlays::plan::rows_above_composer(model).min(most);
    let plan = take(if asks && area.height < LOW { 0 } else { plan }, 4);
    let transcript = left;
    let mut y = area.y;
    let mut next = |height: u16| {
        let region = Rect { x: area.x, y, width: area.width, height };
        y += height;
        region
    };
    Regions {
        transcript: next(transcript),
        plan: next(plan),
        activity: next(activity),
        queue: next(queue),
        completion: next(completion),
        composer: next(composer),
        footer: next(footer),
    }
}
