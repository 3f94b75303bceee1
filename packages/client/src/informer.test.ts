import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApiClient } from "./api-client.ts";
import { Informer, type InformerEvent } from "./informer.ts";
import { createResourceClient, type ResourceClient } from "./resource-client.ts";
import { sendJson, startTestServer, type TestServer } from "./testing/test-server.ts";
import { createNodeTransport } from "./transport/node.ts";
import type { Transport } from "./transport/transport.ts";
import { readLines, readWatchEvents } from "./watch-events.ts";

const object = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "p-a", resourceVersion },
});
const expired = {
  kind: "Status",
  status: "Failure",
  code: 410,
  reason: "Expired",
  message: "too old resource version",
};

async function* chunks(...texts: (string | Uint8Array)[]) {
  for (const text of texts) yield typeof text === "string" ? Buffer.from(text) : text;
}
async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

describe("the lines of a stream", () => {
  it("are complete with any chunks, and an incomplete last one is dropped", async () => {
    const bytes = Buffer.from("ä€😀\n\nsecond\nhalf");
    for (let at = 1; at < bytes.length; at++) {
      expect(await collect(readLines(chunks(bytes.subarray(0, at), bytes.subarray(at))))).toEqual(["ä€😀", "second"]);
    }
    expect(await collect(readLines(chunks(...[...bytes].map((byte) => Uint8Array.of(byte)))))).toEqual([
      "ä€😀",
      "second",
    ]);
  });
});

describe("watch events", () => {
  const line = (event: unknown) => `${JSON.stringify(event)}\n`;
  it("are objects, bookmarks and errors", async () => {
    const bookmark = { metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } } };
    const events = readWatchEvents(
      chunks(
        line({ type: "ADDED", object: object("a", "1") }),
        line({ type: "BOOKMARK", object: bookmark }),
        line({ type: "NEWS", object: {} }),
        line({ type: "ERROR", object: expired }),
      ),
    );
    const seen: unknown[] = [];
    await expect(
      (async () => {
        for await (const event of events) seen.push(event);
      })(),
    ).rejects.toMatchObject({ name: "ApiError", code: 410, reason: "Expired" });
    expect(seen).toEqual([
      { type: "ADDED", object: object("a", "1") },
      { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
    ]);
  });
});

describe("an informer", () => {
  let server: TestServer;
  let transport: Transport;
  let secrets: ResourceClient<KubeObject>;
  let items: KubeObject[];
  let listVersion: string;
  let watches: { readonly url: URL; readonly response: ServerResponse }[];
  let waitingForWatch: (() => void) | undefined;
  let stop: AbortController;

  beforeEach(async () => {
    server = await startTestServer();
    transport = createNodeTransport({ server: server.url, certificateAuthorityPem: server.certificatePem });
    secrets = createResourceClient(createApiClient({ transport }), { group: "", version: "v1", resource: "secrets" });
    items = [object("a", "1"), object("b", "2")];
    listVersion = "5";
    watches = [];
    stop = new AbortController();
    server.respond((request, response) => {
      const url = new URL(request.url!, server.url);
      if (!url.searchParams.has("watch"))
        return sendJson(response, { metadata: { resourceVersion: listVersion }, items });
      response.writeHead(200).flushHeaders();
      watches.push({ url, response });
      waitingForWatch?.();
    });
  });
  afterEach(async () => {
    stop.abort();
    await transport[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  async function nthWatch(count: number) {
    while (watches.length < count) await new Promise<void>((resolve) => (waitingForWatch = resolve));
    return watches[count - 1]!;
  }
  const send = (response: ServerResponse, type: string, value: unknown) =>
    response.write(`${JSON.stringify({ type, object: value })}\n`);

  function start() {
    const events: string[] = [];
    let wake: (() => void) | undefined;
    const waits: number[] = [];
    const informer = new Informer({
      resource: secrets,
      onEvent: (event: InformerEvent<KubeObject>) => {
        events.push(`${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}`);
        wake?.();
      },
      delay: async (ms) => void waits.push(ms),
    });
    const running = informer.run(stop.signal);
    const seen = async (...expected: string[]) => {
      while (events.length < expected.length) await new Promise<void>((resolve) => (wake = resolve));
      expect(events).toEqual(expected);
      events.length = 0;
    };
    return { informer, running, seen, waits };
  }

  it("lists, then watches from the version of the list", async () => {
    const { informer, seen } = start();
    await informer.synced;
    await seen("added a@1", "added b@2");
    const { url, response } = await nthWatch(1);
    expect(url.searchParams.get("resourceVersion")).toBe("5");
    expect(url.searchParams.get("allowWatchBookmarks")).toBe("true");
    send(response, "MODIFIED", object("a", "6"));
    send(response, "DELETED", object("b", "7"));
    send(response, "ADDED", object("c", "8"));
    await seen("updated a@6", "deleted b@7", "added c@8");
    expect(informer.get("a", "p-a")?.metadata.resourceVersion).toBe("6");
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
  });

  it("resumes from the last event or bookmark when the server ends the watch", async () => {
    const { seen } = start();
    const first = await nthWatch(1);
    send(first.response, "MODIFIED", object("a", "6"));
    send(first.response, "BOOKMARK", { metadata: { resourceVersion: "20" } });
    first.response.end();
    expect((await nthWatch(2)).url.searchParams.get("resourceVersion")).toBe("20");
    await seen("added a@1", "added b@2", "updated a@6");
    expect(server.requests.filter((request) => !request.includes("watch"))).toHaveLength(1);
  });

  it("lists again when its version is too old, and reports only what changed", async () => {
    const { seen } = start();
    const { response } = await nthWatch(1);
    await seen("added a@1", "added b@2");
    items = [object("b", "2"), object("c", "9")];
    listVersion = "10";
    send(response, "ERROR", expired);
    response.end();
    expect((await nthWatch(2)).url.searchParams.get("resourceVersion")).toBe("10");
    await seen("added c@9", "deleted a@1");
  });

  it("resumes after a lost connection, without a new list", async () => {
    const { informer, seen, waits } = start();
    await informer.synced;
    (await nthWatch(1)).response.destroy();
    const { url, response } = await nthWatch(2);
    expect(url.searchParams.get("resourceVersion")).toBe("5");
    send(response, "ADDED", object("c", "6"));
    await seen("added a@1", "added b@2", "added c@6");
    expect(waits).toEqual([800]);
  });

  it("waits longer each time a server hangs up at once", async () => {
    const { waits } = start();
    for (let count = 1; count <= 4; count++) (await nthWatch(count)).response.end();
    await nthWatch(5);
    expect(waits).toEqual([800, 1600, 3200, 6400]);
  });

  it("keeps what its transform returns", async () => {
    const labelled = { ...object("a", "1"), metadata: { ...object("a", "1").metadata, labels: { team: "x" } } };
    items = [labelled];
    const transform = ({ metadata: { labels: _, ...metadata }, ...rest }: KubeObject): KubeObject => ({
      ...rest,
      metadata,
    });
    const informer = new Informer({ resource: secrets, transform });
    void informer.run(stop.signal);
    await informer.synced;
    expect(informer.list()).toEqual([object("a", "1")]);
  });

  it("stops with its signal, and closes its watch", async () => {
    const { running } = start();
    const { response } = await nthWatch(1);
    const closed = once(response, "close");
    stop.abort();
    await running;
    await closed;
  });

  it("never counts as synced when it is stopped before the first list", async () => {
    stop.abort();
    const { informer, running } = start();
    await running;
    await expect(informer.synced).rejects.toMatchObject({ name: "AbortError" });
  });
});
