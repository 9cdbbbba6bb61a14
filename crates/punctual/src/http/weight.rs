//! How much memory a JSON text takes once it is parsed.
//!
//! `{"":0},` is seven bytes on the way and seven hundred in memory. So a text is weighed before it is understood: its own length, and what the
//! values in it cost beside their texts. The items of a batch become reminders, which weigh more.

/// The bytes of an object: one with a single field already has room for eleven.
const OBJECT_BYTES: usize = 640;
/// The bytes of a field or an item beside its text.
const VALUE_BYTES: usize = 128;
/// The parser refuses deeper nesting as soon as it meets it, so the text after it costs nothing.
const DEPTH_MAX: usize = 128;

/// The bytes of an item of a batch besides its texts, until it is answered: as a reminder, as the copy that is written, as the phrase that
/// was understood, and in the answer. Measured were five to ten kilobytes.
const ITEM_BYTES: usize = 8 * 1024;
/// How often a text of an item is there at once, at most: a sentence is the original text and, without its time, the message, each in the
/// reminder, in the copy that is written and in the answer; it is twice in what was understood of it; and buffers have room to grow.
/// Measured were twelve for a sentence and four for a message.
const COPIES: usize = 12;
/// In a batch an object at this depth is an item.
const ITEM_DEPTH: usize = 3;

/// About how many bytes a JSON text takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// As JSON.
    pub(super) json: usize,
    /// As a batch of reminders, until it is answered.
    pub(super) batch: usize,
}

/// Weighs `json`. Of a text that is no JSON it returns any numbers.
pub(super) fn weight(json: &[u8]) -> Weight {
    let (mut n_objects, mut n_items, mut n_values, mut depth) = (0, 0, 0, 0_usize);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' => {
                (n_objects, depth) = (n_objects + 1, depth + 1);
                n_items += usize::from(depth == ITEM_DEPTH);
            }
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
    let values = n_objects * (OBJECT_BYTES + VALUE_BYTES) + n_values * VALUE_BYTES;
    Weight { json: json.len() + values, batch: json.len() * COPIES + values + n_items * ITEM_BYTES }
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
            assert_eq!(weight(json.as_bytes()).json, expected, "{json}");
        }
    }

    #[test]
    fn a_batch_weighs_what_its_reminders_take() {
        let batch = |item: &str, n: usize| format!("{{\"reminders\":[{}]}}", vec![item; n].join(","));
        let weigh = |json: &str| weight(json.as_bytes()).batch;
        // A server was seen to grow by so many kilobytes for 10,000 of these.
        for (item, kilobytes) in [
            (r#"{"text":"every weekday at 7:30 stand up"}"#, 71_228),
            (r#"{"text":"workdays at 8, weekends at 10 take medicine"}"#, 98_648),
            (r#"{"message":"stand up","schedule":{"type":"weekly","time":"07:30","days":["weekdays"]}}"#, 59_872),
        ] {
            let weight = weigh(&batch(item, 10_000)) / 1024;
            assert!((kilobytes * 9 / 10..kilobytes * 2).contains(&weight), "{item}: {weight} and not {kilobytes}");
        }
        let long = format!("{{\"text\":\"tomorrow at 8 {}\"}}", "a".repeat(10_000));
        assert!(weigh(&batch(&long, 10)) > 10 * COPIES * 10_000);
        let list = r#"{"to":[],"metadata":{"a":[{},{}]}}"#;
        assert!(weigh(list) < ITEM_BYTES, "what is deeper is no item");
    }
}
