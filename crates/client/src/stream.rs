//! Reading server-sent events.

use crate::call::Client;
use crate::failure::Failure;
use crate::transport::Body;
use crate::wire::StreamQuery;

/// The longest event that is read. Entries are much shorter.
const EVENT_BYTES_MAX: usize = 1024 * 1024;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// What it is: the kind of the entry that it carries, or `end`.
    pub name: String,
    /// JSON: an [`Entry`](crate::wire::Entry), or of `end` a [`StreamEnd`](crate::wire::StreamEnd).
    pub data: String,
}

/// An open stream.
pub struct Stream {
    body: Body,
    reader: Reader,
}

impl Client {
    /// Streams the journal, after the position `last_id` if there is one.
    pub async fn stream(&self, query: &StreamQuery, last_id: Option<i64>) -> Result<Stream, Failure> {
        let query = StreamQuery { after: last_id.or(query.after), ..query.clone() };
        let body = self.open("/v1/stream", &query).await?;
        Ok(Stream { body, reader: Reader::default() })
    }
}

impl Stream {
    /// The position of the last event.
    pub fn last_id(&self) -> Option<i64> {
        self.reader.last_id
    }

    /// The next event; `None`: the server has ended the stream.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, Failure> {
        loop {
            if let Some(event) = self.reader.take() {
                return Ok(Some(event));
            }
            match self.body.chunk().await? {
                None => return Ok(None),
                Some(chunk) => self.reader.read(&chunk),
            }
        }
    }
}

/// Takes events out of the bytes of a stream.
#[derive(Debug, Default)]
struct Reader {
    /// Bytes that are no whole line yet.
    rest: Vec<u8>,
    name: String,
    data: Option<String>,
    id: Option<i64>,
    /// The id of the last event that was taken, or that only had an id.
    last_id: Option<i64>,
    events: std::collections::VecDeque<(StreamEvent, Option<i64>)>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => self.line(&String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))),
                // Events of this server are never so long.
                None if line.len() <= EVENT_BYTES_MAX => self.rest = line.to_owned(),
                None => {}
            }
        }
    }

    fn line(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let name = std::mem::take(&mut self.name);
                match self.data.take() {
                    Some(data) => self.events.push_back((StreamEvent { name, data }, self.id)),
                    None if self.events.is_empty() => self.last_id = self.id.or(self.last_id),
                    None => {}
                }
            }
            "id" => self.id = value.parse().ok().or(self.id),
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => {}
        }
    }

    fn take(&mut self) -> Option<StreamEvent> {
        let (event, id) = self.events.pop_front()?;
        self.last_id = id.or(self.last_id);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_wherever_the_network_cuts_them() {
        let stream = "retry: 1000\nid: 5\n\nid: 6\nevent: reminder.sent\ndata: {\"a\":\ndata: 1}\n\n: a comment\nid: 9\n\nevent: end\r\ndata: {}\r\n\r\n";
        for size in 1..stream.len() {
            let mut reader = Reader::default();
            let mut read = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                reader.read(chunk);
                while let Some(StreamEvent { name, data }) = reader.take() {
                    read.push((name, data, reader.last_id));
                }
            }
            let expect = [("reminder.sent", "{\"a\":\n1}", Some(6)), ("end", "{}", Some(9))];
            assert_eq!(read, expect.map(|(name, data, id)| (name.to_owned(), data.to_owned(), id)), "{size}");
        }
    }

    #[test]
    fn a_position_without_an_event_is_remembered() {
        let mut reader = Reader::default();
        reader.read(b"id: 7\n\n");
        assert_eq!((reader.take(), reader.last_id), (None, Some(7)));
    }
}
