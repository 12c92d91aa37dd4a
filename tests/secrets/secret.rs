//! Lines with secrets in them.

use super::random::{ALNUM, BASE64, DIGITS, HEX, LOWER, Random, UPPER, WORD};

/// A text with secrets, and the secrets. The kinds alternate.
pub fn line(random: &mut Random, n: usize) -> (String, Vec<String>) {
    match n % 10 {
        0..=3 => {
            let key = key(random, n / 10 * 4 + n % 10);
            (around(random, &key), vec![key])
        }
        4..=7 => named(random),
        8 => address(random),
        _ => private_key(random),
    }
}

/// A key as a provider issues it.
fn key(random: &mut Random, n: usize) -> String {
    let r = random;
    match n % 34 {
        0 => format!("sk-proj-{}", r.of(WORD, 74)),
        1 => format!("sk-{}", r.of(ALNUM, 48)),
        2 => format!("sk-ant-api03-{}-{}AA", r.of(WORD, 86), r.of(WORD, 6)),
        3 => format!("AIza{}", r.of(WORD, 35)),
        4 => format!("AKIA{}", r.of(UPPER, 16)),
        5 => format!("ghp_{}", r.of(ALNUM, 36)),
        6 => format!("gho_{}", r.of(ALNUM, 36)),
        7 => format!("ghs_{}", r.of(ALNUM, 36)),
        8 => format!("github_pat_{}_{}", r.of(ALNUM, 22), r.of(ALNUM, 59)),
        9 => format!("glpat-{}", r.of(WORD, 20)),
        10 => format!("xoxb-{}-{}-{}", r.of(DIGITS, 12), r.of(DIGITS, 12), r.of(ALNUM, 24)),
        11 => format!("xoxp-{}-{}-{}", r.of(DIGITS, 11), r.of(DIGITS, 11), r.of(HEX, 32)),
        12 => format!(
            "https://hooks.slack.com/services/T{}/B{}/{}",
            r.of(UPPER, 10),
            r.of(UPPER, 10),
            r.of(ALNUM, 24)
        ),
        13 => format!("sk_live_{}", r.of(ALNUM, 24)),
        14 => format!("rk_live_{}", r.of(ALNUM, 24)),
        15 => format!("whsec_{}", r.of(ALNUM, 32)),
        16 => format!("npm_{}", r.of(ALNUM, 36)),
        17 => format!("pypi-AgEIcHlwaS5vcmc{}", r.of(WORD, 120)),
        18 => format!("hf_{}", r.of(ALNUM, 34)),
        19 => format!("gsk_{}", r.of(ALNUM, 52)),
        20 => format!("{}:AA{}", r.of("123456789", 10), r.of(WORD, 33)),
        21 => format!("{}8Q~{}", r.of(ALNUM, 3), r.of(ALNUM, 34)),
        22 => format!("SG.{}.{}", r.of(WORD, 22), r.of(WORD, 43)),
        23 => format!("dop_v1_{}", r.of(HEX, 64)),
        24 => format!("dckr_pat_{}", r.of(WORD, 27)),
        25 => format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", r.of(WORD, 60), r.of(WORD, 43)),
        26 => format!("ya29.{}", r.of(WORD, 120)),
        27 => format!("GOCSPX-{}", r.of(WORD, 28)),
        28 => format!("hvs.{}", r.of(WORD, 90)),
        29 => format!("xai-{}", r.of(ALNUM, 80)),
        30 => format!("lin_api_{}", r.of(ALNUM, 40)),
        31 => format!("AGE-SECRET-KEY-1{}", r.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
        32 => format!("glsa_{}_{}", r.of(ALNUM, 32), r.of(HEX, 8)),
        _ => format!("shpat_{}", r.of(HEX, 32)),
    }
}

/// A key in a typical place.
fn around(random: &mut Random, key: &str) -> String {
    match random.below(10) {
        0 => format!("{key}\n"),
        1 => format!("curl -H \"Authorization: Bearer {key}\" https://api.example.com/v1/items"),
        2 => format!("2026-03-04T05:06:07Z WARN retrying with key {key} after 429"),
        3 => format!("src/config.rs:12:    let client = Client::new(\"{key}\");"),
        4 => format!("+const CLIENT = connect('{key}', {{ retries: 3 }});"),
        5 => format!("     7  remote = {key}"),
        6 => format!("{{\"level\":\"info\",\"msg\":\"using\\n{key}\"}}"),
        7 => format!("https://example.com/hook?value={key}&page=2"),
        8 => format!("| staging | {key} | rotated in May |"),
        _ => format!("\u{1b}[32mfound\u{1b}[0m {key}, see the wiki"),
    }
}

/// The value of a variable with a secret-sounding name.
fn value(random: &mut Random) -> String {
    let r = random;
    match r.below(7) {
        0 => r.of(ALNUM, 32),
        1 => r.of(HEX, 40),
        2 => r.of(BASE64, 40),
        3 => r.uuid(),
        4 => format!("{}{}!{}", r.of(LOWER, 5), r.of(DIGITS, 3), r.of(UPPER, 3)),
        5 => format!("{}-{}-{}", r.of(ALNUM, 6), r.of(ALNUM, 6), r.of(ALNUM, 6)),
        _ => format!("{}{}{}", r.of(UPPER, 1), r.of(LOWER, 6), r.of(DIGITS, 4)),
    }
}

/// A value marked as secret by its name.
fn named(random: &mut Random) -> (String, Vec<String>) {
    let prefix = random.pick(&["APP", "DB", "STRIPE", "GITHUB", "SMTP", "MY_SERVICE", "REDIS"]);
    let end = random
        .pick(tau::tools::words!("PASSWORD API_KEY SECRET TOKEN ACCESS_KEY SECRET_KEY AUTH_TOKEN PASSWD"));
    let upper = format!("{prefix}_{end}");
    let lower = upper.to_lowercase();
    let camel: String = lower
        .split('_')
        .enumerate()
        .map(|(at, word)| if at == 0 { word.to_owned() } else { word[..1].to_uppercase() + &word[1..] })
        .collect();
    let value = value(random);
    let text = match random.below(16) {
        0 | 1 => format!("{upper}={value}"),
        2 => format!("export {upper}=\"{value}\""),
        3 => format!("  \"{camel}\": \"{value}\","),
        4 => format!("{lower}: {value}"),
        5 => format!("{lower} = \"{value}\""),
        6 => format!("    {lower}: '{value}' # rotated"),
        7 => format!("ENV {upper}={value}"),
        8 => format!("docker run -e {upper}={value} -p 80:80 app"),
        9 => format!("let {lower} = \"{value}\";"),
        10 => format!("{camel}: '{value}',"),
        11 => format!("+{upper}={value}"),
        12 => format!("     3  {upper}={value}"),
        13 => format!(".env:4:{upper}={value}"),
        14 => format!("<{camel}>{value}</{camel}>"),
        _ => format!("deploy --{} {value} --region eu", lower.replace('_', "-")),
    };
    (text, vec![value])
}

/// An address with a password.
fn address(random: &mut Random) -> (String, Vec<String>) {
    let scheme = random.pick(&["postgres", "mysql", "redis", "mongodb+srv", "amqp", "https", "ftp"]);
    let password = match random.below(3) {
        0 => random.of(ALNUM, 16),
        1 => format!("{}{}", random.of(LOWER, 8), random.of(DIGITS, 2)),
        _ => random.of(HEX, 24),
    };
    let url = format!("{scheme}://app:{password}@db.internal:5432/main");
    let text = match random.below(4) {
        0 => format!("DATABASE_URL={url}"),
        1 => format!("url: \"{url}\""),
        2 => format!("connecting to {url} ..."),
        _ => format!("git clone https://ci:{password}@git.internal/team/app.git"),
    };
    (text, vec![password])
}

/// A private key, as a file, as a string, or with line numbers.
fn private_key(random: &mut Random) -> (String, Vec<String>) {
    let kind = random.pick(&["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"]);
    let lines: Vec<String> = (0..4).map(|_| random.of(BASE64, 64)).collect();
    let key = format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"));
    let text = match random.below(4) {
        0 => key,
        1 => format!("  \"private_key\": \"{}\",", key.replace('\n', "\\n")),
        2 => key.lines().enumerate().map(|(at, line)| format!("{:6}  {line}\n", at + 1)).collect(),
        _ => key.lines().map(|line| format!("    {line}\n")).collect(),
    };
    (text, lines)
}
