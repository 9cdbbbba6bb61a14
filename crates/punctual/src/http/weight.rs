//! How much memory a JSON text takes once it is parsed.
//!
//! `{"":0},` is seven bytes on the way and seven hundred in memory. So a text is weighed before it is understood: its own length, and what the
//! values in it cost beside their texts.

/// The bytes of an object: one with a single field already has room for eleven.
const OBJECT_BYTES: usize = 640;
/// The bytes of a field or an item beside its text.
const VALUE_BYTES: usize = 128;
/// The parser refuses deeper nesting as soon as it meets it, so the text after it costs nothing.
const DEPTH_MAX: usize = 128;

/// About how many bytes `json` takes once it is parsed. Of a text that is no JSON it returns any number.
pub(super) fn weight(json: &[u8]) -> usize {
    let (mut n_objects, mut n_values, mut depth) = (0, 0, 0_usize);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' => (n_objects, depth) = (n_objects + 1, depth + 1),
            b'[' => (n_values, depth) = (n_values + 1, depth + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => n_values += 1,
            b'"' => {
                // Braces and commas within a string are no structure.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        if depth > DEPTH_MAX {
            break;
        }
    }
    json.len() + n_objects * (OBJECT_BYTES + VALUE_BYTES) + n_values * VALUE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_weigh_and_texts_do_not() {
        for (json, n_objects, n_values) in [
            ("", 0, 0),
            ("17", 0, 0),
            (r#""{[,\"{[,""#, 0, 0),
            (r#"{"a":1,"b":[2,3],"c{":"\\"}"#, 1, 4),
            (r#"[{"":0},{"":0}]"#, 2, 2),
            ("[],[],[]", 0, 5),
            (&"[".repeat(1000), 0, DEPTH_MAX + 1),
        ] {
            let expected = json.len() + n_objects * (OBJECT_BYTES + VALUE_BYTES) + n_values * VALUE_BYTES;
            assert_eq!(weight(json.as_bytes()), expected, "{json}");
        }
    }
}
