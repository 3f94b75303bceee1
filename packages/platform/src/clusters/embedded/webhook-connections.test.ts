import { createServer, type Socket } from "node:net";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, it, onTestFinished } from "vitest";
import { createAddressRules } from "../../proxy/address-rules.ts";
import { createWebhookConnections } from "./webhook-connections.ts";

/** A webhook that answers the first `answers` requests of each connection, and closes the connection when the next one arrives. */
async function closingWebhook(answers: number) {
  const bodies: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const received: string[] = [];
    bodies.push(received);
    sockets.add(socket);
    let text = "";
    socket.setEncoding("latin1").on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += String(chunk);
      if (!text.endsWith("}")) return;
      received.push(text.slice(text.indexOf("\r\n\r\n") + 4));
      text = "";
      if (received.length > answers) socket.destroy();
      else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const webhooks = createWebhookConnections({
    scheduler: systemRuntime.scheduler,
    addresses: createAddressRules(),
    userAgent: "test",
  });
  onTestFinished(() => webhooks[Symbol.dispose]());
  const call = (body: string) =>
    webhooks.call({ origin: `http://127.0.0.1:${port}`, path: "/" }, body, {
      timeoutMs: 10_000,
      signal: new AbortController().signal,
    });
  return { bodies, call };
}

it("asks a webhook again that closes a kept connection instead of answering", async () => {
  const { bodies, call } = await closingWebhook(1);
  for (const body of ['{"a":1}', '{"a":2}', '{"a":3}']) expect(await call(body)).toBe("{}");
  expect(bodies).toEqual([['{"a":1}', '{"a":2}'], ['{"a":2}', '{"a":3}'], ['{"a":3}']]);
});

it("reports a webhook that closes a new connection instead of answering", async () => {
  const { bodies, call } = await closingWebhook(0);
  await expect(call('{"a":1}')).rejects.toThrow("the connection");
  expect(bodies).toHaveLength(1);
});
