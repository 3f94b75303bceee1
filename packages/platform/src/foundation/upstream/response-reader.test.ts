// Responses of a target byte by byte, and beside Node's own client.

import { once } from "node:events";
import { type IncomingHttpHeaders, request } from "node:http";
import { createServer } from "node:net";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { ResponseReader } from "./response-reader.ts";
import { InvalidResponseError } from "./upstream-failure.ts";

type Read = {
  readonly heads: readonly (readonly [status: number, headers: IncomingHttpHeaders])[];
  readonly body: string;
  readonly outcome: "whole" | "broken" | "refused";
  readonly persists: boolean;
  /** Bytes behind the response. */
  readonly rest: number;
};

/** `sizes` are those of the reads in turns. The connection ends behind the bytes. */
function readAll(text: string, sizes: readonly number[], method = "GET"): Read {
  const heads: [number, IncomingHttpHeaders][] = [];
  const parts: Buffer[] = [];
  let isWhole = false;
  const reader = new ResponseReader({
    onHead: (status, headers) => heads.push([status, headers]),
    onData: (bytes) => parts.push(Buffer.from(bytes)),
    onEnd: () => {
      isWhole = true;
    },
  });
  reader.expect(method);
  const bytes = Buffer.from(text, "latin1");
  let isRefused = false;
  let rest = 0;
  try {
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const size = sizes[turn % sizes.length] ?? bytes.length;
      // The reader moves parts of a body within what it gets.
      const piece = Buffer.from(bytes.subarray(at, at + size));
      rest += piece.length - reader.read(piece);
      at += size;
    }
    reader.end();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidResponseError);
    isRefused = true;
  }
  const outcome = isRefused ? "refused" : isWhole ? "whole" : "broken";
  return { heads, body: Buffer.concat(parts).toString("latin1"), outcome, persists: reader.persists, rest };
}

const response = (status: string, lines: readonly string[], body = ""): string =>
  [`HTTP/1.1 ${status}`, ...lines, "", body].join("\r\n");

const CHUNKED = "transfer-encoding: chunked";

test.each([
  ["a length", response("200 OK", ["content-length: 2"], "ok"), "ok", true],
  ["no reason phrase", response("200", ["content-length: 2"], "ok"), "ok", true],
  ["an empty body", response("200 OK", ["content-length: 0"]), "", true],
  ["chunks", response("200 OK", [CHUNKED], "2\r\nok\r\n3;a=b\r\nabc\r\n0\r\n\r\n"), "okabc", true],
  ["trailers", response("200 OK", [CHUNKED], "2\r\nok\r\n0\r\na: b\r\nc: d\r\n\r\n"), "ok", true],
  ["the end of the connection", response("200 OK", [], "ok"), "ok", false],
  ["a connection that closes", response("200 OK", ["content-length: 2", "connection: x, Close"], "ok"), "ok", false],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok", false],
  ["204", response("204 No Content", []), "", true],
  ["304 with the length of what was not sent", response("304 x", ["content-length: 9"]), "", true],
  ["interim responses", response("103 x", ["link: a"]) + response("200 OK", ["content-length: 2"], "ok"), "ok", true],
])("%s is read, however it is cut", (_, text, body, persists) => {
  for (const size of [1, 2, 3, 7, text.length]) {
    expect(readAll(text, [size])).toMatchObject({ outcome: "whole", body, persists, rest: 0 });
  }
});

test("a response to HEAD has no body", () => {
  for (const line of ["content-length: 9", CHUNKED, "x: y"]) {
    expect(readAll(response("200 OK", [line]), [5], "HEAD")).toMatchObject({ outcome: "whole", body: "", rest: 0 });
  }
});

