//! Headers that show words as they are.
//!
//! A mail program decodes every word of a header that looks encoded, such as `=?utf-8?b?SGk=?=`. Where a person's text holds one,
//! the whole text is encoded once more, so that it is shown as it was written.

use std::error::Error;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lettre::message::header::{self, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Mailboxes};

/// Every encoded word begins with this (RFC 2047).
const ENCODED: &str = "=?";
/// So many bytes of text fill a line with the longest name of these headers, `Reply-To`, before it.
const BYTES_MAX: usize = 36;

/// The subject of a mail.
#[derive(Clone)]
pub(super) struct Subject(pub(super) String);

impl Header for Subject {
    fn name() -> HeaderName {
        header::Subject::name()
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self(text.to_owned()))
    }

    fn display(&self) -> HeaderValue {
        match self.0.contains(ENCODED) {
            true => HeaderValue::dangerous_new_pre_encoded(Self::name(), self.0.clone(), encode(&self.0)),
            false => HeaderValue::new(Self::name(), self.0.clone()),
        }
    }
}

/// A person with a name, as the header `H` has one.
pub(super) struct Named<H> {
    who: Mailbox,
    header: PhantomData<H>,
}

impl<H> Named<H> {
    pub(super) fn new(who: &Mailbox) -> Self {
        Self { who: who.clone(), header: PhantomData }
    }
}

impl<H> Clone for Named<H> {
    fn clone(&self) -> Self {
        Self::new(&self.who)
    }
}

impl<H: Header + From<Mailboxes>> Header for Named<H> {
    fn name() -> HeaderName {
        H::name()
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self::new(&text.parse()?))
    }

    fn display(&self) -> HeaderValue {
        match &self.who.name {
            Some(name) if name.contains(ENCODED) => {
                let encoded = format!("{}\r\n <{}>", encode(name), self.who.email);
                HeaderValue::dangerous_new_pre_encoded(Self::name(), self.who.to_string(), encoded)
            }
            _ => H::from(Mailboxes::from(self.who.clone())).display(),
        }
    }
}

/// `text` as encoded words, one to a line.
fn encode(text: &str) -> String {
    let mut lines = vec![String::new()];
    for character in text.chars() {
        // A character is never divided between two words.
        if lines.last().is_some_and(|line| line.len() + character.len_utf8() > BYTES_MAX) {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is always one").push(character);
    }
    let words: Vec<_> = lines.iter().map(|line| format!("=?utf-8?b?{}?=", BASE64_STANDARD.encode(line))).collect();
    words.join("\r\n ")
}
