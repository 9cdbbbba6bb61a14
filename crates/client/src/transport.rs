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

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;
    use http::{HeaderValue, Method, StatusCode};

    use super::*;
    use crate::wire::{ReminderInput, StreamQuery, UserQuery};
    use crate::{Client, bearer};

    /// Answers as a server in the same process would, and checks what it is asked.
    struct Near;

    /// A body that comes in these pieces.
    struct Pieces(Vec<&'static str>);

    #[async_trait]
    impl Chunks for Pieces {
        async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
            Ok(if self.0.is_empty() { None } else { Some(self.0.remove(0).into()) })
        }
    }

    #[async_trait]
    impl Transport for Near {
        fn name(&self) -> &str {
            "this process"
        }

        async fn ask(&self, request: Request) -> Result<Response, Failure> {
            assert_eq!(request.headers()[AUTHORIZATION], "Bearer k");
            let uri = request.uri().to_string();
            let (status, body) = match (request.method(), uri.as_str()) {
                (&Method::POST, "/v1/reminders") => {
                    assert_eq!(request.body(), r#"{"text":"tea at 8"}"#);
                    let problem =
                        r#"{"type":"about:blank","title":"","status":422,"code":"c","detail":"no","field":"text"}"#;
                    (StatusCode::UNPROCESSABLE_ENTITY, Body::whole(problem))
                }
                (&Method::GET, "/v1/occurrences/a%2Fb-1?user=ann+b") => (StatusCode::OK, Body::whole("<html>")),
                (&Method::DELETE, "/v1/users/ann") => (StatusCode::NO_CONTENT, Body::whole("")),
                (&Method::GET, "/v1/stream?after=7") => {
                    let pieces = vec!["id: 8\nevent: reminder.sent\nda", "ta: {}\n\nid: 9\n", "\n"];
                    (StatusCode::OK, Body::coming(Pieces(pieces)))
                }
                other => panic!("{other:?}"),
            };
            let mut response = Response::new(body);
            *response.status_mut() = status;
            Ok(response)
        }
    }

    fn near() -> Client {
        Client::over(Near).with(AUTHORIZATION, bearer("k").expect("it is a key"))
    }

    /// The answer of work that waits for nothing.
    fn now<T>(work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        match work.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(done) => done,
            std::task::Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn a_server_in_the_same_process_is_asked_as_one_elsewhere() {
        let input = ReminderInput { text: Some("tea at 8".into()), ..ReminderInput::default() };
        let failure = now(near().create(&input)).unwrap_err();
        let refused = failure.refused().expect("it was refused");
        assert_eq!((refused.status.as_u16(), refused.field(), refused.to_string()), (422, Some("text"), "no".into()));
        assert!(!failure.is_passing());

        let failure = now(near().occurrence("a/b-1", &UserQuery::of(Some("ann b")))).unwrap_err();
        assert_eq!(failure.to_string(), "what answers at this process is not a punctual server");
        now(near().delete_user("ann")).unwrap();
    }

    #[test]
    fn a_stream_is_read_in_whatever_pieces_it_comes() {
        let mut stream = now(near().stream(&StreamQuery::default(), Some(7))).unwrap();
        let event = now(stream.next()).unwrap().expect("there is one");
        assert_eq!((event.name.as_str(), event.data.as_str(), stream.last_id()), ("reminder.sent", "{}", Some(8)));
        assert_eq!(now(stream.next()).unwrap(), None);
        assert_eq!(stream.last_id(), Some(9), "a position without an event counts");
    }

    #[test]
    fn a_key_is_in_no_debug_output() {
        let header: HeaderValue = bearer("secret").expect("it is a key");
        assert!(!format!("{header:?}").contains("secret"));
        assert_eq!(format!("{:?}", near()), "Client(\"this process\")");
        assert!(bearer("two\nlines").is_none());
    }
}
