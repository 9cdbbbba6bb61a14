//! Parts of regular expressions as PostgreSQL reads them, for [`punctual_core::channel::AddressRule`].

use std::fmt::Write;

/// `text` and nothing else.
pub(crate) fn literal(text: &str) -> String {
    text.chars().fold(String::new(), |mut pattern, character| {
        if !character.is_ascii_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(character);
        pattern
    })
}

/// `text` in any case, as schemes and hosts are read.
pub(crate) fn any_case(text: &str) -> String {
    text.chars().fold(String::new(), |mut pattern, character| {
        if character.is_ascii_alphabetic() {
            pattern.extend(['[', character.to_ascii_lowercase(), character.to_ascii_uppercase(), ']']);
        } else {
            pattern.push_str(&literal(character.encode_utf8(&mut [0; 4])));
        }
        pattern
    })
}

/// The origin of a URL: its scheme, host and port, however it is written.
pub(crate) fn origin(url: &reqwest::Url) -> String {
    let host = any_case(url.host_str().unwrap_or_default());
    let port = match (url.port(), url.port_or_known_default()) {
        (Some(port), _) => format!(":{port}"),
        (None, Some(port)) => format!("(:{port})?"),
        (None, None) => String::new(),
    };
    format!("{}://{host}{port}", any_case(url.scheme()))
}

/// Whole numbers of as many digits as `limit`, without leading zeros, that are below it.
pub(crate) fn below(limit: &str) -> String {
    let mut ways = Vec::new();
    for (place, digit) in limit.bytes().enumerate() {
        let lowest = if place == 0 { b'1' } else { b'0' };
        if digit > lowest {
            let rest = limit.len() - place - 1;
            let range = format!("{}[{}-{}]", &limit[..place], char::from(lowest), char::from(digit - 1));
            ways.push(if rest == 0 { range } else { format!("{range}[0-9]{{{rest}}}") });
        }
    }
    format!("({})", ways.join("|"))
}

/// A character class, without its brackets, of the characters beyond ASCII of which `is_meant` is true.
pub(crate) fn beyond_ascii(is_meant: impl Fn(char) -> bool) -> String {
    let (mut ranges, mut began): (String, Option<u32>) = (String::new(), None);
    for code in 0x80..=0x0011_0000 {
        let is_in = char::from_u32(code).is_some_and(&is_meant);
        match (began, is_in) {
            (None, true) => began = Some(code),
            (Some(first), false) => {
                // Writing to a string cannot fail.
                let _ = write!(ranges, "\\U{first:08X}-\\U{:08X}", code - 1);
                began = None;
            }
            _ => {}
        }
    }
    ranges
}
