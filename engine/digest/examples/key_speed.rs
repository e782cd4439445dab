//! Measures how fast keys of fingerprints are computed:
//! `cargo run --release -p dyno-digest --example key_speed`.

use dyno_digest::sql::fingerprint::Fingerprinter;
use dyno_digest::sql::language::Language;
use std::time::Instant;

/// 200 statements of at least `bytes` bytes that differ only in literals.
fn statements(what: &str, bytes: usize) -> Vec<String> {
    (0..200)
        .map(|n| match what {
            "plain" => {
                let mut text = format!("SELECT o.id, o.customer_id, c.Name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = {n}");
                while text.len() < bytes {
                    text.push_str(&format!(" AND o.created_at >= '2026-11-22 05:{:02}:00' AND c.status <> {}", n % 60, text.len()));
                }
                text
            }
            // Non-ASCII characters before backslashes.
            "utf8" => {
                let mut text = format!("SELECT `名前` FROM orders WHERE id = {n}");
                while text.len() < bytes {
                    text.push_str(&format!(" AND note <> '{n} 注文\\'状態\\\\ {}'", text.len()));
                }
                text
            }
            "in" => {
                let mut text = format!("SELECT id, customer_id FROM orders WHERE id IN ({n}");
                while text.len() < bytes {
                    text.push_str(&format!(", {}", text.len() * 7919 + n));
                }
                text + ")"
            }
            _ => {
                let mut text = "INSERT INTO orders (id, customer_id, note) VALUES ".to_owned();
                while text.len() < bytes {
                    text.push_str(&format!("({}, {n}, 'a note of some length, it''s {n}'), ", text.len()));
                }
                text + "(1, 2, 'x')"
            }
        })
        .collect()
}

fn main() {
    let mut fingerprinter = Fingerprinter::new(Language::Mysql);
    for (what, bytes) in [
        ("plain", 250),
        ("plain", 4096),
        ("in", 250),
        ("in", 4096),
        ("values", 250),
        ("values", 4096),
        ("utf8", 250),
        ("utf8", 4096),
    ] {
        let statements = statements(what, bytes);
        let total: usize = statements.iter().map(String::len).sum();
        let mut best = f64::MAX;
        let mut sum = 0;
        for _ in 0..200 {
            let begin = Instant::now();
            for statement in &statements {
                sum ^= fingerprinter.key(statement.as_bytes());
            }
            best = best.min(begin.elapsed().as_secs_f64());
        }
        println!("{what} {bytes}: {:.0} MB/s ({sum:x})", total as f64 / best / 1e6);
    }
}
