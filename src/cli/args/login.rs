//! The arguments of `tau login`.

use clap::Parser;

const AFTER: &str = "\
A login uses the subscription of your account in place of an API key. tau opens the provider's page
and waits until you have logged in there. Its tokens are saved to auth.json, which only your user
can read, and are renewed as long as the provider allows it. `tau auth remove PROVIDER` forgets them.

On a machine without a browser, for example over ssh, type the code that tau prints on any device;
where a provider has no codes, paste the address of the last page.

Exit codes: 0 done, 1 not logged in, 2 usage, 3 no such login, or an unusable file
To send the word as a prompt: tau -- login";

/// The arguments of `tau login`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau login", bin_name = "tau login", about = "Log in to a provider with a subscription", after_help = AFTER)]
pub struct LoginArgs {
    /// chatgpt, copilot, claude, openrouter, kimi or qwen; without it, list the logins
    #[arg(value_name = "PROVIDER")]
    pub provider: Option<String>,
    /// Show a code to type on any device (the default over ssh)
    #[arg(long)]
    pub device: bool,
    /// Do not open a browser, only print the address
    #[arg(long)]
    pub no_browser: bool,
}
