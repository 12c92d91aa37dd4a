//! The screen as a function of the model.
