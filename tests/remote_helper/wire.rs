//! The way between a client and a server, as a process in the middle sees it: bytes that are passed on, or not.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Most of a request that is kept for a look, in bytes.
const KEPT: usize = 64 * 1024;

/// What becomes of what passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Conduct {
    /// Everything is passed on.
    Pass,
    /// Every request is sent elsewhere, to a URL that its path is put behind.
    Redirect(String),
    /// Of what the client sends only so many bytes arrive.
    CutRequest(usize),
    /// Of what the server answers only so many bytes arrive, and the connection ends.
    CutAnswer(usize),
    /// Of what the server answers only so many bytes arrive, and then nothing happens any more.
    Stall(usize),
}

/// A listener in front of a server.
pub(crate) struct Wire {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    server: String,
    conduct: Conduct,
    /// The begin of each connection's requests.
    heard: Mutex<Vec<Vec<u8>>>,
    sent: AtomicUsize,
    answered: AtomicUsize,
    /// Connections that are open, and whether one has stalled.
    open: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Wire {
    /// Listens in front of `server`, `host:port`.
    pub(crate) fn to(server: &str, conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            server: server.into(),
            conduct,
            heard: Mutex::default(),
            sent: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            open: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&state);
        // Ends with the process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let state = Arc::clone(&accepting);
                state.update(|open| open.0 += 1);
                thread::spawn(move || {
                    // How a connection ends is what the client is tested with.
                    let _ = state.serve(client);
                    state.update(|open| open.0 -= 1);
                });
            }
        });
        Wire { address, state }
    }

    /// Returns `host:port` of this end.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Returns how many bytes the client sent, and how many the server answered.
    pub(crate) fn passed(&self) -> (usize, usize) {
        let of = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        (of(&self.state.sent), of(&self.state.answered))
    }

    /// Returns the begin of each connection's requests.
    pub(crate) fn heard(&self) -> Vec<String> {
        let heard = self.state.heard.lock().unwrap();
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        heard.iter().map(text).collect()
    }

    /// Waits until a connection has stalled.
    pub(crate) fn wait_until_stalled(&self) {
        let open = self.state.open.lock().unwrap();
        let patience = Duration::from_secs(60);
        let waits = |open: &mut (usize, bool)| !open.1;
        let waited = self.state.changed.wait_timeout_while(open, patience, waits);
        assert!(
            !waited.unwrap().1.timed_out(),
            "{:?}: never",
            self.state.conduct
        );
    }

    /// Waits until every connection has ended, at the server too.
    pub(crate) fn settle(&self) {
        let open = self.state.open.lock().unwrap();
        let patience = Duration::from_secs(60);
        let waits = |open: &mut (usize, bool)| open.0 > 0;
        let waited = self.state.changed.wait_timeout_while(open, patience, waits);
        assert!(
            !waited.unwrap().1.timed_out(),
            "{:?}: still open",
            self.state.conduct
        );
    }
}

impl State {
    fn update(&self, change: impl FnOnce(&mut (usize, bool))) {
        change(&mut self.open.lock().unwrap());
        self.changed.notify_all();
    }

    fn serve(&self, client: io::Result<TcpStream>) -> io::Result<()> {
        let client = client?;
        let number = {
            let mut heard = self.heard.lock().unwrap();
            heard.push(Vec::new());
            heard.len() - 1
        };
        if let Conduct::Redirect(target) = &self.conduct {
            return self.redirect(client, number, target);
        }
        let server = TcpStream::connect(&self.server)?;
        let (from, to) = (client.try_clone()?, server.try_clone()?);
        thread::scope(|scope| {
            scope.spawn(|| self.requests(number, from, to));
            self.answers(server, client)
        })
    }

    fn requests(&self, number: usize, mut client: TcpStream, mut server: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = client.read(&mut buffer) {
            self.hear(number, &buffer[..read]);
            let before = self.sent.fetch_add(read, Ordering::SeqCst);
            let left = match self.conduct {
                Conduct::CutRequest(most) => most.saturating_sub(before).min(read),
                _ => read,
            };
            if server.write_all(&buffer[..left]).is_err() || left < read {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
    }

    /// Reads the server to its end in any case, so that it has done what it does when the client hears of the end.
    fn answers(&self, mut server: TcpStream, mut client: TcpStream) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let mut has_client = true;
        while let Ok(read @ 1..) = server.read(&mut buffer) {
            let before = self.answered.fetch_add(read, Ordering::SeqCst);
            let left = match self.conduct {
                Conduct::CutAnswer(most) | Conduct::Stall(most) => {
                    most.saturating_sub(before).min(read)
                }
                _ => read,
            };
            has_client = has_client && client.write_all(&buffer[..left]).is_ok();
            match self.conduct {
                Conduct::CutAnswer(_) if left < read => {
                    let _ = server.shutdown(Shutdown::Write);
                }
                Conduct::Stall(_) if left < read => self.update(|open| open.1 = true),
                _ => {}
            }
        }
        client.shutdown(Shutdown::Both)
    }

    fn redirect(&self, mut client: TcpStream, number: usize, target: &str) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let mut head = Vec::new();
        while !head.windows(4).any(|window| window == b"\r\n\r\n") {
            let read = client.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            head.extend_from_slice(&buffer[..read]);
            self.hear(number, &buffer[..read]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        write!(
            client,
            "HTTP/1.1 302 Found\r\nLocation: {target}{path}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }

    fn hear(&self, number: usize, bytes: &[u8]) {
        let heard = &mut self.heard.lock().unwrap()[number];
        let room = KEPT.saturating_sub(heard.len()).min(bytes.len());
        heard.extend_from_slice(&bytes[..room]);
    }
}
