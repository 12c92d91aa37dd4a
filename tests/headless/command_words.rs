//! Words that are, or resemble, a command are not sent to a model.

use super::*;

#[tokio::test]
async fn a_word_that_resembles_a_command_is_never_sent() {
    let cases: &[(&[&str], &str)] = &[
        (&["signin"], "tau login PROVIDER"),
        (&["-p", "login"], " -p -- login"),
        (&["--trust", "login", "openai"], " -- login openai"),
        (&["upgrade"], "to install a newer version: tau update"),
        (&["mdels"], "did you mean tau models?"),
        (&["Models"], "comes first: tau models"),
        (&["acp"], "comes first: tau acp --base-url"),
        (&["--trust", "extensions"], "comes first: tau extensions"),
        (&["--json", "serve"], "comes first: tau serve"),
        (&["-p", "/login"], "`/login` is a command of the screen"),
        (&["-p", "/login", "now"], " -p -- ' /login' now"),
        (&["help"], "to print it: tau help"),
        (&["-p", "!ls -la"], "in your shell, type it alone: ls -la"),
        (&["config", "set", "theme", "dark"], "config.toml"),
    ];
    for (arguments, expected) in cases {
        let place = Place::new(vec![says("sent")]).await;
        let ended = run(&mut place.tau(arguments), Some("more text")).await;
        assert_eq!(ended.code, 2, "{arguments:?}: {ended:?}");
        assert!(
            ended.err.contains(expected) && ended.err.contains("To send it as a prompt: tau --"),
            "{ended:?}"
        );
        assert!(place.server.requests().is_empty(), "{arguments:?}");
    }
    // About a piped text, words that are only like a command are a prompt; without one they are not.
    for word in ["summarize", "check", "mdels"] {
        let place = Place::new(vec![says("sent")]).await;
        let ended = run(&mut place.tau(&["-p", word]), Some("some text")).await;
        assert!(ended.code == 0 && ended.out == "sent\n", "{word}: {ended:?}");
        for text in [None, Some("")] {
            let ended = run(&mut place.tau(&["-p", word]), text).await;
            assert!(ended.code == 2 && place.server.requests().len() == 1, "{word}: {ended:?}");
        }
    }
    for prompt in [
        &["-p", "--", " /login"][..],
        &["-p", "--", "login"],
        &["hello"],
        &["-p", "log in"],
        &["-p", "run", "the", "tests"],
    ] {
        let place = Place::new(vec![says("sent")]).await;
        let ended = run(&mut place.tau(prompt), None).await;
        assert!(ended.code == 0 && ended.out == "sent\n", "{prompt:?}: {ended:?}");
    }
}

#[tokio::test]
async fn help_and_version_print_what_their_flags_print() {
    let dir = tempfile::tempdir().unwrap();
    let same = [
        (&["help"][..], &["--help"][..]),
        (&["version"], &["--version"]),
        (&["help", "auth", "set"], &["auth", "set", "--help"]),
    ];
    for (words, flags) in same {
        let said = run(bare(dir.path()).args(words), None).await;
        let meant = run(bare(dir.path()).args(flags), None).await;
        assert!(said.code == 0 && !said.out.is_empty() && said.out == meant.out, "{words:?}: {said:?}");
    }
}
