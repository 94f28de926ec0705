//! The server over real sockets, with a tiny model that was trained on nothing.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

use llm_core::generate::{Generator, Sampling};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, TinyGPT, TokenId, no_grad};
use llm_run::RunError;
use llm_serve::{Access, Server, Stopped};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const CONTEXT: usize = 160;

fn model() -> TinyGPT {
    TinyGPT::new(Config::gpt2(256, CONTEXT, 16, 2), 3).unwrap()
}

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Stopped>>,
}

impl Running {
    fn start(access: Access) -> Running {
        let model = model();
        let server = Server::bind(access, "tiny", &model, Arc::new(ByteTokenizer)).unwrap();
        let (address, stop) = (server.address(), Arc::new(AtomicBool::new(false)));
        let asked = stop.clone();
        let run = move || server.run(&model, None, || asked.load(Ordering::SeqCst)).unwrap();
        Running { address, stop, thread: Some(thread::spawn(run)) }
    }

    fn local() -> Running {
        Running::start(Access::local(0))
    }

    fn end(mut self) -> Stopped {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are; all that comes back until the server ends the connection.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    }

    fn request(&self, head: &str, more: &str, body: &str) -> (u16, String) {
        let Running { address, .. } = self;
        let n = body.len();
        let host = if more.to_lowercase().contains("host:") {
            String::new()
        } else {
            format!("Host: {address}\r\n")
        };
        let all = self.raw(
            format!("{head} HTTP/1.1\r\n{host}{more}Connection: close\r\nContent-Length: {n}\r\n\r\n{body}").as_bytes(),
        );
        let status =
            all.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("{all:?}"));
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        match head.to_lowercase().contains("transfer-encoding: chunked") {
            true => (status, chunks(body)),
            false => (status, body.to_string()),
        }
    }

    fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, text) = self.request(&format!("POST {path}"), "", &body.to_string());
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text:?}")))
    }

    fn ok(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.post(path, body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request(&format!("GET {path}"), "", "")
    }

    /// The events of a stream, which ends as it has to.
    fn events(&self, path: &str, mut body: Value) -> Vec<Value> {
        body["stream"] = json!(true);
        let (status, text) = self.request(&format!("POST {path}"), "", &body.to_string());
        assert_eq!(status, 200, "{text}");
        let mut events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
        assert_eq!(events.pop(), Some("data: [DONE]"));
        events
            .iter()
            .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
            .collect()
    }
}

fn chunks(mut body: &str) -> String {
    let mut all = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        all.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    all
}

/// What a generator writes of bytes, as text.
fn written(prompt: &[u8], n: usize, sampling: Sampling) -> (String, Vec<f32>) {
    let (model, prompt) = (model(), prompt.iter().map(|&b| b.into()).collect::<Vec<TokenId>>());
    let mut generator = Generator::new(&model, &prompt, sampling, 1).unwrap();
    let choices: Vec<_> = (0..n).map(|_| generator.next_token().unwrap()).collect();
    let bytes: Vec<u8> = choices.iter().map(|choice| choice.token as u8).collect();
    (String::from_utf8_lossy(&bytes).into_owned(), choices.iter().map(|c| c.logprob).collect())
}

const COMPLETIONS: &str = "/v1/completions";
const CHAT: &str = "/v1/chat/completions";

