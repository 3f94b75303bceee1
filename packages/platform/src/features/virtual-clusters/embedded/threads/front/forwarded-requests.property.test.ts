// Nothing of a request that a cluster thread serves is left on either side, however and whenever it ends.

import { setMaxListeners } from "node:events";
import { Duplex } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import { Cancellation } from "@postern/apiserver/transport/cancellation";
import { describe, expect, it } from "vitest";
import { createRequestServer } from "../inside/serve-requests.ts";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { createLink, type Link } from "../messages/link.ts";
import { createRequestForwarder, type RequestForwarder } from "./forward-requests.ts";

const SEED = Number(process.env["TEST_SEED"]);
const WORLDS = Number(process.env["WORLDS"] ?? 30);
const REQUESTS = 40;
const UID = "cluster";
const USER = { name: "alice", groups: ["devs"] };

type Draw = ReturnType<typeof randomNumbers>;

/** A few turns of the event loop, so that ends come between any two messages. */
async function aWhile(draw: Draw): Promise<void> {
  for (let count = draw(6); count > 0; count--) await turn();
}

/** The steps of a handler, and what it answers with; drawn by the one who asks. */
type Plan = { readonly steps: readonly number[]; readonly answer: number };

function handlerOf(draw: Draw, stopped: AbortSignal) {
  return async (context: RequestContext): Promise<ApiResponse> => {
    const { steps, answer } = JSON.parse(context.request.query.get("plan") ?? "") as Plan;
    const { signal } = context;
    setMaxListeners(0, signal, stopped);
    const whenOver = new Promise<void>((resolve) => {
      for (const over of [signal, stopped]) over.addEventListener("abort", () => resolve(), { once: true });
      if (signal.aborted || stopped.aborted) resolve();
    });
    for (const step of steps) {
      await aWhile(draw);
      if (step === 0) await context.outerAuthorizer?.authorize({} as never);
      if (step === 1) await context.request.body(1_000);
      if (step === 2) await context.outside?.(() => Promise.race([whenOver, aWhile(draw)]));
      if (step === 3) {
        using _ = await context.takeTurn?.();
        await aWhile(draw);
      }
      // One that ends without giving it back, as a watch that is cut does.
      if (step === 4) await context.takeTurn?.();
      context.audit.annotate("step", String(step));
    }
    if (stopped.aborted) throw new Error("the virtual cluster has been stopped");
    if (answer === 0) return jsonResponse(200, "{}");
    if (answer === 1) throw new Error("refused");
    if (answer === 2) {
      await whenOver;
      return jsonResponse(200, "{}");
    }
    const { upgrade } = context.request;
    if (answer === 3 && upgrade !== undefined) {
      const { socket } = upgrade.accept();
      socket.on("error", () => undefined).on("data", (bytes) => socket.write(bytes));
      void whenOver.then(() => socket.destroy());
      if (draw(4) === 0) throw new Error("failed after the handshake");
      return { status: 101, headers: {}, body: { type: "upgraded", done: new Promise((r) => socket.on("close", r)) } };
    }
    const isEndless = answer === 4;
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      body: {
        type: "stream",
        async run(sink, ended) {
          const over = () => ended.aborted || stopped.aborted;
          for (let part = 0; (isEndless || part < 5) && !over(); part++) {
            if (!(await sink.write("x".repeat(1 + draw(50_000))))) return;
            await aWhile(draw);
          }
          if (draw(5) === 0) throw new Error("the stream failed");
        },
      },
    };
  };
}