test.each([
  ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["lines that end in a line feed alone", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok\r\n\r\n"],
  ["a folded line", response("200 OK", ["a: b", " c", "content-length: 0"])],
  ["a space before the colon", response("200 OK", ["content-length : 2"], "ok")],
  ["a name that is none", response("200 OK", ["a(b): c", "content-length: 0"])],
  ["a control character", response("200 OK", ["a: b\u0000", "content-length: 0"])],
  ["a carriage return alone", response("200 OK", ["a: b\rc: d", "content-length: 0"])],
  ["two lengths", response("200 OK", ["content-length: 2", "content-length: 2"], "ok")],
  ["a list of lengths", response("200 OK", ["content-length: 2, 2"], "ok")],
  ["a negative length", response("200 OK", ["content-length: -1"])],
  ["a length with a sign", response("200 OK", ["content-length: +2"], "ok")],
  ["a length beyond all numbers", response("200 OK", [`content-length: ${"9".repeat(20)}`])],
  ["a length and chunks", response("200 OK", ["content-length: 2", CHUNKED], "2\r\nok\r\n0\r\n\r\n")],
  ["another encoding", response("200 OK", ["transfer-encoding: gzip, chunked"], "0\r\n\r\n")],
  ["two encodings", response("200 OK", [CHUNKED, CHUNKED], "0\r\n\r\n")],
  ["a size that is none", response("200 OK", [CHUNKED], "0x2\r\nok\r\n0\r\n\r\n")],
  ["a size that a line feed ends", response("200 OK", [CHUNKED], "2\nok\r\n0\r\n\r\n")],
  ["a chunk that is longer than its size", response("200 OK", [CHUNKED], "2\r\nokk\r\n0\r\n\r\n")],
  ["a long extension", response("200 OK", [CHUNKED], `2;${"a".repeat(300)}\r\nok\r\n0\r\n\r\n`)],
  ["a trailer that is none", response("200 OK", [CHUNKED], "0\r\na\r\n\r\n")],
  ["long trailers", response("200 OK", [CHUNKED], `0\r\na: ${"b".repeat(20_000)}\r\n\r\n`)],
  ["a long head", response("200 OK", [`a: ${"b".repeat(20_000)}`])],
])("%s is refused, however it is cut", (_, text) => {
  for (const sizes of [[1], [3], [text.length]]) expect(readAll(text, sizes).outcome).toBe("refused");
});

test("a head costs time by its length", () => {
  const started = performance.now();
  for (const value of [`${" ".repeat(8_000)}${"a".repeat(8_000)}\u0000`, " \t".repeat(8_000)]) {
    for (let count = 0; count < 100; count++)
      readAll(response("200 OK", [`a:${value}`, "content-length: 0"]), [1 << 20]);
  }
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("what is cut off is not whole", () => {
  for (const text of [response("200 OK", ["content-length: 3"], "ok"), response("200 OK", [CHUNKED], "2\r\nok\r\n")]) {
    for (let length = 0; length < text.length; length++)
      expect(readAll(text.slice(0, length), [4]).outcome).toBe("broken");
  }
});

test("bytes behind a response, and behind a 101, are left", () => {
  expect(readAll(response("200 OK", ["content-length: 2"], "okmore"), [100])).toMatchObject({ body: "ok", rest: 4 });
  expect(readAll(response("101 x", ["upgrade: a"], "more"), [100])).toMatchObject({ heads: [[101, {}]], rest: 4 });
});

test("chunks of one read are one piece, and a piece does not keep what came around it", () => {
  const pieces: Buffer[] = [];
  const reader = new ResponseReader({ onHead() {}, onData: (bytes) => pieces.push(bytes), onEnd() {} });
  reader.expect("GET");
  reader.read(Buffer.from(response("200 OK", [CHUNKED], "1\r\na\r\n".repeat(1_000)), "latin1"));
  expect(pieces.map(String)).toEqual(["a".repeat(1_000)]);
  expect(pieces[0]?.buffer.byteLength).toBeLessThan(16 << 10);
});

const TOKEN = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
const VALUE = fc.stringMatching(/^[!-~]{0,3}[ -~]{0,9}$/);
const BODY = fc.string({ unit: "binary-ascii", maxLength: 40 });

/** Mostly right, with something odd here and there. */
const ANSWER = fc
  .record({
    version: fc.constantFrom("1.1", "1.1", "1.1", "1.0"),
    status: fc.constantFrom("200 OK", "200", "201 Created", "204 x", "304 x", "404 Not Found", "500 \u00e9"),
    lines: fc.array(
      fc.tuple(TOKEN, fc.constantFrom(": ", ":", ":\t"), VALUE).map((parts) => parts.join("")),
      { maxLength: 4 },
    ),
    framing: fc.constantFrom("length", "chunks", "close", "wrong"),
    body: BODY,
    end: fc.constantFrom("", "", "", "x", "\r\n"),
  })
  .map(({ version, status, lines, framing, body, end }) => {
    const size = body.length.toString(16);
    const whole = framing === "chunks" ? `${body === "" ? "" : `${size}\r\n${body}\r\n`}0\r\n\r\n` : body;
    const framed = {
      length: [`Content-Length: ${body.length}`],
      chunks: ["Transfer-Encoding: chunked"],
      close: [],
      wrong: [`Content-Length: ${body.length + 1}`],
    }[framing];
    return [`HTTP/${version} ${status}`, ...lines, ...framed, "", `${whole}${end}`].join("\r\n");
  });

test("what Node's client reads is read alike, and what it does not read whole is not whole", async () => {
  let answer = "";
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => void socket.end(answer, "latin1"));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const byNode = (): Promise<Pick<Read, "outcome" | "body"> & { readonly head?: Read["heads"][number] }> =>
    new Promise((resolve) => {
      const asked = request({ port, host: "127.0.0.1", agent: false }, (answered) => {
        const head = [answered.statusCode ?? 0, answered.headers] as const;
        let body = "";
        answered.setEncoding("latin1").on("data", (part) => {
          body += part;
        });
        answered.once("close", () => resolve({ outcome: answered.complete ? "whole" : "broken", body, head }));
        answered.on("error", () => undefined);
      });
      asked.on("error", () => resolve({ outcome: "refused", body: "" }));
      asked.end();
    });
  await fc.assert(
    fc.asyncProperty(
      ANSWER,
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      async (text, sizes) => {
        answer = text;
        const [theirs, ours] = [await byNode(), readAll(text, sizes)];
        // Node refuses a response that more comes behind; here, the connection is closed.
        if (ours.rest > 0 && ours.outcome === "whole") return;
        expect([ours.outcome === "whole", ours.body]).toEqual([theirs.outcome === "whole", theirs.body]);
        if (theirs.head === undefined) return;
        const [status, headers] = ours.heads.at(-1) ?? [];
        expect(theirs.head).toEqual([status, { ...headers }]);
      },
    ),
    { numRuns: 200 },
  );
});
