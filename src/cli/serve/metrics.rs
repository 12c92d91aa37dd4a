//! Counters, and `GET /metrics`. The format is the text format of Prometheus
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tau_protocol::event::{AgentEvent, RunEvent, TurnEvent};
use tau_protocol::message::{Message, StopReason};

/// Upper bounds of the histogram of request times, in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(String, String, u16), RequestTimes>>,
    events: AtomicU64,
    events_sent: AtomicU64,
    events_missed: AtomicU64,
    streams: AtomicU64,
    sessions_opened: AtomicU64,
    runs: AtomicU64,
    answers_failed: AtomicU64,
    tool_calls: AtomicU64,
    tokens_in: AtomicU64,
    tokens_out: AtomicU64,
    tokens_cached: AtomicU64,
    /// Millionths of a dollar.
    cost: AtomicU64,
}

/// Requests of one route, method and status.
#[derive(Clone, Copy, Debug, Default)]
struct RequestTimes {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// An open event stream; counted during its lifetime.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Numbers that are counted elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveCounts {
    pub sessions: usize,
    pub running: usize,
    pub waiting: usize,
}

impl Metrics {
    /// Opens an event stream; `None` when `most` are already open.
    pub fn open_stream(self: &Arc<Self>, most: u64) -> Option<OpenStream> {
        let open = self.streams.fetch_add(1, Ordering::Relaxed);
        let stream = OpenStream(Arc::clone(self));
        (open < most).then_some(stream)
    }

    /// Counts an answered request.
    pub fn request(&self, route: &str, method: &str, status: u16, time: Duration) {
        let mut requests = self.requests.lock();
        let times = requests.entry((route.to_owned(), method.to_owned(), status)).or_default();
        let seconds = time.as_secs_f64();
        for (bucket, bound) in times.buckets.iter_mut().zip(BUCKETS) {
            *bucket = bucket.saturating_add(u64::from(seconds <= bound));
        }
        times.count = times.count.saturating_add(1);
        times.seconds += seconds;
    }

    /// Counts events that were sent to a connection, and missed ones.
    pub fn count_sent_events(&self, events: u64, missed: u64) {
        add(&self.events_sent, events);
        add(&self.events_missed, missed);
    }

    /// Counts an opened session.
    pub fn count_opened_session(&self) {
        add(&self.sessions_opened, 1);
    }

    /// Counts the facts in an event.
    pub fn event(&self, event: &AgentEvent) {
        add(&self.events, 1);
        match event {
            AgentEvent::Run(RunEvent::AgentStart) => add(&self.runs, 1),
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { .. }) => add(&self.tool_calls, 1),
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.message(message),
            _ => {}
        }
    }

    fn message(&self, message: &Message) {
        let Message::Assistant(answer) = message else { return };
        let usage = &answer.usage;
        add(&self.tokens_in, usage.input.saturating_add(usage.cache_write));
        add(&self.tokens_out, usage.output);
        add(&self.tokens_cached, usage.cache_read);
        add(&self.cost, (usage.cost.total * 1_000_000.0).round() as u64);
        if answer.stop_reason == StopReason::Error {
            add(&self.answers_failed, 1);
        }
    }

    /// All counters as text.
    pub fn text(&self, live: LiveCounts) -> String {
        let mut text = String::new();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let version = env!("CARGO_PKG_VERSION");
        let label = format!("{{version=\"{version}\"}}");
        put(&mut text, "tau_build_info", "gauge", "The version", &[(label, "1".into())]);
        let plain = |value: String| [(String::new(), value)];
        let gauges = [
            ("tau_sessions_live", "Sessions that are open", live.sessions.to_string()),
            ("tau_sessions_running", "Sessions in which the agent works", live.running.to_string()),
            ("tau_approvals_waiting", "Calls that wait for a decision", live.waiting.to_string()),
            ("tau_event_streams", "Open event streams", load(&self.streams)),
        ];
        for (name, help, value) in gauges {
            put(&mut text, name, "gauge", help, &plain(value));
        }
        let counters = [
            ("tau_sessions_opened_total", "Sessions that were opened", &self.sessions_opened),
            ("tau_runs_total", "Runs that were started", &self.runs),
            ("tau_events_total", "Events of all sessions", &self.events),
            ("tau_events_sent_total", "Events handed to connections", &self.events_sent),
            (
                "tau_events_missed_total",
                "Events that were no longer kept when a slow client came to them",
                &self.events_missed,
            ),
            ("tau_answers_failed_total", "Answers of models that failed", &self.answers_failed),
            ("tau_tool_calls_total", "Tool calls that ended", &self.tool_calls),
        ];
        for (name, help, counter) in counters {
            put(&mut text, name, "counter", help, &plain(load(counter)));
        }
        let tokens =
            [("input", &self.tokens_in), ("output", &self.tokens_out), ("cache_read", &self.tokens_cached)];
        let tokens = tokens.map(|(kind, counter)| (format!("{{kind=\"{kind}\"}}"), load(counter)));
        put(&mut text, "tau_tokens_total", "counter", "Tokens of answers", &tokens);
        let cost = (self.cost.load(Ordering::Relaxed) as f64 / 1_000_000.0).to_string();
        let help = "What answers cost, where the price is known";
        put(&mut text, "tau_cost_dollars_total", "counter", help, &plain(cost));
        self.requests_text(&mut text);
        text
    }

    fn requests_text(&self, text: &mut String) {
        let requests = self.requests.lock().clone();
        let name = "tau_http_request_seconds";
        let mut rows = Vec::new();
        for ((route, method, status), times) in requests {
            let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
            for (bucket, bound) in times.buckets.iter().zip(BUCKETS) {
                rows.push((format!("_bucket{{{labels},le=\"{bound}\"}}"), bucket.to_string()));
            }
            rows.push((format!("_bucket{{{labels},le=\"+Inf\"}}"), times.count.to_string()));
            rows.push((format!("_sum{{{labels}}}"), times.seconds.to_string()));
            rows.push((format!("_count{{{labels}}}"), times.count.to_string()));
        }
        put(text, name, "histogram", "Time until a response began", &rows);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn put(text: &mut String, name: &str, kind: &str, help: &str, rows: &[(String, String)]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in rows {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}
