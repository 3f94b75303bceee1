// Answers of a target that two readers could end in two places, on a connection on which the caller asks for more: behind a load balancer, that may be
// another user. The caller is a strict reader of bytes.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { openTls } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, onTestFinished, test } from "vitest";
import { BASE, serveProxy } from "./testing/serve-proxy.ts";

const head = (status: string, ...lines: string[]): string => [`HTTP/1.1 ${status}`, ...lines, "", ""].join("\r\n");
const chunked = "transfer-encoding: chunked";
const CHUNKS = "5\r\nhello\r\n0\r\n\r\n";
const FORGED = `${head("200 OK", "content-length: 6")}forged`;

/** `end`: the target closes its connection behind it. */
const ANSWERS: readonly (readonly [name: string, answer: string, end?: "end"])[] = [
  ["a length and chunks", head("200 OK", "content-length: 3", chunked) + CHUNKS],
  ["chunks and a length", head("200 OK", chunked, "content-length: 3") + CHUNKS],
  ["two lengths", `${head("200 OK", "content-length: 2", "content-length: 5")}hello`],
  ["a length with a sign", `${head("200 OK", "content-length: +5")}hello`],
  ["a length with a zero in front", `${head("200 OK", "content-length: 05")}hello`],
  ["a length beyond 64 bits", `${head("200 OK", "content-length: 18446744073709551621")}hello`],
  ["more than its length", `${head("200 OK", "content-length: 2")}ok${FORGED}`],
  ["less than its length", `${head("200 OK", "content-length: 100")}short`, "end"],
  ["an unknown coding", `${head("200 OK", "transfer-encoding: gzip", "content-length: 2")}hello`, "end"],
  ["a coding behind chunks", `${head("200 OK", "transfer-encoding: chunked, gzip")}hello`, "end"],
  ["no length", `${head("200 OK")}hello`, "end"],
  ["a length that its Connection names", `${head("200 OK", "content-length: 5", "connection: content-length")}hello`],
  ["204 with a body", `${head("204 x", "content-length: 6")}forged`],
  ["204 with chunks", head("204 x", chunked) + CHUNKS],
  ["205 with a body", `${head("205 x", "content-length: 6")}forged`],
  ["304 with a body", `${head("304 x", "content-length: 6")}forged${FORGED}`],
  ["100 with a body", `${head("100 x", "content-length: 6")}forged${FORGED}`],
  ["103 with chunks", `${head("103 x", chunked)}${head("200 OK", "content-length: 2")}ok`],
  ["101 unasked", `${head("101 x", "connection: upgrade", "upgrade: websocket")}forged`],
  ["the end of a line in a value", `${head("200 OK", "content-type: a\nset-cookie: b", "content-length: 2")}ok`],
  ["a folded length", `${head("200 OK", "content-length:\r\n 2")}ok`],
  ["a chunk that is longer than it says", head("200 OK", chunked) + CHUNKS.replace("hello", "helloX")],
  ["a length among its trailers", `${head("200 OK", chunked)}5\r\nhello\r\n0\r\ncontent-length: 1\r\n\r\n`],
  ["a chunk of a negative size", `${head("200 OK", chunked)}-5\r\nhello\r\n`],
  ["an end in the middle of a chunk", `${head("200 OK", chunked)}5\r\nhel`, "end"],
  ["two answers", FORGED.replace("forged", "answer") + FORGED],
];

const answers = new Map(ANSWERS.map((answer, at) => [`hostile${at}`, answer]));

async function serveTarget() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (request) => {
      const [, answer = `${head("200 OK", "content-length: 4")}good`, end] =
        answers.get(/\/(hostile\d+) /.exec(request.toString("latin1"))?.[1] ?? "") ?? [];
      socket.write(answer, "latin1");
      if (end !== undefined) socket.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { server: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`, credential: {} };
}

/** The bodies of as many answers as there are methods; "broken" for the last where its connection ended before it did. Throws for all else. */
function readStrictly(text: string, methods: readonly string[]): readonly string[] {
  const bodies: string[] = [];
  let at = 0;
  for (const method of methods) {
    const end = text.indexOf("\r\n\r\n", at);
    const lines = text.slice(at, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(lines[0] ?? "")?.[1]);
    const valuesOf = (name: string) => lines.flatMap((line) => line.toLowerCase().split(`${name}: `)[1] ?? []);
    const [lengths, codings] = [valuesOf("content-length"), valuesOf("transfer-encoding")];
    if (end < 0 || !(status >= 200)) throw new Error(`no answer: ${text.slice(at)}`);
    if (valuesOf("set-cookie").length > 0) throw new Error("a cookie of the target");
    at = end + 4;
    if (method === "HEAD" || status === 204 || status === 304) {
      bodies.push("");
      continue;
    }
    if (lengths.length + codings.length !== 1) throw new Error(`two ends: ${lines.join(", ")}`);
    let body = "";
    for (let isLast = false; !isLast; ) {
      const line = text.indexOf("\r\n", at);
      isLast = codings.length === 0;
      if (!isLast && line < 0) return [...bodies, "broken"];
      const size = isLast ? Number(lengths[0]) : Number.parseInt(text.slice(at, line), 16);
      if (!isLast) at = line + 2;
      if (at + size > text.length) return [...bodies, "broken"];
      body += text.slice(at, at + size);
      at += size + (isLast ? 0 : 2);
      isLast ||= size === 0;
    }
    bodies.push(body);
  }
  if (at !== text.length) throw new Error(`more than was asked for: ${text.slice(at)}`);
  return bodies;
}

describe.each(["GET", "HEAD", "POST"])("to %s, with a request behind it", (method) => {
  test.each(ANSWERS.map(([name], at) => [name, at] as const))("%s", { timeout: 20_000 }, async (_, at) => {
    const { port } = await serveProxy(await serveTarget(), { limits: { responseTimeoutMs: 1_000 } });
    const socket = await openTls(port);
    let text = "";
    socket.on("error", () => undefined).on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const length = method === "POST" ? "Content-Length: 0\r\n" : "";
    const ask = (wanted: string, path: string, more: string): string =>
      `${wanted} ${BASE}/api/v1/${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
    socket.write(ask(method, `hostile${at}`, length) + ask("GET", "good", "Connection: close\r\n"));
    await closed;
    expect(text).not.toContain("forged");
    const [, second] = readStrictly(text, [method, "GET"]);
    // Where the first breaks off, the connection ends with it.
    expect([undefined, "good"]).toContain(second);
  });
});
