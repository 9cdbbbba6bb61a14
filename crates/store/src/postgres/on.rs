//! Running something on a connection, and again where that is safe.

/// How often something is tried again that failed without a trace: another transaction was in its way, or the connection
/// was gone before it was used. Each time somebody else got something done; more would hide a trouble that one should see.
pub(super) const TRIES_MAX: usize = 20;

/// Runs `$work` on a connection, and again if it failed in a way that makes this safe.
///
/// A macro, because a future that borrows from its caller and can move between threads cannot be named as a closure's result.
macro_rules! on {
    ($self:ident, $urgency:ident, reads: $reads:literal, $db:ident => $work:expr) => {{
        let mut n_tried = 0;
        loop {
            let connection = $self.pool.get($crate::postgres::pool::Urgency::$urgency).await;
            let $db = connection.map_err(punctual_core::store::StoreError::from)?;
            let result = $work.await;
            n_tried += 1;
            match $db.end(result).await {
                Ok(value) => break Ok(value),
                Err((_, retry)) if n_tried < $crate::postgres::on::TRIES_MAX && retry.is_safe($reads) => {}
                Err((fault, _)) => break Err(punctual_core::store::StoreError::from(fault)),
            }
        }
    }};
}
