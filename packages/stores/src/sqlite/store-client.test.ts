import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { StorageFullError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { keyOf, WatcherSet } from "@postern/apiserver/storage/watcher-set";
import { afterEach, expect, it, vi } from "vitest";
import { BytePacker } from "./byte-packer.ts";
import { packOutcomes } from "./packed-writes.ts";
import { StoreClient } from "./store-client.ts";
import { portOfThread } from "./store-port.ts";
import type { ToWorker } from "./worker-protocol.ts";

afterEach(() => void vi.restoreAllMocks());

/** A thread that has committed every write that it is sent. */
class CommittingThread extends EventEmitter {
  #revision = 0;
  postMessage(message: ToWorker): void {
    if (message.type !== "requests") return;
    const results = message.writes.keys.map(() => ({
      type: "written" as const,
      revision: ++this.#revision,
      before: undefined,
    }));
    setImmediate(() => this.emit("message", { type: "committed", ...packOutcomes(results) }));
  }
}

it("goes on behind a write that cannot be packed", async () => {
  const client = new StoreClient({ port: portOfThread(new CommittingThread() as unknown as Worker), revision: 0 });
  const write = (key: string) => client.write({ key, expected: undefined, value: new Uint8Array(1) });
  vi.spyOn(BytePacker.prototype, "add").mockImplementationOnce(() => {
    throw new TypeError("once");
  });
  const written = await Promise.allSettled([write("a"), write("b")]);
  expect(written).toMatchObject([{ reason: new TypeError("once") }, { value: 1 }]);
  expect(await write("c")).toBe(2);
});

it("reports failures of the database, but not a full disk", async () => {
  const thread = new EventEmitter() as EventEmitter & Pick<Worker, "postMessage">;
  const failures: string[] = [];
  let kind = "unavailable";
  thread.postMessage = () =>
    void setImmediate(() =>
      thread.emit("message", { type: "notCommitted", count: 1, failure: { kind, message: "disk I/O error" } }),
    );
  const port = portOfThread(thread as unknown as Worker);
  const client = new StoreClient({ port, revision: 0, onFailure: ({ cause }) => void failures.push(String(cause)) });
  const write = () => client.write({ key: "a", expected: undefined, value: new Uint8Array(1) });
  await expect(write()).rejects.toThrow(StorageUnavailableError);
  kind = "full";
  await expect(write()).rejects.toThrow(StorageFullError);
  expect(failures).toEqual(["Error: disk I/O error"]);
});

it("rejects the writes of a commit whose events cannot be delivered, and all later ones", async () => {
  const client = new StoreClient({ port: portOfThread(new CommittingThread() as unknown as Worker), revision: 0 });
  const write = (key: string) => client.write({ key, expected: undefined, value: new Uint8Array(1) });
  expect(await write("a")).toBe(1);
  vi.spyOn(WatcherSet.prototype, "deliver").mockImplementation(() => {
    throw new TypeError("an error in between");
  });
  const written = await Promise.allSettled([write("b"), write("c")]);
  expect(written.map((each) => each.status === "rejected" && each.reason)).toEqual([
    expect.any(StorageUnavailableError),
    expect.any(StorageUnavailableError),
  ]);
  await expect(write("d")).rejects.toThrow(StorageUnavailableError);
});

it("delivers a commit of large objects in several turns, and each write settles behind its event", async () => {
  const thread = new CommittingThread();
  const client = new StoreClient({ port: portOfThread(thread as unknown as Worker), revision: 0 });
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const told: { readonly key: string; readonly turn: number }[] = [];
  client.watch("", 0, {
    events: (events) => told.push(...events.map((event) => ({ key: keyOf(event), turn }))),
    error: () => {},
  });
  const write = async (key: string, bytes = 100_000) => {
    const revision = await client.write({ key, expected: undefined, value: new Uint8Array(bytes) });
    expect(told.at(revision - 1)?.key).toBe(key);
    // Nothing is known of a revision before its event was delivered.
    expect(client.known.revision).toBe(told.length);
    return revision;
  };
  const large = ["a", "b", "c", "d", "e", "f"].map((key) => write(key));
  // The thread answers it while most of the first commit is not delivered yet.
  await new Promise((resolve) => setImmediate(resolve));
  const small = write("later", 1);
  expect(await Promise.all([...large, small])).toEqual([1, 2, 3, 4, 5, 6, 7]);
  isOver = true;
  expect(told.map(({ key }) => key)).toEqual(["a", "b", "c", "d", "e", "f", "later"]);
  const turns = told.slice(0, 6).map((each) => each.turn);
  expect([...new Set(turns)].map((each) => turns.filter((one) => one === each).length)).toEqual([2, 2, 2]);
});

it("delivers all that was committed when the thread ends", async () => {
  const thread = new CommittingThread();
  const client = new StoreClient({ port: portOfThread(thread as unknown as Worker), revision: 0 });
  const told: string[] = [];
  client.watch("", 0, { events: (events) => told.push(...events.map(keyOf)), error: () => {} });
  const large = ["a", "b", "c", "d", "e"].map((key) =>
    client.write({ key, expected: undefined, value: new Uint8Array(200_000) }),
  );
  thread.once("message", () => thread.emit("exit"));
  expect(await Promise.all(large)).toEqual([1, 2, 3, 4, 5]);
  expect(told).toEqual(["a", "b", "c", "d", "e"]);
});
