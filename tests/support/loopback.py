"""A web server on this machine whose answers are listed beforehand."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat


@dataclass(frozen=True)
class Answer:
    """A status and a body, of which only the first ``sent`` bytes are sent; or the same in chunks."""

    body: bytes = b""
    status: int = 200
    sent: int | None = None
    chunked: bool = False


@dataclass
class Server:
    """Where the server is, and the paths it was asked for."""

    url: str
    asked: list[str]


@contextmanager
def serving(*answers):
    """Give the answers in turn, the last of them for ever."""
    lock, asked, turn = threading.Lock(), [], chain(answers, repeat(answers[-1]))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            with lock:
                asked.append(self.path)
                answer = next(turn)
            part = answer.body[: answer.sent]
            self.send_response(answer.status)
            if answer.chunked:
                self.send_header("Transfer-Encoding", "chunked")
                part = b"%x\r\n%s\r\n" % (len(answer.body), part)
            else:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{server.server_port}/file.csv", asked)
        finally:
            server.shutdown()
            thread.join()
