//! How much of a plan's limits is used, as its provider reports it with every answer.

use serde::{Deserialize, Serialize};

/// The limits of a plan, as its provider last reported them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanLimits {
    /// The provider, as in `provider/model`.
    pub provider: String,
    /// The shortest first.
    pub windows: Vec<PlanWindow>,
}

/// A limit for a time, after whose end it is not used at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanWindow {
    /// Its length, and what it is for if not for everything: `5h`, `week`, `week (opus)`.
    pub name: String,
    /// How much of it is used, in percent.
    pub used_percent: f64,
    /// Its end, in milliseconds since 1970; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
}

impl PlanWindow {
    /// How much of it is used at this time, in percent: nothing after its end.
    pub fn usage_percent(&self, now_ms: i64) -> u64 {
        let is_over = self.resets_at.is_some_and(|end| end <= now_ms);
        if is_over { 0 } else { self.used_percent.clamp(0.0, 999.0).round() as u64 }
    }
}
