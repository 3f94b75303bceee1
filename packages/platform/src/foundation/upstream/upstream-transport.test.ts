// Answers of a target to the platform's own requests.

import { describe, expect, it } from "vitest";
import { openConnections } from "../../features/proxy/testing/serve-proxy.ts";
import { serveUpstream } from "../../features/proxy/testing/serve-upstream.ts";
import { createUpstreamClient } from "./upstream-transport.ts";

async function ask(answer: string, status = 200) {
  const upstream = await serveUpstream((_request, response) => void response.writeHead(status).end(answer));
  const connections = openConnections({ ...upstream, server: upstream.url, credential: {} });
  return await createUpstreamClient(connections, "test").request({ method: "GET", path: "/api/v1/namespaces" });
}

describe("an answer to a request of the platform", () => {
  it.each([
    "ok",
    "{",
    "[]",
    "5",
    '"text"',
    '{"metadata":[]}',
    '{"metadata":{"name":5}}',
    '{"metadata":{"labels":"a"}}',
    '{"items":{}}',
    '{"items":[null]}',
    '{"items":[[]]}',
    '{"items":[{"metadata":{"name":{}}}]}',
    '{"spec":5}',
    '{"status":[]}',
    '{"status":{"conditions":{}}}',
    '{"status":{"conditions":[null]}}',
  ])("that is no object of Kubernetes is 502: %s", async (answer) => {
    await expect(ask(answer)).rejects.toMatchObject({
      code: 502,
      details: { causes: [{ reason: "InvalidResponse" }] },
    });
  });

  it.each([
    ["", { metadata: {} }],
    ['{"kind":"Status","status":"Success"}', { status: "Success" }],
    ['{"gitVersion":"v1.36.2"}', { gitVersion: "v1.36.2" }],
    ['{"metadata":{"name":"a","labels":null},"status":null}', { metadata: { name: "a" }, status: {} }],
    ['{"metadata":{"continue":"b"},"items":null}', { metadata: { continue: "b" } }],
    ['{"items":[{"metadata":{"name":"a"}}]}', { items: [{ metadata: { name: "a" } }] }],
  ])("has no members that are null: %s", async (answer, object) => {
    expect(await ask(answer)).toMatchObject(object);
  });

  it.each([
    [200, 512 << 10],
    [500, 64 << 10],
  ])("with code %i is read up to %i bytes: parsing it takes turns of the event loop", async (status, most) => {
    const long = (bytes: number): string => `{"items":[${"{},".repeat(bytes / 3)}{}]}`;
    await expect(ask(long(most), status)).rejects.toMatchObject({
      code: 502,
      details: { causes: [{ reason: "AnswerTooLarge" }] },
    });
    if (status === 200) expect(await ask(long(most / 2), status)).toHaveProperty("items");
    else await expect(ask(long(most / 2), status)).rejects.toMatchObject({ code: 500 });
  });
});
