//! The entry for the registry of agents: what its own checks ask for.

use serde_json::Value;

const ENTRY: &str = include_str!("../../integrations/acp/agent.json");
const ICON: &str = include_str!("../../integrations/acp/icon.svg");

#[test]
fn the_entry_names_this_version_and_how_to_start_it() {
    let entry: Value = serde_json::from_str(ENTRY).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((entry["id"].as_str(), entry["version"].as_str()), (Some("tau"), Some(version)));
    for field in ["name", "description", "license", "license_url", "website"] {
        assert!(entry[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    let npx = &entry["distribution"]["npx"];
    assert_eq!(npx["package"], format!("taucode@{version}"));
    assert_eq!(npx["args"], serde_json::json!(["acp"]));
}

#[test]
fn the_icon_is_a_small_square_in_the_colour_of_the_text() {
    for attribute in [r#"width="16""#, r#"height="16""#, r#"viewBox="0 0 16 16""#, r#"fill="currentColor""#] {
        assert!(ICON.contains(attribute), "{attribute}");
    }
    let fills = ICON.matches("fill=").count() + ICON.matches("stroke=").count();
    assert_eq!(fills, ICON.matches("currentColor").count());
}
