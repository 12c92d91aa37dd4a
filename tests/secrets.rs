//! The number of secrets found, and of false positives: on generated lines, the same every time.
//! docs/secrets.md explains the figures.

mod innocent;
mod random;
mod secret;
mod shown;

use tau::agent::export::Redactor;

use random::Random;

/// The numbers of lines with and without secrets.
const TRUE: usize = 500;
const INNOCENT: usize = 5_000;

#[test]
fn recall_and_precision_are_what_the_document_says() {
    let mut random = Random::new(20_260_101);
    let mut missed = Vec::new();
    for n in 0..TRUE {
        let (text, secrets) = secret::line(&mut random, n);
        let masked = Redactor::new(&[]).text(&text);
        if secrets.iter().any(|secret| masked.contains(secret.as_str())) {
            missed.push(text);
        }
    }
    let mut wrong = Vec::new();
    for n in 0..INNOCENT {
        let text = innocent::line(&mut random, n);
        let masked = Redactor::new(&[]).text(&text);
        if masked != text {
            wrong.push(format!("{text} -> {masked}"));
        }
    }
    let found = TRUE - missed.len();
    let recall = found as f64 / TRUE as f64;
    let precision = found as f64 / (found + wrong.len()) as f64;
    println!("recall {:.1} %, precision {:.1} %", recall * 100.0, precision * 100.0);
    assert!(recall >= 0.97, "recall {recall}; missed:\n{}", missed.join("\n"));
    assert!(precision >= 0.99, "precision {precision}; wrong:\n{}", wrong.join("\n"));
}
