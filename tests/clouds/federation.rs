//! Vertex AI by workload identity federation: tau, a file of credentials of each kind, and on loopback the service
//! that exchanges tokens, which checks every parameter.

use std::collections::HashMap;
use std::path::PathBuf;

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Asked, SAID, Server, answer, is_signed, tau, text_below};
use crate::support::program::{Ended, run};

const AUDIENCE: &str = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const AWS: &str = "urn:ietf:params:aws:token-type:aws4_request";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const ACCOUNT: &str = "/v1/projects/-/serviceAccounts/tau@p.example:generateAccessToken";

/// The answers of Google's services, and of the provider of the tokens; `None` for what they do not have.
pub(super) fn answered(asked: &Asked) -> Option<Response> {
    let refused = |why: &str| answer(400, json!({"error": "invalid_grant", "error_description": why}));
    Some(match asked.path.as_str() {
        "/v1/token" => match wrong(asked) {
            Some(name) => refused(&format!("wrong {name}, I got {}", asked.body)),
            None => answer(
                200,
                json!({"access_token": "federated", "token_type": "Bearer", "expires_in": 3600,
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}),
            ),
        },
        ACCOUNT => {
            let body = asked.json();
            let lifetime = body["lifetime"].as_str().unwrap_or_default();
            let is_good =
                asked.header("authorization") == "Bearer federated" && body["scope"] == json!([SCOPE]);
            // The test asks for a short life to get a token that has expired.
            let until = if lifetime == "600s" { "2001-01-01T00:00:00Z" } else { "2099-01-01T00:00:00Z" };
            match is_good && ["600s", "3600s"].contains(&lifetime) {
                true => answer(200, json!({"accessToken": "ya29.impersonated", "expireTime": until})),
                false => answer(403, json!({"error": {"code": 403, "message": "Permission denied"}})),
            }
        }
        "/subject" if asked.header("metadata") == "yes" => "from-a-url\n".into_response(),
        "/subject.json" => answer(200, json!({"value": "from-a-url"})),
        _ => return None,
    })
}

