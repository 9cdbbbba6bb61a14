//! What one message asks for, done.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::value::RawValue;

use super::journal::{Following, Subscriptions};
use super::methods::{self, Unwanted, Wanted, Wish};
use super::rpc::{self, INVALID_REQUEST, METHOD_NOT_FOUND, Refused};
use crate::http::App;
use crate::http::bodies::Part;
use crate::http::inside::{Call, Door, Inside};
use crate::http::problem::Problem;
use crate::http::weight::weight;

/// How many bytes a message may take once it is taken apart, beside its own.
const WEIGHT_MAX: usize = 8 * super::MESSAGE_BYTES_MAX;
/// When the answers of a batch have so many bytes, its other requests are not done.
const ANSWERS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// What a removal is answered.
const REMOVED: &str = r#"{"removed":true}"#;

/// What the calls of one connection share.
pub(super) struct Calls {
    pub(super) app: Arc<App>,
    pub(super) inside: Inside,
    /// The key.
    pub(super) headers: HeaderMap,
    pub(super) subscriptions: Subscriptions,
}

/// What a message led to.
#[derive(Default)]
pub(super) struct Done {
    /// The answer; none where only notifications came.
    pub(super) answer: Option<String>,
    /// Subscriptions that begin when the answer is sent.
    pub(super) begun: Vec<Following>,
    /// Whether a call was refused because the key does not work any more.
    pub(super) is_unauthorized: bool,
}

/// A request of a message.
struct Prepared {
    /// None: nobody is answered.
    id: Option<Box<RawValue>>,
    wanted: Result<Wanted, Refused>,
}

impl Calls {
    /// Does what a message asks for: a batch one request after the other.
    pub(super) async fn done(&self, message: Bytes, part: Part) -> Done {
        let mut done = Done::default();
        let (is_batch, mut prepared) = match prepared(&message) {
            Ok(prepared) => prepared,
            Err(refused) => {
                done.answer = Some(rpc::error(None, &refused));
                return done;
            }
        };
        drop(message);
        if !is_batch {
            // What is called takes a part of its own for the body.
            drop(part);
            if let Some(one) = prepared.pop() {
                done.answer = self.one(one, &mut done).await;
            }
            return done;
        }
        let (mut answers, mut bytes) = (Vec::new(), 0);
        for one in prepared {
            let one = if bytes > ANSWERS_BYTES_MAX { one.left_out() } else { one };
            if let Some(answer) = self.one(one, &mut done).await {
                bytes += answer.len();
                answers.push(answer);
            }
        }
        done.answer = (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")));
        done
    }

    /// Does one request; returns what its caller is answered.
    async fn one(&self, Prepared { id, wanted }: Prepared, done: &mut Done) -> Option<String> {
        let result = match wanted {
            Ok(Wanted::Call(wish)) => self.call(*wish, done).await,
            Ok(Wanted::Subscribe(path_and_query)) => {
                match self.subscriptions.begin(&self.app, &self.headers, &path_and_query).await {
                    Ok((following, answer)) => {
                        // A subscriber that wants no answer would not know the subscription's number, and gets the entries all the same.
                        done.begun.push(following);
                        Ok(answer)
                    }
                    Err(problem) => Err(refused(&problem, done)),
                }
            }
            Ok(Wanted::Unsubscribe(number)) => match self.subscriptions.end(&number) {
                Ok(()) => Ok(REMOVED.to_owned()),
                Err(problem) => Err(refused(&problem, done)),
            },
            Err(refused) => Err(refused),
        };
        let id = id?;
        Some(match result {
            Ok(result) => rpc::result(&id, &result),
            Err(refused) => rpc::error(Some(&id), &refused),
        })
    }

    async fn call(&self, wish: Wish, done: &mut Done) -> Result<String, Refused> {
        let (removes, mut headers) = (wish.removes(), self.headers.clone());
        if let Some(key) = wish.idempotency_key {
            headers.insert("idempotency-key", key);
        }
        if let Some(tag) = wish.if_match {
            headers.insert(header::IF_MATCH, tag);
        }
        let call = Call {
            door: Door::Ws,
            method: wish.verb,
            path_and_query: &wish.path_and_query,
            headers,
            body: wish.body,
            session: None,
        };
        let answered = self.inside.call(call).await;
        if !answered.status.is_success() {
            done.is_unauthorized |= answered.status == StatusCode::UNAUTHORIZED;
            return Err(Refused::of(&answered));
        }
        if removes {
            return Ok(REMOVED.to_owned());
        }
        let text = String::from_utf8(answered.body.into()).unwrap_or_default();
        Ok(if text.is_empty() { "null".to_owned() } else { text })
    }
}

impl Prepared {
    /// The same request, which is not done because the answers before it are large enough.
    fn left_out(self) -> Self {
        let message = "the answers before this one are large enough; it was not done, send it again";
        Self { wanted: Err(Refused::new(-32000, message)), ..self }
    }
}

fn refused(problem: &Problem, done: &mut Done) -> Refused {
    done.is_unauthorized |= problem.is_unauthorized();
    Refused::of_problem(problem)
}

/// Takes a message apart, so that nothing of it is needed any more; and whether it is a batch.
fn prepared(message: &[u8]) -> Result<(bool, Vec<Prepared>), Refused> {
    // Text frames are UTF-8; the library that reads them has checked it.
    let text = std::str::from_utf8(message).unwrap_or_default();
    if weight(message).json > WEIGHT_MAX {
        return Err(Refused::new(INVALID_REQUEST, "the message has too many values; send it in parts"));
    }
    Ok(match rpc::read(text)? {
        rpc::Message::One(raw) => (false, vec![prepare(raw)]),
        rpc::Message::Batch(requests) => (true, requests.into_iter().map(prepare).collect()),
    })
}

fn prepare(raw: &RawValue) -> Prepared {
    match rpc::request(raw) {
        Ok(request) => {
            let wanted = methods::wanted(&request.method, request.params).map_err(|unwanted| match unwanted {
                Unwanted::Method(message) => Refused::new(METHOD_NOT_FOUND, message),
                Unwanted::Params(problem) => Refused::of_problem(&problem),
            });
            Prepared { id: request.id.map(ToOwned::to_owned), wanted }
        }
        Err((id, refused)) => {
            // Also a request whose id cannot be read is answered.
            let id = id.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
            Prepared { id: Some(id), wanted: Err(refused) }
        }
    }
}
