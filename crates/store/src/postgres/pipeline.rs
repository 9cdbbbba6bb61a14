//! Several statements, sent together.
//!
//! The futures are polled in order, and each sends its statement when it is first polled, so the server runs them in that
//! order and all of them cost one round trip. What `try_join` would do is not enough: when a statement fails, those behind it
//! fail as well, only because it did, and their answers may be seen first. Here all answers are waited for, and the first
//! failure in the order of the statements is the one that is told.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use futures_util::future::maybe_done;

use super::fault::Fault;

macro_rules! pipelines {
    ($($(#[$doc:meta])* $name:ident($($future:ident: $kind:ident -> $value:ident),+);)+) => {$(
        $(#[$doc])*
        pub(super) async fn $name<$($value, $kind),+>($($future: $kind),+) -> Result<($($value,)+), Fault>
        where
            $($kind: Future<Output = Result<$value, Fault>>),+
        {
            $(let mut $future = pin!(maybe_done($future));)+
            poll_fn(|context| {
                let mut is_done = true;
                $(is_done &= $future.as_mut().poll(context).is_ready();)+
                if is_done { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            $(
                if let Some(Err(_)) = $future.as_mut().output_mut()
                    && let Some(Err(fault)) = $future.as_mut().take_output()
                {
                    return Err(fault);
                }
            )+
            Ok(($(match $future.as_mut().take_output() {
                Some(Ok(value)) => value,
                // None is left when none has failed.
                _ => return Err(Fault::Lost("a statement was not sent".into())),
            },)+))
        }
    )+};
}

pipelines! {
    /// Two of them.
    both(a: A -> Ra, b: B -> Rb);
    /// Three of them.
    all3(a: A -> Ra, b: B -> Rb, c: C -> Rc);
    /// Four of them.
    all4(a: A -> Ra, b: B -> Rb, c: C -> Rc, d: D -> Rd);
    /// Five of them.
    all5(a: A -> Ra, b: B -> Rb, c: C -> Rc, d: D -> Rd, e: E -> Re);
    /// Six of them.
    all6(a: A -> Ra, b: B -> Rb, c: C -> Rc, d: D -> Rd, e: E -> Re, f: G -> Rf);
}

/// A statement that is sent when it is first polled.
pub(super) type Statement<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + 'a>>;

/// Any number of them.
pub(super) async fn all(statements: Vec<Statement<'_>>) -> Result<(), Fault> {
    let mut sent: Vec<_> = statements.into_iter().map(maybe_done).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for statement in &mut sent {
            is_done &= Pin::new(statement).poll(context).is_ready();
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    sent.iter_mut().filter_map(|statement| Pin::new(statement).take_output()).collect()
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::sync::oneshot;

    use super::*;

    fn lost(why: &str) -> Result<(), Fault> {
        Err(Fault::Lost(why.into()))
    }

    fn why(result: Result<((), (), ()), Fault>) -> String {
        match result {
            Err(Fault::Lost(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_first_in_order_is_told_whichever_is_seen_first() {
        let (late, waits) = oneshot::channel::<()>();
        let second = async {
            let _ = waits.await;
            lost("second")
        };
        let third = async {
            tokio::task::yield_now().await;
            // The third has failed before the second is heard of.
            let _ = late.send(());
            lost("third, because of the second")
        };
        assert_eq!(why(all3(ready(Ok(())), second, third).await), "second");
    }

    #[tokio::test]
    async fn an_answer_that_comes_while_the_rest_is_sent_hides_no_earlier_one() {
        let first = async {
            tokio::task::yield_now().await;
            lost("first")
        };
        assert_eq!(why(all3(first, ready(lost("second, because of the first")), ready(Ok(()))).await), "first");
    }
}
