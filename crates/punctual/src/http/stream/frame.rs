//! Entries as server-sent events.

use std::ops::Range;

use axum::body::Bytes;
use punctual_core::journal::{Kind, Placed};
use punctual_engine::journal::Page;
use serde::Serialize;
use serde_json::Value;

use crate::http::shown;
use crate::wire::StreamEnd;

/// A page of the journal, written once for all streams.
pub(in crate::http) struct Frames {
    all: Bytes,
    /// Where the frame of each entry ends.
    ends: Vec<usize>,
    /// Where the JSON of each entry is.
    jsons: Vec<Range<usize>>,
    /// The ids of the keys that were deleted.
    pub(super) keys_deleted: Vec<String>,
    /// The ids of the keys that got another secret.
    pub(super) keys_rotated: Vec<String>,
}

impl Frames {
    pub(super) fn of(page: &Page) -> Self {
        let mut all = Vec::with_capacity(400 * page.entries.len());
        let (mut ends, mut jsons) = (Vec::with_capacity(page.entries.len()), Vec::with_capacity(page.entries.len()));
        for entry in &page.entries {
            jsons.push(write_event(&mut all, Some(entry.position), &entry.kind, &shown::entry(entry)));
            ends.push(all.len());
        }
        let keys = |kind: Kind| page.entries.iter().filter_map(|entry| key_of(entry, kind)).collect();
        let (keys_deleted, keys_rotated) = (keys(Kind::KeyDeleted), keys(Kind::KeyRotated));
        Self { all: all.into(), ends, jsons, keys_deleted, keys_rotated }
    }

    /// The JSON of the entry with this index.
    pub(in crate::http) fn json(&self, index: usize) -> &[u8] {
        &self.all[self.jsons[index].clone()]
    }

    /// The frames of those entries of `page`, whose frames these are, that are wanted. Nothing is copied where they stand beside each other.
    pub(super) fn wanted(&self, page: &Page, wants: impl Fn(&Placed) -> bool) -> Bytes {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (index, entry) in page.entries.iter().enumerate() {
            if !wants(entry) {
                continue;
            }
            let from = if index == 0 { 0 } else { self.ends[index - 1] };
            match runs.last_mut() {
                Some((_, to)) if *to == from => *to = self.ends[index],
                _ => runs.push((from, self.ends[index])),
            }
        }
        match &runs[..] {
            [] => Bytes::new(),
            [(from, to)] => self.all.slice(*from..*to),
            runs => runs.iter().flat_map(|(from, to)| &self.all[*from..*to]).copied().collect::<Vec<u8>>().into(),
        }
    }
}

/// The beginning: how soon to come again, and from where.
pub(super) fn opening(seen: i64) -> Bytes {
    format!("retry: 1000\nid: {seen}\n\n").into()
}

/// A sign of life. No event is dispatched for it; a reader remembers the position.
pub(super) fn alive(seen: i64) -> Bytes {
    format!("id: {seen}\n\n").into()
}

/// An event with a position of the journal.
pub(super) fn event(seen: i64, name: &str, data: &impl Serialize) -> Bytes {
    let mut frame = Vec::new();
    write_event(&mut frame, Some(seen), name, data);
    frame.into()
}

/// The end, with its reason.
pub(super) fn end(end: &StreamEnd) -> Bytes {
    let mut frame = Vec::new();
    write_event(&mut frame, None, "end", end);
    frame.into()
}

/// Writes an event; returns where its JSON is.
fn write_event(out: &mut Vec<u8>, id: Option<i64>, event: &str, data: &impl Serialize) -> Range<usize> {
    let json = serde_json::to_string(data).expect("what is shown always becomes JSON");
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // A stored kind or JSON with a line break in it must not begin a field of its own. In JSON it is one that means nothing: within a text
    // it is written otherwise.
    let on_one_line = |text: &str| text.replace(['\r', '\n'], " ");
    out.extend_from_slice(format!("event: {}\ndata: ", on_one_line(event)).as_bytes());
    let begin = out.len();
    out.extend_from_slice(on_one_line(&json).as_bytes());
    let end = out.len();
    out.extend_from_slice(b"\n\n");
    begin..end
}

