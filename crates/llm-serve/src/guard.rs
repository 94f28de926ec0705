//! Access: the address that is listened on, the key, and what a browser says of a page.

use crate::error::{Refusal, Res};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use llm_core::base::system_reason;
use llm_core::message;
use llm_run::{Result, RunError};
use std::fmt;
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
        f.debug_struct("Access").field("host", &self.host).finish_non_exhaustive() // not the key
    }
}

impl Access {
    /// On 127.0.0.1, for any program of this machine.
    pub fn local(port: u16) -> Access {
        Access { port, ..Access::default() }
    }

    pub(crate) fn listen(self) -> Result<(TcpListener, SocketAddr, Guard)> {
        let (host, port) = (self.host.as_deref().unwrap_or("127.0.0.1"), self.port);
        let fits = |key: &String| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
        if !self.key.iter().all(fits) {
            return Err(RunError::Usage(message!(
                "a key is of printable ASCII without spaces, at least one character"
            )));
        }
        let refused = |e| message!("cannot listen on {}:{}: {}", host, port, system_reason(&e));
        let refused = |e| RunError::Data(refused(e));
        let all: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(refused)?.collect();
        let is_local = all.iter().all(|address| address.ip().is_loopback());
        if self.key.is_none() && !is_local {
            let why = message!("others reach the address {}: it needs a key", host);
            return Err(RunError::Usage(why));
        }
        let listener = TcpListener::bind(&all[..]).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let access = Access { port: address.port(), ..self };
        Ok((listener, address, Guard { access, is_local }))
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
        let of_this_page = |origin: &str| origin.strip_prefix("http://") == Some(host);
        let origin = only(headers, &ORIGIN)?;
        if !origin.is_none_or(of_this_page) && self.allowed(headers).is_none() {
            return Err(Refusal::new(
                403,
                "a page from elsewhere may not ask (see --allow-origin)",
            ));
        }
        let Some(key) = self.access.key.as_ref().filter(|_| !is_public) else { return Ok(()) };
        let said = only(headers, &AUTHORIZATION)?.and_then(|said| said.strip_prefix("Bearer "));
        // Equality that takes as long whatever is equal.
        let pairs = said.unwrap_or_default().bytes().zip(key.bytes());
        let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
        match said.map(str::len) == Some(key.len()) && differ == 0 {
            true => Ok(()),
            false => {
                Err(Refusal::new(401, "the API key is missing or wrong").coded("invalid_api_key"))
            }
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let port = self.access.port;
        let name = host.strip_suffix(&format!(":{port}")).or((port == 80).then_some(host));
        let own = ["127.0.0.1", "[::1]", "localhost"];
        name.is_some_and(|name| own.iter().any(|own| own.eq_ignore_ascii_case(name)))
    }

    /// The page that may read the answer, if its address was allowed.
    pub fn allowed<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.access.origins.iter().any(|allowed| *allowed == *origin).then_some(origin)
    }
}

/// A header's value, of which there is at most one.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Res<Option<&'h str>> {
    let mut all = headers.get_all(name).iter();
    let value = all.next().map(HeaderValue::to_str).transpose();
    let value = value.ok().filter(|_| all.next().is_none());
    value.ok_or_else(|| Refusal::new(400, format!("one header {name} is expected, a text")))
}
