//! Whether the settings that a folder brings along are used: asked once, and with `/trust`.

use crate::agent::command::Answer;
use crate::agent::event::{NoticeLevel, Question};
use crate::app::effect::{Effect, Request};
use crate::app::model::{Model, Purpose};
use crate::app::overlay::Overlay;

const USE: &str = "use them, as they are now";
const LEAVE: &str = "never use them";
const LATER: &str = "not now; ask again next time";

/// Asks, if the folder brings anything along.
pub(crate) fn ask(model: &mut Model) {
    if model.boot.project.is_empty() {
        let hint = "settings of a folder are in .tau/ in it";
        return model.transcript.notice(
            NoticeLevel::Info,
            "this folder has no settings of its own",
            Some(hint),
        );
    }
    let title = format!("This folder has settings of its own: {}. Use them?", model.boot.project.join(", "));
    let options = [USE, LATER, LEAVE].map(str::to_owned).to_vec();
    // The cautious answer is the one that is there.
    model.overlays.push(Overlay::Trust { question: Question::Select { title, options }, selected: 1 });
}

/// Keeps the answer.
pub(super) fn answered(model: &mut Model, answer: &Answer, effects: &mut Vec<Effect>) {
    let trusted = match answer {
        Answer::Value(choice) if choice == USE => true,
        Answer::Value(choice) if choice == LEAVE => false,
        _ => return model.remark("the settings of this folder are not used"),
    };
    model.ask(Purpose::Tell, Request::Trust { trusted }, effects);
}
