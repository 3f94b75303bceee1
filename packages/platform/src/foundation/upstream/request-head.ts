// The head of a request to a target. Source: RFC 9112, sections 3 to 6

import { type HeaderList, headerList } from "./header-list.ts";
import type { UpstreamRequest } from "./upstream-request.ts";

export type RequestHead = {
  /** An octet a character. */
  readonly text: string;
  /** Bytes of a body that is a stream; undefined where it goes out in chunks. */
  readonly length: number | undefined;
};

/** The connection's own. The length is that of a stream. */
const FRAMING: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"],
]);
const METHOD = /^[A-Z]+$/;
const PATH = /^\/[\x21-\x7e]*$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Servers expect a body behind these. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** `path` is whole, `host` that of the target. Throws TypeError for what would be read as something else, and for a length that is none. */
export function requestHead(
  { method, headers, upgrade, body }: Pick<UpstreamRequest, "method" | "headers" | "upgrade" | "body">,
  path: string,
  host: string,
): RequestHead {
  if (!METHOD.test(method) || !PATH.test(path)) throw new TypeError("the request line is not valid");
  const connection = upgrade === undefined ? "keep-alive" : `upgrade\r\nupgrade: ${checked(upgrade)}`;
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n`;
  const list = headerList(headers);
  for (let at = 0; at < list.length; at += 2) {
    const [name = "", value = ""] = [list[at], list[at + 1]];
    if (FRAMING.has(name.toLowerCase())) continue;
    if (!NAME.test(name)) throw new TypeError("the name of a header is not valid");
    text += `${name}: ${checked(value)}\r\n`;
  }
  if (typeof body === "object") {
    const length = declaredLength(list);
    const framing = length === undefined ? "transfer-encoding: chunked" : `content-length: ${length}`;
    return { text: `${text}${framing}\r\n\r\n`, length };
  }
  const hasLength = body !== undefined || (upgrade === undefined && WITH_BODY.has(method));
  const length = hasLength ? `content-length: ${Buffer.byteLength(body ?? "")}\r\n` : "";
  return { text: `${text}${length}\r\n`, length: undefined };
}

function checked(value: string): string {
  if (!VALUE.test(value)) throw new TypeError("the value of a header is not valid");
  return value;
}

function declaredLength(list: HeaderList): number | undefined {
  for (let at = 0; at < list.length; at += 2) {
    if (list[at]?.toLowerCase() !== "content-length") continue;
    const length = Number(list[at + 1]);
    if (!Number.isSafeInteger(length) || length < 0) throw new TypeError("the length of the body is not valid");
    return length;
  }
  return undefined;
}
