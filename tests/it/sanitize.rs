//! The gate between foreign text and the screen, over every byte and the known attacks.

use harness_tui::text::sanitize::{one_line, sanitize};
use harness_tui::text::width::swidth;

#[test]
fn every_byte_comes_out_as_something_a_terminal_only_prints() {
    for byte in 0..=u8::MAX {
        let text = format!("a{}b", char::from(byte));
        let clean = sanitize(&text);
        if byte == b'\n' || (b' '..=b'~').contains(&byte) || (byte >= 0xa0 && byte != 0xad) {
            assert_eq!(clean, text, "{byte:#x}");
        } else {
            assert_ne!(clean, text, "{byte:#x}");
            assert!(!clean.chars().any(char::is_control), "{byte:#x}");
            assert!(swidth(&clean) > 2, "{byte:#x} must leave a visible mark");
        }
    }
}

#[test]
fn no_known_attack_keeps_its_introducer() {
    let attacks = [
        "\x1b]52;c;aGk=\x07",
        "\x1b]0;T\x07",
        "\x1b[2J",
        "\x1b[6n",
        "\x1bc",
        "\x1b[?1049l",
        "\u{9b}31m",
        "\x1b]8;;http://x",
        "\x1bPq",
        "a\rb",
        "a\x08b",
        "\0",
        "\u{90}q\u{9c}",
    ];
    for attack in attacks {
        let shown = sanitize(attack);
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(!one_line(attack, 40).chars().any(char::is_control));
    }
}

#[test]
fn no_code_point_passes_that_hides_or_reorders_text() {
    let hidden = [
        '\u{ad}',
        '\u{61c}',
        '\u{180e}',
        '\u{200b}',
        '\u{200e}',
        '\u{200f}',
        '\u{2028}',
        '\u{2029}',
        '\u{202a}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{2069}',
        '\u{feff}',
        '\u{fff9}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{fe0f}',
        '\u{200d}',
        '\u{e0100}',
    ];
    for c in hidden {
        assert!(!sanitize(&format!("a{c}b")).contains(c), "U+{:04X}", c as u32);
    }
}
