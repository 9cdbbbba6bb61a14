//! A second opinion on what a person wrote, for what the words left open.

use async_trait::async_trait;

use crate::phrase::Answer;

/// A model or another program that can say what a reply to a question means.
#[async_trait]
pub trait Opinion: Send + Sync {
    /// The answer that `reply` is to `prompt`; none if it is no answer, or the opinion does not come in time. It is told nothing else: no
    /// name, no id and no message.
    async fn opinion(&self, prompt: &str, reply: &str) -> Option<Answer>;
}
