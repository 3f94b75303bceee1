// Heads of requests: nothing that a caller chooses makes another line.

import { expect, test } from "vitest";
import { requestHead } from "./request-head.ts";

const GET = { method: "GET", headers: ["accept", "*/*"] };
const lines = (
  ...[request, path = "/a?b=c", host = "h:1"]: Parameters<typeof requestHead> | [Parameters<typeof requestHead>[0]]
) => requestHead(request, path, host).text.split("\r\n");

test("a head has the host, and what frames the body", () => {
  const begin = ["GET /a?b=c HTTP/1.1", "host: h:1", "connection: keep-alive", "accept: */*"];
  expect(lines(GET)).toEqual([...begin, "", ""]);
  expect(lines({ ...GET, body: "é" })).toEqual([...begin, "content-length: 2", "", ""]);
  expect(lines({ ...GET, method: "POST" })).toContain("content-length: 0");
  expect(lines({ ...GET, upgrade: "SPDY/3.1" }).slice(2, 4)).toEqual(["connection: upgrade", "upgrade: SPDY/3.1"]);
});

test("headers that frame a message are the connection's own", () => {
  const given = { Connection: "close", "Transfer-Encoding": "chunked", "content-length": "9", host: "x", upgrade: "y" };
  expect(lines({ ...GET, headers: given })).toEqual(lines({ ...GET, headers: [] }));
});

test.each([
  ["the path", { ...GET }, "/a b"],
  ["the path", { ...GET }, "/a\r\nx: y"],
  ["the path", { ...GET }, "a"],
  ["the method", { ...GET, method: "GET /" }, "/"],
  ["a name", { ...GET, headers: ["a b", "c"] }, "/"],
  ["a name", { ...GET, headers: ["a\r\nb", "c"] }, "/"],
  ["a value", { ...GET, headers: ["a", "b\r\nc: d"] }, "/"],
  ["a value", { ...GET, headers: ["a", "b\nc: d"] }, "/"],
  // Written an octet a character, this one would be a line feed.
  ["a value", { ...GET, headers: ["a", "b\u010ac: d"] }, "/"],
  ["a value", { ...GET, headers: ["a", "b\u0000"] }, "/"],
  ["the protocol", { ...GET, upgrade: "a\r\nb: c" }, "/"],
])("%s that would be read as something else is refused: %j", (_, request, path) => {
  expect(() => requestHead(request, path, "h")).toThrow(TypeError);
});
