//! What it means when a request ends without an answer.

use std::time::Duration;

use punctual_core::channel::SendError;

use super::redirect::NotFollowed;
use crate::common::failure::{self, find};
use crate::common::guard::PrivateAddress;

/// Names `error` by what to do next: what a receiver of webhooks may do and a platform does not, and else what all do.
pub(super) fn name(error: &reqwest::Error, receiver: &str, timeout: Duration) -> SendError {
    if let Some(not_followed) = find::<NotFollowed>(error) {
        return match not_followed {
            NotFollowed::Private(_) => SendError::Refused(not_followed.to_string()),
            _ => SendError::Unavailable(not_followed.to_string()),
        };
    }
    if find::<PrivateAddress>(error).is_some() {
        return failure::name(error, receiver, timeout);
    }
    // Our own address was read before, so what is left is a redirect to something unreadable.
    if error.is_builder() || error.is_redirect() {
        return SendError::Unavailable(format!("{receiver} redirected to no valid URL"));
    }
    failure::name(error, receiver, timeout)
}
