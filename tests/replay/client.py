"""A client of thirty lines that requests sixteen answers concurrently: `cmd:python client.py`."""

import asyncio
import json
import sys

import httpx


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")


async def answer(client, message):
    text, status, stop, usage = "", "incomplete", None, {}
    url = message["input"]["base_url"] + "/v1/messages"
    async with client.stream("POST", url, json=message["request"]) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: "):
                continue
            event = json.loads(line[6:])
            usage |= event.get("usage") or event.get("message", {}).get("usage", {})
            text += event.get("delta", {}).get("text", "")
            stop = {"end_turn": "stop"}.get(event.get("delta", {}).get("stop_reason"), stop)
            status = "complete" if event["type"] == "message_stop" else status
    counted = {"input": usage.get("input_tokens"), "output": usage.get("output_tokens")}
    outcome = {"status": status, "stop": {"reason": stop}, "usage": counted}
    outcome["content"] = [{"type": "text", "text": text}]
    say({"op": "result", "id": message["id"], "outcome": outcome})


async def main():
    hello = {"op": "hello", "protocol": 1, "implementation": {"name": "thirty lines"}, "inputs": ["http"]}
    say(hello | {"capabilities": ["usage"], "concurrency": 16})
    async with httpx.AsyncClient(timeout=30, trust_env=False) as client, asyncio.TaskGroup() as group:
        while (line := await asyncio.to_thread(sys.stdin.readline)) and '"stop"' not in line[:20]:
            if json.loads(line)["op"] == "run":
                group.create_task(answer(client, json.loads(line)))


asyncio.run(main())
