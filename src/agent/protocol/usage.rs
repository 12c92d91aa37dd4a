//! Token counts and their cost.

use serde::{Deserialize, Serialize};

use tau_tools::Details;
use tau_tools::delegate::HelperReport;

/// Tokens and cost of one answer. `input` excludes tokens read from or written to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Prompt tokens, neither read from nor written to a cache.
    pub input: u64,
    /// Generated tokens, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// The sum of the four.
    pub total_tokens: u64,
    /// US dollars. All zero if the price is unknown.
    pub cost: Cost,
    /// Whether any of it is estimated from the texts, because the provider did not report it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// Adds the usage of another answer. A provider may report any number: sums stop at the largest.
    pub fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
        self.estimated |= other.estimated;
    }

    /// The part of this that an earlier count did not have.
    pub fn since(&self, before: &Usage) -> Usage {
        let dollars = |now: f64, before: f64| (now - before).max(0.0);
        let (cost, old) = (&self.cost, &before.cost);
        Usage {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            total_tokens: self.total_tokens.saturating_sub(before.total_tokens),
            cost: Cost {
                input: dollars(cost.input, old.input),
                output: dollars(cost.output, old.output),
                cache_read: dollars(cost.cache_read, old.cache_read),
                cache_write: dollars(cost.cache_write, old.cache_write),
                total: dollars(cost.total, old.total),
            },
            estimated: self.estimated,
        }
    }

    /// Makes this the use of a helper.
    pub fn put_into(&self, report: &mut HelperReport) {
        (report.input, report.output) = (self.input, self.output);
        (report.cache_read, report.cache_write) = (self.cache_read, self.cache_write);
        let cost = &self.cost;
        (report.input_cost, report.output_cost) = (cost.input, cost.output);
        (report.cache_read_cost, report.cache_write_cost) = (cost.cache_read, cost.cache_write);
        (report.cost, report.estimated) = (cost.total, self.estimated);
    }

    /// The cost in US dollars; `None` if tokens were used and their price is unknown.
    pub fn dollars(&self) -> Option<f64> {
        (self.cost.total > 0.0 || self.total_tokens == 0).then_some(self.cost.total)
    }
}

/// The use of a helper, according to the details of its call; `None` for another call.
pub fn helper_usage(details: &Details) -> Option<Usage> {
    let Details::Helper(report) = details else { return None };
    Some(Usage {
        input: report.input,
        output: report.output,
        cache_read: report.cache_read,
        cache_write: report.cache_write,
        total_tokens: report.tokens(),
        cost: Cost {
            input: report.input_cost,
            output: report.output_cost,
            cache_read: report.cache_read_cost,
            cache_write: report.cache_write_cost,
            total: report.cost,
        },
        estimated: report.estimated,
    })
}

/// US dollars, by kind of token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    #[serde(alias = "cache_read")]
    pub cache_read: f64,
    #[serde(alias = "cache_write")]
    pub cache_write: f64,
}

impl Price {
    /// The cost of `usage`.
    pub fn of(&self, usage: &Usage) -> Cost {
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let input = dollars(usage.input, self.input);
        let output = dollars(usage.output, self.output);
        let cache_read = dollars(usage.cache_read, self.cache_read);
        let cache_write = dollars(usage.cache_write, self.cache_write);
        Cost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write }
    }
}
