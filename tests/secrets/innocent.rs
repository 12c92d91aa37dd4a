//! Lines without secrets, many of which look as if they might have some.

use super::random::{ALNUM, BASE64, DIGITS, HEX, LOWER, Random, WORD};

/// A line of code, of a log, of a lock file, of data. The kinds alternate.
pub fn line(random: &mut Random, n: usize) -> String {
    match n % 10 {
        0 => rust(random),
        1 => script(random),
        2 => python(random),
        3 => config(random),
        4 => lock(random),
        5 => log(random),
        6 => git(random),
        7 => data(random),
        8 => prose(random),
        _ => placeholder(random),
    }
}

fn rust(r: &mut Random) -> String {
    let (a, b, c) = (r.word(), r.word(), r.word());
    match r.below(16) {
        0 => format!("    pub {a}_token: Option<String>,"),
        1 => format!("    let {a}_key = self.{b}.get(&{c}.token).copied();"),
        2 => format!("fn {a}_password(&self, secret: &Secret) -> Result<Token, Error> {{"),
        3 => format!("        Token::{} => self.{a}(token.{b}),", r.pick(&["Text", "Control", "Csi"])),
        4 => format!("    assert_eq!({a}.token, {b}.next_token(), \"{c}\");"),
        5 => format!("    password: {a}.{b}_password.clone(),"),
        6 => format!("const {}_KEY: &str = \"{a}-{b}\";", a.to_uppercase()),
        7 => format!("    let token = tokens.next().unwrap_or({});", r.below(100)),
        8 => "    let secret = Secret::new(env::var(\"API_KEY\")?);".to_owned(),
        9 => format!("use crate::{a}::{{Token, {b}_key}};"),
        10 => format!("    if password.len() < {} {{ return Err(PasswordTooShort); }}", r.below(20)),
        11 => format!("    #[serde(rename = \"{a}Token\")]"),
        12 => format!("    key: \"{a}.{b}\", secret: false, token: None,"),
        13 => format!("    let auth = format!(\"Bearer {{}}\", {a}.token);"),
        14 => format!("    tokens: {}, max_tokens: {},", r.below(9000), r.below(90_000)),
        _ => format!("    let {a} = {b}::from_str(\"{c}\")?; // token of {a}"),
    }
}

fn script(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(14) {
        0 => format!("const token = await {a}.getToken({b});"),
        1 => "  password: string;".to_owned(),
        2 => format!("  apiKey: process.env.{}_API_KEY,", a.to_uppercase()),
        3 => format!("  <input type=\"password\" name=\"{a}Password\" placeholder=\"Password\" />"),
        4 => format!("export const {}_TOKEN = Symbol('{b}');", a.to_uppercase()),
        5 => format!("  token: {a}.{b}?.token ?? null,"),
        6 => "  headers: { Authorization: `Bearer ${token}` },".to_owned(),
        7 => format!("if (token === '{a}') return {b};"),
        8 => format!("  secret: config.get('{a}.secret'),"),
        9 => format!(
            "{{t('{a}.password')}}: \"{}\"",
            r.pick(&["Passwort", "Mot de passe", "Contraseña", "Password"])
        ),
        10 => format!("const key = `${{{a}}}-${{{b}}}`;"),
        11 => format!(
            "  \"{a}Token\": \"{}\",",
            r.pick(&["string", "required", "optional", "Token of the user"])
        ),
        12 => format!(".sk-{a}-{b}-spinner-animation-container {{ color: red }}"),
        _ => format!("  password: Joi.string().min({}).required(),", r.below(20)),
    }
}

fn python(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(10) {
        0 => "password = get_password()".to_owned(),
        1 => format!("    self.{a}_token = {b}_token"),
        2 => format!("API_KEY = os.environ[\"{}_API_KEY\"]", a.to_uppercase()),
        3 => format!("    token: str = field(default=\"{a}\")"),
        4 => "secret = getpass.getpass(\"Secret: \")".to_owned(),
        5 => format!("    parser.add_argument(\"--{a}-token\", help=\"token of the {b}\")"),
        6 => format!("def {a}(password: str, token: Optional[str] = None) -> {b}:"),
        7 => format!("    raise ValueError(f\"invalid token: {{{a}!r}}\")"),
        8 => format!("tokenizer.pad_token = tokenizer.{}_token", r.pick(&["eos", "bos", "unk"])),
        _ => format!("    return hmac.new(secret, {a}, hashlib.sha256).hexdigest()"),
    }
}

fn config(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(14) {
        0 => format!("{}_PASSWORD=${{{}_PASSWORD}}", a.to_uppercase(), b.to_uppercase()),
        1 => format!("{}_TOKEN=$(cat /run/secrets/{b})", a.to_uppercase()),
        2 => format!("  token: {{{{ .Values.{a}.token }}}}"),
        3 => "    secretKeyRef: { name: db, key: password }".to_owned(),
        4 => format!("{a}_password_file: /run/secrets/{b}_password"),
        5 => format!("      GITHUB_TOKEN: ${{{{ secrets.{}_TOKEN }}}}", a.to_uppercase()),
        6 => format!("key = \"{a}-{b}\""),
        7 => format!("password = \"!vault {a}/{b}\""),
        8 => format!("secret_arn = \"arn:aws:secretsmanager:eu-west-1:{}:secret:{a}\"", r.of(DIGITS, 12)),
        9 => format!("token_url = \"https://{a}.example.com/oauth2/token\""),
        10 => format!("public_key = \"{}\"", r.of(BASE64, 44)),
        11 => "  password: true".to_owned(),
        12 => format!("max_tokens = {}", r.below(100_000)),
        _ => format!("{a}.{b}.token.ttl={}s", r.below(9000)),
    }
}

