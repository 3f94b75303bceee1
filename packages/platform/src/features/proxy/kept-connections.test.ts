// When a connection to the target is kept for the next request.

import { once } from "node:events";
import { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { expect, onTestFinished, test } from "vitest";
import { openConnections } from "./testing/serve-proxy.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

/** A target in another thread, which answers while this one is busy. `counts`: connections, and responses that have been written. */
const TARGET = `
  const { workerData, parentPort } = require("node:worker_threads");
  const { certificate, counts } = workerData;
  const server = require("node:https").createServer(certificate, (request, response) => {
    response.on("finish", () => setImmediate(() => {
      Atomics.add(counts, 1, 1);
      Atomics.notify(counts, 1);
    }));
    response.end("{}");
  });
  server.on("secureConnection", () => Atomics.add(counts, 0, 1));
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;
const WAIT_MS = 2_000;

test("a response that is read before Node hears that the request has left leaves the connection for the next", async () => {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(TARGET, { eval: true, workerData: { certificate: serverCertificate, counts } });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = await once(worker, "message");
  const target = {
    server: `https://127.0.0.1:${port}`,
    certificateAuthorityPem: serverCertificate.cert,
    credential: {},
  };
  const connections = openConnections(target);
  const ask = async () => {
    const signal = new AbortController().signal;
    const response = await connections.send({ method: "GET", path: "/", headers: {}, signal });
    return Readable.from(response)
      .setEncoding("utf8")
      .reduce((text, chunk) => text + chunk, "");
  };
  await ask();
  for (let count = 2; count < 12; count++) {
    // Node learns of a write in this phase of the loop in the same phase of its next round: behind the read of the answer.
    await new Promise((resolve) => setImmediate(resolve));
    const asked = ask();
    await new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)));
    Atomics.wait(counts, 1, count - 1, WAIT_MS);
    expect(await asked).toBe("{}");
  }
  expect(counts[0]).toBe(1);
});

test.each(["HEAD", "DELETE", "OPTIONS", "PATCH"])("%s leaves its connection for the next request", async (method) => {
  const upstream = await serveUpstream((request, response) => {
    request.resume().once("end", () => void response.end("{}"));
  });
  const connections = openConnections({ ...upstream, server: upstream.url, credential: {} });
  const signal = new AbortController().signal;
  for (let count = 0; count < 3; count++) {
    const body = method === "HEAD" ? {} : { body: "{}" };
    const response = await connections.send({ method, path: "/", headers: {}, signal, ...body });
    for await (const _ of response);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(upstream.accepted()).toBe(1);
});

test("a POST that was not sent, since its kept connection was closed before, takes another one", async () => {
  const upstream = await serveUpstream((request, response) => {
    request.resume().once("end", () => void response.end("{}"));
  });
  const connections = openConnections({ ...upstream, server: upstream.url, credential: {} });
  const ask = async () => {
    const signal = new AbortController().signal;
    const response = await connections.send({ method: "POST", path: "/", headers: {}, body: "{}", signal });
    for await (const _ of response);
    return response.statusCode;
  };
  for (let count = 1; count <= 3; count++) {
    expect(await ask()).toBe(200);
    const [socket] = upstream.sockets;
    const closed = new Promise((resolve) => socket?.once("close", resolve));
    socket?.end();
    await closed;
    expect(upstream.accepted()).toBe(count);
  }
});