/// The id of the key that an entry of this kind is about.
fn key_of(entry: &Placed, kind: Kind) -> Option<String> {
    if entry.kind != kind.as_str() {
        return None;
    }
    let data: Value = serde_json::from_str(entry.data.as_deref()?).ok()?;
    data["id"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn entry(position: i64, kind: &str, data: Option<&str>) -> Placed {
        Placed {
            position,
            at: Timestamp::UNIX_EPOCH,
            kind: kind.to_owned(),
            actor: "engine".to_owned(),
            via: None,
            node: None,
            user: Some(format!("user{}", position % 2)),
            reminder: None,
            run: None,
            data: data.map(str::to_owned),
        }
    }

    fn text(bytes: &Bytes) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn an_entry_is_one_event_with_its_position_as_id() {
        let page = Page { entries: vec![entry(812, "reminder.sent", Some(r#"{"attempt":1}"#))], reached: 812 };
        let frame = text(&Frames::of(&page).wanted(&page, |_| true));
        let data = r#"{"id":812,"at":"1970-01-01T00:00:00Z","kind":"reminder.sent","user":"user0","reminder_id":null,"occurrence_id":null,"actor":"engine","via":null,"node":null,"data":{"attempt":1}}"#;
        assert_eq!(frame, format!("id: 812\nevent: reminder.sent\ndata: {data}\n\n"));
    }

    #[test]
    fn stored_texts_cannot_forge_an_event() {
        let forged = entry(1, "a\nid: 9\n\nevent: b", Some("{\"a\":\n\r\n1}"));
        let page = Page { entries: vec![forged], reached: 1 };
        let frame = text(&Frames::of(&page).wanted(&page, |_| true));
        let lines: Vec<&str> = frame.trim_end().lines().collect();
        assert!(lines.iter().skip(2).all(|line| line.starts_with("data: ")), "{frame}");
        assert!(lines[0] == "id: 1" && lines[1].starts_with("event: a id: 9"), "{frame}");
        assert_eq!(frame.matches("\n\n").count(), 1, "{frame}");
        let data: String = lines[2..].iter().map(|line| &line[6..]).collect::<Vec<_>>().join("\n");
        assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["data"]["a"], 1);
    }

    #[test]
    fn a_stream_gets_what_it_wants() {
        let entries = (1..=6).map(|position| entry(position, "reminder.sent", None)).collect();
        let page = Page { entries, reached: 6 };
        let frames = Frames::of(&page);
        let ids = |wants: fn(&Placed) -> bool| {
            let frames = text(&frames.wanted(&page, wants));
            frames.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect::<Vec<i64>>()
        };
        assert_eq!(ids(|_| true), [1, 2, 3, 4, 5, 6]);
        assert_eq!(ids(|_| false), [0_i64; 0]);
        assert_eq!(ids(|entry| entry.user.as_deref() == Some("user1")), [1, 3, 5]);
        assert_eq!(ids(|entry| entry.position > 2 && entry.position < 5), [3, 4]);
    }

    #[test]
    fn a_deleted_or_rotated_key_is_noticed() {
        let entries = vec![
            entry(1, "key.deleted", Some(r#"{"key":"admin","id":"key_1","name":"x"}"#)),
            entry(2, "key.created", Some(r#"{"id":"key_2"}"#)),
            entry(3, "key.deleted", Some("broken")),
            entry(4, "key.rotated", Some(r#"{"id":"key_3"}"#)),
        ];
        let Frames { keys_deleted, keys_rotated, .. } = Frames::of(&Page { entries, reached: 4 });
        assert_eq!((&keys_deleted[..], &keys_rotated[..]), (&["key_1".to_owned()][..], &["key_3".to_owned()][..]));
    }
}
