import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it } from "vitest";
import { type EndReason, startThread } from "./thread-process.ts";

const SCRIPT = new URL("testdata/standing-thread.mjs", import.meta.url);
const MIB = 1 << 20;

type Ended = { readonly reason: EndReason; readonly slot: number; readonly error: unknown };

function start(what: string) {
  let end: (how: Ended) => void = () => undefined;
  const ended = new Promise<Ended>((resolve) => {
    end = resolve;
  });
  const thread = startThread({
    ...systemRuntime,
    name: "test",
    // The thread of this test reads nothing else.
    data: { continueKey: { uid: what } } as never,
    limits: { limitBytes: 64 * MIB },
    script: SCRIPT,
    handlers: { calls: {} as never, notes: {} as never },
    onEnd: (reason, slot, error) => end({ reason, slot, error }),
    onError: () => undefined,
  });
  const call = thread.link.call("idle", { uid: what });
  call.catch(() => undefined);
  return { thread, ended, call };
}

describe("a thread", () => {
  it.each([
    ["stands still", "loop", "stalled", 7],
    ["reports more memory than it may have", "memory", "memory", 7],
    ["fills its heap", "heap", "memory", 7],
    ["throws an error that nothing catches", "throw", "crashed", 7],
    ["ends by itself, which no cluster is to blame for", "exit", "crashed", 0],
  ])("that %s is ended", async (_, what, reason, slot) => {
    expect(await start(what).ended).toMatchObject({ reason, slot });
  });

  it("that answers goes on until it is stopped, with all of its young generation from its start on", async () => {
    const { thread, ended, call } = start("answer");
    // V8 begins with 1 MiB. A third of what the thread may have is one half.
    expect(await call).toBeGreaterThan(4 * MIB);
    thread.end("stopped");
    thread.end("stalled");
    expect(await ended).toMatchObject({ reason: "stopped" });
  });
});
