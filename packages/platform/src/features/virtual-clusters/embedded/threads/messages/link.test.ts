import { MessageChannel } from "node:worker_threads";
import { ApiError, conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { RevisionConflictError, StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { afterEach, describe, expect, it } from "vitest";
import { createLink, type IncomingCall, Transferred } from "./link.ts";

type Echo = { readonly echo: { readonly args: unknown; readonly result: unknown } };
type Notes = { readonly told: string };

const opened: MessageChannel[] = [];
afterEach(() => {
  for (const { port1, port2 } of opened.splice(0)) {
    port1.close();
    port2.close();
  }
});

function pair(echo: (args: unknown, call: IncomingCall) => unknown, marks: number[] = []) {
  const channel = new MessageChannel();
  opened.push(channel);
  const told: string[] = [];
  const errors: unknown[] = [];
  let mark = 0;
  const near = createLink<Echo, Notes, Echo, Notes>({
    port: channel.port1,
    calls: { echo: () => undefined },
    notes: { told: () => undefined },
    mark: {
      save: () => mark,
      restore: (saved) => {
        mark = saved;
        marks.push(saved);
      },
    },
    onError: (error) => errors.push(error),
  });
  createLink<Echo, Notes, Echo, Notes>({
    port: channel.port2,
    calls: { echo },
    notes: {
      told(text) {
        told.push(text);
        if (text === "fail") throw new Error("the note failed");
      },
    },
    onError: (error) => errors.push(error),
  });
  return { near, told, errors, setMark: (next: number) => (mark = next) };
}

describe("a link", () => {
  it("answers calls with values and with moved buffers", async () => {
    const { near } = pair((args) => {
      if (args !== "bytes") return args;
      const bytes = new Uint8Array([1, 2, 3]);
      return new Transferred(bytes, [bytes.buffer]);
    });
    expect(await near.call("echo", { a: [1, "b"] })).toEqual({ a: [1, "b"] });
    expect(await near.call("echo", "bytes")).toEqual(new Uint8Array([1, 2, 3]));
  });

  it.each([
    notFoundError({ group: "", resource: "pods" }, "a"),
    conflictError({ group: "", resource: "pods" }, "a", "changed"),
    new RevisionConflictError("/registry/a", 3, { key: "/registry/a", value: new Uint8Array([1]), revision: 4 }),
    new StorageFullError("the disk is full"),
    new TypeError("unexpected"),
  ])("rejects with the error of the other side: %s", async (error) => {
    const { near } = pair(() => Promise.reject(error));
    const found: unknown = await near.call("echo", undefined).catch((refused: unknown) => refused);
    if (!(found instanceof Error)) throw new Error("no error");
    expect(found.message).toBe(error.message);
    expect(found.name).toBe(error.name);
    if (error instanceof TypeError) return;
    expect(found).toBeInstanceOf(error.constructor);
    if (error instanceof ApiError) expect((found as ApiError).toStatus()).toEqual(error.toStatus());
    if (error instanceof RevisionConflictError) {
      expect((found as RevisionConflictError).current).toEqual(error.current);
    }
  });

  it("cancels a call on the other side", async () => {
    let cancelled: unknown;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { near, told } = pair((_, call) => {
      call.onCancel = (reason) => {
        cancelled = reason;
      };
      begin();
      return new Promise(() => undefined);
    });
    const abort = new AbortController();
    const call = near.call("echo", 1, { signal: abort.signal });
    await begun;
    abort.abort(new Error("the client has gone"));
    await expect(call).rejects.toThrow("the client has gone");
    near.note("told", "after");
    await expect.poll(() => told).toEqual(["after"]);
    expect(cancelled).toMatchObject({ message: "the client has gone" });
  });

  it("refuses what cannot be copied, and goes on", async () => {
    const { near } = pair((args) => args);
    await expect(near.call("echo", () => undefined)).rejects.toThrow("could not be cloned");
    expect(await near.call("echo", 1)).toBe(1);
  });

  it("sends the others of the same turn where one cannot be copied", async () => {
    const { near, told } = pair((args) => args);
    near.note("told", "before");
    const refused = near.call("echo", () => undefined);
    const bytes = new Uint8Array([1, 2, 3]);
    const moved = near.call("echo", bytes, { transfer: [bytes.buffer] });
    await expect(refused).rejects.toThrow("could not be cloned");
    expect(await moved).toEqual(new Uint8Array([1, 2, 3]));
    expect(told).toEqual(["before"]);
  });

  it("takes each message of a turn after all that follows at once from the one before", async () => {
    const order: string[] = [];
    const { near } = pair(async (args) => {
      order.push(`${args} begins`);
      for (let count = 0; count < 5; count++) await undefined;
      order.push(`${args} goes on`);
      return args;
    });
    await Promise.all(["first", "second", "third"].map((name) => near.call("echo", name)));
    expect(order).toEqual(["first", "second", "third"].flatMap((name) => [`${name} begins`, `${name} goes on`]));
  });

  it("rejects all calls when it is closed", async () => {
    const { near } = pair(() => new Promise(() => undefined));
    const call = near.call("echo", 1);
    near.close(new Error("the thread ended"));
    await expect(call).rejects.toThrow("the thread ended");
    await expect(near.call("echo", 2)).rejects.toThrow("the thread ended");
  });

  it("continues under the mark with which a call began", async () => {
    const marks: number[] = [];
    const { near, setMark } = pair((args) => args, marks);
    setMark(7);
    const first = near.call("echo", 1);
    setMark(8);
    const second = near.call("echo", 2);
    await Promise.all([first, second]);
    expect(marks).toEqual([7, 8]);
  });

  it("reports errors of notes", async () => {
    const { near, errors, told } = pair((args) => args);
    near.note("told", "fail");
    near.note("told", "next");
    await expect.poll(() => told).toEqual(["fail", "next"]);
    expect(errors).toMatchObject([{ message: "the note failed" }]);
  });
});
