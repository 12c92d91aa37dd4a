//! `tau models`: lists the models as a table or as JSON.
//!
//! With `--refresh`, providers with a key are first asked for their models. The filter matches as in a list
//! on the screen: every word must occur.

use std::time::Duration;

use serde_json::{Value, json};

use super::table;
use crate::args::CliArgs;
use crate::args::models::ModelsArgs;
use crate::compose::environment::{self, Environment, OnBadConfig, refresh};
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use crate::process::runtime;
use tau_agent::catalogue::demo;
use tau_app::token_count;
use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::counted::pluralize;

/// Time limit for a provider's list of models.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Runs the command; returns the program's end.
pub fn run(args: &ModelsArgs) -> Result<Exit, Refusal> {
    let flags = CliArgs {
        proxy: args.proxy.clone(),
        proxy_token: args.proxy_token.clone().filter(|_| args.proxy.is_some()),
        ..CliArgs::without_arguments()
    };
    if let (Some(base), Some(token)) = (&flags.proxy, &flags.proxy_token) {
        let here = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse)?;
        let asked = environment::fetch_server_models(&here.paths, &here.settings, base, token);
        asked.map_err(|why| Refusal { exit: Exit::Model, text: format!("{base}: {why}") })?;
    }
    let read = || Environment::read(&flags, OnBadConfig::Refuse);
    let mut environment = read()?;
    let mut exit = Exit::Ok;
    if args.refresh {
        exit = ask_all(&environment)?;
        // The answers are in the cache now; the models may have been read before.
        environment = read()?;
    }
    let query = args.filter.join(" ");
    let rows = rows(&environment, &query);
    if rows.is_empty() {
        let near = environment
            .catalogue
            .find(&query)
            .map_or_else(|error| error.to_string(), |model| model.reference());
        return Err(Refusal::config(near));
    }
    let text = if args.json { as_json(&rows) } else { as_table(&rows) };
    Ok(match say(&text) {
        Exit::Ok => exit,
        failed => failed,
    })
}

