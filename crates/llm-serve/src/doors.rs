//! The connections: where one more comes than there may be, the one that has been idle longest goes.

use crate::routes::Service;
use crate::socket::Socket;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Most connections.
const MOST: usize = 256;
/// Most bytes of a request's head.
const HEAD: usize = 1 << 14;
/// Most headers.
const HEADERS: usize = 64;
/// Bytes of a thread's stack.
const STACK: usize = 1 << 20;
/// For answers that were cut to be sent.
const LAST_WORDS: Duration = Duration::from_millis(900);

/// The connections that are open, and whether no more are let in.
#[derive(Clone, Default)]
pub struct Doors(Arc<(Mutex<HashMap<u64, Socket>>, AtomicBool)>);

impl Doors {
    /// Lets clients in from now on.
    pub fn open(listener: TcpListener, service: Arc<Service>) -> Doors {
        let doors = Doors::default();
        let inside = doors.clone();
        thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming()) {
                match stream {
                    _ if inside.0.1.load(Ordering::SeqCst) => break,
                    Ok(stream) => inside.let_in(number, stream, &service),
                    // There may be no file handle left: some are soon.
                    Err(_) => thread::sleep(Duration::from_millis(20)),
                }
            }
        });
        doors
    }

    /// Waits until what was cut is sent, then ends all connections.
    pub fn close(&self, address: SocketAddr) {
        self.0.1.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(address); // the last one, at which the thread sees it
        let until = Instant::now() + LAST_WORDS;
        let is_busy = || self.sockets().values().any(|socket| socket.idle_since().is_none());
        while is_busy() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.sockets().values().for_each(Socket::close);
    }

    fn sockets(&self) -> MutexGuard<'_, HashMap<u64, Socket>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_in(&self, number: u64, stream: TcpStream, service: &Arc<Service>) {
        let Ok(socket) = Socket::new(stream) else { return };
        let mut open = self.sockets();
        if open.len() >= MOST {
            let idle = open.iter().filter_map(|(number, open)| Some((open.idle_since()?, *number)));
            // Where all are being answered, the new one goes.
            match idle.min().and_then(|(_, number)| open.remove(&number)) {
                Some(idle) => idle.close(),
                None => return socket.close(),
            }
        }
        open.insert(number, socket.clone());
        drop(open);
        let (service, doors) = (service.clone(), self.clone());
        let spawned = thread::Builder::new().stack_size(STACK).spawn(move || {
            answer(&socket, &service);
            doors.sockets().remove(&number);
        });
        if spawned.is_err() {
            self.sockets().remove(&number);
        }
    }
}

/// Answers a connection's requests, one after the other.
fn answer(socket: &Socket, service: &Arc<Service>) {
    let of = |request| service.clone().answer(request, socket.clone());
    let mut http = http1::Builder::new();
    // No byte is read while an answer is made: a read waits.
    http.half_close(true).header_read_timeout(None).max_buf_size(HEAD).max_headers(HEADERS);
    let _ = pollster::block_on(http.serve_connection(socket.clone(), service_fn(of)));
    socket.close();
}
