//! The models that are known: embedded facts, the user's `models.toml`, an ad-hoc provider.
