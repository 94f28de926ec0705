//! Access: the address that is listened on, the key, and what a browser says of a page.

use crate::error::{Refusal, Res};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use llm_core::base::system_reason;
use llm_core::message;
use llm_run::{Result, RunError};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// Where a server listens, and who may ask.
#[derive(Clone, Default)]
pub struct Access {
    /// The address, 127.0.0.1 where none is given.
    pub host: Option<String>,
    /// 0: any that is free.
    pub port: u16,
    /// What clients have to say; needed where others than this machine reach the address.
    pub key: Option<String>,
    /// Pages from elsewhere that may ask.
    pub origins: Vec<String>,
}

/// An [`Access`] of a server that listens.
pub struct Guard {
    access: Access,
    is_local: bool,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Access { host, port, key, origins, .. } = self;
        let mut fields = f.debug_struct("Access");
        fields.field("host", host).field("port", port).field("has_key", &key.is_some());
        fields.field("origins", origins).finish()
    }
}

impl Access {
    /// On 127.0.0.1, for any program of this machine.
    pub fn local(port: u16) -> Access {
        Access { port, ..Access::default() }
    }

    pub(crate) fn listen(&self) -> Result<TcpListener> {
        let (host, port) = (self.host.as_deref().unwrap_or("127.0.0.1"), self.port);
        let fits = |key: &String| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
        if !self.key.iter().all(fits) {
            return Err(RunError::Usage(message!(
                "a key is of printable ASCII without spaces, at least one character"
            )));
        }
        let refused = |e: io::Error| {
            RunError::Data(message!("cannot listen on {}:{}: {}", host, port, system_reason(&e)))
        };
        let addresses = (host, port).to_socket_addrs().map_err(refused)?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        if self.key.is_none() && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(RunError::Usage(message!(
                "others reach the address {}: it needs a key",
                host
            )));
        }
        TcpListener::bind(&addresses[..]).map_err(refused)
    }

    /// Access to a server that listens there.
    pub(crate) fn at(self, address: SocketAddr) -> Guard {
        let access = Access { port: address.port(), ..self };
        Guard { access, is_local: address.ip().is_loopback() }
    }
}

impl Guard {
    /// `Err` unless whoever sends these headers may ask.
    pub fn check(&self, headers: &HeaderMap, is_public: bool) -> Res<()> {
        let host = only(headers, &HOST)?.unwrap_or_default();
        // A page may give a name of its own to this machine's address ("DNS rebinding"); then that name stands here.
        if self.is_local && !self.is_own(host) {
            return Err(Refusal::new(403, "the header Host names another machine"));
        }
        if let Some(origin) = only(headers, &ORIGIN)?
            && origin.strip_prefix("http://") != Some(host)
            && !self.access.origins.iter().any(|allowed| allowed == origin)
        {
            return Err(Refusal::new(
                403,
                "a page from elsewhere may not ask (see --allow-origin)",
            ));
        }
        let Some(key) = self.access.key.as_ref().filter(|_| !is_public) else { return Ok(()) };
        let said = only(headers, &AUTHORIZATION)?.and_then(|said| said.strip_prefix("Bearer "));
        match said.is_some_and(|said| is_same(said.as_bytes(), key.as_bytes())) {
            true => Ok(()),
            false => {
                Err(Refusal::new(401, "the API key is missing or wrong").coded("invalid_api_key"))
            }
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.access.port));
        // Port 80 is left out.
        let name = name.or((self.access.port == 80).then_some(host));
        name.is_some_and(|name| {
            ["127.0.0.1", "[::1]"].contains(&name) || name.eq_ignore_ascii_case("localhost")
        })
    }

    /// The page that may read the answer, if its address was allowed.
    pub fn allowed<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        self.access.origins.iter().any(|allowed| allowed == origin).then_some(origin)
    }
}

/// A header's value, of which there is at most one.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Res<Option<&'h str>> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(Refusal::new(400, format!("the header {name} is no text"))),
        },
        (Some(_), Some(_)) => Err(Refusal::new(400, format!("the header {name} is there twice"))),
    }
}

/// Equality that takes as long whatever is equal.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
