//! Tests output in chunks with a known key in an encoded form: random keys, forms, widths, line beginnings and chunks.

use super::Masking;
use crate::secrets::vault::Vault;
use tau_protocol::message::BashExecution;
use tau_tools::{Content, Details, ToolOutput};

/// The number of outputs.
const RUNS: usize = 3_000;
/// The number of symbols of a form in a row that count as shown. Two can be on the screen before they are held back.
const SHOWN: usize = 6;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end.max(1)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A form of a key: its text, and the symbols in it that only the key decides.
fn form(random: &mut Random, key: &str) -> (String, String) {
    let bytes = key.as_bytes();
    let hex =
        |between: &str| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between);
    match random.below(6) {
        0 | 1 => {
            let symbols: Vec<char> =
                ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
            let before = random.below(3);
            let all: Vec<u8> = [&b"u:k"[..before], bytes].concat();
            let bits: Vec<u8> =
                all.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
            let symbol = |bits: &[u8]| {
                let value = (0..6).fold(0, |sum, at| sum << 1 | bits.get(at).copied().unwrap_or_default());
                symbols[usize::from(value)]
            };
            let text: String = bits.chunks(6).map(symbol).collect();
            let core = text.get((before * 8).div_ceil(6)..all.len() * 8 / 6).unwrap().to_owned();
            (text, core)
        }
        2 => (hex(""), hex("")),
        3 => (hex(" "), hex("")),
        4 => (bytes.iter().map(|byte| format!("%{byte:02X}")).collect(), hex("").to_uppercase()),
        _ => {
            let back: String = key.chars().rev().collect();
            (back.clone(), back)
        }
    }
}

/// The symbols of an output, without what is before its lines and between them.
fn symbols(shown: &str, prefix: &str) -> String {
    let bare = |line: &str| {
        let number = |at: usize| prefix.replace('@', &at.to_string());
        let cut = (9..300).find_map(|at| line.strip_prefix(&number(at)).map(str::to_owned));
        cut.unwrap_or_else(|| line.to_owned())
    };
    shown.split('\n').map(bare).collect::<String>().replace([' ', '%'], "")
}

fn find_leak(shown: &str, prefix: &str, core: &str) -> Option<String> {
    let symbols = symbols(shown, prefix);
    let core: Vec<char> = core.chars().collect();
    let windows = core.windows(SHOWN).map(|window| window.iter().collect::<String>());
    windows.into_iter().find(|window| symbols.contains(window.as_str()))
}

#[test]
fn no_chunk_of_output_shows_an_encoded_key() {
    let mut random = Random(7);
    let letters: Vec<char> = ('!'..='~').filter(|c| !"\\%'\"".contains(*c)).collect();
    for run in 0..RUNS {
        let length = 8 + random.below(50);
        let key: String = (0..length).map(|_| random.pick(&letters)).collect();
        let (text, core) = form(&mut random, &key);
        // A reversed key in lines is another text.
        let is_whole = core == text && text.chars().rev().eq(key.chars());
        let width = if is_whole { 1_000 } else { random.pick(&[3, 8, 20, 60, 76, 1_000]) };
        let prefix = random.pick(&["", "> ", "+", "  @  ", "     @\t", "@:", "a/b.txt:@:", "@ | "]);
        let chars: Vec<char> = text.chars().collect();
        let line = |(at, line): (usize, &[char])| {
            prefix.replace('@', &(at + 9).to_string()) + &line.iter().collect::<String>()
        };
        let lines: Vec<String> = chars.chunks(width).enumerate().map(line).collect();
        let whole = format!("start\n{}\nend\n", lines.join("\n"));
        let mut masking = Masking::new(Vault::new(true, std::slice::from_ref(&key)));
        let id = Some("1".to_owned());
        let (mut out, mut rest) = (String::new(), whole.as_str());
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(1 + random.below(rest.len().min(40)));
            rest = behind;
            out.push_str(&masking.command_output(&id, chunk.to_owned()));
            let case = || format!("run {run}: {key} as {core}, after {chunk:?} of\n{whole}\nshown\n{out}");
            assert_eq!(find_leak(&out, prefix, &core), None, "{}", case());
            let text = whole.get(..whole.len() - rest.len()).unwrap();
            let mut partial = ToolOutput::new(text.to_owned(), Details::None);
            masking.partial_answer(&mut partial);
            let [Content::Text { text: shown }] = partial.content.as_slice() else { unreachable!() };
            assert_eq!(find_leak(shown, prefix, &core), None, "a partial answer {shown:?} in {}", case());
        }
        let message = BashExecution { output: whole.clone(), exit_code: Some(0), ..BashExecution::default() };
        let mut ended = message;
        out.push_str(&masking.finish_command(&id, &mut ended));
        for shown in [&out, &ended.output] {
            assert_eq!(find_leak(shown, prefix, &core), None, "run {run}: {whole}\nshown\n{shown}");
            assert!(shown.ends_with("end\n") && shown.contains("[secret 1-"), "run {run}: {whole}\n{shown}");
        }
    }
}
