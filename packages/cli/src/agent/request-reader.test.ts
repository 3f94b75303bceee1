import { describe, expect, it } from "vitest";
import { RequestFault, RequestReader } from "./request-reader.ts";

const GET = "GET /api HTTP/1.1\r\nhost: api\r\n\r\n";
const POST = "POST /api HTTP/1.1\r\ncontent-length: 4\r\n\r\n";

/** Heads as their first lines, bodies as texts. */
function read(...chunks: readonly string[]): readonly string[] {
  const reader = new RequestReader();
  return chunks.flatMap((chunk) =>
    [...reader.read(Buffer.from(chunk, "latin1"))].map((part) =>
      Buffer.isBuffer(part) ? part.toString("latin1") : part.line,
    ),
  );
}
const whole = (parts: readonly string[]): string => parts.join("");

describe("requests on one connection", () => {
  it("are found in whatever pieces they come", () => {
    const text = `${POST}body${GET}${POST}more${GET}`;
    const parts = [
      "POST /api HTTP/1.1",
      "body",
      "GET /api HTTP/1.1",
      "POST /api HTTP/1.1",
      "more",
      "GET /api HTTP/1.1",
    ];
    expect(read(text)).toEqual(parts);
    for (let at = 1; at < text.length; at++) expect(whole(read(text.slice(0, at), text.slice(at)))).toBe(whole(parts));
    expect(whole(read(...text))).toBe(whole(parts));
  });

  it("keep a body that looks like a request", () => {
    const body = GET.padEnd(40, "x");
    expect(read(`POST /api HTTP/1.1\r\ncontent-length: 40\r\n\r\n${body}`)).toEqual(["POST /api HTTP/1.1", body]);
  });

  it.each([
    ["a body in chunks", "transfer-encoding: chunked"],
    ["an upgrade", "upgrade: websocket"],
  ])("end with %s", (_name, header) => {
    const rest = `0\r\n\r\n${GET}`;
    expect(read(`POST /exec HTTP/1.1\r\n${header}\r\n\r\n${rest}`, GET)).toEqual(["POST /exec HTTP/1.1", rest, GET]);
  });

  it("have their headers as they came", () => {
    const [head] = [
      ...new RequestReader().read(Buffer.from("GET / HTTP/1.1\r\nX-A: \xe4 b\r\nx-a:c\r\n\r\n", "latin1")),
    ];
    expect(head).toEqual({
      line: "GET / HTTP/1.1",
      headers: [
        { name: "x-a", line: "X-A: \xe4 b" },
        { name: "x-a", line: "x-a:c" },
      ],
      isLast: false,
    });
  });
});

it.each([
  ["another authority", "GET http://other/ HTTP/1.1\r\n\r\n"],
  ["an authority alone", "CONNECT other:443 HTTP/1.1\r\n\r\n"],
  ["a CONNECT to a path", "CONNECT /api HTTP/1.1\r\n\r\n"],
  ["another version", "GET / HTTP/1.0\r\n\r\n"],
  ["two spaces", "GET  / HTTP/1.1\r\n\r\n"],
  ["a space in the path", "GET /a b HTTP/1.1\r\n\r\n"],
  ["an empty line before it", `\r\n${GET}`],
  ["a line feed alone", "GET / HTTP/1.1\r\na: b\nauthorization: c\r\n\r\n"],
  ["a carriage return alone", "GET / HTTP/1.1\r\na: b\rauthorization: c\r\n\r\n"],
  ["a NUL", "GET / HTTP/1.1\r\na: \0\r\n\r\n"],
  ["a folded header", "GET / HTTP/1.1\r\na: b\r\n c: d\r\n\r\n"],
  ["a space before the colon", "GET / HTTP/1.1\r\ncontent-length : 3\r\n\r\n"],
  ["no colon", "GET / HTTP/1.1\r\na\r\n\r\n"],
  ["no name", "GET / HTTP/1.1\r\n: b\r\n\r\n"],
  ["a signed length", "POST / HTTP/1.1\r\ncontent-length: +4\r\n\r\nbody"],
  ["two lengths", "POST / HTTP/1.1\r\ncontent-length: 4\r\ncontent-length: 4\r\n\r\nbody"],
  ["a list of lengths", "POST / HTTP/1.1\r\ncontent-length: 4, 4\r\n\r\nbody"],
  ["a hexadecimal length", "POST / HTTP/1.1\r\ncontent-length: 0x4\r\n\r\nbody"],
  ["a length and chunks", "POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["chunks and a length", "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n"],
])("refuses %s", (_name, text) => {
  expect(() => read(text)).toThrow(RequestFault);
});

it("refuses a head without an end, and takes a long one", () => {
  const reader = new RequestReader();
  const more = Buffer.from(`GET / HTTP/1.1\r\na: ${"x".repeat(100_000)}`);
  const readOn = (): void => {
    for (let count = 0; count < 12; count++) [...reader.read(count === 0 ? more : Buffer.alloc(100_000, "x"))];
  };
  expect(readOn).toThrow(RequestFault);
  expect(read(`GET / HTTP/1.1\r\na: ${"x".repeat(900_000)}\r\n\r\n`)).toEqual(["GET / HTTP/1.1"]);
});