/// The first parameter of an exchange that is not as it has to be.
fn wrong(asked: &Asked) -> Option<String> {
    let fields: HashMap<String, String> =
        url::form_urlencoded::parse(asked.body.as_bytes()).into_owned().collect();
    let token = fields.get("subject_token").map(String::as_str).unwrap_or_default();
    let kind = if token.contains("GetCallerIdentity") { AWS } else { JWT };
    let is_workforce = token == "of-a-person";
    let mut expected = HashMap::from([
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("audience", AUDIENCE),
        ("scope", SCOPE),
        ("subject_token_type", kind),
        ("subject_token", token),
    ]);
    if is_workforce {
        expected.insert("options", r#"{"userProject":"12345"}"#);
    }
    let is_client =
        asked.header("authorization") == format!("Basic {}", BASE64_STANDARD.encode("c:client-secret"));
    let tokens = ["from-a-file", "from-a-url", "from-a-command", "of-a-person", "of-a-client"];
    let checks = [
        ("method", asked.method == "POST"),
        ("content-type", asked.header("content-type") == "application/x-www-form-urlencoded"),
        (
            "authorization",
            if token == "of-a-client" { is_client } else { asked.header("authorization").is_empty() },
        ),
        ("subject_token", if kind == AWS { is_of_aws(token) } else { tokens.contains(&token) }),
    ];
    let differs =
        expected.iter().find(|(name, value)| fields.get(**name).map(String::as_str) != Some(**value));
    let check = checks.iter().find(|(_, is_good)| !is_good).map(|(name, _)| (*name).to_owned());
    let unknown = fields.keys().find(|name| !expected.contains_key(name.as_str())).cloned();
    differs.map(|(name, _)| (*name).to_owned()).or(check).or(unknown)
}

/// Whether a token is a question to AWS, signed for this audience.
fn is_of_aws(token: &str) -> bool {
    let (plain, _) = url::form_urlencoded::parse(token.as_bytes()).next().unwrap();
    let question: Value = serde_json::from_str(&plain).unwrap();
    let headers = question["headers"].as_array().unwrap().iter();
    let headers: HashMap<String, String> = headers
        .map(|header| {
            (header["key"].as_str().unwrap().to_owned(), header["value"].as_str().unwrap().to_owned())
        })
        .collect();
    let as_sent = Asked {
        method: question["method"].as_str().unwrap().to_owned(),
        path: "/".to_owned(),
        query: "Action=GetCallerIdentity&Version=2011-06-15".to_owned(),
        headers,
        body: String::new(),
    };
    question["url"] == "https://sts.eu-west-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"
        && as_sent.header("host") == "sts.eu-west-1.amazonaws.com"
        && as_sent.header("x-goog-cloud-target-resource") == AUDIENCE
        && as_sent.header("x-amz-security-token") == "env-session"
        && as_sent.header("authorization").contains("x-goog-cloud-target-resource")
        && is_signed(&as_sent, "AKIAENV", "env-secret", "eu-west-1", "sts")
}

struct Cloud {
    server: Server,
    home: TempDir,
}

impl Cloud {
    async fn start() -> Self {
        Cloud { server: Server::start().await, home: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Credentials with this source and these further fields, which replace the usual ones.
    fn credentials(&self, source: &Value, more: &Value) -> PathBuf {
        let mut file = json!({"type": "external_account", "audience": AUDIENCE, "subject_token_type": JWT,
            "token_url": format!("{}/v1/token", self.server.url), "credential_source": source});
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write("credentials.json", &file.to_string())
    }

    async fn run(&self, source: &Value, more: &Value, env: &[(&str, &str)]) -> Ended {
        let file = self.credentials(source, more);
        let usual = [
            ("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap()),
            ("GOOGLE_CLOUD_PROJECT", "my-project"),
            ("GOOGLE_VERTEX_BASE_URL", &self.server.url),
            ("TAU_LOG", "trace"),
        ];
        let env = [&usual[..], env].concat();
        // Two prompts, so two requests.
        run(tau(self.home.path(), "google-vertex/gemini-3.8-flash", &env).arg("again"), None).await
    }

    /// Runs tau, which has to get an answer with this token.
    async fn answers(&self, source: &Value, more: &Value, env: &[(&str, &str)], token: &str) {
        let ended = self.run(source, more, env).await;
        assert!(ended.code == 0 && ended.out.contains(SAID), "{source}: {ended:?}");
        assert_eq!(self.server.last().header("authorization"), format!("Bearer {token}"), "{source}");
    }

    fn exchanges(&self) -> usize {
        self.server.asked().iter().filter(|asked| asked.path == "/v1/token").count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_file_or_an_address_is_exchanged() {
    let cloud = Cloud::start().await;
    let (nothing, url) = (json!({}), &cloud.server.url);
    let plain = json!({"file": cloud.write("token", "from-a-file\n")});
    let of_json = json!({"format": {"type": "json", "subject_token_field_name": "value"}});
    let with_format = |mut source: Value| {
        source.as_object_mut().unwrap().extend(of_json.as_object().unwrap().clone());
        source
    };
    cloud.answers(&plain, &nothing, &[], "federated").await;
    assert_eq!(cloud.exchanges(), 1, "the token is kept for the second request");
    let file = with_format(json!({"file": cloud.write("token.json", r#"{"value":"from-a-file"}"#)}));
    cloud.answers(&file, &nothing, &[], "federated").await;
    let address = json!({"url": format!("{url}/subject"), "headers": {"Metadata": "yes"}});
    cloud.answers(&address, &nothing, &[], "federated").await;
    let address = with_format(json!({"url": format!("{url}/subject.json")}));
    cloud.answers(&address, &nothing, &[], "federated").await;
    // A client of its own, and a person of a workforce pool.
    let client = json!({"file": cloud.write("client", "of-a-client")});
    let secret =
        json!({"client_id": "c", "client_secret": "client-secret", "workforce_pool_user_project": "1"});
    cloud.answers(&client, &secret, &[], "federated").await;
    let person = json!({"file": cloud.write("person", "of-a-person")});
    cloud.answers(&person, &json!({"workforce_pool_user_project": "12345"}), &[], "federated").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_is_impersonated_until_its_token_expires() {
    let cloud = Cloud::start().await;
    let source = json!({"file": cloud.write("token", "from-a-file")});
    let account = json!({"service_account_impersonation_url": format!("{}{ACCOUNT}", cloud.server.url)});
    cloud.answers(&source, &account, &[], "ya29.impersonated").await;
    assert_eq!(cloud.exchanges(), 1);
    let mut short = account.clone();
    short["service_account_impersonation"] = json!({"token_lifetime_seconds": 600});
    cloud.answers(&source, &short, &[], "ya29.impersonated").await;
    assert!(cloud.exchanges() >= 3, "a token that has expired is not used again");
    short["service_account_impersonation"] = json!({"token_lifetime_seconds": 7});
    let ended = cloud.run(&source, &short, &[]).await;
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        ended.err.contains("not impersonated: 127.0.0.1 answered with status 403: Permission denied"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_aws_are_exchanged() {
    let cloud = Cloud::start().await;
    let source = json!({"environment_id": "aws1",
        "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"});
    let env = [
        ("AWS_ACCESS_KEY_ID", "AKIAENV"),
        ("AWS_SECRET_ACCESS_KEY", "env-secret"),
        ("AWS_SESSION_TOKEN", "env-session"),
        ("AWS_REGION", "eu-west-1"),
    ];
    cloud.answers(&source, &json!({"subject_token_type": AWS}), &env, "federated").await;
    let ended = cloud.run(&json!({"environment_id": "aws2"}), &json!({}), &env).await;
    assert!(ended.code == 3 && ended.err.contains("\"aws2\" is not known to tau"), "{ended:?}");
    let ended = cloud.run(&source, &json!({}), &[]).await;
    assert!(ended.code == 3 && ended.err.contains("no AWS credentials to exchange"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_prints_the_token_only_if_that_is_allowed() {
    let cloud = Cloud::start().await;
    let printed = |more: Value| {
        let mut answer =
            json!({"version": 1, "success": true, "token_type": JWT, "id_token": "from-a-command"});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        cloud.write("printed.json", &answer.to_string())
    };
    let file = printed(json!({}));
    let script = format!(
        "#!/bin/sh\n[ \"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE\" = {AUDIENCE} ] || exit 1\n\
         [ \"$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE\" = {JWT} ] || exit 1\n\
         [ \"$GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL\" = tau@p.example ] || exit 1\n\
         /bin/cat {}\n",
        file.display()
    );
    let command = format!("/bin/sh {}", cloud.write("command", &script).display());
    let source = json!({"executable": {"command": command, "timeout_millis": 5000}});
    let account = json!({"service_account_impersonation_url": format!("{}{ACCOUNT}", cloud.server.url)});
    let ended = cloud.run(&source, &account, &[]).await;
    assert!(
        ended.code == 3 && ended.err.contains("set GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"),
        "{ended:?}"
    );
    let env = [("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"), ("PATH", "/bin:/usr/bin")];
    cloud.answers(&source, &account, &env, "ya29.impersonated").await;
    for (answer, why) in [
        (json!({"expiration_time": 1}), "its token has expired"),
        (json!({"success": false, "code": "401", "message": "log in first"}), "log in first"),
        (json!({"id_token": null}), "its answer has no token"),
    ] {
        printed(answer);
        let ended = cloud.run(&source, &account, &env).await;
        assert!(ended.code == 3 && ended.err.contains(why), "{ended:?}");
    }
    // What it has kept in its file is used while it is good.
    let kept = printed(json!({"expiration_time": 4_070_908_800_i64}));
    let source = json!({"executable": {"command": "exit 1", "output_file": kept}});
    cloud.answers(&source, &account, &env, "ya29.impersonated").await;
    printed(json!({}));
    let ended = cloud.run(&source, &account, &env).await;
    assert!(ended.code == 3 && ended.err.contains("the command of credential_source failed"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_an_exchange_say_what_to_do_and_tell_no_secret() {
    let cloud = Cloud::start().await;
    let token = cloud.write("token", "the-secret-token");
    let (file, nothing) = (json!({"file": token}), json!({}));
    let of_json = json!({"file": token, "format": {"type": "json", "subject_token_field_name": "value"}});
    for (source, more, why) in [
        (&file, &nothing, "not exchanged: 127.0.0.1 answered with status 400: wrong subject_token, I got"),
        (&file, &nothing, "; check audience and subject_token_type"),
        (&json!({"file": "/nowhere/token"}), &nothing, "no token to exchange: /nowhere/token"),
        (&json!({"file": cloud.write("empty", "\n")}), &nothing, "empty is empty"),
        (&of_json, &nothing, "token is not JSON"),
        (
            &json!({}),
            &nothing,
            "it needs a file, a url, an environment_id or an executable; make the file again",
        ),
        (
            &json!({"url": "http://192.0.2.1/x"}),
            &nothing,
            "credential_source.url of the credentials cannot be used: it is not encrypted",
        ),
        (
            &file,
            &json!({"token_url": "http://192.0.2.1/x"}),
            "token_url of the credentials cannot be used: it is not encrypted",
        ),
        (
            &file,
            &json!({"audience": ""}),
            "the credentials have no audience; make the file again with `gcloud",
        ),
    ] {
        let ended = cloud.run(source, more, &[]).await;
        assert!(ended.code == 3 && ended.err.contains(why), "{why}: {ended:?}");
        assert!(!ended.err.contains("the-secret-token"), "{ended:?}");
    }
    let url = json!({"service_account_impersonation_url": "http://192.0.2.1/x"});
    let good = json!({"file": cloud.write("good", "from-a-file")});
    let ended = cloud.run(&good, &url, &[]).await;
    assert!(ended.code == 3 && ended.err.contains("service_account_impersonation_url of the"), "{ended:?}");
    let written = text_below(&cloud.home.path().join("tau"));
    assert!(!written.is_empty() && !written.contains("the-secret-token"), "{written}");
    // What is exchanged is a secret as well.
    assert!(!written.contains("federated"), "{written}");
}