fn lock(r: &mut Random) -> String {
    match r.below(7) {
        0 => format!("checksum = \"{}\"", r.of(HEX, 64)),
        1 => format!("      \"integrity\": \"sha512-{}==\",", r.of(BASE64, 86)),
        2 => format!("    --hash=sha256:{} \\", r.of(HEX, 64)),
        3 => format!("source = \"registry+https://github.com/rust-lang/crates.io-index#{}\"", r.of(HEX, 40)),
        4 => format!(
            "      \"resolved\": \"https://registry.npmjs.org/{}/-/{}-1.{}.0.tgz\",",
            r.word(),
            r.word(),
            r.below(9)
        ),
        5 => format!("golang.org/x/{} v0.{}.0 h1:{}=", r.word(), r.below(30), r.of(BASE64, 43)),
        _ => format!("name = \"{}-tokenizer\"", r.word()),
    }
}

fn log(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(12) {
        0 => format!("2026-01-0{}T03:04:05Z INFO {a} request_id={} status=200", r.below(9) + 1, r.uuid()),
        1 => format!("[{}] token count: {} of {}", r.below(100), r.below(9000), r.below(90_000)),
        2 => format!("error: invalid token: expected {a}, found {b}"),
        3 => format!("WARN password for user {a} expires in {} days", r.below(90)),
        4 => format!("trace_id={} span_id={}", r.of(HEX, 32), r.of(HEX, 16)),
        5 => format!("GET /api/{a}/{} 200 {}ms", r.uuid(), r.below(900)),
        6 => format!("sha256:{} digest: sha256:{}", r.of(HEX, 64), r.of(HEX, 64)),
        7 => format!("Successfully built {}", r.of(HEX, 12)),
        8 => format!("   Compiling {a}-{b} v0.{}.{}", r.below(9), r.below(30)),
        9 => format!("authentication failed for {a}: token expired"),
        10 => format!("cache key: {a}-{}-{}", r.of(HEX, 8), r.of(HEX, 40)),
        _ => format!("session {} opened by {a}", r.of(ALNUM, 20)),
    }
}

fn git(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(8) {
        0 => format!("commit {}", r.of(HEX, 40)),
        1 => format!("index {}..{} 100644", r.of(HEX, 10), r.of(HEX, 10)),
        2 => format!("{} {a}: {b} the token before the key", r.of(HEX, 7)),
        3 => format!("@@ -{},7 +{},9 @@ fn token(&self)", r.below(900), r.below(900)),
        4 => format!("-    let token = {a}.token();"),
        5 => format!("+    password: {a}_{b},"),
        6 => format!(" rename {a}/{{password.rs => secret.rs}} ({}%)", r.below(100)),
        _ => format!("Author: {a} <{b}@example.com>"),
    }
}

fn data(r: &mut Random) -> String {
    match r.below(9) {
        0 => r.of(BASE64, 76),
        1 => format!(
            "{:08x}: {} {} {} {}",
            r.below(1 << 20),
            r.of(HEX, 4),
            r.of(HEX, 4),
            r.of(HEX, 4),
            r.of(HEX, 4)
        ),
        2 => format!("src=\"data:image/png;base64,iVBORw0KGgo{}\"", r.of(BASE64, 120)),
        3 => r.uuid(),
        4 => format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} user@host", r.of(BASE64, 43)),
        5 => format!("{}  {}.tar.gz", r.of(HEX, 64), r.word()),
        6 => format!("https://example.com/{}/{}?v={}", r.word(), r.of(WORD, 11), r.of(HEX, 8)),
        7 => format!("0x{}, 0x{}, 0x{},", r.of(HEX, 8), r.of(HEX, 8), r.of(HEX, 8)),
        _ => format!("\"etag\": \"W/\\\"{}\\\"\",", r.of(HEX, 32)),
    }
}

fn prose(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    match r.below(9) {
        0 => format!("The {a} token is passed to the {b}, which checks the key."),
        1 => "Password: must have at least 8 characters, one of them a digit.".to_owned(),
        2 => format!("Set `{}_API_KEY` to the key from your account page.", a.to_uppercase()),
        3 => "Enter passphrase for key '/home/user/.ssh/id_ed25519':".to_owned(),
        4 => format!("- key: the name of the {a}; secret: whether the {b} is hidden"),
        5 => format!("See https://docs.example.com/{a}/authentication#token for the {b}."),
        6 => "-----BEGIN CERTIFICATE-----".to_owned(),
        7 => "A private key starts with `-----BEGIN PRIVATE KEY-----` and has many lines.".to_owned(),
        _ => format!("Keys: {a}, {b}; tokens: {}; passwords: none", r.below(100)),
    }
}

fn placeholder(r: &mut Random) -> String {
    let upper = r.word().to_uppercase();
    match r.below(14) {
        0 => format!("{upper}_API_KEY=your-api-key-here"),
        1 => format!("{upper}_PASSWORD=changeme"),
        2 => format!("{upper}_TOKEN=<token>"),
        3 => format!("export {upper}_SECRET=xxxxxxxxxxxxxxxx"),
        4 => "postgres://user:password@localhost:5432/db".to_owned(),
        5 => format!("{upper}_KEY=sk-..."),
        6 => "api_key: \"sk-your-key-goes-here-1234567890\"".to_owned(),
        7 => "aws_access_key_id = AKIAIOSFODNN7EXAMPLE".to_owned(),
        8 => "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        9 => "token: \"********\"".to_owned(),
        10 => format!("{upper}_PASSWORD="),
        11 => "password: ${DB_PASSWORD:-postgres}".to_owned(),
        12 => format!("curl -u {}:$PASSWORD https://example.com", r.of(LOWER, 5)),
        _ => "mongodb://root:example@mongo:27017/".to_owned(),
    }
}
