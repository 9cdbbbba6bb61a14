//! A push service on the loopback, and the browsers that it reaches.
//!
//! It takes what RFC 8030 says that it must, looks at who sends as RFC 8292 says, and opens each message as the browser does (RFC 8291).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey};
use ring::{aead, hkdf};
use serde_json::Value;

use super::{Local, second};

/// The most that a push service takes.
const BODY_BYTES_MAX: usize = 4096;
/// The longest that a proof may be good for, in seconds.
const PROOF_MAX: i64 = 86_400;

/// A running push service.
pub struct PushService {
    local: Local,
    books: Arc<Mutex<Books>>,
}

/// A browser that has subscribed.
#[derive(Debug, Clone)]
pub struct Browser {
    /// Its number at the push service.
    pub number: usize,
    /// Its address for the channel `webpush`.
    pub address: String,
}

/// A push that a browser got.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushed {
    /// What the service worker reads.
    pub payload: Value,
    /// The header `topic`.
    pub topic: String,
    /// The header `urgency`.
    pub urgency: String,
}

#[derive(Default)]
struct Books {
    origin: String,
    subscriptions: Vec<Subscription>,
    refused: Vec<String>,
}

struct Subscription {
    secret: [u8; 32],
    auth: [u8; 16],
    /// The key of the server for which it subscribed.
    server: String,
    is_open: bool,
    pushed: Vec<Pushed>,
}

impl PushService {
    /// Starts it.
    pub fn start() -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        let router = Router::new().route("/push/{number}", post(push)).with_state(Arc::clone(&books));
        let local = Local::http(router);
        lock(&books).origin = format!("http://127.0.0.1:{}", local.port);
        Self { local, books }
    }

    /// A browser subscribes for the server that has this public key.
    pub fn subscribe(&self, server: &str) -> Browser {
        let mut books = lock(&self.books);
        let number = books.subscriptions.len();
        let (secret, auth) = ([u8::try_from(number % 200).unwrap_or_default() + 1; 32], [9; 16]);
        let key = SecretKey::from_slice(&secret).expect("a small number is a key").public_key();
        let p256dh = BASE64_URL_SAFE_NO_PAD.encode(key.to_sec1_point(false).as_bytes());
        let endpoint = format!("http://127.0.0.1:{}/push/{number}", self.local.port);
        let address = format!("{endpoint}#p256dh={p256dh}&auth={}", BASE64_URL_SAFE_NO_PAD.encode(auth));
        let subscription = Subscription { secret, auth, server: server.to_owned(), is_open: true, pushed: Vec::new() };
        books.subscriptions.push(subscription);
        Browser { number, address }
    }

    /// A browser ends its subscription.
    pub fn unsubscribe(&self, browser: &Browser) {
        lock(&self.books).subscriptions[browser.number].is_open = false;
    }

    /// Everything that a browser got.
    pub fn pushed(&self, browser: &Browser) -> Vec<Pushed> {
        lock(&self.books).subscriptions[browser.number].pushed.clone()
    }

    /// Why pushes were refused.
    pub fn refused(&self) -> Vec<String> {
        lock(&self.books).refused.clone()
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn push(
    State(books): State<Arc<Mutex<Books>>>,
    Path(number): Path<usize>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let mut books = lock(&books);
    let origin = books.origin.clone();
    let Some(subscription) = books.subscriptions.get_mut(number) else {
        return (StatusCode::NOT_FOUND, "no such subscription".into());
    };
    if !subscription.is_open {
        return (StatusCode::GONE, "the subscription has ended".into());
    }
    match taken(subscription, &origin, &headers, &body) {
        Ok(pushed) => {
            subscription.pushed.push(pushed);
            (StatusCode::CREATED, String::new())
        }
        Err((status, why)) => {
            books.refused.push(why.clone());
            (status, why)
        }
    }
}

/// What the browser gets of a request, or why it is refused.
fn taken(
    subscription: &Subscription,
    origin: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Pushed, (StatusCode, String)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let bad = |why: &str| (StatusCode::BAD_REQUEST, why.to_owned());
    header("ttl").parse::<u32>().map_err(|_| bad("no TTL"))?;
    if header("content-encoding") != "aes128gcm" {
        return Err(bad("the content encoding is not aes128gcm"));
    }
    let (urgency, topic) = (header("urgency"), header("topic"));
    if !["very-low", "low", "normal", "high"].contains(&urgency.as_str()) {
        return Err(bad("no such urgency"));
    }
    if topic.is_empty() || topic.len() > 32 || BASE64_URL_SAFE_NO_PAD.decode(&topic).is_err() {
        return Err(bad("the topic is not up to 32 characters of base64url"));
    }
    if body.len() > BODY_BYTES_MAX {
        return Err((StatusCode::PAYLOAD_TOO_LARGE, "too large".into()));
    }
    verify(&header("authorization"), &subscription.server, origin).map_err(|why| (StatusCode::FORBIDDEN, why))?;
    let payload = opened(body, &subscription.secret, &subscription.auth).map_err(|why| bad(&why))?;
    Ok(Pushed { payload, topic, urgency })
}

/// Whether `authorization` proves that the server with this public key sends to `origin`.
fn verify(authorization: &str, server: &str, origin: &str) -> Result<(), String> {
    let parts = authorization.strip_prefix("vapid t=").and_then(|rest| rest.split_once(", k="));
    let (token, key) = parts.ok_or("no VAPID")?;
    if key != server {
        return Err("the key is not the one that the browser subscribed with".into());
    }
    let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| "no base64url".to_owned());
    let (said, signature) = token.rsplit_once('.').ok_or("no JWT")?;
    let signature = Signature::from_slice(&bytes(signature)?).map_err(|_| "no signature")?;
    let key = VerifyingKey::from_sec1_bytes(&bytes(key)?).map_err(|_| "no key")?;
    key.verify(said.as_bytes(), &signature).map_err(|_| "the signature is forged")?;
    let (_, claims) = said.split_once('.').ok_or("no claims")?;
    let claims: Value = serde_json::from_slice(&bytes(claims)?).map_err(|_| "the claims are no JSON")?;
    let left = claims["exp"].as_i64().unwrap_or_default() - second();
    match claims["aud"] == origin && (1..=PROOF_MAX).contains(&left) {
        true => Ok(()),
        false => Err(format!("the claims are wrong: {claims}")),
    }
}

