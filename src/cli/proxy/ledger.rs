//! The usage of each token, and whether a request may still be sent.
//!
//! Pure: time comes in as seconds since 1970, the caller handles the file. Days are in UTC. A limit in tokens
//! or dollars is checked before a request and counted after it, so running answers may exceed it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::tokens::TokenRow;
use tau_protocol::message::Usage;
use tau_tools::counted::pluralize;

const DAY: i64 = 86_400;
const MINUTE: i64 = 60;
/// Number of days kept for each token.
const KEPT_DAYS: usize = 31;

/// An amount of usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    pub requests: u64,
    /// Tokens of models, neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars.
    pub dollars: f64,
}

impl Tally {
    /// Tokens, in and out.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .iter()
            .fold(0, |a, b| a.saturating_add(*b))
    }

    fn add(&mut self, usage: &Usage, dollars: f64) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
        self.dollars += dollars;
    }
}

/// The usage of one token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    pub total: Tally,
    /// By day, as the number of days since 1970.
    pub days: BTreeMap<i64, Tally>,
    /// Times of the requests in the last minute.
    #[serde(skip)]
    recent: VecDeque<i64>,
    #[serde(skip)]
    running: u32,
}

impl Account {
    /// The usage on the day of `now`.
    pub fn today(&self, now: i64) -> Tally {
        self.days.get(&now.div_euclid(DAY)).copied().unwrap_or_default()
    }
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    /// The limit that was reached.
    pub text: String,
    /// Time until the next attempt, in seconds; `None` if a running request must end first.
    pub wait: Option<i64>,
}

/// The accounts by the name of their token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    pub accounts: BTreeMap<String, Account>,
}

impl Ledger {
    /// Starts a request with the token `name` if its limits allow it. The error is the limit that forbids it.
    pub fn admit(&mut self, name: &str, limits: &TokenRow, now: i64) -> Result<(), Denial> {
        let account = self.accounts.entry(name.to_owned()).or_default();
        // Later ones are from before the clock was set back.
        account.recent.retain(|came| *came <= now && now.saturating_sub(*came) < MINUTE);
        let denied = |text: String, wait| Err(Denial { text, wait });
        let today = account.today(now);
        let tomorrow = Some(DAY - now.rem_euclid(DAY));
        if let Some(most) = limits.tokens_per_day.filter(|most| today.tokens() >= *most) {
            return denied(
                format!("this token has used its {} per day (UTC)", pluralize(most, "token")),
                tomorrow,
            );
        }
        if let Some(most) = limits.dollars_per_day.filter(|most| today.dollars >= *most) {
            return denied(format!("this token has used its ${most} per day (UTC)"), tomorrow);
        }
        if let Some(most) = limits.at_once.filter(|most| account.running >= *most) {
            return denied(
                format!("this token allows {} at the same time", pluralize(most, "request")),
                None,
            );
        }
        let recent = u32::try_from(account.recent.len()).unwrap_or(u32::MAX);
        if let Some(most) = limits.requests_per_minute.filter(|most| recent >= *most) {
            let wait = account.recent.front().map(|came| (MINUTE - (now - came)).max(1));
            return denied(format!("this token allows {} per minute", pluralize(most, "request")), wait);
        }
        if limits.requests_per_minute.is_some() {
            account.recent.push_back(now);
        }
        account.running = account.running.saturating_add(1);
        account.total.requests = account.total.requests.saturating_add(1);
        let day = account.days.entry(now.div_euclid(DAY)).or_default();
        day.requests = day.requests.saturating_add(1);
        while account.days.len() > KEPT_DAYS {
            account.days.pop_first();
        }
        Ok(())
    }

    /// Ends an admitted request, and counts its usage.
    pub fn settle(&mut self, name: &str, usage: &Usage, dollars: f64, now: i64) {
        let account = self.accounts.entry(name.to_owned()).or_default();
        account.running = account.running.saturating_sub(1);
        account.total.add(usage, dollars);
        account.days.entry(now.div_euclid(DAY)).or_default().add(usage, dollars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input_usage(tokens: u64) -> Usage {
        Usage { input: tokens, ..Usage::default() }
    }

    #[test]
    fn limits_of_a_minute_and_at_once() {
        let mut ledger = Ledger::default();
        let limits = TokenRow { requests_per_minute: Some(2), at_once: Some(2), ..TokenRow::default() };
        let admit = |ledger: &mut Ledger, now| ledger.admit("a", &limits, now);
        assert_eq!((admit(&mut ledger, 100), admit(&mut ledger, 110)), (Ok(()), Ok(())));
        assert_eq!(
            admit(&mut ledger, 120).unwrap_err().text,
            "this token allows 2 requests at the same time"
        );
        ledger.settle("a", &input_usage(1), 0.0, 120);
        let denied = admit(&mut ledger, 130).unwrap_err();
        assert_eq!(
            (denied.text.as_str(), denied.wait),
            ("this token allows 2 requests per minute", Some(30))
        );
        assert!(ledger.admit("b", &limits, 130).is_ok(), "another token has limits of its own");
        assert_eq!(admit(&mut ledger, 160), Ok(()));
        assert_eq!(ledger.accounts["a"].total.requests, 3, "what is refused is not counted");
        // The clock was set back.
        ledger.settle("a", &input_usage(1), 0.0, 160);
        assert_eq!(admit(&mut ledger, 50), Ok(()));
    }

    #[test]
    fn limits_of_a_day_end_with_the_day() {
        let limits = TokenRow { tokens_per_day: Some(100), ..TokenRow::default() };
        let mut ledger = Ledger::default();
        ledger.admit("a", &limits, DAY + 10).unwrap();
        ledger.settle("a", &input_usage(100), 0.5, DAY + 20);
        let denied = ledger.admit("a", &limits, 2 * DAY - 7).unwrap_err();
        assert!(denied.text.contains("100 tokens per day") && denied.wait == Some(7), "{denied:?}");
        ledger.admit("a", &limits, 2 * DAY).unwrap();
        let limits = TokenRow { dollars_per_day: Some(0.5), ..TokenRow::default() };
        ledger.settle("a", &input_usage(1), 0.5, 2 * DAY);
        assert!(ledger.admit("a", &limits, 2 * DAY).unwrap_err().text.contains("$0.5 per day"));
        assert_eq!((ledger.accounts["a"].total.input, ledger.accounts["a"].total.dollars), (101, 1.0));
    }

    #[test]
    fn what_was_used_survives_a_restart_and_what_runs_does_not() {
        let mut ledger = Ledger::default();
        let limits = TokenRow { at_once: Some(1), ..TokenRow::default() };
        for day in 0..40 {
            ledger.admit("a", &limits, day * DAY).unwrap();
            ledger.settle("a", &input_usage(3), 0.25, day * DAY);
        }
        ledger.admit("a", &limits, 40 * DAY).unwrap();
        let text = serde_json::to_string(&ledger).unwrap();
        let mut read: Ledger = serde_json::from_str(&text).unwrap();
        assert_eq!((read.accounts["a"].total.input, read.accounts["a"].days.len()), (120, KEPT_DAYS));
        read.admit("a", &limits, 41 * DAY).unwrap();
    }
}
