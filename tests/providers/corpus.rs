//! The second, larger check: streams that others recorded from real providers decode to the results of the
//! providers' own clients. They are not part of the repository; without them these tests say so, and
//! `recordings` is the check.

use tau::agent::protocol::model::Api;
use tau::agent::provider::FailureKind;
use tau::agent::provider::classify::from_status;
use tau::agent::secrets::Secrets;

use super::expected::{check, check_rules, read_json};
use super::{assemble, corpus_folder, decode, sizes};
use crate::support::dice::Dice;

#[test]
fn recorded_streams() {
    let Some(folder) = corpus_folder() else { return };
    let mut count = 0;
    let mut dice = Dice::new(11);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "sse") || name.starts_with("http") {
            continue;
        }
        let meta = read_json(&path.with_extension("meta.json"));
        let expected = read_json(&path.with_extension("expected.json"));
        let api = Api::from_name(meta["api"].as_str().unwrap()).unwrap();
        let body = std::fs::read(&path).unwrap();
        let whole = decode(api, &body, &[body.len()]);
        check_rules(&name, &whole);
        check(&name, &assemble(api, &whole), &expected);
        for most in [1, 7, 90, 2_000] {
            let sizes = sizes(&mut dice, most);
            assert!(decode(api, &body, &sizes) == whole, "{name}: a split changes the events");
        }
        count += 1;
    }
    println!("{count} recorded streams");
    assert!(count > 200);
}

#[test]
fn recorded_error_answers() {
    let Some(folder) = corpus_folder() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "sse") || !name.starts_with("http") {
            continue;
        }
        let meta = read_json(&path.with_extension("meta.json"));
        let expected = read_json(&path.with_extension("expected.json"));
        let status = meta["http_status"].as_u64().unwrap() as u16;
        let body = std::fs::read_to_string(&path).unwrap();
        let failure = from_status(&Secrets::default(), status, &[], &body, 0);
        assert_eq!(failure.message, expected["error"].as_str().unwrap(), "{name}");
        let kinds: &[FailureKind] = match meta["special"][0].as_str().unwrap() {
            "http error: overflow" => &[FailureKind::Overflow],
            "http error: auth" => &[FailureKind::Auth],
            "http error: model" => &[FailureKind::NotFound, FailureKind::Request],
            _ => &[FailureKind::Request, FailureKind::RateLimit, FailureKind::Overloaded],
        };
        assert!(kinds.contains(&failure.kind), "{name}: {failure:?}");
        count += 1;
    }
    println!("{count} recorded error answers");
    assert!(count > 20);
}