#[test]
fn completions_are_what_a_generator_writes() {
    let server = Running::local();
    let sampling = Sampling {
        temperature: 0.7,
        top_k: 40,
        top_p: 0.9,
        min_p: 0.01,
        seed: 7,
        ..Sampling::default()
    };
    let settings = json!({"max_tokens": 12, "temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.01, "seed": 7, "n": 2});
    let with = |prompt: Value| {
        let mut body = settings.clone();
        body["prompt"] = prompt;
        server.ok(COMPLETIONS, body)
    };
    let want: Vec<(String, &str)> = (0..2)
        .map(|sample| (written(b"once", 12, Sampling { sample, ..sampling.clone() }).0, "length"))
        .collect();
    let texts = |answer: &Value| -> Vec<(String, String)> {
        let text = |v: &Value| v.as_str().unwrap().to_string();
        answer["choices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (text(&c["text"]), text(&c["finish_reason"])))
            .collect()
    };
    let want: Vec<_> = want.into_iter().map(|(a, b)| (a, b.to_string())).collect();
    let one = with(json!("once"));
    assert_eq!(texts(&one), want);
    assert_eq!(
        one["usage"],
        json!({"prompt_tokens": 4, "completion_tokens": 24, "total_tokens": 28})
    );
    assert_eq!(texts(&with(json!([111, 110, 99, 101]))), want);
    for list in [json!(["once", "once"]), json!([[111, 110, 99, 101], "once"])] {
        assert_eq!(texts(&with(list)), [&want[..], &want].concat());
    }
    // A stop is left out, and so is what follows.
    let text = written(b"once", 60, Sampling { seed: 2, ..Sampling::default() }).0;
    let stop = text.chars().skip(4).find(char::is_ascii).unwrap().to_string();
    let stops = json!([stop, "\u{1f600}"]);
    let body = json!({"prompt": "once", "max_tokens": 60, "seed": 2, "stop": stops});
    let answer = server.ok(COMPLETIONS, body);
    assert_eq!(answer["choices"][0]["text"], text.split(&stop).next().unwrap());
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    // The context's end is an end.
    let body = json!({"prompt": "a".repeat(CONTEXT - 3), "max_tokens": 30, "temperature": 0});
    let answer = server.ok(COMPLETIONS, body);
    assert_eq!(
        (&answer["usage"]["completion_tokens"], &answer["choices"][0]["finish_reason"]),
        (&json!(3), &json!("length"))
    );
    assert!(server.end().cut == 0);
}

#[test]
fn prompts_are_scored_as_one_pass_scores_them() {
    let server = Running::local();
    let text: String = (0..100).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
    let ids: Vec<TokenId> = text.bytes().map(TokenId::from).collect();
    let model = model();
    let logits = no_grad(|| model.logits(&ids, [1, 100])).unwrap();
    let want: Vec<f64> = logits
        .data()
        .chunks(256)
        .map(|row| row.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln())
        .zip(logits.data().chunks(256))
        .zip(&ids[1..])
        .map(|((lse, row), &next)| f64::from(row[next as usize]) - lse)
        .collect();
    for most in [0, 1] {
        let body = json!({"prompt": ids, "max_tokens": most, "echo": true, "logprobs": 2, "temperature": 0, "seed": 1});
        let answer = server.ok(COMPLETIONS, body.clone());
        let choice = &answer["choices"][0];
        let list = |key: &str| choice["logprobs"][key].as_array().unwrap().clone();
        let (tokens, own, top) = (list("tokens"), list("token_logprobs"), list("top_logprobs"));
        assert_eq!(
            [tokens.len(), own.len(), top.len(), list("text_offset").len()],
            [100 + most; 4]
        );
        assert!(own[0].is_null() && top[0].is_null());
        for (i, want) in want.iter().enumerate() {
            let got = own[i + 1].as_f64().unwrap();
            assert!((got - want).abs() < 1e-5, "{i}: {got} {want}");
            let all = top[i + 1].as_object().unwrap();
            assert_eq!(all.len(), 2);
            assert!(
                all.values().all(|p| p.as_f64().unwrap() >= got
                    || all.contains_key(tokens[i + 1].as_str().unwrap()))
            );
        }
        let echoed = choice["text"].as_str().unwrap();
        assert!(echoed.starts_with(&text));
        if most == 1 {
            let (more, logprob) = written(text.as_bytes(), 1, Sampling::greedy());
            assert_eq!(
                (&echoed[100..], own[100].as_f64().unwrap() as f32),
                (&more[..], logprob[0])
            );
        }
        let events = server.events(COMPLETIONS, body);
        let told: String =
            events.iter().map(|e| e["choices"][0]["text"].as_str().unwrap()).collect();
        assert_eq!(told, echoed);
        let scored: Vec<Value> = events
            .iter()
            .flat_map(|e| e["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap().clone())
            .collect();
        assert_eq!(scored, own);
    }
}

#[test]
fn an_answer_comes_at_once_or_in_pieces() {
    let server = Running::local();
    let body = json!({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "max_tokens": 20, "temperature": 1.5, "seed": 5, "n": 3, "logprobs": true, "top_logprobs": 1, "model": "tiny", "user": "me", "tools": null});
    let whole = server.ok(CHAT, body.clone());
    assert_eq!(
        (&whole["object"], whole["choices"].as_array().unwrap().len()),
        (&json!("chat.completion"), 3)
    );
    assert_eq!(whole, server.ok(CHAT, body.clone()));
    let mut streamed = body.clone();
    streamed["stream_options"] = json!({"include_usage": true});
    let mut events = server.events(CHAT, streamed);
    assert_eq!(events.pop().unwrap()["usage"], whole["usage"]);
    for (i, choice) in whole["choices"].as_array().unwrap().iter().enumerate() {
        let of_choice: Vec<&Value> =
            events.iter().map(|e| &e["choices"][0]).filter(|c| c["index"] == i).collect();
        assert_eq!(of_choice[0]["delta"]["role"], "assistant");
        let told: String =
            of_choice.iter().filter_map(|c| c["delta"]["content"].as_str()).collect();
        assert_eq!(told, choice["message"]["content"].as_str().unwrap());
        let scored: Vec<Value> = of_choice
            .iter()
            .filter_map(|c| c["logprobs"]["content"].as_array())
            .flatten()
            .cloned()
            .collect();
        assert_eq!(&scored, choice["logprobs"]["content"].as_array().unwrap());
        assert_eq!(of_choice.last().unwrap()["finish_reason"], choice["finish_reason"]);
    }
    // Without a seed two answers differ.
    let loose = json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20});
    let [a, b] =
        [0; 2].map(|_| server.ok(CHAT, loose.clone())["choices"][0]["message"]["content"].clone());
    assert_ne!(a, b);
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let server = Running::local();
    let prompt = json!({"prompt": "a", "max_tokens": 1});
    let chat = json!({"messages": [{"role": "user", "content": "a"}], "max_tokens": 1});
    let message = |message: Value| json!([message]);
    for (path, field, value, status) in [
        (CHAT, "tools", json!([{"type": "function"}]), 400),
        (CHAT, "response_format", json!({"type": "json_object"}), 400),
        (
            CHAT,
            "messages",
            message(
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}),
            ),
            400,
        ),
        (CHAT, "messages", message(json!({"role": "tool", "content": "a"})), 400),
        (CHAT, "messages", message(json!({"role": "user", "content": "a", "name": "me"})), 400),
        (CHAT, "messages", json!([]), 400),
        (CHAT, "messages", json!("a"), 400),
        (CHAT, "top_logprobs", json!(2), 400),
        (CHAT, "logprobs", json!(2), 400),
        (CHAT, "echo", json!(true), 400),
        (COMPLETIONS, "logit_bias", json!({"50": 1}), 400),
        (COMPLETIONS, "suffix", json!("b"), 400),
        (COMPLETIONS, "best_of", json!(3), 400),
        (COMPLETIONS, "presence_penalty", json!(0.5), 400),
        (COMPLETIONS, "no_such_field", json!(0), 400),
        (COMPLETIONS, "model", json!("gpt-4"), 404),
        (COMPLETIONS, "temperature", json!(-1), 400),
        (COMPLETIONS, "temperature", json!("hot"), 400),
        (COMPLETIONS, "top_p", json!(0), 400),
        (COMPLETIONS, "min_p", json!(2), 400),
        (COMPLETIONS, "top_k", json!(-1), 400),
        (COMPLETIONS, "n", json!(0), 400),
        (COMPLETIONS, "n", json!(65), 400),
        (COMPLETIONS, "max_tokens", json!(-1), 400),
        (COMPLETIONS, "max_tokens", json!(1.5), 400),
        (COMPLETIONS, "seed", json!(1.5), 400),
        (COMPLETIONS, "stop", json!([""]), 400),
        (COMPLETIONS, "stop", json!(vec!["a"; 17]), 400),
        (COMPLETIONS, "stream_options", json!({"include_usage": true}), 400),
        (COMPLETIONS, "prompt", json!(""), 400),
        (COMPLETIONS, "prompt", json!([]), 400),
        (COMPLETIONS, "prompt", json!([256]), 400),
        (COMPLETIONS, "prompt", json!(["a", 1]), 400),
        (COMPLETIONS, "prompt", json!(vec!["a"; 65]), 400),
        (COMPLETIONS, "prompt", json!({"url": "http://localhost/"}), 400),
    ] {
        let mut body = if path == CHAT { chat.clone() } else { prompt.clone() };
        body[field] = value.clone();
        let (got, answer) = server.post(path, body);
        assert_eq!(
            (got, &answer["error"]["param"]),
            (status, &json!(field)),
            "{field} {value}: {answer}"
        );
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains(field) || field == "model" || field == "prompt", "{said}");
    }
    let (status, answer) = server.post(COMPLETIONS, json!({"prompt": "a".repeat(CONTEXT)}));
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("context_length_exceeded")));
    for ok in ["user", "suffix", "logit_bias", "stop"] {
        let mut body = prompt.clone();
        body[ok] = Value::Null;
        server.ok(COMPLETIONS, body);
    }
    assert_eq!(server.ok("/tokenize", json!({"content": "aß"}))["tokens"], json!([97, 195, 159]));
    let (status, models) = server.get("/v1/models");
    assert!(status == 200 && models.contains("\"tiny\""));
    assert_eq!(server.get("/v1/models/tiny").0, 200);
    assert_eq!(server.get("/health").0, 200);
    let (status, page) = server.get("/");
    assert!(status == 200 && page.starts_with("<!doctype html>"));
}

