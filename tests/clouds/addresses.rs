//! Where requests to Bedrock go, as the files of the AWS command line say.

use super::{CLAUDE, Server, answered, ended};

/// An address of which nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1";

#[tokio::test(flavor = "multi_thread")]
async fn bedrock_at_the_addresses_of_profiles() {
    let (server, home) = (Server::start().await, tempfile::tempdir().unwrap());
    let url = &server.url;
    let keys = "aws_access_key_id = AKIASTATIC\naws_secret_access_key = static-secret\n";
    let config = format!(
        "[profile all]\nendpoint_url = {url}\n{keys}\
         [profile one]\nendpoint_url = {NOWHERE}\nservices = mine\n{keys}\
         [services mine]\ns3 =\n  endpoint_url = {NOWHERE}\nbedrock_runtime =\n  # here\n  endpoint_url = {url}\n\
         sts =\n  endpoint_url = {url}\n\
         [profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = one\nservices = mine\n\
         [profile far]\nendpoint_url = {NOWHERE}\n{keys}\
         [profile off]\nendpoint_url = {url}\nignore_configured_endpoint_urls = true\n{keys}\
         [profile code]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = all\nmfa_serial = arn:aws:iam::1:mfa/me\n\
         [profile twice]\nrole_arn = arn:aws:iam::1:role/s\nsource_profile = code\n"
    );
    crate::support::write(&home.path().join(".aws/config"), &config);
    for env in [
        &[("AWS_PROFILE", "all")][..],
        &[("AWS_PROFILE", "one")],
        &[("AWS_PROFILE", "role")],
        &[("AWS_PROFILE", "far"), ("AWS_ENDPOINT_URL", url)],
        &[("AWS_PROFILE", "one"), ("AWS_ENDPOINT_URL", NOWHERE), ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)],
    ] {
        let before = server.asked().len();
        answered(home.path(), CLAUDE, env).await;
        assert!(server.asked().len() > before, "{env:?}");
    }
    assert!(server.asked().iter().any(|asked| asked.body.contains("Action=AssumeRole&")));
    let before = server.asked().len();
    let far = "no region of AWS is set";
    for (env, why) in [
        // The usual address needs a region.
        (&[("AWS_PROFILE", "off")][..], far),
        (&[("AWS_PROFILE", "all"), ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")], far),
        (&[("AWS_PROFILE", "off"), ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)], far),
        (
            &[("AWS_PROFILE", "code"), ("AWS_ENDPOINT_URL", url)],
            "the profile code needs a code of your MFA device, for which tau cannot ask; run `eval \"$(aws configure \
             export-credentials --profile code --format env)\"`, then start tau there",
        ),
        (&[("AWS_PROFILE", "twice"), ("AWS_ENDPOINT_URL", url)], "--profile twice --format env"),
    ] {
        let ended = ended(home.path(), CLAUDE, env).await;
        assert!(ended.code == 3 && ended.err.contains(why), "{env:?}: {ended:?}");
    }
    assert_eq!(server.asked().len(), before);
}
