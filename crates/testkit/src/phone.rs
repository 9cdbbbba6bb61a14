//! A channel that remembers what it was told to say.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use punctual_core::channel::{Bucket, Channel, Followed, Limits, Message, Notice, Receipt, SendError};
use punctual_core::invalid::Invalid;
use tokio::sync::Notify;

/// Records messages and answers as it is told; without being told, it takes everything. Clones are the same channel.
#[derive(Clone, Default)]
pub struct RecordingChannel {
    tape: Arc<Mutex<Tape>>,
    heard: Arc<Notify>,
}

#[derive(Default)]
struct Tape {
    messages: VecDeque<Message>,
    notices: VecDeque<Notice>,
    script: VecDeque<Answer>,
    followed: VecDeque<Result<Followed, SendError>>,
    always: Option<(Option<String>, SendError)>,
    limits: Limits,
    is_one_receiver: bool,
}

enum Answer {
    Say(Result<Receipt, SendError>),
    Hang,
    Wait(Arc<Notify>),
    Panic,
}

impl RecordingChannel {
    /// The next message that has no answer yet is answered so.
    pub fn then_answer(&self, answer: Result<Receipt, SendError>) -> &Self {
        self.lock().script.push_back(Answer::Say(answer));
        self
    }

    /// Every message that has no answer of its own is answered so.
    pub fn always_fail(&self, error: Option<SendError>) {
        self.lock().always = error.map(|error| (None, error));
    }

    /// Every message to `address` that has no answer of its own is answered so.
    pub fn always_fail_at(&self, address: &str, error: SendError) {
        self.lock().always = Some((Some(address.to_owned()), error));
    }

    /// The next time it is asked what became of a message, it says so.
    pub fn then_follow(&self, followed: Result<Followed, SendError>) -> &Self {
        self.lock().followed.push_back(followed);
        self
    }

    /// How much it takes, and that all its addresses are one receiver's.
    pub fn take_only(&self, limits: Limits) {
        let mut tape = self.lock();
        tape.limits = limits;
        tape.is_one_receiver = true;
    }

    /// The next message that has no answer yet is never answered.
    pub fn then_hang(&self) -> &Self {
        self.lock().script.push_back(Answer::Hang);
        self
    }

    /// The next message that has no answer yet is taken when the test says so.
    pub fn then_wait(&self) -> Arc<Notify> {
        let taken = Arc::new(Notify::new());
        self.lock().script.push_back(Answer::Wait(Arc::clone(&taken)));
        taken
    }

    /// The next message that has no answer yet makes the channel panic.
    pub fn then_panic(&self) -> &Self {
        self.lock().script.push_back(Answer::Panic);
        self
    }

    /// Takes the next message from the tape and asserts what it says.
    ///
    /// # Panics
    /// If there is none, or if it says something else.
    #[track_caller]
    pub fn expect(&self, text: &str) -> Message {
        match self.lock().messages.pop_front() {
            Some(message) if message.text == text => message,
            Some(message) => panic!("expected `{text}`, but `{}` came, at {}", message.text, message.sent_at),
            None => panic!("expected `{text}`, but nothing came"),
        }
    }

    /// Takes what the next message says from the tape.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn next_now(&self) -> String {
        self.lock().messages.pop_front().map(|message| message.text).expect("a message came")
    }

    /// Takes everything from the tape.
    pub fn all(&self) -> Vec<Message> {
        self.lock().messages.drain(..).collect()
    }

    /// Takes everything that it was told happened from the tape.
    pub fn notices(&self) -> Vec<Notice> {
        self.lock().notices.drain(..).collect()
    }

    /// Asserts that nothing more came.
    ///
    /// # Panics
    /// If something did.
    #[track_caller]
    pub fn expect_silence(&self) {
        if let Some(message) = self.lock().messages.front() {
            panic!("expected silence, but `{}` came, at {}", message.text, message.sent_at);
        }
    }

    /// Waits for the next message.
    pub async fn next(&self) -> Message {
        loop {
            let heard = self.heard.notified();
            if let Some(message) = self.lock().messages.pop_front() {
                return message;
            }
            heard.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tape {
    fn next_answer(&mut self, address: &str) -> Option<Answer> {
        let is_meant = |at: &Option<String>| at.as_ref().is_none_or(|at| at == address);
        let always = self.always.clone().filter(|(at, _)| is_meant(at));
        self.script.pop_front().or(always.map(|(_, error)| Answer::Say(Err(error))))
    }
}

async fn give(answer: Option<Answer>) -> Result<Receipt, SendError> {
    match answer {
        None => Ok(Receipt::default()),
        Some(Answer::Say(answer)) => answer,
        Some(Answer::Hang) => std::future::pending().await,
        Some(Answer::Wait(taken)) => {
            taken.notified().await;
            Ok(Receipt::default())
        }
        Some(Answer::Panic) => panic!("the channel was told to panic"),
    }
}

#[async_trait]
impl Channel for RecordingChannel {
    fn kind(&self) -> &'static str {
        "phone"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let answer = {
            let mut tape = self.lock();
            tape.messages.push_back(message.clone());
            tape.next_answer(&message.to.address)
        };
        self.heard.notify_one();
        give(answer).await
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        let answer = {
            let mut tape = self.lock();
            tape.notices.push_back(notice.clone());
            tape.next_answer(&notice.to.address)
        };
        give(answer).await
    }

    fn takes_notices(&self) -> bool {
        true
    }

    async fn follow(&self, _message_id: &str) -> Result<Followed, SendError> {
        self.lock().followed.pop_front().unwrap_or(Ok(Followed::Reached))
    }

    fn limits(&self) -> Limits {
        self.lock().limits
    }

    fn digest_max(&self) -> Option<usize> {
        Some(1_000)
    }

    /// `room@ann` and `room@bob` are the same room.
    fn bucket(&self, address: &str) -> Bucket {
        let name = address.split('@').next().unwrap_or_default().to_owned();
        Bucket { name, rate: self.lock().limits.address_rate }
    }

    fn receiver(&self, address: &str) -> String {
        if self.lock().is_one_receiver { "all".into() } else { address.to_owned() }
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        if address == "nowhere" { Err(Invalid::new("address", "leads nowhere")) } else { Ok(()) }
    }
}