#[test]
fn a_token_shows_where_its_heads_look() {
    let server = Running::local();
    let ids: Vec<TokenId> = (0..20).map(|i| 97 + i * 7 % 11).collect();
    let weights = model().attention_weights(&ids, [1, 20]).unwrap(); // [L, B, H, T, T]
    for position in [0, 7, 19] {
        let maps = server.ok("/attention", json!({"tokens": ids, "position": position}));
        assert_eq!(
            (&maps["layers"], &maps["heads"], maps["tokens"].as_array().unwrap().len()),
            (&json!(2), &json!(1), 20)
        );
        for layer in 0..2 {
            let row = maps["maps"][layer][0].as_array().unwrap();
            assert_eq!(row.len(), position + 1);
            for (j, p) in row.iter().enumerate() {
                assert!(
                    (p.as_f64().unwrap() - f64::from(weights[[layer, 0, 0, position, j]])).abs()
                        < 1e-4
                );
            }
        }
    }
    let talk = json!([{"role": "user", "content": "Hi"}]);
    let maps = server.ok("/attention", json!({"messages": talk, "answer": "Ho"}));
    let text: Vec<&str> =
        maps["text"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    assert!(text.concat().contains("Hi") && text.concat().ends_with("Ho"));
    assert_eq!(server.ok("/attention", json!({"prompt": "abc"}))["position"], 2);
    for wrong in [
        json!({}),
        json!({"tokens": [1], "prompt": "a"}),
        json!({"tokens": [1], "position": 1}),
        json!({"tokens": [256]}),
        json!({"prompt": "a".repeat(CONTEXT + 1)}),
        json!({"prompt": "a", "layer": 1}),
    ] {
        assert_eq!(server.post("/attention", wrong.clone()).0, 400, "{wrong}");
    }
}

#[test]
fn equal_requests_get_equal_bytes_whoever_else_asks() {
    let server = Running::local();
    let body = |i: usize| {
        json!({"prompt": format!("client {i} says {}", "so ".repeat(i * 5)), "max_tokens": 30, "seed": i, "temperature": 1.2, "logprobs": 1, "stream": i % 2 == 1, "n": 1 + i % 3}).to_string()
    };
    let ask = |i: usize| server.request("POST /v1/completions", "", &body(i));
    let alone: Vec<(u16, String)> = (0..10).map(ask).collect();
    assert!(alone.iter().all(|(status, _)| *status == 200));
    thread::scope(|scope| {
        let clients =
            (0..10).map(|i| (i, scope.spawn(move || (0..4).map(|_| ask(i)).collect::<Vec<_>>())));
        for (i, client) in clients.collect::<Vec<_>>() {
            assert!(client.join().unwrap().iter().all(|answer| *answer == alone[i]), "client {i}");
        }
    });
    assert_eq!(server.end().written, 5 * (1..=10).map(|i| 1 + (i - 1) % 3).sum::<u64>());
}

#[test]
fn only_who_may_ask_is_answered() {
    let access = Access { origins: vec!["https://mine.example".into()], ..Access::local(0) };
    let server = Running::start(access);
    let port = server.address.port();
    let status = |more: &str| server.request("GET /v1/models", more, "").0;
    for host in [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example",
        "",
        "127.0.0.1.nip.io",
    ] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 403, "{host}");
    }
    let evil = format!("Host: evil.example:{port}\r\n");
    assert_eq!(status(&evil), 403);
    assert_eq!(status(&format!("Host: LOCALHOST:{port}\r\n")), 200);
    for origin in [
        "http://evil.example",
        "null",
        "https://mine.example.evil",
        "http://127.0.0.1",
        "http://localhost:1",
    ] {
        assert_eq!(status(&format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(status(&format!("Origin: http://{}\r\n", server.address)), 200);
    let allowed = server.raw(format!("OPTIONS /v1/completions HTTP/1.1\r\nHost: {}\r\nOrigin: https://mine.example\r\nConnection: close\r\n\r\n", server.address).as_bytes());
    assert!(
        allowed.starts_with("HTTP/1.1 204")
            && allowed.contains("access-control-allow-origin: https://mine.example"),
        "{allowed}"
    );
    let twice = format!(
        "GET /v1/models HTTP/1.1\r\nHost: {0}\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        server.address
    );
    assert!(server.raw(twice.as_bytes()).starts_with("HTTP/1.1 400"));
    assert_eq!(server.get("/etc/passwd").0, 404);
    assert_eq!(server.request("GET /v1/completions", "", "").0, 405);
    assert_eq!(server.request("DELETE /", "", "").0, 405);
    drop(server);

    let with_key = Running::start(Access { key: Some("secret".into()), ..Access::local(0) });
    let status = |more: &str| with_key.request("GET /v1/models", more, "").0;
    for wrong in [
        "",
        "Authorization: Bearer secre\r\n",
        "Authorization: Bearer secret2\r\n",
        "Authorization: secret\r\n",
    ] {
        assert_eq!(status(wrong), 401, "{wrong}");
    }
    assert_eq!(status("Authorization: Bearer secret\r\n"), 200);
    assert_eq!(with_key.get("/health").0, 200);

    let open = |key: Option<&str>| Access {
        host: Some("0.0.0.0".into()),
        key: key.map(String::from),
        ..Access::local(0)
    };
    for key in [None, Some("")] {
        let refused =
            Server::bind(open(key), "tiny", &model(), Arc::new(ByteTokenizer)).unwrap_err();
        assert!(matches!(refused, RunError::Usage(_)), "{refused}");
    }
    assert!(Server::bind(open(Some("k")), "tiny", &model(), Arc::new(ByteTokenizer)).is_ok());
}

#[test]
fn hostile_bytes_are_refused_and_others_are_answered() {
    let server = Running::local();
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
        server.address
    );
    let with = |body: &[u8]| {
        let mut all = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        all.extend_from_slice(body);
        server.raw(&all)
    };
    for body in [
        &b""[..],
        b"\xff\xfe",
        b"{\"prompt\": \"\xff\"}",
        b"[]",
        b"{",
        b"nul",
        "[".repeat(100_000).as_bytes(),
        "{\"prompt\":".repeat(50_000).as_bytes(),
    ] {
        assert!(with(body).starts_with("HTTP/1.1 400"), "{:?}", &body[..body.len().min(20)]);
    }
    assert!(
        server
            .raw(format!("{head}Content-Length: 99999999999\r\n\r\n").as_bytes())
            .starts_with("HTTP/1.1 413")
    );
    let chunked =
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}", 1 << 21, " ".repeat(1 << 21));
    let answer = server.raw(chunked.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    for garbage in [
        "\x16\x03\x01\x02\x00\x01\x00\x01",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let answer = server.raw(garbage.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let long =
        format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", server.address, "a".repeat(1 << 20));
    let answer = server.raw(long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // Cut, or open and silent.
    for cut in [1, 20, head.len(), head.len() + 10] {
        let mut stream = server.connect();
        let all = format!("{head}Content-Length: 100\r\n\r\n{{\"prompt\": ");
        stream.write_all(&all.as_bytes()[..cut]).unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
    }
    let silent: Vec<TcpStream> = (0..600).map(|_| server.connect()).collect();
    assert_eq!(server.get("/health").0, 200);
    server.ok(COMPLETIONS, json!({"prompt": "a", "max_tokens": 2}));
    drop(silent);
}

/// Several requests on one connection.
#[test]
fn a_connection_is_kept() {
    let server = Running::local();
    let mut stream = server.connect();
    for i in 0..3 {
        let body = json!({"prompt": "a", "max_tokens": i + 1, "seed": 1}).to_string();
        let head = format!(
            "POST /v1/completions HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
            server.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let (mut all, mut bytes) = (String::new(), [0; 4096]);
        while !all.ends_with('}') {
            let n = stream.read(&mut bytes).unwrap();
            assert!(n > 0);
            all.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
        }
        assert!(all.contains(&format!("\"completion_tokens\":{}", i + 1)), "{all}");
    }
}

/// Sixty long texts, of which no one waits for the answer: the next is not behind them.
#[test]
fn a_client_that_leaves_frees_its_place() {
    let server = Running::local();
    for stream in [false, true].repeat(20) {
        let body =
            json!({"prompt": "a", "max_tokens": CONTEXT, "n": 60, "stream": stream}).to_string();
        let mut connection = server.connect();
        let head = format!(
            "POST /v1/completions HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection.shutdown(Shutdown::Both).unwrap();
    }
    server.ok(COMPLETIONS, json!({"prompt": "a", "max_tokens": 2}));
    let stopped = server.end();
    assert!(stopped.written < 40 * 60, "{stopped:?}");
}

#[test]
fn stopping_cuts_what_is_under_way_and_says_so() {
    const TEXTS: usize = 64; // of a request
    let server = Running::local();
    let bodies = [true, false]
        .map(|stream| json!({"prompt": "a", "max_tokens": CONTEXT, "n": TEXTS, "stream": stream}));
    let mut clients: Vec<TcpStream> = (0..24).map(|_| server.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        let body = bodies[i % 2].to_string();
        let head = format!(
            "POST /v1/completions HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        );
        client.write_all(head.as_bytes()).unwrap();
    }
    let mut first = [0; 64];
    clients[0].read_exact(&mut first).unwrap();
    let stopped = server.end();
    assert!(stopped.cut > 0, "{stopped:?}");
    let mut told = 0;
    for mut client in clients {
        let mut all = Vec::new();
        let _ = client.read_to_end(&mut all);
        told += usize::from(String::from_utf8_lossy(&all).contains("the server stops"));
    }
    // How many requests had come by then is the machine's; each that was cut is told.
    assert!(told >= stopped.cut.div_ceil(TEXTS), "{told}, {stopped:?}");
}
