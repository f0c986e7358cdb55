#!/usr/bin/env python3
"""Validates the bodies of Belvedere's requests with the types of the official SDKs, over all four wire formats.

Run by hand, now and then, with a built binary; it speaks to servers of its own on this machine only:

    python3 -m venv /tmp/sdk && /tmp/sdk/bin/pip install openai anthropic google-genai
    /tmp/sdk/bin/python tests/openai_types.py target/debug/belvedere

With each wire format one conversation is held that thinks, calls a tool, reads an image, and goes on after that. The status
is 1 if a body does not fit.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from anthropic.types import message_create_params
from google.genai import types as gemini
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import TypeAdapter

# A black square of four pixels.
PIXELS = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000201000000005acd30890000000c494441"
    "54789c63606060000000040001f61738550000000049454e44ae426082"
)
READ = {"file_path": "a.png"}


def answers(wire: str, asked: int) -> list[dict]:
    """Returns the events of an answer: a call with thoughts first, then words."""
    if wire == "openai":
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Read", "arguments": json.dumps(READ)}}
        delta = {"content": "It is black."} if asked else {"reasoning_content": "I look.", "tool_calls": [call]}
        return [{"choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if asked else "tool_calls"}]}]
    if wire == "anthropic":
        call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": READ}
        thought = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
        content = [{"type": "text", "text": "It is black."}] if asked else [thought, call]
        return [{"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn" if asked else "tool_use"}]
    if wire == "gemini":
        call = {"functionCall": {"name": "Read", "args": READ}, "thoughtSignature": "c2ln"}
        parts = [{"text": "It is black."}] if asked else [{"text": "I look.", "thought": True}, call]
        return [{"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": parts}}]}]
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look."}], "encrypted_content": "c2Vj"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Read", "arguments": json.dumps(READ)}
    words = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "It is black."}]}
    return [{"type": "response.completed", "response": {"output": [words] if asked else [thought, call]}}]


def converse(binary: str, wire: str) -> list[dict]:
    """Holds a conversation over a wire format, and returns the bodies of its requests."""
    bodies: list[dict] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            data = "".join(f"data: {json.dumps(event)}\n\n" for event in answers(wire, len(bodies) - 1)).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        project = Path(home, "project")
        project.mkdir()
        (project / "a.png").write_bytes(PIXELS)
        settings = Path(home, ".config/belvedere/config.toml")
        settings.parent.mkdir(parents=True)
        version = "v1beta" if wire == "gemini" else "v1"
        url = f"http://127.0.0.1:{server.server_port}/{version}"
        settings.write_text(f'[providers.own]\nwire = "{wire}"\nurl = "{url}"\n')
        model = {"openai": "m", "responses": "gpt-5.2", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"}[wire]
        env = {"PATH": os.environ["PATH"], "HOME": home}
        for more in (["-p", "Which color is it?"], ["-p", "Are you sure? @a.png", "-c"]):
            done = subprocess.run([binary, *more, "--model", f"own/{model}"], cwd=project, env=env, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{wire}: {done.stderr}")
    server.shutdown()
    return bodies


def drain(value: object) -> None:
    """Reads a validated value to its end: lists are validated only when they are read."""
    if isinstance(value, dict):
        for inner in value.values():
            drain(inner)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for inner in value:
            drain(inner)


def validate(kind: object, body: dict) -> None:
    adapter = TypeAdapter(kind)
    drain(adapter.validate_python(body))


def check(wire: str, body: dict) -> None:
    """Raises an error if a body does not fit the types of its API."""
    if wire == "openai":
        validate(completion_create_params.CompletionCreateParamsStreaming, body)
    elif wire == "responses":
        validate(response_create_params.ResponseCreateParamsStreaming, body)
    elif wire == "anthropic":
        validate(message_create_params.MessageCreateParamsStreaming, body)
    else:
        for content in [*body["contents"], body["systemInstruction"]]:
            gemini.Content.model_validate(content)
        for tool in body["tools"]:
            gemini.Tool.model_validate(tool)
        gemini.GenerationConfig.model_validate(body["generationConfig"])


def main() -> None:
    failed = 0
    for wire in ("openai", "responses", "anthropic", "gemini"):
        bodies = converse(os.path.abspath(sys.argv[1]), wire)
        for number, body in enumerate(bodies):
            try:
                check(wire, body)
            except Exception as error:  # Each SDK has its own.
                failed += 1
                print(f"{wire}, request {number + 1}: {str(error)[:1000]}")
        print(f"{wire}: {len(bodies)} requests")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
