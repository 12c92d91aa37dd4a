//! The cheap model of a provider, for simple work such as exploring a project.

use std::sync::Arc;

use super::Catalogue;
use tau_protocol::model::{Model, Price};

/// The cheap model of each provider that has one.
const CHEAP: &[(&str, &str)] = tau_tools::pairs!(
    "anthropic=claude-haiku-5-5 openai=gpt-6-luna openai-codex=gpt-6-luna google=gemini-3.8-flash \
     google-vertex=gemini-3.8-flash deepseek=deepseek-flash zai=glm-5.3-flash"
);

impl Catalogue {
    /// The provider's cheap model, if it is known and costs less than `model`.
    pub fn cheap_model(&self, model: &Model) -> Option<Arc<Model>> {
        let (_, id) = CHEAP.iter().find(|(provider, _)| *provider == model.provider)?;
        let cheap = self.get(&model.provider, id).filter(|cheap| self.is_served(cheap))?;
        let sum = |price: &Price| price.input + price.output;
        let is_cheaper = match (&cheap.cost, &model.cost) {
            (Some(cheap), Some(own)) => sum(cheap) < sum(own),
            // What a subscription pays has no price.
            (None, None) => true,
            _ => false,
        };
        (is_cheaper && cheap.id != model.id).then_some(cheap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cheap_model_is_known_and_cheaper_than_the_usual_one() {
        let catalogue = Catalogue::default();
        for (provider, id) in CHEAP {
            assert!(catalogue.get(provider, id).is_some(), "{provider}/{id}");
            let usual = catalogue.default_model(provider).unwrap();
            assert!(usual.id == *id || catalogue.cheap_model(&usual).is_some(), "{}", usual.reference());
            let cheap = catalogue.get(provider, id).unwrap();
            assert_eq!(catalogue.cheap_model(&cheap), None);
        }
        let other = Model { provider: "my-server".to_owned(), ..Model::default() };
        assert_eq!(catalogue.cheap_model(&other), None);
    }
}
