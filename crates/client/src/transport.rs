//! How requests reach a server: over HTTP, or within the same process.

use async_trait::async_trait;
use bytes::Bytes;

use crate::failure::Failure;

/// A request. Its URI is the path with the query, such as `/v1/reminders?user=me`; its body is JSON, or empty.
pub type Request = http::Request<Bytes>;

/// An answer, of any status.
pub type Response = http::Response<Body>;

/// Something that answers requests. [`Http`](crate::Http) asks a server over the network; a program that has the server in its own process may
/// hand requests to it directly.
#[async_trait]
pub trait Transport: Send + Sync {
    /// What answers, for people: a URL, as a rule.
    fn name(&self) -> &str;

    /// Asks. An answer that refuses is an answer; a [`Failure`] is for where there is none, or where the transport can say better what is wrong.
    async fn ask(&self, request: Request) -> Result<Response, Failure>;
}

/// The body of an answer, whole or still coming.
pub struct Body(From);

enum From {
    Whole(Option<Bytes>),
    Coming(Box<dyn Chunks>),
}

/// A body that comes in pieces.
#[async_trait]
pub trait Chunks: Send {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure>;
}

impl Body {
    /// A body that is there.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(From::Whole(Some(bytes.into())))
    }

    /// A body that is still coming.
    pub fn coming(chunks: impl Chunks + 'static) -> Self {
        Self(From::Coming(Box::new(chunks)))
    }

    /// The next piece; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        match &mut self.0 {
            From::Whole(bytes) => Ok(bytes.take()),
            From::Coming(chunks) => chunks.next().await,
        }
    }

    /// All of it.
    pub async fn bytes(mut self) -> Result<Bytes, Failure> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = Vec::from(first);
        all.extend_from_slice(&second);
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.into())
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            From::Whole(_) => "Body(whole)",
            From::Coming(_) => "Body(coming)",
        })
    }
}