/** The client, the transport and the chain of the front, for one request. */
async function ask(draw: Draw, forwarder: RequestForwarder, held: { places: number }): Promise<void> {
  const steps = Array.from({ length: draw(4) }, () => draw(5));
  const answer = draw(6);
  const cancellation = new Cancellation();
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  socket.on("error", () => undefined);
  const url = `/api/v1/pods?plan=${encodeURIComponent(JSON.stringify({ steps, answer } satisfies Plan))}`;
  const context = createTestContext({ url, signal: cancellation.signal, method: "POST", body: { a: 1 } });
  const { request } = context;
  const isCheap = draw(2) === 0;
  const own = Object.assign(request, {
    upgrade: { protocol: "websocket", accept: () => ({ socket, head: new Uint8Array(0) }) },
    ...(isCheap ? { onAbort: cancellation.onAbort.bind(cancellation) } : {}),
  });
  const hold = (): Disposable => {
    held.places++;
    let isHeld = true;
    return {
      [Symbol.dispose]() {
        if (isHeld) held.places--;
        isHeld = false;
      },
    };
  };
  const whole = context.with({
    request: own,
    user: USER,
    outerAuthorizer: {
      authorize: async () => {
        await aWhile(draw);
        return { verdict: "allow", reason: "" };
      },
      narrowRules: (rules) => rules,
    },
    async takeTurn() {
      await aWhile(draw);
      cancellation.signal.throwIfAborted();
      return hold();
    },
    async outside(work) {
      using _ = hold();
      return await work();
    },
  });
  // Or its deadline passes.
  const leaves =
    draw(3) > 0 || answer === 2
      ? aWhile(draw).then(() => cancellation.abort(new Error("the client has gone")))
      : undefined;
  try {
    const { body } = await forwarder.forward(UID, whole, USER);
    await aWhile(draw);
    if (body.type === "upgraded") {
      if (draw(2) === 0) socket.push("hello");
      await aWhile(draw);
      socket.destroy();
      await body.done;
    } else if (body.type === "stream") {
      const way = draw(4);
      // Never run: its client went away between the head and the body.
      if (way === 0) cancellation.abort(new Error("the client has gone"));
      else if (way === 1) await body.run({ write: () => false, bufferedBytes: 0 }, AbortSignal.abort());
      else {
        const failsAt = draw(8);
        let written = 0;
        const write = async (): Promise<boolean> => {
          await aWhile(draw);
          if (written++ === failsAt && way === 2) throw new Error("no place for the next part");
          return written < 10;
        };
        await body.run({ write, bufferedBytes: 0 }, cancellation.signal);
      }
    }
  } catch {
    // The end of a request is drawn.
  }
  await leaves;
  // As the transport does at the end of the exchange.
  cancellation.abort(new Error("over"));
}

describe(`${WORLDS} threads with ${REQUESTS} requests each, TEST_SEED=${SEED}`, () => {
  it("leave nothing behind on either side", { timeout: 120_000 }, async () => {
    for (let world = 0; world < WORLDS; world++) {
      const draw = randomNumbers(SEED + world);
      const { port1, port2 } = new MessageChannel();
      const failures: unknown[] = [];
      const onError = (error: unknown): void => void failures.push(error);
      const held = { places: 0 };
      const stopped = new AbortController();
      const forwarder = createRequestForwarder(() => front);
      const front: Link<ThreadCalls, ThreadNotes> = createLink<FrontCalls, FrontNotes, ThreadCalls, ThreadNotes>({
        port: port1,
        // No request of this test asks for anything else.
        calls: forwarder.calls as never,
        notes: forwarder.notes as never,
        onError,
      });
      const handle = handlerOf(draw, stopped.signal);
      const server = createRequestServer({
        runtime: systemRuntime,
        front: () => thread,
        mark: { save: () => 0, restore: () => undefined },
        workThreads: undefined as never,
        backlog: { perWatch: 1e6, perConnection: 1e6, total: 1e6 },
        handlerOf: () => ({ lane: "a", handle }),
      });
      const thread: Link<FrontCalls, FrontNotes> = createLink<ThreadCalls, ThreadNotes, FrontCalls, FrontNotes>({
        port: port2,
        calls: server.calls as never,
        notes: server.notes as never,
        onError,
      });
      const requests = Array.from({ length: REQUESTS }, async () => {
        await aWhile(draw);
        await ask(draw, forwarder, held);
      });
      const end = draw(3);
      await aWhile(draw);
      // The cluster is deleted, or the thread ends.
      if (end === 1) stopped.abort();
      if (end === 2) {
        front.close(new Error("the thread has ended"));
        forwarder.ended();
      }
      await Promise.all(requests);
      const left = () => ({
        forwarded: forwarder.open,
        places: held.places,
        ...(end === 2 ? {} : { calls: front.open + thread.open, served: server.open, connections: server.connections }),
      });
      const nothing = { forwarded: 0, places: 0, ...(end === 2 ? {} : { calls: 0, served: 0, connections: 0 }) };
      await expect.poll(left, { timeout: 5_000, message: `world ${world}, end ${end}` }).toEqual(nothing);
      expect(failures).toEqual([]);
      port1.close();
      port2.close();
    }
  });
});
