//! The connections: where one more comes than there may be, the one that has been idle longest goes.

use crate::routes::Service;
use crate::socket::Socket;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
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
const LAST_WORDS: Duration = Duration::from_millis(300);

/// The connections that are open.
type Open = Arc<Mutex<HashMap<u64, Socket>>>;

/// The thread that lets clients in, and the clients.
pub struct Doors {
    thread: JoinHandle<()>,
    open: Open,
}

/// Lets clients in until `closing`.
pub fn open(listener: TcpListener, service: Arc<Service>, closing: Arc<AtomicBool>) -> Doors {
    let open = Open::default();
    let inside = open.clone();
    let thread = thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming()) {
            if closing.load(Ordering::SeqCst) {
                break;
            }
            match stream {
                Ok(stream) => let_in(number, stream, &service, &inside),
                // There may be no file handle left: some are soon.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    });
    Doors { thread, open }
}

/// Waits until what was cut is sent, then ends all connections.
pub fn close(doors: Doors, address: SocketAddr) {
    let Doors { thread, open } = doors;
    let _ = TcpStream::connect(address); // the last that is let in
    let until = Instant::now() + LAST_WORDS;
    let busy = || locked(&open).values().any(|socket| socket.idle_since().is_none());
    while busy() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    locked(&open).values().for_each(Socket::close);
    if TcpStream::connect(address).is_err() {
        let _ = thread.join();
    }
}

fn locked(open: &Open) -> std::sync::MutexGuard<'_, HashMap<u64, Socket>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn let_in(number: u64, stream: TcpStream, service: &Arc<Service>, open: &Open) {
    let Ok(socket) = Socket::new(stream) else { return };
    {
        let mut open = locked(open);
        if open.len() >= MOST {
            let idle = open.iter().filter_map(|(&number, s)| Some((s.idle_since()?, number)));
            // Where all are being answered, the new one goes.
            match idle.min().and_then(|(_, number)| open.remove(&number)) {
                Some(idle) => idle.close(),
                None => return socket.close(),
            }
        }
        open.insert(number, socket.clone());
    }
    let (service, all) = (service.clone(), open.clone());
    let spawned = thread::Builder::new().stack_size(STACK).spawn(move || {
        answer(socket, &service);
        locked(&all).remove(&number);
    });
    if spawned.is_err() {
        locked(open).remove(&number);
    }
}

/// Answers a connection's requests, one after the other.
fn answer(socket: Socket, service: &Arc<Service>) {
    let of = |request| service.clone().answer(request, socket.clone());
    let mut http = http1::Builder::new();
    // No byte is read while an answer is made: a read waits.
    http.half_close(true).header_read_timeout(None).max_buf_size(HEAD).max_headers(HEADERS);
    let _ = pollster::block_on(http.serve_connection(socket.clone(), service_fn(of)));
    socket.close();
}
