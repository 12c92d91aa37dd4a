//! Signs requests to AWS (Signature Version 4).
//!
//! Pure: the time is passed in. Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html;
//! the tests are from Amazon's own test suite.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};
use url::Url;

use tau_tools::hashes::hexadecimal;

/// All characters but the unreserved ones of RFC 3986, as a service encodes them before it signs.
pub(crate) const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The credentials of a signature.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AwsCredentials {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// The token of temporary credentials; empty for lasting ones.
    pub(crate) session_token: String,
}

impl std::fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AwsCredentials(…)")
    }
}

/// A request to be signed, and its scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signing<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    pub(crate) body: &'a [u8],
}

/// The headers that sign a request at this time, in addition to `headers`, which are signed too. Their names
/// are in lower case.
pub(crate) fn sign(
    signing: Signing<'_>,
    headers: &[(String, String)],
    credentials: &AwsCredentials,
    now: Timestamp,
) -> Vec<(String, String)> {
    let now = now.to_zoned(TimeZone::UTC);
    let (date, time) = (now.strftime("%Y%m%d").to_string(), now.strftime("%Y%m%dT%H%M%SZ").to_string());
    let mut added = vec![("x-amz-date".to_owned(), time.clone())];
    if !credentials.session_token.is_empty() {
        added.push(("x-amz-security-token".to_owned(), credentials.session_token.clone()));
    }
    let mut signed: Vec<(String, String)> = headers.iter().chain(&added).cloned().collect();
    signed.push(("host".to_owned(), host(signing.url)));
    signed.sort();
    let names = signed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let mut request = format!("{}\n{}\n{}\n", signing.method, path(signing.url), query(signing.url));
    for (name, value) in &signed {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(request, "{name}:{value}");
    }
    let _ = write!(request, "\n{names}\n{}", hexadecimal(digest(&SHA256, signing.body)));
    let scope = format!("{date}/{}/{}/aws4_request", signing.region, signing.service);
    let hash = hexadecimal(digest(&SHA256, request.as_bytes()));
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hash}");
    let mut key = format!("AWS4{}", credentials.secret_key).into_bytes();
    for part in [date.as_str(), signing.region, signing.service, "aws4_request", text.as_str()] {
        key = hmac::sign(&hmac::Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
    }
    let value = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        credentials.access_key,
        hexadecimal(&key)
    );
    added.push(("authorization".to_owned(), value));
    added
}

/// The value of the header `host`.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The path, encoded once more: the service decodes it before it signs.
fn path(url: &Url) -> String {
    const ENCODED: AsciiSet = UNRESERVED.remove(b'/');
    utf8_percent_encode(url.path(), &ENCODED).to_string()
}

fn query(url: &Url) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, &UNRESERVED).to_string();
    let mut pairs: Vec<String> =
        url.query_pairs().map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value))).collect();
    pairs.sort();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of a request of Amazon's test suite.
    fn signature(method: &str, url: &str, headers: &[(&str, &str)], body: &str, token: &str) -> String {
        let credentials = AwsCredentials {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: token.to_owned(),
        };
        let url = Url::parse(url).unwrap();
        let signing =
            Signing { method, url: &url, region: "us-east-1", service: "service", body: body.as_bytes() };
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let added = sign(signing, &headers, &credentials, now);
        let (_, value) = added.last().unwrap();
        assert!(value.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        ));
        value.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    #[test]
    fn signatures_are_those_of_the_test_suite() {
        let base = "https://example.amazonaws.com/";
        let with = |query: &str| format!("{base}?{query}");
        let cases = [
            (
                "get-vanilla",
                signature("GET", base, &[], "", ""),
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "post-vanilla",
                signature("POST", base, &[], "", ""),
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                "get-vanilla-query-order-key-case",
                signature("GET", &with("Param2=value2&Param1=value1"), &[], "", ""),
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "post-x-www-form-urlencoded",
                signature(
                    "POST",
                    base,
                    &[("content-type", "application/x-www-form-urlencoded")],
                    "Param1=value1",
                    "",
                ),
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
            (
                "get-header-value-trim",
                signature(
                    "GET",
                    base,
                    &[("my-header1", " value1"), ("my-header2", " \"a   b   c\"")],
                    "",
                    "",
                ),
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            ),
        ];
        for (name, found, expected) in cases {
            assert_eq!(found, expected, "{name}");
        }
    }
}
