//! Connections to providers: proxies, certificates, addresses and tokens from the environment.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::faults::tls;
use crate::support::program::body;
use crate::support::server::{answer, closed_port};
use crate::time_limit::InTime;

/// The program with a provider that is not on this machine.
fn far(place: &Place, url: &str) -> Command {
    let mut command = bare(place.dir.path());
    command.args(["-p", "hi", "--no-session", "--base-url", url, "--model", "m", "--api-key", "x"]);
    command
}

#[tokio::test]
async fn errors_name_the_proxy_and_its_variable() {
    let place = Place::new(vec![says("through it")]).await;
    let (_kept, dead) = closed_port();
    let cases = [
        ("HTTPS_PROXY", "https://model.invalid/v1", "HTTPS_PROXY"),
        ("http_proxy", "http://model.invalid/v1", "http_proxy"),
        ("ALL_PROXY", "https://model.invalid/v1", "ALL_PROXY"),
        ("TAU_PROXY", "https://model.invalid/v1", "the setting proxy"),
    ];
    let runs = cases.into_iter().map(async |(variable, url, named)| {
        let ended = run(far(&place, url).env(variable, format!("http://me:hidden@{dead}")), None).await;
        assert_eq!(ended.code, 1, "{ended:?}");
        let told = format!("the proxy http://{dead} ({named})");
        assert!(ended.err.contains(&told) && ended.err.contains(&format!("check {named}")), "{ended:?}");
        assert!(!ended.err.contains("hidden"), "{ended:?}");
    });
    futures_util::future::join_all(runs).await;
    // The proxy itself answers plain HTTP.
    let through =
        run(far(&place, "http://model.invalid/v1").env("HTTP_PROXY", place.server.url()), None).await;
    assert_eq!((through.code, through.out.trim()), (0, "through it"), "{through:?}");
    for (status, words) in
        [("407 Proxy Authentication Required", "wants a login"), ("502 Bad Gateway", "status 502")]
    {
        let place = Place::new(vec![Act::Send(answer(status, "", b"no"))]).await;
        let ended =
            run(far(&place, "http://model.invalid/v1").env("HTTP_PROXY", place.server.url()), None).await;
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.err.contains("(HTTP_PROXY)") && ended.err.contains(words), "{ended:?}");
    }
}

#[tokio::test]
async fn a_page_of_a_filter_is_not_an_answer_of_the_api() {
    let page =
        b"<!DOCTYPE html><html><head><title>Forbidden by\n Zscaler</title></head><body>x</body></html>";
    for status in ["200 OK", "403 Forbidden", "404 Not Found"] {
        let place = Place::new(vec![Act::Send(answer(status, "content-type: text/html\r\n", page))]).await;
        let direct = run(&mut place.tau(&["-p", "hi"]), None).await;
        assert_eq!(direct.code, 1, "{direct:?}");
        let told = "a web page answered, not the API: Forbidden by Zscaler";
        assert!(direct.err.contains(told) && !direct.err.contains("API key"), "{direct:?}");
        assert!(!direct.err.contains("by way of"), "{direct:?}");
        let through =
            run(far(&place, "http://model.invalid/v1").env("HTTP_PROXY", place.server.url()), None).await;
        let proxy = format!("by way of the proxy {} (HTTP_PROXY)", place.server.url());
        assert!(through.err.contains(told) && through.err.contains(&proxy), "{through:?}");
    }
}

/// A SOCKS5 proxy that leads every connection to this server; returns its address and the requested targets.
async fn socks(server: String) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (told, asked) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = [0; 2];
            client.read_exact(&mut head).await.unwrap();
            client.read_exact(&mut vec![0; usize::from(head[1])]).await.unwrap();
            client.write_all(&[5, 0]).await.unwrap();
            let mut request = [0; 5];
            client.read_exact(&mut request).await.unwrap();
            assert_eq!(request[..4], [5, 1, 0, 3], "a name is asked for");
            let mut name = vec![0; usize::from(request[4]) + 2];
            client.read_exact(&mut name).await.unwrap();
            name.truncate(name.len() - 2);
            let _ = told.send(String::from_utf8(name).unwrap());
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
            let mut server = tokio::net::TcpStream::connect(&server).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
    });
    (address, asked)
}

#[tokio::test]
async fn socks_proxies_are_used() {
    let place = Place::new(vec![says("hello")]).await;
    let (address, mut asked) = socks(place.server.address.clone()).await;
    for (name, value) in [
        ("ALL_PROXY", format!("socks5h://{address}")),
        ("HTTP_PROXY", format!("socks5h://{address}")),
        ("TAU_PROXY", format!("socks5h://{address}")),
    ] {
        let ended = run(far(&place, "http://model.invalid/v1").env(name, value), None).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "hello"), "{name}: {ended:?}");
        assert_eq!(asked.recv().in_time("a request to the proxy").await.unwrap(), "model.invalid");
    }
}

