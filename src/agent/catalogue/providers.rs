//! The built-in table of providers: their addresses and the variables of their keys.
//!
//! A table separate from the models, so that looking up keys does not read the models. Facts as of November
//! 2026, from the MIT-licensed catalogue of the npm package `@earendil-works/pi-ai` 1.5.2.

use tau_protocol::model::{Api, Model};

/// A provider. A model's own address and format take precedence over these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// Its name in `provider/model`.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// The environment variable of its key; empty where there is only a login.
    pub env: &'static str,
    /// Wire format.
    pub api: Api,
    /// Address; empty where each customer has their own.
    pub base_url: &'static str,
}

/// Model servers for the user's own machine, with their default ports. In `provider/model` their names are in
/// lower case, with `-` for blanks.
pub const LOCAL_SERVERS: [(&str, u16); 4] =
    [("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000)];

/// The name of a local server in `provider/model`.
pub fn local_provider(name: &str) -> String {
    name.to_ascii_lowercase().replace(' ', "-")
}

/// The address of a local server on that port. Its wire format is chat completions.
pub fn local_address(port: u16) -> String {
    format!("http://127.0.0.1:{port}/v1")
}

/// The default model of a provider: its strongest for coding at a usual price. For other providers it is
/// their first model with thinking levels.
pub(crate) const DEFAULTS: [(&str, &str); 16] = *tau_tools::pairs!(
    "anthropic=claude-sonnet-5-5 openai=gpt-6.1-sol google=gemini-pro-latest \
     openrouter=anthropic/claude-sonnet-5.5 groq=openai/gpt-oss-120b deepseek=deepseek-v4-pro \
     mistral=devstral-latest xai=grok-4.7 zai=glm-5.3 moonshotai=kimi-k3.1-pro minimax=MiniMax-M3 \
     vercel-ai-gateway=anthropic/claude-sonnet-5.5 openai-codex=gpt-6.1-sol \
     github-copilot=claude-sonnet-5.5 amazon-bedrock=global.anthropic.claude-sonnet-5-5 \
     google-vertex=gemini-4-argon"
);

/// The headers by which Copilot recognises a client that chats.
pub(crate) const COPILOT_HEADERS: [(&str, &str); 4] = [
    ("user-agent", "GitHubCopilotChat/0.35.0"),
    ("editor-version", "vscode/1.107.0"),
    ("editor-plugin-version", "copilot-chat/0.35.0"),
    ("copilot-integration-id", "vscode-chat"),
];

/// Headers and quirks of all models of a provider.
type Extras = (&'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

/// Adds what all models of its provider have.
pub(crate) fn add_extras(model: &mut Model) {
    let (headers, quirks) = extras(&model.provider);
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    model.headers.extend(headers.iter().map(owned));
    model.quirks.extend(quirks.iter().map(owned).map(|(name, value)| (name, value.into())));
}

fn extras(id: &str) -> Extras {
    match id {
        "openai-codex" => {
            (&[("openai-beta", "responses=experimental"), ("originator", "tau")], &[("backend", "chatgpt")])
        }
        "github-copilot" => (&COPILOT_HEADERS, &[("backend", "copilot"), ("auth_header", "authorization")]),
        "qwen-code" => {
            (&[("x-dashscope-authtype", "qwen-oauth"), ("x-dashscope-cachecontrol", "enable")], &[])
        }
        "amazon-bedrock" => (&[], &[("backend", "bedrock"), ("auth_header", "authorization")]),
        "google-vertex" => (&[], &[("backend", "vertex"), ("auth_header", "authorization")]),
        _ => (&[], &[]),
    }
}

macro_rules! providers {
    ($($id:literal $name:literal $env:literal $api:ident $base_url:literal;)+) => {
        /// The providers; makers of models come before hosts, because a model id that several have means the first.
        pub const PROVIDERS: &[KnownProvider] = &[
            $(KnownProvider { id: $id, name: $name, env: $env, api: Api::$api, base_url: $base_url }),+
        ];
    };
}

providers! {
    "anthropic" "Anthropic" "ANTHROPIC_API_KEY" AnthropicMessages "https://api.anthropic.com";
    "openai" "OpenAI" "OPENAI_API_KEY" OpenaiResponses "https://api.openai.com/v1";
    "google" "Google Gemini" "GEMINI_API_KEY" GoogleGenerativeAi "https://generativelanguage.googleapis.com/v1beta";
    "openrouter" "OpenRouter" "OPENROUTER_API_KEY" OpenaiCompletions "https://openrouter.ai/api/v1";
    "groq" "Groq" "GROQ_API_KEY" OpenaiCompletions "https://api.groq.com/openai/v1";
    "cerebras" "Cerebras" "CEREBRAS_API_KEY" OpenaiCompletions "https://api.cerebras.ai/v1";
    "deepseek" "DeepSeek" "DEEPSEEK_API_KEY" OpenaiCompletions "https://api.deepseek.com";
    "mistral" "Mistral" "MISTRAL_API_KEY" OpenaiCompletions "https://api.mistral.ai/v1";
    "xai" "xAI" "XAI_API_KEY" OpenaiResponses "https://api.x.ai/v1";
    "together" "Together AI" "TOGETHER_API_KEY" OpenaiCompletions "https://api.together.ai/v1";
    "fireworks" "Fireworks" "FIREWORKS_API_KEY" AnthropicMessages "https://api.fireworks.ai/inference";
    "huggingface" "Hugging Face" "HF_TOKEN" OpenaiCompletions "https://router.huggingface.co/v1";
    "zai" "Z.AI" "ZAI_API_KEY" OpenaiCompletions "https://api.z.ai/api/coding/paas/v4";
    "moonshotai" "Moonshot AI" "MOONSHOT_API_KEY" OpenaiCompletions "https://api.moonshot.ai/v1";
    "minimax" "MiniMax" "MINIMAX_API_KEY" AnthropicMessages "https://api.minimax.io/anthropic";
    "vercel-ai-gateway" "Vercel AI Gateway" "AI_GATEWAY_API_KEY" AnthropicMessages "https://ai-gateway.vercel.sh";
    "nvidia" "NVIDIA" "NVIDIA_API_KEY" OpenaiCompletions "https://integrate.api.nvidia.com/v1";
    "baseten" "Baseten" "BASETEN_API_KEY" OpenaiCompletions "https://inference.baseten.co/v1";
    "opencode" "OpenCode Zen" "OPENCODE_API_KEY" OpenaiResponses "https://opencode.ai/inference/openai/v1";
    "kimi-coding" "Kimi For Coding" "KIMI_API_KEY" OpenaiCompletions "https://api.kimi.com/coding/v1";
    "xiaomi" "Xiaomi MiMo" "XIAOMI_API_KEY" OpenaiCompletions "https://api.xiaomimimo.com/v1";
    "meta" "Meta" "META_API_KEY" OpenaiResponses "https://api.meta.ai/v1";
    "azure" "Azure OpenAI" "AZURE_OPENAI_API_KEY" OpenaiResponses "";
    "cloudflare-workers-ai" "Cloudflare Workers AI" "CLOUDFLARE_API_KEY" OpenaiCompletions "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1";
    "qwen-token-plan" "Qwen" "QWEN_TOKEN_PLAN_API_KEY" OpenaiCompletions "https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1";
    "openai-codex" "ChatGPT" "" OpenaiResponses "https://chatgpt.com/backend-api/codex";
    "github-copilot" "GitHub Copilot" "" OpenaiCompletions "https://api.individual.githubcopilot.com";
    "amazon-bedrock" "Amazon Bedrock" "AWS_BEARER_TOKEN_BEDROCK" AnthropicMessages "https://bedrock-runtime.us-east-1.amazonaws.com";
    "google-vertex" "Google Vertex AI" "" GoogleGenerativeAi "https://aiplatform.googleapis.com";
    "qwen-code" "Qwen Code" "" OpenaiCompletions "https://portal.qwen.ai/v1";
}

/// The provider with that id.
pub fn find_by_id(id: &str) -> Option<&'static KnownProvider> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}
