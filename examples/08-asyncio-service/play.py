"""The service with two workers and a client, all in one process."""

from __future__ import annotations

import asyncio

from service import HOST, Service, lines, send


async def worker(port: int, name: str, slots: int, difficult: set[str]) -> None:
    """Does everything at once, but fails the first time at what is difficult."""
    reader, writer = await asyncio.open_connection(HOST, port)
    send(writer, join=name, capacity={"slots": slots})
    try:
        async for message in lines(reader):
            key = message["run"]
            if key in difficult:
                difficult.remove(key)
                send(writer, failed=key)
            else:
                send(writer, done=key)
    finally:
        writer.close()


async def client(port: int, number: int) -> dict[str, list[str]]:
    """Submits all at once, and a ping after them; what became of each."""
    reader, writer = await asyncio.open_connection(HOST, port)
    for i in range(number):
        send(writer, submit=f"task-{i:03}", requests={"slots": 2 if i % 10 == 0 else 1})
    send(writer, ping=1)
    story: dict[str, list[str]] = {}
    done = 0
    async for message in lines(reader):
        if "pong" in message:
            print("pong, before the last task is done")
        what, key = next(iter(message.items()))
        story.setdefault(str(key), []).append(what)
        done += what == "done"
        if done == number:
            break
    writer.close()
    return story


async def main() -> None:
    difficult = {"task-007"}
    async with Service() as service, asyncio.TaskGroup() as group:
        workers = [
            group.create_task(worker(service.port, name, slots, difficult))
            for name, slots in {"one": 2, "two": 1, "three": 1}.items()
        ]
        story = await client(service.port, 200)
        print(f"{sum(events[-1] == 'done' for events in story.values())} tasks are done")
        print(f"task-007 was placed {story['task-007'].count('placed')} times")
        for each in workers:
            each.cancel()


if __name__ == "__main__":
    asyncio.run(main())