/// What no retry helps is told at once, with the remedy.
#[tokio::test]
async fn a_proxy_that_wants_a_login_or_another_scheme_is_not_tried_again() {
    let refusal = || Act::Send(answer("407 Proxy Authentication Required", "", b""));
    let place = Place::new(vec![refusal()]).await;
    let (names, _asked) = socks(place.server.address.clone()).await;
    let login = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wants_login = login.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = login.accept().await {
            let _ = client.read(&mut [0; 16]).await;
            let _ = client.write_all(&[5, 255]).await;
        }
    });
    for (url, proxy, told) in [
        ("https://model.invalid/v1", place.server.url(), "the proxy wants a login"),
        ("http://model.invalid/v1", format!("socks5h://{wants_login}"), "the proxy wants a login"),
        ("http://model.invalid/v1", format!("socks5://{names}"), "as socks5h://"),
    ] {
        let ended = run(far(&place, url).env("ALL_PROXY", &proxy), None).await;
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.err.contains(told) && ended.err.contains("(ALL_PROXY)"), "{proxy}: {ended:?}");
        assert!(!ended.err.contains("attempts") && !ended.err.contains("retr"), "{proxy}: {ended:?}");
    }
    assert_eq!(place.server.requests().len(), 1);
}

/// An address is exempt like a name: `0.0.0.0` is this machine, but not known as such.
#[tokio::test]
async fn no_proxy_with_a_star_exempts_every_host() {
    let place = Place::new(vec![says("direct")]).await;
    let (_kept, dead) = closed_port();
    let port = place.server.address.rsplit_once(':').unwrap().1;
    for (proxy, hosts) in [("HTTP_PROXY", "*"), ("TAU_PROXY", "a.example, *")] {
        let mut command = far(&place, &format!("http://0.0.0.0:{port}/v1"));
        let ended = run(command.env(proxy, format!("http://{dead}")).env("NO_PROXY", hosts), None).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "direct"), "{proxy}: {ended:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_told_at_once() {
    let place = Place::new(vec![says("never")]).await;
    let ended = run(&mut far(&place, &tls::server()), None).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("certificate") && ended.err.contains("ca_file"), "{ended:?}");
    assert!(!ended.err.contains("attempts") && !ended.err.contains("retr"), "{ended:?}");
}

#[tokio::test]
async fn addresses_and_tokens_of_the_environment_are_used() {
    let place = Place::new(vec![Act::Send(answer("401 No", "", b"{}"))]).await;
    let asked = async |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = bare(place.dir.path());
        for (name, value) in variables {
            command.env(name, value.replace("URL", &place.server.url()));
        }
        let ended = run(command.args(["-p", "hi", "--no-session"]).args(arguments), None).await;
        (place.server.requests().pop().unwrap_or_default(), ended)
    };
    let address = ("ANTHROPIC_BASE_URL", "URL/gateway/v1");
    let model = ["--model", "anthropic/claude-opus-4-5"];
    let (request, ended) = asked(&[address, ("ANTHROPIC_API_KEY", "sk-key")], &model).await;
    assert!(request.starts_with("POST /gateway/v1/messages "), "{request} {ended:?}");
    assert!(request.contains("x-api-key: sk-key\r\n"), "{request}");
    let token = ("ANTHROPIC_AUTH_TOKEN", "of-the-gateway");
    let (request, _) = asked(&[address, token, ("ANTHROPIC_API_KEY", "sk-key")], &model).await;
    assert!(request.contains("authorization: Bearer of-the-gateway\r\n"), "{request}");
    assert!(!request.contains("x-api-key"), "{request}");
    let (request, _) =
        asked(&[address, token], &["--model", "claude-opus-4-5", "--api-key", "sk-flag"]).await;
    assert!(request.contains("x-api-key: sk-flag\r\n"), "{request}");
    let openai = [("OPENAI_BASE_URL", "URL/v7"), ("OPENAI_API_KEY", "sk-o")];
    let (request, ended) = asked(&openai, &["--model", "openai/gpt-5.5"]).await;
    assert!(request.starts_with("POST /v7/responses "), "{request} {ended:?}");
    // Flags take precedence, and no other provider is reached that way.
    let url = place.server.url();
    let flags =
        ["--provider", "anthropic", "--model", "claude-opus-4-5", "--base-url", &format!("{url}/flag")];
    let (request, _) = asked(&[address, ("ANTHROPIC_API_KEY", "sk-key")], &flags).await;
    assert!(request.starts_with("POST /flag/v1/messages "), "{request}");
    let before = place.server.requests().len();
    let (_, ended) = asked(&[("ANTHROPIC_BASE_URL", "gateway:80"), ("ANTHROPIC_API_KEY", "k")], &model).await;
    assert!(
        ended.code == 3 && ended.err.contains("ANTHROPIC_BASE_URL: `gateway:80` is not a URL"),
        "{ended:?}"
    );
    assert_eq!(place.server.requests().len(), before);
}

/// The newest Claude models refuse thinking budgets, whichever way they are reached.
#[tokio::test]
async fn a_known_model_keeps_its_quirks_at_another_address() {
    let place = Place::new(vec![Act::Send(answer("401 No", "", b"{}"))]).await;
    let url = place.server.url();
    for model in [
        "claude-opus-4-7", "anthropic/claude-opus-4-7", "claude-opus-4-7-20260416",
        "us.anthropic.claude-opus-4-7-v1:0",
    ] {
        let mut tau = bare(place.dir.path());
        tau.args([
            "-p", "hi", "--no-session", "--base-url", &url, "--api", "anthropic-messages", "--model", model,
        ]);
        run(tau.args(["--api-key", "x", "--thinking", "high"]), None).await;
        let request = place.server.requests().pop().unwrap();
        let body = body(&request);
        assert_eq!(body["thinking"]["type"], "adaptive", "{model}: {body}");
        assert_eq!(body["thinking"]["budget_tokens"], Value::Null, "{model}: {body}");
        assert_eq!(body["model"], model, "the name stays");
    }
}
