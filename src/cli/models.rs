//! `tau models`: the models that are known, as a table or as JSON.
//!
//! With `--refresh` the vendors that have a key are asked first which models they have. The
//! search of the filter is that of a list: every word has to occur.

use std::fmt::Write;
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::args::Args;
use super::environment::{BadFile, Known, Refusal, refresh};
use super::exit::Exit;
use super::tui::terminal::plain;
use super::{fail, say};
use crate::agent::catalogue::demo;
use crate::agent::protocol::model::{Model, ThinkingLevel};

/// How long a vendor may take to list its models.
const PATIENCE: Duration = Duration::from_secs(15);

const AFTER: &str = "A `?` is not known: a size, or a price, which is in US dollars for a million tokens of input\n\
    and output. KEY says whether the vendor can be used now (`tau auth` says more).\n\
    models.toml in tau's configuration folder adds to the list and changes it.\n\n\
    Exit codes: 0 done, 1 no vendor could be asked, 2 usage, 3 no such model\n\
    `tau -- models` sends the word as a prompt.";

/// The arguments of `tau models`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau models", about = "The models that --model takes", after_help = AFTER)]
pub struct ModelsArgs {
    /// Words that the vendor, the id or the name must have
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Ask the vendors that have a key for their lists first
    #[arg(long)]
    pub refresh: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; how the program ends.
pub fn run(args: &ModelsArgs) -> Exit {
    match work(args) {
        Ok(exit) => exit,
        Err(refusal) => fail(refusal.exit, &refusal.text),
    }
}

fn work(args: &ModelsArgs) -> Result<Exit, Refusal> {
    let read = || Known::read(&Args::none(), BadFile::Refuse);
    let mut known = read()?;
    let mut exit = Exit::Ok;
    if args.refresh {
        exit = ask_all(&known)?;
        // What was asked for is in the cache now; the models may have been read before.
        known = read()?;
    }
    let query = args.filter.join(" ");
    let rows = rows(&known, &query);
    if rows.is_empty() {
        let near =
            known.catalogue.find(&query).map_or_else(|error| error.to_string(), |model| model.reference());
        return Err(Refusal::config(near));
    }
    let text = if args.json { as_json(&rows) } else { as_table(&rows) };
    say(&text);
    Ok(exit)
}

/// Asks the vendors that can be asked, all at once. What went wrong is said on standard error.
fn ask_all(known: &Known) -> Result<Exit, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Refusal::config)?;
    let mut vendors = known.catalogue.usable(&known.keys);
    vendors.retain(|vendor| known.catalogue.endpoint(vendor).is_some());
    if vendors.is_empty() {
        let text = "no vendor has a key, so none can be asked; set one with `tau auth set VENDOR`";
        return Err(Refusal::config(text));
    }
    let direct = known.direct();
    let asked = vendors.iter().map(|vendor| async {
        let asking = refresh(&known.catalogue, &known.keys, &direct, vendor);
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(Ok(models)) => Ok(models.len()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
        }
    });
    let answers = runtime.block_on(futures_util::future::join_all(asked));
    let mut exit = Exit::Model;
    for (vendor, answer) in vendors.iter().zip(answers) {
        match answer {
            Ok(count) => {
                exit = Exit::Ok;
                fail(Exit::Ok, &format!("{vendor} lists {count} models"));
            }
            Err(why) => drop(fail(Exit::Ok, &format!("{vendor} was not asked: {why}"))),
        }
    }
    Ok(exit)
}

/// A model, and whether it can be used now.
struct Row {
    model: Model,
    usable: bool,
}

fn rows(known: &Known, query: &str) -> Vec<Row> {
    let usable = known.catalogue.usable(&known.keys);
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let fits = |model: &Model| {
        let text = format!("{} {}", model.reference(), model.name).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let demo = demo();
    let models = known.catalogue.models().iter().map(AsRef::as_ref).chain([&demo]);
    let row = |model: &Model| Row {
        usable: model.provider == demo.provider || usable.contains(&model.provider),
        model: model.clone(),
    };
    models.filter(|model| fits(model)).map(row).collect()
}

fn as_json(rows: &[Row]) -> String {
    let lines = rows.iter().map(|Row { model, usable }| {
        let levels: Vec<&str> = model.levels().into_iter().map(ThinkingLevel::name).collect();
        let known = |size: u64| (size > 0).then_some(size);
        json!({
            "provider": model.provider,
            "id": model.id,
            "name": model.name,
            "api": model.api,
            "contextWindow": known(model.context_window),
            "maxTokens": known(model.max_tokens),
            "cost": model.cost.map_or(Value::Null, |price| json!(price)),
            "thinkingLevels": levels,
            "images": model.sees(),
            "usable": usable,
        })
        .to_string()
    });
    format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"))
}

fn as_table(rows: &[Row]) -> String {
    const HEAD: [&str; 7] = ["MODEL", "CONTEXT", "OUTPUT", "PRICE", "THINKING", "IMAGES", "KEY"];
    let mut table = vec![HEAD.map(str::to_owned)];
    table.extend(rows.iter().map(|Row { model, usable }| {
        [
            plain(&model.reference()),
            size(model.context_window),
            size(model.max_tokens),
            price(model),
            thinking(model),
            yes(model.sees()),
            yes(*usable),
        ]
    }));
    columns(&table)
}

/// Rows with every column as wide as its widest text.
pub(super) fn columns<const N: usize>(table: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in table {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let mut out = String::new();
    for row in table {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{text:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn yes(it_is: bool) -> String {
    if it_is { "yes" } else { "-" }.to_owned()
}

fn size(tokens: u64) -> String {
    match tokens {
        0 => "?".to_owned(),
        1_000_000.. => format!("{:.1}M", tokens as f64 / 1_000_000.0).replace(".0M", "M"),
        1_000.. => format!("{}k", tokens / 1_000),
        _ => tokens.to_string(),
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
    use crate::agent::protocol::model::Price;

    fn row(id: &str, cost: Option<Price>, usable: bool) -> Row {
        let (id, provider) = (id.to_owned(), "v".to_owned());
        Row { model: Model { id, provider, cost, ..Model::default() }, usable }
    }

    #[test]
    fn what_is_not_known_is_a_question_mark() {
        let price = Price { input: 0.1 + 0.2, output: 15.0, ..Price::default() };
        let rows = [
            row("bare", None, false),
            row("free", Some(Price::default()), true),
            Row {
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
v/paid  1.1M     8k      $0.3/$15  off,minimal,low,medium,high  yes     yes
";
        assert_eq!(as_table(&rows), expected);
        let list: Value = serde_json::from_str(&as_json(&rows)).unwrap();
        assert_eq!(list[0]["cost"], Value::Null);
        assert_eq!((&list[0]["contextWindow"], &list[2]["cost"]["output"]), (&Value::Null, &json!(15.0)));
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        ModelsArgs::command().debug_assert();
    }
}
