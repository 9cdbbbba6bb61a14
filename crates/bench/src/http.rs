//! The least of HTTP, so that the client costs less than what it measures.
//!
//! It speaks to our own server and receiver on this machine only: keep-alive, a length before every body, nothing else.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where a head ends.
const HEAD_END: &[u8] = b"\r\n\r\n";
/// The longest head that is read; ours are a tenth of it.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// One connection, one request after the other.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The body as text, or what went wrong.
    pub(super) fn text(self) -> anyhow::Result<String> {
        let body = String::from_utf8(self.body).context("the answer is no text")?;
        if !(200..300).contains(&self.status) {
            bail!("answered {}: {body}", self.status);
        }
        Ok(body)
    }
}

impl Connection {
    pub(super) async fn open(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await.with_context(|| format!("cannot connect to {to}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a whole request and reads the whole answer.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            if let Some(head) = Head::read(&self.buffer)? {
                break head;
            }
            self.more().await?;
        };
        let status = head.first_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("`{}` is no answer", head.first_line))?;
        let (body_at, end) = (head.length, head.length + head.body_length);
        while self.buffer.len() < end {
            self.more().await?;
        }
        Ok(Answer { status, body: self.buffer[body_at..end].to_vec() })
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the connection was closed");
        }
        Ok(())
    }
}

/// A whole request.
pub(super) fn request(method: &str, path: &str, key: Option<&str>, body: &[u8]) -> Vec<u8> {
    let bearer = key.map(|key| format!("Bearer {key}"));
    let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
    request_with(method, path, &headers, body)
}

/// A whole request with these headers.
pub(super) fn request_with(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut request = head.into_bytes();
    request.extend_from_slice(body);
    request
}

/// The beginning of a message.
pub(super) struct Head<'a> {
    pub(super) first_line: &'a str,
    headers: &'a str,
    /// How long it is, with the empty line.
    pub(super) length: usize,
    /// How long the body after it is.
    pub(super) body_length: usize,
}

impl<'a> Head<'a> {
    /// The head at the beginning of `bytes`, if it is complete.
    pub(super) fn read(bytes: &'a [u8]) -> anyhow::Result<Option<Self>> {
        let Some(end) = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END) else {
            anyhow::ensure!(bytes.len() < HEAD_BYTES_MAX, "the head is too long");
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).context("the head is no text")?;
        let (first_line, headers) = text.split_once("\r\n").unwrap_or((text, ""));
        let mut head = Self { first_line, headers, length: end + HEAD_END.len(), body_length: 0 };
        anyhow::ensure!(head.header("transfer-encoding").is_none(), "bodies without a length are not read here");
        if let Some(length) = head.header("content-length") {
            head.body_length = length.parse().context("the length is no number")?;
        }
        Ok(Some(head))
    }

    /// The value of the header of this name.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.split("\r\n").find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_when_it_is_complete() {
        let request = request("POST", "/v1/reminders", Some("k"), b"{}");
        let head = Head::read(&request).unwrap().unwrap();
        assert_eq!(head.first_line, "POST /v1/reminders HTTP/1.1");
        assert_eq!(head.header("Authorization"), Some("Bearer k"));
        assert_eq!((head.body_length, &request[head.length..]), (2, &b"{}"[..]));
        assert!(Head::read(&request[..20]).unwrap().is_none());
        assert!(Head::read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}
