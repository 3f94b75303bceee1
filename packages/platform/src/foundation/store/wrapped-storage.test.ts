import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { expect, it } from "vitest";
import { tracedStorage } from "../tracing/traced-storage.ts";
import { measuredStorage } from "./measured-storage.ts";

const clock = { now: () => 0, elapsed: () => 0 };
const metrics = createServerMetrics();
const NO_SPANS = { isActive: () => false } as unknown as Tracing;

it.each([
  ["is measured", (storage: Storage) => measuredStorage({ storage, kind: "memory", clock, metrics })],
  ["is traced", (storage: Storage) => tracedStorage(storage, "memory", NO_SPANS)],
])(
  "a store that %s is asked with all that its caller gives, and says what it knows without asking",
  async (_, wrap) => {
    const disk = createMemoryStorage();
    const storage = wrap(disk);
    const told: unknown[] = [];
    using _watch = storage.watch("/", await storage.currentRevision(), {
      events: (events) => told.push(...events.map((event) => event.type === "put" && event.content)),
      error() {},
    });
    const [first, second] = [{ of: "a" }, { of: "b" }];
    const created = await storage.create("/a", Buffer.from("x"), first);
    const revision = await storage.update("/a", Buffer.from("y"), created, second);
    expect(told).toEqual([first, second]);
    expect(storage.known?.revision).toBe(revision);
    const ended = AbortSignal.abort(new Error("gone"));
    await expect(storage.get("/a", { signal: ended })).rejects.toThrow("gone");
    await expect(storage.list("/", { signal: ended })).rejects.toThrow("gone");
  },
);
