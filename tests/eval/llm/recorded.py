"""An endpoint for chat completions on loopback that gives recorded answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

Answer = int | str | bytes | dict[str, Any]
YES = json.dumps({"answers": [{"yes": True, "why": "it says so"}] * 9})


class Recorded(HTTPServer):
    """Gives the answers it is given, one a request: a status, the text of a choice, its message, or any bytes."""

    answers: list[Answer]
    asked: list[dict[str, Any]]

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server_port}/v1/"


class _Handler(BaseHTTPRequestHandler):
    server: Recorded

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        answer = self.server.answers.pop(0) if self.server.answers else 429
        usage = {"prompt_tokens": 1000, "completion_tokens": 200}
        message = answer if isinstance(answer, dict) else {"role": "assistant", "content": answer}
        ended = "tool_calls" if message.get("tool_calls") else "stop"
        found = {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"], "usage": usage}
        found["choices"] = [{"index": 0, "message": message, "finish_reason": ended}]
        if isinstance(answer, bytes):
            text = answer
        else:
            text = b"not now" if isinstance(answer, int) else json.dumps(found).encode()
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def recorded(*answers: Answer) -> Iterator[Recorded]:
    """The endpoint, as long as the block lasts."""
    found = Recorded(("127.0.0.1", 0), _Handler)
    found.asked, found.answers = [], list(answers)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        found.shutdown()
        thread.join()
        found.server_close()
