//! Reaching a server: one host of the URL after the other, each with its own time.
//!
//! The driver's own way of connecting gives each host time to be connected to and then waits for its greeting for ever, and it
//! hides the socket. So a socket is made here, looked at, and handed to the driver. The order, the time and the kinds of
//! server that can be asked for are libpq's.

use std::io;
use std::net::SocketAddr;

use futures_util::future::{Either, select};
use punctual_core::clock::{Clock, Machine, Random, within};
use punctual_core::store::StoreError;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::Fault;
use super::stream::Stream;
use super::url::{Place, Url, Wanted};

/// A connection, and what must be polled to keep it alive.
pub(super) type Bare =
    (Client, tokio_postgres::Connection<Stream, <MakeRustlsConnect as MakeTlsConnect<Stream>>::Stream>);

/// Connects to the first host that answers and is what the URL asks for; returns its place in the URL as well. The host at `first`
/// is tried before all others.
pub(super) async fn reach(
    url: &Url,
    tls: &MakeRustlsConnect,
    first: Option<usize>,
    machine: &Machine,
) -> Result<(Bare, usize), Fault> {
    let order = order(url, first, &*machine.random);
    let mut refusals = Vec::new();
    let rounds: &[Wanted] = match url.wanted {
        Wanted::PreferStandby => &[Wanted::Standby, Wanted::Any],
        ref wanted => std::slice::from_ref(wanted),
    };
    for wanted in rounds {
        refusals.clear();
        for index in &order {
            let place = &url.places[*index];
            match at(url, tls, place, *wanted, &*machine.clock).await {
                Ok(bare) => return Ok((bare, *index)),
                Err(why) if url.places.len() == 1 => refusals.push(why),
                Err(why) => refusals.push(format!("{place}: {why}")),
            }
        }
    }
    Err(Fault::Store(StoreError::Unavailable(refusals.join("; "))))
}

/// The order in which hosts are tried.
fn order(url: &Url, first: Option<usize>, random: &dyn Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..url.places.len()).collect();
    if url.config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        order.sort_by_cached_key(|_| random.ten());
    }
    // Stable: the others stay in their order.
    order.sort_by_key(|index| Some(*index) != first);
    order
}

/// Connects to one host, whichever of its addresses answers; or says why not.
async fn at(
    url: &Url,
    tls: &MakeRustlsConnect,
    place: &Place,
    wanted: Wanted,
    clock: &dyn Clock,
) -> Result<Bare, String> {
    let silent = || "the server does not answer".to_owned();
    let name = match &place.host {
        Host::Unix(directory) => {
            let path = directory.join(format!(".s.PGSQL.{}", place.port));
            let reached = within(clock, url.each_within, async {
                let stream = UnixStream::connect(path).await.map_err(unreachable)?;
                greet(url, tls, Stream::Unix(stream), place, wanted).await
            });
            return reached.await.unwrap_or_else(|| Err(silent()));
        }
        Host::Tcp(name) => name,
    };
    let found = within(clock, url.each_within, lookup_host((name.as_str(), place.port))).await;
    let addresses = found.ok_or_else(silent)?.map_err(unreachable)?;
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        let reached = within(clock, url.each_within, async {
            let stream = tcp(url, address).await.map_err(unreachable)?;
            greet(url, tls, Stream::Tcp(stream), place, wanted).await
        });
        match reached.await {
            Some(Ok(bare)) => return Ok(bare),
            Some(Err(refused)) => why = refused,
            None => why = silent(),
        }
    }
    Err(why)
}

async fn tcp(url: &Url, address: SocketAddr) -> io::Result<TcpStream> {
    let stream = not_to_itself(TcpStream::connect(address).await?)?;
    stream.set_nodelay(true)?;
    let (config, socket) = (&url.config, SockRef::from(&stream));
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(config.get_tcp_user_timeout().copied())?;
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        socket.set_tcp_keepalive(&keepalive)?;
    }
    Ok(stream)
}

/// Refuses a connection to oneself.
///
/// A socket that connects to a port of this machine where nobody listens may be given that very port for its own end, and TCP then connects
/// it to itself. As long as it is open, no database can listen there.
fn not_to_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? != stream.peer_addr()? {
        return Ok(stream);
    }
    // Gone at once, without a trace that keeps the port.
    stream.set_zero_linger()?;
    Err(io::Error::new(io::ErrorKind::ConnectionRefused, "nobody listens there"))
}

/// Logs in, and looks whether the server is what is wanted.
async fn greet(
    url: &Url,
    tls: &MakeRustlsConnect,
    stream: Stream,
    place: &Place,
    wanted: Wanted,
) -> Result<Bare, String> {
    let mut tls = tls.clone();
    let tls = MakeTlsConnect::<Stream>::make_tls_connect(&mut tls, &place.certified_as())
        .map_err(|error| error.to_string())?;
    // No password is in what it says: the server never repeats one, and the driver's errors are about addresses and files.
    let said = |error: tokio_postgres::Error| super::url::chain(&error);
    let (client, mut connection) = url.config.connect_raw(stream, tls).await.map_err(said)?;
    if wanted == Wanted::Any {
        return Ok((client, connection));
    }
    let asked = client.simple_query("select pg_is_in_recovery(), current_setting('transaction_read_only')::boolean");
    // The answer comes only while the connection is polled.
    let rows = match select(std::pin::pin!(asked), &mut connection).await {
        Either::Left((rows, _)) => rows.map_err(said)?,
        Either::Right(_) => return Err("the server closed the connection".into()),
    };
    let is_so = |index: usize| {
        rows.iter().any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(index) == Some("t")))
    };
    wanted.check(is_so(0), is_so(1))?;
    Ok((client, connection))
}

/// In the driver's words.
fn unreachable(error: io::Error) -> String {
    format!("error connecting to server: {error}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;

    use punctual_testkit::random::SeededRandom;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[tokio::test]
    async fn a_connection_to_oneself_is_refused_and_frees_the_port() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = socket.local_addr().unwrap();
        let stream = socket.connect(address).await.unwrap();
        assert_eq!(stream.local_addr().unwrap(), stream.peer_addr().unwrap(), "it is connected to itself");
        assert!(TcpListener::bind(address).await.is_err(), "the port is taken");
        assert_eq!(not_to_itself(stream).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        TcpListener::bind(address).await.expect("whoever should listen there can");
    }

    #[test]
    fn the_host_that_works_is_tried_first_and_the_others_in_their_order() {
        let random = SeededRandom::new(7);
        let url = Url::parse("postgres://a,b,c/life").unwrap();
        assert_eq!(order(&url, None, &random), [0, 1, 2]);
        assert_eq!(order(&url, Some(2), &random), [2, 0, 1]);
        let url = Url::parse("postgres://a,b,c/life?load_balance_hosts=random").unwrap();
        let orders: BTreeSet<Vec<usize>> = (0..50).map(|_| order(&url, Some(1), &random)).collect();
        assert_eq!(orders, BTreeSet::from([vec![1, 0, 2], vec![1, 2, 0]]), "the others in any order");
    }
}
