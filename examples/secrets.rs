//! Shows what would be masked in files, and how fast: `cargo run --release --example secrets -- FILE…`.
//! Without files it measures its own text: a megabyte without secrets, and hostile text.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures and prints")]

use std::time::Instant;

use tau::agent::export::Redactor;

fn main() -> std::io::Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        measure();
        return Ok(());
    }
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for line in text.lines() {
            let mut redactor = Redactor::new(&[]);
            let masked = redactor.text(line);
            if redactor.count() > 0 {
                println!("{file}: {} -> {}", line.trim(), masked.trim());
            }
        }
    }
    Ok(())
}

/// The best time for a megabyte of several runs.
fn measure() {
    let code =
        "    let key = self.keys.get(&token.name).map(|pass| pass.value()); // see the author's notes\n";
    let log = "2026-01-02T03:04:05Z INFO request id=7f3a9c21 path=/api/v1/items status=200 took=12ms\n";
    let base64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3\n";
    let kinds = [
        ("code", code),
        ("log", log),
        ("base64", base64),
        ("names in a row", "keytokenpasssecretauth"),
        ("assignments", "token=token="),
        ("keys that are none", "sk-sk-sk-ghp_"),
        ("quotes that stay open", "password=\"x"),
        ("addresses", "://a:b@://"),
        ("open keys", "-----BEGIN PRIVATE KEY-----\nMIIE"),
        ("ends of keys", "MIIEvQIBADANBgkqh\n-----END PRIVATE KEY-----x\n"),
        ("web tokens", "eyJ.eyJ."),
    ];
    for (name, piece) in kinds {
        let text = piece.repeat(1_048_576 / piece.len());
        let mut best = f64::MAX;
        let mut found = 0;
        for _ in 0..5 {
            let mut redactor = Redactor::new(&[]);
            let start = Instant::now();
            let masked = redactor.text(&text);
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            found = redactor.count();
            std::hint::black_box(masked);
        }
        println!("{name:24} {best:8.2} ms for 1 MB, {found} masked");
    }
}