/// What a browser reads in the body of a push, step by step after RFC 8188 and RFC 8291.
pub fn opened(body: &[u8], secret: &[u8], auth: &[u8]) -> Result<Value, String> {
    let (salt, rest) = body.split_at_checked(16).ok_or("no salt")?;
    let (record, rest) = rest.split_at_checked(4).ok_or("no size of a record")?;
    if record != 4096_u32.to_be_bytes() || rest.first() != Some(&65) {
        return Err("no record of 4096 bytes, or no key of 65".into());
    }
    let (theirs, sealed) = rest[1..].split_at_checked(65).ok_or("no key")?;
    let own = SecretKey::from_slice(secret).map_err(|_| "no secret")?;
    let public = own.public_key().to_sec1_point(false);
    let agreed = own.diffie_hellman(&PublicKey::from_sec1_bytes(theirs).map_err(|_| "no point")?);
    let info = [&b"WebPush: info\0"[..], public.as_bytes(), theirs].concat();
    let keying = derive(auth, agreed.raw_secret_bytes(), &info, 32);
    let key = derive(salt, &keying, b"Content-Encoding: aes128gcm\0", 16);
    let nonce = derive(salt, &keying, b"Content-Encoding: nonce\0", 12);
    let key = aead::UnboundKey::new(&aead::AES_128_GCM, &key).map_err(|_| "no key of the cipher")?;
    let nonce = aead::Nonce::try_assume_unique_for_key(&nonce).map_err(|_| "no nonce")?;
    let mut sealed = sealed.to_vec();
    let plain = aead::LessSafeKey::new(key).open_in_place(nonce, aead::Aad::empty(), &mut sealed);
    match plain.map_err(|_| "it cannot be decrypted")?.split_last() {
        Some((2, plain)) => serde_json::from_slice(plain).map_err(|error| error.to_string()),
        _ => Err("it is not the last record".into()),
    }
}

fn derive(salt: &[u8], keying: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(keying);
    let (mut out, info) = (vec![0; length], [info]);
    let expanded = extracted.expand(&info, Length(length)).and_then(|expanded| expanded.fill(&mut out));
    expanded.expect("a few bytes can always be derived");
    out
}