/// Asks all possible providers in parallel. Failures go to standard error.
fn ask_all(environment: &Environment) -> Result<Exit, Refusal> {
    let runtime = runtime::on_this_thread()?;
    let mut providers = environment.catalogue.usable(&environment.keys);
    providers.retain(|provider| environment.catalogue.endpoint(provider).is_some());
    if providers.is_empty() {
        let text = "no provider to ask: no API key is configured; add one with `tau auth set PROVIDER`";
        return Err(Refusal::config(text));
    }
    let direct = environment.direct();
    let asked = providers.iter().map(|provider| async {
        let asking = refresh(&environment.catalogue, &environment.keys, &direct, provider);
        match tokio::time::timeout(TIMEOUT, asking).await {
            Ok(Ok(models)) => Ok(models.len()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(format!("no answer within {} seconds", TIMEOUT.as_secs())),
        }
    });
    let answers = runtime.block_on(futures_util::future::join_all(asked));
    let mut exit = Exit::Model;
    for (provider, answer) in providers.iter().zip(answers) {
        match answer {
            Ok(count) => {
                exit = Exit::Ok;
                warn(&format!("{provider}: {}", pluralize(count, "model")));
            }
            Err(why) => warn(&format!("{provider}: cannot list its models: {why}")),
        }
    }
    Ok(exit)
}

/// A model, and whether it is available.
struct ModelRow {
    model: Model,
    usable: bool,
}

fn rows(environment: &Environment, query: &str) -> Vec<ModelRow> {
    let usable = environment.catalogue.usable(&environment.keys);
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let fits = |model: &Model| {
        let text = format!("{} {}", model.reference(), model.name).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let demo = demo();
    // An app server reports its models itself.
    let served = environment.catalogue.served_models();
    let models = environment.catalogue.models().iter().map(AsRef::as_ref).chain([&demo]);
    let models = models.filter(|model| served.is_empty() || environment.catalogue.is_served(model));
    let row = |model: &Model| ModelRow {
        usable: model.provider == demo.provider || usable.contains(&model.provider),
        model: model.clone(),
    };
    models.filter(|model| fits(model)).map(row).collect()
}

fn as_json(rows: &[ModelRow]) -> String {
    let lines = rows.iter().map(|ModelRow { model, usable }| {
        let levels: Vec<&str> = model.levels().into_iter().map(ThinkingLevel::name).collect();
        let environment = |size: u64| (size > 0).then_some(size);
        json!({
            "provider": model.provider,
            "id": model.id,
            "name": model.name,
            "api": model.api,
            "contextWindow": environment(model.context_window),
            "maxTokens": environment(model.max_tokens),
            "cost": model.cost.map_or(Value::Null, |price| json!(price)),
            "thinkingLevels": levels,
            "images": model.sees(),
            "usable": usable,
        })
        .to_string()
    });
    format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"))
}

fn as_table(rows: &[ModelRow]) -> String {
    const HEAD: [&str; 7] = ["MODEL", "CONTEXT", "OUTPUT", "PRICE", "THINKING", "IMAGES", "KEY"];
    let mut rows_of_text = vec![HEAD.map(str::to_owned)];
    rows_of_text.extend(rows.iter().map(|ModelRow { model, usable }| {
        [
            plain::line(&model.reference()),
            size(model.context_window),
            size(model.max_tokens),
            price(model),
            thinking(model),
            yes(model.sees()),
            yes(*usable),
        ]
    }));
    table::columns(&rows_of_text)
}

fn yes(it_is: bool) -> String {
    if it_is { "yes" } else { "-" }.to_owned()
}

fn size(tokens: u64) -> String {
    match tokens {
        0 => "?".to_owned(),
        tokens => token_count::tokens(tokens),
    }
}

fn price(model: &Model) -> String {
    match model.cost {
        None => "?".to_owned(),
        Some(price) if price.input + price.output == 0.0 => "free".to_owned(),
        Some(price) => format!("${}/${}", cents(price.input), cents(price.output)),
    }
}

/// A price without the noise of binary fractions.
fn cents(dollars: f64) -> String {
    let text = format!("{dollars:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn thinking(model: &Model) -> String {
    let levels: Vec<&str> = model.levels().into_iter().map(ThinkingLevel::name).collect();
    if model.reasoning { levels.join(",") } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::model::Price;

    fn row(id: &str, cost: Option<Price>, usable: bool) -> ModelRow {
        let (id, provider) = (id.to_owned(), "v".to_owned());
        ModelRow { model: Model { id, provider, cost, ..Model::default() }, usable }
    }

    #[test]
    fn what_is_not_known_is_a_question_mark() {
        let price = Price { input: 0.1 + 0.2, output: 15.0, ..Price::default() };
        let rows = [
            row("bare", None, false),
            row("free", Some(Price::default()), true),
            ModelRow {
                model: Model {
                    context_window: 1_050_000,
                    max_tokens: 8_192,
                    reasoning: true,
                    input: vec!["image".to_owned()],
                    ..row("pa\u{1b}id", Some(price), true).model
                },
                usable: true,
            },
        ];
        let expected = "\
MODEL   CONTEXT  OUTPUT  PRICE     THINKING                     IMAGES  KEY
v/bare  ?        ?       ?         -                            -       -
v/free  ?        ?       free      -                            -       yes
v/paid  1.1M     8.2k    $0.3/$15  off,minimal,low,medium,high  yes     yes
";
        assert_eq!(as_table(&rows), expected);
        let list: Value = serde_json::from_str(&as_json(&rows)).unwrap();
        assert_eq!(list[0]["cost"], Value::Null);
        assert_eq!((&list[0]["contextWindow"], &list[2]["cost"]["output"]), (&Value::Null, &json!(15.0)));
    }
}
