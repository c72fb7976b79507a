"""Several sessions at once from Python, with an event loop: commands side by side, and events."""

import asyncio

from agent_pty import AsyncClient


async def main() -> None:
    """Run commands in three shells, then follow one of them."""
    async with AsyncClient() as client:
        shells = [await client.new("bash --norc") for _ in range(3)]
        cells = [shell.run(f"(exit {number})") for number, shell in enumerate(shells)]
        codes = [cell.exit_code for cell in await asyncio.gather(*cells)]
        print(codes)
        assert codes == [0, 1, 2]

        async with await shells[0].watch(events=["cell"]) as events:
            await shells[0].fire("echo done")
            async for event in events:
                print(event.event, event.facts)
                if event.facts.get("status") == "done":
                    break

        # What was done, for a reviewer: a page with a player, signed.
        print("proof_html_path", (await shells[0].proof()).html_path)
        for shell in shells:
            await shell.kill()


asyncio.run(main())
