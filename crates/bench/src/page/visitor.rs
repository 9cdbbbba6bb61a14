//! Somebody who has signed in and asks for pages, over one kept connection as a browser has it.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use jiff::SignedDuration;
use punctual_engine::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::Head;

pub(super) struct Visitor {
    stream: TcpStream,
    /// `name=value`, as the server gave it.
    pub(super) cookie: String,
}

/// A page as it came.
pub(super) struct Visit {
    pub(super) status: u16,
    pub(super) first_byte: SignedDuration,
    pub(super) body: Vec<u8>,
    cookie: Option<String>,
}

impl Visitor {
    /// Signs in with a key, as the form does.
    pub(super) async fn sign_in(address: SocketAddr, key: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        let mut visitor = Self { stream, cookie: String::new() };
        // Our keys are letters, digits and underscores: they stand in a form as they are.
        let form = format!("key={key}");
        let head = "content-type: application/x-www-form-urlencoded\r\nsec-fetch-site: same-origin\r\n";
        let answer = visitor.ask("POST", "/sign-in", head, form.as_bytes()).await?;
        let Some(cookie) = answer.cookie else { bail!("signing in was answered {}: {}", answer.status, answer.text()) };
        visitor.cookie = cookie;
        Ok(visitor)
    }

    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Visit> {
        let head = format!("cookie: {}\r\nsec-fetch-site: same-origin\r\n", self.cookie);
        self.ask("GET", path, &head, b"").await
    }

    /// Asks for a page again, as the script of an open page does.
    pub(super) async fn look(&mut self, path: &str) -> anyhow::Result<Visit> {
        let head = format!("cookie: {}\r\nsec-fetch-site: same-origin\r\nx-part: 1\r\n", self.cookie);
        self.ask("GET", path, &head, b"").await
    }

    async fn ask(&mut self, method: &str, path: &str, head: &str, body: &[u8]) -> anyhow::Result<Visit> {
        let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{head}{length}\r\n").into_bytes();
        request.extend_from_slice(body);
        let mut buffer = Vec::with_capacity(64 * 1024);
        let begun_at = SystemClock::read();
        self.stream.write_all(&request).await?;
        let mut first_byte = None;
        loop {
            let n = self.stream.read_buf(&mut buffer).await?;
            anyhow::ensure!(n > 0, "the connection was closed on {path}");
            let first_byte = *first_byte.get_or_insert_with(|| SystemClock::read().duration_since(begun_at));
            let Some(head) = Head::read(&buffer)? else { continue };
            let (body_at, end) = (head.length, head.length + head.body_length);
            if buffer.len() < end {
                continue;
            }
            let status = head.first_line.split(' ').nth(1).and_then(|status| status.parse().ok());
            let status = status.with_context(|| format!("`{}` is no answer", head.first_line))?;
            let cookie = head.header("set-cookie").and_then(|set| set.split(';').next()).map(str::to_owned);
            return Ok(Visit { status, first_byte, body: buffer[body_at..end].to_vec(), cookie });
        }
    }
}

impl Visit {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Where its links lead, on this server.
    pub(super) fn links(&self) -> Vec<String> {
        self.linked("")
    }

    /// Where those of its links lead whose tag has `mark`, each once.
    pub(super) fn linked(&self, mark: &str) -> Vec<String> {
        targets(&self.text(), "<a", " href=\"", mark)
    }

    /// Its stylesheet and script.
    pub(super) fn assets(&self) -> Vec<String> {
        let text = self.text();
        let mut all = targets(&text, "<link", " href=\"", "rel=\"stylesheet\"");
        all.extend(targets(&text, "<script", " src=\"", ""));
        all
    }
}

/// The values of an attribute in tags that have `mark`, where they are paths of this server, each once.
fn targets(html: &str, tag: &str, attribute: &str, mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in html.split(tag).skip(1) {
        let tag = rest.split('>').next().unwrap_or(rest);
        let value = tag.split_once(attribute).and_then(|(_, rest)| rest.split('"').next());
        let Some(value) = value.filter(|value| value.starts_with('/') && tag.contains(mark)) else { continue };
        let value = value.replace("&amp;", "&");
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_from_a_page() {
        let html = r#"<link rel="stylesheet" href="/a.css"><link rel="icon" href="data:x"><a href="/b?x=1&amp;y=2" data-go="b">
            <a class="c" href="/d"><a href="https://elsewhere.example/"><script type="module" src="/e.js"></script>"#;
        assert_eq!(targets(html, "<a", " href=\"", ""), ["/b?x=1&y=2", "/d"]);
        assert_eq!(targets(html, "<a", " href=\"", "data-go="), ["/b?x=1&y=2"]);
        let visit = Visit { status: 200, first_byte: SignedDuration::ZERO, body: html.into(), cookie: None };
        assert_eq!(visit.assets(), ["/a.css", "/e.js"]);
    }
}
