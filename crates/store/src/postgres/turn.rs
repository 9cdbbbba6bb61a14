//! Limits of platforms that the nodes keep to together.

use std::time::Duration;

use punctual_core::channel::Rate;
use punctual_core::store::Hold;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::tell::CHANNEL;

/// Takes a turn under every limit, or none and how long each has to be waited for.
pub(super) async fn take(db: &Connection<'_>, limits: &[(String, Rate)]) -> Result<Vec<Duration>, Fault> {
    let names: Vec<&str> = limits.iter().map(|(name, _)| name.as_str()).collect();
    let counts: Vec<i32> = limits.iter().map(|(_, rate)| i32::try_from(rate.n).unwrap_or(i32::MAX)).collect();
    let spans: Vec<i64> = limits.iter().map(|(_, rate)| micros(rate.per)).collect();
    let sql = "select punctual.take_turns($1, $2, $3)";
    let arguments: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
        [(&names, Type::TEXT_ARRAY), (&counts, Type::INT4_ARRAY), (&spans, Type::INT8_ARRAY)];
    let rows = db.rows(sql, &arguments).await?;
    let waits: Vec<i64> = rows.first().map_or(Ok(Vec::new()), |row| row.try_get(0))?;
    Ok(waits.into_iter().map(|wait| Duration::from_micros(u64::try_from(wait).unwrap_or(0))).collect())
}

/// Tells every node of a wait that was asked for.
pub(super) async fn tell_hold(db: &Connection<'_>, hold: &Hold) -> Result<(), Fault> {
    let payload = write_hold(hold);
    db.rows(&format!("select pg_notify('{CHANNEL}', $1)"), &[(&payload, Type::TEXT)]).await?;
    Ok(())
}

/// `hold receiver 5000000 discord discord`: whose, how long in microseconds, the channel, the name.
fn write_hold(hold: &Hold) -> String {
    let whose = if hold.is_address { "address" } else { "receiver" };
    format!("hold {whose} {} {} {}", micros(hold.wait), hold.channel, hold.name)
}

pub(super) fn read_hold(rest: &str) -> Option<Hold> {
    let mut words = rest.splitn(4, ' ');
    let is_address = match words.next()? {
        "address" => true,
        "receiver" => false,
        _ => return None,
    };
    let wait = Duration::from_micros(words.next()?.parse().ok()?);
    Some(Hold { channel: words.next()?.to_owned(), name: words.next()?.to_owned(), is_address, wait })
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_that_is_told_is_understood() {
        for (is_address, name) in [(true, "a b/c"), (false, ""), (false, "https://example.org")] {
            let wait = Duration::from_micros(1_500_001);
            let hold = Hold { channel: "chat".into(), name: name.into(), is_address, wait };
            let told = write_hold(&hold);
            assert_eq!(read_hold(told.strip_prefix("hold ").unwrap()), Some(hold));
        }
        for wrong in ["", "receiver", "receiver x chat y", "all 5 chat y", "receiver -5 chat y", "receiver 5 chat"] {
            assert_eq!(read_hold(wrong), None, "{wrong}");
        }
    }
}
