//! A model behind HTTP: said where it is, answered, ended by a signal.

use std::net::TcpListener;
#[cfg(unix)]
use std::{
    io::{Read, Write},
    net::TcpStream,
};

fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[cfg(unix)]
#[test]
fn a_served_model_answers_until_a_signal_comes() {
    let sandbox = crate::trained();
    sandbox.write("key", b"secret\n");
    let before = sandbox.everything();
    for (signal, weights) in [("INT", "f32"), ("TERM", "q8")] {
        let port = port();
        let at = port.to_string();
        let key = ["--api-key-file", "key", "--weights", weights];
        let mut run =
            sandbox.start(&[&["serve", "--load", "model", "--port", &at], &key[..]].concat());
        run.wait_for("model model · context of ");
        let answer = |key: &str| {
            let body = r#"{"prompt": "a", "max_tokens": 3, "model": "model"}"#;
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            write!(
                stream,
                "POST /v1/completions HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {key}\r\n\
                 Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            let mut all = String::new();
            stream.read_to_string(&mut all).unwrap();
            all
        };
        assert!(answer("secret").contains("\"completion_tokens\":3"));
        assert!(answer("other").starts_with("HTTP/1.1 401"));
        run.signal(signal);
        let outcome = run.end();
        assert_eq!(outcome.code, Some(0), "{outcome}");
        outcome.says(&["1 texts written, 0 cut"]);
    }
    assert!(sandbox.everything() == before);
}

#[test]
fn an_address_that_others_reach_needs_a_key() {
    let sandbox = crate::trained();
    sandbox.write("empty", b"\n");
    let serve =
        |words: &[&'static str]| [&["serve", "--load", "model", "--port", "0"], words].concat();
    sandbox.refuses(
        &serve(&["--host", "0.0.0.0"]),
        2,
        &["others reach the address 0.0.0.0: it needs a key"],
    );
    for key in [["--api-key", ""], ["--api-key", "a b"], ["--api-key-file", "empty"]] {
        sandbox.refuses(&serve(&key), 2, &["a key is of printable ASCII"]);
    }
    sandbox.refuses(
        &serve(&["--host", "nowhere.invalid"]),
        65,
        &["cannot listen on nowhere.invalid:0"],
    );
    sandbox.refuses(&["serve", "--load", "nothing"], 66, &["nothing"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    sandbox.refuses(
        &["serve", "--load", "model", "--port", &port],
        65,
        &["cannot listen on 127.0.0.1"],
    );
}
